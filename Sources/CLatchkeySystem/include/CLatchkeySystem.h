// What Linux and the processor offer and Swift cannot call.
//
// Each function here exists for one reason, named above it. There is no policy in this target, and
// nothing else of Latchkey's is visible from it.

#ifndef CLATCHKEYSYSTEM_H
#define CLATCHKEYSYSTEM_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Tells the processor that this is a spin loop. Swift has no name for the instruction.
static inline void latchkey_system_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

// Sleeps while `*word` is `expected`; returns at a wake-up, at once if the word differs, or at a
// signal. The caller looks at the word again in every case, so the result of the call is not
// returned. FUTEX_PRIVATE_FLAG: the word is never shared between processes (futex(2)).
// Swift cannot call the variadic syscall().
static inline void latchkey_system_futex_wait(void *word, uint32_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, NULL, NULL, 0);
}

// Wakes at most `count` threads that sleep on `word`.
static inline void latchkey_system_futex_wake(void *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}

// Monotonic time in nanoseconds (CLOCK_MONOTONIC, read without a system call where the kernel
// allows it). Swift's ContinuousClock counts the time that the machine sleeps and costs more.
static inline uint64_t latchkey_system_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The number of thread indices, with 0, that can be in use at once.
enum { LATCHKEY_SYSTEM_THREADS_MAX = 4096 };

// This thread's index, or 0 before latchkey_system_thread_index() gave it one. Not for callers.
// Swift has no thread-local variables.
extern _Thread_local uint32_t latchkey_system_thread_slot;

// Gives the calling thread an index and returns it. Not for callers.
uint32_t latchkey_system_thread_register(void);

// A small number that only this thread has while it lives: from 1 up to
// LATCHKEY_SYSTEM_THREADS_MAX - 1, dense, and used again after the thread has ended. What the old
// owner wrote under an index happens before what the new one reads there.
// 0 if every index is taken: several threads share that one, so what is kept under it needs
// read-modify-write operations.
static inline uint32_t latchkey_system_thread_index(void) {
    uint32_t slot = latchkey_system_thread_slot;
    return __builtin_expect(slot != 0, 1) ? slot : latchkey_system_thread_register();
}

// One more than the highest index that was ever given out: where a sum over threads may stop, those
// that have ended included.
uint32_t latchkey_system_thread_index_end(void);

// The indices of the threads that live, 64 to a group. Not for callers.
extern uint64_t latchkey_system_thread_groups_taken;
extern uint64_t latchkey_system_thread_group_taken[LATCHKEY_SYSTEM_THREADS_MAX / 64];

// Bit g is set if an index from 64 * g to 64 * g + 63 is in use.
//
// The read is in the single order of sequentially consistent operations, and so are the changes: a
// thread's bits are set in it before anything that the thread does there under its index, and
// cleared after that. Swift has no atomic variables outside of a type.
static inline uint64_t latchkey_system_thread_groups(void) {
    return __atomic_load_n(&latchkey_system_thread_groups_taken, __ATOMIC_SEQ_CST);
}

// Bit i is set if the index 64 * group + i is in use. Ordered as the groups are.
static inline uint64_t latchkey_system_thread_group(uint32_t group) {
    return __atomic_load_n(&latchkey_system_thread_group_taken[group], __ATOMIC_SEQ_CST);
}

// The innermost of the guarded sections that this thread is in, as the caller keeps them: a list
// on the thread's stack. NULL outside. Swift has no thread-local variables.
extern _Thread_local void *latchkey_system_thread_held;

static inline void *latchkey_system_held_accesses(void) {
    return latchkey_system_thread_held;
}

static inline void latchkey_system_hold_accesses(void *innermost) {
    latchkey_system_thread_held = innermost;
}

// How many columns the terminal behind the descriptor has; 0 if it is none or does not know. Swift
// cannot call the variadic ioctl().
int latchkey_system_terminal_columns(int descriptor);

// What a thread, or a process, has used of the machine so far.
struct latchkey_system_usage {
    uint64_t processor_nanoseconds;  // user and system time together
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t minor_faults;
    uint64_t major_faults;
};

// The usage of the calling thread. Swift cannot see RUSAGE_THREAD, a GNU extension.
struct latchkey_system_usage latchkey_system_thread_usage(void);

// The usage of all threads of this process, those that have ended included.
struct latchkey_system_usage latchkey_system_process_usage(void);

// The calling thread's identifier, as in /proc/self/task. Swift cannot see gettid(), a GNU
// extension.
int32_t latchkey_system_thread_identifier(void);

// Begins to count how often the calling thread passes the kernel's tracepoint with this identifier,
// which tracefs lists. Returns a descriptor that latchkey_system_count_read() reads and close()
// ends, or a negated errno. Swift cannot call the variadic syscall(), and perf_event_open has no
// wrapper.
int latchkey_system_count_open(uint64_t tracepoint);

// The count so far, or -1 if it cannot be read.
int64_t latchkey_system_count_read(int descriptor);

// A program to start. Lists end with NULL, as execve(2) has them.
struct latchkey_system_program {
    const char *path;
    char *const *arguments;
    char *const *environment;
    int input;  // its standard input, or -1 for /dev/null
};

// Starts a program in a process group of its own, with no signal blocked, and gives its identifier
// and a descriptor from which its standard output is read; standard error is /dev/null. It is
// killed when the *thread* that called this ends, however that ends. Returns 0 or an errno.
// Swift cannot call fork(), and nothing else can ask for PR_SET_PDEATHSIG in the child.
int latchkey_system_child_start(const struct latchkey_system_program *program, int32_t *identifier,
                                int *output);

// Waits for the end of a child and returns its status, 128 and the signal if one ended it, or -1 if
// it is no child. Swift cannot call the macros that take the status apart.
int latchkey_system_child_wait(int32_t identifier);

// A file in memory that has no name, so that it cannot be left behind; the argument is for /proc
// only. Returns a descriptor, or -1 and errno. Swift cannot see memfd_create(), a GNU extension.
int latchkey_system_memory_file(const char *name);

#endif
