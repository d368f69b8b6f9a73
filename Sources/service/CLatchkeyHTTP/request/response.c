// Answers: now or later, from any thread, once.
//
// Design
//
// The handler is called on the thread that serves the connection. If the answer is not there when
// it returns, the thread goes back to libmicrohttpd, which comes back in its next round; if the
// answer is still not there, the connection is suspended, and the answer resumes it (suspend.c).
// That round in between does two things:
//
//  * Many answers are there by then, and no thread needs to be woken.
//  * libmicrohttpd stops waiting for readability. A connection that is suspended while it waits for
//    readability is read first when it is resumed, and a client that has sent its last request and
//    has closed its half of the connection would lose its answer.
//
// A request that is dispatched before it is complete is suspended at once: libmicrohttpd would wait
// for the rest of it instead of coming back.
//
// Only the server's thread gives answers to libmicrohttpd. The answering thread sets `answer` and
// then exchanges `answer_state` (release); the server's thread loads it (acquire) and takes it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/connection.h"
#include "library/lines.h"
#include "library/log.h"
#include "request/request.h"
#include "stream/stream.h"

static struct MHD_Response *mhd_response(latchkey_http_response *response) {
    return (struct MHD_Response *)response;
}

latchkey_http_response *latchkey_http_response_create(const void *body, size_t body_count,
                                                      latchkey_http_release release,
                                                      void *release_context) {
    void *bytes = (void *)(uintptr_t)body;
    struct MHD_Response *response =
        release == NULL ? MHD_create_response_from_buffer(body_count, bytes, MHD_RESPMEM_PERSISTENT)
                        : MHD_create_response_from_buffer_with_free_callback_cls(
                              body_count, bytes, release, release_context);
    if (response == NULL && release != NULL) {
        release(release_context);
    }
    return (latchkey_http_response *)response;
}

latchkey_http_response *latchkey_http_response_create_copy(const void *body, size_t body_count) {
    return (latchkey_http_response *)MHD_create_response_from_buffer(
        body_count, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
}

bool latchkey_http_response_add(latchkey_http_response *response, const char *name,
                                const char *value) {
    return MHD_add_response_header(mhd_response(response), name, value) == MHD_YES;
}

void latchkey_http_response_discard(latchkey_http_response *response) {
    MHD_destroy_response(mhd_response(response));
}

// Adds the lines that every answer has, and `Connection: close` if the connection is closed.
// Returns false without memory.
static bool add_lines(connection *c, struct MHD_Response *response) {
    if (UNLIKELY(c->answer_close || c->closes ||
                 atomic_load_explicit(&c->server->draining, memory_order_relaxed))) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    return LIKELY(response == c->short_answer.response)
               ? latchkey_http_short_add_common(c)
               : latchkey_http_lines_add(response, latchkey_http_lines(), c->identifier) != NULL;
}

static enum MHD_Result queue_answer(connection *c) {
    struct MHD_Response *response = c->answer;
    c->answer = NULL;
    uint32_t status = c->answer_status;
    if (UNLIKELY(response != NULL && !add_lines(c, response))) {
        if (c->stream != NULL) {
            latchkey_http_stream_leave(c);
        }
        latchkey_http_short_drop(c, response);
        response = NULL;
    }
    if (UNLIKELY(c->stream != NULL)) {
        latchkey_http_stream_prepare(c, response);
    }
    if (UNLIKELY(response == NULL)) {
        status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
        if (response == NULL) {
            return MHD_NO;
        }
        // If there is no memory for them either, the client still learns that it has failed.
        add_lines(c, response);
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        latchkey_http_refusal_add_sharing(c, response);
    }
    latchkey_http_connection_enter(c, PHASE_ANSWERING);
    enum MHD_Result result = MHD_queue_response(c->mhd, status, response);
    if (UNLIKELY(c->stream != NULL)) {
        result == MHD_YES ? latchkey_http_stream_begin(c) : latchkey_http_stream_leave(c);
    }
    latchkey_http_short_drop(c, response);
    return result;
}

// Answers a request that no handler has seen, or that has no effect, when the server stops.
static enum MHD_Result queue_draining(connection *c) {
    return latchkey_http_refusal_queue(c, MHD_HTTP_SERVICE_UNAVAILABLE, c->server->draining_answer,
                                       c->server->draining_body);
}

static bool has_effect(latchkey_http_bytes method) {
    static const char *const safe[] = {"GET", "HEAD", "OPTIONS"};
    for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++) {
        if (method.count == strlen(safe[i]) && memcmp(method.bytes, safe[i], method.count) == 0) {
            return false;
        }
    }
    return true;
}

