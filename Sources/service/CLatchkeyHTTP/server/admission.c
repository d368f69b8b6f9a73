// The begin and end of connections: their limits, and their objects.
//
// Design
//
// libmicrohttpd closes connections over its own limits without an answer. Our limits are lower, and
// a connection over them may send a request first, so that it can be answered. Refused connections
// are in a second list, by age, which is the reserve for probes: the handler serves probes on it.
// One too many ends the oldest refused connection whose request is not complete. If they arrive
// faster than they end, a connection is closed before it has an object. The library's own limit is
// never reached; latchkey_http_quiesce() depends on that.

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "connection/connection.h"
#include "library/log.h"
#include "request/request.h"
#include "server/server.h"
#include "tls/tls.h"

// Ends the oldest refused connection whose request is not complete. (lock)
static void end_oldest_refusal(latchkey_http_server *server) {
    for (connection *c = server->refusals.next; c != NULL; c = c->refusals.next) {
        unsigned phase = atomic_load(&c->phase);
        if ((phase & PHASE_MASK) < PHASE_HANDLING && latchkey_http_connection_expire(c, phase)) {
            latchkey_http_connection_end(c);
            return;
        }
    }
}

// Puts a connection among those that are refused. (lock)
static void refuse(connection *c, latchkey_http_rejection refusal) {
    latchkey_http_server *server = c->server;
    c->refusal = refusal;
    c->refused = true;
    latchkey_http_links_append(&server->refusals, c, offsetof(connection, refusals));
    if (++server->refusal_count > server->refusals_max) {
        end_oldest_refusal(server);
    }
}

// Ends a connection without a request that is not refused, and gives its place to another. Returns
// false if something else has ended it. (lock)
static bool displace(connection *c) {
    // First: a thread that sees this phase does not look at `refused`.
    if (!latchkey_http_connection_expire(c, atomic_load(&c->phase))) {
        return false;
    }
    latchkey_http_address_leave(c);
    refuse(c, LATCHKEY_HTTP_REJECTION_CONNECTIONS);
    latchkey_http_connection_end(c);
    return true;
}

// Takes the place of a handshake whose time is over. Returns false if there is none. (lock)
static bool displaces_handshake(latchkey_http_server *server) {
    connection *c = latchkey_http_tls_yield(server);
    // One that is already ending gives its place back anyway.
    while (c != NULL && !displace(c)) {
        c = latchkey_http_tls_yield(server);
    }
    return c != NULL;
}

// Whether the connection is over a limit. (lock)
//
// Refused connections do not count against the limits of served ones: a client that has its share,
// and connects repeatedly, takes no place from others.
static latchkey_http_rejection refusal_of(latchkey_http_server *server, connection *c) {
    uint32_t served = server->connection_count - server->refusal_count;
    // First: a client that has its share takes no place from a handshake of another one.
    latchkey_http_rejection refusal = latchkey_http_address_enter(c);
    if (served >= server->options.connections_max &&
        (refusal != LATCHKEY_HTTP_REJECTION_NONE || !displaces_handshake(server))) {
        latchkey_http_address_leave(c);
        refusal = LATCHKEY_HTTP_REJECTION_CONNECTIONS;
    }
    return refusal;
}

// Whether a connection over its client's share gets a handshake, so that it can be told. Only some
// in a second do: a client must not cause an unlimited number of handshakes. (lock)
static bool is_told(latchkey_http_server *server, latchkey_http_rejection refusal) {
    if (!server->is_encrypted || refusal != LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS) {
        return true;
    }
    uint64_t second = latchkey_http_now(server) / 1000;
    if (server->refused_second != second) {
        server->refused_second = second;
        server->refused_handshakes = 0;
    }
    return ++server->refused_handshakes <= LATCHKEY_HTTP_REFUSED_HANDSHAKES_MAX;
}

static void insert(latchkey_http_server *server, connection *c) {
    pthread_mutex_lock(&server->lock);
    latchkey_http_rejection refusal = refusal_of(server, c);
    bool ends = false;
    if (refusal != LATCHKEY_HTTP_REJECTION_NONE) {
        refuse(c, refusal);
        ends =
            !is_told(server, refusal) && latchkey_http_connection_expire(c, atomic_load(&c->phase));
    }
    // One that ends has no handshake that could fail.
    if (ends) {
        latchkey_http_connection_end(c);
    } else if (server->is_encrypted) {
        latchkey_http_tls_enter(c);
    }
    latchkey_http_links_append(&server->all, c, offsetof(connection, all));
    server->connection_count++;
    pthread_mutex_unlock(&server->lock);
}

