// An HTTP/1.1 server: an interface to libmicrohttpd with several event loops.
//
// Length: the one header that Swift imports for requests and answers.
//
// This target adds to the library:
//
//  * A handler may answer a request before it returns, or later from any thread, exactly once. A
//    connection whose answer is not there yet is suspended.
//  * A request owns what it points to. All of it stays readable until the answer, even if the
//    client has vanished or the server was stopped meanwhile.
//  * Limits: target, headers, body (while it arrives), connections, connections per address, and
//    the time that a request, an answer or an idle connection may take. A request over a limit
//    reaches the same handler with `rejection` set, so that all answers are made in one place. The
//    exceptions, which are answered here, are listed at the rejections.
//  * Bytes are checked before libmicrohttpd reads them (arrival.c), and its faults are worked
//    around (library.c). Its log quotes targets and has no limit: texts from clients are taken out,
//    and lines are limited to LATCHKEY_HTTP_LOG_LINES_MAX a second (log.c). Without a free
//    descriptor it busy-waits on its listener: latchkey_http_start() checks that the process may
//    open as many as the limits need.
//
// There are no routes here. This target adds to answers:
//
//     - Every answer has Date, the two constant lines of lines.h, which protect browsers, and
//       Latchkey-Request-Id, the identifier of its request.
//     - An answer whose request is shared with other origins gets the lines of refusals.c.
//     - The few answers that are made here are problem details (RFC 9457). Their bodies are
//       options; server.c has a default for each.
//
// CLatchkeyHTTPStream.h has answers whose body is pushed piece by piece, CLatchkeyHTTPBody.h has
// requests whose body is read piece by piece.
//
// Threads: every function says which threads may call it. Callbacks say on which they are called.

#ifndef CLATCHKEYHTTP_H
#define CLATCHKEYHTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CLatchkeyHTTPAccount.h"
#include "CLatchkeyHTTPTLS.h"

// Bytes of another owner. `bytes` may be NULL if `count` is 0.
typedef struct latchkey_http_bytes {
    const char *bytes;
    size_t count;
} latchkey_http_bytes;

// One header line of a request. The value has no white space around it, and no control characters
// but tabs in it.
typedef struct latchkey_http_field {
    latchkey_http_bytes name;
    latchkey_http_bytes value;
} latchkey_http_field;

// The header fields that many requests are asked for, each a bit.
typedef enum latchkey_http_known {
    LATCHKEY_HTTP_KNOWN_NONE = 0,
    LATCHKEY_HTTP_KNOWN_HOST = 1 << 0,
    LATCHKEY_HTTP_KNOWN_EXPECT = 1 << 1,
    LATCHKEY_HTTP_KNOWN_COOKIE = 1 << 2,
    LATCHKEY_HTTP_KNOWN_IF_MATCH = 1 << 3,
    LATCHKEY_HTTP_KNOWN_IF_NONE_MATCH = 1 << 4,
    LATCHKEY_HTTP_KNOWN_CONTENT_TYPE = 1 << 5,
    LATCHKEY_HTTP_KNOWN_CONTENT_RANGE = 1 << 6,
    LATCHKEY_HTTP_KNOWN_CONTENT_LENGTH = 1 << 7,
    LATCHKEY_HTTP_KNOWN_CONTENT_ENCODING = 1 << 8,
    LATCHKEY_HTTP_KNOWN_TRANSFER_ENCODING = 1 << 9,
    LATCHKEY_HTTP_KNOWN_IDEMPOTENCY_KEY = 1 << 10,
    LATCHKEY_HTTP_KNOWN_ORIGIN = 1 << 11,
    LATCHKEY_HTTP_KNOWN_SEC_FETCH_SITE = 1 << 12,
    LATCHKEY_HTTP_KNOWN_AUTHORIZATION = 1 << 13,
} latchkey_http_known;

// Whether the pages of an origin may read the answer to a request. The handler decides and adds the
// header lines. The request carries the decision, so that answers that are made here get the lines,
// too.
typedef enum latchkey_http_sharing {
    LATCHKEY_HTTP_SHARED_WITH_NONE = 0,
    // Another origin would get another answer.
    LATCHKEY_HTTP_SHARED_BY_ORIGIN,
    // The origin that the request names may read the answer.
    LATCHKEY_HTTP_SHARED_WITH_ORIGIN,
} latchkey_http_sharing;

// An address; one of IPv4 is ::ffff:a.b.c.d.
typedef struct latchkey_http_address {
    uint8_t bytes[16];
} latchkey_http_address;

