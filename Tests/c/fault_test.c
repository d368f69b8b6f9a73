// Shields users of the wrapper from faults of libmicrohttpd, and from clients that use them.

#define _GNU_SOURCE  // memmem

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "cases.h"
#include "library/log.h"

enum { STORM_CONNECTIONS = 48, STORM_ROUNDS = 8 };

static int ask_once(const char *text) {
    client one;
    CHECK(client_open(&one, s.port));
    int status = client_ask(&one, text);
    client_close(&one);
    return status;
}

// Sends heads without a colon in a line, which libmicrohttpd answers by itself, over and over.
static void *send_bad_heads(void *context) {
    client *many = context;
    while (true) {
        for (size_t i = 0; i < STORM_CONNECTIONS / 2; i++) {
            if (!client_open(&many[i], s.port)) {
                for (size_t k = 0; k < i; k++) {
                    client_close(&many[k]);
                }
                return NULL;
            }
            client_send(&many[i], "GET / HTTP/1.1\r\nHost: x\r\nno");
        }
        for (size_t i = 0; i < STORM_CONNECTIONS / 2; i++) {
            client_send(&many[i], " colon\r\n\r\n");
        }
        for (size_t i = 0; i < STORM_CONNECTIONS / 2; i++) {
            client_close(&many[i]);
        }
    }
}

static void stops_among_heads_that_are_refused(void) {
    for (int round = 0; round < STORM_ROUNDS; round++) {
        start();
        static client many[STORM_CONNECTIONS];
        pthread_t senders[2];
        for (size_t i = 0; i < 2; i++) {
            pthread_create(&senders[i], NULL, send_bad_heads, &many[i * STORM_CONNECTIONS / 2]);
        }
        CHECK(COMES(latchkey_http_measure(s.server).accepted_total >= 20));
        CHECK(subject_stop(&s, 0).requests == 0);
        for (size_t i = 0; i < 2; i++) {
            pthread_join(senders[i], NULL);
        }
        client_close(&c);
    }
}

static void answers_early_rejections_later(void) {
    start();
    static const struct {
        const char *head;
        int status;
    } heads[] = {
        {"PUT /later HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        {"PUT /later HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nA : b\r\n\r\n", 400},
        {"PUT /later HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n"
         "Expect: 100-continue\r\n\r\n",
         413},
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        client one;
        CHECK(client_open(&one, s.port));
        client_send(&one, heads[i].head);
        reply *r = client_read(&one, false);
        CHECK(r->status == heads[i].status && r->closes && client_sees_end(&one));
        client_close(&one);
    }
    stop();
}

static void refuses_what_the_library_would_misread(void) {
    start();
    static const char put[] = "PUT /echo HTTP/1.1\r\nHost: x\r\n";
    static const struct {
        const char *line;
        int status;
    } lines[] = {
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {"Transfer-Encoding: chunked\v\r\n\r\n0\r\n\r\n", 400},
        {"Content-Length: 9223372036854775807\r\n\r\n", 413},
        {"Content-Length: 9223372036854775808\r\n\r\n", 413},
        {"Content-Length: 18446744073709551615\r\n\r\n", 413},
        {"Content-Length: 18446744073709551616\r\n\r\n", 413},
        {"Content-Length: \r\n\r\n", 400},
        {"Content-Length: 5 5\r\n\r\n", 400},
        {"Content-Length: +5\r\n\r\n", 400},
        {"Host: y\r\n\r\n", 400},
    };
    // Another connection of the same thread is in the middle of a head, and stays as it is.
    client_send(&c, put);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        char text[200];
        snprintf(text, sizeof(text), "%s%s", put, lines[i].line);
        for (int pieces = 1; pieces <= 2; pieces++) {
            client one;
            CHECK(client_open(&one, s.port));
            if (pieces == 2) {
                client_send_bytes(&one, text, strlen(put));
                pause_milliseconds(5);
            }
            client_send(&one, text + (pieces == 2 ? strlen(put) : 0));
            // One answer and no more bytes.
            CHECK(client_read(&one, false)->status == lines[i].status && client_sees_end(&one));
            client_close(&one);
        }
    }
    CHECK(client_ask(&c, "Content-Length: 2\r\n\r\nok") == 200);
    // A body that is announced but not sent, and a request after it.
    client_send(&c, "GET /now HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n" GET("/echo"));
    // Whether the client is asked for it is the library's choice.
    if (client_read(&c, true)->status == 100) {
        client_read(&c, true);
    }
    client_consume(&c, strlen("now"));
    CHECK(client_read(&c, false)->status == 200);
    stop();
}

