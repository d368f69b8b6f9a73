// Telling the owners of a request that it was taken away. CLatchkeyHTTP.h has the contract.
//
// Design
//
// A request is taken away under locks: of the suspension, and, by the watchdog and by stop, of the
// server. No callback runs under a lock of ours. So a request whose owners want to know is put into
// the server's list of them, with a reference to its connection, and the thread that took it away
// tells the owners once it has released the lock. The list of owners is guarded by the lock of the
// connection's suspension, under which ABANDONED is set as well: an owner that comes later finds it
// and is told at once. No owner leaves the list before the request is over.
//
// A request without such owners pays only one look at the list when it is over.

#include "connection/connection.h"
#include "request/request.h"

void latchkey_http_abandoned_tell(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    bool tells = atomic_load(&c->answer_state) == ANSWER_ABANDONED;
    for (latchkey_http_gone *gone = c->gone; tells && gone != NULL; gone = gone->next) {
        if (!gone->is_told) {
            gone->is_told = true;
            pthread_mutex_unlock(&c->suspension.lock);
            gone->gone(gone->context);
            pthread_mutex_lock(&c->suspension.lock);
        }
    }
    pthread_mutex_unlock(&c->suspension.lock);
}

void latchkey_http_request_when_gone(latchkey_http_request *request, latchkey_http_gone *gone) {
    connection *c = (connection *)(void *)request;
    pthread_mutex_lock(&c->suspension.lock);
    gone->next = c->gone;
    gone->is_told = atomic_load(&c->answer_state) == ANSWER_ABANDONED;
    c->gone = gone;
    bool tells = gone->is_told;
    pthread_mutex_unlock(&c->suspension.lock);
    if (tells) {
        // May answer; then the connection, which nothing else holds, ends.
        gone->gone(gone->context);
    }
}

void latchkey_http_abandoned_note(connection *c) {
    if (c->gone != NULL) {
        atomic_fetch_add_explicit(&c->reference_count, 1, memory_order_relaxed);
        c->next_gone = c->server->gone;
        c->server->gone = c;
    }
}

void latchkey_http_abandoned_tell_all(latchkey_http_server *server) {
    pthread_mutex_lock(&server->lock);
    connection *c = server->gone;
    server->gone = NULL;
    pthread_mutex_unlock(&server->lock);
    while (c != NULL) {
        connection *next = c->next_gone;
        latchkey_http_abandoned_tell(c);
        latchkey_http_connection_release(c);
        c = next;
    }
}

bool latchkey_http_abandoned_is_awaited(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    bool is_awaited = c->gone != NULL;
    pthread_mutex_unlock(&c->suspension.lock);
    return is_awaited;
}

void latchkey_http_abandoned_release(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    latchkey_http_gone *gone = c->gone;
    c->gone = NULL;
    pthread_mutex_unlock(&c->suspension.lock);
    while (gone != NULL) {
        latchkey_http_gone *next = gone->next;
        gone->release(gone->context);
        gone = next;
    }
}
