// Streams: answers whose body is pushed from any thread. See docs/decisions/0017-streams.md.
//
// Design
//
// A stream is a bounded queue of pieces (pieces.c) between producers and the content reader that
// libmicrohttpd calls on the thread that serves the connection. Its lock guards the fields of a
// stream; the server's lock guards those marked (server) in stream.h. Locks are taken in this
// order: the server's, the stream's, libmicrohttpd's. No callback runs under a lock of ours.
//
// When the buffer is empty, the reader suspends the connection (suspend.c). Otherwise libmicrohttpd
// would call it all the time. It checks the buffer and suspends under the stream's lock, which is
// that of `suspension`; a write fills the buffer and resumes under it, too.
//
// libmicrohttpd does not look at a suspended connection. Every socket with a stream is therefore in
// an epoll set of the watchdog for EPOLLRDHUP, edge-triggered: it costs nothing while nothing
// happens, and tells within milliseconds that the client has gone.
//
// A stream is over when the reader will read nothing more from it. To cut a stream off, the socket
// is shut down first, and then the reader returns END_OF_STREAM. The final chunk cannot be sent any
// more, so that the client sees that the body is not complete. END_WITH_ERROR cannot be used.
// libmicrohttpd 0.9.75 marks the connection closed then and does not look at it again in its event
// loop, since the connection is not in its epoll set: it would leak. The end of a body without
// chunks, for HTTP/1.0, has the same fault. libmicrohttpd checks a connection with its own timeout
// in every round, so such a connection gets a timeout that is never reached.
//
// `caller_count` counts the parties that may call callbacks: the library, until it frees the
// answer, and each thread that is about to call `draining`. `reference_count` counts the producer,
// the connection, and all callers together as one.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "connection/connection.h"
#include "library/log.h"
#include "stream/stream.h"

enum {
    // The piece in which a body without chunks is read from the buffer.
    PLAIN_BLOCK_BYTES = 1024,
    NEVER_SECONDS = 24 * 60 * 60,
    // How many bytes of a stream the kernel takes before it has sent them.
    KERNEL_UNSENT_BYTES = 16 * 1024,
};

static void release_reference(latchkey_http_stream *s) {
    // Acquire and release: the thread that frees the object has seen all accesses of the others.
    if (atomic_fetch_sub_explicit(&s->reference_count, 1, memory_order_acq_rel) == 1) {
        latchkey_http_suspension_destroy(&s->suspension);
        latchkey_http_pieces_drop(&s->unsent);
        free(s);
    }
}

void latchkey_http_stream_release_caller(latchkey_http_stream *s) {
    if (atomic_fetch_sub_explicit(&s->caller_count, 1, memory_order_acq_rel) == 1) {
        if (s->options.release != NULL) {
            s->options.release(s->options.context);
        }
        release_reference(s);
    }
}

// Lets the reader be called again. (lock)
static void wake(latchkey_http_stream *s) {
    latchkey_http_resume(&s->suspension, s->connection);
}

bool latchkey_http_stream_cut(latchkey_http_stream *s, latchkey_http_stream_reason reason) {
    if (s->is_cut || s->connection == NULL) {
        return false;
    }
    s->is_cut = true;
    s->is_over = true;
    s->reason = reason;
    latchkey_http_pieces_drop(&s->unsent);
    latchkey_http_connection_end(s->connection);
    wake(s);
    return true;
}

// Whether half of the buffer is free, and the longest piece that was refused fits. (lock)
static bool has_room(const latchkey_http_stream *s) {
    size_t bound = s->options.buffer_bytes_max;
    return s->unsent.count == 0 ||
           (s->unsent.count <= bound / 2 && s->refused_count <= bound - s->unsent.count);
}

// Calls `sent` if a call was asked for with this mark.
static void tell_sent(latchkey_http_stream *s, uint32_t mark) {
    if (mark != 0 && s->options.sent != NULL) {
        s->options.sent(s->options.context, mark);
    }
}

// Forgets the mark, and returns it. (lock)
static uint32_t take_mark(latchkey_http_stream *s) {
    uint32_t mark = s->mark;
    s->mark = 0;
    return mark;
}

