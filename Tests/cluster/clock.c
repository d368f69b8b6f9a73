// Another calendar for a process: LATCHKEY_SKEW seconds are added to the system's time. The
// monotonic clocks are as they are.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    const char *skew = getenv("LATCHKEY_SKEW");
    if (status == 0 && clock == CLOCK_REALTIME && skew != NULL)
        time->tv_sec += atoi(skew);
    return status;
}
