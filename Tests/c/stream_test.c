// Streams while they last: order, limits, and clients that leave.
//
// Length: a list of cases, which share their producers.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "producer.h"

enum { PIECES = 3000, PIECE_BYTES_MAX = 3 * STREAM_BOUND };

// The length of a piece: mostly small, some longer than the buffer.
static size_t length_of(size_t i) {
    return i % 100 == 99 ? PIECE_BYTES_MAX - i % 7 : 1 + i * 7 % 120;
}

static void *push_all(void *context) {
    producer *p = context;
    static char piece[PIECE_BYTES_MAX];
    for (size_t i = 0; i < PIECES; i++) {
        memset(piece, 'a' + (int)(i % 26), length_of(i));
        CHECK(produce_piece(p, piece, length_of(i)));
    }
    latchkey_http_stream_end(p->stream);
    return NULL;
}

static void sends_pieces_with(size_t bound) {
    stream_start(subject_options());
    atomic_store(&stream_bound, bound);
    size_t expected = 0;
    for (size_t i = 0; i < PIECES; i++) {
        expected += length_of(i);
    }
    producer *p = ask_for_stream(&c, 0);
    pthread_t pusher;
    pthread_create(&pusher, NULL, push_all, p);
    char *body = malloc(expected + 1);
    bool ends;
    CHECK(read_stream(&c, body, expected + 1, &ends) == expected && ends);
    bool is_right = true;
    for (size_t i = 0, at = 0; i < PIECES; at += length_of(i), i++) {
        for (size_t k = 0; k < length_of(i); k++) {
            is_right &= body[at + k] == 'a' + (char)(i % 26);
        }
    }
    CHECK(is_right);
    pthread_join(pusher, NULL);
    CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_ENDED));
    // The connection is still usable.
    CHECK(client_ask(&c, GET("/stream")) == 200);
    latchkey_http_stream_end(producer_at(1)->stream);
    CHECK(ends_with(&c, ""));
    client_send(&c, GET("/now"));
    CHECK(body_is(client_read(&c, false), "now"));
    free(body);
    stream_stop(1000);
}

// Small buffers, which libmicrohttpd empties in one go, and large ones.
static void sends_pieces_in_order(void) {
    sends_pieces_with(STREAM_BOUND);
    sends_pieces_with(10 * STREAM_BOUND);
}

// Writes up to the limit, and one byte more.
static void fill_to_the_bound(producer *p) {
    latchkey_http_stream *stream = p->stream;
    const char *bytes = repeated('f', STREAM_BOUND + 1);
    CHECK_WRITE(stream, bytes, 0, ACCEPTED);
    CHECK_WRITE(stream, bytes, STREAM_BOUND - 1, ACCEPTED);
    CHECK_WRITE(stream, bytes, 2, FULL);
    CHECK(latchkey_http_stream_unsent(stream) == STREAM_BOUND - 1);
    CHECK_WRITE(stream, bytes, 1, ACCEPTED);
    CHECK_WRITE(stream, bytes, 1, FULL);
}

static void fill_beyond_the_bound(producer *p) {
    const char *bytes = repeated('f', STREAM_BOUND + 1);
    CHECK_WRITE(p->stream, bytes, STREAM_BOUND + 1, ACCEPTED);
    CHECK_WRITE(p->stream, bytes, 1, FULL);
}

static void bounds_the_buffer(void) {
    stream_start(subject_options());
    static char body[STREAM_BOUND + 2];
    for (size_t i = 0; i < 2; i++) {
        fill = i == 0 ? fill_to_the_bound : fill_beyond_the_bound;
        CHECK(client_ask(&c, GET("/filled")) == 200);
        producer *p = producer_at((uint32_t)i);
        bool ends;
        CHECK(read_stream(&c, body, STREAM_BOUND + i, &ends) == STREAM_BOUND + i && !ends);
        pause_milliseconds(20);
        CHECK(p->room_count == 1);
        CHECK_WRITE(p->stream, "w", 1, ACCEPTED);
        CHECK(read_stream(&c, body, 1, &ends) == 1 && p->room_count == 1);
        CHECK_WRITE(p->stream, "x", 1, ACCEPTED);
        latchkey_http_stream_end(p->stream);
        CHECK_WRITE(p->stream, "y", 1, GONE);
        CHECK(ends_with(&c, "x"));
    }
    stream_stop(1000);
}

