// The C wrapper, driven over raw sockets.
//
// run.sh runs this under AddressSanitizer with LeakSanitizer, under the thread sanitizer, and under
// valgrind; on its own it is an ordinary test. Each case starts a server of its own, and checks at
// the end that every connection is gone and every body released.

#define _GNU_SOURCE  // memmem

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cases.h"

const char *case_name;
int failures;

subject s;
client c;

void start(void) {
    subject_start(&s, subject_options());
    CHECK(client_open(&c, s.port));
}

void stop(void) {
    client_close(&c);
    CHECK(subject_await_connections(&s, 0));
    latchkey_http_cut_off cut_off = subject_stop(&s, 1000);
    CHECK(cut_off.requests == 0 && cut_off.answers == 0);
}

void reopen(void) {
    client_close(&c);
    CHECK(client_open(&c, s.port));
}

void send_head(client *one, const char *path, size_t count, bool chunked, bool expects) {
    char head[300];
    char length[100] = "Transfer-Encoding: chunked";
    if (!chunked) {
        snprintf(length, sizeof(length), "Content-Length: %zu", count);
    }
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n%s\r\n", path, length,
             expects ? "Expect: 100-continue\r\n" : "");
    client_send(one, head);
}

bool body_is(const reply *r, const char *text) {
    return r->body_count == strlen(text) && memcmp(r->body, text, r->body_count) == 0;
}

const char *repeated(char byte, size_t count) {
    static char text[1 << 17];
    memset(text, byte, count);
    text[count] = '\0';
    return text;
}

static void answers_on_one_connection(void) {
    start();
    for (int i = 0; i < 20; i++) {
        client_send(&c, GET("/now"));
        CHECK(body_is(client_read(&c, false), "now"));
        client_send(&c, GET("/later"));
        reply *r = client_read(&c, false);
        CHECK(r->status == 200 && body_is(r, "later") && !r->closes);
        CHECK(strstr(r->head, "\r\nDate: ") != NULL);
    }
    CHECK(latchkey_http_measure(s.server).accepted_total == 1);
    client_send(&c, "HEAD /now HTTP/1.1\r\nHost: x\r\n\r\n" GET("/echo"));
    CHECK(strstr(client_read(&c, true)->head, "Content-Length: 3\r\n") != NULL);
    CHECK(client_read(&c, false)->body_count == 0);
    client_send(&c, "GET /now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    CHECK(client_read(&c, false)->closes && client_sees_end(&c));
    stop();
}

static void answers_pipelined_requests_in_order(void) {
    start();
    client_send(&c, GET("/1") GET("/later") GET("/2?a=b") GET("/later") GET("/later") GET("/3"));
    CHECK(body_is(client_read(&c, false), "/1 "));
    CHECK(body_is(client_read(&c, false), "later"));
    CHECK(body_is(client_read(&c, false), "/2 a=b"));
    CHECK(body_is(client_read(&c, false), "later"));
    CHECK(body_is(client_read(&c, false), "later"));
    CHECK(body_is(client_read(&c, false), "/3 "));
    stop();
}

static void hands_the_target_over_as_it_was_sent(void) {
    static const char *const cases[][2] = {
        {"/a%2Fb%20c+d", "/a%2Fb%20c+d "},
        {"/a?b=c&d=%41+e&f", "/a b=c&d=%41+e&f"},
        {"/a?", "/a "},
        {"/a??b", "/a ?b"},
        {"/a?b?c", "/a b?c"},
        {"http://host/a/b?c", "/a/b c"},
        {"HTTPS://host", "/ "},
        {"*", "* "},
        {"/\xc3\xa4", "/\xc3\xa4 "},
    };
    start();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[200];
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i][0]);
        client_send(&c, text);
        CHECK(body_is(client_read(&c, false), cases[i][1]));
    }
    stop();
}

