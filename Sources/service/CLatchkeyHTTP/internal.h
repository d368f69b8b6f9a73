// The state that the files of this target share: a connection with its request, and the server.
// Nothing here is visible outside.
//
// Each folder uses only those before it: library/ (what is ours around libmicrohttpd), connection/
// (a connection and the bytes that come), stream/, request/ (a request and its answer), tls/,
// server/ (all connections: begin, deadlines, end). Calls upwards go through a pointer in the
// server.
//
// Length: the states of a connection, and the threads that change them, in one place.
//
// Design
//
// A connection object lives from MHD_CONNECTION_NOTIFY_STARTED to _CLOSED, and longer if a request
// of it was taken away from its handler. It embeds the one request that can be under way and is
// used again for each, so that a request without a body costs no allocation of ours.
//
// Three parties look at a connection:
//
//  * the thread of libmicrohttpd that serves it: every field, unless a comment says otherwise;
//  * the thread that answers: `answer`, `answer_status`, `answer_close`, `stream`, `answer_state`;
//  * the watchdog (deadline.c) and the statistics: `phase`, and the fields marked (lock).
//
// `phase` says what the connection is doing, and how often this has changed, in one word:
//
//   phase      | set by          | when                                  | ends by deadline
//   -----------+-----------------+---------------------------------------+-----------------------
//   WAITING    | server's thread | accepted; the answer is out           | idle, or 408 if a part
//              |                 |                                       | of a request is there
//   RECEIVING  | server's thread | the request line is there             | 408
//   HANDLING   | server's thread | before the handler, or the reader of  | taken away, once the
//              |                 | the body, is called                   | handler has returned;
//              |                 |                                       | the request may have a
//              |                 |                                       | deadline of its own
//   ANSWERING  | server's thread | the answer was given to libmicrohttpd | taken too slowly
//   STREAMING  | server's thread | the same, and the answer is a stream  | taken too slowly; never
//              |                 |                                       | while there are no bytes
//   EXPIRED    | watchdog, or    | a raw answer was sent, or none; the   | closed a second later
//              | server's thread | rest that comes is thrown away        |
//
// WAITING and RECEIVING can become EXPIRED by compare-and-exchange on both sides, so that either
// the connection is ended or the handler is called, and never both. While the body has a reader,
// two changes come from other threads. Both are made under the lock of `suspension`, while the
// request is suspended, so that the server's thread, which changes nothing then, sees them when it
// goes on:
//
//  * HANDLING becomes EXPIRED if the request was taken away (latchkey_http_body_cut());
//  * HANDLING becomes RECEIVING if its reader lets the client go on, or it is answered early.
//
// `phase` and `stopping` are a Dekker pair: the server's thread sets HANDLING and then looks at
// `stopping`, latchkey_http_stop() sets `stopping` and then looks at the phases. All four are
// sequentially consistent.
//
// `answer_state` says which side has the request. It becomes SUSPENDED, and leaves it, only under
// the lock of `suspension`, together with the call that suspends or resumes (suspend.c); all else
// is done by compare-and-exchange without a lock:
//
//   state      | meaning                                | next
//   -----------+----------------------------------------+--------------------------------------
//   IDLE       | no request is with a handler           | RUNNING (server's thread)
//   RUNNING    | the handler or the reader of the body  | ANSWERED (answering thread),
//              | runs, or the server's thread will      | READ (the client may go on),
//              | come back by itself                    | SUSPENDED (server's thread, lock),
//              |                                        | ABANDONED (server's thread: closed)
//   SUSPENDED  | libmicrohttpd has suspended the        | ANSWERED (answering thread, lock),
//              | connection                             | IDLE (the client may go on, lock;
//              |                                        | sets the phase RECEIVING as well),
//              |                                        | ABANDONED (stop, watchdog, lock)
//   ANSWERED   | `answer` is there                      | IDLE (server's thread)
//   READ       | the reader of the body wants more      | IDLE (server's thread)
//   ABANDONED  | the connection went on without it;     | none: the answer that comes is
//              | its answering side has a reference     | thrown away, and the reference
//
// A stream has a `suspension` of its own, whose lock guards all of it:
//
//   state      | what its content reader finds          | next
//   -----------+----------------------------------------+--------------------------------------
//   reading    | bytes, or the end                      | reading, or over
//              | nothing                                | suspended (server's thread)
//   suspended  |                                        | reading (a write, the end, or a cut)
//   over       | is not called any more                 | none: `finish` and leaving (stream.c)
//              |                                        | take the connection out of the stream
//
// `reference_count`: one for libmicrohttpd, one for the handler of an abandoned request. Each
// connection holds a reference to the server, which is why the server outlives them.

