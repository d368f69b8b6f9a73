// Bodies that are read piece by piece. CLatchkeyHTTPBody.h has the contract.
//
// Design
//
// A piece is given to its reader as a request is given to its handler: the phase is HANDLING and
// `answer_state` RUNNING meanwhile. So a client that is made to wait is a request whose handler has
// returned without an answer: its connection is suspended, the deadline for answers holds, and stop
// takes it away. Between two pieces the phase is RECEIVING and the state IDLE.
//
// Letting the client go on works like an answer without content: `answer_state` becomes READ. If
// the connection is suspended, libmicrohttpd may not call again before the client has sent
// something, so the thread that goes on sets phase and state itself, under the lock under which it
// resumes; respond() in response.c does the same.
//
// libmicrohttpd goes on with the next chunk in its buffer although the connection is suspended. The
// bytes are then left in its buffer. A connection whose body is complete, by its length, is
// suspended one round later, which keeps the answer for a client that has closed its half
// (response.c). In chunks the end is not known, and a client that closes its half while it is made
// to wait has gone.
//
// libmicrohttpd takes no answer in the middle of a body. So an early answer waits in `answer`, like
// one from the head, while the rest of the body is discarded; and a request that is taken away is
// refused past the library (past_library.c).
//
// For an ABANDONED request, the thread that lets it go on calls `gone`: the reader is working on
// its last piece when the request ends, and its callbacks must not be called at the same time.

#include <stdio.h>
#include <stdlib.h>

#include "connection/connection.h"
#include "request/request.h"

bool latchkey_http_request_read(latchkey_http_request *request,
                                const latchkey_http_body_reader *callbacks) {
    connection *c = (connection *)(void *)request;
    struct body_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL) {
        return false;
    }
    reader->callbacks = *callbacks;
    c->body_bytes_max = UINT64_MAX;
    pthread_mutex_lock(&c->server->lock);
    c->reader = reader;
    pthread_mutex_unlock(&c->server->lock);
    return true;
}

void *latchkey_http_body_context(const latchkey_http_request *request) {
    const connection *c = (const connection *)(const void *)request;
    return c->reader != NULL ? c->reader->callbacks.context : NULL;
}

// Goes back to receiving after a piece for which the connection was not suspended.
static void take_word(connection *c, unsigned state) {
    if (state == ANSWER_ANSWERED) {
        c->answers_head = true;
    } else {
        atomic_store_explicit(&c->answer_state, ANSWER_IDLE, memory_order_relaxed);
    }
    latchkey_http_connection_enter(c, PHASE_RECEIVING);
}

// Calls the reader.
static void call_reader(connection *c, const char *bytes, size_t count) {
    struct body_reader *reader = c->reader;
    if (!latchkey_http_connection_enter(c, PHASE_HANDLING)) {
        return;
    }
    // After the phase was set (internal.h).
    if (UNLIKELY(atomic_load(&c->server->stopping))) {
        latchkey_http_connection_enter(c, PHASE_RECEIVING);
        return;
    }
    atomic_fetch_add_explicit(&reader->received, count, memory_order_relaxed);
    atomic_store_explicit(&c->answer_state, ANSWER_RUNNING, memory_order_relaxed);
    latchkey_http_taken taken =
        reader->callbacks.piece(reader->callbacks.context, &c->request, bytes, count);
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (taken == LATCHKEY_HTTP_TAKEN_AND_WAIT && state == ANSWER_RUNNING) {
        bool is_last = !c->is_chunked && c->body_received == c->body_declared;
        if (is_last || latchkey_http_connection_await(c)) {
            return;
        }
        state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    }
    take_word(c, state);
}

void latchkey_http_body_give(connection *c, const char *bytes, size_t *count) {
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (state == ANSWER_SUSPENDED) {
        return;
    }
    c->body_received += *count;
    if (state == ANSWER_ANSWERED) {
        c->answers_head = true;
    } else if (state == ANSWER_IDLE && *count > 0) {
        call_reader(c, bytes, *count);
    }
    *count = 0;
}