static void hands_all_fields_over(void) {
    start();
    client_send(&c, "GET /fields HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"1\"\r\n"
                    "IF-NONE-MATCH:\t\"2\" \t\r\nEmpty:\r\nCookie: a=b\r\nBare: carriage\r\n\r\n");
    CHECK(body_is(client_read(&c, false), "Host=x\nIf-None-Match=\"1\"\nIF-NONE-MATCH=\"2\"\n"
                                          "Empty=\nCookie=a=b\nBare=carriage\n"));
    // More fields than there is room for in the connection object, byte by byte.
    char text[1000] = "GET /fields HTTP/1.1\r\nHost: x\r\n";
    char expected[1000] = "Host=x\n";
    for (int i = 0; i < 60; i++) {
        sprintf(text + strlen(text), "n%d: %d\r\n", i, i);
        sprintf(expected + strlen(expected), "n%d=%d\n", i, i);
    }
    strcat(text, "\r\n");
    for (size_t i = 0; text[i] != '\0'; i++) {
        client_send_bytes(&c, text + i, 1);
    }
    CHECK(body_is(client_read(&c, false), expected));
    stop();
}

static void reads_bodies(void) {
    start();
    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
    pause_milliseconds(5);
    client_send(&c, "lo" GET("/now"));
    CHECK(body_is(client_read(&c, false), "hello"));
    CHECK(body_is(client_read(&c, false), "now"));
    const char *chunked = "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                          "3\r\nabc\r\n0a;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
    for (size_t i = 0; chunked[i] != '\0'; i++) {
        client_send_bytes(&c, chunked + i, 1);
    }
    CHECK(body_is(client_read(&c, false), "abc0123456789"));
    client_send(&c, chunked);
    CHECK(body_is(client_read(&c, false), "abc0123456789"));
    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nheld" GET("/now"));
    CHECK(subject_await_suspended(&s, 1));
    CHECK(subject_let_go(1));
    CHECK(body_is(client_read(&c, false), "held"));
    CHECK(body_is(client_read(&c, false), "now"));
    stop();
}

static void asks_for_the_body(void) {
    start();
    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                    "Expect: 100-continue\r\n\r\n");
    CHECK(client_read(&c, true)->status == 100);
    client_send(&c, "hello");
    CHECK(body_is(client_read(&c, false), "hello"));
    // Too large: the answer comes at once, and the body is not read.
    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n"
                    "Expect: 100-continue\r\n\r\n");
    reply *r = client_read(&c, false);
    CHECK(r->status == 413 && r->closes && body_is(r, "rejected") && client_sees_end(&c));
    stop();
}

static void send_body(size_t count, bool chunked) {
    char size[20];
    send_head(&c, "/echo", count, chunked, false);
    snprintf(size, sizeof(size), "%zx\r\n", count);
    client_send(&c, chunked ? size : "");
    size_t rest = count;
    while (rest > 0) {
        size_t part = rest < 100000 ? rest : 100000;
        client_send_bytes(&c, repeated('b', part), part);
        rest -= part;
    }
    if (chunked) {
        client_send(&c, "\r\n0\r\n\r\n");
    }
}

static void bounds_the_body(void) {
    for (int chunked = 0; chunked <= 1; chunked++) {
        start();
        send_body(SUBJECT_BODY_BYTES_MAX, chunked);
        CHECK(body_is(client_read(&c, false), repeated('b', SUBJECT_BODY_BYTES_MAX)));
        send_body(SUBJECT_BODY_BYTES_MAX + 1, chunked);
        reply *r = client_read(&c, false);
        CHECK(r->status == 413 && r->closes && body_is(r, "rejected") && client_sees_end(&c));
        // Much larger, but the server reads it all, so that the client can read the answer.
        reopen();
        send_body(900000, chunked);
        r = client_read(&c, false);
        CHECK(r->status == 413 && r->closes && body_is(r, "rejected") && client_sees_end(&c));
        // Too large for that: a raw answer, after which the server soon stops reading. A body that
        // announces such a length gets it at once.
        reopen();
        send_body(3 << 20, chunked);
        r = client_read(&c, false);
        CHECK(r->status == 413 && r->closes && strstr(r->body, "Content Too Large") != NULL);
        stop();
    }
}

static int ask_long(const char *before, size_t count, const char *after) {
    client_send(&c, before);
    client_send_bytes(&c, repeated('a', count), count);
    return client_ask(&c, after);
}