#ifndef LATCHKEY_HTTP_INTERNAL_H
#define LATCHKEY_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "CLatchkeyHTTP.h"
#include "connection/arrival.h"
#include "library/suspend.h"
#include "request/reused_answer.h"

#define LIKELY(condition) __builtin_expect((condition), 1)
#define UNLIKELY(condition) __builtin_expect((condition), 0)

enum phase {
    PHASE_WAITING,
    PHASE_RECEIVING,
    PHASE_HANDLING,
    PHASE_ANSWERING,
    PHASE_STREAMING,
    PHASE_EXPIRED,
};

enum { PHASE_BITS = 3, PHASE_MASK = 0x7 };

enum answer_state {
    ANSWER_IDLE,
    ANSWER_RUNNING,
    ANSWER_SUSPENDED,
    ANSWER_ANSWERED,
    ANSWER_READ,
    ANSWER_ABANDONED,
};

// Where the calls of the access handler for one request are.
enum stage {
    STAGE_NONE,        // no request line yet
    STAGE_LINE,        // the request line is there; the first call has not come
    STAGE_BODY,        // between the first call and the last
    STAGE_DISPATCHED,  // the handler was called
};

enum {
    FIELDS_INLINE = 24,
    HEAD_INLINE_BYTES = 1024,
    AUTHORITY_KEPT_BYTES_MAX = 64,
};

// How many connections of an address are served (address.c).
typedef struct address_counter address_counter;

// The client that a connection is counted for.
typedef struct counted_client {
    uint64_t bits;  // of its address, or the number of its token
    enum counted_kind { COUNTED_IPV4, COUNTED_IPV6, COUNTED_TOKEN } kind;
} counted_client;

typedef struct connection connection;

// The reader of a body (body.c). The pointer to it in a connection is set and cleared under the
// server's lock, by the server's thread.
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

// A place in a list.
typedef struct links {
    connection *previous;
    connection *next;
} links;

struct connection {
    latchkey_http_request request;  // first: a request is its connection

    latchkey_http_server *server;
    struct MHD_Connection *mhd;
    int socket;
    latchkey_http_address peer;
    uint64_t begun_milliseconds;
    latchkey_http_certificate certificate;  // of the client
    char *certificate_name;
    int64_t certificate_end;  // in seconds since 1970
    uint64_t generation;      // of the authorities that it was verified with
    bool refused;             // over the limit that `refusal` names
    bool has_ended;           // stop has shut the socket down (lock)
    latchkey_http_rejection refusal;

    // The thread that serves it, from the first request line on: pthread_self(). Only this thread
    // uses the fields of the server's thread.
    _Atomic(pthread_t) thread;

    arrival arrival;
    uint64_t number;  // of the request among those of the connection, from 1 on
    char identifier[LATCHKEY_HTTP_IDENTIFIER_BYTES];  // of the request (identifier.c)
    enum stage stage;
    bool may_shake;      // as `is_shaking`, for the server's thread without the lock
    bool has_spoken;     // the client has sent something,
    bool is_greeted;     // a hello,
    bool has_hung_up;    // and then no more
    bool is_alert_next;  // what it sends next is an alert,
    uint8_t alert;       // this one
    bool closes;         // the answer must close the connection
    bool expects;        // the client waits for 100 (Continue)
    bool failed_head;    // no memory for the copy of the head
    bool answers_head;   // the answer was given at the head; the body is discarded
    const char *target;  // libmicrohttpd's, until the first call of the access handler
    size_t target_count;
    size_t query_offset;  // in the target; 0: no `?`
    bool is_chunked;      // the body
    bool is_http_1_0;
    size_t head_count;

    // The copy of the head, and the fields in it.
    char *head;
    size_t head_capacity;
    latchkey_http_field *fields;
    size_t field_capacity;
    size_t authority_count;  // of `authority`, which latchkey_http_request_keep_authority() has set

    char *body;
    size_t body_capacity;
    uint64_t body_received;
    uint64_t body_declared;      // Content-Length
    uint64_t body_bytes_max;     // of a request with a body
    struct body_reader *reader;  // of the body, or NULL (set and cleared under lock)

