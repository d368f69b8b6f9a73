// Tells owners of requests that their request was taken away.

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cases.h"
#include "steps.h"

enum { OWNERS_MAX = 256, RACES = 40 };

// The calls that the owner of one request has got.
typedef struct owner {
    latchkey_http_request *request;
    atomic_uint gones;
    atomic_uint releases;
    atomic_bool answers;  // as soon as it is told
    latchkey_http_gone callbacks[2];
} owner;

static owner owners[OWNERS_MAX];
static atomic_uint owner_count;

static void gone(void *context) {
    owner *o = context;
    // After the release no callback may come.
    CHECK(o->releases == 0);
    if (o->answers) {
        respond_text(o->request, 200, "in vain");
    }
    atomic_fetch_add(&o->gones, 1);
}

static void release(void *context) {
    owner *o = context;
    atomic_fetch_add(&o->releases, 1);
}

static void want_to_know(owner *o) {
    bool again = o->callbacks[0].release != NULL;
    o->callbacks[again] = (latchkey_http_gone){.gone = gone, .release = release, .context = o};
    latchkey_http_request_when_gone(o->request, &o->callbacks[again]);
}

// `/answer` answers as soon as it is told, `/unasked` does not ask, `/now` answers at once. All
// others wait, for 20 seconds.
static void handle(void *context, latchkey_http_request *request) {
    (void)context;
    owner *o = &owners[atomic_load(&owner_count)];
    o->request = request;
    o->answers = path_is(request, "/answer");
    if (!path_is(request, "/late")) {
        latchkey_http_request_wait(request, 20000);
    }
    if (!path_is(request, "/unasked")) {
        want_to_know(o);
    }
    if (latchkey_http_find(request, "origin", 6, 0) < request->field_count) {
        latchkey_http_request_share(request, LATCHKEY_HTTP_SHARED_WITH_ORIGIN);
    }
    bool is_now = path_is(request, "/now");
    atomic_fetch_add(&owner_count, 1);
    if (is_now) {
        respond_text(request, 200, "now");
    }
}

static void start_owning(latchkey_http_options options) {
    options.handler = handle;
    options.threads = 1;
    memset(owners, 0, sizeof(owners));
    atomic_store(&owner_count, 0);
    subject_start(&s, options);
    CHECK(client_open(&c, s.port));
}

static owner *owner_at(unsigned index) {
    CHECK(COMES(atomic_load(&owner_count) > index));
    return &owners[index];
}

static void tells_of_clients_that_left(void) {
    for (int i = 0; i < 2; i++) {
        start_owning(subject_options());
        client_send(&c, GET("/wait"));
        owner *o = owner_at(0);
        CHECK(subject_await_suspended(&s, 1) && o->gones == 0);
        i ? client_reset(&c) : client_close(&c);
        CHECK(COMES(o->gones == 1) && o->releases == 0);
        // The request is still there.
        CHECK(path_is(o->request, "/wait"));
        respond_text(o->request, 200, "in vain");
        CHECK(COMES(o->releases == 1) && subject_await_connections(&s, 0));
        CHECK(o->gones == 1);
        // Answered by the callback.
        CHECK(client_open(&c, s.port));
        client_send(&c, GET("/answer"));
        o = owner_at(1);
        CHECK(subject_await_suspended(&s, 1));
        i ? client_reset(&c) : client_close(&c);
        CHECK(COMES(o->releases == 1) && o->gones == 1);
        subject_stop(&s, 1000);
    }
}

static void tells_of_deadlines_and_stop(void) {
    latchkey_http_options options = subject_options();
    options.answer_milliseconds = 100;
    start_owning(options);
    client_send(&c, GET("/late"));
    CHECK(client_read(&c, false)->status == 503);
    owner *late = owner_at(0);
    CHECK(COMES(late->gones == 1) && late->releases == 0);
    reopen();
    client_send(&c, GET("/wait"));
    owner *stopped = owner_at(1);
    CHECK(subject_await_suspended(&s, 1));
    CHECK(subject_stop(&s, 50).requests == 1);
    CHECK(stopped->gones == 1 && stopped->releases == 0 && late->gones == 1);
    respond_text(stopped->request, 200, "in vain");
    respond_text(late->request, 200, "in vain");
    CHECK(stopped->releases == 1 && late->releases == 1);
    client_close(&c);
}

// Without a deadline of its own.
static void tells_of_clients_before_the_deadline(void) {
    latchkey_http_options options = subject_options();
    options.answer_milliseconds = 60000;
    start_owning(options);
    client_send(&c, GET("/late"));
    owner *o = owner_at(0);
    CHECK(subject_await_suspended(&s, 1));
    client_close(&c);
    CHECK(COMES(o->gones == 1) && o->releases == 0);
    respond_text(o->request, 200, "in vain");
    CHECK(COMES(o->releases == 1));
    subject_stop(&s, 1000);
}

