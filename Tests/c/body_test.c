// Bodies that are read piece by piece.
//
// Length: a list of cases, which share their reader.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum { PERIOD = 251, PIECE = 4096, LONG_BYTES = 3 << 20 };

// Counts of the readers' calls since start_reading().
static atomic_uint readers;
static atomic_uint releases;
static atomic_uint gones;
static atomic_uint handled;
static atomic_int reason;
static atomic_size_t byte_count;
static atomic_bool is_wrong;  // the bytes
static atomic_uint waits;     // pieces that were answered with WAIT
static _Atomic(latchkey_http_request *) held;

static void say_bad(void *request) {
    respond_text(request, 400, "bad");
}

static void go_on(void *request) {
    latchkey_http_body_go_on(request);
}

// `/take` takes each piece, `/wait` and `/bad-later` let the worker continue, `/wait-here`
// continues before it returns, `/hold` lets the test continue, `/bad` answers at once. The context
// is the number of bytes so far.
static latchkey_http_taken take(void *context, latchkey_http_request *request, const void *bytes,
                                size_t count) {
    size_t *so_far = context;
    for (size_t i = 0; i < count; i++) {
        if (((const unsigned char *)bytes)[i] != (*so_far + i) % PERIOD) {
            atomic_store(&is_wrong, true);
        }
    }
    *so_far += count;
    atomic_fetch_add(&byte_count, count);
    if (path_is(request, "/bad")) {
        say_bad(request);
    }
    if (path_is(request, "/bad") || path_is(request, "/take")) {
        return LATCHKEY_HTTP_TAKEN;
    }
    atomic_fetch_add(&waits, 1);
    if (path_is(request, "/wait-here")) {
        latchkey_http_body_go_on(request);
    } else if (path_is(request, "/hold")) {
        atomic_store(&held, request);
    } else {
        worker_give(path_is(request, "/bad-later") ? say_bad : go_on, request, 0);
    }
    return LATCHKEY_HTTP_TAKEN_AND_WAIT;
}

static void gone(void *context, latchkey_http_body_reason why) {
    (void)context;
    atomic_store(&reason, (int)why);
    atomic_fetch_add(&gones, 1);
}

static void release(void *context) {
    free(context);
    atomic_fetch_add(&releases, 1);
}

static void decide(void *context, latchkey_http_request *request) {
    (void)context;
    if (path_is(request, "/whole")) {
        return;
    }
    latchkey_http_body_reader reader = {take, gone, release, calloc(1, sizeof(size_t))};
    CHECK(latchkey_http_request_read(request, &reader));
    CHECK(latchkey_http_body_context(request) == reader.context);
    atomic_fetch_add(&readers, 1);
}

static void handle(void *context, latchkey_http_request *request) {
    (void)context;
    atomic_fetch_add(&handled, 1);
    const size_t *so_far = latchkey_http_body_context(request);
    char text[40];
    snprintf(text, sizeof(text), "%zu in pieces, %zu whole", so_far != NULL ? *so_far : 0,
             request->body.count);
    bool is_rejected = request->rejection != LATCHKEY_HTTP_REJECTION_NONE;
    bool is_malformed = request->rejection == LATCHKEY_HTTP_REJECTION_MALFORMED;
    respond_text(request,
                 is_malformed  ? 400
                 : is_rejected ? 431
                               : 200,
                 is_rejected ? "rejected" : text);
}

static void start_reading(latchkey_http_options options) {
    options.handler = handle;
    options.head = decide;
    readers = 0;
    releases = 0;
    gones = 0;
    handled = 0;
    byte_count = 0;
    is_wrong = false;
    waits = 0;
    held = NULL;
    workers_start(1);
    subject_start(&s, options);
    CHECK(client_open(&c, s.port));
}

static void end_worker(void) {
    client_close(&c);
    workers_end();
}

// Stops, and checks that every reader was released.
static latchkey_http_cut_off stop_reading(uint32_t milliseconds) {
    latchkey_http_cut_off result = subject_stop(&s, milliseconds);
    end_worker();
    CHECK(readers == releases && !is_wrong);
    return result;
}

static latchkey_http_request *await_held(void) {
    CHECK(COMES(atomic_load(&held) != NULL));
    return atomic_exchange(&held, NULL);
}

