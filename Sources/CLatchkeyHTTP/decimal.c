// Numbers in header lines, which are most of what differs from one answer to the next.
//
// Eight digits are made at once. A number is split into halves of four digits, those into pairs,
// and the pairs into digits, each time all of them in one multiplication: n / 100 is
// n * 10486 >> 20 below 10000, and n / 10 is n * 103 >> 10 below 100.

#include <endian.h>
#include <string.h>

#include "internal.h"

#define EIGHT_DIGITS UINT64_C(100000000)

// The digits of a number below EIGHT_DIGITS, the first one in the lowest byte.
static uint64_t digits_of(uint64_t number) {
    uint64_t halves = number / 10000 | (number % 10000) << 32;
    uint64_t hundreds = halves * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = (halves - hundreds * 100) << 16 | hundreds;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return (pairs - tens * 10) << 8 | tens;
}

static void store(uint64_t digits, char *text) {
    digits = htole64(digits | UINT64_C(0x3030303030303030));
    memcpy(text, &digits, sizeof(digits));
}

// Without zeros in front.
static size_t write_first(uint64_t number, char *text) {
    uint64_t digits = digits_of(number);
    // Of 0, the last digit stays.
    unsigned zeros = number == 0 ? 7 : (unsigned)__builtin_ctzll(digits) / 8;
    store(digits >> 8 * zeros, text);
    return 8 - zeros;
}

size_t latchkey_http_decimal(uint64_t number, char *text) {
    if (number < EIGHT_DIGITS) {
        return write_first(number, text);
    }
    uint64_t upper = number / EIGHT_DIGITS;
    size_t count;
    if (upper < EIGHT_DIGITS) {
        count = write_first(upper, text);
    } else {
        count = write_first(upper / EIGHT_DIGITS, text);
        store(digits_of(upper % EIGHT_DIGITS), text + count);
        count += 8;
    }
    store(digits_of(number % EIGHT_DIGITS), text + count);
    return count + 8;
}