static void bounds_target_and_head(void) {
    static const char end[] = " HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char field[] = "GET /now HTTP/1.1\r\nHost: x\r\nA: ";
    size_t target_rest = SUBJECT_TARGET_BYTES_MAX - strlen("/p?");
    size_t head_rest = SUBJECT_HEAD_BYTES_MAX - strlen(field) - strlen("\r\n\r\n");
    start();
    CHECK(ask_long("GET /p?", target_rest, end) == 200);
    CHECK(ask_long("GET /p?", target_rest + 1, end) == 414);
    CHECK(ask_long(field, head_rest, "\r\n\r\n") == 200);
    // The connection is still usable.
    CHECK(client_ask(&c, GET("/now")) == 200);
    CHECK(ask_long(field, head_rest + 1, "\r\n\r\n") == 431);
    reopen();
    CHECK(ask_long(field, 20000, "\r\n\r\n") == 431);
    reopen();
    CHECK(ask_long("GET /", 20000, end) == 414);
    stop();
}

// The status for bytes that are not a proper request, on a connection of its own.
static int status_for(const char *bytes, size_t count) {
    client bad;
    CHECK(client_open(&bad, s.port));
    client_send_bytes(&bad, bytes, count);
    client_end(&bad);
    int status = client_read(&bad, false)->status;
    client_close(&bad);
    return status;
}

#define STATUS_FOR(literal) status_for(literal, sizeof(literal) - 1)

static void refuses_malformed_requests(void) {
    start();
    CHECK(STATUS_FOR("GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a\0 HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GE\0T /a HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a?b\0c HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a?\0c HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET  /a HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nA\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n") == 400);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                     "Content-Length: 1\r\n\r\na") == 400);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\na") == 501);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\na") == 400);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\na") == 400);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n"
                     "\r\na") == 413);
    CHECK(STATUS_FOR("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n") ==
          400);
    CHECK(STATUS_FOR("GET /a HTTP/2.0\r\nHost: x\r\n\r\n") == 400);
    CHECK(STATUS_FOR("GET /now HTTP/1.0\r\n\r\n") == 200);
    CHECK(STATUS_FOR("\r\n\r\nGET /now HTTP/1.1\r\nHost: x\r\n\r\n") == 200);
    stop();
}

static void survives_junk(void) {
    start();
    unsigned seed = 7;
    for (int round = 0; round < 60; round++) {
        char junk[512];
        for (size_t i = 0; i < sizeof(junk); i++) {
            junk[i] = (char)rand_r(&seed);
        }
        if (round % 3 == 0) {
            memcpy(junk, "GET / HTTP/1.1\r\nHost: x\r\n", 25);
        }
        if (round % 2 == 0) {
            memcpy(junk + sizeof(junk) - 4, "\r\n\r\n", 4);
        }
        int status = status_for(junk, sizeof(junk));
        CHECK(status == 0 || status == 200 || status >= 400);
    }
    int tls = STATUS_FOR("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n");
    CHECK(tls == 0 || tls == 400);
    CHECK(client_ask(&c, GET("/now")) == 200);
    stop();
}

static void answers_half_closed_clients(void) {
    start();
    static const char *const paths[] = {"/now", "/later", "/hold"};
    for (size_t i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        client half;
        CHECK(client_open(&half, s.port));
        client_send(&half, text);
        if (i == 2) {
            CHECK(subject_await_suspended(&s, 1));
        }
        client_end(&half);
        if (i == 2) {
            pause_milliseconds(20);
            CHECK(subject_let_go(1));
        }
        CHECK(client_read(&half, false)->status == 200);
        CHECK(client_sees_end(&half));
        client_close(&half);
    }
    stop();
}

