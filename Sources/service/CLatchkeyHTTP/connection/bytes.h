// Sets of bytes, for the parts of heads and bodies.

#ifndef LATCHKEY_HTTP_BYTES_H
#define LATCHKEY_HTTP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A set of bytes: a bit for each.
typedef struct byte_set {
    uint64_t bits[4];
} byte_set;

static inline bool latchkey_http_has(const byte_set *set, char byte) {
    unsigned char bit = (unsigned char)byte;
    return (set->bits[bit / 64] >> (bit % 64) & 1) != 0;
}

static inline size_t latchkey_http_span_of(const char *bytes, size_t count, const byte_set *set) {
    size_t i = 0;
    while (i < count && latchkey_http_has(set, bytes[i])) {
        i++;
    }
    return i;
}

// A token of RFC 9110, section 5.6.2: letters, digits and !#$%&'*+-.^_`|~.
static const byte_set bytes_of_token = {{0x03ff6cfa00000000, 0x57ffffffc7fffffe}};
static const byte_set bytes_of_hexadecimal = {{0x03ff000000000000, 0x0000007e0000007e}};
static const byte_set bytes_of_digits = {{0x03ff000000000000}};

static inline bool latchkey_http_is_token(const char *bytes, size_t count) {
    return count > 0 && latchkey_http_span_of(bytes, count, &bytes_of_token) == count;
}

static inline bool latchkey_http_is_space(char byte) {
    return byte == ' ' || byte == '\t';
}

// Whether there is a control character other than a tab.
static inline bool latchkey_http_has_controls(const char *bytes, size_t count) {
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        found |= (byte < ' ' && byte != '\t') || byte == 0x7f;
    }
    return found;
}

#endif
