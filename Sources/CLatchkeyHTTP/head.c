// The head of a request: a copy of it, checked more strictly than libmicrohttpd does.
//
// Design
//
// libmicrohttpd parses in place: it puts NUL over the spaces, colons and line ends of the head and
// gives out pointers into it, as C strings. A NUL that the client has sent would cut such a string
// short unseen. The head is contiguous in its buffer as long as no header line is folded, so every
// piece must begin where the one before ends; whatever else is in between is refused.
//
// The copy belongs to the request and not to libmicrohttpd, which frees its own when the client
// vanishes. It costs one memcpy() of the head, mostly some hundred bytes.

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

typedef struct reader {
    connection *c;
    const char *base;  // libmicrohttpd's copy of the head
    const char *end;   // where the piece before ended, in there
    bool malformed;
} reader;

static void reject(connection *c, latchkey_http_rejection rejection, bool closes) {
    if (c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE) {
        c->request.rejection = rejection;
    }
    c->closes |= closes;
}

static bool reserve_head(connection *c, size_t count) {
    if (count <= c->head_capacity) {
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

// A set of bytes: a bit for each.
typedef struct byte_set {
    uint64_t bits[4];
} byte_set;

// How many bytes from the first one on are in the set.
static size_t span_of(const char *bytes, size_t count, const byte_set *set) {
    size_t i = 0;
    while (i < count) {
        unsigned char byte = (unsigned char)bytes[i];
        if ((set->bits[byte / 64] >> (byte % 64) & 1) == 0) {
            break;
        }
        i++;
    }
    return i;
}

// A token of RFC 9110, section 5.6.2: letters, digits and !#$%&'*+-.^_`|~.
static bool is_name(const char *bytes, size_t count) {
    static const byte_set token = {{UINT64_C(0x03ff6cfa00000000), UINT64_C(0x57ffffffc7fffffe)}};
    return count > 0 && span_of(bytes, count, &token) == count;
}

// The length of a name of a host (RFC 3986, section 3.2.2): letters, digits, -._~!$&'()*+,;= and
// bytes that are percent-encoded.
static size_t span_of_name(latchkey_http_bytes text) {
    static const byte_set name = {{UINT64_C(0x2bff7fd200000000), UINT64_C(0x47fffffe87fffffe)}};
    static const byte_set hexadecimal = {
        {UINT64_C(0x03ff000000000000), UINT64_C(0x0000007e0000007e)}};
    size_t end = span_of(text.bytes, text.count, &name);
    while (end + 2 < text.count && text.bytes[end] == '%' &&
           span_of(text.bytes + end + 1, 2, &hexadecimal) == 2) {
        end += 3;
        end += span_of(text.bytes + end, text.count - end, &name);
    }
    return end;
}

// A host and an optional port (RFC 3986, section 3.2): a name, or an address in brackets. Without
// user information, which has no place in HTTP (RFC 9110, section 4.2.4).
static bool is_authority(latchkey_http_bytes text) {
    static const byte_set address = {{UINT64_C(0x07ff400000000000), UINT64_C(0x0000007e0000007e)}};
    static const byte_set digits = {{UINT64_C(0x03ff000000000000)}};
    size_t end;
    if (text.count > 0 && text.bytes[0] == '[') {
        end = 1 + span_of(text.bytes + 1, text.count - 1, &address);
        if (end < 3 || end == text.count || text.bytes[end++] != ']') {
            return false;
        }
    } else {
        end = span_of_name(text);
    }
    if (end < text.count && text.bytes[end] == ':') {
        end++;
        end += span_of(text.bytes + end, text.count - end, &digits);
    }
    return end == text.count;
}

// To the end even if the answer is known, here and below: such loops become vector instructions.
static bool is_value(const char *bytes, size_t count) {
    bool is_valid = true;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        is_valid &= (byte >= ' ' || byte == '\t') && byte != 0x7f;
    }
    return is_valid;
}

// A target may hold bytes over 0x7f, although they should have been encoded: they are common.
static bool is_target(const char *bytes, size_t count) {
    bool is_valid = true;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        is_valid &= byte > ' ' && byte != 0x7f && byte != '#';
    }
    return is_valid;
}

// The end of a line is one or two bytes: libmicrohttpd allows a bare line feed.
static bool follows_line(const char *end, const char *next) {
    return next == end + 1 || next == end + 2;
}

