// Short answers: one response object for all answers of a connection.
//
// Design
//
// Making a response object, with a copy of each header line, and freeing it takes libmicrohttpd a
// third of a request's processor time outside the kernel. Most answers of a connection differ from
// the one before in little: the bytes of the body, and the digits of the entity tag. So a
// connection keeps the object of its last short answer. The body is a buffer of ours, which is
// written again. A header line whose value has the length of the former one is overwritten in the
// object's own copy; from the first other difference on, lines are removed and added again. A body
// of another length needs a new object.
//
// The object is changed only while a request is unanswered. libmicrohttpd does not use it then: it
// is done with an answer before it takes the next request of the connection, and a request that was
// taken away from its handler is answered with another object, and is the last one.
//
// The object belongs to the connection, and is destroyed with it (latchkey_http_short_drop()).

#include <string.h>

#include "internal.h"
#include "library/library.h"
#include "library/lines.h"
#include "request/reused_answer.h"

bool latchkey_http_short_begin(latchkey_http_request *request, const void *body, size_t count) {
    connection *c = (connection *)(void *)request;
    short_answer *s = &c->short_answer;
    if (s->response != NULL && (s->body_count != count || !s->is_reusable)) {
        MHD_destroy_response(s->response);
        s->response = NULL;
    }
    if (s->response == NULL) {
        s->response = MHD_create_response_from_buffer(count, c->short_body, MHD_RESPMEM_PERSISTENT);
        s->body_count = count;
        s->line_count = 0;
        s->is_reusable = true;
        s->common = NULL;
    }
    if (count > 0) {
        memcpy(c->short_body, body, count);
    }
    s->next = 0;
    return s->response != NULL;
}

void latchkey_http_short_end(short_answer *s) {
    while (s->line_count > s->next) {
        short_line *line = &s->lines[--s->line_count];
        MHD_del_response_header(s->response, line->name, line->value);
    }
}

// Overwrites the value of the next line, if the new one fits there. Leaves a value that
// libmicrohttpd would refuse to it.
static bool replace(const short_line *line, const char *name, const char *value, size_t count) {
    if (line->value_count != count || strcmp(line->name, name) != 0) {
        return false;
    }
    if (memcmp(line->value, value, count) != 0) {
        if (strpbrk(value, "\t\r\n") != NULL) {
            return false;
        }
        memcpy(line->value, value, count);
    }
    return true;
}

bool latchkey_http_short_add(latchkey_http_request *request, const char *name, const char *value) {
    short_answer *s = &((connection *)(void *)request)->short_answer;
    size_t count = strlen(value);
    if (s->next < s->line_count) {
        if (LIKELY(replace(&s->lines[s->next], name, value, count))) {
            s->next++;
            return true;
        }
        latchkey_http_short_end(s);
    }
    size_t name_count = strlen(name);
    bool is_new = s->line_count < SHORT_LINES_MAX && name_count < SHORT_NAME_BYTES &&
                  MHD_get_response_header(s->response, name) == NULL;
    if (MHD_add_response_header(s->response, name, value) != MHD_YES) {
        return false;
    }
    if (!is_new) {
        s->is_reusable = false;
        return true;
    }
    short_line *line = &s->lines[s->line_count++];
    memcpy(line->name, name, name_count + 1);
    line->value = latchkey_http_library_value(s->response, name);
    line->value_count = count;
    s->next = s->line_count;
    return true;
}

bool latchkey_http_short_add_common(connection *c) {
    short_answer *s = &c->short_answer;
    const lines *now = latchkey_http_lines();
    if (UNLIKELY(s->common == NULL)) {
        s->common = latchkey_http_lines_add(s->response, now, c->identifier);
        s->common_second = now->second;
        return s->common != NULL;
    }
    if (UNLIKELY(s->common_second != now->second)) {
        memcpy(s->common, now->text, LINES_SAME_BYTES);
        s->common_second = now->second;
    }
    memcpy(s->common + LINES_SAME_BYTES, c->identifier, LATCHKEY_HTTP_IDENTIFIER_BYTES);
    return true;
}

void latchkey_http_short_drop(connection *c, struct MHD_Response *response) {
    if (response != c->short_answer.response) {
        MHD_destroy_response(response);
    }
}
