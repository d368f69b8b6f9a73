// All streams of a server: their deadline, and their end when the server drains.
//
// Design
//
// The functions walk over the connections under the server's lock, under which `stream` of a
// connection in PHASE_STREAMING stays as it is. stream.c explains streams.

#include <linux/tcp.h>
#include <sys/ioctl.h>

#include "connection/connection.h"
#include "stream/stream.h"

// Whether the client has taken a stream too slowly: fewer bytes than the minimum rate demands, and
// fewer than there were at the start of the measurement. The kernel is asked only if something was
// sent since the client had taken everything.
static bool is_too_slow(connection *c, latchkey_http_stream *s, uint64_t now) {
    pthread_mutex_lock(&s->suspension.lock);
    uint64_t sent = s->taken_bytes;
    uint64_t there = s->unsent.count;
    pthread_mutex_unlock(&s->suspension.lock);
    struct tcp_info info;
    int unsent = 0;
    if ((there == 0 && sent == s->settled_bytes) || !latchkey_http_connection_ask(c, &info) ||
        ioctl(c->socket, TIOCOUTQ, &unsent) != 0) {
        return false;
    }
    there += (unsigned)unsent;
    if (there == 0) {
        s->settled_bytes = sent;
        s->watched_acknowledged = 0;
        return false;
    }
    uint64_t bound = c->server->options.idle_milliseconds;
    uint64_t acknowledged = info.tcpi_bytes_acked + 1;
    uint64_t elapsed = now - s->watched_milliseconds;
    uint64_t owed = elapsed * LATCHKEY_HTTP_ANSWER_BYTES_PER_SECOND_MIN / 1000;
    owed = owed < s->watched_bytes ? owed : s->watched_bytes;
    if (s->watched_acknowledged == 0 ||
        (elapsed >= bound && acknowledged - s->watched_acknowledged >= owed)) {
        s->watched_acknowledged = acknowledged;
        s->watched_milliseconds = now;
        s->watched_bytes = there;
        return false;
    }
    return bound > 0 && elapsed >= bound;
}

bool latchkey_http_stream_watch(connection *c, uint64_t now) {
    latchkey_http_stream *s = c->stream;
    if (s == NULL || !is_too_slow(c, s, now)) {
        return false;
    }
    pthread_mutex_lock(&s->suspension.lock);
    bool cuts = latchkey_http_stream_cut(s, LATCHKEY_HTTP_STREAM_DEADLINE);
    pthread_mutex_unlock(&s->suspension.lock);
    return cuts;
}

// The next connection from this one on whose answer is a stream. (the server's lock)
static connection *next_streaming(connection *c) {
    while (c != NULL &&
           (latchkey_http_connection_phase(c) != PHASE_STREAMING || c->stream == NULL)) {
        c = c->all.next;
    }
    return c;
}

void latchkey_http_stream_tell_all(latchkey_http_server *server) {
    enum { BATCH = 256 };
    latchkey_http_stream *batch[BATCH];
    size_t count;
    do {
        count = 0;
        pthread_mutex_lock(&server->lock);
        for (connection *c = next_streaming(server->all.next); c != NULL && count < BATCH;
             c = next_streaming(c->all.next)) {
            if (!c->stream->is_told) {
                c->stream->is_told = true;
                atomic_fetch_add_explicit(&c->stream->caller_count, 1, memory_order_relaxed);
                batch[count++] = c->stream;
            }
        }
        pthread_mutex_unlock(&server->lock);
        for (size_t i = 0; i < count; i++) {
            latchkey_http_stream_tell(batch[i]);
            latchkey_http_stream_release_caller(batch[i]);
        }
    } while (count == BATCH);
}

void latchkey_http_stream_end_all(latchkey_http_server *server) {
    pthread_mutex_lock(&server->lock);
    if (!server->streams_end) {
        server->streams_end = true;
        for (connection *c = next_streaming(server->all.next); c != NULL;
             c = next_streaming(c->all.next)) {
            if (!c->stream->options.is_whole) {
                latchkey_http_stream_end_for(c->stream, LATCHKEY_HTTP_STREAM_STOPPED);
            }
        }
    }
    pthread_mutex_unlock(&server->lock);
}

uint32_t latchkey_http_stream_cut_all(latchkey_http_server *server, bool cuts_whole) {
    uint32_t result = 0;
    pthread_mutex_lock(&server->lock);
    for (connection *c = next_streaming(server->all.next); c != NULL;
         c = next_streaming(c->all.next)) {
        if (cuts_whole || !c->stream->options.is_whole) {
            pthread_mutex_lock(&c->stream->suspension.lock);
            result += latchkey_http_stream_cut(c->stream, LATCHKEY_HTTP_STREAM_STOPPED);
            pthread_mutex_unlock(&c->stream->suspension.lock);
        }
    }
    pthread_mutex_unlock(&server->lock);
    return result;
}
