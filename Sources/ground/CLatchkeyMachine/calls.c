// Calls that have no wrapper, or a variadic one.

#define _GNU_SOURCE

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CLatchkeyMachine.h"

int latchkey_machine_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int32_t latchkey_machine_thread_identifier(void) {
    return (int32_t)syscall(SYS_gettid);
}

int latchkey_machine_count_open(uint64_t tracepoint) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = tracepoint;
    // This thread, on whatever processor, in no group.
    long result =
        syscall(SYS_perf_event_open, &attributes, 0, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    return result < 0 ? -errno : (int)result;
}

uint64_t latchkey_machine_memory_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void latchkey_machine_memory_return(void) {
    malloc_trim(0);
}

// The build ID that latchkey_machine_build() looks for in the first object, which is the program.
struct build {
    uint8_t *bytes;
    int count_max;
    int count;
};

static int find_build(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    struct build *build = context;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        if (part->p_type != PT_NOTE) {
            continue;
        }
        // Names and contents are padded to 4 bytes (elf(5)); parts with another alignment have
        // notes of another kind.
        const char *at = (const char *)(object->dlpi_addr + part->p_vaddr);
        const char *end = at + part->p_memsz;
        while (part->p_align <= 4 && end - at >= (long)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *name = at + sizeof *note;
            const char *content = name + ((note->n_namesz + 3U) & ~3U);
            if (content > end || (long)note->n_descsz > end - content) {
                break;
            }
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0 && (long)note->n_descsz <= build->count_max) {
                memcpy(build->bytes, content, note->n_descsz);
                build->count = (int)note->n_descsz;
                return 1;
            }
            at = content + ((note->n_descsz + 3U) & ~3U);
        }
    }
    return 1;
}

int latchkey_machine_build(uint8_t *bytes, int count_max) {
    struct build build = {bytes, count_max, 0};
    dl_iterate_phdr(find_build, &build);
    return build.count;
}
