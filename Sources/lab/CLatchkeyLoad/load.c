#define _GNU_SOURCE
#include "CLatchkeyLoad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    // The head of an answer has to fit.
    HEAD_BYTES_MAX = 16384,
    EVENTS_MAX = 256,
};

// A sleeping thread wakes some fifty microseconds late: so much of a wait is polled instead.
static const uint64_t poll_nanoseconds = 80000;
// So long at most, so that an interrupt is seen.
static const uint64_t sleep_nanoseconds_max = 20000000;
static const uint64_t patience_nanoseconds = 5000000000;

typedef struct connection {
    struct connection *next_free;
    int socket;
    bool is_busy;
    bool is_waiting_to_send;
    // The request, how much of it is sent, and when it began.
    size_t request;
    size_t sent;
    uint64_t began;
    // The answer: what there is of its head, and how much of its body is missing behind it.
    size_t head_count;
    bool has_head;
    bool closes;
    size_t body_left;
    unsigned status;
    char head[HEAD_BYTES_MAX];
} connection;

typedef struct {
    const latchkey_load *load;
    latchkey_load_outcome outcome;
    connection *connections;
    connection *free;
    uint32_t busy_count;
    int epoll;
} run;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool watch(run *r, connection *c, bool sends) {
    struct epoll_event event = {.events = EPOLLIN | (sends ? EPOLLOUT : 0), .data.ptr = c};
    c->is_waiting_to_send = sends;
    return epoll_ctl(r->epoll, EPOLL_CTL_MOD, c->socket, &event) == 0;
}

// Opens the connection, which is free then.
static bool open_connection(run *r, connection *c) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(r->load->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->socket < 0) {
        return false;
    }
    int one = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    // Connecting blocks; only what comes later does not.
    if (connect(c->socket, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
        epoll_ctl(r->epoll, EPOLL_CTL_ADD, c->socket, &event) != 0) {
        close(c->socket);
        c->socket = -1;
        return false;
    }
    c->is_busy = false;
    c->is_waiting_to_send = false;
    c->next_free = r->free;
    r->free = c;
    return true;
}

// Ends the connection of a request that has no answer, and opens it anew.
static bool lose(run *r, connection *c) {
    close(c->socket);
    c->socket = -1;
    if (c->is_busy) {
        r->busy_count--;
        r->outcome.lost++;
    } else {
        // It was free: take it out of the list.
        connection **link = &r->free;
        while (*link != NULL && *link != c) {
            link = &(*link)->next_free;
        }
        if (*link != NULL) {
            *link = c->next_free;
        }
    }
    return open_connection(r, c);
}

static bool send_rest(run *r, connection *c) {
    const latchkey_load_request *request = &r->load->requests[c->request % r->load->request_count];
    while (c->sent < request->count) {
        ssize_t count = send(c->socket, r->load->bytes + request->first + c->sent,
                             request->count - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return c->is_waiting_to_send || watch(r, c, true);
        }
        if (count <= 0) {
            return lose(r, c);
        }
        c->sent += (size_t)count;
    }
    return !c->is_waiting_to_send || watch(r, c, false);
}

static bool begin(run *r, uint64_t time) {
    connection *c = r->free;
    r->free = c->next_free;
    r->busy_count++;
    c->is_busy = true;
    c->request = r->outcome.begun++;
    c->sent = 0;
    c->began = time;
    c->head_count = 0;
    c->has_head = false;
    return send_rest(r, c);
}

// The value of a field in a head that ends with a zero byte, or NULL.
static const char *field(const char *head, const char *name) {
    size_t count = strlen(name);
    for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, count) == 0 && line[1 + count] == ':') {
            const char *value = line + count + 2;
            return value + strspn(value, " \t");
        }
    }
    return NULL;
}

// Reads the head, if all of it is there; false if it is no answer that can be read.
static bool read_head(connection *c) {
    char *end = memmem(c->head, c->head_count, "\r\n\r\n", 4);
    if (end == NULL) {
        return c->head_count < HEAD_BYTES_MAX - 1;
    }
    size_t behind = c->head_count - (size_t)(end + 4 - c->head);
    *end = 0;
    if (strncmp(c->head, "HTTP/1.1 ", 9) != 0) {
        return false;
    }
    c->status = (unsigned)strtoul(c->head + 9, NULL, 10);
    const char *length = field(c->head, "Content-Length");
    const char *closing = field(c->head, "Connection");
    c->closes = closing != NULL && strncasecmp(closing, "close", 5) == 0;
    bool has_body = c->status != 204 && c->status != 304;
    if (has_body && length == NULL) {
        return false;
    }
    size_t body = has_body ? strtoull(length, NULL, 10) : 0;
    if (behind > body) {
        return false;
    }
    c->has_head = true;
    c->body_left = body - behind;
    return true;
}

