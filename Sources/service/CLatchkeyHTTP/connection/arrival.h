// The bytes that a client sends, checked before libmicrohttpd reads them. arrival.c says how.

#ifndef LATCHKEY_HTTP_ARRIVAL_H
#define LATCHKEY_HTTP_ARRIVAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CLatchkeyHTTP.h"

enum {
    // Sockets with a higher number are refused.
    ARRIVAL_SOCKETS_MAX = 1 << 20,
    // Of all chunks of a body together. They are discarded; this limits the work for a byte.
    ARRIVAL_EXTENSION_BYTES_MAX = 16384,
    // Stands for `?` in a target, which never has this byte: the library would cut the query.
    ARRIVAL_QUERY_MARK = '#',
    // Stands for the first letter of Cookie: the library would make copies of each cookie. A field
    // that has this name from its client is refused.
    ARRIVAL_COOKIE_MARK = '~',
};

// The part that is expected next.
typedef enum arrival_state {
    ARRIVAL_HEAD,
    ARRIVAL_BODY,        // `left` bytes
    ARRIVAL_CHUNK_SIZE,  // a line
    ARRIVAL_CHUNK,       // `left` bytes
    ARRIVAL_CHUNK_END,   // an empty line
    ARRIVAL_TRAILERS,    // lines, the last of them empty
    ARRIVAL_OVER,        // the rest is discarded
} arrival_state;

// Of one connection. The server's thread's, but for `is_waiting`.
typedef struct arrival {
    arrival_state state;
    uint64_t left;
    uint64_t length;         // Content-Length
    size_t head_bytes;       // of the head and the trailers until now
    size_t extension_bytes;  // of the body until now
    uint32_t lines;          // of the head and the trailers until now
    uint32_t hosts;          // fields Host,
    uint32_t lengths;        // Content-Length and
    uint32_t codings;        // Transfer-Encoding
    bool is_other_coding;
    bool is_http_1_0;

    // Bytes that were received, but not given to the library: [given, ready) are checked; after
    // them is a part whose end has not come. Its first `scanned` bytes are whole lines of a head.
    char *held;
    size_t held_capacity;
    size_t given;
    size_t ready;
    size_t held_count;
    size_t scanned;
    char *stand_in;          // for a head that is refused, or NULL
    const char *closing;     // what the library gets in place of a refused part
    atomic_bool is_waiting;  // a part of a head has come

    uint64_t heads;    // that the library was given
    uint64_t refused;  // which of them is refused; 0: none
    bool is_head;      // the head breaks a rule, not the body
    latchkey_http_rejection refusal;
} arrival;

struct connection;

// Has the bytes of this connection checked. Returns false if its socket's number is too high.
bool latchkey_http_arrival_begin(struct connection *c);

// Ends that. Called before the socket is closed.
void latchkey_http_arrival_end(struct connection *c);

#endif
