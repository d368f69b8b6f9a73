// A check of the library that the program runs with, before the program serves.
//
// Design
//
// The library is the machine's, and its version can differ from the one of the build. library.c
// lists the assumptions that the manual does not cover. So a server without a port is started,
// which answers over socket pairs: how a head is handed over, bodies, bytes that arrival.c keeps
// from the library, early answers, answers that come later, deadlines, and the end. All of it takes
// some milliseconds, and its clock is moved by hand. TLS and the end of a port are not tested. A
// request that the library has read past arrival.c is not served (request.c), which also holds
// under TLS.

#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

enum {
    REPLY_BYTES = 1024,
    PATIENCE_MILLISECONDS = 10000,
    DEADLINE_MILLISECONDS = 1000,
};

#define HEAD(line) line " HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED HEAD("PUT /echo") "Transfer-Encoding: chunked\r\n\r\n"

// A request that is sent in one part or two, the start of its answer, and the answer's body.
typedef struct trial {
    const char *what;
    const char *text;
    const char *rest;  // sent when the first part was read; or NULL
    const char *status;
    const char *body;
} trial;

static const trial trials[] = {
    {"a GET", HEAD("GET /echo?a=b?c") "A: b\r\nCookie: c\r\n\r\n", NULL, "200 ",
     "/echo a=b?c b c "},
    {"a GET in two parts", "GET /echo HT", "TP/1.1\r\nHost: x\r\nA:b\r\n\r\n", "200 ",
     "/echo  b  "},
    {"a body", HEAD("PUT /echo") "Content-Length: 5 \r\n\r\n12", "345", "200 ", "/echo    12345"},
    {"a body in chunks", CHUNKED "2;a=b\r\n12\r\n", "003\r\n345\r\n0\r\nA: b\r\n\r\n", "200 ",
     "/echo    12345"},
    {"an answer that comes later", HEAD("GET /later") "\r\n", NULL, "200 ", "later"},
    {"an early refusal", HEAD("PUT /no") "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n", NULL,
     "404 ", "no"},
    {"a bare line feed in a head", "GET /echo HTTP/1.1\nHost: x\r\n\r\n", NULL, "400 ", "refused"},
    {"a folded line", HEAD("GET /echo") "A: b\r\n c\r\n\r\n", NULL, "400 ", "refused"},
    {"a bare line feed in a body", CHUNKED "5\r\n12345\r\n", "0\n\r\n", "400 ", "refused"},
    {"a length that is no number", HEAD("PUT /echo") "Content-Length: x\r\n\r\n", NULL, "400 ",
     "refused"},
    {"a body that does not come", HEAD("PUT /echo") "Content-Length: 5\r\n\r\n12", NULL, "408 ",
     "late"},
};

// The one request whose answer comes later.
typedef struct check {
    latchkey_http_server *server;
    _Atomic(latchkey_http_request *) later;
} check;

static void answer(latchkey_http_request *request, uint32_t status, const char *text) {
    latchkey_http_response *response = latchkey_http_response_create_copy(text, strlen(text));
    latchkey_http_respond(request, status, response, false);
}

static bool is_path(const latchkey_http_request *request, const char *path) {
    return request->path.count == strlen(path) &&
           memcmp(request->path.bytes, path, request->path.count) == 0;
}

static int count_of(latchkey_http_bytes bytes) {
    return (int)bytes.count;
}

static latchkey_http_bytes value_of(const latchkey_http_request *request, const char *name) {
    size_t index = latchkey_http_find(request, name, strlen(name), 0);
    return index < request->field_count ? request->fields[index].value
                                        : (latchkey_http_bytes){"", 0};
}

static void handle(void *context, latchkey_http_request *request) {
    check *checked = context;
    if (request->rejection != LATCHKEY_HTTP_REJECTION_NONE) {
        answer(request, MHD_HTTP_BAD_REQUEST, "refused");
        return;
    }
    if (is_path(request, "/later")) {
        atomic_store(&checked->later, request);
        return;
    }
    char text[REPLY_BYTES];
    latchkey_http_bytes field = value_of(request, "a");
    latchkey_http_bytes cookie = value_of(request, "cookie");
    latchkey_http_bytes query = request->query;
    snprintf(text, sizeof(text), "%.*s %.*s %.*s %.*s %.*s", count_of(request->path),
             request->path.bytes, count_of(query), query.bytes != NULL ? query.bytes : "",
             count_of(field), field.bytes, count_of(cookie), cookie.bytes, count_of(request->body),
             request->body.bytes != NULL ? request->body.bytes : "");
    answer(request, MHD_HTTP_OK, text);
}

