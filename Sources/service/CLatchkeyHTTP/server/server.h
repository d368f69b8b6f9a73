// The server and all of its connections, as the files of this target see them.

#ifndef LATCHKEY_HTTP_SERVER_H
#define LATCHKEY_HTTP_SERVER_H

#include "internal.h"

// admission.c

void latchkey_http_connection_notify(void *context, struct MHD_Connection *mhd,
                                     void **socket_context,
                                     enum MHD_ConnectionNotificationCode code);
enum MHD_Result latchkey_http_connection_admit(void *context, const struct sockaddr *from,
                                               socklen_t count);

// Frees a connection that nothing holds.
void latchkey_http_connection_free(connection *c);

// server.c

// The object with everything that does not need a descriptor, or NULL without memory.
latchkey_http_server *latchkey_http_server_create(const latchkey_http_options *options);
void latchkey_http_server_release(latchkey_http_server *server);

// The limit of refused connections, and of further ones that are ending, which takes a moment.
enum { CONNECTIONS_ENDING_MAX = 64 };
uint32_t latchkey_http_server_refusals_max(const latchkey_http_options *options);

// deadline.c

void *latchkey_http_deadline_watch(void *server);

// Ends and joins the watchdog, if it runs.
void latchkey_http_deadline_stop(latchkey_http_server *server);

#endif
