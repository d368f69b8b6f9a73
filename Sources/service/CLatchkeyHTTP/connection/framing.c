// The rules of HTTP/1 for the bytes of requests: RFC 9112, sections 2.2, 3, 5 and 7.
//
// Design
//
// Bytes are read line by line and made plain in place: they never become more. The last line of a
// head decides how its body is framed. A head is kept once it is whole; a line of a body, once its
// end is there. So the library gets no part of a head or line that breaks a rule.
//
// Stricter than section 2.2 allows: a bare line feed ends no line. Heads are in framing_head.c.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/bytes.h"
#include "connection/connection.h"
#include "connection/framing.h"

// More digits of a chunk's size do not fit a length.
enum { SIZE_DIGITS_MAX = 15 };

#define STAND_IN " / HTTP/1.1\r\nHost: refused\r\n"

// Ends a head or the framing of its body: the next head begins.
void latchkey_http_framing_begin_head(arrival *a, region *r) {
    a->state = ARRIVAL_HEAD;
    a->length = 0;
    a->head_bytes = 0;
    a->extension_bytes = 0;
    a->lines = 0;
    a->hosts = 0;
    a->lengths = 0;
    a->codings = 0;
    r->unit = r->write;
}

// Gives the library `closing` in place of the refused part, and nothing after it.
static bool refuse(connection *c, latchkey_http_rejection why, const char *closing) {
    arrival *a = &c->arrival;
    a->state = ARRIVAL_OVER;
    a->refused = a->heads;
    a->refusal = why;
    a->closing = closing;
    return false;
}

// The first line Origin among those of a head that were taken, with its end; NULL if there is none.
static const char *find_origin(const region *r, size_t *length) {
    for (size_t at = r->unit; at < r->write; at += *length) {
        const char *line = r->bytes + at;
        const char *end = memchr(line, '\n', r->write - at);
        *length = (size_t)(end + 1 - line);
        const char *colon = memchr(line, ':', *length);
        if (colon != NULL &&
            latchkey_http_field_known(line, (size_t)(colon - line)) == LATCHKEY_HTTP_KNOWN_ORIGIN) {
            return latchkey_http_has_controls(line, *length - 2) ? NULL : line;
        }
    }
    return NULL;
}

// The head that stands for a refused one. It is a HEAD if the refused one is, and then gets no
// body. It has the Origin, since a browser shows the answer to the page only if the answer names
// it.
static const char *stand_in(arrival *a, const region *r) {
    static const char head[] = "HEAD";
    size_t length = 0;
    const char *origin = find_origin(r, &length);
    const char *line = r->bytes + r->unit;
    bool is_head = r->write > r->unit && memcmp(line, head, sizeof(head) - 1) == 0;
    size_t capacity = sizeof("HEAD" STAND_IN "\r\n") + length;
    a->stand_in = origin != NULL || is_head ? malloc(capacity) : NULL;
    if (a->stand_in == NULL) {
        return "GET" STAND_IN "\r\n";
    }
    snprintf(a->stand_in, capacity, "%s" STAND_IN "%.*s\r\n", is_head ? head : "GET",
             origin != NULL ? (int)length : 0, origin != NULL ? origin : "");
    return a->stand_in;
}

bool latchkey_http_framing_refuse_head(connection *c, region *r, latchkey_http_rejection why) {
    const char *text = stand_in(&c->arrival, r);
    c->arrival.heads++;
    c->arrival.is_head = true;
    r->write = r->unit;
    return refuse(c, why, text);
}

static bool refuse_body(connection *c, latchkey_http_rejection why) {
    switch (c->arrival.state) {
    case ARRIVAL_CHUNK_END:
        return refuse(c, why, "\r\n0\r\n\r\n");
    case ARRIVAL_TRAILERS:
        return refuse(c, why, "\r\n");
    default:
        return refuse(c, why, "0\r\n\r\n");
    }
}

// Refuses a part that breaks a rule.
bool latchkey_http_framing_refuse_malformed(connection *c, region *r) {
    return c->arrival.state == ARRIVAL_HEAD
               ? latchkey_http_framing_refuse_head(c, r, LATCHKEY_HTTP_REJECTION_MALFORMED)
               : refuse_body(c, LATCHKEY_HTTP_REJECTION_MALFORMED);
}

