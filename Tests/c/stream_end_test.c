// Streams and deadlines, and how streams end when the server does.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "producer.h"

static void cuts_off_who_does_not_read(void) {
    latchkey_http_options options = subject_options();
    options.idle_milliseconds = 200;
    options.request_milliseconds = 200;
    options.answer_milliseconds = 100;
    stream_start(options);
    static client stuck;
    static client small;
    CHECK(client_open_small(&stuck, s.port, 4096));
    producer *full = ask_for_stream(&stuck, 0);
    producer *idle = ask_for_stream(&c, 1);
    CHECK(client_open(&small, s.port));
    producer *slow = ask_for_stream(&small, 2);
    fill_up(full);
    // In a second, fewer bytes than the least rate, but all that there are. The client's kernel
    // acknowledges late, so that it has nearly always some bytes not yet acknowledged.
    for (int i = 0; i < 100; i++) {
        int is_quick = 0;
        setsockopt(small.socket, IPPROTO_TCP, TCP_QUICKACK, &is_quick, sizeof(is_quick));
        CHECK(produce_piece(slow, "s", 1));
        pause_milliseconds(10);
    }
    CHECK(is_gone(full, LATCHKEY_HTTP_STREAM_DEADLINE));
    CHECK(latchkey_http_measure(s.server).timed_out_total == 1);
    // Neither the idle time nor the time for an answer ends the others.
    CHECK(produce_piece(idle, "still", 5));
    latchkey_http_stream_end(idle->stream);
    CHECK(ends_with(&c, "still"));
    latchkey_http_stream_end(slow->stream);
    CHECK(ends_with(&small, repeated('s', 100)));
    client_close(&stuck);
    client_close(&small);
    stream_stop(1000);
}

// Waits until the stream of the producer has reported this mark as sent.
static bool is_sent(producer *p, uint32_t mark) {
    return COMES(sem_trywait(&p->sent) == 0) && p->mark == mark;
}

static void tells_a_producer_when_the_kernel_has_it(void) {
    stream_start(subject_options());
    static client slow;
    CHECK(client_open_small(&slow, s.port, 4096));
    producer *p = ask_for_stream(&slow, 0);
    size_t count = fill_up(p) * 1000;
    CHECK(latchkey_http_stream_await(p->stream, 7));
    CHECK(!latchkey_http_stream_await(p->stream, 8));
    CHECK(p->mark == 0);
    char *body = malloc(count);
    bool ends;
    CHECK(read_stream(&slow, body, count, &ends) == count && !ends);
    free(body);
    CHECK(is_sent(p, 7));
    // A stream that is over has sent all that it will.
    fill_up(p);
    CHECK(latchkey_http_stream_await(p->stream, 9));
    client_close(&slow);
    CHECK(is_sent(p, 9));
    CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_CLIENT));
    CHECK(!latchkey_http_stream_await(p->stream, 10));
    stream_stop(1000);
}

static void lets_requests_wait(void) {
    latchkey_http_options options = subject_options();
    options.answer_milliseconds = 100;
    stream_start(options);
    client_send(&c, GET("/wait?0"));
    latchkey_http_request *request = held_request();
    pause_milliseconds(700);
    latchkey_http_respond(request, 200, latchkey_http_response_create_copy("late", 4), false);
    CHECK(body_is(client_read(&c, false), "late"));
    // The next request of the connection has the usual deadline, or one of its own.
    client_send(&c, GET("/held"));
    CHECK(client_read(&c, false)->status == 503);
    latchkey_http_respond(held_request(), 200, NULL, false);
    reopen();
    uint64_t begun = clock_milliseconds();
    client_send(&c, GET("/wait?500"));
    CHECK(client_read(&c, false)->status == 503 && clock_milliseconds() - begun >= 500);
    // A stream for a request that was taken away is over at once.
    producer *late = produce(held_request(), 200);
    CHECK(is_gone(late, LATCHKEY_HTTP_STREAM_DEADLINE));
    CHECK(latchkey_http_measure(s.server).timed_out_total == 2);
    stream_stop(1000);
}

static void lets_go_of_clients_that_left(void) {
    stream_start(subject_options());
    for (int resets = 0; resets <= 1; resets++) {
        client_send(&c, GET("/wait?0"));
        latchkey_http_request *request = held_request();
        resets ? client_reset(&c) : client_close(&c);
        // No answer was given.
        CHECK(subject_await_connections(&s, 0));
        latchkey_http_respond(request, 200, NULL, false);
        CHECK(client_open(&c, s.port));
    }
    // Others are answered soon, and a client that has closed its half gets its answer.
    client_send(&c, GET("/held"));
    client_end(&c);
    latchkey_http_request *request = held_request();
    pause_milliseconds(600);
    latchkey_http_respond(request, 200, latchkey_http_response_create_copy("soon", 4), false);
    CHECK(body_is(client_read(&c, false), "soon"));
    CHECK(latchkey_http_measure(s.server).timed_out_total == 0);
    stream_stop(1000);
}

