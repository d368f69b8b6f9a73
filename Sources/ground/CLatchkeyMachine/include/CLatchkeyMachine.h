// Functions of Linux for programs that measure, which Swift cannot call.
//
// Each function here exists for one reason, named above it. Nothing here is for the public library:
// it starts processes, and it counts what the kernel does.

#ifndef CLATCHKEYMACHINE_H
#define CLATCHKEYMACHINE_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

// The columns of the terminal at a descriptor; 0 if it is no terminal or does not know. Swift
// cannot call the variadic ioctl().
int latchkey_machine_terminal_columns(int descriptor);

// The calling thread's identifier, as in /proc/self/task. Swift cannot see gettid(), a GNU
// extension.
int32_t latchkey_machine_thread_identifier(void);

// Begins to count how often the calling thread passes the kernel's tracepoint with this identifier,
// which tracefs lists. Returns a descriptor from which the count is read, 64 bits, and which
// close() ends, or a negated errno. Swift cannot call the variadic syscall(), and perf_event_open
// has no wrapper.
int latchkey_machine_count_open(uint64_t tracepoint);

// Starts a program in a process group of its own, with no signal blocked, and gives its identifier
// and a descriptor from which its standard output is read. Its standard input is `input`, or
// /dev/null for -1; standard error is /dev/null. Both lists end with NULL, as execve(2) has them.
// It is killed when the *thread* that called this ends, however that ends. Returns 0 or an errno.
// Swift cannot call fork(), and nothing else can ask for PR_SET_PDEATHSIG in the child.
int latchkey_machine_child_start(const char *path, char *const *arguments, char *const *environment,
                                 int input, int32_t *identifier, int *output);

// Starts a command, found as execvp(3) does, in a process group of its own, with this process's
// standard streams; and a guard, a process that kills the whole group at `deadline`, in nanoseconds
// of CLOCK_BOOTTIME, or as soon as the other end of `control` is closed: thus also if this process
// is killed or stopped. Eight bytes that are written to `control` are a new deadline. Gives both
// identifiers. The command is also killed when the *thread* that called this ends. If this process
// has the terminal, and its standard input and output are no pipes, the command gets it, as from a
// shell; `terminal` is then open on it, otherwise -1. If a pipe is the reason that it does not get
// it, its standard input is /dev/null instead of the terminal. Returns 0 or an errno. Swift cannot
// call fork().
int latchkey_machine_guarded_start(char *const *arguments, char *const *environment,
                                   uint64_t deadline, int32_t *identifier, int32_t *guard,
                                   int *control, int *terminal);

// Closes the terminal, after it has become this process's again if that group still has it.
void latchkey_machine_terminal_take_back(int terminal, int32_t group);

// The signal that has stopped a child since the last call; 0 if none has. Swift cannot see the
// members of siginfo_t.
int32_t latchkey_machine_child_stop(int32_t identifier);

// Whether a child has ended. It is still to be waited for, so its identifier is not used again.
// Swift cannot see the members of siginfo_t.
bool latchkey_machine_child_has_ended(int32_t identifier);

// Waits for the end of a child and returns its status, 128 and the signal if one ended it, or -1 if
// it is no child. Swift cannot call the macros that take the status apart.
int latchkey_machine_child_wait(int32_t identifier);

// Waits for the children that have ended, but for two that are kept, 0 for none: their own waits
// are still to come. One of these that has ended can hide others. Does not block. Swift cannot see
// the members of siginfo_t.
void latchkey_machine_child_reap(int32_t kept, int32_t also_kept);

// Makes `count` threads that exist at once, and waits for their end. Returns 0, or an errno: why
// the system refused one. Swift's own threads do not say that they were refused.
int latchkey_machine_threads_refused(int count);

// A file in memory that has no name, so that nothing remains of it; the argument is for /proc only.
// Returns a descriptor, or -1 and errno. Swift cannot see memfd_create(), a GNU extension.
int latchkey_machine_memory_file(const char *name);

// How many bytes of malloc() are in use. Takes the lock of each arena, one after the other, for as
// long as it takes to walk over its free blocks. Swift cannot see <malloc.h>.
uint64_t latchkey_machine_memory_in_use(void);

// Gives free memory of malloc() back to the system, including whole pages between blocks in use.
// Locks as above.
void latchkey_machine_memory_return(void);

// Writes the build ID of the program, of at most `count_max` bytes, and returns its length; 0 if it
// has none. Swift cannot see dl_iterate_phdr(), a GNU extension.
int latchkey_machine_build(uint8_t *bytes, int count_max);

// Sends a cache line back and forth between two processors for `budget` nanoseconds, and writes how
// many nanoseconds a round trip takes, on average over each batch of them. Blocks for up to
// `patience` nanoseconds if another thread has one of the processors. Returns the number of
// batches, or a negated errno: a thread may not run on a processor. Swift cannot see the affinity
// of threads, a GNU extension.
int latchkey_machine_line_trips(int first, int second, uint64_t budget, uint64_t patience,
                                float *trips, int trips_max);

#endif
