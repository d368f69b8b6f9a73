// The bytes that a client sends, checked before libmicrohttpd reads them.
//
// Design
//
// libmicrohttpd is lax, and its versions differ: a bare line feed ends a line, a folded line is
// joined or served as it is, white space in a target is answered with a redirection, a chunk's
// extension with 400. If a proxy in front of us reads the same bytes differently, one request hides
// in another (RFC 9112, section 11.2). The library answers the requests that it refuses with a page
// of its own, which our counts miss, and some of them wrongly.
//
// So the library reads through us. It calls recv(), or gnutls_record_recv(), which this file
// defines: the dynamic linker takes a program's own function before a library's. For a socket of
// ours the bytes are received, checked and made plain; all other callers get what they ask for.
// Every version of the library then gets the same bytes, and they mean one thing only:
//
//   what comes                      | what the library gets
//   --------------------------------+--------------------------------------------------------------
//   a head                          | the whole of it at once, with CR LF after each line, without
//                                   | empty lines before it, without white space after a value
//   `?` in a target                 | `#`, so that it is not cut into arguments (head.c)
//   Cookie                          | `~ookie`, so that it makes no copies (head.c)
//   a chunk                         | its size without extension and leading zeros
//   trailers                        | none
//   a head that breaks a rule       | a short head in its place, and nothing after it
//   a body that breaks a rule       | its end at that place, and nothing after it
//
// request.c refuses the request of that number. So a refusal waits for the answers of the requests
// before it, goes through the library also under TLS, and has the form of all others.
//
// Bytes that were received but not given yet are held: a part of a head, or of a line between
// chunks, and bytes that the library had no room for. If a read is shorter than the library's
// buffer, the library does not read again until the kernel says that there is more. So a read goes
// on until the kernel has no more, or the buffer is full.
//
// framing.c has the rules.

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection/arrival.h"
#include "connection/framing.h"
#include "internal.h"

enum {
    HELD_ROOM_BYTES = 4096,  // for a read after held bytes
    DISCARDED_READS_MAX = 16,
};

static _Atomic(connection *) by_socket[ARRIVAL_SOCKETS_MAX];

// Gives the library what is ready. Returns how many bytes.
static size_t give(arrival *a, char *to, size_t room) {
    size_t count = a->ready - a->given;
    if (count > 0) {
        count = count < room ? count : room;
        memcpy(to, a->held + a->given, count);
        a->given += count;
    }
    if (a->given == a->ready && a->ready > 0) {
        a->held_count -= a->ready;
        memmove(a->held, a->held + a->ready, a->held_count);
        a->given = 0;
        a->ready = 0;
    }
    if (a->held_count == 0 && a->held != NULL) {
        free(a->held);
        a->held = NULL;
        a->held_capacity = 0;
    }
    if (a->closing != NULL && a->held_count == 0) {
        size_t all = strlen(a->closing);
        size_t part = all < room - count ? all : room - count;
        memcpy(to + count, a->closing, part);
        a->closing = part < all ? a->closing + part : NULL;
        count += part;
    }
    return count;
}

// Makes room after the held bytes. Returns false without memory.
static bool reserve(arrival *a, size_t count) {
    size_t needed = a->held_count + count;
    if (needed > a->held_capacity) {
        char *larger = realloc(a->held, needed);
        if (larger == NULL) {
            return false;
        }
        a->held = larger;
        a->held_capacity = needed;
    }
    return true;
}

// The result of recv() or gnutls_record_recv() when no bytes are there now.
static ssize_t nothing(gnutls_session_t session) {
    errno = EAGAIN;
    return session != NULL ? GNUTLS_E_AGAIN : -1;
}

// Receives, from the session if there is one, like the functions that this file replaces.
static ssize_t receive(int socket, gnutls_session_t session, void *bytes, size_t count) {
    unsigned char number[8];
    return session != NULL ? gnutls_record_recv_seq(session, bytes, count, number)
                           : read(socket, bytes, count);
}

// Receives the bytes after a refusal and discards them.
static ssize_t discard(connection *c, gnutls_session_t session, char *to, size_t room) {
    for (int i = 0; i < DISCARDED_READS_MAX; i++) {
        ssize_t got = receive(c->socket, session, to, room);
        if (got <= 0) {
            return got;
        }
    }
    return nothing(session);
}