// Refuses a part that is longer than a limit.
bool latchkey_http_framing_refuse_long(connection *c, region *r) {
    arrival *a = &c->arrival;
    if (a->state == ARRIVAL_CHUNK_SIZE) {
        return refuse_body(c, LATCHKEY_HTTP_REJECTION_MALFORMED);
    }
    if (a->state != ARRIVAL_HEAD) {
        return refuse_body(c, LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE);
    }
    return latchkey_http_framing_refuse_head(c, r,
                                             a->lines == 0
                                                 ? LATCHKEY_HTTP_REJECTION_TARGET_TOO_LONG
                                                 : LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE);
}

size_t latchkey_http_framing_find_line(connection *c, region *r, size_t so_far, size_t most) {
    const char *line = r->bytes + r->read;
    const char *end = memchr(line, '\n', r->count - r->read);
    size_t length = end != NULL ? (size_t)(end + 1 - line) : 0;
    if (so_far + (length > 0 ? length : r->count - r->read) > most) {
        return latchkey_http_framing_refuse_long(c, r);
    }
    if (length > 0 && (length == 1 || end[-1] != '\r')) {
        return latchkey_http_framing_refuse_malformed(c, r);
    }
    return length;
}

// Takes a line over, without its end, and adds one.
void latchkey_http_framing_keep_line(region *r, size_t kept, size_t length) {
    if (r->write != r->read) {
        memmove(r->bytes + r->write, r->bytes + r->read, kept);
    }
    memcpy(r->bytes + r->write + kept, "\r\n", 2);
    r->write += kept + 2;
    r->read += length;
}

// Takes bytes of a body or of a chunk. Returns whether these were the last.
static bool take_bytes(arrival *a, region *r) {
    size_t count = r->count - r->read;
    count = count < a->left ? count : (size_t)a->left;
    if (r->write != r->read) {
        memmove(r->bytes + r->write, r->bytes + r->read, count);
    }
    r->write += count;
    r->read += count;
    a->left -= count;
    return a->left == 0;
}

static size_t span_of_space(const char *bytes, size_t count) {
    size_t i = 0;
    while (i < count && latchkey_http_is_space(bytes[i])) {
        i++;
    }
    return i;
}

// The length of a quoted text (RFC 9110, section 5.6.4), or 0.
static size_t span_of_quoted(const char *bytes, size_t count) {
    for (size_t i = 1; count > 0 && bytes[0] == '"' && i < count; i++) {
        if (bytes[i] == '"') {
            return i + 1;
        }
        i += bytes[i] == '\\';
    }
    return 0;
}

// Whether these bytes, which follow a chunk's size, are extensions (RFC 9112, section 7.1.1) or
// none: names, each with a value or without one. White space may be around `;` and `=` only.
static bool are_extensions(const char *bytes, size_t count) {
    size_t at = 0;
    while (at < count) {
        at += span_of_space(bytes + at, count - at);
        if (at == count || bytes[at++] != ';') {
            return false;
        }
        at += span_of_space(bytes + at, count - at);
        size_t name = latchkey_http_span_of(bytes + at, count - at, &bytes_of_token);
        at += name;
        size_t space = span_of_space(bytes + at, count - at);
        if (at + space < count && bytes[at + space] == '=') {
            at += space + 1;
            at += span_of_space(bytes + at, count - at);
            size_t value = latchkey_http_span_of(bytes + at, count - at, &bytes_of_token);
            value = value > 0 ? value : span_of_quoted(bytes + at, count - at);
            at += value;
            name = value > 0 ? name : 0;
        }
        if (name == 0) {
            return false;
        }
    }
    return !latchkey_http_has_controls(bytes, count);
}

