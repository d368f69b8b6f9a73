// glibc's own functions stand behind the names that are replaced. Memory that they give can be
// freed by the functions that are not replaced, since the heap is the same.

#include "CLatchkeyAllocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)

extern void *__libc_malloc(size_t count);
extern void *__libc_calloc(size_t number, size_t count);
extern void *__libc_realloc(void *piece, size_t count);
extern void *__libc_memalign(size_t alignment, size_t count);

static _Atomic bool is_counting;
static _Atomic uint64_t allocations;
static _Thread_local bool is_excluded;

static inline void count_one(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed) && !is_excluded) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    }
}

void *malloc(size_t count) {
    count_one();
    return __libc_malloc(count);
}

void *calloc(size_t number, size_t count) {
    count_one();
    return __libc_calloc(number, count);
}

void *realloc(void *piece, size_t count) {
    count_one();
    return __libc_realloc(piece, count);
}

void *aligned_alloc(size_t alignment, size_t count) {
    count_one();
    return __libc_memalign(alignment, count);
}

int posix_memalign(void **piece, size_t alignment, size_t count) {
    count_one();
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    void *found = __libc_memalign(alignment, count);
    if (found == NULL) {
        return ENOMEM;
    }
    *piece = found;
    return 0;
}

bool latchkey_allocations_begin(void) {
    is_excluded = true;
    atomic_store(&is_counting, true);
    return true;
}

uint64_t latchkey_allocations_now(void) {
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

void latchkey_allocations_end(void) {
    atomic_store(&is_counting, false);
    is_excluded = false;
}

#else

bool latchkey_allocations_begin(void) {
    return false;
}

uint64_t latchkey_allocations_now(void) {
    return 0;
}

void latchkey_allocations_end(void) {
}

#endif