static void take_out(latchkey_http_server *server, connection *c) {
    pthread_mutex_lock(&server->lock);
    latchkey_http_address_leave(c);
    latchkey_http_tls_forget(c);
    if (c->is_shaking) {
        latchkey_http_tls_leave(c);
        atomic_fetch_add_explicit(&server->handshake_failed_total, 1, memory_order_relaxed);
    }
    if (c->refused) {
        latchkey_http_links_take_out(&server->refusals, c, offsetof(connection, refusals));
        server->refusal_count--;
    }
    latchkey_http_links_take_out(&server->all, c, offsetof(connection, all));
    server->connection_count--;
    pthread_mutex_unlock(&server->lock);
}

static connection *create(latchkey_http_server *server, struct MHD_Connection *mhd) {
    // Each is used before the next is asked for: libmicrohttpd 1.0 returns all of them in the same
    // place.
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    int socket = info != NULL ? info->connect_fd : -1;
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *from = info != NULL ? info->client_addr : NULL;
    connection *c = malloc(sizeof(connection));
    if (c == NULL) {
        return NULL;
    }
    // The arrays at the end need no zeroes.
    memset(c, 0, offsetof(connection, authority));
    c->server = server;
    c->mhd = mhd;
    c->socket = socket;
    if (!latchkey_http_arrival_begin(c)) {
        free(c);
        return NULL;
    }
    c->peer = latchkey_http_address_of(from);
    c->begun_milliseconds = latchkey_http_now(server);
    c->fields = c->fields_inline;
    c->field_capacity = FIELDS_INLINE;
    c->head = c->head_inline;
    c->head_capacity = HEAD_INLINE_BYTES;
    latchkey_http_suspension_create(&c->suspension);
    atomic_init(&c->reference_count, 1);
    atomic_fetch_add_explicit(&server->reference_count, 1, memory_order_relaxed);
    return c;
}

void latchkey_http_connection_free(connection *c) {
    if (c->reader != NULL) {
        latchkey_http_body_leave(c);
    }
    if (c->gone != NULL) {
        latchkey_http_abandoned_release(c);
    }
    latchkey_http_refusal_unshare(c);
    if (c->fields != c->fields_inline) {
        free(c->fields);
    }
    if (c->head != c->head_inline) {
        free(c->head);
    }
    free(c->body);
    free(c->certificate_name);
    MHD_destroy_response(c->short_answer.response);
    latchkey_http_suspension_destroy(&c->suspension);
    latchkey_http_server_release(c->server);
    free(c);
}

enum MHD_Result latchkey_http_connection_admit(void *context, const struct sockaddr *from,
                                               socklen_t count) {
    (void)from;
    (void)count;
    latchkey_http_server *server = context;
    pthread_mutex_lock(&server->lock);
    uint64_t admitted_max =
        (uint64_t)server->options.connections_max + server->refusals_max + CONNECTIONS_ENDING_MAX;
    bool admits = server->connection_count < admitted_max && !atomic_load(&server->draining);
    if (admits) {
        // Until MHD_CONNECTION_NOTIFY_STARTED; stop waits for it.
        atomic_fetch_add(&server->admitting, 1);
    }
    pthread_mutex_unlock(&server->lock);
    if (!admits) {
        atomic_fetch_add_explicit(&server->refused_total, 1, memory_order_relaxed);
    }
    return admits ? MHD_YES : MHD_NO;
}

void latchkey_http_connection_notify(void *context, struct MHD_Connection *mhd,
                                     void **socket_context,
                                     enum MHD_ConnectionNotificationCode code) {
    latchkey_http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add_explicit(&server->accepted_total, 1, memory_order_relaxed);
        connection *c = create(server, mhd);
        *socket_context = c;
        if (c == NULL) {
            atomic_fetch_sub(&server->admitting, 1);
            latchkey_http_log_write(server,
                                    "a connection has no memory or no socket, and will be closed");
            return;
        }
        if (server->is_encrypted && !latchkey_http_tls_begin(c)) {
            latchkey_http_log_write(server, "no memory for a session, which will fail");
        }
        insert(server, c);
        atomic_fetch_sub(&server->admitting, 1);
        if (c->refused) {
            atomic_fetch_add_explicit(&server->refused_total, 1, memory_order_relaxed);
        }
        if (c->refusal == LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS) {
            atomic_fetch_add_explicit(&server->refused_share_total, 1, memory_order_relaxed);
        }
    } else if (*socket_context != NULL) {
        connection *c = *socket_context;
        *socket_context = NULL;
        take_out(server, c);
        latchkey_http_arrival_end(c);
        latchkey_http_connection_release(c);
    }
}
