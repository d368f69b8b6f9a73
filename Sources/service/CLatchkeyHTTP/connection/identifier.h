// The identifiers of requests, which every answer has. identifier.c says how they are made.

#ifndef LATCHKEY_HTTP_IDENTIFIER_H
#define LATCHKEY_HTTP_IDENTIFIER_H

#include "internal.h"

// Draws the beginning of this server's identifiers.
void latchkey_http_identifier_create(latchkey_http_server *server);

// Gives its identifier to the request that begins. The server's thread, once for each request.
void latchkey_http_identifier_next(connection *c);

// Makes one that no request has, for an answer to something that is not a request yet. Any thread.
void latchkey_http_identifier_make(latchkey_http_server *server,
                                   char text[LATCHKEY_HTTP_IDENTIFIER_BYTES]);

#endif
