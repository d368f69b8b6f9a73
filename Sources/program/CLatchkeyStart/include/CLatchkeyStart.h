// What happens before the program's first statement. Only the program may link it: it acts when its
// first argument is `serve`.

#ifndef CLATCHKEYSTART_H
#define CLATCHKEYSTART_H

// How many arguments the program has, its name included, and each of them. Swift reads its own from
// /proc/self/cmdline, which is not there in every container.
int latchkey_start_argument_count(void);
const char *latchkey_start_argument(int index);

#endif
