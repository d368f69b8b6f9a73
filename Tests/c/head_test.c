// Requests that are decided at their head.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cases.h"

static atomic_uint head_count;
static atomic_uint handler_count;

static void decide(void *context, latchkey_http_request *request) {
    (void)context;
    atomic_fetch_add(&head_count, 1);
    CHECK(request->body.count == 0 && request->rejection == LATCHKEY_HTTP_REJECTION_NONE);
    if (path_is(request, "/nowhere")) {
        respond_text(request, 404, "nowhere");
    } else if (path_is(request, "/noted")) {
        latchkey_http_request_note(request, request->path.count);
    }
}

static void handle(void *context, latchkey_http_request *request) {
    (void)context;
    atomic_fetch_add(&handler_count, 1);
    char text[40];
    snprintf(text, sizeof(text), "%zu bytes, note %llu", request->body.count,
             (unsigned long long)request->note);
    bool is_large = request->rejection == LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE;
    bool is_full = request->rejection == LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE;
    respond_text(request, is_large ? 413 : is_full ? 431 : 200, is_large ? "too large" : text);
}

static void start_deciding(void) {
    latchkey_http_options options = subject_options();
    options.handler = handle;
    options.head = decide;
    options.request_milliseconds = 400;
    atomic_store(&head_count, 0);
    atomic_store(&handler_count, 0);
    subject_start(&s, options);
    CHECK(client_open(&c, s.port));
}

static void send_body(size_t count, bool chunked) {
    char size[20];
    snprintf(size, sizeof(size), "%zx\r\n", count);
    client_send(&c, chunked ? size : "");
    client_send_bytes(&c, repeated('b', count), count);
    client_send(&c, chunked ? "\r\n0\r\n\r\n" : "");
}

static reply *put_body(const char *path, size_t count, bool chunked) {
    send_head(&c, path, count, chunked, false);
    send_body(count, chunked);
    return client_read(&c, false);
}

static void answers_at_the_head(void) {
    for (int chunked = 0; chunked <= 1; chunked++) {
        start_deciding();
        // The body is read and thrown away, and the connection stays.
        reply *r = put_body("/nowhere", 500, chunked);
        CHECK(r->status == 404 && body_is(r, "nowhere") && !r->closes);
        CHECK(put_body("/else", 5, chunked)->status == 200);
        CHECK(head_count == 2 && handler_count == 1);
        // The body is not asked for: the first answer is not 100.
        send_head(&c, "/nowhere", 500, chunked, true);
        r = client_read(&c, false);
        CHECK(r->status == 404 && r->closes && client_sees_end(&c));
        reopen();
        send_head(&c, "/else", 5, chunked, true);
        CHECK(client_read(&c, true)->status == 100);
        send_body(5, chunked);
        CHECK(client_read(&c, false)->status == 200);
        // Only a body makes a difference.
        unsigned before = head_count;
        CHECK(client_ask(&c, GET("/nowhere")) == 200);
        CHECK(put_body("/nowhere", 0, false)->status == 200);
        CHECK(head_count == before);
        // A client that leaves, and one that sends its body too slowly.
        send_head(&c, "/nowhere", 500, chunked, false);
        pause_milliseconds(20);
        reopen();
        send_head(&c, "/nowhere", 500, chunked, false);
        CHECK(client_read(&c, false)->status == 408);
        stop();
    }
}

static void bounds_bodies_at_the_head(void) {
    for (int chunked = 0; chunked <= 1; chunked++) {
        start_deciding();
        CHECK(body_is(put_body("/noted", 10, chunked), "10 bytes, note 6"));
        // The note belongs to one request.
        CHECK(body_is(put_body("/else", 11, chunked), "11 bytes, note 0"));
        CHECK(put_body("/noted", SUBJECT_BODY_BYTES_MAX, chunked)->status == 200);
        reply *r = put_body("/noted", SUBJECT_BODY_BYTES_MAX + 1, chunked);
        CHECK(r->status == 413 && r->closes && body_is(r, "too large") && client_sees_end(&c));
        reopen();
        send_head(&c, "/noted", SUBJECT_BODY_BYTES_MAX + 1, chunked, true);
        if (chunked) {
            CHECK(client_read(&c, true)->status == 100);
            send_body(SUBJECT_BODY_BYTES_MAX + 1, true);
        }
        CHECK(client_read(&c, false)->status == 413 && client_sees_end(&c));
        reopen();
        // An answer from the head does not allow a body without end.
        send_head(&c, "/nowhere", 500, true, false);
        for (int i = 0; i < 40; i++) {
            char size[20];
            snprintf(size, sizeof(size), "%x\r\n", 100000);
            client_send(&c, size);
            client_send_bytes(&c, repeated('b', 100000), 100000);
            client_send(&c, "\r\n");
        }
        CHECK(client_read(&c, false)->status == 413);
        stop();
    }
}

const test_case head_cases[] = {
    {"answers at the head", answers_at_the_head},
    {"bounds bodies at the head", bounds_bodies_at_the_head},
    {NULL, NULL},
};