// libmicrohttpd's content reader. It is not called before the kernel has what it has read.
static ssize_t read_piece(void *context, uint64_t position, char *to, size_t room) {
    (void)position;
    latchkey_http_stream *s = context;
    bool calls_has_room = false;
    ssize_t result = 0;
    pthread_mutex_lock(&s->suspension.lock);
    uint32_t mark = s->taken_bytes >= s->marked_bytes ? take_mark(s) : 0;
    if (s->unsent.count > 0) {
        size_t count = latchkey_http_pieces_take(&s->unsent, to, room);
        s->taken_bytes += count;
        result = (ssize_t)count;
        calls_has_room = s->refused_count > 0 && !s->has_ended && has_room(s);
        s->refused_count = calls_has_room ? 0 : s->refused_count;
    } else if (!s->has_ended && !s->is_over) {
        latchkey_http_suspend(&s->suspension, s->connection);
    } else {
        s->is_over = true;
        result = MHD_CONTENT_READER_END_OF_STREAM;
    }
    pthread_mutex_unlock(&s->suspension.lock);
    if (calls_has_room && s->options.has_room != NULL) {
        s->options.has_room(s->options.context);
    }
    tell_sent(s, mark);
    return result;
}

// libmicrohttpd has freed the answer: it will not read any more.
static void finish(void *context) {
    latchkey_http_stream *s = context;
    pthread_mutex_lock(&s->suspension.lock);
    s->is_over = true;
    latchkey_http_pieces_drop(&s->unsent);
    latchkey_http_stream_reason reason = s->reason;
    uint32_t mark = take_mark(s);
    connection *c = s->connection;
    pthread_mutex_unlock(&s->suspension.lock);
    if (c != NULL) {
        // The connection must not look at it again, in whatever order libmicrohttpd calls back.
        latchkey_http_stream_leave(c);
    }
    tell_sent(s, mark);
    if (s->options.gone != NULL) {
        s->options.gone(s->options.context, reason);
    }
    latchkey_http_stream_release_caller(s);
}

latchkey_http_stream *latchkey_http_stream_create(const latchkey_http_stream_options *options,
                                                  latchkey_http_response **response) {
    latchkey_http_stream *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    struct MHD_Response *made = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, PLAIN_BLOCK_BYTES, read_piece, s, finish);
    if (made == NULL) {
        free(s);
        return NULL;
    }
    s->options = *options;
    s->unsent = (pieces){.account = options->account, .client = options->client};
    s->reason = LATCHKEY_HTTP_STREAM_CLIENT;
    latchkey_http_suspension_create(&s->suspension);
    atomic_init(&s->caller_count, 1);
    atomic_init(&s->reference_count, 2);
    *response = (latchkey_http_response *)made;
    return s;
}

// Takes a piece: a block, or bytes to copy. Returns false without room in the account, or without
// memory. (lock)
//
// The client of an empty stream has taken everything, so it gets more, whatever others hold: a
// short piece, or a block that other streams have anyway.
static bool take(latchkey_http_stream *s, latchkey_http_block *block, const void *bytes,
                 size_t count, bool is_empty) {
    bool forces = is_empty && (count <= LATCHKEY_HTTP_STREAM_SHORT_BYTES_MAX ||
                               (block != NULL && latchkey_http_block_is_shared(block)));
    return block != NULL ? latchkey_http_pieces_add(&s->unsent, block, forces)
                         : latchkey_http_pieces_copy(&s->unsent, bytes, count, forces);
}

static latchkey_http_write write_piece(latchkey_http_stream *s, latchkey_http_block *block,
                                       const void *bytes, size_t count) {
    size_t bound = s->options.buffer_bytes_max;
    latchkey_http_write result = LATCHKEY_HTTP_WRITE_ACCEPTED;
    pthread_mutex_lock(&s->suspension.lock);
    size_t there = s->unsent.count;
    bool has_space = there == 0 || (there <= bound && count <= bound - there);
    if (s->has_ended || s->is_over) {
        result = LATCHKEY_HTTP_WRITE_GONE;
    } else if (count == 0 || (has_space && take(s, block, bytes, count, there == 0))) {
        if (count > 0) {
            wake(s);
        }
    } else if (there > 0) {
        s->refused_count = count > s->refused_count ? count : s->refused_count;
        result = LATCHKEY_HTTP_WRITE_FULL;
    } else {
        // No sent byte would tell when there is room, in the account or in memory. The client must
        // not miss a piece in the middle.
        s->is_over = true;
        latchkey_http_stream_cut(s, LATCHKEY_HTTP_STREAM_CLIENT);
        result = LATCHKEY_HTTP_WRITE_GONE;
    }
    pthread_mutex_unlock(&s->suspension.lock);
    return result;
}

