// Declarations that the files of this target share. Nothing here is visible outside.
//
// Length: the states of a connection, and who changes them, in one place.
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
// `phase` says what the connection is doing, and how often that has changed, in one word:
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
// `answer_state` says who has the request. It becomes SUSPENDED, and leaves it, only under the lock
// of `suspension`, together with the call that suspends or resumes (suspend.c); all else is done by
// compare-and-exchange without a lock:
//
//   state      | meaning                                | next
//   -----------+----------------------------------------+--------------------------------------
//   IDLE       | no request is with a handler           | RUNNING (server's thread)
//   RUNNING    | the handler or the reader of the body  | ANSWERED (who answers),
//              | runs, or the server's thread will      | READ (who lets the client go on),
//              | come back by itself                    | SUSPENDED (server's thread, lock),
//              |                                        | ABANDONED (server's thread: closed)
//   SUSPENDED  | libmicrohttpd has suspended the        | ANSWERED (who answers, lock),
//              | connection                             | IDLE (who lets the client go on, lock;
//              |                                        | sets the phase RECEIVING as well),
//              |                                        | ABANDONED (stop, watchdog, lock)
//   ANSWERED   | `answer` is there                      | IDLE (server's thread)
//   READ       | the reader of the body wants more      | IDLE (server's thread)
//   ABANDONED  | the connection went on without it;     | none: the answer that comes is
//              | who answers holds a reference          | thrown away, and the reference
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
#include "arrival.h"
#include "clock.h"
#include "lines.h"
#include "short.h"
#include "suspend.h"

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

// What a connection is counted for.
typedef struct counted_client {
    uint64_t bits;  // of its address, or the number of its token
    enum counted_kind { COUNTED_IPV4, COUNTED_IPV6, COUNTED_TOKEN } kind;
} counted_client;

typedef struct connection connection;
struct body_reader;

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
    bool refused;             // over the bound that `refusal` names
    bool has_ended;           // stop has shut the socket down (lock)
    latchkey_http_rejection refusal;

    // Who serves it, from the first request line on: pthread_self(). Only this thread looks at what
    // is the server's thread's.
    _Atomic(pthread_t) thread;

    arrival arrival;
    uint64_t number;  // of the request among those of the connection, from 1 on
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
    bool answers_head;   // the answer was given at the head; the body is thrown away
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
    latchkey_http_gone *gone;      // the owners that want to know, or NULL (gone.c)
    // The request's own deadline for its answer: 0 for `answer_milliseconds`, UINT32_MAX for none.
    _Atomic uint32_t answer_milliseconds;
    atomic_uint answer_state;
    suspension suspension;  // of the handshake, then of the request
    atomic_uint reference_count;

    atomic_uint phase;
    _Atomic(const char *) sharing_lines;  // of answers past the library, or NULL (own.c)

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
    char *timeout_body;
    char *too_large_body;
    char *late_body;
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
    atomic_ullong refused_share_total;  // those among them that are over the bound per address
    atomic_ullong timed_out_total;
    atomic_ullong library_refused_total;
    atomic_ullong log_suppressed_total;
    atomic_ullong log_window;
    atomic_ullong handshake_total;
    atomic_ullong handshake_failed_total;
    atomic_ullong resumed_total;

    pthread_mutex_t lock;  // guards the rest, and what is marked in the connections
    pthread_t watchdog;
    int watch_set;   // epoll: sockets with a stream, for the end of their client, or in a handshake
    int watch_wake;  // eventfd: ends the watchdog
    bool watchdog_runs;
    bool watchdog_ends;
    bool streams_end;  // each stream that begins from now on ends behind what is buffered
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
    uint64_t refused_second;      // in which
    uint32_t refused_handshakes;  // so many connections over their client's share have come
    address_counter **addresses;  // chains by hash, or NULL without a bound per address
    uint32_t address_mask;
};

// connection.c

void latchkey_http_connection_notify(void *context, struct MHD_Connection *mhd,
                                     void **socket_context,
                                     enum MHD_ConnectionNotificationCode code);
enum MHD_Result latchkey_http_connection_admit(void *context, const struct sockaddr *from,
                                               socklen_t count);
void latchkey_http_connection_release(connection *c);

// How many refused connections there are at most, and how many more, because what is ended takes a
// moment to go.
enum { CONNECTIONS_ENDING_MAX = 64 };
uint32_t latchkey_http_connection_refusals_max(const latchkey_http_options *options);

// Changes the phase. Returns false if the connection has expired. The server's thread only.
bool latchkey_http_connection_enter(connection *c, enum phase phase);
enum phase latchkey_http_connection_phase(connection *c);

// The kernel's state of a connection; false if the kernel does not give it.
struct tcp_info;
bool latchkey_http_connection_ask(connection *c, struct tcp_info *info);

// The lists of connections. `offset` is that of the links in a connection. (lock)
void latchkey_http_links_append(links *list, connection *c, size_t offset);
void latchkey_http_links_take_out(links *list, connection *c, size_t offset);

// Ends a connection without a request that is not refused, and gives its place to another. Returns
// false if something else has ended it. (lock)
bool latchkey_http_connection_displace(connection *c);

// Sets the phase to EXPIRED if it is this one. Returns false if the phase has changed.
bool latchkey_http_connection_expire(connection *c, unsigned phase);

// Shuts a connection down: libmicrohttpd sees the end of the stream and closes. Bytes that the
// client has not taken are discarded.
void latchkey_http_connection_end(connection *c);

// address.c

// Whether the address is one of a proxy that speaks for others.
bool latchkey_http_address_is_proxy(const latchkey_http_server *server,
                                    const latchkey_http_address *address);