// Connects a client that takes little, and fills its stream up.
static producer *fill_client(client *one, uint32_t index, size_t *pieces) {
    CHECK(client_open_small(one, s.port, 4096));
    producer *p = ask_for_stream(one, index);
    *pieces = fill_up(p);
    return p;
}

static void tells_a_producer_when_there_is_room(void) {
    stream_start(subject_options());
    static client slow;
    size_t pieces;
    producer *p = fill_client(&slow, 0, &pieces);
    CHECK(pieces > 4 && latchkey_http_measure(s.server).streaming == 1);
    char *body = malloc(pieces * 1000);
    bool ends;
    CHECK(read_stream(&slow, body, pieces * 1000, &ends) == pieces * 1000 && !ends);
    pause_milliseconds(20);
    CHECK(p->room_count == 1);
    // Ends while it is full.
    pieces = fill_up(p);
    latchkey_http_stream_end(p->stream);
    body = realloc(body, pieces * 1000 + 1);
    CHECK(read_stream(&slow, body, pieces * 1000 + 1, &ends) == pieces * 1000 && ends);
    CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_ENDED));
    free(body);
    client_close(&slow);
    stream_stop(1000);
}

enum { LONG_BOUND = 24 * STREAM_BOUND, LONG_PIECE = LONG_BOUND / 4 * 3 };

static void refuse_a_long_piece(producer *p) {
    const char *bytes = repeated('l', LONG_BOUND);
    latchkey_http_stream *stream = p->stream;
    atomic_store(&p->bytes_in_room, LONG_PIECE);
    CHECK_WRITE(stream, bytes, LONG_BOUND, ACCEPTED);
    CHECK_WRITE(stream, bytes, LONG_PIECE, FULL);
    CHECK_WRITE(stream, bytes, 1, FULL);
}

// The library empties a buffer of this size in several steps. It takes no bytes during `has_room`,
// so the piece that `has_room` writes must fit into the room that is free then.
static void tells_of_room_when_the_longest_piece_fits(void) {
    stream_start(subject_options());
    atomic_store(&stream_bound, LONG_BOUND);
    fill = refuse_a_long_piece;
    CHECK(client_ask(&c, GET("/filled")) == 200);
    producer *p = producer_at(0);
    static char body[LONG_BOUND + LONG_PIECE + 1];
    bool ends;
    CHECK(read_stream(&c, body, LONG_BOUND + LONG_PIECE, &ends) == LONG_BOUND + LONG_PIECE);
    CHECK(p->room_count == 1);
    latchkey_http_stream_end(p->stream);
    CHECK(ends_with(&c, ""));
    stream_stop(1000);
}

static void notices_clients_that_go(void) {
    stream_start(subject_options());
    static client one;
    void (*const ways[])(client *) = {client_close, client_reset, client_end};
    uint32_t index = 0;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        for (int full = 0; full <= 1; full++) {
            producer *p;
            if (full) {
                size_t pieces;
                p = fill_client(&one, index++, &pieces);
            } else {
                CHECK(client_open(&one, s.port));
                p = ask_for_stream(&one, index++);
                CHECK(subject_await_connections(&s, 2));
                pause_milliseconds(5);
            }
            ways[i](&one);
            CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_CLIENT));
            CHECK_WRITE(p->stream, "x", 1, GONE);
            client_close(&one);
            CHECK(subject_await_connections(&s, 1));
        }
    }
    CHECK(latchkey_http_measure(s.server).timed_out_total == 0);
    CHECK(!subject_log_has("footers"));
    stream_stop(1000);
}

enum { WRITERS = 4, WRITES = 500, RECORD_MAX = 200 };

// A letter for the writer, a number, a space, filled up with the letter, and a line feed.
static size_t record_length(unsigned i) {
    return 1 + (size_t)snprintf(NULL, 0, "%u", i) + 1 + i * 13 % 150 + 1;
}

