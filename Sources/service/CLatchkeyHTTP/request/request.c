// Requests as they arrive: the callbacks of libmicrohttpd between the request line and the answer.
//
// Design
//
// libmicrohttpd calls latchkey_http_request_line() when it has the request line, and then
// latchkey_http_request_access(): once with the head, once for every piece of the body, and once at
// the end. An answer that is queued in the first call closes the connection, because the body was
// not read. So the first call checks the head, asks the head callback, and answers only what must
// close anyway; the last call runs the handler, or hands over the answer that was given at the
// head. Until then such an answer waits in `answer`, and the phase stays RECEIVING, so that the
// deadline of the request holds for the discarded body.
//
// A request that broke a rule comes as a faultless stand-in (arrival.c). It is known by its number.

#include <stdlib.h>
#include <string.h>

#include "connection/connection.h"
#include "connection/identifier.h"
#include "library/clock.h"
#include "library/log.h"
#include "request/request.h"
#include "stream/stream.h"

void *latchkey_http_request_line(void *context, const char *target, struct MHD_Connection *mhd) {
    (void)context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    connection *c = info != NULL ? info->socket_context : NULL;
    if (c == NULL || target == NULL) {
        return NULL;
    }
    c->number++;
    if (UNLIKELY(c->number > c->arrival.heads)) {
        // The library has read it past arrival.c: it works differently from all known versions.
        latchkey_http_log_write(c->server, "a request was not checked, and is not served");
        return NULL;
    }
    latchkey_http_identifier_next(c);
    c->stage = STAGE_LINE;
    c->target = target;
    atomic_store_explicit(&c->thread, pthread_self(), memory_order_relaxed);
    const char *mark = strchr(target, ARRIVAL_QUERY_MARK);
    c->target_count = strlen(target);
    c->query_offset = mark != NULL ? (size_t)(mark + 1 - target) : 0;
    latchkey_http_connection_enter(c, PHASE_RECEIVING);
    return c;
}

// Adds to the body. Returns false if there is no memory.
static bool append(connection *c, const char *bytes, size_t count) {
    size_t needed = c->request.body.count + count;
    if (needed > c->body_capacity) {
        size_t capacity = c->body_capacity * 2;
        capacity = capacity < 512 ? 512 : capacity;
        capacity = capacity < needed ? needed : capacity;
        char *larger = realloc(c->body, capacity);
        if (larger == NULL) {
            return false;
        }
        c->body = larger;
        c->body_capacity = capacity;
    }
    memcpy(c->body + c->request.body.count, bytes, count);
    c->request.body = (latchkey_http_bytes){c->body, needed};
    return true;
}

// A rejected request keeps nothing of its body.
static void reject_body(connection *c, latchkey_http_rejection rejection) {
    c->request.rejection = rejection;
    c->closes = true;
    c->request.body.count = 0;
}

// Whether a body is longer than the part that would be read only so that the client gets its
// answer.
static bool is_endless(const connection *c, uint64_t count) {
    uint64_t bound = c->body_bytes_max;
    return count > bound && count - bound > LATCHKEY_HTTP_DISCARD_BYTES_MAX;
}

static void receive_body(connection *c, const char *bytes, size_t count) {
    uint64_t bound = c->body_bytes_max;
    c->body_received += count;
    if (c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE && !c->answers_head) {
        if (c->body_received > bound) {
            reject_body(c, LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE);
        } else if (!append(c, bytes, count)) {
            reject_body(c, LATCHKEY_HTTP_REJECTION_MEMORY);
        }
    }
    if (UNLIKELY(is_endless(c, c->body_received))) {
        latchkey_http_past_library_refuse_body(c);
    }
}

// Whether the request is the one that has broken a rule. Its end, or that of its head, has come, so
// this is known.
static bool is_refused_there(const connection *c) {
    return UNLIKELY(c->arrival.refused == c->number);
}

static enum MHD_Result complete(connection *c) {
    if (UNLIKELY(c->reader != NULL) && !latchkey_http_body_is_taken(c)) {
        return MHD_YES;
    }
    bool is_refused = is_refused_there(c) && c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE;
    if (UNLIKELY(c->answers_head) && !is_refused) {
        return latchkey_http_response_give(c);
    }
    if (UNLIKELY(is_refused)) {
        latchkey_http_short_drop(c, c->answer);
        c->answer = NULL;
        reject_body(c, c->arrival.refusal);
        if (c->reader != NULL) {
            latchkey_http_body_lose(c, LATCHKEY_HTTP_BODY_REFUSED);
        }
    }
    return latchkey_http_response_dispatch(c, false);
}

