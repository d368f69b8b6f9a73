// Readers of bodies, as the files of this target see them. Included by internal.h.

#ifndef LATCHKEY_HTTP_BODY_H
#define LATCHKEY_HTTP_BODY_H

#include "internal.h"

// See body.c. The pointer to it in a connection is set and cleared under the server's lock, by the
// server's thread.
struct body_reader {
    latchkey_http_body_reader callbacks;  // never changes
    // The handler was called, an answer was given, or `gone` was called.
    atomic_bool is_over;
    atomic_ullong received;  // bytes
    // The server's thread. A round of libmicrohttpd's has passed since the last piece (response.c).
    bool has_had_round;

    // (lock) from here on: what the watchdog saw.
    uint64_t watched_milliseconds;
    uint64_t watched_received;
};

// Gives bytes to the reader. Sets `*count` to the number of bytes that are left: all, or none.
void latchkey_http_body_give(connection *c, const char *bytes, size_t *count);

// Whether the reader has taken the whole body; the client has sent it. If not, libmicrohttpd comes
// back.
bool latchkey_http_body_is_taken(connection *c);

// Calls `gone`, unless the reader is over.
void latchkey_http_body_lose(connection *c, latchkey_http_body_reason reason);

// The request is over: calls `gone` if the reader is not, and frees it. The server's thread, or who
// has released the last reference to the connection.
void latchkey_http_body_leave(connection *c);

// Whether the client sends its body too slowly. (lock)
bool latchkey_http_body_is_slow(connection *c, unsigned phase, uint64_t now_milliseconds);

// Refuses a request whose body is not complete, if there is one. Returns whether it did. (lock)
bool latchkey_http_body_cut(connection *c);

#endif
