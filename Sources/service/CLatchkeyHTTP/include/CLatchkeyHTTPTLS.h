// The certificates of TLS: that of a server, and those of its clients.
//
// Included by CLatchkeyHTTP.h.

#ifndef LATCHKEY_HTTP_TLS_CONTRACT_H
#define LATCHKEY_HTTP_TLS_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct latchkey_http_request;
struct latchkey_http_server;

// A certificate with its key, and the authorities whose certificates clients may show.
typedef struct latchkey_http_identity latchkey_http_identity;

enum {
    LATCHKEY_HTTP_REASON_BYTES = 256,
    // How long a handshake can take.
    LATCHKEY_HTTP_HANDSHAKE_MILLISECONDS = 10000,
    // How long a handshake keeps its place among the connections if another client wants it.
    LATCHKEY_HTTP_HANDSHAKE_PLACE_MILLISECONDS = 1000,
    // How many handshakes are under way at once. The hellos of others wait in the kernel. A
    // handshake that is not finished within the time above does not count.
    LATCHKEY_HTTP_HANDSHAKES_MAX = 128,
    // How many connections over their client's share get a handshake in a second, to be told so.
    // Further ones are closed.
    LATCHKEY_HTTP_REFUSED_HANDSHAKES_MAX = 32,
    // How long the name in the certificate of a client can be; one with a longer name has none.
    LATCHKEY_HTTP_CERTIFICATE_NAME_BYTES_MAX = 64,
};

// Makes an identity of texts in PEM: the certificate, followed by those that it needs, its key, and
// the authorities for clients, or NULL: then no client is asked for a certificate. Returns NULL and
// says why in `reason` if the texts are not valid or do not belong together. Any thread.
latchkey_http_identity *latchkey_http_identity_create(const char *certificates, const char *key,
                                                      const char *authorities, char *reason);

// Only of one that no server has.
void latchkey_http_identity_destroy(latchkey_http_identity *identity);

// When the certificate ends, in seconds since 1970.
int64_t latchkey_http_identity_expiry(const latchkey_http_identity *identity);

// Takes an identity over: handshakes that begin from now on show it. Sessions of the former one are
// not resumed any more; connections go on. The former one is kept until the server is stopped,
// because connections refer to it. Any thread.
void latchkey_http_identify(struct latchkey_http_server *server, latchkey_http_identity *identity);

typedef enum latchkey_http_certificate {
    LATCHKEY_HTTP_CERTIFICATE_NONE,
    LATCHKEY_HTTP_CERTIFICATE_VALID,
    // It is not of one of the authorities, has ended, is not for clients, or has no name.
    LATCHKEY_HTTP_CERTIFICATE_REFUSED,
} latchkey_http_certificate;

// Whether the client of a request showed a certificate in its handshake, and the common name of its
// subject, whose bytes are valid as long as those of the request.
latchkey_http_certificate
latchkey_http_request_certificate(const struct latchkey_http_request *request, const char **name,
                                  size_t *count);

#endif
