// Handshakes: when they go on, how many are under way, and why they fail.
//
// Design
//
// libmicrohttpd treats a socket as readable until its handshake is complete: its event loop would
// spin until the client has sent the rest. So a connection whose handshake waits for its client is
// suspended, and the watchdog, whose set has the socket, resumes it when something comes. It is
// suspended in a callback of GnuTLS, and the manual allows that in an access handler only; but the
// library (0.9.75) calls both in the same turn of its loop, and checks afterwards whether the
// connection is suspended.
//
// A client that connects and does not finish its handshake has a place among the connections for a
// limited time. Its place goes to another client that wants it, as soon as an honest client would
// have finished. When a service starts again, all its clients come at once: if all hellos were
// answered before the first handshake is finished, on a slow machine none would be finished in its
// time. So a hello is read when its handshake has a turn. Handshakes under way have one, up to a
// limit; a client that has not finished when an honest client would have does not count any more,
// so that silent clients keep no turns. A connection without a turn is suspended, with its hello in
// the kernel, and its time begins with its turn.

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "connection/connection.h"
#include "library/log.h"
#include "tls/tls.h"

// The connection whose handshake has received last on this thread.
static _Thread_local connection *last_shaking;

// Suspends a connection until one of these events. The server's thread. (lock)
static bool hold(connection *c, uint32_t events) {
    latchkey_http_server *server = c->server;
    struct epoll_event event = {.events = events | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c};
    // Bytes that came meanwhile cause an event at once, which is handled when the lock is free.
    int change = c->is_watched_shaking ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (c->is_shaking && !c->awaits_client &&
        epoll_ctl(server->watch_set, change, c->socket, &event) == 0) {
        c->is_watched_shaking = true;
        c->awaits_client = true;
        pthread_mutex_lock(&c->suspension.lock);
        latchkey_http_suspend(&c->suspension, c);
        pthread_mutex_unlock(&c->suspension.lock);
        return true;
    }
    return false;
}

static void go_on(connection *c) {
    c->awaits_client = false;
    pthread_mutex_lock(&c->suspension.lock);
    latchkey_http_resume(&c->suspension, c);
    pthread_mutex_unlock(&c->suspension.lock);
}

// Takes a connection out of the list of turns, or of those that wait for one. (lock)
static void leave_turns(connection *c) {
    if (c->counts_turn) {
        c->counts_turn = false;
        c->server->turn_count--;
        latchkey_http_links_take_out(&c->server->turns, c, offsetof(connection, turn));
    } else if (c->awaits_turn) {
        c->awaits_turn = false;
        latchkey_http_links_take_out(&c->server->hellos, c, offsetof(connection, turn));
    }
}

bool latchkey_http_tls_go_on(connection *c) {
    if (!c->awaits_client) {
        return false;
    }
    if (c->awaits_turn) {
        // Only the end of the client or of the connection causes an event.
        leave_turns(c);
        latchkey_http_connection_expire(c, atomic_load(&c->phase));
    }
    go_on(c);
    return true;
}

// Gives a turn. (lock)
static void begin_turn(connection *c) {
    latchkey_http_server *server = c->server;
    c->has_turn = c->counts_turn = true;
    c->turn_milliseconds = c->begun_milliseconds = latchkey_http_now(server);
    latchkey_http_links_append(&server->turns, c, offsetof(connection, turn));
    server->turn_count++;
    if (!c->refused) {
        // The list is by the begin.
        latchkey_http_links_take_out(&server->handshakes, c, offsetof(connection, handshakes));
        latchkey_http_links_append(&server->handshakes, c, offsetof(connection, handshakes));
    }
}

void latchkey_http_tls_give_turns(latchkey_http_server *server) {
    uint64_t now = latchkey_http_now(server);
    connection *c;
    while ((c = server->turns.next) != NULL &&
           now - c->turn_milliseconds >= LATCHKEY_HTTP_HANDSHAKE_PLACE_MILLISECONDS) {
        leave_turns(c);
    }
    while ((c = server->hellos.next) != NULL && server->turn_count < LATCHKEY_HTTP_HANDSHAKES_MAX) {
        leave_turns(c);
        begin_turn(c);
        latchkey_http_tls_forget(c);
        go_on(c);
    }
}

// Whether a hello that has come may be read; otherwise the connection waits. The server's thread.
static bool takes_turn(connection *c) {
    latchkey_http_server *server = c->server;
    pthread_mutex_lock(&server->lock);
    if (!c->has_turn && c->is_shaking) {
        bool is_full = server->turn_count >= LATCHKEY_HTTP_HANDSHAKES_MAX;
        if (is_full && hold(c, 0)) {
            c->awaits_turn = true;
            latchkey_http_links_append(&server->hellos, c, offsetof(connection, turn));
        } else {
            begin_turn(c);
        }
    }
    bool has_turn = !c->awaits_turn;
    pthread_mutex_unlock(&server->lock);
    return has_turn;
}

