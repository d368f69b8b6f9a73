// Functions of the system and of the processor that Swift cannot call, and the digits of numbers.
//
// Each function here exists for one reason, named above it. There is no policy in this target, and
// nothing else of Latchkey's is visible from it.

#ifndef CLATCHKEYSYSTEM_H
#define CLATCHKEYSYSTEM_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <os/lock.h>
#endif

// Tells the processor that this is a spin loop. Swift has no name for the instruction.
static inline void latchkey_system_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

// Asks for the cache line of an address that will be written to soon. Any address will do. Swift
// has no name for the instruction.
static inline void latchkey_system_prefetch(uintptr_t address) {
    __builtin_prefetch((const void *)address, 1);
}

// How many processors the process may use: those of its first thread, since another one may be
// bound to one of them (sched_setaffinity(2)). At least 1. Swift cannot use the macros of
// cpu_set_t.
uint32_t latchkey_system_processors(void);

// Lets another thread run. Swift's modules of the C library differ in name from system to system.
static inline void latchkey_system_yield(void) {
    sched_yield();
}

#if defined(__linux__)
// The kernel's numbers (futex(2)). musl comes without <linux/futex.h>.
enum {
    LATCHKEY_SYSTEM_FUTEX_WAIT = 0,
    LATCHKEY_SYSTEM_FUTEX_WAKE = 1,
    LATCHKEY_SYSTEM_FUTEX_PRIVATE = 128,
};

// Sleeps while `*word` is `expected`; returns at a wake-up, at once if the word differs, or at a
// signal. The caller looks at the word again in every case, so the result of the call is not
// returned. FUTEX_PRIVATE: the word is never shared between processes (futex(2)).
// Swift cannot call the variadic syscall().
static inline void latchkey_system_futex_wait(void *word, uint32_t expected) {
    syscall(SYS_futex, word, LATCHKEY_SYSTEM_FUTEX_WAIT | LATCHKEY_SYSTEM_FUTEX_PRIVATE, expected,
            NULL, NULL, 0);
}

// The same, for at most `nanoseconds` of CLOCK_MONOTONIC.
static inline void latchkey_system_futex_wait_for(void *word, uint32_t expected,
                                                  int64_t nanoseconds) {
    struct timespec timeout = {.tv_sec = (time_t)(nanoseconds / 1000000000),
                               .tv_nsec = (long)(nanoseconds % 1000000000)};
    syscall(SYS_futex, word, LATCHKEY_SYSTEM_FUTEX_WAIT | LATCHKEY_SYSTEM_FUTEX_PRIVATE, expected,
            &timeout, NULL, 0);
}

// Wakes at most `count` threads that sleep on `word`; returns how many.
static inline long latchkey_system_futex_wake(void *word, int count) {
    return syscall(SYS_futex, word, LATCHKEY_SYSTEM_FUTEX_WAKE | LATCHKEY_SYSTEM_FUTEX_PRIVATE,
                   count, NULL, NULL, 0);
}

#elif defined(__APPLE__)

// os_unfair_lock in a word that begins at 0, which is OS_UNFAIR_LOCK_INIT. Darwin has no public
// futex; this is its lock that sleeps. Swift cannot keep one at a fixed address in an object.
static inline void latchkey_system_unfair_lock(void *word) {
    os_unfair_lock_lock((os_unfair_lock_t)word);
}

static inline bool latchkey_system_unfair_try_lock(void *word) {
    return os_unfair_lock_trylock((os_unfair_lock_t)word);
}

static inline void latchkey_system_unfair_unlock(void *word) {
    os_unfair_lock_unlock((os_unfair_lock_t)word);
}

#endif

// Monotonic time in nanoseconds (CLOCK_MONOTONIC, read without a system call where the kernel
// allows it). Swift's ContinuousClock counts the time that the machine sleeps and costs more.
static inline uint64_t latchkey_system_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The processor time that all threads of the process have taken, in nanoseconds.
static inline uint64_t latchkey_system_processor_nanoseconds(void) {
    struct timespec taken;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
    return (uint64_t)taken.tv_sec * 1000000000u + (uint64_t)taken.tv_nsec;
}

// Reads and writes 64 bits that other threads write at the same time, in no order. Swift's atomic
// variables cannot be in the header of a ManagedBuffer.
static inline uint64_t latchkey_system_load(const void *word) {
    return __atomic_load_n((const uint64_t *)word, __ATOMIC_RELAXED);
}

static inline void latchkey_system_store(void *word, uint64_t value) {
    __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELAXED);
}

#if defined(__GLIBC__)
// pthread_mutex_lock, pthread_rwlock_wrlock and pthread_rwlock_rdlock, for at most `nanoseconds` of
// CLOCK_MONOTONIC; then ETIMEDOUT. glibc hides these calls from Swift. Other C libraries have only
// calls that wait until a time of day, which can be set.
int latchkey_system_mutex_lock_for(void *mutex, int64_t nanoseconds);
int latchkey_system_write_lock_for(void *rwlock, int64_t nanoseconds);
int latchkey_system_read_lock_for(void *rwlock, int64_t nanoseconds);
#endif

