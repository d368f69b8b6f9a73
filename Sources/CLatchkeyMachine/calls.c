// Calls that have no wrapper, or a variadic one.

#define _GNU_SOURCE

#include <errno.h>
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