// A request that waits for its turn, and then for something else, has two owners.
static void tells_two_owners(void) {
    start_owning(subject_options());
    for (unsigned i = 0; i < 2; i++) {
        client_send(&c, GET("/wait"));
        owner *o = owner_at(i);
        CHECK(subject_await_suspended(&s, 1));
        if (i == 0) {
            want_to_know(o);
        }
        client_close(&c);
        CHECK(COMES(o->gones == (i == 0 ? 2u : 1u)));
        if (i == 1) {
            want_to_know(o);
            CHECK(o->gones == 2);
        }
        CHECK(o->releases == 0);
        respond_text(o->request, 200, "in vain");
        CHECK(COMES(o->releases == 2) && o->gones == 2);
        CHECK(client_open(&c, s.port));
    }
    client_close(&c);
    subject_stop(&s, 1000);
}

// A page may read an answer that the server makes itself, as the handler said.
static void says_who_may_read(void) {
    latchkey_http_options options = subject_options();
    options.answer_milliseconds = 100;
    start_owning(options);
    client_send(&c, "GET /late HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n\r\n");
    owner *late = owner_at(0);
    reply *r = client_read(&c, false);
    CHECK(r->status == 503);
    CHECK(strstr(r->head, "Access-Control-Allow-Origin: https://a.example\r\n") != NULL);
    CHECK(strstr(r->head, "Vary: Origin\r\n") != NULL);
    CHECK(strstr(r->head, "Retry-After: 1\r\n") != NULL);
    respond_text(late->request, 200, "in vain");
    client_close(&c);
    subject_stop(&s, 1000);
}

static void tells_no_owner_of_answers(void) {
    start_owning(subject_options());
    CHECK(client_ask(&c, GET("/now")) == 200);
    client_send(&c, GET("/wait"));
    owner *o = owner_at(1);
    CHECK(subject_await_suspended(&s, 1));
    respond_text(o->request, 200, "ok");
    CHECK(client_read(&c, false)->status == 200);
    CHECK(COMES(owners[0].releases == 1) && COMES(o->releases == 1));
    CHECK(owners[0].gones == 0 && o->gones == 0);
    // The next request of the connection has an owner of its own.
    client_send(&c, GET("/unasked"));
    CHECK(subject_await_suspended(&s, 1));
    client_close(&c);
    CHECK(subject_await_suspended(&s, 0) && subject_await_connections(&s, 0));
    // An owner that asks afterwards is told at once.
    o = owner_at(2);
    CHECK(o->gones == 0);
    want_to_know(o);
    CHECK(o->gones == 1 && o->releases == 0);
    respond_text(o->request, 200, "in vain");
    CHECK(o->releases == 1);
    subject_stop(&s, 1000);
}

static void *answer(void *request) {
    respond_text(request, 200, "late");
    return NULL;
}

// The answer comes while the request is taken away.
static void tells_amid_answers(void) {
    latchkey_http_options options = subject_options();
    options.answer_milliseconds = 20;
    // The watchdog looks four times in this time. A busy machine sends each request within it.
    options.request_milliseconds = 200;
    start_owning(options);
    for (unsigned i = 0; i < RACES; i++) {
        steps_delay(i % 2 ? STEP_BEFORE_RESUME : STEP_AFTER_RESUME, 1000);
        client_send(&c, GET("/late"));
        owner *o = owner_at(i);
        if (o->request == NULL) {
            break;
        }
        pause_milliseconds(20 + i);
        pthread_t other;
        pthread_create(&other, NULL, answer, o->request);
        int status = client_read(&c, false)->status;
        pthread_join(other, NULL);
        CHECK(status == 200 || status == 503);
        CHECK(COMES(o->releases == 1) && o->gones == (status == 503));
        reopen();
    }
    steps_delay(STEP_BEFORE_RESUME, 0);
    steps_delay(STEP_AFTER_RESUME, 0);
    client_close(&c);
    subject_stop(&s, 1000);
}

const test_case abandoned_cases[] = {
    {"tells owners of clients that left", tells_of_clients_that_left},
    {"tells owners of deadlines and of stop", tells_of_deadlines_and_stop},
    {"tells owners of clients before the deadline", tells_of_clients_before_the_deadline},
    {"tells two owners", tells_two_owners},
    {"says who may read an answer of its own", says_who_may_read},
    {"tells no owner of answers", tells_no_owner_of_answers},
    {"tells owners amid answers", tells_amid_answers},
    {NULL, NULL},
};
