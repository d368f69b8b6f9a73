// TLS: the certificates of the server and of its clients. handshake.c has the course of handshakes.
//
// Design
//
// libmicrohttpd runs the sessions of GnuTLS. It neither changes a certificate while it serves, nor
// gives session tickets, nor verifies the certificates of clients, nor limits handshakes. So each
// session gets its credentials and its ticket key here, before its first byte. An identity holds
// both, so that no resumed session outlives the authorities that it was verified with. The server
// has one current identity, which one atomic pointer names; former ones are kept until the server
// ends, because sessions refer to their credentials without counting.
//
// A handshake is over when the Finished of the client has come, in all versions and forms; if it is
// wrong, the connection ends. Only then is the certificate of the client verified: that of a
// resumed session comes out of the ticket, and may have ended since. An invalid certificate does
// not end the handshake, because a client cannot tell such an end from others; the handler answers
// the request instead.

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "connection/connection.h"
#include "tls/tls.h"

// Ciphers that authenticate, and keys with forward secrecy: all clients have them since 2014.
static const char priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
    "+CHACHA20-POLY1305:-MAC-ALL:+AEAD:-RSA:-DHE-RSA";

struct latchkey_http_identity {
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t ticket_key;
    int64_t expiry;
    char *authorities;    // or NULL: no client is asked for a certificate
    uint64_t generation;  // of the authorities
    latchkey_http_identity *former;
};

static gnutls_datum_t datum_of(const char *text) {
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static void explain(char *reason, const char *what, int code) {
    snprintf(reason, LATCHKEY_HTTP_REASON_BYTES, "%s: %s", what, gnutls_strerror(code));
}

// Reads when the certificate ends. Returns a code of GnuTLS.
static int read_expiry(latchkey_http_identity *identity) {
    gnutls_datum_t raw;
    gnutls_x509_crt_t certificate;
    int code = gnutls_certificate_get_crt_raw(identity->credentials, 0, 0, &raw);
    if (code < 0 || (code = gnutls_x509_crt_init(&certificate)) < 0) {
        return code;
    }
    code = gnutls_x509_crt_import(certificate, &raw, GNUTLS_X509_FMT_DER);
    if (code >= 0) {
        identity->expiry = (int64_t)gnutls_x509_crt_get_expiration_time(certificate);
    }
    gnutls_x509_crt_deinit(certificate);
    return code;
}

// Fills an identity. Returns whether the texts are valid.
static bool load(latchkey_http_identity *identity, const char *certificates, const char *key,
                 const char *authorities, char *reason) {
    gnutls_datum_t chain = datum_of(certificates);
    gnutls_datum_t secret = datum_of(key);
    int code = gnutls_certificate_allocate_credentials(&identity->credentials);
    if (code < 0 || (code = gnutls_session_ticket_key_generate(&identity->ticket_key)) < 0) {
        explain(reason, "no memory, or no random bytes", code);
        return false;
    }
    code = gnutls_certificate_set_x509_key_mem2(identity->credentials, &chain, &secret,
                                                GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code < 0 || (code = read_expiry(identity)) < 0) {
        explain(reason, "the certificate or its key is not right", code);
        return false;
    }
    if (authorities != NULL) {
        gnutls_datum_t trusted = datum_of(authorities);
        code = gnutls_certificate_set_x509_trust_mem(identity->credentials, &trusted,
                                                     GNUTLS_X509_FMT_PEM);
        if (code <= 0) {
            explain(reason, "the certificates of the authorities are not right", code);
            return false;
        }
        identity->authorities = strdup(authorities);
        return identity->authorities != NULL;
    }
    return true;
}

latchkey_http_identity *latchkey_http_identity_create(const char *certificates, const char *key,
                                                      const char *authorities, char *reason) {
    latchkey_http_identity *identity = calloc(1, sizeof(*identity));
    if (identity == NULL) {
        explain(reason, "no identity", GNUTLS_E_MEMORY_ERROR);
    } else if (!load(identity, certificates, key, authorities, reason)) {
        latchkey_http_identity_destroy(identity);
        identity = NULL;
    }
    return identity;
}

void latchkey_http_identity_destroy(latchkey_http_identity *identity) {
    if (identity->credentials != NULL) {
        gnutls_certificate_free_credentials(identity->credentials);
    }
    if (identity->ticket_key.data != NULL) {
        gnutls_memset(identity->ticket_key.data, 0, identity->ticket_key.size);
        gnutls_free(identity->ticket_key.data);
    }
    free(identity->authorities);
    free(identity);
}

int64_t latchkey_http_identity_expiry(const latchkey_http_identity *identity) {
    return identity->expiry;
}

static bool has_same_authorities(const latchkey_http_identity *a, const latchkey_http_identity *b) {
    return a->authorities == NULL || b->authorities == NULL
               ? a->authorities == b->authorities
               : strcmp(a->authorities, b->authorities) == 0;
}

void latchkey_http_identify(latchkey_http_server *server, latchkey_http_identity *identity) {
    pthread_mutex_lock(&server->lock);
    latchkey_http_identity *former = atomic_load_explicit(&server->identity, memory_order_relaxed);
    identity->former = former;
    identity->generation = former->generation + !has_same_authorities(former, identity);
    atomic_store_explicit(&server->identity, identity, memory_order_release);
    pthread_mutex_unlock(&server->lock);
}

void latchkey_http_tls_destroy(latchkey_http_server *server) {
    latchkey_http_identity *identity =
        atomic_load_explicit(&server->identity, memory_order_acquire);
    while (identity != NULL) {
        latchkey_http_identity *former = identity->former;
        latchkey_http_identity_destroy(identity);
        identity = former;
    }
}

// Never called, since each session has credentials of its own; but libmicrohttpd does not start
// without this or a certificate.
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
                          int authority_count, const gnutls_pk_algorithm_t *algorithms,
                          int algorithm_count, gnutls_pcert_st **certificates,
                          unsigned *certificate_count, gnutls_privkey_t *key) {
    (void)session;
    (void)authorities;
    (void)authority_count;
    (void)algorithms;
    (void)algorithm_count;
    (void)certificates;
    (void)certificate_count;
    (void)key;
    return -1;
}

