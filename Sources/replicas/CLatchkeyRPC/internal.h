#ifndef CLATCHKEYRPC_INTERNAL_H
#define CLATCHKEYRPC_INTERNAL_H

#include <gnutls/gnutls.h>
#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdatomic.h>

#include "CLatchkeyRPC.h"

enum {
    REASON_BYTES = 256,
    /* The bytes that are written to the socket at once. */
    OUTPUT_BYTES = 256 * 1024,
    INPUT_BYTES = 256 * 1024,
    PREFIX_BYTES = LATCHKEY_RPC_PREFIX_BYTES
};

/* A connection: a socket that never blocks, and perhaps a session over it. */
struct transport {
    int socket;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    /* The name and the purpose that the server's certificate must have. */
    gnutls_typed_vdata_st expected[2];
    /* The last error of GnuTLS. */
    int code;
};

struct call {
    struct call *next;
    latchkey_rpc_channel *channel;
    uint64_t number;
    int32_t stream;
    /* When it ends, in milliseconds of the monotonic clock; 0 for never. */
    int64_t deadline;
    bool is_ended;
    bool needs_leader;
    bool is_held;
    char *path;
    void *context;
    void (*take)(void *context, const uint8_t *bytes, size_t count);
    void (*end)(void *context, int status, const char *reason);

    /* The request, with its head. */
    uint8_t *request;
    size_t request_count;
    size_t sent_count;

    /* The message that is being received. */
    uint8_t *message;
    size_t message_capacity;
    size_t received_count;
    uint8_t prefix[PREFIX_BYTES];

    int http_status;
    /* Below 0 until the server has sent it. */
    int status;
    char reason[REASON_BYTES];
};

/* A wish of the owner for a call: more bytes of its answer, or its end if there are 0 bytes. */
struct wish {
    uint64_t number;
    size_t byte_count;
};

struct latchkey_rpc_channel {
    /* The owner and the thread. */
    atomic_int reference_count;
    struct latchkey_rpc_options options;
    /* Becomes readable when something is in the lists. */
    int wakeup;

    pthread_mutex_t lock;
    /* Under `lock`. */
    bool is_closing;
    bool has_ended;
    uint64_t number;
    struct call *submitted;
    struct call **submitted_end;
    struct wish *wishes;
    size_t wish_count;
    size_t wish_capacity;

    /* Only for the thread. */
    struct transport transport;
    nghttp2_session *session;
    /* Whether it takes no more calls. */
    bool is_gone;
    struct call *calls;
    bool has_heard;
    int64_t heard;
    int64_t pinged;
    uint8_t *output;
    size_t output_count;
    size_t output_start;
    uint8_t *input;
    char reason[REASON_BYTES];
};

int64_t latchkey_rpc_now(void);

/* Makes the connection. False, with a reason, if it fails or takes too long, or `is_closing` is
 * set. */
bool latchkey_rpc_connect(latchkey_rpc_channel *channel);

void latchkey_rpc_disconnect(struct transport *transport);

/* As send(2) and recv(2): 0 of the latter is the end, and -1 with EAGAIN asks to wait. */
ssize_t latchkey_rpc_write(struct transport *transport, const uint8_t *bytes, size_t count);
ssize_t latchkey_rpc_read(struct transport *transport, uint8_t *bytes, size_t count);

/* Keeps the reason why the last write or read failed: with TLS 1.3, a server refuses a certificate
 * after the handshake. Returns false. */
bool latchkey_rpc_fail(latchkey_rpc_channel *channel, const char *what);

/* Keeps that the server has closed the connection. Returns false. */
bool latchkey_rpc_fail_closed(latchkey_rpc_channel *channel);

/* Whether bytes were read from the socket that latchkey_rpc_read has not returned yet. */
bool latchkey_rpc_has_buffered(struct transport *transport);

/* Waits until the socket can be used, something is submitted, or this many milliseconds have
 * passed. Returns whether the owner still wants the channel. */
bool latchkey_rpc_wait(latchkey_rpc_channel *channel, short events, int64_t milliseconds);

bool latchkey_rpc_is_wanted(latchkey_rpc_channel *channel);

/* The session of nghttp2, whose callbacks end calls. False if there is no memory. */
bool latchkey_rpc_begin(latchkey_rpc_channel *channel);

/* Sends the request of a call, which is in the list. */
void latchkey_rpc_submit(latchkey_rpc_channel *channel, struct call *call);

/* Lets the server send this many more bytes of the answer. */
void latchkey_rpc_take_more(struct call *call, size_t byte_count);

/* Calls the callback, once. The call stays in the list until it is swept. */
void latchkey_rpc_end(struct call *call, int status, const char *reason);

/* Copies a request, with its head. NULL if there is no memory. */
struct call *latchkey_rpc_make_call(latchkey_rpc_channel *channel,
                                    const struct latchkey_rpc_request *request);

void latchkey_rpc_free_call(struct call *call);

#endif
