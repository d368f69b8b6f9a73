// Counts the allocations of the process that loads it (LD_PRELOAD).
//
// The count is a word in the file that LATCHKEY_ALLOCATIONS names, which another process may read
// at any time. The process itself finds latchkey_heap() by name (SyncBenchmark/Memory.swift). The
// replacements call glibc's own functions.

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t count);
extern void *__libc_calloc(size_t number, size_t count);
extern void *__libc_realloc(void *piece, size_t count);
extern void *__libc_memalign(size_t alignment, size_t count);

static _Atomic uint64_t nowhere;
static _Atomic uint64_t *allocations = &nowhere;

__attribute__((constructor)) static void share(void) {
    const char *path = getenv("LATCHKEY_ALLOCATIONS");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *page = mmap(NULL, sizeof(*allocations), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) {
        allocations = page;
    }
}

// The number of allocations, and the bytes in use: blocks with their headers, in all arenas.
void latchkey_heap(uint64_t *count, uint64_t *bytes) {
    struct mallinfo2 info = mallinfo2();
    *count = atomic_load_explicit(allocations, memory_order_relaxed);
    *bytes = info.uordblks + info.hblkhd;
}

static void count_one(void) {
    atomic_fetch_add_explicit(allocations, 1, memory_order_relaxed);
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
    *result = __libc_memalign(alignment, count);
    return *result != NULL ? 0 : ENOMEM;
}
