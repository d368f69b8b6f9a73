#ifndef CLATCHKEYFETCH_H
#define CLATCHKEYFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One request over libcurl, whose functions take a variable number of arguments, which Swift cannot
 * call.
 *
 * Design. A request runs on the thread that calls latchkey_fetch_send, which returns when it is
 * over. All callbacks are called on this thread. libcurl resolves the name on a thread of its own,
 * which can outlive the request until the resolver gives up. Nothing is shared between two
 * requests: no cookies, and no connections and resolved names but those of a session, which one
 * thread uses at a time. Redirects are not followed, and the environment's proxies are not used:
 * the caller decides about each address. */

/* The server of a URL. */
struct latchkey_fetch_origin {
    char *scheme;
    /* A name, or an address without brackets. */
    char *host;
    /* 0 if the URL has no port and the scheme has no standard one. */
    uint16_t port;
};

/* Takes a URL apart with the parser that the request uses, too. False if it is not a URL, or has a
 * user or a password in it. The strings are freed with latchkey_fetch_origin_free. */
bool latchkey_fetch_origin_of(const char *url, struct latchkey_fetch_origin *origin);

void latchkey_fetch_origin_free(struct latchkey_fetch_origin *origin);

enum latchkey_fetch_outcome {
    LATCHKEY_FETCH_ANSWERED,
    /* is_cancelled or take said so. */
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

/* Connections that are kept for the next request. */
struct latchkey_fetch_session;

/* NULL if there is no memory. */
struct latchkey_fetch_session *latchkey_fetch_session_open(void);

void latchkey_fetch_session_close(struct latchkey_fetch_session *session);

struct latchkey_fetch_request {
    /* NULL: a connection of its own, which is closed in the end. */
    struct latchkey_fetch_session *session;
    /* NULL is GET. */
    const char *method;
    const char *url;
    /* Header fields that are sent besides libcurl's own, as "name: value", with a NULL at the end;
     * or NULL. "name:" leaves one of libcurl's own out. */
    const char *const *fields;
    /* The body; NULL for none. */
    const uint8_t *body;
    size_t body_count;
    /* Whether the body is read from body_descriptor, up to its end. */
    bool streams_body;
    int body_descriptor;
    /* A file with the certificates of authorities in PEM, or NULL for those of the system. */
    const char *authorities;
    /* The client's certificate and its key in PEM, or NULL for none. */
    const char *certificate;
    const char *key;
    /* Whether the server's certificate may be wrong: for a server on the same machine. */
    bool skips_verification;
    /* 0: no limit, except 10 seconds for making the connection. */
    long timeout_milliseconds;
    /* The request fails after this time without a byte received, or sent of a streamed body; 0 for
     * no limit. */
    long silence_seconds;
    /* The time until the head of the answer has come; 0 for no limit. */
    long head_milliseconds;
    /* The limit of a body that is collected. */
    size_t body_bytes_max;
    /* Gets the body of an answer with a status of 2xx and the type take_type, piece by piece; the
     * body is then not collected. False cancels the request. May be NULL. */
    bool (*take)(void *context, const uint8_t *bytes, size_t count);
    /* A media type without parameters; NULL for any. */
    const char *take_type;
    /* Asked right before each connection, with the address that it is made to: 4 or 16 bytes.
     * NULL allows all. */
    bool (*may_connect)(void *context, const uint8_t *address, size_t count, uint16_t port);
    /* Asked at least every 50 milliseconds. May be NULL. */
    bool (*is_cancelled)(void *context);
    void *context;
};

struct latchkey_fetch_answer {
    enum latchkey_fetch_outcome outcome;
    /* The number of libcurl's error (CURLcode). */
    int code;
    /* libcurl's message for the error, with details; NULL if it has none. */
    char *reason;
    /* Whether nothing of the request was sent: the server has done nothing. */
    bool is_unsent;
    long status;
    /* The lines of all heads and of the trailers, as they came. */
    uint8_t *head;
    size_t head_count;
    uint8_t *body;
    size_t body_count;
    /* Where the answer redirects to, as an absolute URL, or NULL. */
    char *location;
};

/* Makes the request. The answer is freed with latchkey_fetch_answer_free. */
void latchkey_fetch_send(const struct latchkey_fetch_request *request,
                         struct latchkey_fetch_answer *answer);

void latchkey_fetch_answer_free(struct latchkey_fetch_answer *answer);

/* The version of libcurl that is loaded. It is never freed. */
const char *latchkey_fetch_library_version(void);

/* libcurl's message for an error. It is never freed. */
const char *latchkey_fetch_reason(int code);

#endif
