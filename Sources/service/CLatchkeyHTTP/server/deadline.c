// Deadlines: requests, answers and idle connections that take too long are ended.
//
// Design
//
// libmicrohttpd ends only a connection on which nothing moves: a client that sends a byte now and
// then keeps its connection without limit. Its timer is switched off, and one thread, the watchdog,
// does all deadlines. It looks at every connection once in a tick and compares `phase` with its
// last value. A phase that has not changed since the watchdog first saw it has lasted at least that
// long. So requests take no time stamps and no lock for their deadlines, and a deadline may be late
// by up to two ticks, but is never early.
//
// The kernel (tcp_info) knows what libmicrohttpd does not tell: whether the first bytes of a
// request line have arrived, whether the client has gone, and how much of an answer it has taken.
//
// The watchdog waits on an epoll set with the sockets of streams, which tells it when such a client
// has gone (stream.c), and with those of handshakes that wait (handshake.c). The set is
// read under the server's lock: a connection leaves it, under that lock, before its object is
// freed.
//
// Two things have no deadline: a handler that is running, because its thread cannot be taken away,
// and a stream without bytes. A request whose handler has returned without an answer is abandoned,
// as at stop (response.c). An answer must be taken at a minimum rate, on average over the idle
// time, since a client that takes a byte now and then would hold its connection without limit.
//
// A request that is too slow is refused past libmicrohttpd (past_library.c): a 408; a body without
// end with a 413. The phase EXPIRED prevents any other answer. Only our half of the connection is
// closed then; the other half follows LINGER_MILLISECONDS later. Otherwise the client's next bytes
// would meet a closed socket, and the reset would destroy the answer before the client has read it.

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include "connection/connection.h"
#include "request/request.h"
#include "server/server.h"
#include "stream/stream.h"
#include "tls/tls.h"

enum { LINGER_MILLISECONDS = 1000 };

static void count_timeout(connection *c) {
    atomic_fetch_add_explicit(&c->server->timed_out_total, 1, memory_order_relaxed);
}

static void refuse_slow_request(connection *c, unsigned phase) {
    if (latchkey_http_past_library_refuse(c, phase, "408 Request Timeout",
                                          c->server->timeout_body)) {
        count_timeout(c);
    }
}

// Ends a connection on which no request is under way, or only a part of one. A request that has
// arrived meanwhile has changed the phase, and is served.
static bool end(connection *c, unsigned phase) {
    bool expires = latchkey_http_connection_expire(c, phase);
    if (expires) {
        latchkey_http_connection_end(c);
    }
    return expires;
}

// Whether bytes have come in this phase of waiting. Exact for the first request of a connection;
// for a later one, bytes that came before the watchdog saw the phase do not count.
static bool has_begun(unsigned phase, uint64_t elapsed, uint64_t handshake_bytes,
                      const struct tcp_info *info) {
    enum { KERNEL_TICK_MILLISECONDS = 20 };
    if (phase >> PHASE_BITS == 0) {
        return info->tcpi_bytes_received > handshake_bytes;
    }
    return (uint64_t)info->tcpi_last_data_recv + KERNEL_TICK_MILLISECONDS < elapsed;
}

// Ends a connection whose client takes its answer too slowly, on average over the idle time.
static void watch_taking(connection *c, uint64_t now, uint64_t elapsed,
                         const struct tcp_info *info) {
    uint32_t bound = c->server->options.idle_milliseconds;
    uint64_t taken = info->tcpi_bytes_acked + 1;
    uint64_t owed = elapsed * LATCHKEY_HTTP_ANSWER_BYTES_PER_SECOND_MIN / 1000;
    if (c->watched_acknowledged == 0 ||
        (elapsed >= bound && taken - c->watched_acknowledged >= owed)) {
        c->watched_acknowledged = taken;
        c->watched_milliseconds = now;
    } else if (bound > 0 && elapsed >= bound) {
        latchkey_http_connection_end(c);
        count_timeout(c);
    }
}