    short_answer short_answer;
    struct MHD_Response *answer;
    uint32_t answer_status;
    bool answer_close;
    latchkey_http_stream *stream;  // the body of the answer, or NULL (set and cleared under lock)
    latchkey_http_gone *gone;      // the owners that want to know, or NULL (abandoned.c)
    // The request's own deadline for its answer: 0 for `answer_milliseconds`, UINT32_MAX for none.
    _Atomic uint32_t answer_milliseconds;
    atomic_uint answer_state;
    suspension suspension;  // of the handshake, then of the request
    atomic_uint reference_count;

    atomic_uint phase;
    _Atomic(const char *) sharing_lines;  // of answers past the library, or NULL (refusals.c)

    // (lock) from here on.
    links all;
    links refusals;
    links handshakes;
    links turn;
    uint64_t turn_milliseconds;  // when it got its turn
    bool has_turn;               // its hello may be read
    bool counts_turn;            // it is in `turns` of the server
    bool awaits_turn;            // it is in `hellos` of the server

    bool is_shaking;           // its handshake is not complete
    bool awaits_client;        // it is suspended until the client goes on with its handshake
    bool is_watched_shaking;   // the watchdog's set has the socket for that
    uint64_t handshake_bytes;  // that the client has sent until its end
    bool is_counted;           // among the connections of its client:
    counted_client counted;    // set by the server's thread
    connection *next_gone;
    uint32_t watched_phase;          // what the watchdog saw at
    uint64_t watched_milliseconds;   // this time
    uint64_t arriving_milliseconds;  // when it saw a part of a request first; 0: not yet
    uint64_t watched_acknowledged;   // what the client had taken then, and one; 0: not asked yet

    char authority[AUTHORITY_KEPT_BYTES_MAX];
    latchkey_http_field fields_inline[FIELDS_INLINE];
    char head_inline[HEAD_INLINE_BYTES];
    char short_body[LATCHKEY_HTTP_SHORT_BYTES_MAX];
};

struct latchkey_http_server {
    latchkey_http_options options;
    struct MHD_Daemon *daemon;
    struct MHD_Response *draining_answer;
    struct MHD_Response *unknown_answer;
    struct MHD_Response *late_answer;
    struct MHD_Response *held_answer;
    char *timeout_body;
    char *too_large_body;
    char *late_body;
    char *held_body;
    char *draining_body;
    char *unknown_body;
    uint16_t port;
    int listener;  // libmicrohttpd's; replaced by plug[0] when quiesced
    int plug[2];
    uint32_t tick_milliseconds;
    atomic_ullong passed_milliseconds;  // what a clock that stands shows
    uint32_t refusals_max;
    bool is_encrypted;
    _Atomic(latchkey_http_identity *) identity;  // NULL unless it is encrypted (tls.c)

    atomic_bool draining;
    atomic_bool stopping;
    atomic_uint reference_count;
    atomic_uint admitting;  // connections admitted for which there is no object yet
    atomic_ullong accepted_total;
    atomic_ullong refused_total;
    atomic_ullong refused_share_total;  // those among them that are over the limit per address
    atomic_ullong timed_out_total;
    atomic_ullong library_refused_total;
    atomic_ullong log_suppressed_total;
    atomic_ullong log_window;
    char identifier_start[10];        // of all identifiers; never changes
    atomic_ullong identifier_blocks;  // that were taken
    atomic_ullong handshake_total;
    atomic_ullong handshake_failed_total;
    atomic_ullong resumed_total;

    pthread_mutex_t lock;  // guards the rest, and what is marked in the connections
    pthread_t watchdog;
    int watch_set;   // epoll: sockets with a stream, for the end of their client, or in a handshake
    int watch_wake;  // eventfd: ends the watchdog
    bool watchdog_runs;
    bool watchdog_ends;
    bool streams_end;  // each stream that begins from now on ends after its buffered bytes
    links all;         // the first and the last connection
    links refusals;    // the oldest and the newest of those that are refused
    connection *gone;  // those of requests that were taken away, whose owners are to be told
    links handshakes;  // the oldest and the newest
    links turns;       // those that are under way, by when they began
    links hellos;      // those that wait for a turn
    uint32_t turn_count;
    uint32_t connection_count;
    uint32_t refusal_count;
    uint32_t handshake_count;
    uint64_t refused_second;      // the second in which this many
    uint32_t refused_handshakes;  // connections over their client's share came
    address_counter **addresses;  // chains by hash, or NULL without a limit per address
    uint32_t address_mask;

    // Calls to folders above. They never change.
    void (*free_connection)(connection *c);  // once the last reference to it is released
    void (*say_failure)(void);               // why a handshake has failed (handshake.c)
};

#endif