// The address of a socket address of IPv4 or IPv6; all zeroes for others and for NULL. Any thread.
struct sockaddr;
latchkey_http_address latchkey_http_address_of(const struct sockaddr *from);

// All addresses that begin with these bits.
typedef struct latchkey_http_network {
    latchkey_http_address address;
    uint32_t prefix_bits;  // at most 128; 128 is one address
} latchkey_http_network;

// Why a request must not be served. The handler is called with it and answers with an error.
typedef enum latchkey_http_rejection {
    // Serve it.
    LATCHKEY_HTTP_REJECTION_NONE = 0,
    // The head or the framing of the body is not HTTP/1 (RFC 9112): a line that does not end with
    // CR LF, a control character, a method that is no token, a space in the target, another
    // version, a folded header line, a bad header name, no Host, two or a bad one, an absolute
    // target without a host, contradicting lengths, a length that is no number, a bad chunk or
    // trailer, or more than 16 KiB of chunk extensions. 400. The connection is closed after the
    // answer. Method and target are those of the request if its body is bad, and otherwise `/` and
    // `GET`, or `HEAD` for that.
    LATCHKEY_HTTP_REJECTION_MALFORMED,
    // The Transfer-Encoding is something other than `chunked`. 501. Closed after the answer.
    LATCHKEY_HTTP_REJECTION_TRANSFER_CODING,
    // The target is longer than `target_bytes_max`. 414. `path` and `query` are empty then. If
    // the request line alone is longer than `head_bytes_max`, the connection is closed after the
    // answer.
    LATCHKEY_HTTP_REJECTION_TARGET_TOO_LONG,
    // Request line, headers and trailers together are longer than `head_bytes_max`, or are more
    // than LATCHKEY_HTTP_FIELDS_MAX lines. 431. Closed after the answer.
    LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE,
    // The body is longer than `body_bytes_max`. 413. Closed after the answer. With `Expect:
    // 100-continue` the answer goes out before the body is sent. Otherwise the body is read and
    // discarded, so that the client can read its answer: up to LATCHKEY_HTTP_DISCARD_BYTES_MAX over
    // the limit. A body that is still longer, or whose Content-Length says so, gets a 413 from
    // here, at once.
    LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE,
    // `connections_max` connections are served. 503. Closed after the answer. The number of refused
    // connections is limited, too (LATCHKEY_HTTP_REFUSALS_MAX). One more closes the refused
    // connection that has waited longest for its request, so that a probe is answered while others
    // wait. The handler may serve the request nevertheless: it closes the connection, too.
    LATCHKEY_HTTP_REJECTION_CONNECTIONS,
    // `connections_per_address_max` connections of the address are served. 429. The same otherwise.
    LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS,
    // The server is draining. 503. Closed after the answer.
    LATCHKEY_HTTP_REJECTION_DRAINING,
    // There was no memory for the head or the body. 503. Closed after the answer.
    LATCHKEY_HTTP_REJECTION_MEMORY,
} latchkey_http_rejection;

enum {
    // How many bytes over `body_bytes_max` are read, only so that the client gets its answer.
    LATCHKEY_HTTP_DISCARD_BYTES_MAX = 1 << 20,
    // How many header lines a request can have, trailers included.
    LATCHKEY_HTTP_FIELDS_MAX = 100,
    // How long the head of an answer can be. A request is refused if there is no room for it.
    LATCHKEY_HTTP_ANSWER_HEAD_BYTES_MAX = 1024,
    // The send buffer of a connection in the kernel, which counts it twice: the memory that an
    // unread answer can take.
    LATCHKEY_HTTP_SEND_BYTES_MAX = 128 * 1024,
    // The minimum rate at which a client must take an answer, on average over the idle time.
    LATCHKEY_HTTP_ANSWER_BYTES_PER_SECOND_MIN = 1024,
    // The stack of each thread that serves.
    LATCHKEY_HTTP_STACK_BYTES = 1 << 20,
    // How many lines are logged in a second. The rest is counted.
    LATCHKEY_HTTP_LOG_LINES_MAX = 5,
    // How many connections over `connections_max` can wait for their refusal: as many as
    // `connections_max`, within these limits.
    LATCHKEY_HTTP_REFUSALS_MIN = 64,
    LATCHKEY_HTTP_REFUSALS_MAX = 1024,
    // A refused connection that does not send its request is closed after this time.
    LATCHKEY_HTTP_REFUSAL_MILLISECONDS = 1000,
    // Deadlines are checked this often, or four times in the shortest of them. A deadline takes
    // effect at most two such ticks late and never early.
    LATCHKEY_HTTP_TICK_MILLISECONDS_MAX = 250,
    // The longest body of an answer that is made here.
    LATCHKEY_HTTP_RAW_BODY_BYTES_MAX = 1024,
    // The body buffer of a connection is kept for its next request up to this size.
    LATCHKEY_HTTP_BODY_KEPT_BYTES_MAX = 16 * 1024,
    // The longest body of a short answer.
    LATCHKEY_HTTP_SHORT_BYTES_MAX = 256,
    // The length of the identifier of a request.
    LATCHKEY_HTTP_IDENTIFIER_BYTES = 20,
};