void latchkey_http_tls_set_options(struct MHD_OptionItem options[2]) {
    latchkey_http_hello_prepare();
    options[0] =
        (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)priorities};
    options[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0,
                                         (void *)(uintptr_t)no_certificate};
}

// Takes the common name of a certificate, if it has one that can be a name, and its end. Returns
// whether it has.
static bool take_name(connection *c, const gnutls_datum_t *raw) {
    char name[LATCHKEY_HTTP_CERTIFICATE_NAME_BYTES_MAX + 1];
    size_t count = sizeof(name);
    gnutls_x509_crt_t certificate;
    if (gnutls_x509_crt_init(&certificate) < 0) {
        return false;
    }
    // A NUL inside could make two different names equal. For a value with a NUL, GnuTLS gives `#`
    // and hexadecimal digits.
    bool has_name = gnutls_x509_crt_import(certificate, raw, GNUTLS_X509_FMT_DER) >= 0 &&
                    gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                                  name, &count) >= 0 &&
                    count > 0 && strlen(name) == count && name[0] != '#';
    c->certificate_end = (int64_t)gnutls_x509_crt_get_expiration_time(certificate);
    gnutls_x509_crt_deinit(certificate);
    if (has_name) {
        c->certificate_name = strdup(name);
    }
    return c->certificate_name != NULL;
}

// Verifies the certificate of the client, if it has shown one.
static void verify(connection *c, gnutls_session_t session) {
    unsigned count = 0;
    unsigned faults = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    if (chain == NULL || count == 0) {
        return;
    }
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    bool is_valid = gnutls_certificate_verify_peers(session, &purpose, 1, &faults) >= 0 &&
                    faults == 0 && take_name(c, &chain[0]);
    c->certificate = is_valid ? LATCHKEY_HTTP_CERTIFICATE_VALID : LATCHKEY_HTTP_CERTIFICATE_REFUSED;
}

