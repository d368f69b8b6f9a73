#define _GNU_SOURCE  // memmem

#include "producer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

atomic_bool producers_react;
atomic_size_t stream_bound;
latchkey_http_account *stream_account;
void (*fill)(producer *p);

static producer producers[PRODUCERS_MAX];
static atomic_uint producer_count;  // taken
static atomic_uint answered_count;  // and answered
static _Atomic(latchkey_http_request *) held;

uint64_t clock_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void has_room(void *context) {
    producer *p = context;
    size_t count = atomic_load(&p->bytes_in_room);
    if (count > 0) {
        const char *bytes = repeated('r', count);
        CHECK_WRITE(p->stream, bytes, count, ACCEPTED);
    }
    atomic_fetch_add(&p->room_count, 1);
    sem_post(&p->room);
}

static void sent(void *context, uint32_t mark) {
    producer *p = context;
    CHECK(atomic_load(&p->gone_count) == 0);
    atomic_store(&p->mark, mark);
    sem_post(&p->sent);
}

static void draining(void *context) {
    producer *p = context;
    atomic_fetch_add(&p->draining_count, 1);
    if (atomic_load(&producers_react)) {
        latchkey_http_stream_write(p->stream, "last", 4);
        latchkey_http_stream_end(p->stream);
    }
}

static void gone(void *context, latchkey_http_stream_reason reason) {
    producer *p = context;
    atomic_store(&p->reason, (int)reason);
    atomic_fetch_add(&p->gone_count, 1);
    sem_post(&p->room);
}

static void release(void *context) {
    producer *p = context;
    atomic_fetch_add(&p->release_count, 1);
}

producer *produce(latchkey_http_request *request, uint32_t status) {
    producer *p = &producers[atomic_fetch_add(&producer_count, 1)];
    latchkey_http_stream_options options = {.buffer_bytes_max = atomic_load(&stream_bound),
                                            .account = stream_account,
                                            .has_room = has_room,
                                            .sent = sent,
                                            .draining = draining,
                                            .gone = gone,
                                            .release = release,
                                            .context = p};
    latchkey_http_response *response;
    p->stream = latchkey_http_stream_create(&options, &response);
    latchkey_http_response_add(response, "Content-Type", "text/plain");
    if (fill != NULL) {
        fill(p);
    }
    latchkey_http_respond_stream(request, status, response, p->stream);
    atomic_fetch_add(&answered_count, 1);
    return p;
}

static void handle(void *context, latchkey_http_request *request) {
    (void)context;
    if (request->rejection != LATCHKEY_HTTP_REJECTION_NONE) {
        latchkey_http_respond(request, 503, latchkey_http_response_create_copy("", 0), true);
    } else if (path_is(request, "/stream") || path_is(request, "/filled")) {
        produce(request, 200);
    } else if (path_is(request, "/none")) {
        produce(request, 204);
    } else if (path_is(request, "/held")) {
        atomic_store(&held, request);
    } else if (path_is(request, "/wait")) {
        latchkey_http_request_wait(request, (uint32_t)atoi(request->query.bytes));
        atomic_store(&held, request);
    } else {
        latchkey_http_respond(request, 200, latchkey_http_response_create_copy("now", 3), false);
    }
}

void stream_start(latchkey_http_options options) {
    memset(producers, 0, sizeof(producers));
    for (size_t i = 0; i < PRODUCERS_MAX; i++) {
        sem_init(&producers[i].room, 0, 0);
        sem_init(&producers[i].sent, 0, 0);
    }
    atomic_store(&producer_count, 0);
    atomic_store(&answered_count, 0);
    atomic_store(&held, NULL);
    atomic_store(&producers_react, false);
    atomic_store(&stream_bound, STREAM_BOUND);
    fill = NULL;
    options.handler = handle;
    subject_start(&s, options);
    CHECK(client_open(&c, s.port));
}

latchkey_http_cut_off stream_stop(uint32_t milliseconds) {
    latchkey_http_cut_off result = subject_stop(&s, milliseconds);
    client_close(&c);
    for (uint32_t i = 0; i < atomic_load(&producer_count); i++) {
        producer *p = &producers[i];
        CHECK(p->gone_count == 1 && p->release_count == 1 && p->draining_count <= 1);
        CHECK_WRITE(p->stream, "x", 1, GONE);
        latchkey_http_stream_release(p->stream);
    }
    return result;
}

producer *producer_at(uint32_t index) {
    CHECK(COMES(atomic_load(&answered_count) > index));
    return &producers[index];
}

latchkey_http_request *held_request(void) {
    CHECK(COMES(atomic_load(&held) != NULL));
    return atomic_exchange(&held, NULL);
}

bool is_gone(producer *p, latchkey_http_stream_reason reason) {
    return COMES(atomic_load(&p->gone_count) > 0) && atomic_load(&p->gone_count) == 1 &&
           atomic_load(&p->reason) == (int)reason;
}

bool produce_piece(producer *p, const void *bytes, size_t count) {
    latchkey_http_write result;
    while ((result = latchkey_http_stream_write(p->stream, bytes, count)) ==
           LATCHKEY_HTTP_WRITE_FULL) {
        sem_wait(&p->room);
    }
    return result == LATCHKEY_HTTP_WRITE_ACCEPTED;
}

size_t fill_up(producer *p) {
    size_t pieces = 0;
    while (true) {
        switch (latchkey_http_stream_write(p->stream, repeated('p', 1000), 1000)) {
        case LATCHKEY_HTTP_WRITE_ACCEPTED:
            pieces++;
            break;
        case LATCHKEY_HTTP_WRITE_FULL:
            // Until the kernel takes no more bytes either.
            for (int i = 0; i < 50 && atomic_load(&p->room_count) == 0; i++) {
                pause_milliseconds(1);
            }
            if (atomic_exchange(&p->room_count, 0) == 0) {
                return pieces;
            }
            break;
        case LATCHKEY_HTTP_WRITE_GONE:
            CHECK(false);
            return pieces;
        }
    }
}

producer *ask_for_stream(client *one, uint32_t index) {
    client_send(one, GET("/stream"));
    reply *r = client_read(one, true);
    CHECK(r->status == 200 && strstr(r->head, "Transfer-Encoding: chunked\r\n") != NULL);
    return producer_at(index);
}

size_t read_stream(client *one, char *to, size_t room, bool *ends) {
    size_t count = 0;
    *ends = false;
    while (count < room) {
        char *line;
        while ((line = memmem(one->buffer, one->count, "\r\n", 2)) == NULL) {
            if (!client_receive(one)) {
                return count;
            }
        }
        size_t piece = strtoul(one->buffer, NULL, 16);
        size_t whole = (size_t)(line - one->buffer) + 2 + piece + 2;
        while (one->count < whole) {
            if (!client_receive(one)) {
                return count;
            }
        }
        CHECK(count + piece <= room);
        memcpy(to + count, one->buffer + whole - piece - 2, piece);
        count += piece;
        client_consume(one, whole);
        if (piece == 0) {
            *ends = true;
            return count;
        }
    }
    return count;
}

bool ends_with(client *one, const char *text) {
    char body[1000];
    bool ends;
    size_t count = read_stream(one, body, sizeof(body), &ends);
    return ends && count == strlen(text) && memcmp(body, text, count) == 0;
}