// Sends `count` bytes of a body, after `from` bytes that were sent before.
static void send_part(client *one, size_t from, size_t count, bool chunked) {
    static _Thread_local char piece[PIECE + 40];
    for (size_t sent = 0; sent < count;) {
        size_t now = count - sent < PIECE ? count - sent : PIECE;
        size_t head = chunked ? (size_t)snprintf(piece, 20, "%zx\r\n", now) : 0;
        for (size_t i = 0; i < now; i++) {
            piece[head + i] = (char)((from + sent + i) % PERIOD);
        }
        memcpy(piece + head + now, "\r\n", 2);
        client_send_bytes(one, piece, head + now + (chunked ? 2 : 0));
        sent += now;
    }
}

static reply *post(const char *path, size_t count, bool chunked) {
    send_head(&c, path, count, chunked, false);
    send_part(&c, 0, count, chunked);
    client_send(&c, chunked ? "0\r\n\r\n" : "");
    return client_read(&c, false);
}

static void reads_in_pieces(void) {
    static const char *const paths[] = {"/take", "/wait", "/wait-here"};
    start_reading(subject_options());
    for (size_t i = 0; i < 6; i++) {
        char text[40];
        bool chunked = i % 2;
        snprintf(text, sizeof(text), "%d in pieces, 0 whole", LONG_BYTES);
        reply *r = post(paths[i / 2], LONG_BYTES, chunked);
        CHECK(r->status == 200 && !r->closes && body_is(r, text));
        CHECK(body_is(post(paths[i / 2], 1, chunked), "1 in pieces, 0 whole"));
        // The limit of bodies holds for the others, and an empty body has no reader.
        CHECK(body_is(post("/whole", 5, chunked), "0 in pieces, 5 whole"));
        CHECK(body_is(post(paths[i / 2], 0, chunked), "0 in pieces, 0 whole"));
        send_head(&c, paths[i / 2], 5000, chunked, true);
        CHECK(client_read(&c, true)->status == 100);
        send_part(&c, 0, 5000, chunked);
        client_send(&c, chunked ? "0\r\n\r\n" : "");
        CHECK(body_is(client_read(&c, false), "5000 in pieces, 0 whole"));
    }
    CHECK(gones == 0 && waits > 100);
    CHECK(stop_reading(1000).requests == 0);
}

static void lets_readers_answer(void) {
    for (int i = 0; i < 4; i++) {
        start_reading(subject_options());
        const char *path = i / 2 ? "/bad-later" : "/bad";
        reply *r = post(path, LONG_BYTES, i % 2);
        CHECK(r->status == 400 && body_is(r, "bad") && !r->closes);
        // A reader gets no more pieces once it has answered; the connection stays open.
        CHECK(byte_count < LONG_BYTES && handled == 0);
        CHECK(post(path, 1, i % 2)->status == 400);
        CHECK(post("/take", LONG_BYTES, i % 2)->status == 200);
        // The client leaves while its answer is on the way.
        send_head(&c, path, 100, i % 2, false);
        send_part(&c, 0, 10, i % 2);
        pause_milliseconds(20);
        reopen();
        CHECK(subject_await_connections(&s, 1) && gones == 0);
        stop_reading(1000);
    }
}

static void reports_clients_that_go(void) {
    for (int i = 0; i < 4; i++) {
        bool chunked = i % 2;
        start_reading(subject_options());
        send_head(&c, "/take", 100, chunked, false);
        send_part(&c, 0, 10, chunked);
        CHECK(COMES(byte_count == 10));
        i / 2 ? client_reset(&c) : client_close(&c);
        CHECK(COMES(gones == 1) && reason == LATCHKEY_HTTP_BODY_CLIENT && handled == 0);
        // It is not told while it waits.
        CHECK(client_open(&c, s.port));
        send_head(&c, "/hold", 100, chunked, false);
        send_part(&c, 0, 10, chunked);
        latchkey_http_request *request = await_held();
        i / 2 ? client_reset(&c) : client_close(&c);
        pause_milliseconds(50);
        CHECK(gones == 1);
        latchkey_http_body_go_on(request);
        CHECK(COMES(gones == 2) && reason == LATCHKEY_HTTP_BODY_CLIENT);
        // An invalid chunk.
        CHECK(client_open(&c, s.port));
        send_head(&c, "/take", 100, true, false);
        client_send(&c, "zz\r\n");
        CHECK(client_read(&c, false)->status == 400);
        CHECK(COMES(gones == 3) && reason == LATCHKEY_HTTP_BODY_REFUSED && handled == 1);
        stop_reading(1000);
    }
}

