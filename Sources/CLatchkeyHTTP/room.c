// Room for an answer: whether the library's memory of a connection can hold its head.
//
// Design
//
// libmicrohttpd keeps its notes of header lines, and its copies of cookies, in the memory of the
// connection, into which the head of the answer must fit as well. If it does not, the library
// closes the connection instead of answering, after the request was served. So lines are bounded,
// and the room is reckoned before the handler is called: see
// docs/decisions/0015-room-for-an-answer.md.

#include <string.h>

#include "internal.h"

static size_t pool_half(const latchkey_http_options *options) {
    size_t half = (size_t)options->head_bytes_max + POOL_HALF_BYTES_OVER_HEAD;
    return half < POOL_HALF_BYTES_MIN ? POOL_HALF_BYTES_MIN : half;
}

size_t latchkey_http_room_pool_bytes(const latchkey_http_options *options) {
    return 2 * pool_half(options);
}

// An upper bound of what libmicrohttpd has read behind the request: all that it has read, less what
// is known of the length of this request and those before it.
static uint64_t pipelined_bytes(connection *c) {
    uint64_t read;
    if (!latchkey_http_raw_is_read(c, &read)) {
        return UINT64_MAX;
    }
    uint64_t known = c->consumed_bytes + c->head_count + c->body_received;
    return read > known ? read - known : 0;
}

void latchkey_http_room_count_anew(connection *c) {
    if (latchkey_http_raw_is_read(c, &c->consumed_bytes)) {
        c->consumed_unknown = false;
    }
}

bool latchkey_http_room_has_many_cookies(connection *c) {
    const char *cookies =
        MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE);
    if (cookies == NULL) {
        return false;
    }
    size_t lines = (size_t)MHD_get_connection_values(c->mhd, MHD_HEADER_KIND, NULL, NULL) + 1;
    for (const char *at = strpbrk(cookies, ";,"); at != NULL; at = strpbrk(at + 1, ";,")) {
        lines++;
    }
    return lines * POOL_FIELD_BYTES + strlen(cookies) > pool_half(&c->server->options) / 2;
}

static enum MHD_Result count_trailer(void *context, enum MHD_ValueKind kind, const char *name,
                                     size_t name_count, const char *value, size_t value_count) {
    (void)kind;
    (void)name;
    (void)value;
    *(size_t *)context += name_count + value_count + sizeof(":\r\n") - 1;
    return MHD_YES;
}

bool latchkey_http_room_is_left(connection *c) {
    if (LIKELY(!c->is_chunked && !c->has_cookies)) {
        return true;
    }
    const latchkey_http_options *options = &c->server->options;
    size_t trailer_bytes = 0;
    int trailers =
        MHD_get_connection_values_n(c->mhd, MHD_FOOTER_KIND, count_trailer, &trailer_bytes);
    size_t lines = c->request.field_count + (size_t)trailers;
    if (lines > LATCHKEY_HTTP_FIELDS_MAX ||
        c->head_count + trailer_bytes > options->head_bytes_max) {
        return false;
    }
    if (!c->has_cookies) {
        return true;
    }
    // The first line with cookies is copied, and each cookie noted like a header line.
    size_t cookies = (size_t)MHD_get_connection_values_n(c->mhd, MHD_COOKIE_KIND, NULL, NULL);
    size_t first = latchkey_http_find(&c->request, "cookie", strlen("cookie"), 0);
    size_t notes = (lines + cookies) * POOL_FIELD_BYTES + c->fields[first].value.count +
                   POOL_FIELD_BYTES + LATCHKEY_HTTP_ANSWER_HEAD_BYTES_MAX + LINES_BYTES;
    if (notes <= pool_half(options)) {
        return true;
    }
    size_t room = 2 * pool_half(options) - c->head_count - trailer_bytes;
    return notes < room && pipelined_bytes(c) < room - notes;
}