// Called when a Finished has come, right before it is verified.
static void finish(connection *c, gnutls_session_t session) {
    struct tcp_info info;
    int unread = 0;
    uint64_t received = 0;
    c->may_shake = false;
    verify(c, session);
    // In this order: bytes that arrive in between belong to a request. GnuTLS reads no further than
    // it needs.
    if (latchkey_http_connection_ask(c, &info) && ioctl(c->socket, FIONREAD, &unread) == 0) {
        received = info.tcpi_bytes_received - (unsigned)unread;
    }
    pthread_mutex_lock(&c->server->lock);
    c->handshake_bytes = received;
    latchkey_http_tls_leave(c);
    latchkey_http_tls_forget(c);
    pthread_mutex_unlock(&c->server->lock);
    atomic_fetch_add_explicit(&c->server->handshake_total, 1, memory_order_relaxed);
    if (gnutls_session_is_resumed(session)) {
        atomic_fetch_add_explicit(&c->server->resumed_total, 1, memory_order_relaxed);
    }
}

// Called before and after GnuTLS reads a message of a handshake. The server's thread.
static int see_message(gnutls_session_t session, unsigned type, unsigned when, unsigned is_incoming,
                       const gnutls_datum_t *message) {
    if (!is_incoming) {
        return 0;
    }
    const union MHD_ConnectionInfo *found = MHD_get_connection_info(
        gnutls_session_get_ptr(session), MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    connection *c = found->socket_context;
    bool is_read = when == GNUTLS_HOOK_POST;
    if (type == GNUTLS_HANDSHAKE_FINISHED && is_read) {
        finish(c, session);
    } else if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO && is_read) {
        latchkey_http_hello_end();
    } else if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO) {
        c->is_greeted = true;
        latchkey_http_hello_begin(message);
    }
    return 0;
}

// Whether there are bytes to receive within a time; GnuTLS's own function would not know the
// context.
static int pull_timeout(gnutls_transport_ptr_t context, unsigned milliseconds) {
    struct pollfd set = {.fd = ((connection *)context)->socket, .events = POLLIN};
    return poll(&set, 1, milliseconds == GNUTLS_INDEFINITE_TIMEOUT ? -1 : (int)milliseconds);
}

bool latchkey_http_tls_begin(connection *c) {
    const latchkey_http_identity *identity =
        atomic_load_explicit(&c->server->identity, memory_order_acquire);
    const union MHD_ConnectionInfo *found =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_session_t session = found->tls_session;
    c->may_shake = true;
    gnutls_transport_set_ptr2(session, c, (gnutls_transport_ptr_t)(intptr_t)c->socket);
    gnutls_transport_set_pull_function(session, latchkey_http_handshake_pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH,
                                       see_message);
    c->generation = identity->generation;
    if (identity->authorities != NULL) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    }
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, identity->credentials) >= 0 &&
           gnutls_session_ticket_enable_server(session, &identity->ticket_key) >= 0;
}

latchkey_http_certificate latchkey_http_request_certificate(const latchkey_http_request *request,
                                                            const char **name, size_t *count) {
    const connection *c = (const connection *)(const void *)request;
    *name = c->certificate_name;
    *count = c->certificate_name != NULL ? strlen(c->certificate_name) : 0;
    if (c->certificate != LATCHKEY_HTTP_CERTIFICATE_VALID) {
        return c->certificate;
    }
    // A connection can outlive both.
    const latchkey_http_identity *now =
        atomic_load_explicit(&c->server->identity, memory_order_acquire);
    return time(NULL) < c->certificate_end && now->generation == c->generation
               ? LATCHKEY_HTTP_CERTIFICATE_VALID
               : LATCHKEY_HTTP_CERTIFICATE_REFUSED;
}
