// Streams under test: a handler that answers with them, and a client that reads them.

#ifndef LATCHKEY_TEST_PRODUCER_H
#define LATCHKEY_TEST_PRODUCER_H

#include <semaphore.h>
#include <stdatomic.h>

#include "cases.h"

enum { PRODUCERS_MAX = 1024, STREAM_BOUND = 4096 };

// The owner of a stream that the handler has made.
typedef struct producer {
    latchkey_http_stream *stream;
    sem_t room;  // posted by `has_room`
    // The number of bytes that `has_room` writes, all of which must be accepted; 0: none.
    atomic_size_t bytes_in_room;
    atomic_uint room_count;
    atomic_uint draining_count;
    atomic_uint gone_count;
    atomic_uint release_count;
    atomic_int reason;
    sem_t sent;        // posted by `sent`
    atomic_uint mark;  // the last one that it was given
} producer;

// The reaction of producers when the server drains: none, or push "last" and end.
extern atomic_bool producers_react;

// Starts the subject with a handler for these paths, and connects `c`:
//
//   /stream  answers with the stream of the next producer
//   /filled  the same, of which the test's own function has written before the answer
//   /none    the same with the status 204
//   /held    keeps the request for the test to answer
//   /wait    gives the request a deadline of its own, the milliseconds in its query, and keeps it
//   /now     answers at once with the body "now"
void stream_start(latchkey_http_options options);

// Stops, and checks that each producer was told once that its stream is over, and released once.
latchkey_http_cut_off stream_stop(uint32_t milliseconds);

// The producer of this index, once its stream was answered; NULL if that takes too long.
producer *producer_at(uint32_t index);

// The request that is kept, once there is one.
latchkey_http_request *held_request(void);

// Answers a request with the stream of the next producer.
producer *produce(latchkey_http_request *request, uint32_t status);

// The limit of the buffers: STREAM_BOUND, unless a test sets another after the start.
extern atomic_size_t stream_bound;

// The account that the streams are charged to; NULL, unless a test sets one.
extern latchkey_http_account *stream_account;

// Called for `/filled` with the producer, before the answer.
extern void (*fill)(producer *p);

// The result for a piece: ACCEPTED, FULL or GONE.
#define CHECK_WRITE(stream, bytes, count, result)                                                  \
    CHECK(latchkey_http_stream_write(stream, bytes, count) == LATCHKEY_HTTP_WRITE_##result)
#define CHECK_BLOCK(stream, block, result)                                                         \
    CHECK(latchkey_http_stream_write_block(stream, block) == LATCHKEY_HTTP_WRITE_##result)

// Waits until the stream is over. Whether it is, for this reason.
bool is_gone(producer *p, latchkey_http_stream_reason reason);

// Writes, and waits for room as long as needed. False once the stream has gone.
bool produce_piece(producer *p, const void *bytes, size_t count);

// Writes pieces of 1000 bytes until one is answered FULL. Returns how many were accepted.
size_t fill_up(producer *p);

// Asks for a stream and reads the head of the answer.
producer *ask_for_stream(client *one, uint32_t index);

// Reads the chunks of a body, up to `room` bytes of it. `ends` is set at the last chunk.
size_t read_stream(client *one, char *to, size_t room, bool *ends);

// Whether the rest of the body is this text, and complete.
bool ends_with(client *one, const char *text);

uint64_t clock_milliseconds(void);

#endif