static void *write_records(void *context) {
    static atomic_uint next;
    unsigned id = atomic_fetch_add(&next, 1) % WRITERS;
    char record[RECORD_MAX + 1];
    for (unsigned i = 0; i < WRITES; i++) {
        size_t length = record_length(i);
        memset(record, 'a' + (int)id, length);
        record[1 + snprintf(record + 1, sizeof(record) - 1, "%u", i)] = ' ';
        record[length - 1] = '\n';
        latchkey_http_write result;
        // Only one of the writers is told of room, so the others ask again.
        while ((result = latchkey_http_stream_write(((producer *)context)->stream, record,
                                                    length)) == LATCHKEY_HTTP_WRITE_FULL) {
            pause_milliseconds(1);
        }
        CHECK(result == LATCHKEY_HTTP_WRITE_ACCEPTED);
    }
    return NULL;
}

static void takes_pieces_from_several_threads(void) {
    stream_start(subject_options());
    producer *p = ask_for_stream(&c, 0);
    pthread_t writers[WRITERS];
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_create(&writers[i], NULL, write_records, p);
    }
    static char body[WRITERS * WRITES * RECORD_MAX];
    unsigned next[WRITERS] = {0};
    size_t expected = 0;
    for (unsigned i = 0; i < WRITES; i++) {
        expected += WRITERS * record_length(i);
    }
    bool ends;
    size_t count = read_stream(&c, body, expected, &ends);
    CHECK(count == expected && !ends);
    for (char *at = body, *end; at < body + count; at = end + 1) {
        end = memchr(at, '\n', (size_t)(body + count - at));
        unsigned id = (unsigned)(at[0] - 'a');
        CHECK(id < WRITERS && strtoul(at + 1, NULL, 10) == next[id]++);
        CHECK(strspn(strchr(at, ' ') + 1, (char[]){at[0], '\0'}) ==
              (size_t)(end - strchr(at, ' ') - 1));
    }
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    latchkey_http_stream_end(p->stream);
    CHECK(ends_with(&c, ""));
    stream_stop(1000);
}

static void serves_what_is_pipelined_behind(void) {
    stream_start(subject_options());
    client_send(&c, GET("/stream") GET("/now") GET("/stream"));
    CHECK(client_read(&c, true)->status == 200);
    producer *p = producer_at(0);
    CHECK(produce_piece(p, "one", 3));
    pause_milliseconds(20);
    CHECK(produce_piece(p, "two", 3));
    latchkey_http_stream_end(p->stream);
    CHECK(ends_with(&c, "onetwo"));
    CHECK(body_is(client_read(&c, false), "now"));
    CHECK(client_read(&c, true)->status == 200);
    latchkey_http_stream_end(producer_at(1)->stream);
    CHECK(ends_with(&c, ""));
    stream_stop(1000);
}

static void answers_only_the_head(void) {
    stream_start(subject_options());
    client_send(&c, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    reply *r = client_read(&c, true);
    CHECK(r->status == 200 && strstr(r->head, "Content-Type: text/plain") != NULL);
    CHECK(strstr(r->head, "Content-Length") == NULL && client_sees_end(&c));
    CHECK(is_gone(producer_at(0), LATCHKEY_HTTP_STREAM_ENDED));
    reopen();
    CHECK(client_ask(&c, GET("/none")) == 204 && client_sees_end(&c));
    stream_stop(1000);
}

static void serves_http_1_0(void) {
    latchkey_http_options options = subject_options();
    options.threads = 1;
    stream_start(options);
    client_close(&c);
    CHECK(subject_await_connections(&s, 0));
    // An older connection of the same thread, because libmicrohttpd looks at the oldest one anyway.
    static client older;
    CHECK(client_open(&older, s.port) && client_ask(&older, GET("/now")) == 200);
    CHECK(client_open(&c, s.port));
    for (uint32_t i = 0; i < 2; i++) {
        client_send(&c, "GET /stream HTTP/1.0\r\n\r\n");
        reply *r = client_read(&c, true);
        CHECK(r->status == 200 && r->closes && strstr(r->head, "chunked") == NULL);
        producer *p = producer_at(i);
        for (int k = 0; k < 100; k++) {
            CHECK(produce_piece(p, repeated('z', 100), 100));
        }
        // Until the connection is suspended.
        pause_milliseconds(20);
        if (i == 0) {
            latchkey_http_stream_end(p->stream);
            while (client_receive(&c)) {
            }
            CHECK(c.count == 10000 && is_gone(p, LATCHKEY_HTTP_STREAM_ENDED));
        } else {
            client_close(&c);
            CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_CLIENT));
        }
        // The server must not keep the connection, whatever the client does.
        CHECK(subject_await_connections(&s, 1));
        reopen();
    }
    client_close(&older);
    stream_stop(1000);
}