// Logs which request was taken away from its handler, unless its client has left: that is not a
// fault of the service.
static void say_abandoned(connection *c, bool may_apply) {
    if (latchkey_http_connection_has_left(c)) {
        return;
    }
    char message[160];
    snprintf(message, sizeof(message), "request %.*s was not answered %s; its effect is %s",
             LATCHKEY_HTTP_IDENTIFIER_BYTES, c->identifier,
             atomic_load(&c->server->stopping) ? "before the end of the service"
                                               : "within --answer-timeout-seconds",
             may_apply ? "not known" : "none");
    latchkey_http_log_write(c->server, message);
}

// Answers a request that was taken away from its handler.
static enum MHD_Result queue_abandoned(connection *c) {
    latchkey_http_server *server = c->server;
    bool may_apply = has_effect(c->request.method);
    say_abandoned(c, may_apply);
    if (!may_apply && atomic_load(&server->stopping)) {
        return queue_draining(c);
    }
    if (may_apply) {
        return latchkey_http_refusal_queue(c, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                           server->unknown_answer, server->unknown_body);
    }
    latchkey_http_options *options = &server->options;
    bool is_held = options->holding != NULL && options->holding(options->context);
    return latchkey_http_refusal_queue(c, MHD_HTTP_SERVICE_UNAVAILABLE,
                                       is_held ? server->held_answer : server->late_answer,
                                       is_held ? server->held_body : server->late_body);
}

enum MHD_Result latchkey_http_response_dispatch(connection *c, bool is_early) {
    latchkey_http_server *server = c->server;
    c->stage = STAGE_DISPATCHED;
    if (!latchkey_http_connection_enter(c, PHASE_HANDLING)) {
        return latchkey_http_log_not(MHD_NO);
    }
    // After the phase was set (internal.h).
    if (UNLIKELY(atomic_load(&server->stopping))) {
        // The pieces that a reader has taken may have had an effect.
        return c->reader != NULL ? queue_abandoned(c) : queue_draining(c);
    }
    if (UNLIKELY(c->reader != NULL)) {
        atomic_store(&c->reader->is_over, true);
    }
    atomic_store_explicit(&c->answer_state, ANSWER_RUNNING, memory_order_relaxed);
    server->options.handler(server->options.context, &c->request);
    if (LIKELY(atomic_load_explicit(&c->answer_state, memory_order_acquire) == ANSWER_ANSWERED)) {
        return queue_answer(c);
    }
    return is_early ? latchkey_http_response_continue(c) : MHD_YES;
}

bool latchkey_http_response_ask_at_head(connection *c) {
    const latchkey_http_options *options = &c->server->options;
    atomic_store_explicit(&c->answer_state, ANSWER_RUNNING, memory_order_relaxed);
    options->head(options->context, &c->request);
    bool answers = atomic_load_explicit(&c->answer_state, memory_order_acquire) == ANSWER_ANSWERED;
    if (!answers) {
        atomic_store_explicit(&c->answer_state, ANSWER_IDLE, memory_order_relaxed);
    }
    return answers;
}

enum MHD_Result latchkey_http_response_give(connection *c) {
    c->stage = STAGE_DISPATCHED;
    return latchkey_http_connection_enter(c, PHASE_HANDLING) ? queue_answer(c)
                                                             : latchkey_http_log_not(MHD_NO);
}

enum MHD_Result latchkey_http_response_continue(connection *c) {
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (state == ANSWER_RUNNING) {
        if (latchkey_http_connection_await(c)) {
            return MHD_YES;
        }
        state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    }
    return state == ANSWER_ABANDONED ? queue_abandoned(c) : queue_answer(c);
}

// Takes the answer to an abandoned request.
static void discard(connection *c, latchkey_http_response *response, latchkey_http_stream *stream) {
    if (stream != NULL) {
        latchkey_http_stream_abandon(c, stream);
    }
    if (response != NULL) {
        latchkey_http_short_drop(c, mhd_response(response));
    }
    latchkey_http_connection_release(c);
}

// Answers a request that was not RUNNING any more when its answer came, or whose body has a reader.
// Returns false if it was taken away.
static bool respond_late(connection *c) {
    unsigned state = ANSWER_RUNNING;
    pthread_mutex_lock(&c->suspension.lock);
    if (c->reader != NULL) {
        // Under the lock: a request that is taken away before that is refused (body.c).
        atomic_store(&c->reader->is_over, true);
    }
    if (atomic_compare_exchange_strong(&c->answer_state, &state, ANSWER_ANSWERED)) {
        // Its thread comes back anyway.
    } else if (state == ANSWER_SUSPENDED) {
        if (c->stage == STAGE_BODY) {
            // libmicrohttpd may not come back before more of the body has come (body.c).
            latchkey_http_connection_enter(c, PHASE_RECEIVING);
        }
        atomic_store_explicit(&c->answer_state, ANSWER_ANSWERED, memory_order_release);
        latchkey_http_resume(&c->suspension, c);
    } else {
        c->answer = NULL;
        c->stream = NULL;
    }
    pthread_mutex_unlock(&c->suspension.lock);
    if (UNLIKELY(state == ANSWER_IDLE || state == ANSWER_ANSWERED || state == ANSWER_READ)) {
        fputs("latchkey: a request was answered twice\n", stderr);
        abort();
    }
    return state != ANSWER_ABANDONED;
}