static void outlives_clients_that_vanish(void) {
    start();
    client gone[8];
    for (size_t i = 0; i < 8; i++) {
        CHECK(client_open(&gone[i], s.port));
        client_send(&gone[i], i % 2 ? GET("/hold")
                                    : "PUT /hold HTTP/1.1\r\nHost: x\r\n"
                                      "Content-Length: 3\r\n\r\nabc");
    }
    CHECK(subject_await_held(8));
    for (size_t i = 0; i < 8; i++) {
        if (i < 4) {
            client_reset(&gone[i]);
        } else {
            client_close(&gone[i]);
        }
    }
    pause_milliseconds(20);
    CHECK(subject_let_go(8));
    CHECK(subject_await_connections(&s, 1));
    // In the middle of a head, of a body, and of an answer.
    CHECK(client_open(&gone[0], s.port) && client_open(&gone[1], s.port));
    CHECK(client_open(&gone[2], s.port) && client_open(&gone[3], s.port));
    client_send(&gone[0], "GET /now HT");
    client_send(&gone[1], "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    client_send(&gone[2], GET("/big"));
    client_send(&gone[3], GET("/later"));
    pause_milliseconds(20);
    for (size_t i = 0; i < 4; i++) {
        client_reset(&gone[i]);
    }
    CHECK(subject_await_connections(&s, 1));
    CHECK(client_ask(&c, GET("/now")) == 200);
    stop();
}

static void bounds_connections(void) {
    latchkey_http_options options = subject_options();
    options.connections_max = 3;
    subject_start(&s, options);
    client many[4];
    for (size_t i = 0; i < 4; i++) {
        CHECK(client_open(&many[i], s.port));
        client_send(&many[i], GET("/now"));
        reply *r = client_read(&many[i], false);
        CHECK(r->status == (i < 3 ? 200 : 503) && r->closes == (i == 3));
    }
    CHECK(client_sees_end(&many[3]));
    // A refused connection that says nothing does not stay.
    client_close(&many[3]);
    CHECK(client_open(&many[3], s.port) && client_sees_end(&many[3]));
    client_close(&many[0]);
    CHECK(subject_await_connections(&s, 2));
    CHECK(client_open(&c, s.port) && client_ask(&c, GET("/now")) == 200);
    for (size_t i = 1; i < 4; i++) {
        client_close(&many[i]);
    }
    CHECK(latchkey_http_measure(s.server).refused_total == 2);
    stop();
}

static void counts_by_address_what_it_serves(void) {
    latchkey_http_network proxy = {{{[10] = 0xff, [11] = 0xff, 127, 0, 0, 9}}, 128};
    latchkey_http_options options = subject_options();
    options.connections_max = 6;
    options.connections_per_address_max = 2;
    options.proxies = &proxy;
    options.proxy_count = 1;
    subject_start(&s, options);
    memset(&proxy, 0, sizeof(proxy));
    // The address, and the answer to its request: refused connections stay, but take no place.
    static const struct {
        uint8_t from;
        int status;
    } steps[] = {
        {1, 200}, {1, 200}, {1, 429}, {2, 200}, {2, 200}, {2, 429}, {9, 200}, {9, 200}, {9, 503},
    };
    enum { STEPS = sizeof(steps) / sizeof(*steps), SILENT = 20 };
    static client many[STEPS];
    static client silent[SILENT];
    for (size_t i = 0; i < STEPS; i++) {
        CHECK(client_open_from(&many[i], s.port, steps[i].from));
        CHECK(client_ask(&many[i], GET("/now")) == steps[i].status);
        for (size_t k = 0; i == 2 && k < SILENT; k++) {
            CHECK(client_open_from(&silent[k], s.port, 1));
        }
        CHECK(i != 2 || subject_await_connections(&s, 2 + SILENT));
    }
    latchkey_http_statistics now = latchkey_http_measure(s.server);
    CHECK(now.refused_total == 3 + SILENT && now.refused_share_total == 2 + SILENT);
    for (size_t i = 0; i < STEPS; i++) {
        client_close(&many[i]);
    }
    for (size_t i = 0; i < SILENT; i++) {
        client_close(&silent[i]);
    }
    CHECK(subject_await_connections(&s, 0));
    // All counters are at 0 again.
    CHECK(client_open_from(&many[0], s.port, 1) && client_ask(&many[0], GET("/now")) == 200);
    CHECK(client_open(&c, s.port) && client_ask(&c, GET("/now")) == 200);
    client_close(&many[0]);
    stop();
}

static void ends_what_takes_too_long(void) {
    latchkey_http_options options = subject_options();
    options.idle_milliseconds = 600;
    options.request_milliseconds = 300;
    subject_start(&s, options);
    client slow[6];
    for (size_t i = 0; i < 6; i++) {
        CHECK(client_open(&slow[i], s.port));
    }
    CHECK(client_ask(&slow[1], GET("/now")) == 200);
    client_send(&slow[0], "GET /now HTTP/1.1\r\nHo");  // stalls in the head
    client_send(&slow[2], "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
    client_send(&slow[4], GET("/big"));               // does not read
    CHECK(client_ask(&slow[5], GET("/now")) == 200);  // goes idle
    pause_milliseconds(200);
    for (int i = 0; i < 12; i++) {
        client_send(&slow[1], i == 0 ? "G" : i == 1 ? "E" : "x");  // an endless request line
        client_send(&slow[2], "b");                                // an endless body
        client_send(&slow[3], i == 0 ? "GET /now HTTP/1.1\r\nA: " : "x");  // an endless header
        pause_milliseconds(60);
    }
    for (size_t i = 0; i < 4; i++) {
        reply *r = client_read(&slow[i], false);
        CHECK(r->status == 408 && r->closes && strstr(r->body, "Request Timeout") != NULL);
        CHECK(strstr(r->head, "application/problem+json") != NULL);
        CHECK(client_sees_end(&slow[i]));
    }
    CHECK(client_sees_end(&slow[5]));
    CHECK(subject_await_connections(&s, 0));
    CHECK(latchkey_http_measure(s.server).timed_out_total == 6);
    // A handler may be slow, and a client may read slowly.
    CHECK(client_open(&c, s.port));
    client_send(&c, GET("/hold"));
    pause_milliseconds(1000);
    CHECK(subject_let_go(1) && client_read(&c, false)->status == 200);
    for (size_t i = 0; i < 6; i++) {
        client_close(&slow[i]);
    }
    stop();
}

static void drains(void) {
    start();
    client idle, other;
    CHECK(client_open(&idle, s.port) && client_ask(&idle, GET("/now")) == 200);
    client_send(&c, GET("/hold"));
    CHECK(subject_await_suspended(&s, 1));
    latchkey_http_quiesce(s.server);
    latchkey_http_quiesce(s.server);
    CHECK(!client_open(&other, s.port));
    client_send(&idle, GET("/now"));
    reply *r = client_read(&idle, false);
    CHECK(r->status == 503 && r->closes && body_is(r, "rejected") && client_sees_end(&idle));
    CHECK(subject_let_go(1));
    r = client_read(&c, false);
    CHECK(r->status == 200 && r->closes && client_sees_end(&c));
    client_close(&idle);
    stop();
}

static void takes_unanswered_requests_away(void) {
    start();
    client other;
    CHECK(client_open(&other, s.port));
    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    client_send(&other, GET("/hold"));
    CHECK(subject_await_suspended(&s, 2));
    client_reset(&other);
    // The answers come after the server is gone; subject_stop() gives them.
    CHECK(subject_stop(&s, 50).requests == 2);
    reply *r = client_read(&c, false);
    CHECK(r->status == 500 && r->closes && strstr(r->body, "\"status\":500") != NULL);
    CHECK(strstr(r->head, "application/problem+json") != NULL && client_sees_end(&c));
    client_close(&c);
}

// A request without effect was not applied, whatever its handler does later.
static void says_that_a_read_was_not_served(void) {
    start();
    client_send(&c, GET("/hold"));
    CHECK(subject_await_suspended(&s, 1));
    CHECK(subject_stop(&s, 0).requests == 1);
    reply *r = client_read(&c, false);
    CHECK(r->status == 503 && r->closes && strstr(r->body, "\"status\":503") != NULL);
    CHECK(strstr(r->head, "Retry-After: 1") != NULL && client_sees_end(&c));
    client_close(&c);
}

static void stops_with_open_connections(void) {
    start();
    client open[3];
    for (size_t i = 0; i < 3; i++) {
        CHECK(client_open(&open[i], s.port));
    }
    client_send(&open[0], "GET /no");
    client_send(&open[1], "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
    client_send(&open[2], GET("/big"));
    CHECK(COMES(latchkey_http_measure(s.server).answering > 0));
    // The big answer does not fit into the kernel's buffers.
    latchkey_http_cut_off cut_off = subject_stop(&s, 50);
    CHECK(cut_off.requests == 0 && cut_off.answers == 1);
    for (size_t i = 0; i < 3; i++) {
        client_close(&open[i]);
    }
    client_close(&c);
}

static void reports_why_it_cannot_start(void) {
    latchkey_http_failure failure;
    latchkey_http_options options = subject_options();
    options.host = "256.0.0.1";
    CHECK(latchkey_http_start(&options, &failure) == NULL);
    CHECK(failure.call != NULL && strcmp(failure.call, "getaddrinfo") == 0);
    start();
    options = subject_options();
    options.port = s.port;
    CHECK(latchkey_http_start(&options, &failure) == NULL);
    CHECK(failure.call != NULL && strcmp(failure.call, "bind") == 0);
    stop();
}

// A client of the crowd: a bit of everything, and sometimes it leaves in the middle.
static void *crowd(void *context) {
    unsigned seed = (unsigned)(uintptr_t)context;
    client *one = malloc(sizeof(client));
    for (int round = 0; round < 40; round++) {
        if (!client_open(one, s.port)) {
            continue;
        }
        for (int i = 0; i < 8; i++) {
            switch (rand_r(&seed) % 6) {
            case 0:
                CHECK(client_ask(one, GET("/now")) == 200);
                break;
            case 1:
                CHECK(client_ask(one, GET("/later")) == 200);
                break;
            case 2:
                client_send(one, GET("/later") GET("/now") GET("/later"));
                for (int k = 0; k < 3; k++) {
                    CHECK(client_read(one, false)->status == 200);
                }
                break;
            case 3:
                CHECK(client_ask(one, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                                      "\r\nabc") == 200);
                break;
            case 4:
                client_send(one, GET("/later"));
                i = 8;
                break;
            default:
                client_send(one, GET("/later") "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-L");
                i = 8;
                break;
            }
        }
        if (rand_r(&seed) % 2 == 0) {
            client_reset(one);
        } else {
            client_close(one);
        }
    }
    free(one);
    return NULL;
}

static void serves_a_crowd(void) {
    start();
    pthread_t clients[6];
    for (uintptr_t i = 0; i < 6; i++) {
        pthread_create(&clients[i], NULL, crowd, (void *)(i + 1));
    }
    for (size_t i = 0; i < 6; i++) {
        pthread_join(clients[i], NULL);
    }
    CHECK(client_ask(&c, GET("/now")) == 200);
    stop();
}

// Stops while the crowd is busy, so that all operations race with each other.
static void stops_under_load(void) {
    for (int round = 0; round < 5; round++) {
        start();
        static client busy[16];
        for (size_t i = 0; i < 16; i++) {
            CHECK(client_open(&busy[i], s.port));
            client_send(&busy[i], GET("/later") GET("/now") GET("/later") GET("/later"));
        }
        pause_milliseconds((uint32_t)round);
        CHECK(subject_stop(&s, round % 2 ? 1000 : 0).requests <= 16);
        for (size_t i = 0; i < 16; i++) {
            client_close(&busy[i]);
        }
        client_close(&c);
    }
}

static const test_case cases[] = {
    {"answers now and later on one connection", answers_on_one_connection},
    {"answers pipelined requests in order", answers_pipelined_requests_in_order},
    {"hands the target over as it was sent", hands_the_target_over_as_it_was_sent},
    {"hands all fields over", hands_all_fields_over},
    {"reads bodies, with a length and in chunks", reads_bodies},
    {"asks for a body that waits, unless it is too large", asks_for_the_body},
    {"bounds the body", bounds_the_body},
    {"bounds target and head", bounds_target_and_head},
    {"refuses malformed requests", refuses_malformed_requests},
    {"survives junk", survives_junk},
    {"answers half-closed clients", answers_half_closed_clients},
    {"outlives clients that vanish", outlives_clients_that_vanish},
    {"bounds connections", bounds_connections},
    {"counts by address what it serves", counts_by_address_what_it_serves},
    {"ends what takes too long", ends_what_takes_too_long},
    {"drains", drains},
    {"takes unanswered requests away at the end", takes_unanswered_requests_away},
    {"says that a read was not served", says_that_a_read_was_not_served},
    {"stops with open connections", stops_with_open_connections},
    {"reports why it cannot start", reports_why_it_cannot_start},
    {"serves a crowd", serves_a_crowd},
    {"stops under load", stops_under_load},
    {NULL, NULL},
};

static void run_all(const test_case *all, const char *part) {
    for (const test_case *one = all; one->name != NULL; one++) {
        if (part != NULL && strstr(one->name, part) == NULL) {
            continue;
        }
        case_name = one->name;
        puts(case_name);
        fflush(stdout);
        one->run();
    }
}

// http_test [PART OF A NAME]
int main(int count, char **words) {
    const test_case *const all[] = {cases,           arrival_cases, body_cases,      fault_cases,
                                    abandoned_cases, head_cases,    lines_cases,     steps_cases,
                                    stream_cases,    pieces_cases,  stream_end_cases};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        run_all(all[i], count > 1 ? words[1] : NULL);
    }
    printf(failures == 0 ? "all passed\n" : "%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
