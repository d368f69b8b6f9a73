// The server under test, with a handler that does what the path says.

#ifndef LATCHKEY_TEST_SUBJECT_H
#define LATCHKEY_TEST_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "CLatchkeyHTTP.h"

enum {
    SUBJECT_TARGET_BYTES_MAX = 256,
    SUBJECT_HEAD_BYTES_MAX = 1024,
    SUBJECT_BODY_BYTES_MAX = 1000,
    SUBJECT_SOME_BYTES = 100000,
};

// The handler's answer for each path:
//
//   /now     answers at once with the body "now"
//   /echo    answers at once with the body of the request
//   /target  answers at once with path, a space and query
//   /fields  answers at once with all fields, one a line
//   /host    answers at once with the authority
//   /big     answers at once with 8 MiB, more than the kernel buffers
//   /some    answers at once with SUBJECT_SOME_BYTES, which the kernel buffers
//   /later   answers from another thread, soon
//   /hold    answers from another thread when subject_let_go() is called; then with the body of the
//            request
//
// A rejected request is answered with its status and the body "rejected": at once, or, for /later,
// from another thread.
typedef struct subject {
    latchkey_http_server *server;
    uint16_t port;
} subject;

// The options that the tests start from: two event loops, long deadlines, the limits above.
latchkey_http_options subject_options(void);

void subject_start(subject *s, latchkey_http_options options);

// Stops and checks that every body that was handed over was released. Returns the stop's result.
latchkey_http_cut_off subject_stop(subject *s, uint32_t milliseconds);

// Answers the held requests, once there are `count`. False if that takes too long.
bool subject_let_go(uint32_t count);

// Waits until `count` requests are held. False if that takes too long.
bool subject_await_held(uint32_t count);

// Waits until the server has `count` connections, or `count` suspended requests.
bool subject_await_connections(subject *s, uint32_t count);
bool subject_await_suspended(subject *s, uint32_t count);

void pause_milliseconds(uint32_t milliseconds);

// Waits until a condition holds: on any machine this time is enough.
enum { PATIENCE_MILLISECONDS = 120000 };
#define COMES(condition)                                                                           \
    ({                                                                                             \
        bool came = (condition);                                                                   \
        for (uint32_t waited = 0; !came && waited < PATIENCE_MILLISECONDS; waited++) {             \
            pause_milliseconds(1);                                                                 \
            came = (condition);                                                                    \
        }                                                                                          \
        came;                                                                                      \
    })

// Threads that do jobs, each some time after it was given. Ending them waits for all jobs.
void workers_start(size_t count);
void worker_give(void (*run)(void *context), void *context, uint32_t milliseconds);
void workers_end(void);

// The number of lines that were logged since the start, and whether one of them contained this.
uint32_t subject_log_count(void);
bool subject_log_has(const char *text);

// Whether the request is for this path.
bool path_is(const latchkey_http_request *request, const char *path);

// Answers with a copy of a text.
void respond_text(latchkey_http_request *request, uint32_t status, const char *text);

#endif