static enum MHD_Result take_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_count, const char *value, size_t value_count) {
    (void)kind;
    reader *r = context;
    connection *c = r->c;
    if (!follows_line(r->end, name) || value == NULL || value <= name + name_count ||
        !is_name(name, name_count) || !is_value(value, value_count)) {
        r->malformed = true;
        return MHD_NO;
    }
    r->end = value + value_count;
    size_t sent_count = value_count;
    while (value_count > 0 && (value[value_count - 1] == ' ' || value[value_count - 1] == '\t')) {
        value_count--;
    }
    if (value_count != sent_count && name_count == 17 &&
        strncasecmp(name, "transfer-encoding", name_count) == 0) {
        // libmicrohttpd does not recognise the coding then, and reads for ever.
        r->malformed = true;
        return MHD_NO;
    }
    if (!reserve_field(c)) {
        c->failed_head = true;
        return MHD_NO;
    }
    c->fields[c->request.field_count++] = (latchkey_http_field){
        {c->head + (name - r->base), name_count},
        {c->head + (value - r->base), value_count},
    };
    return MHD_YES;
}

static bool equals(latchkey_http_bytes bytes, const char *lower_case) {
    size_t count = strlen(lower_case);
    return bytes.count == count && strncasecmp(bytes.bytes, lower_case, count) == 0;
}

// Looks at the fields that decide where the request ends, and at Host.
static void check_fields(connection *c, bool is_http_1_1) {
    unsigned hosts = 0;
    unsigned lengths = 0;
    unsigned codings = 0;
    bool is_chunked = true;
    bool is_valid = true;
    for (size_t i = 0; i < c->request.field_count; i++) {
        latchkey_http_bytes name = c->fields[i].name;
        latchkey_http_bytes value = c->fields[i].value;
        switch (name.count) {
        case 4:
            if (equals(name, "host")) {
                hosts++;
                is_valid &= is_authority(value);
                if (c->request.authority.count == 0) {
                    c->request.authority = value;
                }
            }
            break;
        case 6:
            c->expects |= equals(name, "expect") && equals(value, "100-continue") && is_http_1_1;
            c->has_cookies |= equals(name, "cookie");
            break;
        case 14:
            if (equals(name, "content-length")) {
                lengths++;
                // libmicrohttpd has seen to it that these are digits, and not too many.
                for (size_t k = 0; k < value.count; k++) {
                    c->body_declared = c->body_declared * 10 + (unsigned)(value.bytes[k] - '0');
                }
            }
            break;
        case 17:
            if (equals(name, "transfer-encoding")) {
                codings++;
                is_chunked &= equals(value, "chunked");
            }
            break;
        }
    }
    c->is_chunked = codings > 0;
    if (!is_valid || lengths > 1 || codings > 1 || (codings > 0 && (lengths > 0 || !is_http_1_1)) ||
        hosts > 1 || (is_http_1_1 && hosts == 0)) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MALFORMED;
        c->closes = true;
    } else if (!is_chunked) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_TRANSFER_CODING;
        c->closes = true;
    }
}

// Sets path, query and, for an absolute target, the authority. `http://host/path` is `/path` (RFC
// 9112, 3.2.2); the path may be missing, the host may not. Returns false if it is, or is none.
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
    size_t version_count = strlen(version);
    const char *target = c->target;
    size_t target_offset = (size_t)(target - method);

    if (!reserve_head(c, head_count)) {
        reject(c, LATCHKEY_HTTP_REJECTION_MEMORY, true);
        return;
    }
    memcpy(c->head, method, head_count);
    if (c->query_offset != 0) {
        c->head[target_offset + c->query_offset - 1] = '?';
        c->head[target_offset + c->query_offset] = c->hidden;
    }
    request->method = (latchkey_http_bytes){c->head, method_count};

    reader r = {c, method, version + version_count, false};
    if (target_offset != method_count + 1 || version != target + c->target_count + 1 ||
        version + version_count > method + head_count || !is_name(method, method_count) ||
        !is_target(c->head + target_offset, c->target_count)) {
        r.malformed = true;
    } else if (c->target_count > options->target_bytes_max) {
        reject(c, LATCHKEY_HTTP_REJECTION_TARGET_TOO_LONG, false);
    } else {
        r.malformed = !set_target(c, c->head + target_offset);
    }
    if (!r.malformed) {
        MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, take_field, &r);
        // After the last line comes an empty one.
        size_t rest = (size_t)(method + head_count - r.end);
        r.malformed |= !c->failed_head && (rest < 2 || rest > 4);
    }
    request->fields = c->fields;
    if (r.malformed) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MALFORMED;
        c->closes = true;
    } else if (c->failed_head) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MEMORY;
        c->closes = true;
    } else {
        c->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
        check_fields(c, !c->is_http_1_0);
    }
    if (head_count > options->head_bytes_max && !c->closes) {
        reject(c, LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE, false);
    } else if (request->field_count > LATCHKEY_HTTP_FIELDS_MAX && !c->closes) {
        reject(c, LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE, true);
    }
}

size_t latchkey_http_find(const latchkey_http_request *request, const char *name, size_t name_count,
                          size_t from) {
    for (size_t i = from; i < request->field_count; i++) {
        latchkey_http_bytes field = request->fields[i].name;
        if (field.count == name_count && strncasecmp(field.bytes, name, name_count) == 0) {
            return i;
        }
    }
    return request->field_count;
}