static void decide(void *context, latchkey_http_request *request) {
    (void)context;
    if (is_path(request, "/no")) {
        answer(request, MHD_HTTP_NOT_FOUND, "no");
    }
}

// Sends a part, and waits until the library has read it.
static bool send_part(int socket, const char *text) {
    size_t count = strlen(text);
    int unread = 1;
    bool is_sent = send(socket, text, count, MSG_NOSIGNAL) == (ssize_t)count;
    for (int waited = 0; is_sent && unread > 0 && waited < PATIENCE_MILLISECONDS; waited++) {
        // For a socket pair, these are the bytes that the other end has not read.
        is_sent = ioctl(socket, SIOCOUTQ, &unread) == 0;
        poll(NULL, 0, unread > 0);
    }
    return is_sent && unread == 0;
}

// Answers the request that waits, once it is suspended.
static void answer_later(check *checked) {
    if (atomic_load(&checked->later) != NULL &&
        latchkey_http_measure(checked->server).suspended > 0) {
        answer(atomic_exchange(&checked->later, NULL), MHD_HTTP_OK, "later");
    }
}

// Whether an answer is whole. Sets its status line and body.
static bool is_whole(const char *reply, size_t count, const char **body) {
    const char *end = strstr(reply, "\r\n\r\n");
    const char *length = strstr(reply, "Content-Length: ");
    *body = end != NULL ? end + 4 : "";
    return end != NULL && length != NULL &&
           (size_t)(*body - reply) + strtoul(length + strlen("Content-Length: "), NULL, 10) <=
               count;
}

// Whether a request gets the right answer. `reply` is the answer that came.
static bool passes(check *checked, int socket, const trial *t, char reply[REPLY_BYTES]) {
    size_t count = 0;
    const char *body = "";
    if (!send_part(socket, t->text) || (t->rest != NULL && !send_part(socket, t->rest))) {
        return false;
    }
    for (int waited = 0; waited < PATIENCE_MILLISECONDS && !is_whole(reply, count, &body);
         waited++) {
        struct pollfd set = {.fd = socket, .events = POLLIN};
        answer_later(checked);
        // For the trial that waits for its deadline; the others were read already.
        if (strcmp(t->status, "408 ") == 0) {
            latchkey_http_pass(checked->server, DEADLINE_MILLISECONDS);
        }
        if (poll(&set, 1, 1) <= 0) {
            continue;
        }
        ssize_t got = recv(socket, reply + count, REPLY_BYTES - 1 - count, 0);
        if (got <= 0) {
            break;
        }
        count += (size_t)got;
        reply[count] = '\0';
    }
    return strncmp(reply, "HTTP/1.1 ", 9) == 0 && strncmp(reply + 9, t->status, 4) == 0 &&
           strcmp(body, t->body) == 0;
}

static bool try_one(check *checked, const trial *t, char reply[REPLY_BYTES]) {
    int pair[2];
    reply[0] = '\0';
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return false;
    }
    bool passed =
        latchkey_http_join(checked->server, pair[0]) && passes(checked, pair[1], t, reply);
    close(pair[1]);
    return passed;
}

bool latchkey_http_check(char *reason, size_t capacity) {
    check checked = {NULL, NULL};
    latchkey_http_options options = {
        .threads = 1,
        .connections_max = 64,
        .target_bytes_max = REPLY_BYTES / 4,
        .head_bytes_max = REPLY_BYTES,
        .body_bytes_max = REPLY_BYTES / 4,
        .request_milliseconds = DEADLINE_MILLISECONDS,
        .clock_stands = true,
        .joins_only = true,
        .timeout_body = "late",
        .handler = handle,
        .head = decide,
        .context = &checked,
    };
    latchkey_http_failure failure;
    checked.server = latchkey_http_start(&options, &failure);
    if (checked.server == NULL) {
        snprintf(reason, capacity, "%s: %s", failure.call, strerror(failure.code));
        return false;
    }
    bool passed = true;
    for (size_t i = 0; passed && i < sizeof(trials) / sizeof(*trials); i++) {
        char reply[REPLY_BYTES];
        passed = try_one(&checked, &trials[i], reply);
        if (!passed) {
            reply[strcspn(reply, "\r\n")] = '\0';
            snprintf(reason, capacity, "libmicrohttpd %s answers %s with '%s'", MHD_get_version(),
                     trials[i].what, reply);
        }
    }
    latchkey_http_stop(checked.server, 0);
    return passed;
}
