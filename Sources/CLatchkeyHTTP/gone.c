// Telling the owner of a request that it was taken away. CLatchkeyHTTP.h has the contract.
//
// Design
//
// A request is taken away under locks: of the suspension, and, by the watchdog and by stop, of the
// server. No callback runs under a lock of ours. So a request whose owner wants to know is put into
// the server's list of them, with a reference to its connection, and the thread that took it away
// tells the owners once it has released the lock. `gone` is guarded by the lock of the connection's
// suspension, under which ABANDONED is set as well: an owner that comes later finds it and is told
// at once.
//
// What a request does not ask for costs it one look at `release` when it is over.

#include "internal.h"

void latchkey_http_gone_tell(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    bool tells = c->gone.release != NULL && !c->is_gone_told &&
                 atomic_load(&c->answer_state) == ANSWER_ABANDONED;
    c->is_gone_told |= tells;
    latchkey_http_gone gone = c->gone;
    pthread_mutex_unlock(&c->suspension.lock);
    if (tells) {
        gone.gone(gone.context);
    }
}

void latchkey_http_request_when_gone(latchkey_http_request *request,
                                     const latchkey_http_gone *gone) {
    connection *c = (connection *)(void *)request;
    pthread_mutex_lock(&c->suspension.lock);
    c->gone = *gone;
    pthread_mutex_unlock(&c->suspension.lock);
    // Who calls this has still to answer, which holds the connection.
    latchkey_http_gone_tell(c);
}

void latchkey_http_gone_note(connection *c) {
    if (c->gone.release != NULL) {
        atomic_fetch_add_explicit(&c->reference_count, 1, memory_order_relaxed);
        c->next_gone = c->server->gone;
        c->server->gone = c;
    }
}

void latchkey_http_gone_tell_all(latchkey_http_server *server) {
    pthread_mutex_lock(&server->lock);
    connection *c = server->gone;
    server->gone = NULL;
    pthread_mutex_unlock(&server->lock);
    while (c != NULL) {
        connection *next = c->next_gone;
        latchkey_http_gone_tell(c);
        latchkey_http_connection_release(c);
        c = next;
    }
}

bool latchkey_http_gone_is_awaited(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    bool is_awaited = c->gone.release != NULL;
    pthread_mutex_unlock(&c->suspension.lock);
    return is_awaited;
}

void latchkey_http_gone_release(connection *c) {
    pthread_mutex_lock(&c->suspension.lock);
    latchkey_http_gone gone = c->gone;
    c->gone = (latchkey_http_gone){NULL, NULL, NULL};
    pthread_mutex_unlock(&c->suspension.lock);
    gone.release(gone.context);
}