// A request, from the call of the handler until the answer. Read it from any thread; never write.
typedef struct latchkey_http_request {
    latchkey_http_bytes method;
    // The target as it was sent, nothing decoded: what comes before the first `?`, and what comes
    // after it. Scheme and authority of an absolute target are left out. `query.bytes` is NULL if
    // there is no `?`.
    latchkey_http_bytes path;
    latchkey_http_bytes query;
    // Host and port that the request is for: of an absolute target, or else of the Host field
    // (RFC 9112, section 3.2.2). `bytes` is NULL if there is neither.
    latchkey_http_bytes authority;
    latchkey_http_bytes body;
    // The header lines as they came, duplicates included.
    const latchkey_http_field *fields;
    size_t field_count;
    // The bits of the known fields that are there at least once (latchkey_http_known).
    uint32_t known;
    // The bits of those that are there more than once.
    uint32_t known_again;
    // Whether the authority is that of an earlier request of this connection for which
    // latchkey_http_request_keep_authority() was called.
    bool authority_is_kept;
    // The time when the head had arrived: CLOCK_MONOTONIC.
    uint64_t started_nanoseconds;
    // The number given to latchkey_http_request_note() at the head, or 0.
    uint64_t note;
    // The value given to latchkey_http_request_share().
    latchkey_http_sharing sharing;
    latchkey_http_rejection rejection;
} latchkey_http_request;

// Called once for each request, on a thread of the server, which serves its other connections only
// after the handler has returned. Must answer it, then or later: a request that
// is unanswered after `answer_milliseconds` is taken away, as at stop.
typedef void (*latchkey_http_handler)(void *context, latchkey_http_request *request);

// Called once for each request with a body, before any of the body is there and before the handler.
// `body` is empty. On the server's thread; must return soon. It may:
//
//  * answer the request with latchkey_http_respond(), before it returns. Then the handler is not
//    called. With `Expect: 100-continue` the body is not asked for, and the connection is closed.
//    Otherwise the body is read and discarded, within the usual limits, and the answer is sent
//    after it. A client that does not read while it sends gets its answer that way.
//  * call latchkey_http_request_note() and latchkey_http_request_read().
//
// It is not called for a request with a rejection, which goes to the handler. A body that is too
// long by its Content-Length is rejected after it.
typedef void (*latchkey_http_head)(void *context, latchkey_http_request *request);

// Called on any thread with a message of libmicrohttpd's or of ours: no line feed, printable ASCII
// only, nothing that a client has sent. `message` is gone after the call. Must not block: the
// thread may be one that serves.
typedef void (*latchkey_http_log)(void *context, const char *message);

// Called on a thread of the server for a request without effect that is taken away. Returns whether
// the work that it may have waited for is held up; then it gets `held_body`. Must not block.
typedef bool (*latchkey_http_holding)(void *context);

// Called once, on any thread, when the bytes of an answer are not needed any more.
typedef void (*latchkey_http_release)(void *context);

