// Checks bytes of clients before the library reads them, however they are cut into pieces.

#include <linux/sockios.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "cases.h"

#define ECHO "PUT /echo HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED ECHO "Transfer-Encoding: chunked\r\n\r\n"
#define LAST "0\r\n\r\n"

typedef struct variant {
    const char *text;
    size_t count;
    int status;
    const char *body;  // of a 200
} variant;

#define VARIANT(text, ...)                                                                         \
    { text, sizeof(text) - 1, __VA_ARGS__ }
#define GOOD(text, body) VARIANT(text, 200, body)
#define BAD(text) VARIANT(text, 400, "rejected")

// RFC 9112, sections 2.2, 3, 5 and 7.1.
static const variant variants[] = {
    GOOD(CHUNKED "5\r\n12345\r\n" LAST, "12345"),
    GOOD(CHUNKED "2\r\n12\r\n3\r\n345\r\n" LAST, "12345"),
    GOOD(CHUNKED "0005\r\n12345\r\n000\r\n\r\n", "12345"),
    GOOD(CHUNKED "a\r\n1234567890\r\nA\r\n1234567890\r\n" LAST, "12345678901234567890"),
    GOOD(CHUNKED "5;a\r\n12345\r\n0;b=c\r\n\r\n", "12345"),
    GOOD(CHUNKED "5 ;a=\"b;c\"\t; d\r\n12345\r\n" LAST, "12345"),
    GOOD(CHUNKED "5;a = \"b\\\"; c\" ; d=e\r\n12345\r\n" LAST, "12345"),
    GOOD(CHUNKED "5\r\n12345\r\n0\r\nA: b\r\nC:\r\n\r\n", "12345"),
    GOOD(CHUNKED "6\r\n\r\n0\r\n\n\r\n" LAST, "\r\n0\r\n\n"),
    GOOD(ECHO "transfer-encoding:chunked \t\r\n\r\n1\r\na\r\n" LAST, "a"),
    GOOD(ECHO "Content-Length: 3 \r\n\r\n\r\n\n", "\r\n\n"),
    GOOD("\r\n\r\nGET /target?a?b HTTP/1.1\r\nHost: x\r\n\r\n", "/target a?b"),
    GOOD("GET /now HTTP/1.0\r\n\r\n", "now"),
    GOOD("GET /now HTTP/1.9\r\nHost: x\r\nA:\tb\r\n\r\n", "now"),
    // A proxy for which the first line feed is part of the line sees no second request there.
    BAD(CHUNKED "1;\n1\r\nDELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n" LAST),
    BAD(CHUNKED "5\n12345\r\n" LAST),
    BAD(CHUNKED "5\r12345\r\n" LAST),
    BAD(CHUNKED "5\r\r\n12345\r\n" LAST),
    BAD(CHUNKED "5\r\n12345\n" LAST),
    BAD(CHUNKED "5\r\n12345\r" LAST),
    BAD(CHUNKED "5\r\n12345" LAST),
    BAD(CHUNKED "5\r\n123456\r\n" LAST),
    BAD(CHUNKED "4\r\n12345\r\n" LAST),
    BAD(CHUNKED " 5\r\n12345\r\n" LAST),
    BAD(CHUNKED "5 \r\n12345\r\n" LAST),
    BAD(CHUNKED "5\t\r\n12345\r\n" LAST),
    BAD(CHUNKED "5 a\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a\nb\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a\rb\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a\0b\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a\x7f\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;\r\n12345\r\n" LAST),
    BAD(CHUNKED "5; \r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a \r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a b\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a=\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;=a\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a=b c\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a=\"b\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a=\"b\\\"\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;a=\"b\"c\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;;a\r\n12345\r\n" LAST),
    BAD(CHUNKED "5;(\r\n12345\r\n" LAST),
    BAD(CHUNKED "0x5\r\n12345\r\n" LAST),
    BAD(CHUNKED "-5\r\n12345\r\n" LAST),
    BAD(CHUNKED ";a\r\n12345\r\n" LAST),
    BAD(CHUNKED "\r\n5\r\n12345\r\n" LAST),
    BAD(CHUNKED "5\r\n12345\r\n0\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\n\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\nA: b\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\nA b\r\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\nA : b\r\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\n A: b\r\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\nA: b\r\n c\r\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\nA: \0\r\n\r\n"),
    BAD(CHUNKED "5\r\n12345\r\n0\r\nA: b\rc\r\n\r\n"),
    BAD("GET /now HTTP/1.1\nHost: x\n\n"),
    BAD("GET /now HTTP/1.1\r\nHost: x\n\r\n"),
    BAD("GET /now HTTP/1.1\r\nHost: x\r\n\n"),
    BAD("\nGET /now HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD("GET /now HTTP/1.1\r\nHost: x\r\nA: b\r\r\n\r\n"),
    BAD("GET /now HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"),
    BAD("GET /now HTTP/1.1\r\n Host: x\r\n\r\n"),
    BAD("GET /now HTTP/1.1\r\nHost: x\r\n \r\n\r\n"),
    BAD("GET\t/now HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD("GET /now\tHTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD("GET /n w HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD("GET /now HTTP/1.1 \r\nHost: x\r\n\r\n"),
    BAD("GET /now HTTP/1.10\r\nHost: x\r\n\r\n"),
    BAD("GET /now http/1.1\r\nHost: x\r\n\r\n"),
    BAD("GET /now\r\n\r\n"),
    BAD("G / HTTP/1.0\r\n\x01: b\r\n\r\n"),
    BAD("GET /now HTTP/1.1\r\nHost: x\r\n~ookie: a=b\r\n\r\n"),
    BAD(ECHO "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" LAST),
    BAD(ECHO "Content-Length: 1, 1\r\n\r\na"),
};

static void say_origin(void *context, latchkey_http_request *request) {
    (void)context;
    char text[100] = "none";
    size_t index = latchkey_http_find(request, "origin", strlen("origin"), 0);
    if (index < request->field_count) {
        latchkey_http_bytes value = request->fields[index].value;
        snprintf(text, sizeof(text), "%.*s", (int)value.count, value.bytes);
    }
    respond_text(request, 400, text);
}

// Sends bytes in pieces: of one byte, or of a random length up to `most`. The server reads each
// alone: this end of a socket pair knows what the other end has not read yet.
static void send_pieces(const char *bytes, size_t count, size_t most, unsigned *seed) {
    for (size_t sent = 0; sent < count;) {
        size_t piece = 1 + (size_t)rand_r(seed) % most;
        piece = piece < count - sent ? piece : count - sent;
        client_send_bytes(&c, bytes + sent, piece);
        sent += piece;
        for (int unread = 1; unread > 0 && ioctl(c.socket, SIOCOUTQ, &unread) == 0;) {
            sched_yield();
        }
    }
}

static void checks_variant(const variant *v, size_t most, unsigned *seed) {
    // After a request that is answered later, and before one that must not be handled.
    static const char before[] = GET("/later");
    static const char behind[] = GET("/target?behind");
    char text[1000];
    size_t count = 0;
    memcpy(text, before, sizeof(before) - 1);
    count += sizeof(before) - 1;
    memcpy(text + count, v->text, v->count);
    count += v->count;
    memcpy(text + count, behind, sizeof(behind) - 1);
    count += sizeof(behind) - 1;
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK(latchkey_http_join(s.server, pair[0]));
    c = (client){.socket = pair[1]};
    send_pieces(text, count, most, seed);
    CHECK(body_is(client_read(&c, false), "later"));
    reply *r = client_read(&c, false);
    CHECK(r->status == v->status && body_is(r, v->body) &&
          r->closes == (v->status != 200 || strstr(v->text, "HTTP/1.0") != NULL));
    if (r->status != v->status || !body_is(r, v->body)) {
        printf("%d %s: %s\n", r->status, r->body, v->text);
    }
    if (r->closes) {
        CHECK(client_sees_end(&c));
    } else {
        CHECK(body_is(client_read(&c, false), "/target behind"));
    }
    client_close(&c);
}

static void means_one_thing_in_all_pieces(void) {
    unsigned seed = 1;
    start();
    client_close(&c);
    for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
        checks_variant(&variants[i], 1000, &seed);
        checks_variant(&variants[i], 1, &seed);
        checks_variant(&variants[i], 15, &seed);
    }
    CHECK(latchkey_http_measure(s.server).library_refused_total == 0);
    CHECK(client_open(&c, s.port));
    stop();
}

// A page of another origin can read why its request was refused.
static void keeps_the_origin_of_refusals(void) {
    static const char *const heads[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nORIGIN: \thttps://a.example \r\nTransfer-Encoding: "
        "gzip\r\n\r\n",
        "GET / HTTP/1.1\r\nOrigin:https://a.example\r\nbad line\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\x01\r\n\r\n",
    };
    latchkey_http_options options = subject_options();
    options.handler = say_origin;
    subject_start(&s, options);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        CHECK(client_open(&c, s.port));
        client_send(&c, heads[i]);
        CHECK(body_is(client_read(&c, false), i < 2 ? "https://a.example" : "none"));
        client_close(&c);
    }
    CHECK(client_open(&c, s.port));
    stop();
}

static int ask_chunked(const char *before, size_t count, const char *after) {
    CHECK(client_open(&c, s.port));
    client_send(&c, CHUNKED);
    client_send(&c, before);
    client_send_bytes(&c, repeated('x', count), count);
    client_send(&c, after);
    int status = client_read(&c, false)->status;
    client_close(&c);
    return status;
}

static void bounds_extensions(void) {
    start();
    client_close(&c);
    // The limit of a line; a line is complete only with its end of two bytes.
    enum { MOST = 16384 };
    CHECK(ask_chunked("1;", MOST - 5, "\r\na\r\n" LAST) == 200);
    CHECK(ask_chunked("1;", MOST, "\r\na\r\n" LAST) == 400);
    CHECK(ask_chunked("1;", 20000, "\r\na\r\n" LAST) == 400);
    CHECK(ask_chunked("1;", 50000, "") == 400);
    // The extensions of all chunks together.
    CHECK(ask_chunked("1;", MOST / 2 - 4, "\r\na\r\n1;b\r\na\r\n" LAST) == 200);
    char many[5000] = "";
    for (int i = 0; i < 60; i++) {
        strcat(many, "1;");
        strcat(many, repeated('e', 60));
        strcat(many, "\r\na\r\n");
    }
    CHECK(ask_chunked(many, 0, LAST) == 200);
    CHECK(client_open(&c, s.port));
    client_send(&c, CHUNKED);
    for (int i = 0; i < 8; i++) {
        client_send(&c, many);
    }
    CHECK(client_read(&c, false)->status == 400);
    client_close(&c);
    // A HEAD is refused without a body.
    CHECK(client_open(&c, s.port));
    client_send(&c, "HEAD / HTTP/1.1\r\nbad line\r\n\r\n");
    CHECK(client_read(&c, true)->status == 400 && client_sees_end(&c));
    client_close(&c);
    // A size that no length holds.
    CHECK(ask_chunked("10000000000000000", 0, "\r\na\r\n" LAST) == 413);
    CHECK(client_open(&c, s.port));
    stop();
}

// A pipeline that is longer than the library's buffer. Some of its requests are suspended.
static void keeps_long_pipelines_in_order(void) {
    enum { REQUESTS = 2000 };
    start();
    size_t capacity = REQUESTS * 64;
    char *text = malloc(capacity);
    size_t count = 0;
    for (int i = 0; i < REQUESTS; i++) {
        count += (size_t)snprintf(text + count, capacity - count,
                                  "GET /%s?%d HTTP/1.1\r\nHost: x\r\nA: b \r\n\r\n",
                                  i % 50 == 7 ? "later" : "target", i);
    }
    size_t sent = 0;
    for (int i = 0; i < REQUESTS; i++) {
        // So many bytes ahead that both sides' buffers hold them.
        while (sent < count && sent < (size_t)(i + 800) * 40) {
            size_t piece = count - sent < 1777 ? count - sent : 1777;
            client_send_bytes(&c, text + sent, piece);
            sent += piece;
        }
        char expected[40];
        snprintf(expected, sizeof(expected), "/target %d", i);
        CHECK(body_is(client_read(&c, false), i % 50 == 7 ? "later" : expected));
    }
    free(text);
    stop();
}

// A part of a head after another request has its deadline.
static void times_parts_of_heads(void) {
    latchkey_http_options options = subject_options();
    options.request_milliseconds = 400;
    options.idle_milliseconds = 0;
    subject_start(&s, options);
    CHECK(client_open(&c, s.port));
    client_send(&c, GET("/now") "GET /now HTTP/1.1\r\nHo");
    CHECK(client_read(&c, false)->status == 200);
    CHECK(client_read(&c, false)->status == 408 && client_sees_end(&c));
    stop();
}

// As if the library did not read by recv().
struct connection;
static atomic_bool is_bypassed;
bool __real_latchkey_http_arrival_begin(struct connection *one);
bool __wrap_latchkey_http_arrival_begin(struct connection *one);
bool __wrap_latchkey_http_arrival_begin(struct connection *one) {
    return atomic_load(&is_bypassed) || __real_latchkey_http_arrival_begin(one);
}

static void checks_the_library(void) {
    char reason[200] = "";
    CHECK(latchkey_http_check(reason, sizeof(reason)));
    CHECK(strcmp(reason, "") == 0);
    atomic_store(&is_bypassed, true);
    CHECK(!latchkey_http_check(reason, sizeof(reason)));
    atomic_store(&is_bypassed, false);
    CHECK(strstr(reason, latchkey_http_library_version()) != NULL);
    CHECK(strstr(reason, " answers a") != NULL);
}

static atomic_bool is_unknown;
const char *__real_MHD_get_version(void);
const char *__wrap_MHD_get_version(void);
const char *__wrap_MHD_get_version(void) {
    return atomic_load(&is_unknown) ? "9.9.9" : __real_MHD_get_version();
}

static void says_that_the_library_is_unknown(void) {
    for (int unknown = 0; unknown <= 1; unknown++) {
        atomic_store(&is_unknown, unknown);
        start();
        CHECK(subject_log_has("was not tested") == (bool)unknown);
        CHECK(subject_log_count() == (uint32_t)unknown);
        stop();
    }
    atomic_store(&is_unknown, false);
}

const test_case arrival_cases[] = {
    {"checks the library", checks_the_library},
    {"says that the library is unknown", says_that_the_library_is_unknown},
    {"means one thing, in whatever pieces", means_one_thing_in_all_pieces},
    {"keeps the origin of refusals", keeps_the_origin_of_refusals},
    {"bounds the extensions of chunks", bounds_extensions},
    {"keeps long pipelines in order", keeps_long_pipelines_in_order},
    {"times parts of heads", times_parts_of_heads},
    {NULL, NULL},
};
