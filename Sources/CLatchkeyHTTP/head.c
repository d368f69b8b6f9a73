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
//
// Control characters are looked for in the whole copy at once, in blocks, because that is faster
// than to look at each short piece: libmicrohttpd has put NUL over every line end, so that no other
// one but a tab has a place in a head. A NUL of the client's is found by the rule above.

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

typedef struct reader {
    connection *c;
    const char *base;  // libmicrohttpd's copy of the head
    const char *end;   // where the piece before ended, in there
    bool malformed;
    bool is_http_1_1;
    // What decides where the request ends.
    unsigned hosts;
    unsigned lengths;
    unsigned codings;
    bool is_other_coding;
} reader;

// A block of the search for control characters.
enum { BLOCK_BYTES = 16 };

static void reject(connection *c, latchkey_http_rejection rejection, bool closes) {
    if (c->request.rejection == LATCHKEY_HTTP_REJECTION_NONE) {
        c->request.rejection = rejection;
    }
    c->closes |= closes;
}

// Makes room for the head and a block behind it.
static bool reserve_head(connection *c, size_t head_count) {
    size_t count = head_count + BLOCK_BYTES;
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

// Whether there are control characters other than NUL and tab, up to the end of the last block. To
// the end even if the answer is known, here and below, so that there are no branches.
static bool has_controls(const char *bytes, size_t count) {
    typedef unsigned char block __attribute__((vector_size(BLOCK_BYTES)));
    block found = {0};
    for (size_t i = 0; i < count; i += BLOCK_BYTES) {
        block next;
        memcpy(&next, bytes + i, BLOCK_BYTES);
        found |= (block)((next < ' ') & (next != '\t') & (next != 0)) | (block)(next == 0x7f);
    }
    uint64_t halves[2];
    memcpy(halves, &found, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
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

static bool equals(latchkey_http_bytes bytes, const char *lower_case) {
    size_t count = strlen(lower_case);
    return bytes.count == count && strncasecmp(bytes.bytes, lower_case, count) == 0;
}

// Whether this is the authority that latchkey_http_request_keep_authority() was called for.
static bool is_kept(const connection *c, latchkey_http_bytes authority) {
    return authority.count > 0 && authority.count == c->authority_count &&
           memcmp(authority.bytes, c->authority, authority.count) == 0;
}

// Looks at a field that decides where the request ends, at Host, and at what the library does.
static void take_known(reader *r, latchkey_http_known known, latchkey_http_bytes value) {
    connection *c = r->c;
    switch (known) {
    case LATCHKEY_HTTP_KNOWN_HOST:
        r->hosts++;
        c->request.authority_is_kept = c->request.authority.count == 0 && is_kept(c, value);
        r->malformed |= !c->request.authority_is_kept && !is_authority(value);
        if (c->request.authority.count == 0) {
            c->request.authority = value;
        }
        break;
    case LATCHKEY_HTTP_KNOWN_EXPECT:
        c->expects |= equals(value, "100-continue") && r->is_http_1_1;
        break;
    case LATCHKEY_HTTP_KNOWN_COOKIE:
        c->has_cookies = true;
        break;
    case LATCHKEY_HTTP_KNOWN_CONTENT_LENGTH:
        r->lengths++;
        // libmicrohttpd has seen to it that these are digits, and not too many.
        for (size_t k = 0; k < value.count; k++) {
            c->body_declared = c->body_declared * 10 + (unsigned)(value.bytes[k] - '0');
        }
        break;
    case LATCHKEY_HTTP_KNOWN_TRANSFER_ENCODING:
        r->codings++;
        r->is_other_coding |= !equals(value, "chunked");
        break;
    default:
        break;
    }
}

static enum MHD_Result take_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_count, const char *value, size_t value_count) {
    (void)kind;
    reader *r = context;
    connection *c = r->c;
    if (!follows_line(r->end, name) || value == NULL || value <= name + name_count) {
        r->malformed = true;
        return MHD_NO;
    }
    r->end = value + value_count;
    size_t sent_count = value_count;
    while (value_count > 0 && (value[value_count - 1] == ' ' || value[value_count - 1] == '\t')) {
        value_count--;
    }
    latchkey_http_known known = latchkey_http_field_known(name, name_count);
    // libmicrohttpd does not recognise a coding with white space behind it, and reads without end.
    if ((known == LATCHKEY_HTTP_KNOWN_NONE && !is_name(name, name_count)) ||
        (known == LATCHKEY_HTTP_KNOWN_TRANSFER_ENCODING && value_count != sent_count)) {
        r->malformed = true;
        return MHD_NO;
    }
    if (!reserve_field(c)) {
        c->failed_head = true;
        return MHD_NO;
    }
    latchkey_http_field field = {
        {c->head + (name - r->base), name_count},
        {c->head + (value - r->base), value_count},
    };
    c->fields[c->request.field_count++] = field;
    c->request.known_again |= c->request.known & known;
    c->request.known |= known;
    take_known(r, known, field.value);
    return MHD_YES;
}

// Whether the fields contradict each other, or Host is missing.
static bool contradicts(const reader *r) {
    return r->lengths > 1 || r->codings > 1 ||
           (r->codings > 0 && (r->lengths > 0 || !r->is_http_1_1)) || r->hosts > 1 ||
           (r->is_http_1_1 && r->hosts == 0);
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
    memset(c->head + head_count, 0, BLOCK_BYTES);
    if (c->query_offset != 0) {
        c->head[target_offset + c->query_offset - 1] = '?';
        c->head[target_offset + c->query_offset] = c->hidden;
    }
    request->method = (latchkey_http_bytes){c->head, method_count};

    c->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
    reader r = {.c = c, .base = method, .end = version + version_count};
    r.is_http_1_1 = !c->is_http_1_0;
    if (target_offset != method_count + 1 || version != target + c->target_count + 1 ||
        version + version_count > method + head_count || !is_name(method, method_count) ||
        !is_target(c->head + target_offset, c->target_count) || has_controls(c->head, head_count)) {
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
        r.malformed |= !c->failed_head && (rest < 2 || rest > 4 || contradicts(&r));
    }
    request->fields = c->fields;
    c->is_chunked = r.codings > 0;
    if (r.malformed) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MALFORMED;
        c->closes = true;
    } else if (c->failed_head) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_MEMORY;
        c->closes = true;
    } else if (r.is_other_coding) {
        c->request.rejection = LATCHKEY_HTTP_REJECTION_TRANSFER_CODING;
        c->closes = true;
    }
    if (head_count > options->head_bytes_max && !c->closes) {
        reject(c, LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE, false);
    } else if (request->field_count > LATCHKEY_HTTP_FIELDS_MAX && !c->closes) {
        reject(c, LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE, true);
    }
}