static void respond(latchkey_http_request *request, uint32_t status,
                    latchkey_http_response *response, bool close, latchkey_http_stream *stream) {
    connection *c = (connection *)(void *)request;
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (UNLIKELY(state == ANSWER_ABANDONED)) {
        discard(c, response, stream);
        return;
    }
    if (UNLIKELY(state == ANSWER_IDLE || state == ANSWER_ANSWERED)) {
        fputs("latchkey: a request was answered twice\n", stderr);
        abort();
    }
    c->answer = mhd_response(response);
    c->answer_status = status;
    c->answer_close = close;
    if (UNLIKELY(stream != NULL)) {
        c->stream = stream;
    }
    // The object may be gone as soon as it is answered.
    state = ANSWER_RUNNING;
    if (LIKELY(c->reader == NULL) &&
        LIKELY(atomic_compare_exchange_strong(&c->answer_state, &state, ANSWER_ANSWERED))) {
        return;
    }
    if (!respond_late(c)) {
        discard(c, response, stream);
    }
}

void latchkey_http_respond(latchkey_http_request *request, uint32_t status,
                           latchkey_http_response *response, bool close) {
    respond(request, status, response, close, NULL);
}

void latchkey_http_short_respond(latchkey_http_request *request, uint32_t status, bool close) {
    short_answer *s = &((connection *)(void *)request)->short_answer;
    latchkey_http_short_end(s);
    respond(request, status, (latchkey_http_response *)s->response, close, NULL);
}

void latchkey_http_respond_stream(latchkey_http_request *request, uint32_t status,
                                  latchkey_http_response *response, latchkey_http_stream *stream) {
    latchkey_http_stream_hold(stream);
    respond(request, status, response, false, stream);
}

void latchkey_http_request_note(latchkey_http_request *request, uint64_t note) {
    request->note = note;
}

bool latchkey_http_request_is_whole(const latchkey_http_request *request) {
    return ((const connection *)(const void *)request)->stage == STAGE_DISPATCHED;
}

void latchkey_http_request_close(latchkey_http_request *request) {
    ((connection *)(void *)request)->closes = true;
}

void latchkey_http_request_share(latchkey_http_request *request, latchkey_http_sharing sharing) {
    request->sharing = sharing;
    latchkey_http_refusal_share((connection *)(void *)request);
}

void latchkey_http_request_keep_authority(latchkey_http_request *request) {
    connection *c = (connection *)(void *)request;
    size_t count = request->authority.count;
    if (count > 0 && count <= sizeof(c->authority)) {
        memcpy(c->authority, request->authority.bytes, count);
        c->authority_count = count;
    }
}

void latchkey_http_request_wait(latchkey_http_request *request, uint32_t milliseconds) {
    connection *c = (connection *)(void *)request;
    uint32_t bound = milliseconds > 0 ? milliseconds : UINT32_MAX;
    atomic_store_explicit(&c->answer_milliseconds, bound, memory_order_relaxed);
}

bool latchkey_http_response_abandon(connection *c) {
    unsigned state = ANSWER_RUNNING;
    atomic_fetch_add_explicit(&c->reference_count, 1, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&c->answer_state, &state, ANSWER_ABANDONED)) {
        atomic_fetch_sub_explicit(&c->reference_count, 1, memory_order_relaxed);
        return false;
    }
    return true;
}

bool latchkey_http_response_take_away(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    bool takes = atomic_load_explicit(&c->answer_state, memory_order_acquire) == ANSWER_SUSPENDED;
    if (takes) {
        // For the thread that answers.
        atomic_fetch_add_explicit(&c->reference_count, 1, memory_order_relaxed);
        atomic_store(&c->answer_state, ANSWER_ABANDONED);
        // libmicrohttpd takes no answer before the last piece of a body.
        latchkey_http_body_cut(c);
        latchkey_http_abandoned_note(c);
        latchkey_http_resume(&c->suspension, c);
    }
    pthread_mutex_unlock(&c->suspension.lock);
    return takes;
}
