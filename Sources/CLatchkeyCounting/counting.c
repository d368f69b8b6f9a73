// The pointers are those of the procedure linkage: the slots of the relocations JUMP_SLOT and
// GLOB_DAT, in every loaded object, by the name of their symbol (System V ABI, chapter 5).

#define _GNU_SOURCE
#include "CLatchkeyCounting.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

// The relocations whose place is a pointer to a function of another object.
#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#define HAS_REFERENCES true
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
// Not known to be called as C functions there.
#define HAS_REFERENCES false
#endif

#if defined(__GLIBC__) && defined(IS_SLOT) && !defined(HAS_SANITIZER)

static _Atomic uint64_t allocations;
static _Atomic uint64_t references;
static _Thread_local bool is_excluded;
static bool has_references;

static inline void count(_Atomic uint64_t *counter, uint64_t number) {
    if (!is_excluded) {
        atomic_fetch_add_explicit(counter, number, memory_order_relaxed);
    }
}

// What is replaced. The real functions are looked up by name: a call by name would come back here.

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_retain)(void *);
static void (*real_release)(void *);
static void *(*real_retain_n)(void *, uint32_t);
static void (*real_release_n)(void *, uint32_t);
static void *(*real_bridge_retain)(void *);
static void (*real_bridge_release)(void *);
static void *(*real_bridge_retain_n)(void *, uint32_t);
static void (*real_bridge_release_n)(void *, uint32_t);

static void *counted_malloc(size_t size) {
    count(&allocations, 1);
    return real_malloc(size);
}

static void *counted_calloc(size_t number, size_t size) {
    count(&allocations, 1);
    return real_calloc(number, size);
}

static void *counted_realloc(void *piece, size_t size) {
    count(&allocations, 1);
    return real_realloc(piece, size);
}

static void *counted_aligned_alloc(size_t alignment, size_t size) {
    count(&allocations, 1);
    return real_aligned_alloc(alignment, size);
}

static int counted_posix_memalign(void **piece, size_t alignment, size_t size) {
    count(&allocations, 1);
    return real_posix_memalign(piece, alignment, size);
}

static void *counted_retain(void *object) {
    count(&references, 1);
    return real_retain(object);
}

static void counted_release(void *object) {
    count(&references, 1);
    real_release(object);
}

static void *counted_retain_n(void *object, uint32_t number) {
    count(&references, number);
    return real_retain_n(object, number);
}

static void counted_release_n(void *object, uint32_t number) {
    count(&references, number);
    real_release_n(object, number);
}

static void *counted_bridge_retain(void *object) {
    count(&references, 1);
    return real_bridge_retain(object);
}

static void counted_bridge_release(void *object) {
    count(&references, 1);
    real_bridge_release(object);
}

static void *counted_bridge_retain_n(void *object, uint32_t number) {
    count(&references, number);
    return real_bridge_retain_n(object, number);
}

static void counted_bridge_release_n(void *object, uint32_t number) {
    count(&references, number);
    real_bridge_release_n(object, number);
}

typedef struct replaced {
    const char *name;
    void *counted;
    void **real;
    bool is_reference;
} replaced;

static const replaced all[] = {
    {"malloc", counted_malloc, (void **)&real_malloc, false},
    {"calloc", counted_calloc, (void **)&real_calloc, false},
    {"realloc", counted_realloc, (void **)&real_realloc, false},
    {"aligned_alloc", counted_aligned_alloc, (void **)&real_aligned_alloc, false},
    {"posix_memalign", counted_posix_memalign, (void **)&real_posix_memalign, false},
    {"swift_retain", counted_retain, (void **)&real_retain, true},
    {"swift_release", counted_release, (void **)&real_release, true},
    {"swift_retain_n", counted_retain_n, (void **)&real_retain_n, true},
    {"swift_release_n", counted_release_n, (void **)&real_release_n, true},
    {"swift_bridgeObjectRetain", counted_bridge_retain, (void **)&real_bridge_retain, true},
    {"swift_bridgeObjectRelease", counted_bridge_release, (void **)&real_bridge_release, true},
    {"swift_bridgeObjectRetain_n", counted_bridge_retain_n, (void **)&real_bridge_retain_n, true},
    {"swift_bridgeObjectRelease_n", counted_bridge_release_n, (void **)&real_bridge_release_n,
     true},
};
static const size_t all_count = sizeof(all) / sizeof(all[0]);

// The tables of a loaded object that name its slots.
typedef struct object {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *strings;
    // The pages that the dynamic linker has made read-only.
    ElfW(Addr) protected_from, protected_to;
} object;

