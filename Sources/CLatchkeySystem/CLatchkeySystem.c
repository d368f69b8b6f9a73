// Thread indices.
//
// Design: a bitmap of taken indices in two levels. It changes under one mutex, which is locked when
// a thread asks for the first time and when it ends, never in between; anybody may read it. The
// lowest free index is given out, so that the indices stay dense and a table indexed by them stays
// short. A pthread key's destructor gives the index back; the mutex orders the old owner's last
// write before the new owner's first read. Changes of the bitmap are sequentially consistent: what
// a thread does in that order after it got an index comes after its bits there.

#include "CLatchkeySystem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

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
