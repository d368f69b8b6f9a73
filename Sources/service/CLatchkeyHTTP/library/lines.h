// The header lines that every answer has.

#ifndef LATCHKEY_HTTP_LINES_H
#define LATCHKEY_HTTP_LINES_H

#include <microhttpd.h>
#include <stdbool.h>
#include <time.h>

#include "CLatchkeyHTTP.h"

// The lines that never change, each after a line end. A line added here is in every answer.
#define LATCHKEY_HTTP_LINES_CONSTANT                                                               \
    "\r\nX-Content-Type-Options: nosniff"                                                          \
    "\r\nCross-Origin-Resource-Policy: same-origin"

// The name of the last line, whose value is the identifier of the request.
#define LATCHKEY_HTTP_LINES_IDENTIFIER "Latchkey-Request-Id"

enum {
    LINES_DATE_BYTES = sizeof("Sun, 06 Nov 1994 08:49:37 GMT") - 1,
    // Of the value of Date, and the lines after it up to the identifier.
    LINES_SAME_BYTES =
        LINES_DATE_BYTES +
        sizeof(LATCHKEY_HTTP_LINES_CONSTANT "\r\n" LATCHKEY_HTTP_LINES_IDENTIFIER ": ") - 1,
    LINES_BYTES = LINES_SAME_BYTES + LATCHKEY_HTTP_IDENTIFIER_BYTES,
};

// See lines.c.
typedef struct lines {
    time_t second;
    char text[LINES_SAME_BYTES + 1];  // with its NUL
} lines;

// The lines of this second.
const lines *latchkey_http_lines(void);

// Adds the lines to an answer that only one connection uses, with the identifier of its request.
// Returns libmicrohttpd's copy of them, which may be overwritten with others; NULL without memory.
char *latchkey_http_lines_add(struct MHD_Response *response, const lines *now,
                              const char *identifier);

// Adds the lines that never change to an answer that many connections use: libmicrohttpd adds Date.
// Returns false without memory.
bool latchkey_http_lines_add_constant(struct MHD_Response *response);

#endif
