// Bodies of requests that are read piece by piece, instead of as a whole.
//
// Included by CLatchkeyHTTP.h.
//
// The head callback gives a request a reader. The reader gets each piece of the body as it arrives,
// so that the memory of a request does not grow with its body, and `body_bytes_max` does not hold.
// It may make the client wait. After the last piece the handler is called as for any request, with
// an empty `body`; it finds the reader by latchkey_http_body_context(), and must answer.
//
// A reader ends in one of three ways: the handler is called, the reader has answered, or `gone` is
// called. Its callbacks are never called at the same time, and none while it makes the client wait.
//
// Deadlines: latchkey_http_options.request_milliseconds limits the time without a piece. A body
// must also arrive at LATCHKEY_HTTP_BODY_BYTES_PER_SECOND_MIN, on average over that time; the time
// in which the reader makes the client wait does not count. `answer_milliseconds` limits each such
// wait: the request is taken away, as it would be from its handler, and gets the 500 with
// `unknown_body`.
//
// Stop: a body that is not complete when the time of latchkey_http_stop() is over gets the same
// 500, and counts in latchkey_http_cut_off.requests.

#ifndef LATCHKEY_HTTP_BODY_CONTRACT_H
#define LATCHKEY_HTTP_BODY_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct latchkey_http_request;
struct latchkey_http_bytes;

typedef enum latchkey_http_taken {
    // The piece was taken. Give the next one.
    LATCHKEY_HTTP_TAKEN,
    // The piece was taken. Nothing more is read from the client until latchkey_http_body_go_on() or
    // latchkey_http_respond() is called. One of the two must be called, once: on any thread, also
    // before `piece` has returned, and whatever happens to the client.
    LATCHKEY_HTTP_TAKEN_AND_WAIT,
} latchkey_http_taken;

typedef enum latchkey_http_body_reason {
    // The client closed the connection before the end of the body, or the body is malformed.
    LATCHKEY_HTTP_BODY_CLIENT,
    // The body came too slowly, or the reader made the client wait for too long.
    LATCHKEY_HTTP_BODY_DEADLINE,
    // The server stops.
    LATCHKEY_HTTP_BODY_STOPPED,
    // The trailers after the body are over a limit. The handler gets the request as rejected.
    LATCHKEY_HTTP_BODY_REFUSED,
} latchkey_http_body_reason;

enum {
    // The minimum rate at which a client must send a body that is read in pieces.
    LATCHKEY_HTTP_BODY_BYTES_PER_SECOND_MIN = 1024,
};

// The callbacks must not block: `piece` and `gone` run on the thread that serves the connection,
// and `gone` runs on the thread that calls latchkey_http_body_go_on() if the request has ended
// while the client was made to wait.
typedef struct latchkey_http_body_reader {
    // Takes a piece, whose bytes are valid during the call and which is not empty. May answer the
    // request with latchkey_http_respond(), before it returns or while the client waits: the rest
    // of the body is then read and discarded, for `request_milliseconds` at most, and the answer is
    // sent after it. Nothing else is called then but `release`.
    latchkey_http_taken (*piece)(void *context, struct latchkey_http_request *request,
                                 const void *bytes, size_t count);
    // The body will not be complete, and no answer is needed. Called at most once.
    void (*gone)(void *context, latchkey_http_body_reason reason);
    // Nothing is called any more, and latchkey_http_body_context() is not given out any more.
    // Called exactly once, on any thread.
    void (*release)(void *context);
    void *context;  // given to all of them
} latchkey_http_body_reader;

// Gives the request a reader for its body. Only at the head, and not together with an answer. The
// structure is copied. Returns false without memory; nothing of the reader is called then.
bool latchkey_http_request_read(struct latchkey_http_request *request,
                                const latchkey_http_body_reader *reader);

// Lets the client go on. Once for each LATCHKEY_HTTP_TAKEN_AND_WAIT that is not followed by an
// answer. The request must not be used afterwards, until the next piece. Any thread.
void latchkey_http_body_go_on(struct latchkey_http_request *request);

// The context of the request's reader, or NULL. From the head until the answer.
void *latchkey_http_body_context(const struct latchkey_http_request *request);

#endif
