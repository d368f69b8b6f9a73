// The identifiers of requests: twenty digits and letters that an answer and its lines in the log
// and the audit log have in common.
//
// Design
//
// The first ten are random and of the server, so that no two processes have the same. The other ten
// are a number of fifty bits. A counter of the server, which all threads write to, gives numbers in
// blocks of 1024: a connection takes a block with its first request, and another one when that is
// used up. So most requests change two digits of the text that their connection has, and nothing
// that another thread uses. The numbers of a connection go up; those of two connections say nothing
// about which request came first.
//
// A client cannot choose one: it could be that of another request.

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "connection/identifier.h"

enum {
    DIGIT_BITS = 5,
    START_DIGITS = 10,
    BLOCK_DIGITS = 8,   // which block
    PLACE_DIGITS = 2,   // the place in the block
    BLOCK_COUNT = 1024  // numbers
};

_Static_assert(START_DIGITS + BLOCK_DIGITS + PLACE_DIGITS == LATCHKEY_HTTP_IDENTIFIER_BYTES,
               "the parts are the whole");
_Static_assert(1 << (DIGIT_BITS * PLACE_DIGITS) == BLOCK_COUNT, "the digits are of the block");

static void write_digits(char *text, size_t count, uint64_t number) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
    for (size_t i = count; i > 0; i--) {
        text[i - 1] = digits[number & ((1 << DIGIT_BITS) - 1)];
        number >>= DIGIT_BITS;
    }
}

void latchkey_http_identifier_create(latchkey_http_server *server) {
    uint64_t start = 0;
    // A request for so few bytes is never cut short, once the system has any.
    if (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start)) {
        start = (uint64_t)(uintptr_t)server ^ (uint64_t)time(NULL) << 20;
    }
    write_digits(server->identifier_start, START_DIGITS, start);
}

// Takes a block, and writes all but the place.
static void take_block(latchkey_http_server *server, char *text) {
    uint64_t block = atomic_fetch_add_explicit(&server->identifier_blocks, 1, memory_order_relaxed);
    memcpy(text, server->identifier_start, START_DIGITS);
    write_digits(text + START_DIGITS, BLOCK_DIGITS, block);
}

void latchkey_http_identifier_next(connection *c) {
    uint64_t place = (c->number - 1) % BLOCK_COUNT;
    if (UNLIKELY(place == 0)) {
        take_block(c->server, c->identifier);
    }
    write_digits(c->identifier + START_DIGITS + BLOCK_DIGITS, PLACE_DIGITS, place);
}

void latchkey_http_identifier_make(latchkey_http_server *server,
                                   char text[LATCHKEY_HTTP_IDENTIFIER_BYTES]) {
    take_block(server, text);
    write_digits(text + START_DIGITS + BLOCK_DIGITS, PLACE_DIGITS, 0);
}

const char *latchkey_http_request_identifier(const latchkey_http_request *request) {
    return ((const connection *)(const void *)request)->identifier;
}
