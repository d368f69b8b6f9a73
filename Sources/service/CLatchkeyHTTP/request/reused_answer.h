// The object that a connection uses again for each short answer. reused_answer.c says how.

#ifndef LATCHKEY_HTTP_REUSED_ANSWER_H
#define LATCHKEY_HTTP_REUSED_ANSWER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum {
    SHORT_LINES_MAX = 6,
    SHORT_NAME_BYTES = 32,  // with its NUL
};

// A header line of a short answer: the name, and libmicrohttpd's own copy of the value.
typedef struct short_line {
    char name[SHORT_NAME_BYTES];
    char *value;
    size_t value_count;
} short_line;

// The response object of the last short answer, and the number of lines that the next one shares
// with it (reused_answer.c).
typedef struct short_answer {
    struct MHD_Response *response;  // or NULL
    size_t body_count;
    size_t line_count;
    size_t next;       // the line that is added next
    bool is_reusable;  // all of its lines are in `lines`
    char *common;      // the lines that every answer has, in the object (lines.c); NULL: not yet
    time_t common_second;
    short_line lines[SHORT_LINES_MAX];
} short_answer;

struct connection;

// Removes the rest of the lines of the answer before.
void latchkey_http_short_end(short_answer *s);

// Gives the answer of this connection the lines that every answer has. Returns false
// without memory.
bool latchkey_http_short_add_common(struct connection *c);

// Gives up an answer of this connection: destroys the response object, unless the connection keeps
// it.
void latchkey_http_short_drop(struct connection *c, struct MHD_Response *response);

#endif
