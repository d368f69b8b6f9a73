// The head of a request: a copy of it, and the meaning of its fields.
//
// Design
//
// arrival.c has checked the head before libmicrohttpd saw it. The library parses in place: it puts
// NUL over spaces, colons and line ends, and gives out pointers into its buffer.
//
// The copy belongs to the request and not to libmicrohttpd, which frees its own when the client
// vanishes. It costs one memcpy() of the head, mostly some hundred bytes. A pointer that is not
// into that buffer, from a library that works differently, is a failed head.

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connection/bytes.h"
#include "connection/connection.h"
#include "connection/framing.h"
#include "request/request.h"

typedef struct reader {
    connection *c;
    const char *base;  // libmicrohttpd's copy of the head
    size_t count;      // its length
    bool malformed;
} reader;

static void reject(connection *c, latchkey_http_rejection rejection, bool closes) {
    if (c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE) {
        c->request.rejection = rejection;
    }
    c->closes |= closes;
}

// Makes room for the head.
static bool reserve_head(connection *c, size_t count) {
    if (LIKELY(count <= c->head_capacity)) {
        return true;
    }
    char *larger = malloc(count);
    if (larger == NULL) {
        return false;
    }
    if (c->head != c->head_inline) {
        free(c->head);
    }
    c->head = larger;
    c->head_capacity = count;
    return true;
}

static bool reserve_field(connection *c) {
    size_t count = c->request.field_count;
    if (count < c->field_capacity) {
        return true;
    }
    size_t capacity = c->field_capacity * 2;
    bool is_inline = c->fields == c->fields_inline;
    latchkey_http_field *larger =
        realloc(is_inline ? NULL : c->fields, capacity * sizeof(latchkey_http_field));
    if (larger == NULL) {
        return false;
    }
    if (is_inline) {
        memcpy(larger, c->fields_inline, sizeof(c->fields_inline));
    }
    c->fields = larger;
    c->field_capacity = capacity;
    return true;
}

// The length of a name of a host (RFC 3986, section 3.2.2): letters, digits, -._~!$&'()*+,;= and
// bytes that are percent-encoded.
static size_t span_of_name(latchkey_http_bytes text) {
    static const byte_set name = {{UINT64_C(0x2bff7fd200000000), UINT64_C(0x47fffffe87fffffe)}};
    size_t end = latchkey_http_span_of(text.bytes, text.count, &name);
    while (end + 2 < text.count && text.bytes[end] == '%' &&
           latchkey_http_span_of(text.bytes + end + 1, 2, &bytes_of_hexadecimal) == 2) {
        end += 3;
        end += latchkey_http_span_of(text.bytes + end, text.count - end, &name);
    }
    return end;
}

// A host and an optional port (RFC 3986, section 3.2): a name, or an address in brackets. Without
// user information, which has no place in HTTP (RFC 9110, section 4.2.4).
static bool is_authority(latchkey_http_bytes text) {
    static const byte_set address = {{UINT64_C(0x07ff400000000000), UINT64_C(0x0000007e0000007e)}};
    size_t end;
    if (text.count > 0 && text.bytes[0] == '[') {
        end = 1 + latchkey_http_span_of(text.bytes + 1, text.count - 1, &address);
        if (end < 3 || end == text.count || text.bytes[end++] != ']') {
            return false;
        }
    } else {
        end = span_of_name(text);
    }
    if (end < text.count && text.bytes[end] == ':') {
        end++;
        end += latchkey_http_span_of(text.bytes + end, text.count - end, &bytes_of_digits);
    }
    return end == text.count;
}

static bool equals(latchkey_http_bytes bytes, const char *lower_case) {
    size_t count = strlen(lower_case);
    return bytes.count == count && strncasecmp(bytes.bytes, lower_case, count) == 0;
}

// Whether this is the authority that latchkey_http_request_keep_authority() was called for.
static bool is_kept(const connection *c, latchkey_http_bytes authority) {
    return authority.count > 0 && authority.count == c->authority_count &&
           memcmp(authority.bytes, c->authority, authority.count) == 0;
}

// Looks at the fields that decide where the request ends, and at Host and Expect.
static void take_known(reader *r, latchkey_http_known known, latchkey_http_bytes value) {
    connection *c = r->c;
    switch (known) {
    case LATCHKEY_HTTP_KNOWN_HOST:
        c->request.authority_is_kept = c->request.authority.count == 0 && is_kept(c, value);
        r->malformed |= !c->request.authority_is_kept && !is_authority(value);
        if (c->request.authority.count == 0) {
            c->request.authority = value;
        }
        break;
    case LATCHKEY_HTTP_KNOWN_EXPECT:
        c->expects |= equals(value, "100-continue") && !c->is_http_1_0;
        break;
    case LATCHKEY_HTTP_KNOWN_CONTENT_LENGTH:
        // These are digits, and not too many (arrival.c).
        for (size_t k = 0; k < value.count; k++) {
            c->body_declared = c->body_declared * 10 + (unsigned)(value.bytes[k] - '0');
        }
        break;
    case LATCHKEY_HTTP_KNOWN_TRANSFER_ENCODING:
        c->is_chunked = true;
        break;
    default:
        break;
    }
}