// Whether the client has not yet taken all of the last answer, which libmicrohttpd has given to the
// kernel. The connection is idle when that is done.
static bool is_taking(connection *c, uint64_t now, uint64_t elapsed, const struct tcp_info *info) {
    int unsent = 0;
    if (ioctl(c->socket, SIOCOUTQ, &unsent) == 0 && unsent > 0) {
        watch_taking(c, now, elapsed, info);
        return true;
    }
    if (c->watched_acknowledged != 0) {
        c->watched_acknowledged = 0;
        c->watched_milliseconds = now;
        return true;
    }
    return false;
}

// Ends a connection whose handshake takes too long.
static void watch_handshake(connection *c, unsigned phase, uint64_t now) {
    uint32_t bound = c->server->options.request_milliseconds;
    if (bound == 0 || bound > LATCHKEY_HTTP_HANDSHAKE_MILLISECONDS) {
        bound = LATCHKEY_HTTP_HANDSHAKE_MILLISECONDS;
    }
    if (c->refused && bound > LATCHKEY_HTTP_REFUSAL_MILLISECONDS) {
        bound = LATCHKEY_HTTP_REFUSAL_MILLISECONDS;
    }
    if (now - c->begun_milliseconds >= bound && end(c, phase)) {
        count_timeout(c);
    }
}

static void watch_waiting(connection *c, unsigned phase, uint64_t now, uint64_t elapsed) {
    const latchkey_http_options *options = &c->server->options;
    struct tcp_info info;
    if (c->is_shaking) {
        watch_handshake(c, phase, now);
        return;
    }
    if (!latchkey_http_connection_ask(c, &info) || is_taking(c, now, elapsed, &info)) {
        return;
    }
    if (latchkey_http_past_library_has_ended(c, &info, elapsed) ||
        (c->refused && elapsed >= LATCHKEY_HTTP_REFUSAL_MILLISECONDS)) {
        end(c, phase);
        return;
    }
    bool is_waiting = atomic_load_explicit(&c->arrival.is_waiting, memory_order_relaxed);
    if (c->arriving_milliseconds == 0 &&
        (is_waiting || has_begun(phase, elapsed, c->handshake_bytes, &info))) {
        c->arriving_milliseconds = now;
    }
    uint32_t request_bound = options->request_milliseconds;
    if (c->arriving_milliseconds != 0 && request_bound > 0) {
        if (now - c->arriving_milliseconds >= request_bound) {
            refuse_slow_request(c, phase);
        }
    } else if (options->idle_milliseconds > 0 && elapsed >= options->idle_milliseconds &&
               end(c, phase)) {
        count_timeout(c);
    }
}

static void watch_receiving(connection *c, unsigned phase, uint64_t elapsed) {
    uint32_t bound = c->server->options.request_milliseconds;
    struct tcp_info info;
    if ((latchkey_http_connection_ask(c, &info) &&
         latchkey_http_past_library_has_ended(c, &info, elapsed)) ||
        (c->refused && elapsed >= LATCHKEY_HTTP_REFUSAL_MILLISECONDS)) {
        end(c, phase);
    } else if (bound > 0 && elapsed >= bound) {
        refuse_slow_request(c, phase);
    }
}

// Takes a request away from a handler that has returned without an answer, at its deadline or, if
// it waits on purpose or its owner is to be told, when the client has gone. The kernel is asked,
// because libmicrohttpd does not look at a suspended connection.
static void watch_handling(connection *c, uint64_t elapsed) {
    uint32_t own = atomic_load_explicit(&c->answer_milliseconds, memory_order_relaxed);
    uint32_t bound = own == UINT32_MAX ? 0 : own > 0 ? own : c->server->options.answer_milliseconds;
    if (atomic_load_explicit(&c->answer_state, memory_order_acquire) != ANSWER_SUSPENDED) {
        return;
    }
    bool is_late = bound > 0 && elapsed >= bound;
    bool notices = own > 0 || latchkey_http_abandoned_is_awaited(c);
    if ((is_late || (notices && latchkey_http_connection_has_left(c))) &&
        latchkey_http_response_take_away(c) && is_late) {
        count_timeout(c);
    }
}

