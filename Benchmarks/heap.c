// Counts the allocations of the process that it is loaded into (LD_PRELOAD), and tells what they
// take. SyncBenchmark/Memory.swift looks latchkey_heap() up by name.
//
// glibc's own functions stand behind the names that are replaced.

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t count);
extern void *__libc_calloc(size_t number, size_t count);
extern void *__libc_realloc(void *piece, size_t count);
extern void *__libc_memalign(size_t alignment, size_t count);

static _Atomic uint64_t allocations;

// How many allocations there were, and how many bytes are in use: blocks with their headers, in all
// arenas.
void latchkey_heap(uint64_t *count, uint64_t *bytes) {
    struct mallinfo2 info = mallinfo2();
    *count = atomic_load_explicit(&allocations, memory_order_relaxed);
    *bytes = info.uordblks + info.hblkhd;
}

static void count_one(void) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
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

int posix_memalign(void **result, size_t alignment, size_t count) {
    count_one();
    void *piece = __libc_memalign(alignment, count);
    if (piece == NULL) {
        return ENOMEM;
    }
    *result = piece;
    return 0;
}
