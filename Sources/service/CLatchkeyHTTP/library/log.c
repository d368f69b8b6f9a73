// The log: the lines of libmicrohttpd, without anything that a client has sent.
//
// Design
//
// Some lines are the only sign that the library itself refuses a request. It should never do so:
// requests that it would refuse do not reach it (arrival.c). So these lines are counted. library.c
// knows their words.
//
// Clients cause most of these lines, as many as they like. So lines are limited for each second,
// over all threads, and the rest is counted. One word holds the second and its count: a line costs
// a clock reading and a compare-and-exchange, and a line over the limit costs no more than that.

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "library/library.h"
#include "library/log.h"

enum { MESSAGE_BYTES_MAX = 512, COUNT_BITS = 8 };

_Static_assert(LATCHKEY_HTTP_LOG_LINES_MAX < 1 << COUNT_BITS, "the count fits beside the second");

static _Thread_local bool is_quiet;

enum MHD_Result latchkey_http_log_not(enum MHD_Result result) {
    is_quiet = true;
    return result;
}

// Counts a line. Returns whether there is room for it in this second.
static bool takes_line(latchkey_http_server *server) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t begun = (uint64_t)now.tv_sec << COUNT_BITS;
    unsigned long long seen = atomic_load_explicit(&server->log_window, memory_order_relaxed);
    uint64_t next;
    do {
        next = seen < begun ? begun + 1 : seen + 1;
        if (next - begun > LATCHKEY_HTTP_LOG_LINES_MAX) {
            atomic_fetch_add_explicit(&server->log_suppressed_total, 1, memory_order_relaxed);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&server->log_window, &seen, next,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void latchkey_http_log_write(latchkey_http_server *server, const char *message) {
    if (server->options.log != NULL && takes_line(server)) {
        server->options.log(server->options.context, message);
    }
}

// Makes `%s` print nothing unless what it stands for is the system's or the library's: the reason
// at the end, after a colon, or the whole line. Everything else may be a client's, such as the
// target, whose names are private.
static void hide_texts(char *hidden, size_t capacity, const char *format) {
    size_t count = 0;
    for (const char *at = format; *at != '\0' && count + 5 < capacity; at++) {
        hidden[count++] = *at;
        bool is_reason = at == format || (at - format >= 2 && memcmp(at - 2, ": ", 2) == 0);
        if (at[0] == '%' && at[1] == 's' && !is_reason) {
            hidden[count++] = '.';
            hidden[count++] = '0';
        }
    }
    hidden[count] = '\0';
}

void latchkey_http_log_library(void *context, const char *format, va_list arguments) {
    latchkey_http_server *server = context;
    bool keeps_quiet = is_quiet;
    is_quiet = false;
    switch (latchkey_http_library_message(format)) {
    case LIBRARY_REFUSES:
        atomic_fetch_add_explicit(&server->library_refused_total, 1, memory_order_relaxed);
        break;
    case LIBRARY_SENDS_NO_LAST_CHUNK:
        // A stream that was cut off must not get it (stream.c).
        keeps_quiet = true;
        break;
    case LIBRARY_FAILS_HANDSHAKE:
        // Counted when the connection is closed. The line does not have the reason.
        server->say_failure();
        keeps_quiet = true;
        break;
    case LIBRARY_SAYS_OTHER:
        break;
    }
    if (keeps_quiet || server->options.log == NULL || !takes_line(server)) {
        return;
    }
    char hidden[MESSAGE_BYTES_MAX];
    char message[MESSAGE_BYTES_MAX];
    hide_texts(hidden, sizeof(hidden), format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    vsnprintf(message, sizeof(message), hidden, arguments);
#pragma GCC diagnostic pop
    size_t count = strlen(message);
    while (count > 0 && (message[count - 1] == '\n' || message[count - 1] == ' ')) {
        message[--count] = '\0';
    }
    for (size_t i = 0; i < count; i++) {
        if (message[i] < ' ' || message[i] > '~') {
            message[i] = '?';
        }
    }
    server->options.log(server->options.context, message);
}
