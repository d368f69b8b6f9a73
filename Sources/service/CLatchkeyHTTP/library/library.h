// The uses of libmicrohttpd beyond its documented interface. library.c has the tables.

#ifndef LATCHKEY_HTTP_LIBRARY_H
#define LATCHKEY_HTTP_LIBRARY_H

#include <microhttpd.h>
#include <stdbool.h>

// Whether the library is a version that all tests run with.
bool latchkey_http_library_is_known(void);

// The answer's own copy of the value of a header line that it has, which may be overwritten with as
// many bytes. No other code uses it while the request is unanswered.
char *latchkey_http_library_value(struct MHD_Response *response, const char *name);

// The meaning of a line of its log.
typedef enum library_message {
    LIBRARY_SAYS_OTHER,
    LIBRARY_REFUSES,              // a request, on its own
    LIBRARY_SENDS_NO_LAST_CHUNK,  // of a stream that was cut off
    LIBRARY_FAILS_HANDSHAKE,
} library_message;

library_message latchkey_http_library_message(const char *format);

// Closes the port of a daemon that goes on: `plug` takes the place of its listener. Returns false
// if that is not possible.
bool latchkey_http_library_close_port(int listener, int plug);

#endif
