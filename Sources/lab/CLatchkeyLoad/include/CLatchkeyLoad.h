// A load of HTTP requests on a service of this machine, each at the time at which it is due.
//
// One thread drives all connections. A connection has one request at a time; if all are busy, the
// next request begins when one is free again. So requests begin in the order in which they are
// given, and what is late is late by a time that the caller can see: nothing is left out.

#ifndef LATCHKEY_LOAD_H
#define LATCHKEY_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct {
    // When the request is due, in nanoseconds from the start of the load. Never before the one
    // before it.
    uint64_t due;
    // Where its bytes are in `bytes`.
    size_t first;
    size_t count;
} latchkey_load_request;

typedef struct {
    // The service listens on this port of 127.0.0.1.
    uint16_t port;
    uint32_t connections;
    // In the order in which they are due.
    const latchkey_load_request *requests;
    size_t request_count;
    const uint8_t *bytes;
    // No request begins after this time.
    uint64_t nanoseconds;
    // Without due times: each connection sends the next request as soon as it is free, and the list
    // begins again at its end.
    bool is_closed;
    // Called for each answer; `request` counts from 0 and goes on if the list begins again. The
    // times are those of CLOCK_MONOTONIC.
    void (*answered)(void *context, size_t request, unsigned status, uint64_t began,
                     uint64_t ended);
    // Asked every few milliseconds; ends the load if it says true.
    bool (*is_interrupted)(void *context);
    void *context;
} latchkey_load;

typedef struct {
    // The time of CLOCK_MONOTONIC from which `due` counts.
    uint64_t start;
    // How many requests began; those after them did not.
    size_t begun;
    // Requests whose connection ended, or that had no answer when the time was over.
    size_t lost;
    // What a call of the system said that ended the load, or 0.
    int error;
} latchkey_load_outcome;

// Blocks until all requests have begun or the time is over, and then for at most five seconds for
// the answers that are missing.
latchkey_load_outcome latchkey_load_run(const latchkey_load *load);

#pragma clang assume_nonnull end

#endif