static enum MHD_Result begin(connection *c, const char *method, const char *version) {
    c->request.started_nanoseconds = latchkey_http_nanoseconds();
    if (c->refused) {
        c->request.rejection = c->refusal;
        c->closes = true;
    } else if (atomic_load_explicit(&c->server->draining, memory_order_relaxed)) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_DRAINING;
        c->closes = true;
    } else if (is_refused_there(c) && c->arrival.is_head) {
        c->request.rejection = c->arrival.refusal;
        c->closes = true;
    }
    latchkey_http_head_take(c, method, version);
    c->stage = STAGE_BODY;
    bool has_body = c->is_chunked || c->body_declared > 0;
    if (has_body && c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE &&
        c->server->options.head != NULL) {
        c->answers_head = latchkey_http_response_ask_at_head(c);
        if (c->answers_head && c->expects) {
            return latchkey_http_response_give(c);
        }
    }
    if (UNLIKELY(c->body_declared > c->body_bytes_max) && !c->answers_head &&
        c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE) {
        reject_body(c, LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE);
    }
    bool is_unread = is_endless(c, c->body_declared);
    switch (c->request.rejection) {
    case LATCHKEY_HTTP_REJECTION_NONE:
        if (LIKELY(!is_unread)) {
            return MHD_YES;
        }
        break;
    case LATCHKEY_HTTP_REJECTION_MALFORMED:
    case LATCHKEY_HTTP_REJECTION_MEMORY:
        // The end of this request is not known, or does not matter.
        return latchkey_http_response_dispatch(c, true);
    default:
        break;
    }
    if (c->expects || (is_unread && c->server->is_encrypted)) {
        return c->answers_head ? latchkey_http_response_give(c)
                               : latchkey_http_response_dispatch(c, true);
    }
    if (is_unread) {
        latchkey_http_past_library_refuse_body(c);
    }
    return MHD_YES;
}

enum MHD_Result latchkey_http_request_access(void *context, struct MHD_Connection *mhd,
                                             const char *url, const char *method,
                                             const char *version, const char *upload,
                                             size_t *upload_count, void **request_context) {
    (void)context;
    (void)mhd;
    (void)url;
    connection *c = *request_context;
    if (UNLIKELY(c == NULL)) {
        return latchkey_http_log_not(MHD_NO);
    }
    if (UNLIKELY(latchkey_http_connection_phase(c) == PHASE_EXPIRED)) {
        if (*upload_count == 0) {
            return latchkey_http_log_not(MHD_NO);
        }
        *upload_count = 0;
        return MHD_YES;
    }
    switch (c->stage) {
    case STAGE_LINE:
        return begin(c, method, version);
    case STAGE_BODY:
        // Also without bytes, after an `Expect: 100-continue` for which there is no body.
        if (upload != NULL && UNLIKELY(c->reader != NULL)) {
            latchkey_http_body_give(c, upload, upload_count);
            return MHD_YES;
        }
        if (upload != NULL) {
            receive_body(c, upload, *upload_count);
            *upload_count = 0;
            return MHD_YES;
        }
        return complete(c);
    case STAGE_DISPATCHED:
        return latchkey_http_response_continue(c);
    case STAGE_NONE:
        break;
    }
    return latchkey_http_log_not(MHD_NO);
}

void latchkey_http_request_completed(void *context, struct MHD_Connection *mhd,
                                     void **request_context, enum MHD_RequestTerminationCode code) {
    (void)context;
    (void)mhd;
    (void)code;
    connection *c = *request_context;
    if (c == NULL) {
        return;
    }
    *request_context = NULL;
    // The connection may have ended while the handler had not answered yet. The answering thread
    // has the request then, and this object stays for it; it is not used for another request,
    // because the connection is closed.
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (UNLIKELY(state == ANSWER_ABANDONED)) {
        return;
    }
    if (UNLIKELY(state == ANSWER_RUNNING) && latchkey_http_response_abandon(c)) {
        latchkey_http_abandoned_tell(c);
        return;
    }
    if (UNLIKELY(c->stream != NULL)) {
        latchkey_http_stream_leave(c);
    }
    if (UNLIKELY(c->reader != NULL)) {
        latchkey_http_body_leave(c);
    }
    if (UNLIKELY(c->answer != NULL)) {
        // The answer came, but libmicrohttpd did not come back for it.
        latchkey_http_short_drop(c, c->answer);
        c->answer = NULL;
    }
    if (UNLIKELY(c->gone != NULL)) {
        latchkey_http_abandoned_release(c);
    }
    latchkey_http_refusal_unshare(c);
    atomic_store_explicit(&c->answer_state, ANSWER_IDLE, memory_order_relaxed);
    if (c->body_capacity > LATCHKEY_HTTP_BODY_KEPT_BYTES_MAX) {
        free(c->body);
        c->body = NULL;
        c->body_capacity = 0;
    }
    memset(&c->request, 0, sizeof(c->request));
    c->stage = STAGE_NONE;
    c->closes = false;
    c->expects = false;
    c->is_chunked = false;
    c->body_declared = 0;
    c->failed_head = false;
    c->answers_head = false;
    c->is_http_1_0 = false;
    atomic_store_explicit(&c->answer_milliseconds, 0, memory_order_relaxed);
    c->body_received = 0;
    latchkey_http_connection_enter(c, PHASE_WAITING);
}