enum { LARGE_BYTES = 24 << 20 };

// Begins a stream, and ends it while most of its body is in the buffer.
static producer *end_a_large_stream(client *one, const char *request, uint32_t index,
                                    const char *body) {
    CHECK(client_open_small(one, s.port, 4096));
    client_send(one, request);
    CHECK(client_read(one, true)->status == 200);
    producer *p = producer_at(index);
    CHECK_WRITE(p->stream, body, LARGE_BYTES, ACCEPTED);
    latchkey_http_stream_end(p->stream);
    // Until the kernel takes no more bytes.
    pause_milliseconds(50);
    CHECK(p->gone_count == 0);
    return p;
}

static void sends_the_rest_to_a_half_closed_client(void) {
    stream_start(subject_options());
    atomic_store(&stream_bound, LARGE_BYTES);
    char *body = malloc(LARGE_BYTES);
    char *received = malloc(LARGE_BYTES + 1);
    for (size_t i = 0; i < LARGE_BYTES; i++) {
        body[i] = (char)('a' + i % 23);
    }
    static client one;
    producer *p = end_a_large_stream(&one, GET("/stream"), 0, body);
    int large = 1 << 20;
    setsockopt(one.socket, SOL_SOCKET, SO_RCVBUF, &large, sizeof(large));
    client_end(&one);
    pause_milliseconds(50);
    CHECK(p->gone_count == 0);
    bool ends;
    CHECK(read_stream(&one, received, LARGE_BYTES + 1, &ends) == LARGE_BYTES && ends);
    CHECK(memcmp(body, received, LARGE_BYTES) == 0);
    CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_ENDED));
    client_close(&one);
    // A client that has really gone does not stay.
    void (*const ways[])(client *) = {client_close, client_reset};
    const char *const requests[] = {GET("/stream"), "GET /stream HTTP/1.0\r\n\r\n"};
    for (uint32_t i = 0; i < 4; i++) {
        p = end_a_large_stream(&one, requests[i / 2], 1 + i, body);
        ways[i % 2](&one);
        CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_ENDED));
        CHECK(subject_await_connections(&s, 1));
    }
    free(received);
    free(body);
    stream_stop(1000);
}

// Stops with an idle stream, one that is not read, and one whose client has gone.
static void drains_with(bool react) {
    stream_start(subject_options());
    static client stuck;
    producer *idle = ask_for_stream(&c, 0);
    CHECK(client_open_small(&stuck, s.port, 4096));
    producer *full = ask_for_stream(&stuck, 1);
    fill_up(full);
    static client closed;
    CHECK(client_open(&closed, s.port));
    client_close((ask_for_stream(&closed, 2), &closed));
    atomic_store(&producers_react, react);
    CHECK(produce_piece(idle, "first", 5));
    uint64_t begun = clock_milliseconds();
    latchkey_http_cut_off cut_off = stream_stop(10 * PATIENCE_MILLISECONDS);
    CHECK(clock_milliseconds() - begun >= LATCHKEY_HTTP_STREAM_FLUSH_MILLISECONDS);
    CHECK(cut_off.requests == 0 && cut_off.answers == 1);
    CHECK(idle->draining_count == 1 && full->draining_count == 1);
    CHECK(is_gone(idle, react ? LATCHKEY_HTTP_STREAM_ENDED : LATCHKEY_HTTP_STREAM_STOPPED));
    CHECK(is_gone(full, LATCHKEY_HTTP_STREAM_STOPPED));
    client_close(&stuck);
}

static void drains_streams(void) {
    drains_with(true);
    drains_with(false);
}

static void ends_streams_in_order(void) {
    for (int react = 0; react <= 1; react++) {
        for (uint32_t waits = 0; waits <= 1; waits++) {
            stream_start(subject_options());
            static client one;
            CHECK(client_open(&one, s.port));
            producer *p = ask_for_stream(&one, 0);
            atomic_store(&producers_react, react);
            CHECK(produce_piece(p, "first ", 6));
            latchkey_http_cut_off cut_off = stream_stop(waits * 10 * PATIENCE_MILLISECONDS);
            CHECK(cut_off.requests == 0 && cut_off.answers == 0);
            CHECK(ends_with(&one, react ? "first last" : "first "));
            client_close(&one);
        }
    }
}

