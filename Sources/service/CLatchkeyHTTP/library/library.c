// The assumptions of this target about libmicrohttpd beyond its manual, and the library's faults.
//
// The tests of Tests/c run with 0.9.75 and with 1.0.1, the versions of Debian 12 and 13; each line
// of these tables names the test that fails with a version that works differently. The program
// tests most of the first table at each start (check.c), with the version that it finds.
//
//   assumption                          | where            | test in Tests/c
//   ------------------------------------+------------------+--------------------------------------
//   it reads by recv() or by            | arrival.c        | leaves no refusal to the library;
//   gnutls_record_recv(), and a shorter |                  | means one thing, in whatever pieces;
//   read is the last until an event     |                  | keeps long pipelines in order
//   it parses a head in place, and the  | head.c           | hands the target over as it was sent;
//   method is its first byte            |                  | hands all fields over
//   an answer keeps a copy of each      | reused_answer.c, | sends the common lines with each
//   value, which is not looked at again | lines.c          | answer; follows the clock in Date
//   a suspended connection is left      | suspend.c,       | answers later, with a delay at each
//   alone, an unanswered one comes back | response.c       | step
//   after a round                       |                  |
//   a listener that is another          | drain.c          | drains; stops under load
//   descriptor by now goes unnoticed    |                  |
//   bytes can be sent without it        | past_library.c   | ends what takes too long
//   while a request is not complete     |                  |
//   it suspends in a callback of GnuTLS | handshake.c      | HandshakeTests.swift: a hello waits
//
//   fault                                               | file      | test in Tests/c
//   ----------------------------------------------------+-----------+------------------------------
//   suspending or resuming twice ends the process       | suspend.c | answers later, with a delay
//                                                       |           | at each step
//   a body that ends with an error, or without chunks,  | stream.c  | notices when the client of a
//   leaks its connection                                |           | stream goes
//   the final chunk is sent after a head without body   | stream.c  | answers only the head of a
//                                                       |           | stream
//   a vector of parts that does not fit ends the process| charged_  | charges up to the bound of an
//                                                       | answer.c  | account
//   a refusal while it stops ends the process           | arrival.c,| stops among heads that are
//                                                       | drain.c   | refused
//   an end of the connection that comes while it reads  | drain.c,  | stops with open connections
//   is missed                                           | deadline.c|
//   no room for an answer's head: closed without one    | server.c  | keeps room for an answer
//   a head, a length or a coding is misread or refused  | arrival.c | refuses what the library
//   in its own words                                    |           | would misread
//   a handshake that waits for its client keeps its     | handshake.| TLSTests.swift: a handshake
//   loop busy                                           | c         | that does not end is ended
//
//   A workaround can go when its test passes without it.

#define _GNU_SOURCE  // dup3

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "library/library.h"

#include "CLatchkeyHTTP.h"

bool latchkey_http_library_is_known(void) {
    static const char *const known[] = LATCHKEY_HTTP_LIBRARIES_KNOWN;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(MHD_get_version(), known[i]) == 0) {
            return true;
        }
    }
    return false;
}

char *latchkey_http_library_value(struct MHD_Response *response, const char *name) {
    return (char *)(uintptr_t)MHD_get_response_header(response, name);
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
    return LIBRARY_SAYS_OTHER;
}

bool latchkey_http_library_close_port(int listener, int plug) {
    shutdown(listener, SHUT_RDWR);
    // dup3() closes the listener, whether it could be shut down or not.
    return dup3(plug, listener, O_CLOEXEC) >= 0;
}
