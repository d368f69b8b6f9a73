// Finds header fields by name.
//
// Design
//
// The names that many requests are asked for are recognised once, when the head is taken, and noted
// as bits of the request. A request that lacks such a field, the usual case, is not searched for
// it.

#include <strings.h>

#include "connection/connection.h"

// Whether these bytes are the name, which is in lower case. Each name and its length are constants,
// so that this becomes a few vector instructions.
__attribute__((always_inline)) static inline bool spells(const char *bytes, const char *name,
                                                         size_t count) {
    unsigned char difference = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char fold = name[i] == '-' ? 0 : 0x20;
        difference |= ((unsigned char)bytes[i] | fold) ^ (unsigned char)name[i];
    }
    return difference == 0;
}

#define SPELLS(bytes, name) spells(bytes, name, sizeof(name) - 1)

latchkey_http_known latchkey_http_field_known(const char *name, size_t count) {
    switch (count) {
    case 4:
        return SPELLS(name, "host") ? LATCHKEY_HTTP_KNOWN_HOST : LATCHKEY_HTTP_KNOWN_NONE;
    case 6:
        return SPELLS(name, "expect")   ? LATCHKEY_HTTP_KNOWN_EXPECT
               : SPELLS(name, "cookie") ? LATCHKEY_HTTP_KNOWN_COOKIE
               : SPELLS(name, "origin") ? LATCHKEY_HTTP_KNOWN_ORIGIN
                                        : LATCHKEY_HTTP_KNOWN_NONE;
    case 8:
        return SPELLS(name, "if-match") ? LATCHKEY_HTTP_KNOWN_IF_MATCH : LATCHKEY_HTTP_KNOWN_NONE;
    case 12:
        return SPELLS(name, "content-type") ? LATCHKEY_HTTP_KNOWN_CONTENT_TYPE
                                            : LATCHKEY_HTTP_KNOWN_NONE;
    case 13:
        return SPELLS(name, "if-none-match")   ? LATCHKEY_HTTP_KNOWN_IF_NONE_MATCH
               : SPELLS(name, "content-range") ? LATCHKEY_HTTP_KNOWN_CONTENT_RANGE
               : SPELLS(name, "authorization") ? LATCHKEY_HTTP_KNOWN_AUTHORIZATION
                                               : LATCHKEY_HTTP_KNOWN_NONE;
    case 14:
        return SPELLS(name, "content-length")   ? LATCHKEY_HTTP_KNOWN_CONTENT_LENGTH
               : SPELLS(name, "sec-fetch-site") ? LATCHKEY_HTTP_KNOWN_SEC_FETCH_SITE
                                                : LATCHKEY_HTTP_KNOWN_NONE;
    case 15:
        return SPELLS(name, "idempotency-key") ? LATCHKEY_HTTP_KNOWN_IDEMPOTENCY_KEY
                                               : LATCHKEY_HTTP_KNOWN_NONE;
    case 16:
        return SPELLS(name, "content-encoding") ? LATCHKEY_HTTP_KNOWN_CONTENT_ENCODING
                                                : LATCHKEY_HTTP_KNOWN_NONE;
    case 17:
        return SPELLS(name, "transfer-encoding") ? LATCHKEY_HTTP_KNOWN_TRANSFER_ENCODING
                                                 : LATCHKEY_HTTP_KNOWN_NONE;
    default:
        return LATCHKEY_HTTP_KNOWN_NONE;
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
