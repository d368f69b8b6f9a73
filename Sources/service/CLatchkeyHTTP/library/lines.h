// The header lines that every answer has.

#ifndef LATCHKEY_HTTP_LINES_H
#define LATCHKEY_HTTP_LINES_H

#include <microhttpd.h>
#include <stdbool.h>
#include <time.h>

// The lines that never change, each behind a line end. Add a line here, and it is in every answer.
#define LATCHKEY_HTTP_LINES_CONSTANT                                                               \
    "\r\nX-Content-Type-Options: nosniff"                                                          \
    "\r\nCross-Origin-Resource-Policy: same-origin"

enum {
    LINES_DATE_BYTES = sizeof("Sun, 06 Nov 1994 08:49:37 GMT") - 1,
    // Of the value of Date, and the lines behind it.
    LINES_BYTES = LINES_DATE_BYTES + sizeof(LATCHKEY_HTTP_LINES_CONSTANT) - 1,
};

// See lines.c.
typedef struct lines {
    time_t second;
    char text[LINES_BYTES + 1];  // with its NUL
} lines;

// The lines of this second.
const lines *latchkey_http_lines(void);

// Adds the lines to an answer that only one connection uses. Returns libmicrohttpd's copy of them,
// which may be written over with those of another second; NULL without memory.
char *latchkey_http_lines_add(struct MHD_Response *response, const lines *now);

// Adds the lines that never change to an answer that many connections use: libmicrohttpd adds Date.
// Returns false without memory.
bool latchkey_http_lines_add_constant(struct MHD_Response *response);

#endif