// Notes an alert from a client that does not have its sending keys yet: GnuTLS takes the alert for
// a wrong record. GnuTLS reads the head of a record separately, and no more than it needs.
static void note_alert(connection *c, const unsigned char *bytes, ssize_t count) {
    enum { HEAD_BYTES = 5, ALERT = 21, ALERT_BYTES = 2 };
    if (c->is_alert_next && count == ALERT_BYTES) {
        c->alert = bytes[1];
    }
    c->is_alert_next =
        count == HEAD_BYTES && bytes[0] == ALERT && bytes[3] == 0 && bytes[4] == ALERT_BYTES;
}

// Receives for a handshake.
static ssize_t pull_shaking(connection *c, void *bytes, size_t count) {
    last_shaking = c;
    latchkey_http_hello_end();
    if (latchkey_http_connection_phase(c) == PHASE_EXPIRED) {
        // Its bytes are not worth the work any more.
        return 0;
    }
    // A client that says nothing needs no turn.
    char first;
    ssize_t received = c->has_spoken ? 1 : recv(c->socket, &first, 1, MSG_PEEK);
    if (received > 0) {
        c->has_spoken = true;
        if (!takes_turn(c)) {
            errno = EAGAIN;
            return -1;
        }
        received = recv(c->socket, bytes, count, 0);
    }
    int code = errno;
    note_alert(c, bytes, received);
    if (received < 0 && code == EAGAIN) {
        pthread_mutex_lock(&c->server->lock);
        hold(c, EPOLLIN);
        pthread_mutex_unlock(&c->server->lock);
    } else if (received <= 0) {
        c->has_hung_up = true;
    }
    errno = code;
    return received;
}

ssize_t latchkey_http_handshake_pull(gnutls_transport_ptr_t context, void *bytes, size_t count) {
    connection *c = context;
    return c->may_shake ? pull_shaking(c, bytes, count) : recv(c->socket, bytes, count, 0);
}

void latchkey_http_tls_say_failure(void) {
    connection *c = last_shaking;
    latchkey_http_hello_end();
    if (c == NULL || !c->has_spoken) {
        // A probe of the port.
        return;
    }
    const union MHD_ConnectionInfo *found =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_alert_description_t alert = c->alert != GNUTLS_A_CLOSE_NOTIFY
                                           ? (gnutls_alert_description_t)c->alert
                                           : gnutls_alert_get(found->tls_session);
    char text[LATCHKEY_HTTP_REASON_BYTES];
    const char *reason = "the client's hello has no version or cipher in common, or is wrong";
    if (latchkey_http_connection_phase(c) == PHASE_EXPIRED) {
        reason = "it took too long";
    } else if (alert != GNUTLS_A_CLOSE_NOTIFY) {
        const char *name = gnutls_alert_get_name(alert);
        snprintf(text, sizeof(text), "the client says: %s", name != NULL ? name : "unknown alert");
        reason = text;
    } else if (c->has_hung_up) {
        reason = "the client has closed the connection";
    } else if (!c->is_greeted) {
        reason = "what the client sends is no TLS";
    }
    char line[LATCHKEY_HTTP_REASON_BYTES + 32];
    snprintf(line, sizeof(line), "a TLS handshake has failed: %s", reason);
    latchkey_http_log_write(c->server, line);
}

void latchkey_http_tls_enter(connection *c) {
    c->is_shaking = true;
    c->server->handshake_count++;
    // A refused connection has no place to give.
    if (!c->refused) {
        latchkey_http_links_append(&c->server->handshakes, c, offsetof(connection, handshakes));
    }
}

void latchkey_http_tls_leave(connection *c) {
    if (!c->is_shaking) {
        return;
    }
    c->is_shaking = false;
    c->server->handshake_count--;
    leave_turns(c);
    latchkey_http_tls_give_turns(c->server);
    // A connection that was refused since then has already left (latchkey_http_tls_yield).
    if (!c->refused) {
        latchkey_http_links_take_out(&c->server->handshakes, c, offsetof(connection, handshakes));
    }
}

void latchkey_http_tls_forget(connection *c) {
    if (last_shaking == c) {
        last_shaking = NULL;
    }
    if (c->is_watched_shaking) {
        c->is_watched_shaking = false;
        epoll_ctl(c->server->watch_set, EPOLL_CTL_DEL, c->socket, NULL);
    }
}

connection *latchkey_http_tls_yield(latchkey_http_server *server) {
    connection *c = server->handshakes.next;
    if (c == NULL || latchkey_http_now(server) - c->begun_milliseconds <
                         LATCHKEY_HTTP_HANDSHAKE_PLACE_MILLISECONDS) {
        return NULL;
    }
    latchkey_http_tls_leave(c);
    atomic_fetch_add_explicit(&server->handshake_failed_total, 1, memory_order_relaxed);
    return c;
}