static void watch_answering(connection *c, uint64_t now, uint64_t elapsed) {
    struct tcp_info info;
    if (latchkey_http_connection_ask(c, &info)) {
        watch_taking(c, now, elapsed, &info);
    }
}

// Notes the phase if it has changed since the last look. (lock)
static bool has_moved(connection *c, unsigned phase, uint64_t now) {
    if (phase == c->watched_phase && c->watched_milliseconds != 0) {
        return false;
    }
    // The time of a request that began to arrive before its request line was complete goes on.
    bool goes_on = c->arriving_milliseconds != 0 && (phase & PHASE_MASK) == PHASE_RECEIVING &&
                   phase >> PHASE_BITS == (c->watched_phase >> PHASE_BITS) + 1;
    c->watched_phase = phase;
    c->watched_milliseconds = goes_on ? c->arriving_milliseconds : now;
    c->arriving_milliseconds = 0;
    c->watched_acknowledged = 0;
    return true;
}

static void watch(connection *c, uint64_t now) {
    unsigned phase = atomic_load(&c->phase);
    if (UNLIKELY(c->reader != NULL) && latchkey_http_body_is_slow(c, phase, now)) {
        refuse_slow_request(c, phase);
        return;
    }
    if (has_moved(c, phase, now)) {
        return;
    }
    uint64_t elapsed = now - c->watched_milliseconds;
    switch ((enum phase)(phase & PHASE_MASK)) {
    case PHASE_WAITING:
        watch_waiting(c, phase, now, elapsed);
        break;
    case PHASE_RECEIVING:
        watch_receiving(c, phase, elapsed);
        break;
    case PHASE_HANDLING:
        watch_handling(c, elapsed);
        break;
    case PHASE_ANSWERING:
        watch_answering(c, now, elapsed);
        break;
    case PHASE_STREAMING:
        if (latchkey_http_stream_watch(c, now)) {
            count_timeout(c);
        }
        break;
    case PHASE_EXPIRED:
        if (elapsed >= LINGER_MILLISECONDS) {
            latchkey_http_connection_end(c);
        }
        break;
    }
}

// Takes the kernel's events: clients of streams that have gone, and handshakes that go on. (lock)
static void read_set(latchkey_http_server *server) {
    enum { EVENTS = 64 };
    struct epoll_event events[EVENTS];
    int count;
    do {
        count = epoll_wait(server->watch_set, events, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            connection *c = events[i].data.ptr;
            if (c != NULL && !latchkey_http_tls_go_on(c)) {
                latchkey_http_stream_client_gone(c);
            }
        }
    } while (count == EVENTS);
}

void *latchkey_http_deadline_watch(void *context) {
    // A clock that stands still gives no sign when it is moved.
    enum { STANDING_TICK_MILLISECONDS = 2 };
    latchkey_http_server *server = context;
    struct pollfd set = {.fd = server->watch_set, .events = POLLIN};
    uint64_t next = 0;
    pthread_mutex_lock(&server->lock);
    while (!server->watchdog_ends) {
        read_set(server);
        bool stands = server->options.clock_stands;
        uint64_t now = latchkey_http_now(server);
        if (stands || now >= next) {
            for (connection *c = server->all.next; c != NULL; c = c->all.next) {
                watch(c, now);
            }
            latchkey_http_tls_give_turns(server);
            now = latchkey_http_now(server);
            next = now + server->tick_milliseconds;
        }
        pthread_mutex_unlock(&server->lock);
        latchkey_http_abandoned_tell_all(server);
        poll(&set, 1, stands ? STANDING_TICK_MILLISECONDS : (int)(next - now));
        pthread_mutex_lock(&server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

void latchkey_http_deadline_stop(latchkey_http_server *server) {
    pthread_mutex_lock(&server->lock);
    bool runs = server->watchdog_runs;
    server->watchdog_runs = false;
    server->watchdog_ends = true;
    pthread_mutex_unlock(&server->lock);
    if (runs) {
        eventfd_write(server->watch_wake, 1);
        pthread_join(server->watchdog, NULL);
    }
}
