// The actions before the program's first statement. Only the program may link it: it acts when its
// first argument is `serve`.

#ifndef CLATCHKEYSTART_H
#define CLATCHKEYSTART_H

// The number of the program's arguments, including its name, and each of them. Swift reads its own
// from /proc/self/cmdline, which is missing in some containers.
int latchkey_start_argument_count(void);
const char *latchkey_start_argument(int index);

#endif