bool latchkey_http_body_is_taken(connection *c) {
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (state == ANSWER_RUNNING) {
        if (!c->reader->has_had_round) {
            c->reader->has_had_round = true;
            return false;
        }
        if (latchkey_http_connection_await(c)) {
            return false;
        }
        state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    }
    if (state == ANSWER_READ || state == ANSWER_ANSWERED) {
        take_word(c, state);
    }
    return state != ANSWER_SUSPENDED && state != ANSWER_ABANDONED;
}

void latchkey_http_body_lose(connection *c, latchkey_http_body_reason reason) {
    struct body_reader *reader = c->reader;
    if (!atomic_exchange(&reader->is_over, true) && reader->callbacks.gone != NULL) {
        reader->callbacks.gone(reader->callbacks.context, reason);
    }
}

// Why a request ends before its body does.
static latchkey_http_body_reason reason_of(connection *c) {
    if (atomic_load(&c->server->stopping)) {
        return LATCHKEY_HTTP_BODY_STOPPED;
    }
    return latchkey_http_connection_phase(c) == PHASE_EXPIRED ? LATCHKEY_HTTP_BODY_DEADLINE
                                                              : LATCHKEY_HTTP_BODY_CLIENT;
}

void latchkey_http_body_leave(connection *c) {
    struct body_reader *reader = c->reader;
    latchkey_http_body_lose(c, reason_of(c));
    pthread_mutex_lock(&c->server->lock);
    c->reader = NULL;
    pthread_mutex_unlock(&c->server->lock);
    if (reader->callbacks.release != NULL) {
        reader->callbacks.release(reader->callbacks.context);
    }
    free(reader);
}

// Lets a client go on whose request was not RUNNING any more. Returns the state that it was in.
static unsigned go_on_late(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    unsigned state = atomic_load_explicit(&c->answer_state, memory_order_acquire);
    if (state == ANSWER_SUSPENDED) {
        latchkey_http_connection_enter(c, PHASE_RECEIVING);
        atomic_store_explicit(&c->answer_state, ANSWER_IDLE, memory_order_release);
        latchkey_http_resume(&c->suspension, c);
    }
    pthread_mutex_unlock(&c->suspension.lock);
    return state;
}

void latchkey_http_body_go_on(latchkey_http_request *request) {
    connection *c = (connection *)(void *)request;
    // The object may be gone as soon as its thread can go on.
    unsigned state = ANSWER_RUNNING;
    if (atomic_compare_exchange_strong(&c->answer_state, &state, ANSWER_READ)) {
        return;
    }
    state = go_on_late(c);
    if (state == ANSWER_ABANDONED) {
        latchkey_http_body_lose(c, reason_of(c));
        latchkey_http_connection_release(c);
    } else if (state != ANSWER_SUSPENDED) {
        fputs("latchkey: a body went on that did not wait\n", stderr);
        abort();
    }
}

bool latchkey_http_body_is_slow(connection *c, unsigned phase, uint64_t now) {
    struct body_reader *reader = c->reader;
    uint64_t bound = c->server->options.request_milliseconds;
    uint64_t received = atomic_load_explicit(&reader->received, memory_order_relaxed);
    uint64_t elapsed = now - reader->watched_milliseconds;
    uint64_t owed = elapsed * LATCHKEY_HTTP_BODY_BYTES_PER_SECOND_MIN / 1000;
    bool counts = (phase & PHASE_MASK) == PHASE_RECEIVING && !atomic_load(&reader->is_over);
    if (counts && reader->watched_milliseconds != 0) {
        if (bound == 0 || elapsed < bound) {
            return false;
        }
        if (received - reader->watched_received < owed) {
            return true;
        }
    }
    reader->watched_milliseconds = now;
    reader->watched_received = received;
    return false;
}

bool latchkey_http_body_cut(connection *c) {
    if (c->reader == NULL || atomic_load(&c->reader->is_over)) {
        return false;
    }
    unsigned phase = atomic_load(&c->phase);
    unsigned state = atomic_load(&c->answer_state);
    bool receives = (phase & PHASE_MASK) == PHASE_RECEIVING;
    bool waited = (phase & PHASE_MASK) == PHASE_HANDLING && state == ANSWER_ABANDONED;
    return (receives || waited) &&
           latchkey_http_past_library_refuse(c, phase, "500 Internal Server Error",
                                             c->server->unknown_body);
}
