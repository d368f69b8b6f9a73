// What shields us from libmicrohttpd 0.9.75: what uses more than its documented interface.
//
// A case of Tests/c fails if the program is linked with another version, and the start logs it.
// Then check each line of these tables again.
//
// What it lacks, and what we use instead. The functions are below.
//
//   what it lacks                   | instead                     | test in Tests/c
//   --------------------------------+-----------------------------+------------------------------
//   an answer whose lines can be    | write over its own copy of  | sends the common lines with
//   changed (short.c, lines.c)      | the value, of equal length  | each answer; follows the
//                                   |                             | clock in Date
//   a request whose query it does   | a NUL over the first byte   | hands the target over as it
//   not cut into arguments          | of the query                | was sent
//   a call before it refuses a      | the wording of its log      | counts what the library
//   request by itself (log.c)       |                             | refuses
//   a quiesce that closes the port  | dup3() over its listener    | drains; stops under load
//   and never aborts (drain.c)      |                             |
//
//   Each can go when the library has it.
//
// Its defects, and which file has the way around each.
//
//   defect                                              | file      | test in Tests/c
//   ----------------------------------------------------+-----------+------------------------------
//   suspending or resuming twice ends the process       | suspend.c | answers later, with a delay
//                                                       |           | at each step
//   a body that ends with an error, or without chunks,  | stream.c  | notices when the client of a
//   leaks its connection                                |           | stream goes
//   the final chunk is sent behind a head without body  | stream.c  | answers only the head of a
//                                                       |           | stream
//   a vector of parts that does not fit ends the process| charged.c | charges up to the bound of an
//                                                       |           | account
//   a refused head while it stops ends the process      | drain.c   | stops among heads that the
//                                                       |           | library refuses
//   an end of the connection that comes while it reads  | drain.c,  | stops with open connections
//   is missed                                           | deadline.c|
//   no room for an answer's head: closed without one    | room.c    | keeps room for an answer
//   a Content-Length that is no number: its head is sent| deadline.c| refuses what the library
//   twice                                               |           | would misread
//   white space behind a coding: it reads without end   | head.c    | refuses what the library
//                                                       |           | would misread
//   a handshake that waits for its client keeps its     | tls.c     | TLSTests.swift: handshakes
//   loop busy                                           |           | that wait for their clients
//
//   Each can go when its test passes without the way around it.

#define _GNU_SOURCE  // dup3

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

bool latchkey_http_library_is_known(void) {
    return strcmp(MHD_get_version(), LATCHKEY_HTTP_LIBRARY_KNOWN) == 0;
}

char *latchkey_http_library_value(struct MHD_Response *response, const char *name) {
    return (char *)(uintptr_t)MHD_get_response_header(response, name);
}

char latchkey_http_library_hide_query(const char *mark) {
    char hidden = mark[1];
    // The library itself puts a NUL over the `?` right after this call.
    ((char *)(uintptr_t)mark)[1] = '\0';
    return hidden;
}

static bool begins(const char *format, const char *text) {
    return strncmp(format, text, strlen(text)) == 0;
}

library_message latchkey_http_library_message(const char *format) {
    if (begins(format, "Error processing request")) {
        return LIBRARY_REFUSES;
    }
    if (begins(format, "Failed to send the footers")) {
        return LIBRARY_SENDS_NO_LAST_CHUNK;
    }
    if (strstr(format, "handshake") != NULL) {
        return LIBRARY_FAILS_HANDSHAKE;
    }
    if (strstr(format, "Content-Length") != NULL) {
        return LIBRARY_REFUSES_LENGTH;
    }
    return strstr(format, "Not enough memory in pool") != NULL ? LIBRARY_LACKS_MEMORY
                                                               : LIBRARY_SAYS_OTHER;
}

bool latchkey_http_library_close_port(int listener, int plug) {
    shutdown(listener, SHUT_RDWR);
    // dup3() closes the listener, whether it could be shut down or not.
    return dup3(plug, listener, O_CLOEXEC) >= 0;
}