latchkey_http_write latchkey_http_stream_write(latchkey_http_stream *s, const void *bytes,
                                               size_t count) {
    return write_piece(s, NULL, bytes, count);
}

latchkey_http_write latchkey_http_stream_write_block(latchkey_http_stream *s,
                                                     latchkey_http_block *block) {
    return write_piece(s, block, NULL, block->count);
}

bool latchkey_http_stream_await(latchkey_http_stream *s, uint32_t mark) {
    pthread_mutex_lock(&s->suspension.lock);
    bool asks = s->mark == 0 && s->connection != NULL && !s->is_over && !s->suspension.is_suspended;
    s->mark = asks ? mark : s->mark;
    s->marked_bytes = asks ? s->taken_bytes + s->unsent.count : s->marked_bytes;
    pthread_mutex_unlock(&s->suspension.lock);
    return asks;
}

size_t latchkey_http_stream_unsent(latchkey_http_stream *s) {
    pthread_mutex_lock(&s->suspension.lock);
    size_t count = s->unsent.count;
    pthread_mutex_unlock(&s->suspension.lock);
    return count;
}

void latchkey_http_stream_end_with(latchkey_http_stream *s, const void *bytes, size_t count) {
    pthread_mutex_lock(&s->suspension.lock);
    if (!s->has_ended && !s->is_over) {
        // Without memory, the stream ends without this piece.
        (void)take(s, NULL, bytes, count, true);
        s->has_ended = true;
        s->reason = LATCHKEY_HTTP_STREAM_ENDED;
        wake(s);
    }
    pthread_mutex_unlock(&s->suspension.lock);
}

void latchkey_http_stream_end_for(latchkey_http_stream *s, latchkey_http_stream_reason reason) {
    pthread_mutex_lock(&s->suspension.lock);
    if (!s->has_ended && !s->is_over) {
        s->has_ended = true;
        s->reason = reason;
        wake(s);
    }
    pthread_mutex_unlock(&s->suspension.lock);
}

void latchkey_http_stream_end(latchkey_http_stream *s) {
    latchkey_http_stream_end_for(s, LATCHKEY_HTTP_STREAM_ENDED);
}

void latchkey_http_stream_release(latchkey_http_stream *s) {
    release_reference(s);
}

void latchkey_http_stream_tell(latchkey_http_stream *s) {
    if (s->options.draining != NULL) {
        s->options.draining(s->options.context);
    }
}

static bool equals(latchkey_http_bytes bytes, const char *text) {
    return bytes.count == strlen(text) && memcmp(bytes.bytes, text, bytes.count) == 0;
}

void latchkey_http_stream_prepare(connection *c, struct MHD_Response *response) {
    latchkey_http_stream *s = c->stream;
    bool has_body = !equals(c->request.method, "HEAD") && c->answer_status != MHD_HTTP_NO_CONTENT &&
                    c->answer_status != MHD_HTTP_NOT_MODIFIED;
    if (!has_body) {
        // libmicrohttpd 0.9.75 would send the final chunk after the head.
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
        pthread_mutex_lock(&s->suspension.lock);
        s->is_over = true;
        s->reason = LATCHKEY_HTTP_STREAM_ENDED;
        latchkey_http_pieces_drop(&s->unsent);
        pthread_mutex_unlock(&s->suspension.lock);
    } else if (c->is_http_1_0) {
        MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)NEVER_SECONDS);
    }
}