static ElfW(Addr) page_size(void) {
    return (ElfW(Addr))sysconf(_SC_PAGESIZE);
}

// The page with this address begins here.
static ElfW(Addr) page(ElfW(Addr) address) {
    return address & ~(page_size() - 1);
}

// Returns false if the slot is in memory that cannot be made writable.
static bool set_slot(const object *found, ElfW(Addr) slot, void *function) {
    void *start = (void *)page(slot);
    bool is_protected = slot >= found->protected_from && slot < found->protected_to;
    if (is_protected && mprotect(start, page_size(), PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    __atomic_store_n((void **)slot, function, __ATOMIC_RELAXED);
    if (is_protected) {
        mprotect(start, page_size(), PROT_READ);
    }
    return true;
}

static bool set_slots(const object *found, const ElfW(Rela) * relocations, size_t bytes,
                      bool is_counting) {
    for (size_t index = 0; index < bytes / sizeof(*relocations); index++) {
        const ElfW(Rela) *relocation = &relocations[index];
        if (!IS_SLOT(ELF64_R_TYPE(relocation->r_info))) {
            continue;
        }
        const ElfW(Sym) *symbol = &found->symbols[ELF64_R_SYM(relocation->r_info)];
        const char *name = found->strings + symbol->st_name;
        for (size_t function = 0; function < all_count; function++) {
            const replaced *one = &all[function];
            if (*one->real == NULL || strcmp(name, one->name) != 0) {
                continue;
            }
            void *target = is_counting ? one->counted : *one->real;
            if (!set_slot(found, found->base + relocation->r_offset, target)) {
                return false;
            }
            has_references |= one->is_reference;
        }
    }
    return true;
}

static int set_object(struct dl_phdr_info *info, size_t size, void *is_counting) {
    (void)size;
    const ElfW(Dyn) *entry = NULL;
    object found = {.base = info->dlpi_addr};
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[index];
        ElfW(Addr) start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC) {
            entry = (const ElfW(Dyn) *)start;
        } else if (header->p_type == PT_GNU_RELRO) {
            // As the dynamic linker rounds: it leaves the page writable in which the part ends.
            found.protected_from = page(start);
            found.protected_to = page(start + header->p_memsz);
        }
    }
    const ElfW(Rela) *calls = NULL, *data = NULL;
    size_t calls_bytes = 0, data_bytes = 0;
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            found.symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
            break;
        case DT_STRTAB:
            found.strings = (const char *)entry->d_un.d_ptr;
            break;
        case DT_JMPREL:
            calls = (const ElfW(Rela) *)entry->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            calls_bytes = entry->d_un.d_val;
            break;
        case DT_RELA:
            data = (const ElfW(Rela) *)entry->d_un.d_ptr;
            break;
        case DT_RELASZ:
            data_bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    // glibc has made addresses of these. It does not of the kernel's object, which has no slots.
    if (found.symbols == NULL || found.strings == NULL) {
        return 0;
    }
    bool counts = *(bool *)is_counting;
    bool is_set = (calls == NULL || set_slots(&found, calls, calls_bytes, counts)) &&
                  (data == NULL || set_slots(&found, data, data_bytes, counts));
    return is_set ? 0 : 1;
}

bool latchkey_counting_begin(void) {
    for (size_t function = 0; function < all_count; function++) {
        bool is_wanted = HAS_REFERENCES || !all[function].is_reference;
        if (is_wanted && *all[function].real == NULL) {
            // Not in this program, which may have a slot under the same name.
            *all[function].real = dlsym(RTLD_NEXT, all[function].name);
        }
    }
    if (real_malloc == NULL) {
        return false;
    }
    is_excluded = true;
    has_references = false;
    bool is_counting = true;
    if (dl_iterate_phdr(set_object, &is_counting) != 0) {
        latchkey_counting_end();
        return false;
    }
    return true;
}

bool latchkey_counting_has_references(void) {
    return has_references;
}

latchkey_counting_counts latchkey_counting_now(void) {
    return (latchkey_counting_counts){
        .allocations = atomic_load_explicit(&allocations, memory_order_relaxed),
        .references = atomic_load_explicit(&references, memory_order_relaxed),
    };
}

void latchkey_counting_end(void) {
    bool is_counting = false;
    dl_iterate_phdr(set_object, &is_counting);
    is_excluded = false;
}

#else

bool latchkey_counting_begin(void) {
    return false;
}

bool latchkey_counting_has_references(void) {
    return false;
}

latchkey_counting_counts latchkey_counting_now(void) {
    return (latchkey_counting_counts){0};
}

void latchkey_counting_end(void) {
}

#endif
