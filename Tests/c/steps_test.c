// Suspending and resuming with a delay at each step: answers, readers of bodies, and streams.

#define _GNU_SOURCE  // memmem

#include "steps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum { CROWD = 6, SHORT_MICROSECONDS = 1000, LONG_MICROSECONDS = 3000 };

static atomic_uint late_milliseconds;  // the worker waits so long before each job
static atomic_uint readers;
static atomic_uint releases;
static atomic_uint streams;
static atomic_uint gones;
static uint32_t faults_before;

static void give_job(void (*run)(void *context), void *context) {
    worker_give(run, context, atomic_load(&late_milliseconds));
}

static void answer(void *request) {
    respond_text(request, 200, "later");
}

static void go_on(void *request) {
    latchkey_http_body_go_on(request);
}

static void push(void *stream) {
    for (int i = 0; i < 5; i++) {
        latchkey_http_stream_write(stream, "piece", 5);
        // In most cases the stream is read meanwhile: then its connection is about to be suspended.
        pause_milliseconds(1);
    }
    latchkey_http_stream_end(stream);
    latchkey_http_stream_release(stream);
}

static void stream_gone(void *context, latchkey_http_stream_reason reason) {
    (void)context;
    (void)reason;
    atomic_fetch_add(&gones, 1);
}

static latchkey_http_taken take(void *context, latchkey_http_request *request, const void *bytes,
                                size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    give_job(path_is(request, "/answer") ? answer : go_on, request);
    return LATCHKEY_HTTP_TAKEN_AND_WAIT;
}

static void release(void *context) {
    (void)context;
    atomic_fetch_add(&releases, 1);
}

static void decide(void *context, latchkey_http_request *request) {
    (void)context;
    latchkey_http_body_reader reader = {take, NULL, release, NULL};
    CHECK(latchkey_http_request_read(request, &reader));
    atomic_fetch_add(&readers, 1);
}

static void handle(void *context, latchkey_http_request *request) {
    (void)context;
    if (!path_is(request, "/stream")) {
        give_job(answer, request);
        return;
    }
    latchkey_http_stream_options options = {.buffer_bytes_max = 4096, .gone = stream_gone};
    latchkey_http_response *response;
    latchkey_http_stream *stream = latchkey_http_stream_create(&options, &response);
    atomic_fetch_add(&streams, 1);
    give_job(push, stream);
    latchkey_http_respond_stream(request, 200, response, stream);
}

static void start_steps(latchkey_http_options options) {
    options.handler = handle;
    options.head = decide;
    readers = 0;
    releases = 0;
    streams = 0;
    gones = 0;
    workers_start(2);
    subject_start(&s, options);
}

// Stops. A request may be unanswered until then, as the stop does not wait for its owner.
static void stop_steps(uint32_t milliseconds) {
    subject_stop(&s, milliseconds);
    workers_end();
    CHECK(readers == releases && streams == gones && steps_faults() == faults_before);
}

// Runs with each set of delayed steps, with the longer delay on either side.
static void with_each_delay(void (*run)(void)) {
    uint32_t before = steps_suspensions();
    faults_before = steps_faults();
    for (unsigned set = 0; set < 2u << STEP_COUNT && steps_faults() == faults_before; set++) {
        bool resumes_longer = set >> STEP_COUNT;
        for (step at = 0; at < STEP_COUNT; at++) {
            bool is_long = (at >= STEP_BEFORE_RESUME) == resumes_longer;
            steps_delay(at, !(set >> at & 1) ? 0
                            : is_long        ? LONG_MICROSECONDS
                                             : SHORT_MICROSECONDS);
        }
        run();
    }
    for (step at = 0; at < STEP_COUNT; at++) {
        steps_delay(at, 0);
    }
    CHECK(steps_suspensions() - before > 2u << STEP_COUNT);
}

static void answer_later(void) {
    static unsigned round;
    // At once, before the connection is suspended; or later.
    atomic_store(&late_milliseconds, round++ % 2);
    start_steps(subject_options());
    CHECK(client_open(&c, s.port));
    client_send(&c, GET("/later") GET("/later") GET("/later"));
    for (int i = 0; i < 3; i++) {
        reply *r = client_read(&c, false);
        CHECK(r->status == 200 && body_is(r, "later"));
    }
    client_close(&c);
    stop_steps(1000);
    atomic_store(&late_milliseconds, 0);
}

