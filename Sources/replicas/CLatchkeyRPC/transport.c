/* Connections: TCP, and TLS by GnuTLS. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* TLS 1.2 or later and ciphers that authenticate, as HTTP/2 asks for (RFC 9113, section 9.2). */
static const char priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
    "+CHACHA20-POLY1305:-MAC-ALL:+AEAD:-RSA:-DHE-RSA";

static gnutls_datum_t datum_of(const char *text) {
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static bool fail(latchkey_rpc_channel *channel, const char *what, const char *why) {
    snprintf(channel->reason, REASON_BYTES, "%s: %s", what, why);
    return false;
}

/* The reason why a GnuTLS call failed. `text` is memory for a reason that is made here. */
static const char *why(gnutls_session_t session, int code, char *text) {
    if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
        // A server that wants another certificate sends an alert.
        const char *name = gnutls_alert_get_name(gnutls_alert_get(session));
        snprintf(text, REASON_BYTES, "the server refuses: %s", name != NULL ? name : "an alert");
        return text;
    }
    gnutls_datum_t sentences = {NULL, 0};
    if (code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR &&
        gnutls_certificate_verification_status_print(gnutls_session_get_verify_cert_status(session),
                                                     GNUTLS_CRT_X509, &sentences, 0) == 0) {
        size_t count = sentences.size;
        while (count > 0 && (sentences.data[count - 1] == ' ' || sentences.data[count - 1] == 0)) {
            count--;
        }
        snprintf(text, REASON_BYTES, "%.*s", (int)count, (char *)sentences.data);
        gnutls_free(sentences.data);
        return text;
    }
    return gnutls_strerror(code);
}

static int64_t left(int64_t deadline) {
    int64_t now = latchkey_rpc_now();
    return deadline > now ? deadline - now : 0;
}

/* Connects to one address. */
static bool connect_to(latchkey_rpc_channel *channel, const struct addrinfo *address,
                       int64_t deadline) {
    struct transport *transport = &channel->transport;
    transport->socket =
        socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
               address->ai_protocol);
    if (transport->socket < 0) {
        return fail(channel, "socket", strerror(errno));
    }
    int one = 1;
    setsockopt(transport->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int error = 0;
    if (connect(transport->socket, address->ai_addr, address->ai_addrlen) != 0) {
        error = errno;
    }
    while (error == EINPROGRESS) {
        int64_t rest = left(deadline);
        if (rest == 0 || !latchkey_rpc_wait(channel, POLLOUT, rest)) {
            error = ETIMEDOUT;
            break;
        }
        struct pollfd look = {transport->socket, POLLOUT, 0};
        if (poll(&look, 1, 0) > 0) {
            socklen_t count = sizeof error;
            if (getsockopt(transport->socket, SOL_SOCKET, SO_ERROR, &error, &count) != 0) {
                error = errno;
            }
        }
    }
    if (error != 0) {
        close(transport->socket);
        transport->socket = -1;
        return fail(channel, "no connection", strerror(error));
    }
    return true;
}

/* Takes the certificates of authorities; an error if there is none. */
static int trust(gnutls_certificate_credentials_t credentials, const char *authorities) {
    gnutls_datum_t trusted = datum_of(authorities);
    int code = gnutls_certificate_set_x509_trust_mem(credentials, &trusted, GNUTLS_X509_FMT_PEM);
    return code == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : code;
}

const char *latchkey_rpc_check_authorities(const char *authorities) {
    gnutls_certificate_credentials_t credentials;
    int code = gnutls_certificate_allocate_credentials(&credentials);
    if (code >= 0) {
        code = trust(credentials, authorities);
        gnutls_certificate_free_credentials(credentials);
    }
    return code >= 0 ? NULL : gnutls_strerror(code);
}

/* Loads the authorities to verify with, and the certificate to show. */
static int load(struct transport *transport, const struct latchkey_rpc_options *options) {
    int code = gnutls_certificate_allocate_credentials(&transport->credentials);
    if (code < 0) {
        return code;
    }
    if (options->authorities != NULL) {
        code = trust(transport->credentials, options->authorities);
    } else {
        code = gnutls_certificate_set_x509_system_trust(transport->credentials);
    }
    if (code >= 0 && options->certificate != NULL) {
        gnutls_datum_t chain = datum_of(options->certificate);
        gnutls_datum_t key = datum_of(options->key != NULL ? options->key : "");
        code = gnutls_certificate_set_x509_key_mem(transport->credentials, &chain, &key,
                                                   GNUTLS_X509_FMT_PEM);
    }
    return code;
}

