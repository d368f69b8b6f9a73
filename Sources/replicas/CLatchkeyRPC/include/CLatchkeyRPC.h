#ifndef CLATCHKEYRPC_H
#define CLATCHKEYRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* gRPC calls over one HTTP/2 connection: nghttp2 for the frames, GnuTLS for encryption.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * Design. A channel is one connection and one thread, which alone uses the connection and calls all
 * callbacks. Other threads hand it calls through a list under `lock`, and wake it. A channel makes
 * its connection once: when it has ended, its owner opens another one, to another server if it
 * likes. Calls of one channel run concurrently, and no order is promised between them; the messages
 * of one call come in their order. Nothing is sent again. */

/* The gRPC statuses that this library also makes itself. */
enum {
    LATCHKEY_RPC_OK = 0,
    LATCHKEY_RPC_CANCELLED = 1,
    LATCHKEY_RPC_UNKNOWN = 2,
    LATCHKEY_RPC_DEADLINE_EXCEEDED = 4,
    LATCHKEY_RPC_RESOURCE_EXHAUSTED = 8,
    LATCHKEY_RPC_UNAVAILABLE = 14
};

enum {
    /* How much a server sends ahead: messages of a watch come as fast as they are consumed. */
    LATCHKEY_RPC_WINDOW_BYTES = 16 * 1024 * 1024,
    /* The length of a message's head: a flag and the length. */
    LATCHKEY_RPC_PREFIX_BYTES = 5
};

typedef struct latchkey_rpc_channel latchkey_rpc_channel;

/* All texts are copied. */
struct latchkey_rpc_options {
    const char *host;
    uint16_t port;
    bool is_encrypted;
    /* In PEM. NULL: the authorities of the system; no certificate of the client. */
    const char *authorities;
    const char *certificate;
    const char *key;
    /* The time in which the connection must be made, its handshake included. */
    uint32_t connect_milliseconds;
    /* A server from which nothing comes for this time, in spite of pings, is gone. */
    uint32_t silence_milliseconds;
    /* The longest message of an answer. A call with a longer one ends. */
    size_t message_bytes_max;
    void *context;
    /* Called once, as the last callback of all: the connection has ended, or was never made. The
     * reason is lent. */
    void (*ended)(void *context, const char *reason);
};

/* The error in the certificates of authorities, in PEM; NULL if there is none. */
const char *latchkey_rpc_check_authorities(const char *authorities);

/* Begins to connect. NULL if there is no memory, thread or descriptor. */
latchkey_rpc_channel *latchkey_rpc_open(const struct latchkey_rpc_options *options);

/* Asks the channel to end, and gives it up: no other function takes it afterwards. All calls end as
 * cancelled. Does not block. */
void latchkey_rpc_close(latchkey_rpc_channel *channel);

struct latchkey_rpc_request {
    /* As "/package.Service/Method". */
    const char *path;
    const uint8_t *message;
    size_t message_count;
    /* The server ends the call when it has no leader (metadata `hasleader`, of etcd). */
    bool needs_leader;
    /* The server sends at most LATCHKEY_RPC_WINDOW_BYTES of the answer ahead of what
     * `latchkey_rpc_consume` was called for. Otherwise bytes are consumed as they come. */
    bool is_held;
    /* 0 for no limit. */
    uint32_t timeout_milliseconds;
    void *context;
    /* Called with each message of the answer, which is lent. */
    void (*take)(void *context, const uint8_t *bytes, size_t count);
    /* Called once, as the last callback of the call, with a status and a reason, which is lent and
     * may be empty. */
    void (*end)(void *context, int status, const char *reason);
};

/* Sends a call, as soon as there is a connection, and copies its request. Any thread.
 *
 * Returns its number, which is above 0; or 0, and no callback is called, if the channel has ended
 * or there is no memory. */
uint64_t latchkey_rpc_call(latchkey_rpc_channel *channel,
                           const struct latchkey_rpc_request *request);

/* Says that this many bytes of a held call's answers were consumed: the lengths of the messages,
 * plus LATCHKEY_RPC_PREFIX_BYTES for each. Does nothing if the call has ended. Any thread. */
void latchkey_rpc_consume(latchkey_rpc_channel *channel, uint64_t number, size_t byte_count);

/* Ends a call as cancelled, unless it has ended. Any thread. */
void latchkey_rpc_cancel(latchkey_rpc_channel *channel, uint64_t number);

#endif