static void checks_hosts_and_methods(void) {
    start();
    static const struct {
        const char *target;
        const char *host;
        int status;
        const char *authority;
    } cases[] = {
        {"/host", "Example.org:8080", 200, "Example.org:8080"},
        {"/host", "[::1]:80", 200, "[::1]:80"},
        {"/host", "", 200, ""},
        {"/host", "a:", 200, "a:"},
        {"http://a.b/host", "c", 200, "a.b"},
        {"/host", "a%41%2f.b:1", 200, "a%41%2f.b:1"},
        // All the others that are refused: Tests/hostile/variants.py.
        {"/host", "a%4", 400, NULL},
        {"http://u@a/host", "x", 400, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[200];
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", cases[i].target,
                 cases[i].host);
        client one;
        CHECK(client_open(&one, s.port));
        client_send(&one, text);
        reply *r = client_read(&one, false);
        CHECK(r->status == cases[i].status);
        CHECK(cases[i].authority == NULL || body_is(r, cases[i].authority));
        client_close(&one);
    }
    CHECK(ask_once("G(T /now HTTP/1.1\r\nHost: x\r\n\r\n") == 400);
    CHECK(ask_once("g~T /now HTTP/1.1\r\nHost: x\r\n\r\n") == 200);
    stop();
}

// A request with `count` header lines, each of them `line`, and a body.
static void send_lines(client *one, size_t count, const char *line, const char *rest) {
    static char text[1 << 15];
    size_t used = (size_t)snprintf(text, sizeof(text), "PUT /echo HTTP/1.1\r\nHost: x\r\n");
    for (size_t i = 1; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", line);
    }
    snprintf(text + used, sizeof(text) - used, "%s", rest);
    client_send(one, text);
}

// One status, or none; an answer is never lost after the handler was called.
static void keeps_room_for_an_answer(void) {
    latchkey_http_options options = subject_options();
    options.head_bytes_max = 8192;
    subject_start(&s, options);
    static const char body[] = "Content-Length: 2\r\n\r\nok";
    static const size_t counts[] = {50, 99, 100, 101, 150, 161, 216, 300};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        CHECK(client_open(&c, s.port));
        // The last line is the length.
        send_lines(&c, counts[i] - 1, "a: b\r\n", body);
        int status = client_read(&c, false)->status;
        CHECK(status == (counts[i] <= LATCHKEY_HTTP_FIELDS_MAX ? 200 : 431));
        client_close(&c);
    }
    // As many cookies as a browser sends.
    char cookies[6000] = "Cookie: ";
    for (int i = 0; i < 100; i++) {
        sprintf(cookies + strlen(cookies), "%sname-%02d=%s", i == 0 ? "" : "; ", i,
                repeated('v', 39));
    }
    strcat(cookies, "\r\n");
    for (size_t length = strlen("ok"); length <= strlen("okok"); length += 2) {
        CHECK(client_open(&c, s.port));
        send_lines(&c, 2, cookies, body);
        reply *r = client_read(&c, false);
        CHECK(r->status == 200 && body_is(r, "ok"));
        // After them, a request that takes all the room that is left.
        send_lines(&c, 2, cookies, body);
        client_send(&c, "GET /now HTTP/1.1\r\nHost: x\r\nA: ");
        client_send(&c, repeated('a', 7000));
        client_send(&c, "\r\n\r\n");
        int status = client_read(&c, false)->status;
        CHECK(status == 200 || status == 431);
        client_close(&c);
    }
    // Chunked bodies sent earlier do not count: their lengths on the wire are unknown.
    CHECK(client_open(&c, s.port));
    for (int i = 0; i < 3; i++) {
        client_send(&c, "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int k = 0; k < 500; k++) {
            client_send(&c, "1;long=extension\r\na\r\n");
        }
        client_send(&c, "0\r\n\r\n");
        CHECK(client_read(&c, false)->status == 200);
        send_lines(&c, 2, cookies, body);
        CHECK(client_read(&c, false)->status == 200);
    }
    // The library would allocate a record of 64 bytes for each.
    strcpy(cookies, "Cookie: ");
    for (int i = 0; i < 1000; i++) {
        strcat(cookies, "a=b;");
    }
    strcat(cookies, "\r\n");
    send_lines(&c, 2, cookies, body);
    CHECK(client_read(&c, false)->status == 200);
    stop();
}