// The value of a line of /proc/self/status, in its unit.
static long process_value(const char *name) {
    char line[200];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = strtol(line + strlen(name) + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

static long processor_milliseconds(const struct rusage *usage) {
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
           (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

static bool is_instrumented(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    const char *preload = getenv("LD_PRELOAD");
    return preload != NULL && strstr(preload, "valgrind") != NULL;
#endif
}

// Measures idle streams on connections that have served a request before, or not. Reused memory of
// earlier tests would not count, so run.sh runs each alone.
static void measure_idle_streams(bool has_served, long bytes_max) {
    enum { STREAMS = 1000 };
    uint32_t count = is_instrumented() ? 100 : STREAMS;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    latchkey_http_options options = subject_options();
    options.connections_max = STREAMS + 10;
    options.head_bytes_max = 8192;
    stream_start(options);
    int *sockets = malloc(count * sizeof(int));
    static client one;
    CHECK(client_ask(&c, GET("/now")) == 200);
    long threads_before = process_value("Threads:");
    long kib_before = process_value("VmRSS:");
    for (uint32_t i = 0; i < count; i++) {
        CHECK(client_open(&one, s.port));
        CHECK(!has_served || client_ask(&one, GET("/now")) == 200);
        CHECK(produce_piece(ask_for_stream(&one, i), "event", 5));
        char body[5];
        bool ends;
        CHECK(read_stream(&one, body, sizeof(body), &ends) == sizeof(body));
        sockets[i] = one.socket;
    }
    CHECK(latchkey_http_measure(s.server).streaming == count);
    long kib = process_value("VmRSS:") - kib_before;
    long more = process_value("Threads:") - threads_before;
    printf("    %u idle streams: %ld bytes each, %ld threads\n", count, kib * 1024 / count, more);
    // No thread polls for bytes to send.
    struct rusage before;
    struct rusage after;
    getrusage(RUSAGE_SELF, &before);
    pause_milliseconds(400);
    getrusage(RUSAGE_SELF, &after);
    CHECK(processor_milliseconds(&after) - processor_milliseconds(&before) < 200);
    CHECK(more == 0);
    CHECK(is_instrumented() || kib * 1024 / count < bytes_max);
    for (uint32_t i = 0; i < count; i++) {
        close(sockets[i]);
    }
    CHECK(subject_await_connections(&s, 1));
    free(sockets);
    stream_stop(1000);
}

static void keeps_idle_streams_small(void) {
    measure_idle_streams(false, 20000);
}

// Between requests the library zeroes a connection's memory, so that all of its pages are resident.
static void keeps_later_idle_streams_small(void) {
    // Both answers have a copy of the lines that every answer has: half a kilobyte.
    measure_idle_streams(true, 25000);
}

const test_case stream_cases[] = {
    {"sends the pieces of a stream in order", sends_pieces_in_order},
    {"bounds the buffer of a stream", bounds_the_buffer},
    {"tells a producer when there is room", tells_a_producer_when_there_is_room},
    {"tells of room when the longest refused piece fits",
     tells_of_room_when_the_longest_piece_fits},
    {"notices when the client of a stream goes", notices_clients_that_go},
    {"takes pieces from several threads", takes_pieces_from_several_threads},
    {"serves what is pipelined behind a stream", serves_what_is_pipelined_behind},
    {"answers only the head of a stream", answers_only_the_head},
    {"streams to HTTP/1.0", serves_http_1_0},
    {"keeps idle streams small on new connections", keeps_idle_streams_small},
    {"keeps idle streams small behind another request", keeps_later_idle_streams_small},
    {NULL, NULL},
};