typedef struct latchkey_http_options {
    const char *host;  // a name or a numeric address
    uint16_t port;     // 0: a free one; ask latchkey_http_port()
    // Connections that the kernel keeps until they are accepted.
    uint32_t listen_backlog;
    uint32_t threads;  // event loops; at least 1
    // With an identity, the server speaks TLS, 1.2 and 1.3. It is taken over if the server starts.
    // Nothing is written to a socket past libmicrohttpd then: past_library.c lists what is
    // different.
    latchkey_http_identity *identity;
    uint32_t connections_max;  // at least 1
    // 0: no limit. IPv6 addresses count by their first 64 bits.
    uint32_t connections_per_address_max;
    // Proxies: these addresses have no limit of their own. Copied.
    const latchkey_http_network *proxies;
    size_t proxy_count;
    // Path and query. A target within this limit that is longer than `head_bytes_max` is refused as
    // HEAD_TOO_LARGE, or TARGET_TOO_LONG.
    uint32_t target_bytes_max;
    uint32_t head_bytes_max;  // request line and headers; each KiB costs a request about 30 ns
    uint64_t body_bytes_max;
    // From an answer, or the start of the connection, to the next byte; also the time over which a
    // client's rate of taking an answer is measured. 0: no limit.
    uint32_t idle_milliseconds;
    // From the return of the handler to its answer. A request that is not answered then is taken
    // away, as at stop. 0: no limit.
    uint32_t answer_milliseconds;
    // From the first byte of a request to its last. A slower request gets a 408 from here, and its
    // connection is closed. 0: no limit.
    uint32_t request_milliseconds;
    // There is no port: connections come only by latchkey_http_join().
    bool joins_only;
    // For tests: the clock of deadlines stands still, and only latchkey_http_pass moves it.
    // latchkey_http_stop keeps the system's time.
    bool clock_stands;
    // The bodies of the answers that are made here: a problem's JSON each, of at most
    // LATCHKEY_HTTP_RAW_BODY_BYTES_MAX. Copied. NULL stands for a problem without a type.
    const char *timeout_body;    // 408: a request took too long to arrive
    const char *too_large_body;  // 413: a body is far too long
    const char *draining_body;   // 503: the request was not handled, because the server stops
    const char *unknown_body;    // 500: the request was taken away; it may take effect or not
    const char *late_body;       // 503: the same, of a method that has no effect
    const char *held_body;       // 503: the same, if `holding` says so
    latchkey_http_handler handler;
    latchkey_http_head head;        // may be NULL
    latchkey_http_log log;          // may be NULL
    latchkey_http_holding holding;  // may be NULL
    void *context;  // given to all; must live until latchkey_http_stop() has returned
} latchkey_http_options;

// How many descriptors a server with these options has open at most.
uint32_t latchkey_http_descriptors_max(const latchkey_http_options *options);

// An error: the name of the failed call and its error number (getaddrinfo's own for that call, else
// errno). `call` is NULL if nothing failed. The call is `getrlimit` if the process may not open as
// many descriptors as latchkey_http_descriptors_max().
typedef struct latchkey_http_failure {
    const char *call;
    int code;
} latchkey_http_failure;

// The versions of libmicrohttpd that all tests run with: those of Debian 12 and 13. Another one is
// logged at start.
#define LATCHKEY_HTTP_LIBRARIES_KNOWN                                                              \
    { "0.9.75", "1.0.1" }

// Tests what this target assumes of libmicrohttpd, over socket pairs: some requests and their
// expected answers. Takes some milliseconds, and a thread. Returns false and says why in `reason`
// if an answer differs: then the library must not be used.
bool latchkey_http_check(char *reason, size_t capacity);

typedef struct latchkey_http_server latchkey_http_server;

// Starts to listen and to serve. Returns NULL and says why in `failure`, or a server that must be
// given to latchkey_http_stop(). The options are copied, `host` is not needed after the call.
latchkey_http_server *latchkey_http_start(const latchkey_http_options *options,
                                          latchkey_http_failure *failure);

// Serves a connection that was made elsewhere. The descriptor is taken over, also by a call that
// returns false.
bool latchkey_http_join(latchkey_http_server *server, int socket);

// Whether latchkey_http_start() could listen there now: the address is bound and given back, and
// no client can connect meanwhile. Says why not in `failure`. Only `host` and `port` are used.
bool latchkey_http_can_listen(const latchkey_http_options *options, latchkey_http_failure *failure);

// The port that is listened on. Any thread.
uint16_t latchkey_http_port(const latchkey_http_server *server);

// Stops listening: the port refuses connections when this returns. Requests whose head had arrived
// are served as before; later ones are rejected as DRAINING. Every answer closes its connection.
// The producers of streams are told. Any thread, also several times.
void latchkey_http_quiesce(latchkey_http_server *server);

// The requests and answers that the end of a server cut off.
typedef struct latchkey_http_cut_off {
    // Requests that were taken away from their handlers.
    uint32_t requests;
    // Answers that were not sent to their end, streams included.
    uint32_t answers;
} latchkey_http_cut_off;

