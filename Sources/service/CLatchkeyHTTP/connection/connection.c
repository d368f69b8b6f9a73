// A connection: its phases, its end, and the lists that it is in.
//
// Design
//
// The list of all connections is guarded by the server's lock. It is locked when a connection
// begins and ends, by the watchdog, and by functions that count; never for a request. While a
// connection is in the list its socket is open: libmicrohttpd closes it after
// MHD_CONNECTION_NOTIFY_CLOSED.

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#include "connection/connection.h"
#include "library/clock.h"

// The places of a connection in the list of all and in that of refusals are at different offsets.
static links *links_of(connection *c, size_t offset) {
    return (links *)(void *)((char *)c + offset);
}

// Puts a connection at the end of a list. (lock)
void latchkey_http_links_append(links *list, connection *c, size_t offset) {
    *links_of(c, offset) = (links){list->previous, NULL};
    if (list->previous != NULL) {
        links_of(list->previous, offset)->next = c;
    } else {
        list->next = c;
    }
    list->previous = c;
}

// Takes a connection out of a list. (lock)
void latchkey_http_links_take_out(links *list, connection *c, size_t offset) {
    links at = *links_of(c, offset);
    *(at.previous != NULL ? &links_of(at.previous, offset)->next : &list->next) = at.next;
    *(at.next != NULL ? &links_of(at.next, offset)->previous : &list->previous) = at.previous;
}

void latchkey_http_connection_release(connection *c) {
    // Acquire and release: the thread that frees the object has seen all accesses of the others.
    if (atomic_fetch_sub_explicit(&c->reference_count, 1, memory_order_acq_rel) == 1) {
        c->server->free_connection(c);
    }
}

bool latchkey_http_connection_ask(connection *c, struct tcp_info *info) {
    socklen_t count = sizeof(*info);
    memset(info, 0, sizeof(*info));
    return getsockopt(c->socket, IPPROTO_TCP, TCP_INFO, info, &count) == 0;
}

bool latchkey_http_connection_has_left(connection *c) {
    // TCP_CLOSE and TCP_CLOSE_WAIT of <netinet/tcp.h> (past_library.c says why not from there).
    enum { KERNEL_CLOSE = 7, KERNEL_CLOSE_WAIT = 8 };
    struct tcp_info info;
    return latchkey_http_connection_ask(c, &info) &&
           (info.tcpi_state == KERNEL_CLOSE || info.tcpi_state == KERNEL_CLOSE_WAIT);
}

enum phase latchkey_http_connection_phase(connection *c) {
    return (enum phase)(atomic_load(&c->phase) & PHASE_MASK);
}

bool latchkey_http_connection_enter(connection *c, enum phase phase) {
    unsigned now = atomic_load_explicit(&c->phase, memory_order_relaxed);
    unsigned next = (((now >> PHASE_BITS) + 1) << PHASE_BITS) | phase;
    if ((now & PHASE_MASK) == PHASE_EXPIRED) {
        return false;
    }
    if ((now & PHASE_MASK) >= PHASE_HANDLING) {
        // Any other thread that changes HANDLING holds this caller's lock, or has abandoned the
        // request (internal.h).
        atomic_store_explicit(&c->phase, next, memory_order_release);
        return true;
    }
    // Sequentially consistent, as `phase` and `stopping` have to be (internal.h).
    return atomic_compare_exchange_strong(&c->phase, &now, next);
}

bool latchkey_http_connection_await(connection *c) {
    unsigned state = ANSWER_RUNNING;
    pthread_mutex_lock(&c->suspension.lock);
    bool suspends = atomic_compare_exchange_strong(&c->answer_state, &state, ANSWER_SUSPENDED);
    if (suspends) {
        latchkey_http_suspend(&c->suspension, c);
    }
    pthread_mutex_unlock(&c->suspension.lock);
    return suspends;
}

bool latchkey_http_connection_expire(connection *c, unsigned phase) {
    unsigned expired = (phase & ~(unsigned)PHASE_MASK) | PHASE_EXPIRED;
    return atomic_compare_exchange_strong(&c->phase, &phase, expired);
}

void latchkey_http_connection_end(connection *c) {
    int unsent = 0;
    if (ioctl(c->socket, SIOCOUTQ, &unsent) == 0 && unsent > 0) {
        // Otherwise the kernel would keep unsent bytes for minutes after close() if the client
        // never reads.
        struct linger at_once = {1, 0};
        setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    shutdown(c->socket, SHUT_RDWR);
}

uint32_t latchkey_http_served(latchkey_http_server *server) {
    pthread_mutex_lock(&server->lock);
    uint32_t served = server->connection_count - server->refusal_count;
    pthread_mutex_unlock(&server->lock);
    return served;
}

latchkey_http_statistics latchkey_http_measure(latchkey_http_server *server) {
    latchkey_http_statistics result = {0};
    pthread_mutex_lock(&server->lock);
    for (connection *c = server->all.next; c != NULL; c = c->all.next) {
        unsigned state = atomic_load_explicit(&c->answer_state, memory_order_relaxed);
        result.connections++;
        switch (latchkey_http_connection_phase(c)) {
        case PHASE_WAITING:
        case PHASE_EXPIRED:
            result.waiting++;
            break;
        case PHASE_RECEIVING:
            result.receiving++;
            break;
        case PHASE_HANDLING:
            result.handling++;
            result.suspended += state == ANSWER_SUSPENDED;
            break;
        case PHASE_ANSWERING:
            result.answering++;
            break;
        case PHASE_STREAMING:
            result.streaming++;
            break;
        }
    }
    result.handshaking = server->handshake_count;
    pthread_mutex_unlock(&server->lock);
    result.accepted_total = atomic_load_explicit(&server->accepted_total, memory_order_relaxed);
    result.refused_total = atomic_load_explicit(&server->refused_total, memory_order_relaxed);
    result.refused_share_total =
        atomic_load_explicit(&server->refused_share_total, memory_order_relaxed);
    result.timed_out_total = atomic_load_explicit(&server->timed_out_total, memory_order_relaxed);
    result.library_refused_total =
        atomic_load_explicit(&server->library_refused_total, memory_order_relaxed);
    result.log_suppressed_total =
        atomic_load_explicit(&server->log_suppressed_total, memory_order_relaxed);
    result.handshake_total = atomic_load_explicit(&server->handshake_total, memory_order_relaxed);
    result.handshake_failed_total =
        atomic_load_explicit(&server->handshake_failed_total, memory_order_relaxed);
    result.resumed_total = atomic_load_explicit(&server->resumed_total, memory_order_relaxed);
    return result;
}

uint64_t latchkey_http_now(latchkey_http_server *server) {
    return server->options.clock_stands
               ? atomic_load_explicit(&server->passed_milliseconds, memory_order_relaxed)
               : latchkey_http_milliseconds();
}

void latchkey_http_pass(latchkey_http_server *server, uint32_t milliseconds) {
    atomic_fetch_add_explicit(&server->passed_milliseconds, milliseconds, memory_order_relaxed);
}