// The pieces of each body come together, so that libmicrohttpd has the next one in its buffer.
static void read_pieces(void) {
    static const char *const bodies[] = {
        "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
        "Transfer-Encoding: "
        "chunked\r\n\r\n1\r\n1\r\n1\r\n2\r\n1\r\n3\r\n1\r\n4\r\n1\r\n5\r\n0\r\n\r\n",
        "Content-Length: 10\r\n\r\n0123456789",
    };
    start_steps(subject_options());
    CHECK(client_open(&c, s.port));
    for (int answers = 0; answers <= 1; answers++) {
        for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
            char text[300];
            snprintf(text, sizeof(text), "POST /%s HTTP/1.1\r\nHost: x\r\n%s",
                     answers ? "answer" : "read", bodies[i]);
            client_send(&c, text);
            reply *r = client_read(&c, false);
            CHECK(r->status == 200 && body_is(r, "later"));
        }
    }
    client_close(&c);
    stop_steps(1000);
}

static void push_pieces(void) {
    start_steps(subject_options());
    CHECK(client_open(&c, s.port));
    client_send(&c, GET("/stream") GET("/stream"));
    for (int i = 0; i < 2; i++) {
        CHECK(client_read(&c, true)->status == 200);
        // The last chunk can come together with the head.
        char *end;
        while ((end = memmem(c.buffer, c.count, "0\r\n\r\n", 5)) == NULL && client_receive(&c)) {
        }
        CHECK(end != NULL);
        client_consume(&c, end != NULL ? (size_t)(end - c.buffer) + 5 : c.count);
    }
    // Cut: the client leaves in the middle.
    for (int i = 0; i < 3; i++) {
        static client other;
        CHECK(client_open(&other, s.port));
        client_send(&other, GET("/stream"));
        CHECK(client_read(&other, true)->status == 200);
        i % 2 ? client_reset(&other) : client_close(&other);
    }
    client_close(&c);
    stop_steps(1000);
}

static const char *const crowd_requests[] = {
    GET("/later"),
    "POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
    "POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234",
};

// The answers, and the calls of the readers, come at about the time at which the watchdog takes
// their requests away.
static void abandon_late(void) {
    latchkey_http_options options = subject_options();
    options.request_milliseconds = 40;
    options.answer_milliseconds = 15;
    start_steps(options);
    static client crowd[CROWD];
    static unsigned round;
    for (size_t i = 0; i < CROWD; i++) {
        CHECK(client_open(&crowd[i], s.port));
        atomic_store(&late_milliseconds, 5 + (round++ * 7) % 20);
        client_send(&crowd[i], crowd_requests[i % 3]);
    }
    for (size_t i = 0; i < CROWD; i++) {
        // 200, or the status for a request that was taken away.
        client_read(&crowd[i], false);
        client_close(&crowd[i]);
    }
    atomic_store(&late_milliseconds, 0);
    stop_steps(1000);
}

static void abandon_at_stop(void) {
    static client crowd[CROWD];
    static unsigned round;
    start_steps(subject_options());
    atomic_store(&late_milliseconds, round++ % 8);
    for (size_t i = 0; i < CROWD; i++) {
        CHECK(client_open(&crowd[i], s.port));
        client_send(&crowd[i], crowd_requests[i % 3]);
        client_send(&crowd[i], GET("/stream"));
    }
    pause_milliseconds(round % 5);
    stop_steps(0);
    atomic_store(&late_milliseconds, 0);
    for (size_t i = 0; i < CROWD; i++) {
        client_close(&crowd[i]);
    }
}

static void answers_later_with_delays(void) {
    with_each_delay(answer_later);
}

static void reads_bodies_with_delays(void) {
    with_each_delay(read_pieces);
}

static void streams_with_delays(void) {
    with_each_delay(push_pieces);
}

static void takes_requests_away_with_delays(void) {
    with_each_delay(abandon_late);
}

static void stops_with_delays(void) {
    with_each_delay(abandon_at_stop);
}

const test_case steps_cases[] = {
    {"answers later, with a delay at each step", answers_later_with_delays},
    {"reads bodies in pieces, with a delay at each step", reads_bodies_with_delays},
    {"streams, with a delay at each step", streams_with_delays},
    {"takes late requests away, with a delay at each step", takes_requests_away_with_delays},
    {"stops, with a delay at each step", stops_with_delays},
    {NULL, NULL},
};