// Quiesces, waits until no request is in flight, but no longer than `milliseconds`, and ends the
// server. Requests that are unanswered then are taken away, and answers that come later are
// discarded. Such requests may still take effect, so they get a 500 with `unknown_body`; GET, HEAD
// and OPTIONS, which have no effect, get a 503 with `draining_body`, like requests that no handler
// has seen.
//
// Streams are not waited for like requests: see LATCHKEY_HTTP_STREAM_LAST_MILLISECONDS.
//
// A handler that is running is always waited for, whatever the time. Any thread but the server's
// own, once. Afterwards, requests may still be answered (late answers are discarded), and the
// functions of streams may still be called; nothing else of the server may be used.
latchkey_http_cut_off latchkey_http_stop(latchkey_http_server *server, uint32_t milliseconds);

// Lets this much time pass for a server whose clock stands still. Deadlines count, as always, from
// when the watchdog first saw what they limit. Any thread.
void latchkey_http_pass(latchkey_http_server *server, uint32_t milliseconds);

// The version of libmicrohttpd that is linked, such as "0.9.75". Never freed. Any thread.
const char *latchkey_http_library_version(void);

typedef struct latchkey_http_statistics {
    // How many connections are there now, and what they are doing: waiting for a request, receiving
    // one, having it handled, being answered, or being answered with a stream. Receiving, handling
    // and answering are requests in flight.
    uint32_t connections;
    uint32_t waiting;
    uint32_t receiving;
    uint32_t handling;
    uint32_t answering;
    uint32_t streaming;
    // How many of those in handling are suspended, because their handler has returned
    // without an answer.
    uint32_t suspended;
    // Since the start: connections accepted, refused over a limit, and ended by a deadline.
    uint64_t accepted_total;
    uint64_t refused_total;
    // Those among them that were refused because of `connections_per_address_max`.
    uint64_t refused_share_total;
    uint64_t timed_out_total;
    // Since the start: requests that libmicrohttpd refused by itself, and lines left out of the
    // log.
    uint64_t library_refused_total;
    uint64_t log_suppressed_total;
    // Connections whose handshake is not complete; and since the start, handshakes that were
    // completed, those among them that were resumed, and those that failed or took too long.
    uint32_t handshaking;
    uint64_t handshake_total;
    uint64_t resumed_total;
    uint64_t handshake_failed_total;
} latchkey_http_statistics;

// Counts connections and what they are doing. Costs requests nothing; walks over the connections
// under the lock that guards their list. Any thread.
latchkey_http_statistics latchkey_http_measure(latchkey_http_server *server);

// How many connections `connections_max` counts: all but those that are refused. Any thread.
uint32_t latchkey_http_served(latchkey_http_server *server);

// The index of the first field at `from` or after it whose name is `name`, or `field_count`.
// `name` must be lower-case ASCII; case is ignored. Any thread, until the answer.
size_t latchkey_http_find(const latchkey_http_request *request, const char *name, size_t name_count,
                          size_t from);

// An answer that is being put together. One thread at a time.
typedef struct latchkey_http_response latchkey_http_response;

// Starts an answer. Its body is these bytes, which are not copied: `release` is called with
// `release_context` when they are not needed any more, also if this fails. `release` may be NULL
// for bytes that are never freed. NULL if there is no memory.
latchkey_http_response *latchkey_http_response_create(const void *body, size_t body_count,
                                                      latchkey_http_release release,
                                                      void *release_context);

// The same with a copy of the bytes.
latchkey_http_response *latchkey_http_response_create_copy(const void *body, size_t body_count);

// The same with a copy of the bytes, whose number was charged to the account for this client. It is
// given back when the copy is freed, also if this fails. `account` may be NULL.
latchkey_http_response *latchkey_http_response_create_charged(const void *body, size_t body_count,
                                                              latchkey_http_account *account,
                                                              uint32_t client);

// The same with a body in parts, at least one and as many as there are, that are not copied. They
// are released together; then `charge` bytes, which were charged to the account, are given back.
latchkey_http_response *
latchkey_http_response_create_parts(const latchkey_http_bytes *parts, size_t part_count,
                                    latchkey_http_release release, void *release_context,
                                    latchkey_http_account *account, uint32_t client, size_t charge);

// Adds a header line. Both are copied; both end with NUL. Returns false if there is no memory, or
// if the line is not a header line: an empty name or value, a line feed in either. Content-Length,
// Date, Connection and Latchkey-Request-Id are not for callers.
bool latchkey_http_response_add(latchkey_http_response *response, const char *name,
                                const char *value);

// Discards an answer that will not be given.
void latchkey_http_response_discard(latchkey_http_response *response);

