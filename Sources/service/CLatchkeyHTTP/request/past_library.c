// Answers that are written to the socket past libmicrohttpd, and looks at bytes that the library
// has not read. No other file of this target does either.
//
// Design
//
// libmicrohttpd takes no answer before the head of a request is there, and none between the head
// and the end of the body. So a request that is too slow or too long in those places is answered on
// the socket. Under encryption that would break the stream: a byte of ours would not be a record,
// and the bytes that the kernel counts are ciphertext. `is_encrypted` chooses the form that only
// closes and only uses signs that mean the same there:
//
//   what              | plain                          | encrypted
//   ------------------+--------------------------------+----------------------------------------
//   408, 413 made here| sent; the rest of the request  | the connection is closed without a
//                     | is thrown away for a second    | byte of ours
//   413 by its length | the same                       | given to the handler at the head, and
//                     |                                | answered through the library (request.c)
//   a request begins  | bytes have arrived since       | the same; those of the handshake do not
//                     |                                | count (tls.c)
//   the client has    | its end has come, and the      | the same, for a second: the library may
//   ended its half    | kernel has nothing unread      | have bytes that it has not decrypted

#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "connection/connection.h"
#include "connection/identifier.h"
#include "library/lines.h"
#include "request/request.h"

enum {
    // The rest of the head of a raw answer is well below 256 bytes.
    RAW_BYTES_MAX =
        LATCHKEY_HTTP_RAW_BODY_BYTES_MAX + LINES_BYTES + REFUSAL_SHARING_BYTES_MAX + 256,
    // How long the end of an encrypted connection must last before the connection is ended.
    DOUBT_MILLISECONDS = 1000,
    // TCP_CLOSE_WAIT of <netinet/tcp.h>, which cannot be included together with <linux/tcp.h>,
    // which alone has the whole of tcp_info.
    KERNEL_CLOSE_WAIT = 8,
};

static bool is_encrypted(const connection *c) {
    return c->server->is_encrypted;
}

// Sends a whole answer. A client whose window has no room for so few bytes gets none.
static void send_answer(connection *c, unsigned phase, const char *status, const char *problem) {
    char text[RAW_BYTES_MAX];
    char own[LATCHKEY_HTTP_IDENTIFIER_BYTES];
    const char *identifier = c->identifier;
    if ((phase & PHASE_MASK) == PHASE_WAITING) {
        // The bytes so far are not a request yet.
        latchkey_http_identifier_make(c->server, own);
        identifier = own;
    }
    int count =
        snprintf(text, sizeof(text),
                 "HTTP/1.1 %s\r\nDate: %s%.*s\r\nConnection: close\r\nCache-Control: no-store\r\n"
                 "Content-Type: application/problem+json\r\n%s"
                 "Content-Length: %zu\r\n\r\n%s",
                 status, latchkey_http_lines()->text, LATCHKEY_HTTP_IDENTIFIER_BYTES, identifier,
                 latchkey_http_refusal_sharing_lines(c), strlen(problem), problem);
    if (count > 0 && (size_t)count < sizeof(text)) {
        send(c->socket, text, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

bool latchkey_http_past_library_refuse(connection *c, unsigned phase, const char *status,
                                       const char *problem) {
    bool expires = latchkey_http_connection_expire(c, phase);
    if (expires && is_encrypted(c)) {
        latchkey_http_connection_end(c);
    } else if (expires) {
        send_answer(c, phase, status, problem);
        shutdown(c->socket, SHUT_WR);
    }
    return expires;
}

bool latchkey_http_past_library_has_ended(connection *c, const struct tcp_info *info,
                                          uint64_t elapsed) {
    int unread = 0;
    return info->tcpi_state == KERNEL_CLOSE_WAIT && ioctl(c->socket, FIONREAD, &unread) == 0 &&
           unread == 0 && (!is_encrypted(c) || elapsed >= DOUBT_MILLISECONDS);
}

void latchkey_http_past_library_refuse_body(connection *c) {
    latchkey_http_past_library_refuse(c, atomic_load(&c->phase), "413 Content Too Large",
                                      c->server->too_large_body);
}