static void bounds_trailers(void) {
    start();
    static const size_t counts[] = {10, 900, 1100, 16000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        client one;
        CHECK(client_open(&one, s.port));
        client_send(&one, "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "2\r\nok\r\n0\r\nA: ");
        client_send(&one, repeated('a', counts[i]));
        client_send(&one, "\r\n\r\n");
        CHECK(client_read(&one, false)->status == (counts[i] < 1000 ? 200 : 431));
        client_close(&one);
    }
    stop();
}

static void takes_late_requests_away(void) {
    latchkey_http_options options = subject_options();
    options.answer_milliseconds = 200;
    options.unknown_body = "{\"type\":\"unknown\"}";
    options.late_body = "{\"type\":\"late\"}";
    subject_start(&s, options);
    CHECK(client_open(&c, s.port));
    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok");
    reply *r = client_read(&c, false);
    CHECK(r->status == 500 && r->closes && body_is(r, "{\"type\":\"unknown\"}"));
    CHECK(latchkey_http_measure(s.server).timed_out_total == 1);
    client reader;
    CHECK(client_open(&reader, s.port));
    client_send(&reader, GET("/hold"));
    r = client_read(&reader, false);
    CHECK(r->status == 503 && r->closes && body_is(r, "{\"type\":\"late\"}"));
    client_close(&reader);
    // Late answers are discarded.
    CHECK(subject_let_go(2));
    stop();
}

// An answer that the kernel holds and the client has not read is no idle time.
static void lets_slow_clients_read_to_the_end(void) {
    latchkey_http_options options = subject_options();
    options.idle_milliseconds = 1000;
    subject_start(&s, options);
    for (int half_closed = 0; half_closed <= 1; half_closed++) {
        client slow;
        CHECK(client_open_small(&slow, s.port, 16384));
        client_send(&slow, GET("/some"));
        if (half_closed) {
            client_end(&slow);
        }
        // Reads for more than twice the idle time.
        size_t count = 0;
        char bytes[4096];
        ssize_t got = 1;
        while (got > 0 && count < SUBJECT_SOME_BYTES) {
            pause_milliseconds(100);
            got = recv(slow.socket, bytes, sizeof(bytes), 0);
            count += got > 0 ? (size_t)got : 0;
        }
        CHECK(count >= SUBJECT_SOME_BYTES);
        client_close(&slow);
    }
    CHECK(client_open(&c, s.port));
    stop();
}

// Whether the server has refused `count` connections and those that it ended have gone. Each event
// loop accepts and closes in its own time, and the room for ended connections is limited.
static bool has_refused(uint64_t count) {
    latchkey_http_statistics now = latchkey_http_measure(s.server);
    return now.refused_total >= count && now.connections <= 2 + LATCHKEY_HTTP_REFUSALS_MIN;
}

static void hears_probes_beside_silent_connections(void) {
    latchkey_http_options options = subject_options();
    options.connections_max = 2;
    subject_start(&s, options);
    enum { SILENT = 2 + 2 * LATCHKEY_HTTP_REFUSALS_MIN };
    client *silent = malloc(SILENT * sizeof(client));
    for (size_t i = 0; i < SILENT; i++) {
        CHECK(client_open(&silent[i], s.port));
        // Event loops accept in any order.
        CHECK(i >= 2 || subject_await_connections(&s, (uint32_t)i + 1));
    }
    CHECK(COMES(has_refused(SILENT - 2)));
    CHECK(ask_once(GET("/now")) == 503);
    // The first two are within the limit and stay; the oldest of the others has made room.
    CHECK(client_ask(&silent[0], GET("/now")) == 200);
    CHECK(client_sees_end(&silent[2]));
    for (size_t i = 2; i < SILENT; i++) {
        client_close(&silent[i]);
    }
    // Connections that have sent a part of a request are treated alike.
    CHECK(subject_await_connections(&s, 2));
    for (size_t i = 2; i < SILENT; i++) {
        CHECK(client_open(&silent[i], s.port));
        client_send(&silent[i], "GET /now HTTP/1.1\r\nHo");
    }
    CHECK(COMES(has_refused(2 * (SILENT - 2) + 1)));
    CHECK(ask_once(GET("/now")) == 503);
    CHECK(client_sees_end(&silent[2]));
    for (size_t i = 0; i < SILENT; i++) {
        client_close(&silent[i]);
    }
    free(silent);
    CHECK(subject_await_connections(&s, 0));
    CHECK(client_open(&c, s.port));
    stop();
}

static void keeps_names_and_floods_out_of_the_log(void) {
    start();
    for (int i = 0; i < 40; i++) {
        client gone;
        CHECK(client_open(&gone, s.port));
        for (int k = 0; k < 20; k++) {
            client_send(&gone, GET("/customer-4711-secret") GET("/later"));
        }
        client_reset(&gone);
    }
    for (int i = 0; i < 100; i++) {
        latchkey_http_log_write(s.server, "a line");
    }
    CHECK(subject_await_connections(&s, 1));
    CHECK(!subject_log_has("secret"));
    // The calls above take one second or two: fewer lines than calls.
    CHECK(subject_log_count() > 0 && subject_log_count() <= 6 * LATCHKEY_HTTP_LOG_LINES_MAX);
    CHECK(latchkey_http_measure(s.server).log_suppressed_total > 0);
    stop();
}

// The library itself refuses no request: its pages differ from ours.
static void leaves_no_refusal_to_the_library(void) {
    static const char *const heads[] = {
        "nonsense\r\n\r\n", "GET / HTTP/3.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"};
    start();
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        client one;
        CHECK(client_open(&one, s.port));
        client_send(&one, heads[i]);
        reply *r = client_read(&one, false);
        CHECK(r->status == 400 && body_is(r, "rejected") && r->closes && client_sees_end(&one));
        client_close(&one);
    }
    CHECK(latchkey_http_measure(s.server).library_refused_total == 0);
    stop();
}

static void starts_only_with_enough_descriptors(void) {
    latchkey_http_options options = subject_options();
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit few = {latchkey_http_descriptors_max(&options) - 1, before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    latchkey_http_failure failure;
    CHECK(latchkey_http_start(&options, &failure) == NULL);
    CHECK(failure.call != NULL && strcmp(failure.call, "getrlimit") == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

const test_case fault_cases[] = {
    {"stops among heads that are refused", stops_among_heads_that_are_refused},
    {"answers early rejections later", answers_early_rejections_later},
    {"refuses what the library would misread", refuses_what_the_library_would_misread},
    {"checks hosts and methods", checks_hosts_and_methods},
    {"keeps room for an answer", keeps_room_for_an_answer},
    {"bounds trailers", bounds_trailers},
    {"takes late requests away", takes_late_requests_away},
    {"lets slow clients read to the end", lets_slow_clients_read_to_the_end},
    {"hears probes beside silent connections", hears_probes_beside_silent_connections},
    {"keeps names and floods out of the log", keeps_names_and_floods_out_of_the_log},
    {"leaves no refusal to the library", leaves_no_refusal_to_the_library},
    {"starts only with enough descriptors", starts_only_with_enough_descriptors},
    {NULL, NULL},
};