// Lets the kernel ask an idle client whether it is still there. So a client that vanished silently
// is noticed after minutes, also on a stream that has nothing to send.
static bool probe_client(connection *c) {
    int on = 1;
    int idle_seconds = 60;
    return setsockopt(c->socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0 &&
           setsockopt(c->socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds) ==
               0;
}

// Limits the bytes that the kernel buffers for a client that does not read: without this, some
// megabytes. tcp(7) does not say so, but the option also limits the bytes that send() takes
// (tcp_stream_memory_free()).
static void bound_unsent(connection *c) {
    int bytes = KERNEL_UNSENT_BYTES;
    (void)setsockopt(c->socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

void latchkey_http_stream_begin(connection *c) {
    latchkey_http_server *server = c->server;
    latchkey_http_stream *s = c->stream;
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = c};
    bool is_probed = probe_client(c);
    bound_unsent(c);
    pthread_mutex_lock(&server->lock);
    pthread_mutex_lock(&s->suspension.lock);
    s->connection = c;
    if (s->is_over && s->reason == LATCHKEY_HTTP_STREAM_CLIENT) {
        // There was no memory for a piece that was written before.
        latchkey_http_stream_cut(s, LATCHKEY_HTTP_STREAM_CLIENT);
    }
    pthread_mutex_unlock(&s->suspension.lock);
    s->settled_bytes = UINT64_MAX;
    latchkey_http_connection_enter(c, PHASE_STREAMING);
    s->is_watched = epoll_ctl(server->watch_set, EPOLL_CTL_ADD, c->socket, &event) == 0;
    bool is_watched = s->is_watched && is_probed;
    bool tells = atomic_load(&server->draining) && !s->is_told;
    s->is_told |= tells;
    bool ends = server->streams_end;
    if (ends && s->options.is_whole) {
        // latchkey_http_stop() no longer sees a stream that begins once the server is stopping.
        ends = false;
        if (atomic_load(&server->stopping)) {
            pthread_mutex_lock(&s->suspension.lock);
            latchkey_http_stream_cut(s, LATCHKEY_HTTP_STREAM_STOPPED);
            pthread_mutex_unlock(&s->suspension.lock);
        }
    }
    pthread_mutex_unlock(&server->lock);
    if (!is_watched) {
        latchkey_http_log_write(server, "the client of a stream cannot be watched");
    }
    if (tells) {
        latchkey_http_stream_tell(s);
    }
    if (ends) {
        latchkey_http_stream_end_for(s, LATCHKEY_HTTP_STREAM_STOPPED);
    }
}

void latchkey_http_stream_leave(connection *c) {
    latchkey_http_server *server = c->server;
    latchkey_http_stream *s = c->stream;
    pthread_mutex_lock(&server->lock);
    c->stream = NULL;
    if (s->is_watched) {
        s->is_watched = false;
        epoll_ctl(server->watch_set, EPOLL_CTL_DEL, c->socket, NULL);
    }
    pthread_mutex_unlock(&server->lock);
    pthread_mutex_lock(&s->suspension.lock);
    s->is_over = true;
    s->connection = NULL;
    pthread_mutex_unlock(&s->suspension.lock);
    release_reference(s);
}

void latchkey_http_stream_hold(latchkey_http_stream *s) {
    atomic_fetch_add_explicit(&s->reference_count, 1, memory_order_relaxed);
}

void latchkey_http_stream_abandon(connection *c, latchkey_http_stream *s) {
    pthread_mutex_lock(&s->suspension.lock);
    s->is_over = true;
    s->reason = atomic_load(&c->server->stopping) ? LATCHKEY_HTTP_STREAM_STOPPED
                                                  : LATCHKEY_HTTP_STREAM_DEADLINE;
    pthread_mutex_unlock(&s->suspension.lock);
    release_reference(s);
}

void latchkey_http_stream_client_gone(connection *c) {
    latchkey_http_stream *s = c->stream;
    if (s == NULL) {
        return;
    }
    pthread_mutex_lock(&s->suspension.lock);
    // After an orderly end, the client may close its half; the rest is sent.
    if (!s->has_ended && !s->is_over) {
        latchkey_http_stream_cut(s, LATCHKEY_HTTP_STREAM_CLIENT);
    }
    pthread_mutex_unlock(&s->suspension.lock);
}
