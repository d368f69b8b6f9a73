// Answers that no handler makes, and the origins that may read them.
//
// Design
//
// Such an answer goes through libmicrohttpd, or past it (past_library.c). A browser shows it to a
// page of another origin only if it has the header lines that the handler adds to its own answers
// (Fetch standard, section 3.2). The handler decides this at the head; the answer to a request
// whose head never came has none of them.
//
// An answer past the library can be sent by another thread than the one that has the head. So the
// lines are made when the head callback says which origin may read the answer, and `sharing_lines`
// points to them: the server's thread sets it, and frees what it points to under the lock. Others
// read it under the lock.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/connection.h"
#include "library/lines.h"
#include "request/request.h"

#define VARY_LINE "Vary: Origin\r\n"

static const char vary_line[] = VARY_LINE;

// The header fields that a page can read besides those that every page can.
static const char exposed[] = "Retry-After, " LATCHKEY_HTTP_LINES_IDENTIFIER;

static latchkey_http_bytes origin_of(connection *c) {
    static const char name[] = "origin";
    uint32_t index = latchkey_http_find(&c->request, name, sizeof(name) - 1, 0);
    bool has_one = c->request.sharing == LATCHKEY_HTTP_SHARED_WITH_ORIGIN &&
                   index < c->request.field_count &&
                   c->request.fields[index].value.count <= REFUSAL_ORIGIN_BYTES_MAX;
    return has_one ? c->request.fields[index].value : (latchkey_http_bytes){NULL, 0};
}

void latchkey_http_refusal_share(connection *c) {
    if (c->request.sharing == LATCHKEY_HTTP_SHARED_WITH_NONE ||
        latchkey_http_connection_phase(c) != PHASE_RECEIVING) {
        return;
    }
    latchkey_http_refusal_unshare(c);
    latchkey_http_bytes origin = origin_of(c);
    char *lines = origin.bytes != NULL ? malloc(REFUSAL_SHARING_BYTES_MAX) : NULL;
    if (lines != NULL) {
        snprintf(lines, REFUSAL_SHARING_BYTES_MAX,
                 VARY_LINE "Access-Control-Allow-Origin: %.*s\r\n"
                           "Access-Control-Expose-Headers: %s\r\n",
                 (int)origin.count, origin.bytes, exposed);
    }
    atomic_store_explicit(&c->sharing_lines, lines != NULL ? lines : vary_line,
                          memory_order_release);
}

void latchkey_http_refusal_unshare(connection *c) {
    const char *lines = atomic_load_explicit(&c->sharing_lines, memory_order_relaxed);
    if (LIKELY(lines == NULL)) {
        return;
    }
    if (lines == vary_line) {
        // Nothing is freed that another thread may be reading.
        atomic_store_explicit(&c->sharing_lines, NULL, memory_order_relaxed);
        return;
    }
    pthread_mutex_lock(&c->server->lock);
    atomic_store_explicit(&c->sharing_lines, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&c->server->lock);
    free((char *)(uintptr_t)lines);
}

const char *latchkey_http_refusal_sharing_lines(connection *c) {
    const char *lines = atomic_load_explicit(&c->sharing_lines, memory_order_acquire);
    return lines != NULL ? lines : "";
}

void latchkey_http_refusal_add_sharing(connection *c, struct MHD_Response *response) {
    if (LIKELY(c->request.sharing == LATCHKEY_HTTP_SHARED_WITH_NONE)) {
        return;
    }
    MHD_add_response_header(response, "Vary", "Origin");
    latchkey_http_bytes origin = origin_of(c);
    if (origin.bytes != NULL) {
        char value[REFUSAL_ORIGIN_BYTES_MAX + 1];
        memcpy(value, origin.bytes, origin.count);
        value[origin.count] = '\0';
        MHD_add_response_header(response, "Access-Control-Allow-Origin", value);
        MHD_add_response_header(response, "Access-Control-Expose-Headers", exposed);
    }
}

struct MHD_Response *latchkey_http_refusal_create(char *body, bool may_retry) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(body), body, MHD_RESPMEM_PERSISTENT);
    if (response != NULL &&
        (MHD_add_response_header(response, "Content-Type", "application/problem+json") != MHD_YES ||
         MHD_add_response_header(response, "Connection", "close") != MHD_YES ||
         MHD_add_response_header(response, "Cache-Control", "no-store") != MHD_YES ||
         (may_retry && MHD_add_response_header(response, "Retry-After", "1") != MHD_YES) ||
         !latchkey_http_lines_add_constant(response))) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

enum MHD_Result latchkey_http_refusal_queue(connection *c, unsigned status,
                                            struct MHD_Response *shared, char *body) {
    latchkey_http_connection_enter(c, PHASE_ANSWERING);
    struct MHD_Response *response =
        latchkey_http_refusal_create(body, status == MHD_HTTP_SERVICE_UNAVAILABLE);
    if (LIKELY(response != NULL)) {
        char identifier[LATCHKEY_HTTP_IDENTIFIER_BYTES + 1] = "";
        memcpy(identifier, c->identifier, LATCHKEY_HTTP_IDENTIFIER_BYTES);
        MHD_add_response_header(response, LATCHKEY_HTTP_LINES_IDENTIFIER, identifier);
        latchkey_http_refusal_add_sharing(c, response);
    }
    enum MHD_Result result =
        MHD_queue_response(c->mhd, status, response != NULL ? response : shared);
    MHD_destroy_response(response);
    return result;
}