static bool finish(run *r, connection *c) {
    r->load->answered(r->load->context, c->request, c->status, c->began, now());
    r->busy_count--;
    c->is_busy = false;
    // An answer may come before the whole request is sent, as for one that is too large.
    size_t count = r->load->requests[c->request % r->load->request_count].count;
    if (c->closes || c->sent < count) {
        close(c->socket);
        return open_connection(r, c);
    }
    c->next_free = r->free;
    r->free = c;
    return true;
}

static bool receive(run *r, connection *c) {
    char body[65536];
    while (true) {
        char *place = c->has_head ? body : c->head + c->head_count;
        size_t room = c->has_head ? sizeof(body) : HEAD_BYTES_MAX - 1 - c->head_count;
        ssize_t count = recv(c->socket, place, room, MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return true;
        }
        if (count <= 0 || !c->is_busy) {
            return lose(r, c);
        }
        if (c->has_head) {
            if ((size_t)count > c->body_left) {
                return lose(r, c);
            }
            c->body_left -= (size_t)count;
        } else {
            c->head_count += (size_t)count;
            if (!read_head(c)) {
                return lose(r, c);
            }
        }
        if (c->has_head && c->body_left == 0) {
            return finish(r, c);
        }
    }
}

// Begins what is due; returns how long nothing will be, at most `sleep_nanoseconds_max`.
static bool begin_due(run *r, uint64_t *rest) {
    const latchkey_load *load = r->load;
    uint64_t time = now();
    *rest = sleep_nanoseconds_max;
    while (r->free != NULL && time < r->outcome.start + load->nanoseconds) {
        if (!load->is_closed) {
            if (r->outcome.begun == load->request_count) {
                return true;
            }
            uint64_t due = r->outcome.start + load->requests[r->outcome.begun].due;
            if (due > time) {
                *rest = due - time < *rest ? due - time : *rest;
                return true;
            }
        }
        if (!begin(r, time)) {
            return false;
        }
        time = now();
    }
    return true;
}

static bool is_over(const run *r, uint64_t time) {
    const latchkey_load *load = r->load;
    bool begins = time < r->outcome.start + load->nanoseconds &&
                  (load->is_closed || r->outcome.begun < load->request_count);
    return !begins && (r->busy_count == 0 ||
                       time > r->outcome.start + load->nanoseconds + patience_nanoseconds);
}

static bool drive(run *r) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t asked = 0;
    r->outcome.start = now();
    for (uint64_t time = r->outcome.start; !is_over(r, time); time = now()) {
        if (time - asked > sleep_nanoseconds_max) {
            asked = time;
            if (r->load->is_interrupted(r->load->context)) {
                return true;
            }
        }
        uint64_t rest;
        if (!begin_due(r, &rest)) {
            return false;
        }
        uint64_t sleep = rest > poll_nanoseconds ? rest - poll_nanoseconds : 0;
        struct timespec timeout = {.tv_nsec = (long)sleep};
        int count = epoll_pwait2(r->epoll, events, EVENTS_MAX, &timeout, NULL);
        if (count < 0 && errno != EINTR) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            connection *c = events[i].data.ptr;
            bool is_well = events[i].events & ~(uint32_t)EPOLLOUT ? receive(r, c)
                           : !c->is_busy                          ? true
                                                                  : send_rest(r, c);
            if (!is_well) {
                return false;
            }
        }
    }
    return true;
}

latchkey_load_outcome latchkey_load_run(const latchkey_load *load) {
    run r = {.load = load, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    r.connections = calloc(load->connections, sizeof(connection));
    bool is_well = r.epoll >= 0 && r.connections != NULL;
    uint32_t opened = 0;
    while (is_well && opened < load->connections) {
        is_well = open_connection(&r, &r.connections[opened]);
        opened += is_well;
    }
    is_well = is_well && drive(&r);
    r.outcome.error = is_well ? 0 : errno;
    r.outcome.lost += r.busy_count;
    for (uint32_t i = 0; i < opened; i++) {
        if (r.connections[i].socket >= 0) {
            close(r.connections[i].socket);
        }
    }
    free(r.connections);
    if (r.epoll >= 0) {
        close(r.epoll);
    }
    return r.outcome;
}
