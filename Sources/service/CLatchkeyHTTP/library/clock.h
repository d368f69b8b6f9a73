#ifndef LATCHKEY_HTTP_CLOCK_H
#define LATCHKEY_HTTP_CLOCK_H

#include <stdint.h>
#include <time.h>

// The monotonic clock.
static inline uint64_t latchkey_http_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t latchkey_http_milliseconds(void) {
    return latchkey_http_nanoseconds() / 1000000u;
}

#endif