static bool take_chunk_size(connection *c, region *r) {
    arrival *a = &c->arrival;
    size_t length =
        latchkey_http_framing_find_line(c, r, a->extension_bytes, ARRIVAL_EXTENSION_BYTES_MAX);
    if (length == 0) {
        return false;
    }
    const char *line = r->bytes + r->read;
    size_t size_count = latchkey_http_span_of(line, length, &bytes_of_hexadecimal);
    if (size_count == 0 || !are_extensions(line + size_count, length - 2 - size_count)) {
        return latchkey_http_framing_refuse_malformed(c, r);
    }
    size_t zeros = 0;
    while (zeros + 1 < size_count && line[zeros] == '0') {
        zeros++;
    }
    if (size_count - zeros > SIZE_DIGITS_MAX) {
        return refuse_body(c, LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE);
    }
    a->left = 0;
    for (size_t i = zeros; i < size_count; i++) {
        unsigned char byte = (unsigned char)line[i];
        a->left = a->left * 16 + (byte <= '9' ? byte & 0xfu : (byte & 0xfu) + 9);
    }
    a->extension_bytes += zeros + length - 2 - size_count;
    a->state = a->left > 0 ? ARRIVAL_CHUNK : ARRIVAL_TRAILERS;
    r->read += zeros;
    latchkey_http_framing_keep_line(r, size_count - zeros, length - zeros);
    return true;
}

static bool take_chunk_end(connection *c, region *r) {
    size_t count = r->count - r->read;
    if (r->bytes[r->read] != '\r' || (count > 1 && r->bytes[r->read + 1] != '\n')) {
        return latchkey_http_framing_refuse_malformed(c, r);
    }
    if (count > 1) {
        latchkey_http_framing_keep_line(r, 0, 2);
        c->arrival.state = ARRIVAL_CHUNK_SIZE;
    }
    return count > 1;
}

static bool take_trailer(connection *c, region *r) {
    arrival *a = &c->arrival;
    size_t length =
        latchkey_http_framing_find_line(c, r, a->head_bytes, c->server->options.head_bytes_max);
    if (length == 0) {
        return false;
    }
    if (length == 2) {
        latchkey_http_framing_keep_line(r, 0, 2);
        latchkey_http_framing_begin_head(a, r);
        return true;
    }
    const char *line = r->bytes + r->read;
    size_t name_count = latchkey_http_span_of(line, length, &bytes_of_token);
    if (name_count == 0 || line[name_count] != ':' ||
        latchkey_http_has_controls(line, length - 2)) {
        return latchkey_http_framing_refuse_malformed(c, r);
    }
    a->head_bytes += length;
    r->read += length;
    return a->lines++ <= LATCHKEY_HTTP_FIELDS_MAX || latchkey_http_framing_refuse_long(c, r);
}

// Takes the next part. Returns false if its end has not come, or it is refused.
static bool take_next(connection *c, region *r) {
    arrival *a = &c->arrival;
    switch (a->state) {
    case ARRIVAL_HEAD:
        return latchkey_http_framing_take_head_line(c, r);
    case ARRIVAL_BODY:
        if (take_bytes(a, r)) {
            latchkey_http_framing_begin_head(a, r);
        }
        return true;
    case ARRIVAL_CHUNK_SIZE:
        return take_chunk_size(c, r);
    case ARRIVAL_CHUNK:
        if (take_bytes(a, r)) {
            a->state = ARRIVAL_CHUNK_END;
        }
        return true;
    case ARRIVAL_CHUNK_END:
        return take_chunk_end(c, r);
    case ARRIVAL_TRAILERS:
        return take_trailer(c, r);
    case ARRIVAL_OVER:
        break;
    }
    return false;
}

size_t latchkey_http_framing_check(connection *c, char *bytes, size_t count, size_t *rest) {
    arrival *a = &c->arrival;
    region r = {.bytes = bytes, .count = count, .read = a->scanned, .write = a->scanned};
    while (r.read < count && take_next(c, &r)) {
    }
    a->scanned = 0;
    if (a->state == ARRIVAL_OVER) {
        *rest = 0;
        return r.write;
    }
    memmove(bytes + r.write, bytes + r.read, count - r.read);
    size_t kept = a->state == ARRIVAL_HEAD ? r.unit : r.write;
    a->scanned = r.write - kept;
    *rest = r.write - kept + count - r.read;
    return kept;
}