// Answers with a short body, which are cheaper than others: all answers of a connection use the
// same memory. Begin, add header lines, respond; one thread. An answer that was begun may be begun
// again, or another one may be given instead of it.
//
// Begins an answer with a copy of these bytes, at most LATCHKEY_HTTP_SHORT_BYTES_MAX. Returns false
// if there is no memory; then another answer must be given.
bool latchkey_http_short_begin(latchkey_http_request *request, const void *body, size_t count);

// As latchkey_http_response_add().
bool latchkey_http_short_add(latchkey_http_request *request, const char *name, const char *value);

// As latchkey_http_respond().
void latchkey_http_short_respond(latchkey_http_request *request, uint32_t status, bool close);

// The identifier of the request, LATCHKEY_HTTP_IDENTIFIER_BYTES digits and letters without a NUL
// after them. Its answer has it in Latchkey-Request-Id, and no other answer has. Any thread, until
// the answer.
const char *latchkey_http_request_identifier(const latchkey_http_request *request);

// Keeps a number for the handler, which finds it in `note`. Only at the head.
void latchkey_http_request_note(latchkey_http_request *request, uint64_t note);

// Remembers the authority of this request for later requests on its connection, so that the handler
// need not look at it again. Only on the server's thread, before the handler or the head callback
// has returned. An authority that is very long is not remembered.
void latchkey_http_request_keep_authority(latchkey_http_request *request);

// Says which origins may read the answer, for the code that makes it. Only on the server's thread,
// before the handler or the head callback has returned.
void latchkey_http_request_share(latchkey_http_request *request, latchkey_http_sharing sharing);

// The address at the other end of the connection; all zeroes if it has none. Any thread, until the
// answer.
latchkey_http_address latchkey_http_request_peer(const latchkey_http_request *request);

// Whether this is an address of `proxies`. Any thread, until the answer.
bool latchkey_http_request_is_proxy(const latchkey_http_request *request,
                                    const latchkey_http_address *address);

// Whether the handler was called: at the head, the body is still to come. Only on the server's
// thread, before the handler or the head callback has returned.
bool latchkey_http_request_is_whole(const latchkey_http_request *request);

// Closes the connection after the answer. May be called when the function above may be.
void latchkey_http_request_close(latchkey_http_request *request);

// Counts the connection for the token of this number, instead of its address. Returns false, and
// closes the connection after the answer, if the token has `connections_per_address_max` others.
// Only on the server's thread, before the handler or the head callback has returned.
bool latchkey_http_request_belong(latchkey_http_request *request, uint64_t number);

// Gives the request a deadline of its own for its answer, instead of `answer_milliseconds`:
// `milliseconds` after its handler was called, or none if it is 0. For a handler that waits on
// purpose, such as a long poll. If the client closes the connection meanwhile, or its half of it,
// the request is taken away as at its deadline, within about two ticks. Any thread, until the
// answer.
void latchkey_http_request_wait(latchkey_http_request *request, uint32_t milliseconds);

// Tells an owner of a request that it was taken away. Stays in place until `release`, which may
// free it.
typedef struct latchkey_http_gone {
    // The request was taken away: its client has gone, it is late, or the server stops. It must
    // still be answered (the answer is discarded), and may be used until then. Called at most once,
    // and never after the answer unless both happen at the same time. Must not block; may answer.
    void (*gone)(void *context);
    // Nothing is called any more. Called exactly once, after the answer, on any thread. Not NULL.
    void (*release)(void *context);
    void *context;  // given to both
    // The server's; begin as zero.
    struct latchkey_http_gone *next;
    bool is_told;
} latchkey_http_gone;

// Tells the owner of a request if it is taken away, or was already: for an owner that holds
// something while its request waits. The end of the client, or of its half of the connection, is
// noticed within about two ticks, as after latchkey_http_request_wait(). A request can have several
// owners. Any thread, until the answer.
void latchkey_http_request_when_gone(latchkey_http_request *request, latchkey_http_gone *gone);

// Answers the request, once; the request must not be used afterwards. Takes the response over. A
// response of NULL stands for one that could not be made and answers 500 without a body. A body is
// not sent for HEAD, 204 and 304. `close` closes the connection afterwards. Any thread.
//
// To answer a second time is a programmer's error. It ends the process if the connection has not
// got its next request yet; later it goes unnoticed.
void latchkey_http_respond(latchkey_http_request *request, uint32_t status,
                           latchkey_http_response *response, bool close);

#include "CLatchkeyHTTPBody.h"
#include "CLatchkeyHTTPStream.h"

#endif