static void tells_streams_that_begin_late(void) {
    stream_start(subject_options());
    client_send(&c, GET("/held"));
    latchkey_http_request *request = held_request();
    producer *early;
    static client one;
    CHECK(client_open(&one, s.port));
    early = ask_for_stream(&one, 0);
    latchkey_http_quiesce(s.server);
    latchkey_http_quiesce(s.server);
    CHECK(early->draining_count == 1);
    // A request from before the drain may still be answered with a stream.
    atomic_store(&producers_react, true);
    producer *late = produce(request, 200);
    CHECK(client_read(&c, true)->closes && ends_with(&c, "last"));
    CHECK(late->draining_count == 1 && early->gone_count == 0);
    latchkey_http_stream_end(early->stream);
    CHECK(ends_with(&one, ""));
    client_close(&one);
    stream_stop(1000);
}

static void answers_in_vain_with_a_stream(void) {
    stream_start(subject_options());
    client_send(&c, GET("/held"));
    latchkey_http_request *request = held_request();
    CHECK(subject_stop(&s, 0).requests == 1);
    producer *p = produce(request, 200);
    CHECK(is_gone(p, LATCHKEY_HTTP_STREAM_STOPPED) && p->release_count == 1);
    latchkey_http_stream_release(p->stream);
    client_close(&c);
}

static atomic_bool crowd_ends;

// Pushes into all streams, and ends some.
static void *push_into_all(void *context) {
    (void)context;
    unsigned seed = 7;
    char piece[300] = {0};
    for (uint32_t i = 0; !atomic_load(&crowd_ends); i++) {
        for (uint32_t k = 0; k < 48; k++) {
            producer *p = producer_at(k);
            latchkey_http_stream_write(p->stream, piece, (size_t)(rand_r(&seed) % 300));
            if (rand_r(&seed) % 200 == 0) {
                latchkey_http_stream_end(p->stream);
            }
        }
    }
    return NULL;
}

// Clients that come and go while pieces are pushed, and a stop in the middle of it.
static void survives_a_crowd_of_streams(void) {
    unsigned seed = 3;
    for (int round = 0; round < 6; round++) {
        stream_start(subject_options());
        static client many[48];
        for (uint32_t i = 0; i < 48; i++) {
            CHECK(client_open_small(&many[i], s.port, 4096));
            ask_for_stream(&many[i], i);
        }
        atomic_store(&crowd_ends, false);
        pthread_t pushers[2];
        for (size_t i = 0; i < 2; i++) {
            pthread_create(&pushers[i], NULL, push_into_all, NULL);
        }
        for (size_t i = 0; i < 32; i++) {
            client *one = &many[(unsigned)rand_r(&seed) % 48];
            if (one->socket >= 0 && rand_r(&seed) % 3 != 0) {
                (rand_r(&seed) % 2 ? client_close : client_reset)(one);
            } else if (one->socket >= 0) {
                client_receive(one);
                one->count = 0;
            }
        }
        if (round % 2 == 0) {
            // Streams end while they are pushed into.
            subject_stop(&s, 0);
            atomic_store(&crowd_ends, true);
        } else {
            atomic_store(&crowd_ends, true);
            subject_stop(&s, 10000);
        }
        for (size_t i = 0; i < 2; i++) {
            pthread_join(pushers[i], NULL);
        }
        for (uint32_t i = 0; i < 48; i++) {
            CHECK(is_gone(producer_at(i), (latchkey_http_stream_reason)producer_at(i)->reason));
            latchkey_http_stream_release(producer_at(i)->stream);
            client_close(&many[i]);
        }
        client_close(&c);
    }
}

const test_case stream_end_cases[] = {
    {"cuts off the stream of a client that does not read", cuts_off_who_does_not_read},
    {"tells a producer when the kernel has what it wrote", tells_a_producer_when_the_kernel_has_it},
    {"lets requests wait for their answer", lets_requests_wait},
    {"lets go of clients that left while they waited", lets_go_of_clients_that_left},
    {"sends the rest of a stream to a client that has closed its half",
     sends_the_rest_to_a_half_closed_client},
    {"drains streams without waiting for them", drains_streams},
    {"ends streams in order when it stops", ends_streams_in_order},
    {"tells streams that begin late", tells_streams_that_begin_late},
    {"answers in vain with a stream", answers_in_vain_with_a_stream},
    {"survives a crowd of streams", survives_a_crowd_of_streams},
    {NULL, NULL},
};
