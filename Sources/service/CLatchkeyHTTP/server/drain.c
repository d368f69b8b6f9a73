// The end of a server: quiesce and stop.
//
// Design
//
// MHD_quiesce_daemon() keeps the socket listening, so that clients hang in its queue, and aborts
// the process if an event-loop thread takes the socket out of its set at the same moment. Instead,
// the socket is shut down, which makes accept() fail quietly and wakes a thread that waits on it,
// and its descriptor is made a descriptor of one end of a socket pair, on which nothing ever
// happens. The kernel takes a closed socket out of every epoll set. That would disturb
// libmicrohttpd only when it takes the socket out itself at its limit of connections, and that
// limit is out of reach.
//
// Stop, in order: set `draining` and close the port; wait for the requests in flight, and meanwhile
// end the streams, which have a shorter time of their own; set `stopping`, after which no handler
// is called any more; take unanswered requests away from their handlers; wait until nothing is
// suspended or about to be resumed, because MHD_stop_daemon() aborts on a suspended connection and
// frees what resuming touches; shut all sockets down and wait until no connection is left;
// MHD_stop_daemon(), which joins its threads; the watchdog.
//
// No connection may be left, because MHD_queue_response() stores nothing once the daemon is being
// stopped, and the library then uses the answer that it has just queued for a head that it refuses
// by itself: a head without a colon in a line, at that moment, ends the process.

#include <time.h>

#include "connection/connection.h"
#include "library/clock.h"
#include "library/library.h"
#include "library/log.h"
#include "request/request.h"
#include "server/server.h"
#include "stream/stream.h"

enum {
    POLL_NANOSECONDS = 1000000,
    // How long stop waits for the last answers to be sent once all of them are queued.
    FLUSH_MILLISECONDS = 200,
    // How long stop waits for the library to close connections that are shut down. This takes
    // milliseconds, unless the machine is stalled.
    END_MILLISECONDS = 5000,
    // How often it checks before it shuts them down again: about every 50 ms.
    AGAIN_PASSES = 50,
    // How long it waits for a connection that was accepted and has no object yet. If the library
    // had no memory for it, there never will be one.
    ADMISSION_MILLISECONDS = 200,
};

void latchkey_http_quiesce(latchkey_http_server *server) {
    pthread_mutex_lock(&server->lock);
    if (!atomic_exchange(&server->draining, true)) {
        if (server->listener >= 0 &&
            !latchkey_http_library_close_port(server->listener, server->plug[0])) {
            latchkey_http_log_write(server, "the listener could not be closed");
        }
    }
    pthread_mutex_unlock(&server->lock);
    latchkey_http_stream_tell_all(server);
}

static void pause_shortly(void) {
    struct timespec shortly = {0, POLL_NANOSECONDS};
    nanosleep(&shortly, NULL);
}

// Waits until requests and streams have ended, but no longer than this. Streams are ended and cut
// off meanwhile. Returns how many were cut off.
static uint32_t await_end(latchkey_http_server *server, uint32_t milliseconds) {
    uint32_t cut_off = 0;
    uint64_t begun = latchkey_http_milliseconds();
    uint64_t elapsed = 0;
    while (elapsed < milliseconds) {
        latchkey_http_statistics now = latchkey_http_measure(server);
        if (now.receiving + now.handling + now.answering + now.streaming == 0) {
            break;
        }
        if (elapsed >= LATCHKEY_HTTP_STREAM_LAST_MILLISECONDS) {
            latchkey_http_stream_end_all(server);
        }
        if (elapsed >=
            LATCHKEY_HTTP_STREAM_LAST_MILLISECONDS + LATCHKEY_HTTP_STREAM_FLUSH_MILLISECONDS) {
            cut_off += latchkey_http_stream_cut_all(server, false);
        }
        pause_shortly();
        elapsed = latchkey_http_milliseconds() - begun;
    }
    return cut_off;
}

static bool is_answering(latchkey_http_server *server) {
    latchkey_http_statistics now = latchkey_http_measure(server);
    return now.answering + now.streaming > 0;
}

// Takes suspended requests away from their handlers. Returns how many, and whether some requests
// are still being handled. Resuming under the lock is safe: libmicrohttpd never calls us with its
// own lock held. The phase is read after `stopping` was set (internal.h), and after the lock of
// each connection's suspension was taken: no thread is about to resume one of those whose phase
// it reads.
static uint32_t abandon_all(latchkey_http_server *server, bool *is_handling) {
    uint32_t count = 0;
    *is_handling = false;
    pthread_mutex_lock(&server->lock);
    for (connection *c = server->all.next; c != NULL; c = c->all.next) {
        count += latchkey_http_response_take_away(c);
        count += latchkey_http_body_cut(c);
        *is_handling |= latchkey_http_connection_phase(c) == PHASE_HANDLING;
    }
    pthread_mutex_unlock(&server->lock);
    latchkey_http_abandoned_tell_all(server);
    return count;
}

// Shuts down all connections. Returns whether any are left, or may be.
//
// `again`: also those that are shut down already. libmicrohttpd misses an end that comes while it
// reads, because its events are edge-triggered; each shutdown() makes a new event.
static bool end_all(latchkey_http_server *server, bool awaits_admission, bool again) {
    pthread_mutex_lock(&server->lock);
    for (connection *c = server->all.next; c != NULL; c = c->all.next) {
        if (!c->has_ended || again) {
            c->has_ended = true;
            shutdown(c->socket, SHUT_RDWR);
        }
    }
    bool are_left =
        server->connection_count > 0 || (awaits_admission && atomic_load(&server->admitting) > 0);
    pthread_mutex_unlock(&server->lock);
    return are_left;
}

latchkey_http_cut_off latchkey_http_stop(latchkey_http_server *server, uint32_t milliseconds) {
    latchkey_http_quiesce(server);
    latchkey_http_cut_off cut_off = {0};
    cut_off.answers = await_end(server, milliseconds);
    atomic_store(&server->stopping, true);
    latchkey_http_stream_end_all(server);
    bool is_handling = true;
    while (is_handling) {
        cut_off.requests += abandon_all(server, &is_handling);
        pause_shortly();
    }
    uint64_t until = latchkey_http_milliseconds() + FLUSH_MILLISECONDS;
    while (is_answering(server) && latchkey_http_milliseconds() < until) {
        pause_shortly();
    }
    cut_off.answers += latchkey_http_measure(server).answering;
    cut_off.answers += latchkey_http_stream_cut_all(server, true);
    uint64_t begun = latchkey_http_milliseconds();
    uint64_t elapsed = 0;
    for (unsigned pass = 1; elapsed < END_MILLISECONDS; pass++) {
        bool again = pass % AGAIN_PASSES == 0;
        if (!end_all(server, elapsed < ADMISSION_MILLISECONDS, again)) {
            break;
        }
        pause_shortly();
        elapsed = latchkey_http_milliseconds() - begun;
    }
    MHD_stop_daemon(server->daemon);
    latchkey_http_deadline_stop(server);
    latchkey_http_server_release(server);
    return cut_off;
}
