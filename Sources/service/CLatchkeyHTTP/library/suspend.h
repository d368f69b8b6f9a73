// Suspending a connection: one protocol for answers, readers of bodies, and streams.
//
// The tables of internal.h say which side waits for what.

#ifndef LATCHKEY_HTTP_SUSPEND_H
#define LATCHKEY_HTTP_SUSPEND_H

#include <pthread.h>
#include <stdbool.h>

struct connection;

// See suspend.c. A connection has one for its handshake and its requests, and each
// stream has one.
typedef struct suspension {
    pthread_mutex_t lock;
    bool is_suspended;  // (lock)
} suspension;

void latchkey_http_suspension_create(suspension *s);

// Waits for a thread that is still inside latchkey_http_resume().
void latchkey_http_suspension_destroy(suspension *s);

// Suspends the connection: the thread must go back to libmicrohttpd. The server's thread. (lock)
void latchkey_http_suspend(suspension *s, struct connection *c);

// Resumes the connection if it is suspended. Any thread. (lock)
void latchkey_http_resume(suspension *s, struct connection *c);

#endif
