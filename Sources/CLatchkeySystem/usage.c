// What threads use of the machine: getrusage(2) and perf_event_open(2).

#define _GNU_SOURCE

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>

#include "CLatchkeySystem.h"

static uint64_t nanoseconds(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static struct latchkey_system_usage usage(int who) {
    struct rusage used;
    struct latchkey_system_usage result = {0};
    // It fails for a wrong `who` or address only.
    if (getrusage(who, &used) == 0) {
        result.processor_nanoseconds = nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
        result.voluntary_switches = (uint64_t)used.ru_nvcsw;
        result.involuntary_switches = (uint64_t)used.ru_nivcsw;
        result.minor_faults = (uint64_t)used.ru_minflt;
        result.major_faults = (uint64_t)used.ru_majflt;
    }
    return result;
}

struct latchkey_system_usage latchkey_system_thread_usage(void) {
    return usage(RUSAGE_THREAD);
}

struct latchkey_system_usage latchkey_system_process_usage(void) {
    return usage(RUSAGE_SELF);
}

int32_t latchkey_system_thread_identifier(void) {
    return (int32_t)syscall(SYS_gettid);
}

int latchkey_system_count_open(uint64_t tracepoint) {
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

int64_t latchkey_system_count_read(int descriptor) {
    uint64_t count;
    return read(descriptor, &count, sizeof count) == (ssize_t)sizeof count ? (int64_t)count : -1;
}