static int prepare(struct transport *transport, const struct latchkey_rpc_options *options) {
    static const char protocol[] = "h2";
    gnutls_datum_t offered = {(unsigned char *)(uintptr_t)protocol, 2};
    int code = load(transport, options);
    if (code >= 0) {
        code = gnutls_init(&transport->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    }
    if (code >= 0) {
        code = gnutls_priority_set_direct(transport->session, priorities, NULL);
    }
    if (code >= 0) {
        code = gnutls_credentials_set(transport->session, GNUTLS_CRD_CERTIFICATE,
                                      transport->credentials);
    }
    if (code >= 0) {
        code = gnutls_alpn_set_protocols(transport->session, &offered, 1, 0);
    }
    if (code >= 0) {
        // An IP address is not a server name (RFC 6066, section 3); the check takes both.
        struct in6_addr ignored;
        bool is_address = inet_pton(AF_INET, options->host, &ignored) == 1 ||
                          inet_pton(AF_INET6, options->host, &ignored) == 1;
        if (!is_address) {
            code = gnutls_server_name_set(transport->session, GNUTLS_NAME_DNS, options->host,
                                          strlen(options->host));
        }
    }
    if (code >= 0) {
        // Without the purpose, a client's certificate would be accepted. The list is not copied.
        transport->expected[0] = (gnutls_typed_vdata_st){
            .type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)(uintptr_t)options->host};
        transport->expected[1] =
            (gnutls_typed_vdata_st){.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                    .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_SERVER};
        gnutls_session_set_verify_cert2(transport->session, transport->expected, 2, 0);
        gnutls_transport_set_int(transport->session, transport->socket);
    }
    return code;
}

static bool shake_hands(latchkey_rpc_channel *channel, int64_t deadline) {
    struct transport *transport = &channel->transport;
    int code = prepare(transport, &channel->options);
    if (code < 0) {
        return fail(channel, "TLS", gnutls_strerror(code));
    }
    while ((code = gnutls_handshake(transport->session)) != GNUTLS_E_SUCCESS) {
        if (gnutls_error_is_fatal(code)) {
            char text[REASON_BYTES];
            return fail(channel, "TLS", why(transport->session, code, text));
        }
        short events = gnutls_record_get_direction(transport->session) == 0 ? POLLIN : POLLOUT;
        int64_t rest = left(deadline);
        if (rest == 0 || !latchkey_rpc_wait(channel, events, rest)) {
            return fail(channel, "TLS", "the handshake takes too long");
        }
    }
    return true;
}

bool latchkey_rpc_connect(latchkey_rpc_channel *channel) {
    int64_t deadline = latchkey_rpc_now() + channel->options.connect_milliseconds;
    char port[8];
    snprintf(port, sizeof port, "%u", channel->options.port);
    struct addrinfo hints = {0};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    struct addrinfo *addresses = NULL;
    int code = getaddrinfo(channel->options.host, port, &hints, &addresses);
    if (code != 0) {
        return fail(channel, channel->options.host, gai_strerror(code));
    }
    bool is_connected = false;
    for (struct addrinfo *next = addresses; next != NULL && !is_connected; next = next->ai_next) {
        is_connected = latchkey_rpc_is_wanted(channel) && connect_to(channel, next, deadline);
    }
    freeaddrinfo(addresses);
    return is_connected && (!channel->options.is_encrypted || shake_hands(channel, deadline));
}

void latchkey_rpc_disconnect(struct transport *transport) {
    if (transport->session != NULL) {
        gnutls_bye(transport->session, GNUTLS_SHUT_WR);
        gnutls_deinit(transport->session);
        transport->session = NULL;
    }
    if (transport->credentials != NULL) {
        gnutls_certificate_free_credentials(transport->credentials);
        transport->credentials = NULL;
    }
    if (transport->socket >= 0) {
        close(transport->socket);
        transport->socket = -1;
    }
}

static ssize_t checked(struct transport *transport, ssize_t code) {
    if (code >= 0) {
        return code;
    }
    transport->code = (int)code;
    errno =
        code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED || !gnutls_error_is_fatal((int)code)
            ? EAGAIN
            : EPROTO;
    return -1;
}

ssize_t latchkey_rpc_write(struct transport *transport, const uint8_t *bytes, size_t count) {
    return transport->session == NULL
               ? send(transport->socket, bytes, count, MSG_NOSIGNAL)
               : checked(transport, gnutls_record_send(transport->session, bytes, count));
}

ssize_t latchkey_rpc_read(struct transport *transport, uint8_t *bytes, size_t count) {
    return transport->session == NULL
               ? recv(transport->socket, bytes, count, 0)
               : checked(transport, gnutls_record_recv(transport->session, bytes, count));
}

bool latchkey_rpc_fail(latchkey_rpc_channel *channel, const char *what) {
    struct transport *transport = &channel->transport;
    if (errno != EPROTO || transport->session == NULL) {
        return fail(channel, what, strerror(errno));
    }
    char text[REASON_BYTES];
    return fail(channel, "TLS", why(transport->session, transport->code, text));
}

bool latchkey_rpc_fail_closed(latchkey_rpc_channel *channel) {
    // A TLS server closes a connection at once if it cannot read the input.
    bool may_want_tls = !channel->has_heard && !channel->options.is_encrypted;
    return fail(channel, "receive",
                may_want_tls ? "the server has closed the connection at once: "
                               "does its address begin with https?"
                             : "the server has closed the connection");
}

bool latchkey_rpc_has_buffered(struct transport *transport) {
    return transport->session != NULL && gnutls_record_check_pending(transport->session) > 0;
}
