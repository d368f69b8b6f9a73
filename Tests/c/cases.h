// Declarations that the files of cases share.

#ifndef LATCHKEY_TEST_CASES_H
#define LATCHKEY_TEST_CASES_H

#include <stdbool.h>
#include <stdio.h>

#include "client.h"
#include "subject.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, case_name, #condition);         \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

typedef struct test_case {
    const char *name;
    void (*run)(void);
} test_case;

extern const char *case_name;
extern int failures;

extern subject s;
extern client c;

// Starts the subject and connects `c`.
void start(void);

// Disconnects `c`, and checks that no connection and no answer is left.
void stop(void);

// Disconnects `c`, and connects it again.
void reopen(void);

// Sends the head of a POST with a body of this length.
void send_head(client *one, const char *path, size_t count, bool chunked, bool expects);

// A text of `count` bytes, the same one each time.
const char *repeated(char byte, size_t count);

bool body_is(const reply *r, const char *text);

// The last case has no name.
extern const test_case arrival_cases[];
extern const test_case body_cases[];
extern const test_case fault_cases[];
extern const test_case abandoned_cases[];
extern const test_case head_cases[];
extern const test_case lines_cases[];
extern const test_case steps_cases[];
extern const test_case stream_cases[];
extern const test_case pieces_cases[];
extern const test_case stream_end_cases[];

#endif