// Keeps the compiler from moving accesses to memory across it. The processor may still do so: it is
// no instruction. The light half of a fence whose heavy half is latchkey_system_barrier(). Swift
// has only fences for both.
static inline void latchkey_system_keep_order(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Whether latchkey_system_barrier() works in this process. The first call asks the kernel to
// prepare it, which takes milliseconds if other threads run: membarrier(2) is missing before Linux
// 4.14, on other systems, and where a filter refuses it. Not under ThreadSanitizer, which does not
// know it. Swift cannot call the variadic syscall().
bool latchkey_system_barrier_prepare(void);

// Makes every running thread of the process pass a full memory barrier before this returns: each
// thread has a point between the begin and the end of this call. Its accesses before that point
// come before everything that the caller does next; its accesses after it come after everything
// that the caller did before. False if the kernel refused.
bool latchkey_system_barrier(void);

// The number of thread indices, with 0, that can be in use at once.
enum { LATCHKEY_SYSTEM_THREADS_MAX = 4096 };

// This thread's index, or 0 before latchkey_system_thread_index() gave it one. Not for callers.
// Swift has no thread-local variables.
extern _Thread_local uint32_t latchkey_system_thread_slot;

// Gives the calling thread an index and returns it. Not for callers.
uint32_t latchkey_system_thread_register(void);

// A small number that only this thread has while it lives: from 1 up to
// LATCHKEY_SYSTEM_THREADS_MAX - 1, dense, and used again after the thread has ended. Writes of the
// old owner under an index happen before reads of the new one there. 0 if every index is taken:
// several threads share that one, so data under it need read-modify-write operations.
static inline uint32_t latchkey_system_thread_index(void) {
    uint32_t slot = latchkey_system_thread_slot;
    return __builtin_expect(slot != 0, 1) ? slot : latchkey_system_thread_register();
}

// One more than the highest index that was ever given out: where a sum over threads may stop,
// including those that have ended.
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

// Finds out where the calling thread's stack is, once for each thread, so that
// latchkey_system_stack() can walk it. May allocate, so call it outside of guarded sections.
void latchkey_system_stack_prepare(void);

// Writes at most `count` return addresses of the calling thread, innermost first and each one byte
// back, so that it is in the call; returns how many. It follows the chain of frame pointers and
// reads nothing outside of the thread's stack, so that code without frame pointers can only end the
// walk early or add a wrong address. 0 on a thread that was not prepared and on processors whose
// frames it does not know. Swift cannot read its frame pointer.
uint32_t latchkey_system_stack(uint64_t *addresses, uint32_t count);

// The name of a mangled Swift symbol, as a string to free(); NULL for any other symbol. The
// runtime's function has no declaration that Swift can import.
char *latchkey_system_demangle(const char *symbol);

// The innermost of the guarded sections that this thread is in. The caller keeps them as a list on
// the thread's stack. NULL outside. Swift has no thread-local variables.
extern _Thread_local void *latchkey_system_thread_held;

static inline void *latchkey_system_held_accesses(void) {
    return latchkey_system_thread_held;
}

static inline void latchkey_system_hold_accesses(void *innermost) {
    latchkey_system_thread_held = innermost;
}

// The digits of the largest number.
enum { LATCHKEY_SYSTEM_DECIMAL_BYTES_MAX = 20 };

// The eight digits of a number below 10^8, the first one in the lowest byte. Not for callers.
//
// Splits it into halves of four digits, those into pairs, and the pairs into digits, each time all
// of them in one multiplication: n / 100 is n * 10486 >> 20 below 10^4, and n / 10 is
// n * 103 >> 10 below 100.
static inline uint64_t latchkey_system_eight_digits(uint64_t number) {
    uint64_t halves = number / 10000 | (number % 10000) << 32;
    uint64_t hundreds = halves * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = (halves - hundreds * 100) << 16 | hundreds;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return (pairs - tens * 10) << 8 | tens;
}

// Writes eight digits as text. Not for callers.
static inline void latchkey_system_store_digits(uint64_t digits, char *text) {
    digits |= UINT64_C(0x3030303030303030);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    digits = __builtin_bswap64(digits);
#endif
    memcpy(text, &digits, sizeof(digits));
}

// Writes a number of up to eight digits, without leading zeros. Not for callers.
static inline size_t latchkey_system_first_digits(uint64_t number, char *text) {
    uint64_t digits = latchkey_system_eight_digits(number);
    // Of 0, the last digit stays.
    unsigned zeros = number == 0 ? 7 : (unsigned)__builtin_ctzll(digits) / 8;
    latchkey_system_store_digits(digits >> 8 * zeros, text);
    return 8 - zeros;
}

// Writes a number's digits, without leading zeros and without a NUL, to a place with room for
// LATCHKEY_SYSTEM_DECIMAL_BYTES_MAX bytes; returns their number. May write to the bytes after them,
// too. Every answer has revisions, of sixteen digits in a store in memory, so they are made eight
// at a time. Here because header fields and JSON both need it, and their modules see nothing else
// in common.
static inline size_t latchkey_system_decimal(uint64_t number, void *place) {
    char *text = place;
    const uint64_t end = UINT64_C(100000000);
    if (number < end) {
        return latchkey_system_first_digits(number, text);
    }
    uint64_t upper = number / end;
    size_t count;
    if (upper < end) {
        count = latchkey_system_first_digits(upper, text);
    } else {
        count = latchkey_system_first_digits(upper / end, text);
        latchkey_system_store_digits(latchkey_system_eight_digits(upper % end), text + count);
        count += 8;
    }
    latchkey_system_store_digits(latchkey_system_eight_digits(number % end), text + count);
    return count + 8;
}

#endif