// Receives what the library is to read next.
static ssize_t take(connection *c, gnutls_session_t session, char *to, size_t room) {
    arrival *a = &c->arrival;
    size_t taken = give(a, to, room);
    bool is_drained = false;
    while (taken < room && !is_drained && a->state != ARRIVAL_OVER) {
        bool holds = a->held_count > 0;
        size_t asked = holds ? HELD_ROOM_BYTES : room - taken;
        if (holds && !reserve(a, asked)) {
            errno = ENOMEM;
            return -1;
        }
        char *place = holds ? a->held + a->held_count : to + taken;
        ssize_t got = receive(c->socket, session, place, asked);
        if (got <= 0) {
            return taken > 0 ? (ssize_t)taken : got;
        }
        size_t rest;
        if (holds) {
            a->ready = latchkey_http_framing_check(c, a->held, a->held_count + (size_t)got, &rest);
            a->held_count = a->ready + rest;
        } else {
            size_t kept = latchkey_http_framing_check(c, place, (size_t)got, &rest);
            taken += kept;
            if (rest > 0) {
                if (!reserve(a, rest)) {
                    errno = ENOMEM;
                    return -1;
                }
                memcpy(a->held, place + kept, rest);
                a->held_count = rest;
            }
        }
        taken += give(a, to + taken, room - taken);
        // Under encryption the library reads on until there is nothing.
        is_drained = session != NULL ? taken > 0 : (size_t)got < asked;
    }
    if (taken == 0 && room > 0) {
        if (a->state == ARRIVAL_OVER) {
            return discard(c, session, to, room);
        }
        return nothing(session);
    }
    return (ssize_t)taken;
}

static ssize_t read_checked(connection *c, gnutls_session_t session, void *to, size_t room) {
    ssize_t result = take(c, session, to, room);
    bool is_waiting = c->arrival.state == ARRIVAL_HEAD && c->arrival.held_count > 0;
    if (UNLIKELY(is_waiting !=
                 atomic_load_explicit(&c->arrival.is_waiting, memory_order_relaxed))) {
        atomic_store_explicit(&c->arrival.is_waiting, is_waiting, memory_order_relaxed);
    }
    return result;
}

static connection *connection_of(intptr_t socket) {
    return socket >= 0 && socket < ARRIVAL_SOCKETS_MAX
               ? atomic_load_explicit(&by_socket[socket], memory_order_acquire)
               : NULL;
}

// The C library's function, for the whole program.
ssize_t recv(int socket, void *bytes, size_t count, int flags) {
    connection *c = connection_of(socket);
    if (c != NULL && !c->server->is_encrypted) {
        return read_checked(c, NULL, bytes, count);
    }
    // Without flags they are the same. The thread sanitizer knows only for read() that it happens
    // after the send.
    return flags == 0 && count > 0 ? receive(socket, NULL, bytes, count)
                                   : recvfrom(socket, bytes, count, flags, NULL, NULL);
}

// GnuTLS's function, for the whole program.
ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes, size_t count) {
    gnutls_transport_ptr_t from = NULL;
    gnutls_transport_ptr_t to = NULL;
    gnutls_transport_get_ptr2(session, &from, &to);
    // A session of ours receives from its connection and sends to its socket (tls.c).
    connection *c = connection_of((intptr_t)to);
    if (c != NULL && c == from) {
        return read_checked(c, session, bytes, count);
    }
    return receive(-1, session, bytes, count);
}

bool latchkey_http_arrival_begin(connection *c) {
    if (c->socket < 0 || c->socket >= ARRIVAL_SOCKETS_MAX) {
        return false;
    }
    atomic_store_explicit(&by_socket[c->socket], c, memory_order_release);
    return true;
}

void latchkey_http_arrival_end(connection *c) {
    atomic_store_explicit(&by_socket[c->socket], NULL, memory_order_release);
    free(c->arrival.held);
    free(c->arrival.stand_in);
    c->arrival.held = NULL;
    c->arrival.stand_in = NULL;
}