// Whether these bytes are in the library's copy of the head.
static bool is_inside(const reader *r, const char *bytes, size_t count) {
    uintptr_t offset = (uintptr_t)bytes - (uintptr_t)r->base;
    return offset <= r->count && count <= r->count - offset;
}

static enum MHD_Result take_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_count, const char *value, size_t value_count) {
    (void)kind;
    reader *r = context;
    connection *c = r->c;
    // An empty value can be elsewhere.
    value = value_count > 0 ? value : name + name_count;
    if (!is_inside(r, name, name_count) || !is_inside(r, value, value_count) || !reserve_field(c)) {
        c->failed_head = true;
        return MHD_NO;
    }
    char *own_name = c->head + (name - r->base);
    if (latchkey_http_framing_is_cookie(own_name, name_count)) {
        *own_name = 'C';
    }
    latchkey_http_known known = latchkey_http_field_known(own_name, name_count);
    latchkey_http_field field = {
        {own_name, name_count},
        {c->head + (value - r->base), value_count},
    };
    c->fields[c->request.field_count++] = field;
    c->request.known_again |= c->request.known & known;
    c->request.known |= known;
    take_known(r, known, field.value);
    return MHD_YES;
}

// Sets path, query and, for an absolute target, the authority. `http://host/path` is `/path` (RFC
// 9112, 3.2.2); the path may be missing, the host may not. Returns false if the host is missing or
// invalid.
static bool set_target(connection *c, const char *target) {
    latchkey_http_request *request = &c->request;
    size_t count = c->target_count;
    if (c->query_offset != 0) {
        request->query = (latchkey_http_bytes){target + c->query_offset, count - c->query_offset};
        count = c->query_offset - 1;
    }
    size_t scheme = 0;
    if (UNLIKELY(count > 0 && target[0] != '/')) {
        if (count >= 7 && strncasecmp(target, "http://", 7) == 0) {
            scheme = 7;
        } else if (count >= 8 && strncasecmp(target, "https://", 8) == 0) {
            scheme = 8;
        }
    }
    if (UNLIKELY(scheme > 0)) {
        const char *end = target + count;
        const char *path = memchr(target + scheme, '/', count - scheme);
        const char *host = target + scheme;
        size_t host_count = (size_t)((path != NULL ? path : end) - host);
        request->authority = (latchkey_http_bytes){host, host_count};
        request->path = path != NULL ? (latchkey_http_bytes){path, (size_t)(end - path)}
                                     : (latchkey_http_bytes){"/", 1};
        return host_count > 0 && host[0] != ':' && is_authority(request->authority);
    }
    request->path = (latchkey_http_bytes){target, count};
    return true;
}

void latchkey_http_head_take(connection *c, const char *method, const char *version) {
    latchkey_http_request *request = &c->request;
    const latchkey_http_options *options = &c->server->options;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    size_t head_count = info != NULL ? info->header_size : 0;
    c->head_count = head_count;
    c->body_bytes_max = options->body_bytes_max;
    size_t method_count = strlen(method);
    const char *target = c->target;
    size_t target_offset = (size_t)(target - method);

    if (!reserve_head(c, head_count)) {
        reject(c, LATCHKEY_HTTP_REJECTION_MEMORY, true);
        return;
    }
    c->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
    reader r = {.c = c, .base = method, .count = head_count};
    if (!is_inside(&r, target, c->target_count)) {
        reject(c, LATCHKEY_HTTP_REJECTION_MEMORY, true);
        return;
    }
    memcpy(c->head, method, head_count);
    if (c->query_offset != 0) {
        for (size_t i = c->query_offset - 1; i < c->target_count; i++) {
            char *at = &c->head[target_offset + i];
            *at = *at == ARRIVAL_QUERY_MARK ? '?' : *at;
        }
    }
    request->method = (latchkey_http_bytes){c->head, method_count};

    if (c->target_count > options->target_bytes_max) {
        reject(c, LATCHKEY_HTTP_REJECTION_TARGET_TOO_LONG, false);
    } else {
        r.malformed = !set_target(c, c->head + target_offset);
    }
    MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, take_field, &r);
    request->fields = c->fields;
    if (r.malformed) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MALFORMED;
        c->closes = true;
    } else if (c->failed_head) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MEMORY;
        c->closes = true;
    }
}
