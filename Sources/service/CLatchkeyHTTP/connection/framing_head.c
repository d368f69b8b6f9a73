// The rules of HTTP/1 for heads. framing.c has the design.

#include <string.h>
#include <strings.h>

#include "connection/bytes.h"
#include "connection/connection.h"
#include "connection/framing.h"

// A block of the search for control characters.
enum { BLOCK_BYTES = 16 };

// Whether a whole head has a control character where none may be. Each line feed is known to have
// CR in front of it. In blocks, the last of which overlaps the one before, and to the end even if
// the answer is known.
static bool has_head_controls(const char *bytes, size_t count) {
    typedef unsigned char block __attribute__((vector_size(BLOCK_BYTES)));
    block found = {0};
    if (count <= BLOCK_BYTES) {
        return latchkey_http_has_controls(bytes, count - sizeof("\r\n\r\n") + 1);
    }
    size_t last = count - 1 - BLOCK_BYTES;
    for (size_t i = 0;; i = i + BLOCK_BYTES < last ? i + BLOCK_BYTES : last) {
        block here;
        block next;
        memcpy(&here, bytes + i, BLOCK_BYTES);
        memcpy(&next, bytes + i + 1, BLOCK_BYTES);
        block is_control = (block)(here < ' ') | (block)(here == 0x7f);
        block is_allowed = (block)(here == '\t') | (block)(here == '\n') |
                           ((block)(here == '\r') & (block)(next == '\n'));
        found |= is_control & ~is_allowed;
        if (i == last) {
            break;
        }
    }
    uint64_t halves[2];
    memcpy(halves, &found, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
}

// Checks the request line, and hides its query. Returns whether it is one.
static bool take_request_line(arrival *a, char *line, size_t count) {
    char *target = memchr(line, ' ', count);
    if (target == NULL || !latchkey_http_is_token(line, (size_t)(target - line))) {
        return false;
    }
    size_t rest = count - (size_t)(++target - line);
    char *version = memchr(target, ' ', rest);
    if (version == NULL || version == target || line + count - version != 9 ||
        memcmp(version, " HTTP/1.", 8) != 0 || !latchkey_http_has(&bytes_of_digits, version[8])) {
        return false;
    }
    // A target may hold bytes over 0x7f, although they should have been encoded: they are common.
    bool is_valid = true;
    for (char *at = target; at < version; at++) {
        is_valid &= *at != '\t' && *at != ARRIVAL_QUERY_MARK;
        *at = *at == '?' ? ARRIVAL_QUERY_MARK : *at;
    }
    a->is_http_1_0 = version[8] == '0';
    return is_valid;
}

static bool is_chunked(const char *value, size_t count) {
    return count == sizeof("chunked") - 1 && strncasecmp(value, "chunked", count) == 0;
}

bool latchkey_http_framing_is_cookie(const char *name, size_t count) {
    return count == sizeof("cookie") - 1 && *name == ARRIVAL_COOKIE_MARK &&
           strncasecmp(name + 1, "ookie", count - 1) == 0;
}

// Reads a Content-Length. Returns whether it is one.
static bool take_length(arrival *a, const char *value, size_t count) {
    a->lengths++;
    for (size_t i = 0; i < count; i++) {
        // A number that does not fit stays too large.
        a->length = a->length > UINT64_MAX / 20 ? UINT64_MAX
                                                : a->length * 10 + (unsigned char)(value[i] - '0');
    }
    return count > 0 && latchkey_http_span_of(value, count, &bytes_of_digits) == count;
}

// Checks a field line without trailing white space, and hides a cookie. Returns whether it is one.
static bool take_field_line(arrival *a, char *line, size_t count) {
    char *colon = memchr(line, ':', count);
    if (colon == NULL) {
        return false;
    }
    size_t name_count = (size_t)(colon - line);
    latchkey_http_known known = latchkey_http_field_known(line, name_count);
    const char *value = colon + 1;
    while (value < line + count && latchkey_http_is_space(*value)) {
        value++;
    }
    size_t value_count = (size_t)(line + count - value);
    switch (known) {
    case LATCHKEY_HTTP_KNOWN_NONE:
        return latchkey_http_is_token(line, name_count) &&
               !latchkey_http_framing_is_cookie(line, name_count);
    case LATCHKEY_HTTP_KNOWN_HOST:
        a->hosts++;
        return true;
    case LATCHKEY_HTTP_KNOWN_COOKIE:
        *line = ARRIVAL_COOKIE_MARK;
        return true;
    case LATCHKEY_HTTP_KNOWN_CONTENT_LENGTH:
        return take_length(a, value, value_count);
    case LATCHKEY_HTTP_KNOWN_TRANSFER_ENCODING:
        a->codings++;
        a->is_other_coding |= !is_chunked(value, value_count);
        return true;
    default:
        return true;
    }
}

// Decides what follows a whole head. Returns false if the head is refused.
static bool end_head(connection *c, region *r) {
    arrival *a = &c->arrival;
    bool contradicts = a->lengths > 1 || a->codings > 1 || a->hosts > 1 ||
                       (a->codings > 0 && (a->lengths > 0 || a->is_http_1_0)) ||
                       (a->hosts == 0 && !a->is_http_1_0);
    if (contradicts || has_head_controls(r->bytes + r->unit, r->write - r->unit)) {
        return latchkey_http_framing_refuse_malformed(c, r);
    }
    if (a->is_other_coding) {
        return latchkey_http_framing_refuse_head(c, r, LATCHKEY_HTTP_REJECTION_TRANSFER_CODING);
    }
    if (a->length > INT64_MAX) {
        return latchkey_http_framing_refuse_head(c, r, LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE);
    }
    a->heads++;
    a->left = a->length;
    if (a->codings > 0 || a->left > 0) {
        a->state = a->codings > 0 ? ARRIVAL_CHUNK_SIZE : ARRIVAL_BODY;
    } else {
        latchkey_http_framing_begin_head(a, r);
    }
    return true;
}

// Takes a line of a head. Returns false if there is none, or the head is refused.
bool latchkey_http_framing_take_head_line(connection *c, region *r) {
    arrival *a = &c->arrival;
    size_t length =
        latchkey_http_framing_find_line(c, r, a->head_bytes, c->server->options.head_bytes_max);
    if (length == 0) {
        return false;
    }
    a->head_bytes += length;
    char *line = r->bytes + r->read;
    size_t count = length - 2;
    if (count == 0) {
        if (a->lines == 0) {
            // An empty line in front of a request is no part of it (RFC 9112, section 2.2).
            r->read += length;
            return true;
        }
        latchkey_http_framing_keep_line(r, 0, length);
        return end_head(c, r);
    }
    if (a->lines > 0) {
        while (latchkey_http_is_space(line[count - 1])) {
            // The first byte must not be a space: a folded line is refused.
            if (--count == 0) {
                return latchkey_http_framing_refuse_malformed(c, r);
            }
        }
    }
    if (!(a->lines == 0 ? take_request_line(a, line, count) : take_field_line(a, line, count))) {
        return latchkey_http_framing_refuse_malformed(c, r);
    }
    if (a->lines++ > LATCHKEY_HTTP_FIELDS_MAX) {
        return latchkey_http_framing_refuse_long(c, r);
    }
    latchkey_http_framing_keep_line(r, count, length);
    return true;
}
