// TLS, inside this target.

#ifndef LATCHKEY_HTTP_TLS_H
#define LATCHKEY_HTTP_TLS_H

#include "internal.h"

// Gives a new connection the server's identity. Returns false without memory.
bool latchkey_http_tls_begin(connection *c);

// A connection is in the list of handshakes until its handshake is complete, unless it is refused:
// that is decided before it enters. (lock)
void latchkey_http_tls_enter(connection *c);
void latchkey_http_tls_leave(connection *c);

// Takes the socket of a connection, which has not been closed, out of the watchdog's set. (lock)
void latchkey_http_tls_forget(connection *c);

// Ends the oldest handshake that has had its time, and gives its place back. Returns false if there
// is none. (lock)
bool latchkey_http_tls_yield(latchkey_http_server *server);

// Goes on with a handshake whose client has sent something. Returns false if the connection does
// not wait for that. (lock)
bool latchkey_http_tls_go_on(connection *c);

// Frees the identities.
void latchkey_http_tls_destroy(latchkey_http_server *server);

// Sets what libmicrohttpd has to know.
void latchkey_http_tls_set_options(struct MHD_OptionItem options[2]);

#endif
