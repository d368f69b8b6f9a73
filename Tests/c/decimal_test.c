// Numbers in header lines.

#include <inttypes.h>
#include <string.h>

#include "CLatchkeyHTTP.h"
#include "cases.h"

static void check_number(uint64_t number) {
    char expected[LATCHKEY_HTTP_DECIMAL_BYTES_MAX + 1];
    char text[LATCHKEY_HTTP_DECIMAL_BYTES_MAX];
    int count = snprintf(expected, sizeof(expected), "%" PRIu64, number);
    CHECK(latchkey_http_decimal(number, text) == (size_t)count);
    CHECK(memcmp(text, expected, (size_t)count) == 0);
}

static void numbers_of_every_length(void) {
    uint64_t power = 1;
    for (int digits = 1; digits <= LATCHKEY_HTTP_DECIMAL_BYTES_MAX; digits++) {
        check_number(power - 1);
        check_number(power);
        check_number(power + 1);
        check_number(power * 7 + 3);
        power *= 10;
    }
    check_number(UINT64_MAX);
}

static void numbers_with_each_pair_of_digits(void) {
    for (uint64_t number = 0; number < 10000; number++) {
        check_number(number);
        check_number(number * 10000 + 9999 - number);
    }
}

const test_case decimal_cases[] = {
    {"numbers of every length", numbers_of_every_length},
    {"numbers with each pair of digits", numbers_with_each_pair_of_digits},
    {NULL, NULL},
};
