// The header lines that every answer has.

#define _GNU_SOURCE  // timegm, strcasestr

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer.h"

// The seconds by which the server's clock is ahead: the linker puts this around time().
static atomic_llong ahead;

time_t __real_time(time_t *at);
time_t __wrap_time(time_t *at);

time_t __wrap_time(time_t *at) {
    time_t now = __real_time(NULL) + (time_t)atomic_load(&ahead);
    if (at != NULL) {
        *at = now;
    }
    return now;
}

// Whether there is no memory for a Date: the linker puts this around MHD_add_response_header().
static atomic_bool lacks_memory;

enum MHD_Result __real_MHD_add_response_header(struct MHD_Response *response, const char *name,
                                               const char *value);
enum MHD_Result __wrap_MHD_add_response_header(struct MHD_Response *response, const char *name,
                                               const char *value);

enum MHD_Result __wrap_MHD_add_response_header(struct MHD_Response *response, const char *name,
                                               const char *value) {
    return atomic_load(&lacks_memory) && strcmp(name, MHD_HTTP_HEADER_DATE) == 0
               ? MHD_NO
               : __real_MHD_add_response_header(response, name, value);
}

// The number of header lines in the head that begin with this.
static int count_of(const char *head, const char *begin) {
    int count = 0;
    for (const char *at = strstr(head, "\r\n"); at != NULL; at = strstr(at + 2, "\r\n")) {
        count += strncasecmp(at + 2, begin, strlen(begin)) == 0;
    }
    return count;
}

