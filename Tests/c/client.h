// A client that can misbehave: raw bytes on a socket, and answers read one at a time.

#ifndef LATCHKEY_TEST_CLIENT_H
#define LATCHKEY_TEST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLIENT_HEAD_BYTES_MAX = 4096, CLIENT_BODY_BYTES_MAX = 1 << 16 };

typedef struct client {
    int socket;
    char buffer[1 << 17];  // received, not yet given out
    size_t count;
} client;

typedef struct reply {
    int status;  // 0: the connection was closed, or nothing came in time
    bool closes;
    char head[CLIENT_HEAD_BYTES_MAX];
    char body[CLIENT_BODY_BYTES_MAX];
    size_t body_count;
} reply;

// Connects from 127.0.0.N to 127.0.0.1, as client_open() does from the first one.
bool client_open_from(client *c, uint16_t port, uint8_t number);

// Connects to 127.0.0.1. Returns false if that is refused. Reading waits for 5 seconds at most.
bool client_open(client *c, uint16_t port);

// The same, with a receive buffer of this size in the kernel.
bool client_open_small(client *c, uint16_t port, int receive_bytes);
void client_close(client *c);

// Closes with a reset instead of an orderly end.
void client_reset(client *c);

// Ends our half of the stream.
void client_end(client *c);

// Sends everything, or as much as the other side takes before it closes.
void client_send_bytes(client *c, const void *bytes, size_t count);
void client_send(client *c, const char *text);

// Reads an answer. `head_only` for the answer to a HEAD request.
reply *client_read(client *c, bool head_only);

// Waits for more bytes in `buffer`. False at the end of the stream, and if nothing comes.
bool client_receive(client *c);

// Takes bytes out of `buffer`.
void client_consume(client *c, size_t count);

// Sends, reads, and returns the status.
int client_ask(client *c, const char *text);

// Whether the other side ends the stream before it sends anything more. A reset counts.
bool client_sees_end(client *c);

#endif