// Makes room for the counters. Returns false without memory.
bool latchkey_http_address_create(latchkey_http_server *server);

// Counts a connection, or says over which bound it is. (lock)
latchkey_http_rejection latchkey_http_address_enter(connection *c);
void latchkey_http_address_leave(connection *c);

// request.c

void *latchkey_http_request_line(void *context, const char *target, struct MHD_Connection *mhd);
enum MHD_Result latchkey_http_request_access(void *context, struct MHD_Connection *mhd,
                                             const char *url, const char *method,
                                             const char *version, const char *upload,
                                             size_t *upload_count, void **request_context);
void latchkey_http_request_completed(void *context, struct MHD_Connection *mhd,
                                     void **request_context, enum MHD_RequestTerminationCode code);

// head.c

// Copies and checks the head of the request that libmicrohttpd has parsed; sets the request's
// method, path, query and fields, and its rejection.
void latchkey_http_head_take(connection *c, const char *method, const char *version);

// fields.c

// The bit of the name of a header field, in whatever case.
latchkey_http_known latchkey_http_field_known(const char *name, size_t count);

// raw.c

// Refuses a request for which libmicrohttpd takes no answer, and sets the phase to EXPIRED. Does
// nothing and returns false if the phase is not this one any more.
bool latchkey_http_raw_refuse(connection *c, unsigned phase, const char *status,
                              const char *problem);

// Whether the client has ended its half of the connection, and all that it had sent was read. The
// phase has lasted this long.
//
// libmicrohttpd uses edge-triggered events, and takes a read that is shorter than its buffer for
// the last one. An end of the stream that has come together with the last bytes is then never seen,
// and the connection would stay until it has been idle for too long.
bool latchkey_http_raw_has_ended(connection *c, const struct tcp_info *info,
                                 uint64_t elapsed_milliseconds);

// own.c

enum {
    OWN_ORIGIN_BYTES_MAX = 270,  // that of an allowed origin
    OWN_SHARING_BYTES_MAX = OWN_ORIGIN_BYTES_MAX + 128,
};

// Makes the header lines of answers past libmicrohttpd that say who may read them, if the request
// says so while its body is still to come. The server's thread.
void latchkey_http_own_share(connection *c);
void latchkey_http_own_unshare(connection *c);

// These lines, each with its line end. (lock, or the server's thread)
const char *latchkey_http_own_sharing_lines(connection *c);

// Adds the same lines to an answer that only this request gets. The server's thread.
void latchkey_http_own_add_sharing(connection *c, struct MHD_Response *response);

// An answer that any number of connections can be given, or NULL without memory.
struct MHD_Response *latchkey_http_own_create(char *body, bool may_retry);

// Hands an answer to libmicrohttpd: the shared one, or its like for this request. The server's
// thread.
enum MHD_Result latchkey_http_own_queue(connection *c, unsigned status, struct MHD_Response *shared,
                                        char *body);

// response.c

// Calls the handler, and hands its answer to libmicrohttpd if it is there. `is_early` if the
// request is not complete, so that libmicrohttpd would wait for the rest before it comes back.
enum MHD_Result latchkey_http_response_dispatch(connection *c, bool is_early);

// Asks the head callback. Returns whether it has answered.
bool latchkey_http_response_ask_at_head(connection *c);

// Hands the answer that was given at the head to libmicrohttpd.
enum MHD_Result latchkey_http_response_give(connection *c);

// Goes on with a request whose handler has returned without an answer.
enum MHD_Result latchkey_http_response_continue(connection *c);

// Suspends a request that is RUNNING, unless there is word of it already. Returns true if its
// thread must go back to libmicrohttpd. The server's thread.
bool latchkey_http_response_await(connection *c);

// Takes a request that is RUNNING away from its handler: its connection has gone. Returns false if
// it was answered already. The server's thread.
bool latchkey_http_response_abandon(connection *c);

// Takes a request that is SUSPENDED away from its handler, and resumes its connection. Returns
// false if it is not suspended. latchkey_http_gone_tell_all() must be called behind it. (lock)
bool latchkey_http_response_take_away(connection *c);

// gone.c

// Notes that the request of this connection was taken away; latchkey_http_gone_tell_all() must be
// called once the lock is released. (lock, and that of the suspension)
void latchkey_http_gone_note(connection *c);

// Tells the owners of all requests that were noted.
void latchkey_http_gone_tell_all(latchkey_http_server *server);

// Tells the owners of a request that was taken away, each once. The caller holds the connection.
void latchkey_http_gone_tell(connection *c);

// Whether an owner of a request wants to know.
bool latchkey_http_gone_is_awaited(connection *c);

// Gives up the callbacks of a request that is over.
void latchkey_http_gone_release(connection *c);

// deadline.c

void *latchkey_http_deadline_watch(void *server);

// The time of deadlines, in milliseconds. Any thread.
uint64_t latchkey_http_deadline_now(latchkey_http_server *server);

// Ends and joins the watchdog, if it runs.
void latchkey_http_deadline_stop(latchkey_http_server *server);

// Refuses a body without end with a 413 (raw.c).
void latchkey_http_deadline_refuse_body(connection *c);

// log.c

// Logs a sentence of ours, within the bound.
void latchkey_http_log_write(latchkey_http_server *server, const char *message);

// libmicrohttpd's logger.
void latchkey_http_log_library(void *server, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

// Suppresses the next line that libmicrohttpd logs on this thread, because a callback returns this
// result on purpose.
enum MHD_Result latchkey_http_log_not(enum MHD_Result result);

// server.c

void latchkey_http_server_release(latchkey_http_server *server);

#include "body.h"
#include "framing.h"
#include "library.h"
#include "stream.h"

#endif
