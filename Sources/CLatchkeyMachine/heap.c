// How often the Swift runtime allocates objects and counts references.
//
// The runtime calls these functions through variables if a flag of it is set, for Instruments. They
// are looked up by name: a runtime that has none of them is no error. Its counting is off outside
// of begin and end, so that nothing is slower then.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "CLatchkeyMachine.h"

typedef void *(*allocate_function)(const void *metadata, size_t size, size_t mask);
typedef void *(*retain_function)(void *object);
typedef void *(*retain_n_function)(void *object, uint32_t count);
typedef void (*release_function)(void *object);
typedef void (*release_n_function)(void *object, uint32_t count);

// The runtime's own functions, while ours stand in their place.
static allocate_function allocate;
static retain_function retain;
static retain_n_function retain_n;
static release_function release;
static release_n_function release_n;

static _Atomic uint64_t allocations;
static _Atomic uint64_t retains;
static _Atomic uint64_t releases;

static _Thread_local bool is_excluded;

static void count(_Atomic uint64_t *counter, uint64_t number) {
    if (!is_excluded) {
        atomic_fetch_add_explicit(counter, number, memory_order_relaxed);
    }
}

static void *counted_allocate(const void *metadata, size_t size, size_t mask) {
    count(&allocations, 1);
    return allocate(metadata, size, mask);
}

static void *counted_retain(void *object) {
    count(&retains, 1);
    return retain(object);
}

static void *counted_retain_n(void *object, uint32_t number) {
    count(&retains, number);
    return retain_n(object, number);
}

static void counted_release(void *object) {
    count(&releases, 1);
    release(object);
}

static void counted_release_n(void *object, uint32_t number) {
    count(&releases, number);
    release_n(object, number);
}

static _Atomic bool *find_flag(void) {
    return dlsym(RTLD_DEFAULT,
                 "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly");
}

bool latchkey_machine_heap_begin(void) {
    _Atomic bool *flag = find_flag();
    allocate_function *allocate_place = dlsym(RTLD_DEFAULT, "_swift_allocObject");
    retain_function *retain_place = dlsym(RTLD_DEFAULT, "_swift_retain");
    retain_n_function *retain_n_place = dlsym(RTLD_DEFAULT, "_swift_retain_n");
    release_function *release_place = dlsym(RTLD_DEFAULT, "_swift_release");
    release_n_function *release_n_place = dlsym(RTLD_DEFAULT, "_swift_release_n");
    if (flag == NULL || allocate_place == NULL || retain_place == NULL || retain_n_place == NULL ||
        release_place == NULL || release_n_place == NULL) {
        return false;
    }
    is_excluded = true;
    // Once: the functions stay in their places, which the runtime looks at while the flag is set.
    if (retain == NULL) {
        allocate = *allocate_place;
        retain = *retain_place;
        retain_n = *retain_n_place;
        release = *release_place;
        release_n = *release_n_place;
        *allocate_place = counted_allocate;
        *retain_place = counted_retain;
        *retain_n_place = counted_retain_n;
        *release_place = counted_release;
        *release_n_place = counted_release_n;
    }
    atomic_store(flag, true);
    return true;
}

void latchkey_machine_heap_end(void) {
    _Atomic bool *flag = find_flag();
    if (flag != NULL) {
        atomic_store(flag, false);
    }
    is_excluded = false;
}

struct latchkey_machine_heap latchkey_machine_heap_now(void) {
    struct latchkey_machine_heap now = {
        .allocations = atomic_load_explicit(&allocations, memory_order_relaxed),
        .retains = atomic_load_explicit(&retains, memory_order_relaxed),
        .releases = atomic_load_explicit(&releases, memory_order_relaxed),
    };
    return now;
}
