// Suspending a connection: the only calls of MHD_suspend_connection() and MHD_resume_connection().
//
// Design
//
// libmicrohttpd does not check these calls. A connection that is suspended twice, or resumed after
// it has gone, corrupts its lists. So every flag that says that a connection waits changes together
// with the call, under one mutex:
//
//  * a thread that suspends holds `lock` while it checks whether there is something to wait for,
//    and until the connection is suspended;
//  * a thread that resumes holds `lock` while it changes what the connection waits for, and until
//    MHD_resume_connection() has returned.
//
// So there is exactly one resumption for each suspension. libmicrohttpd may hand over the next
// chunk of a body as soon as a connection is marked as resumed: the thread that serves it cannot
// suspend it again before that call has returned, because it needs `lock` for that. Nor can the
// connection go away: latchkey_http_suspension_destroy() needs `lock`, too, and the connection's is
// destroyed before libmicrohttpd frees its own object (MHD_CONNECTION_NOTIFY_CLOSED).
//
// Locks are taken in this order: the server's, this one, libmicrohttpd's. An answer that is given
// before its handler has returned takes none of them.

#include "library/suspend.h"
#include "internal.h"

void latchkey_http_suspension_create(suspension *s) {
    pthread_mutex_init(&s->lock, NULL);
    s->is_suspended = false;
}

void latchkey_http_suspension_destroy(suspension *s) {
    pthread_mutex_lock(&s->lock);
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_destroy(&s->lock);
}

void latchkey_http_suspend(suspension *s, connection *c) {
    s->is_suspended = true;
    MHD_suspend_connection(c->mhd);
}

void latchkey_http_resume(suspension *s, connection *c) {
    if (s->is_suspended) {
        s->is_suspended = false;
        MHD_resume_connection(c->mhd);
    }
}
