// Answers whose body is pushed piece by piece, from any thread, until the producer ends it.
//
// Included by CLatchkeyHTTP.h.
//
// A stream has two owners. The producer owns it from latchkey_http_stream_create() to
// latchkey_http_stream_release(), and may call the functions below on any thread in between, also
// after the client has gone. The server owns it from latchkey_http_respond_stream(), or from
// latchkey_http_response_discard(), until `gone`.
//
// A stream without bytes costs no thread: its connection is suspended.

#ifndef LATCHKEY_HTTP_STREAM_CONTRACT_H
#define LATCHKEY_HTTP_STREAM_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CLatchkeyHTTPAccount.h"

typedef struct latchkey_http_stream latchkey_http_stream;

typedef enum latchkey_http_write {
    // The bytes were copied and will be sent after those of earlier pieces.
    LATCHKEY_HTTP_WRITE_ACCEPTED,
    // Nothing was taken, because the buffer has no room for the piece. `has_room` will be called.
    LATCHKEY_HTTP_WRITE_FULL,
    // Nothing was taken, and nothing will be: the stream has ended. `gone` was called or will be.
    LATCHKEY_HTTP_WRITE_GONE,
} latchkey_http_write;

typedef enum latchkey_http_stream_reason {
    // The producer ended the stream. The client may still have gone before it took everything.
    LATCHKEY_HTTP_STREAM_ENDED,
    // Before the producer ended the stream, the client closed the connection or its half of it, or
    // the connection failed, or there was no room for a piece: no memory, or a long piece at a
    // limit of the account.
    LATCHKEY_HTTP_STREAM_CLIENT,
    // The client took the bytes too slowly; or the request had been taken away from its handler
    // before it was answered.
    LATCHKEY_HTTP_STREAM_DEADLINE,
    // The server ended the stream, in order or not, because it stops.
    LATCHKEY_HTTP_STREAM_STOPPED,
} latchkey_http_stream_reason;

enum {
    // A piece of this length is taken even at the limits of the account, if the stream has nothing
    // to send.
    LATCHKEY_HTTP_STREAM_SHORT_BYTES_MAX = 32 * 1024,
    // How long the producers of streams have after the begin of latchkey_http_stop() to push their
    // last pieces. Then the server ends the streams.
    LATCHKEY_HTTP_STREAM_LAST_MILLISECONDS = 200,
    // How long clients have after that to take what is buffered. Then the connections are closed.
    LATCHKEY_HTTP_STREAM_FLUSH_MILLISECONDS = 1000,
};

// The callbacks may call latchkey_http_stream_write(), _end() and _release(). They run without a
// lock of ours. They must not block: `has_room`, `sent` and `gone` run on the thread that serves
// the connection, or on the one that calls latchkey_http_respond_stream() or
// latchkey_http_response_discard(); `draining` runs on the thread that serves the connection or on
// the one that calls latchkey_http_quiesce() or latchkey_http_stop(), at the same time as another
// callback in the worst case.
typedef struct latchkey_http_stream_options {
    // How many bytes are buffered at most; at least 1. A longer piece is taken, too, but only into
    // an empty buffer.
    size_t buffer_bytes_max;
    // Buffered bytes are charged to it, and to the share of the client. At one of the limits a
    // stream with something to send is FULL. One with nothing to send takes a short piece, or a
    // block that another stream has; a longer one cuts the stream. May be NULL. It must live longer
    // than all streams.
    latchkey_http_account *account;
    uint32_t client;
    // Whether a part of the body is of no use. Then the server never ends the stream in order,
    // which would make the part look complete: a stop waits for its end as it waits for requests,
    // and cuts it off when the time of latchkey_http_stop() is over.
    bool is_whole;
    // After a write was answered FULL: there is room again for the longest piece that was refused,
    // and half of the buffer is free. Called once, until the next FULL. May be NULL.
    void (*has_room)(void *context);
    // After latchkey_http_stream_await(): the kernel has all that was written, or the stream is
    // over. May be NULL.
    void (*sent)(void *context, uint32_t mark);
    // The server drains: push a last piece and end. Called at most once. May be NULL.
    void (*draining)(void *context);
    // The stream is over, and nothing is sent any more. Called exactly once. May be NULL.
    void (*gone)(void *context, latchkey_http_stream_reason reason);
    // No callback is running, and none will be called. Called exactly once, after `gone`. May be
    // NULL.
    void (*release)(void *context);
    void *context;  // given to all of them
} latchkey_http_stream_options;

// Creates a stream and, in `response`, the answer of which it will be the body: header lines can be
// added to it. Give both to latchkey_http_respond_stream(), or the answer to
// latchkey_http_response_discard(). Pieces may be written before that. NULL without memory; no
// callback is called then.
latchkey_http_stream *latchkey_http_stream_create(const latchkey_http_stream_options *options,
                                                  latchkey_http_response **response);

// Answers the request with a stream, once, as latchkey_http_respond() does. Takes the answer over,
// but not the stream. To HEAD, and with 204 and 304, only the head is sent; the stream is over at
// once. An HTTP/1.0 client gets the body without chunks, until the connection is closed. Any
// thread.
void latchkey_http_respond_stream(latchkey_http_request *request, uint32_t status,
                                  latchkey_http_response *response, latchkey_http_stream *stream);

// Copies a piece into the buffer, whole or not at all. Pieces are sent in the order in which they
// were accepted, and never mixed. Any thread, also several at once.
latchkey_http_write latchkey_http_stream_write(latchkey_http_stream *stream, const void *bytes,
                                               size_t count);

// Adds a block, of which no copy is made. The stream has a reference of its own until it is sent.
latchkey_http_write latchkey_http_stream_write_block(latchkey_http_stream *stream,
                                                     latchkey_http_block *block);

// Asks for a call of `sent` with this mark, which is not 0, once the kernel has what was written so
// far. Returns false if there will be no such call: the kernel has it already, an earlier call has
// not come yet, or the stream is not being sent. Any thread.
bool latchkey_http_stream_await(latchkey_http_stream *stream, uint32_t mark);

// How many bytes were accepted and not yet handed over for sending. Any thread.
size_t latchkey_http_stream_unsent(latchkey_http_stream *stream);

// Ends the stream after a last short piece, which is taken even if the buffer, or the account, is
// full. Nothing happens if the stream has ended before. Any thread.
void latchkey_http_stream_end_with(latchkey_http_stream *stream, const void *bytes, size_t count);

// Ends the stream after the buffered bytes. Later writes are answered GONE. Any thread, also
// several times.
void latchkey_http_stream_end(latchkey_http_stream *stream);

// Gives up the producer's ownership. A stream that has not ended goes on, and ends with its client
// or with the server. Once.
void latchkey_http_stream_release(latchkey_http_stream *stream);

#endif
