// Thread indices.
//
// Design: a bitmap of taken indices under one mutex, which is locked when a thread asks for the
// first time and when it ends, never in between. The lowest free index is given out, so that the
// indices stay dense and a table indexed by them stays short. A pthread key's destructor gives the
// index back; the mutex orders the old owner's last write before the new owner's first read.

#include "CLatchkeySystem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Thread_local uint32_t latchkey_system_thread_slot = 0;
_Thread_local void *latchkey_system_thread_held = NULL;

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static bool index_taken[LATCHKEY_SYSTEM_THREADS_MAX];  // guarded by index_lock; [0] is not used
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
    index_taken[index] = false;
    pthread_mutex_unlock(&index_lock);
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
    uint32_t index = 1;
    while (index < LATCHKEY_SYSTEM_THREADS_MAX && index_taken[index]) {
        index++;
    }
    if (index < LATCHKEY_SYSTEM_THREADS_MAX) {
        index_taken[index] = true;
        if (index >= atomic_load_explicit(&index_end, memory_order_relaxed)) {
            // Release: pairs with the acquire in latchkey_system_thread_index_end.
            atomic_store_explicit(&index_end, index + 1, memory_order_release);
        }
    } else {
        index = 0;
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