// A client that has closed its half after its body gets its answer.
static void answers_half_closed_uploads(void) {
    latchkey_http_options options = subject_options();
    options.threads = 1;
    start_reading(options);
    // An older connection, because libmicrohttpd continues the oldest of a loop before it reads.
    static client older;
    CHECK(client_open(&older, s.port));
    send_head(&older, "/take", 10, false, false);
    pause_milliseconds(50);
    reopen();
    send_head(&c, "/hold", 10, false, false);
    // Until the library waits for the body.
    pause_milliseconds(50);
    send_part(&c, 0, 10, false);
    client_end(&c);
    latchkey_http_request *request = await_held();
    pause_milliseconds(20);
    latchkey_http_body_go_on(request);
    CHECK(body_is(client_read(&c, false), "10 in pieces, 0 whole") && gones == 0);
    client_close(&older);
    stop_reading(1000);
}

static void bounds_the_time(void) {
    latchkey_http_options options = subject_options();
    options.request_milliseconds = 400;
    options.answer_milliseconds = 3000;
    start_reading(options);
    // No bytes arrive, too few, or none after an early answer.
    send_head(&c, "/take", 5000, false, false);
    CHECK(client_read(&c, false)->status == 408);
    CHECK(COMES(gones == 1) && reason == LATCHKEY_HTTP_BODY_DEADLINE);
    reopen();
    send_head(&c, "/take", 5000, false, false);
    int trickled = 0;
    for (; trickled < 100 && latchkey_http_measure(s.server).timed_out_total < 2; trickled++) {
        send_part(&c, (size_t)trickled, 1, false);
        pause_milliseconds(30);
    }
    CHECK(trickled < 100);
    CHECK(client_read(&c, false)->status == 408);
    CHECK(COMES(gones == 2) && reason == LATCHKEY_HTTP_BODY_DEADLINE);
    reopen();
    send_head(&c, "/bad", 5000, false, false);
    send_part(&c, 0, 10, false);
    CHECK(client_read(&c, false)->status == 408 && gones == 2);
    // A body that arrives at the least rate may take longer than the time of a request.
    reopen();
    size_t sent = 0;
    send_head(&c, "/take", 6000, false, false);
    for (; sent < 6000; sent += 200) {
        send_part(&c, sent, 200, false);
        pause_milliseconds(40);
    }
    CHECK(client_read(&c, false)->status == 200);
    // A reader may be slow, but not without limit.
    send_head(&c, "/hold", 20, true, false);
    send_part(&c, 0, 10, true);
    latchkey_http_request *request = await_held();
    pause_milliseconds(1000);
    latchkey_http_body_go_on(request);
    send_part(&c, 10, 10, true);
    request = await_held();
    client_send(&c, "0\r\n\r\n");
    latchkey_http_body_go_on(request);
    CHECK(body_is(client_read(&c, false), "20 in pieces, 0 whole") && gones == 2);
    for (int chunked = 0; chunked <= 1; chunked++) {
        send_head(&c, "/hold", 20, chunked, false);
        send_part(&c, 0, 20, chunked);
        request = await_held();
        CHECK(client_read(&c, false)->status == 500 && gones == 2 + (unsigned)chunked);
        reopen();
        latchkey_http_body_go_on(request);
        CHECK(gones == 3 + (unsigned)chunked && reason == LATCHKEY_HTTP_BODY_DEADLINE);
    }
    stop_reading(1000);
}

static void refuses_trailers_out_of_bounds(void) {
    start_reading(subject_options());
    send_head(&c, "/take", 10, true, false);
    send_part(&c, 0, 10, true);
    client_send(&c, "0\r\nX: ");
    client_send(&c, repeated('x', SUBJECT_HEAD_BYTES_MAX));
    client_send(&c, "\r\n\r\n");
    CHECK(client_read(&c, false)->status == 431);
    CHECK(gones == 1 && reason == LATCHKEY_HTTP_BODY_REFUSED && handled == 1);
    stop_reading(1000);
}

static void *go_on_later(void *request) {
    pause_milliseconds(100);
    latchkey_http_body_go_on(request);
    return NULL;
}

