#ifndef CLATCHKEYFETCH_H
#define CLATCHKEYFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One GET request over libcurl, whose functions take a variable number of arguments, which Swift
 * cannot call.
 *
 * Design. A request runs on the thread that calls latchkey_fetch_get, which returns when it is
 * over. Both callbacks are called on this thread. libcurl resolves the name on a thread of its own,
 * which can outlive the request until the resolver gives up. Nothing is shared between two
 * requests: no connections, no cookies, no resolved names. Redirects are not followed, and the
 * environment's proxies are not used: the caller decides about each address. */

/* What a URL leads to. */
struct latchkey_fetch_origin {
    char *scheme;
    /* A name, or an address without brackets. */
    char *host;
    /* 0 if the URL has none and the scheme no standard one. */
    uint16_t port;
};

/* Takes a URL apart with the parser that the request uses, too. False if it is not a URL, or has a
 * user or a password in it. The strings are freed with latchkey_fetch_origin_free. */
bool latchkey_fetch_origin_of(const char *url, struct latchkey_fetch_origin *origin);

void latchkey_fetch_origin_free(struct latchkey_fetch_origin *origin);

enum latchkey_fetch_outcome {
    LATCHKEY_FETCH_ANSWERED,
    /* is_cancelled said so. */
    LATCHKEY_FETCH_CANCELLED,
    LATCHKEY_FETCH_TIMED_OUT,
    /* The body is longer than body_bytes_max, or head and trailers are too long. */
    LATCHKEY_FETCH_TOO_LARGE,
    /* There was no connection, and may_connect refused an address. */
    LATCHKEY_FETCH_REFUSED,
    /* No connection, a broken one, no HTTP, a bad certificate; code says which. */
    LATCHKEY_FETCH_FAILED
};

enum {
    /* The length of the head of an answer and of its trailers together. */
    LATCHKEY_FETCH_HEAD_BYTES_MAX = 64 * 1024
};

struct latchkey_fetch_request {
    const char *url;
    long timeout_milliseconds;
    size_t body_bytes_max;
    /* Asked right before each connection, with the address that it is made to: 4 or 16 bytes. */
    bool (*may_connect)(void *context, const uint8_t *address, size_t count, uint16_t port);
    /* Asked at least every 50 milliseconds. */
    bool (*is_cancelled)(void *context);
    void *context;
};

struct latchkey_fetch_answer {
    enum latchkey_fetch_outcome outcome;
    /* The number of libcurl's error (CURLcode). */
    int code;
    long status;
    uint8_t *body;
    size_t body_count;
    /* Where the answer redirects to, as an absolute URL, or NULL. */
    char *location;
};

/* Makes the request. The answer is freed with latchkey_fetch_answer_free. */
void latchkey_fetch_get(const struct latchkey_fetch_request *request,
                        struct latchkey_fetch_answer *answer);

void latchkey_fetch_answer_free(struct latchkey_fetch_answer *answer);

/* libcurl's sentence for an error. It is never freed. */
const char *latchkey_fetch_reason(int code);

#endif
