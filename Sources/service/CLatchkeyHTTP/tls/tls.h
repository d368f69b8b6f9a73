// TLS, inside this target.

#ifndef LATCHKEY_HTTP_TLS_H
#define LATCHKEY_HTTP_TLS_H

#include <gnutls/gnutls.h>

#include "internal.h"

// Gives a new connection the server's identity. Returns false without memory.
bool latchkey_http_tls_begin(connection *c);

// A connection is in the list of handshakes until its handshake is complete, unless it is refused:
// that is decided before it enters. (lock)
void latchkey_http_tls_enter(connection *c);
void latchkey_http_tls_leave(connection *c);

// Takes the socket of a connection, which has not been closed, out of the watchdog's set. (lock)
void latchkey_http_tls_forget(connection *c);

// Takes the oldest handshake whose time is over out of the list. Returns its connection, whose
// place is free once the connection has ended; NULL if there is none. (lock)
connection *latchkey_http_tls_yield(latchkey_http_server *server);

// Goes on with a handshake whose client has sent something. Returns false if the connection does
// not wait for that. (lock)
bool latchkey_http_tls_go_on(connection *c);

// Frees the identities.
void latchkey_http_tls_destroy(latchkey_http_server *server);

// handshake.c from here on.

// Receives for a session of GnuTLS; the context is the connection.
ssize_t latchkey_http_handshake_pull(gnutls_transport_ptr_t context, void *bytes, size_t count);

// Gives turns to waiting handshakes, if the time of others is over. (lock)
void latchkey_http_tls_give_turns(latchkey_http_server *server);

// Logs why the handshake that received last on this thread has failed.
void latchkey_http_tls_say_failure(void);

// hello.c: to be called before any hello is read; when a hello has come, before GnuTLS looks at it;
// and when GnuTLS has read it, or has given up.
void latchkey_http_hello_prepare(void);
void latchkey_http_hello_begin(const gnutls_datum_t *hello);
void latchkey_http_hello_end(void);

// Sets the options of libmicrohttpd.
void latchkey_http_tls_set_options(struct MHD_OptionItem options[2]);

#endif