static void ends_uploads_at_stop(void) {
    for (int i = 0; i < 4; i++) {
        bool chunked = i % 2;
        bool holds = i / 2;
        start_reading(subject_options());
        send_head(&c, holds ? "/hold" : "/take", 100, chunked, false);
        send_part(&c, 0, 10, chunked);
        CHECK(COMES(byte_count == 10));
        latchkey_http_request *request = holds ? await_held() : NULL;
        uint64_t connections = latchkey_http_measure(s.server).connections;
        CHECK(connections == 1 && subject_stop(&s, 100).requests == 1);
        CHECK(gones == (holds ? 0 : 1) && handled == 0);
        if (holds) {
            latchkey_http_body_go_on(request);
        }
        CHECK(gones == 1 && reason == LATCHKEY_HTTP_BODY_STOPPED);
        end_worker();
        CHECK(readers == releases);
        // Requests may finish within the time.
        start_reading(subject_options());
        send_head(&c, "/hold", 10, chunked, false);
        send_part(&c, 0, 10, chunked);
        client_send(&c, chunked ? "0\r\n\r\n" : "");
        pthread_t other;
        pthread_create(&other, NULL, go_on_later, await_held());
        CHECK(subject_stop(&s, 5000).requests == 0);
        pthread_join(other, NULL);
        CHECK(body_is(client_read(&c, false), "10 in pieces, 0 whole"));
        end_worker();
        CHECK(gones == 0 && handled == 1 && readers == releases);
    }
}

// A reader has continued or answered, and no more bytes arrive.
static void stops_behind_a_word(void) {
    for (int answers = 0; answers <= 1; answers++) {
        start_reading(subject_options());
        send_head(&c, "/hold", 100, false, false);
        send_part(&c, 0, 10, false);
        latchkey_http_request *request = await_held();
        CHECK(subject_await_suspended(&s, 1));
        answers ? respond_text(request, 400, "bad") : latchkey_http_body_go_on(request);
        CHECK(subject_await_suspended(&s, 0));
        CHECK(latchkey_http_measure(s.server).receiving == 1);
        CHECK(stop_reading(100).requests == (answers ? 0 : 1));
        CHECK(gones == (answers ? 0 : 1) && handled == 0);
    }
}

static void *upload_again_and_again(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    client *one = malloc(sizeof(client));
    static const char *const paths[] = {"/take", "/wait", "/wait-here", "/bad-later", "/bad"};
    for (int i = 0; i < 30 && client_open(one, s.port); i++) {
        bool chunked = rand_r(&seed) % 2;
        size_t count = 20000 + (size_t)rand_r(&seed) % 50000;
        send_head(one, paths[rand_r(&seed) % 5], count, chunked, false);
        send_part(one, 0, rand_r(&seed) % 4 ? count : count / 2, chunked);
        if (rand_r(&seed) % 3) {
            client_send(one, chunked ? "0\r\n\r\n" : "");
            client_end(one);
            client_read(one, false);
        }
        rand_r(&seed) % 2 ? client_reset(one) : client_close(one);
    }
    free(one);
    return NULL;
}

// All operations race with each other, also with the stop.
static void stops_amid_uploads(void) {
    for (unsigned round = 0; round < 6; round++) {
        start_reading(subject_options());
        pthread_t clients[6];
        for (uintptr_t i = 0; i < 6; i++) {
            pthread_create(&clients[i], NULL, upload_again_and_again, (void *)(round * 6 + i + 1));
        }
        pause_milliseconds(round * 40);
        subject_stop(&s, round % 2 ? 1000 : 0);
        for (size_t i = 0; i < 6; i++) {
            pthread_join(clients[i], NULL);
        }
        // Late calls of the worker have no effect.
        end_worker();
        CHECK(readers == releases && !is_wrong);
    }
}

const test_case body_cases[] = {
    {"reads bodies in pieces", reads_in_pieces},
    {"lets the reader of a body answer", lets_readers_answer},
    {"reports clients that go in the middle of a body", reports_clients_that_go},
    {"answers half-closed uploads", answers_half_closed_uploads},
    {"bounds the time of a body", bounds_the_time},
    {"refuses trailers out of bounds behind a reader", refuses_trailers_out_of_bounds},
    {"ends uploads at stop", ends_uploads_at_stop},
    {"stops behind a word", stops_behind_a_word},
    {"stops amid uploads", stops_amid_uploads},
    {NULL, NULL},
};
