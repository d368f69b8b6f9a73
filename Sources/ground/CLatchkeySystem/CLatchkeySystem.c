// Thread indices, and the barrier for all threads.
//
// Design: a bitmap of taken indices in two levels. It changes under one mutex, which is locked when
// a thread asks for the first time and when it ends, never in between; any thread may read it. The
// lowest free index is given out, so that the indices stay dense and a table indexed by them stays
// short. A pthread key's destructor gives the index back; the mutex orders the old owner's last
// write before the new owner's first read. Changes of the bitmap are sequentially consistent: what
// a thread does in that order after it got an index comes after its bits there.

#define _GNU_SOURCE  // pthread_mutex_clocklock, pthread_getattr_np, CPU_COUNT

#include "CLatchkeySystem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ThreadSanitizer does not see the order that membarrier(2) makes and would report races.
#if defined(__linux__) && !__has_feature(thread_sanitizer)
// The kernel's numbers (membarrier(2)). musl comes without <linux/membarrier.h>.
enum { MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4 };
#define HAS_MEMBARRIER 1
#else
#define HAS_MEMBARRIER 0
#endif

_Thread_local uint32_t latchkey_system_thread_slot = 0;
_Thread_local void *latchkey_system_thread_held = NULL;

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
uint64_t latchkey_system_thread_groups_taken = 0;                               // see the header
uint64_t latchkey_system_thread_group_taken[LATCHKEY_SYSTEM_THREADS_MAX / 64];  // see the header
static atomic_uint index_end = 1;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void give_back(void *value) {
    uint32_t index = (uint32_t)(uintptr_t)value;
    // Destructors of other keys may still ask for an index: they get one of their own, and with it
    // another call of this function.
    latchkey_system_thread_slot = 0;
    if (pthread_mutex_lock(&index_lock) != 0) {
        abort();
    }
    uint32_t group = index / 64;
    uint64_t rest = __atomic_and_fetch(&latchkey_system_thread_group_taken[group],
                                       ~(UINT64_C(1) << (index % 64)), __ATOMIC_SEQ_CST);
    if (rest == 0) {
        __atomic_and_fetch(&latchkey_system_thread_groups_taken, ~(UINT64_C(1) << group),
                           __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&index_lock);
}

// Takes the lowest free index; 0 if there is none. The caller holds the lock.
static uint32_t take(void) {
    for (uint32_t group = 0; group < LATCHKEY_SYSTEM_THREADS_MAX / 64; group++) {
        // Index 0 is never given out.
        uint64_t open =
            ~latchkey_system_thread_group_taken[group] & (group == 0 ? ~UINT64_C(1) : ~UINT64_C(0));
        if (open != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(open);
            __atomic_or_fetch(&latchkey_system_thread_group_taken[group], UINT64_C(1) << bit,
                              __ATOMIC_SEQ_CST);
            __atomic_or_fetch(&latchkey_system_thread_groups_taken, UINT64_C(1) << group,
                              __ATOMIC_SEQ_CST);
            return group * 64 + bit;
        }
    }
    return 0;
}

static void make_key(void) {
    if (pthread_key_create(&key, give_back) != 0) {
        abort();
    }
}

uint32_t latchkey_system_thread_register(void) {
    if (pthread_once(&key_once, make_key) != 0 || pthread_mutex_lock(&index_lock) != 0) {
        abort();
    }
    uint32_t index = take();
    if (index >= atomic_load_explicit(&index_end, memory_order_relaxed)) {
        // Release: pairs with the acquire in latchkey_system_thread_index_end.
        atomic_store_explicit(&index_end, index + 1, memory_order_release);
    }
    pthread_mutex_unlock(&index_lock);
    if (index != 0) {
        if (pthread_setspecific(key, (void *)(uintptr_t)index) != 0) {
            abort();
        }
        latchkey_system_thread_slot = index;
    }
    return index;
}

uint32_t latchkey_system_thread_index_end(void) {
    return atomic_load_explicit(&index_end, memory_order_acquire);
}

#if HAS_MEMBARRIER
static pthread_once_t barrier_once = PTHREAD_ONCE_INIT;
static bool is_barrier_prepared = false;

static void prepare_barrier(void) {
    is_barrier_prepared = syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool latchkey_system_barrier_prepare(void) {
    return pthread_once(&barrier_once, prepare_barrier) == 0 && is_barrier_prepared;
}

// A child process keeps what its parent prepared.
bool latchkey_system_barrier(void) {
    return syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
#else
bool latchkey_system_barrier_prepare(void) {
    return false;
}

bool latchkey_system_barrier(void) {
    return false;
}
#endif

uint32_t latchkey_system_processors(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(getpid(), sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
#endif
    // More processors than a cpu_set_t has room for, or another system.
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1;
}

#if defined(__GLIBC__)
// ThreadSanitizer, and glibc before 2.30, know only the calls that wait until a time of day.
#if __has_feature(thread_sanitizer) || !__GLIBC_PREREQ(2, 30)
#define WAIT_CLOCK CLOCK_REALTIME
#define MUTEX_LOCK(lock, until) pthread_mutex_timedlock(lock, until)
#define RWLOCK_WRITE(lock, until) pthread_rwlock_timedwrlock(lock, until)
#define RWLOCK_READ(lock, until) pthread_rwlock_timedrdlock(lock, until)
#else
#define WAIT_CLOCK CLOCK_MONOTONIC
#define MUTEX_LOCK(lock, until) pthread_mutex_clocklock(lock, WAIT_CLOCK, until)
#define RWLOCK_WRITE(lock, until) pthread_rwlock_clockwrlock(lock, WAIT_CLOCK, until)
#define RWLOCK_READ(lock, until) pthread_rwlock_clockrdlock(lock, WAIT_CLOCK, until)
#endif

static struct timespec after(int64_t nanoseconds) {
    struct timespec time;
    clock_gettime(WAIT_CLOCK, &time);
    int64_t rest = time.tv_nsec + nanoseconds;
    time.tv_sec += (time_t)(rest / 1000000000);
    time.tv_nsec = (long)(rest % 1000000000);
    return time;
}

int latchkey_system_mutex_lock_for(void *mutex, int64_t nanoseconds) {
    struct timespec until = after(nanoseconds);
    return MUTEX_LOCK(mutex, &until);
}

int latchkey_system_write_lock_for(void *rwlock, int64_t nanoseconds) {
    struct timespec until = after(nanoseconds);
    return RWLOCK_WRITE(rwlock, &until);
}

int latchkey_system_read_lock_for(void *rwlock, int64_t nanoseconds) {
    struct timespec until = after(nanoseconds);
    return RWLOCK_READ(rwlock, &until);
}
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
// The calling thread's stack, from `low` up to `high`; 0 before it is known.
static _Thread_local uintptr_t stack_low = 0;
static _Thread_local uintptr_t stack_high = 0;

void latchkey_system_stack_prepare(void) {
    pthread_attr_t attributes;
    if (stack_high != 0 || pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    void *low = NULL;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        stack_low = (uintptr_t)low;
        stack_high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

// The sanitizers do not know that another frame's words may be read.
__attribute__((noinline, no_sanitize("address", "thread"))) uint32_t
latchkey_system_stack(uint64_t *addresses, uint32_t count) {
    // Swift marks the frames of asynchronous functions in this bit of the saved pointer.
    const uintptr_t mark = (uintptr_t)1 << 60;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    uint32_t found = 0;
    while (found < count && frame >= stack_low && frame % sizeof(uintptr_t) == 0 &&
           frame + 2 * sizeof(uintptr_t) <= stack_high) {
        // Both processors save the caller's frame pointer and the return address next to it.
        const uintptr_t *words = (const uintptr_t *)frame;
        uintptr_t outer = words[0] & ~mark;
        if (words[1] == 0) {
            break;
        }
        addresses[found++] = words[1] - 1;
        if (outer <= frame) {
            break;
        }
        frame = outer;
    }
    return found;
}
#else
void latchkey_system_stack_prepare(void) {
}

uint32_t latchkey_system_stack(uint64_t *addresses, uint32_t count) {
    (void)addresses;
    (void)count;
    return 0;
}
#endif

// In the runtime of Swift (swift/Demangling/Demangle.h), where it is called swift_demangle:
// allocates the result if it gets no buffer.
#if defined(__APPLE__)
#define SWIFT_DEMANGLE "_swift_demangle"
#else
#define SWIFT_DEMANGLE "swift_demangle"
#endif
extern char *latchkey_system_swift_demangle(const char *symbol, size_t length, char *buffer,
                                            size_t *buffer_size,
                                            uint32_t flags) __asm__(SWIFT_DEMANGLE);

char *latchkey_system_demangle(const char *symbol) {
    return latchkey_system_swift_demangle(symbol, strlen(symbol), NULL, NULL, 0);
}