// Whether the head has one Date, of this second or of the one before.
static bool has_date(const char *head, long long offset) {
    const char *at = strstr(head, "\r\nDate: ");
    struct tm utc = {0};
    if (count_of(head, "Date:") != 1 || at == NULL) {
        return false;
    }
    const char *end = strptime(at + 8, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    time_t now = __real_time(NULL) + offset;
    return end != NULL && strncmp(end, "\r\n", 2) == 0 && timegm(&utc) >= now - 2 &&
           timegm(&utc) <= now;
}

// The identifier of a request in the head of its answer; NULL if there is no valid one.
static const char *identifier_of(const char *head) {
    static const char begin[] = "\r\nLatchkey-Request-Id: ";
    const char *at = strstr(head, begin);
    if (at == NULL || count_of(head, "Latchkey-Request-Id:") != 1) {
        return NULL;
    }
    at += sizeof(begin) - 1;
    size_t count = strspn(at, "0123456789abcdefghijklmnopqrstuv");
    return count == LATCHKEY_HTTP_IDENTIFIER_BYTES && at[count] == '\r' ? at : NULL;
}

static bool has_all(const reply *r) {
    return identifier_of(r->head) != NULL && has_date(r->head, 0) &&
           count_of(r->head, "X-Content-Type-Options: nosniff\r\n") == 1 &&
           count_of(r->head, "Cross-Origin-Resource-Policy: same-origin\r\n") == 1;
}

static void sends_them_with_each_answer(void) {
    start();
    static const char *const requests[] = {
        GET("/now"),
        GET("/now"),
        GET("/target"),
        GET("/later"),
        GET("/some"),
        GET("/later"),
        GET("/target?ab"),
        GET("/now"),
        "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nfour",
        "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "GET /now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        client_send(&c, requests[i]);
        // The body of /some is not kept here.
        reply *r = client_read(&c, strstr(requests[i], "/some") != NULL);
        CHECK(r->status == 200 && has_all(r));
        for (size_t left = strstr(requests[i], "/some") ? SUBJECT_SOME_BYTES : 0; left > 0;) {
            CHECK(c.count > 0 || client_receive(&c));
            size_t count = c.count < left ? c.count : left;
            client_consume(&c, count);
            left -= count;
        }
    }
    stop();
}

static void sends_them_with_refusals(void) {
    latchkey_http_options options = subject_options();
    options.request_milliseconds = 200;
    options.answer_milliseconds = 200;
    subject_start(&s, options);
    static const struct {
        const char *request;
        int status;
    } refused[] = {
        // Answered without libmicrohttpd.
        {"GET /now HTTP/1.1\r\nHo", 408},
        {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413},
        {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400},
        // By the handler.
        {"GET /now HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
        // By an answer like one that connections share.
        {GET("/hold"), 503},
        {"PUT /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", 500},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        CHECK(client_open(&c, s.port));
        client_send(&c, refused[i].request);
        reply *r = client_read(&c, false);
        CHECK(r->status == refused[i].status && has_all(r));
        bool is_handled = body_is(r, "rejected");
        CHECK(is_handled || count_of(r->head, "Cache-Control: no-store\r\n") == 1);
        client_close(&c);
    }
    CHECK(subject_let_go(2));
    stop();
}

static void sends_them_with_streams(void) {
    stream_start(subject_options());
    client_send(&c, GET("/stream"));
    CHECK(has_all(client_read(&c, true)));
    latchkey_http_stream_end(producer_at(0)->stream);
    stream_stop(1000);
}

static int compare_identifiers(const void *left, const void *right) {
    return memcmp(left, right, LATCHKEY_HTTP_IDENTIFIER_BYTES);
}

static void gives_each_request_an_identifier(void) {
    start();
    // More requests on one connection than it takes at once, with answers of all kinds; then on
    // others.
    enum { FIRST = 1030, OTHERS = 20, ALL = FIRST + OTHERS };
    static char all[ALL][LATCHKEY_HTTP_IDENTIFIER_BYTES];
    for (int i = 0; i < ALL; i++) {
        if (i >= FIRST) {
            client_close(&c);
            CHECK(client_open(&c, s.port));
        }
        client_send(&c, i % 16 == 1 ? GET("/later") : i % 16 == 2 ? GET("/target") : GET("/now"));
        reply *r = client_read(&c, false);
        const char *identifier = identifier_of(r->head);
        CHECK(r->status == 200 && identifier != NULL);
        if (identifier != NULL) {
            memcpy(all[i], identifier, LATCHKEY_HTTP_IDENTIFIER_BYTES);
        }
        CHECK(i == 0 || memcmp(all[i], all[0], 10) == 0);
        CHECK(i == 0 || i >= FIRST || memcmp(all[i], all[i - 1], sizeof(*all)) > 0);
    }
    char other[10];
    memcpy(other, all[0], sizeof(other));
    qsort(all, ALL, sizeof(*all), compare_identifiers);
    for (int i = 1; i < ALL; i++) {
        CHECK(memcmp(all[i], all[i - 1], sizeof(*all)) != 0);
    }
    stop();
    start();
    client_send(&c, GET("/now"));
    const char *identifier = identifier_of(client_read(&c, false)->head);
    CHECK(identifier != NULL && memcmp(identifier, other, sizeof(other)) != 0);
    stop();
}

static void follows_the_clock(void) {
    start();
    // Forward, and back, by steps at which a part of the text stays the same.
    static const long long steps[] = {0,          1,           61,           3600, 86400,
                                      40 * 86400, 400 * 86400, -400 * 86400, 0};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        atomic_store(&ahead, steps[i]);
        for (int k = 0; k < 3; k++) {
            client_send(&c, k == 1 ? GET("/later") : k == 2 ? GET("/target") : GET("/now"));
            reply *r = client_read(&c, false);
            CHECK(r->status == 200 && has_date(r->head, steps[i]));
        }
    }
    atomic_store(&ahead, 0);
    stop();
}

static void fails_without_memory_for_them(void) {
    stream_start(subject_options());
    atomic_store(&lacks_memory, true);
    static const char *const requests[] = {GET("/now"), GET("/target"), GET("/later"),
                                           GET("/stream"), GET("/now")};
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        client_send(&c, requests[i]);
        reply *r = client_read(&c, false);
        CHECK(r->status == 500 && r->body_count == 0);
    }
    atomic_store(&lacks_memory, false);
    client_send(&c, GET("/now"));
    reply *after = client_read(&c, false);
    CHECK(after->status == 200 && has_all(after));
    stream_stop(1000);
}

const test_case lines_cases[] = {
    {"sends the common lines with each answer", sends_them_with_each_answer},
    {"sends the common lines with refusals", sends_them_with_refusals},
    {"sends the common lines with streams", sends_them_with_streams},
    {"gives each request an identifier", gives_each_request_an_identifier},
    {"follows the clock in Date", follows_the_clock},
    {"fails without memory for the common lines", fails_without_memory_for_them},
    {NULL, NULL},
};
