// A connection, as the files of this target see it.

#ifndef LATCHKEY_HTTP_CONNECTION_H
#define LATCHKEY_HTTP_CONNECTION_H

#include "internal.h"

// connection.c

void latchkey_http_connection_release(connection *c);

// Changes the phase. Returns false if the connection has expired. The server's thread only.
bool latchkey_http_connection_enter(connection *c, enum phase phase);
enum phase latchkey_http_connection_phase(connection *c);

// The kernel's state of a connection; false if the kernel does not give it.
struct tcp_info;
bool latchkey_http_connection_ask(connection *c, struct tcp_info *info);

// Whether the client has closed the connection, or its half of it.
bool latchkey_http_connection_has_left(connection *c);

// The lists of connections. `offset` is that of the links in a connection. (lock)
void latchkey_http_links_append(links *list, connection *c, size_t offset);
void latchkey_http_links_take_out(links *list, connection *c, size_t offset);

// Sets the phase to EXPIRED if it is this one. Returns false if the phase has changed.
bool latchkey_http_connection_expire(connection *c, unsigned phase);

// Shuts a connection down: libmicrohttpd sees the end of the stream and closes. Bytes that the
// client has not taken are discarded.
void latchkey_http_connection_end(connection *c);

// The time of deadlines, in milliseconds. Any thread.
uint64_t latchkey_http_now(latchkey_http_server *server);

// Suspends a request if it is still RUNNING. Returns true if its thread must go back to
// libmicrohttpd. The server's thread.
bool latchkey_http_connection_await(connection *c);

// address.c

// Whether the address is one of a proxy that speaks for others.
bool latchkey_http_address_is_proxy(const latchkey_http_server *server,
                                    const latchkey_http_address *address);

// Makes room for the counters. Returns false without memory.
bool latchkey_http_address_create(latchkey_http_server *server);

// Counts a connection, or says which limit it is over. (lock)
latchkey_http_rejection latchkey_http_address_enter(connection *c);
void latchkey_http_address_leave(connection *c);

// fields.c

// The bit of the name of a header field, in whatever case.
latchkey_http_known latchkey_http_field_known(const char *name, size_t count);

#endif
