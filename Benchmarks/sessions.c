// Many clients in one process, over TLS or not: GETs of one path in a closed loop.
//
//   sessions --port N [--path PATH] [--seconds S] [--connections N] [--tls 0] [--fresh 1]
//            [--rate N] [--address N] [--addresses N] [--hold 1]
//
// Each connection has one request under way. With --fresh, each request has a connection of its
// own, which makes a full handshake: no session is resumed. With --rate, this many a second are
// begun; a request is due at a time and counts from it, which avoids coordinated omission. At most
// --connections are under way: a due request that finds none free waits.
//
// The connections come from --addresses addresses in turn, of which 127.0.0.A is the first
// (--address A). With --hold, each connection makes one request and stays, "ready" is printed, and
// the end of standard input ends the process. Otherwise it prints one JSON object:
//
//   requests      answers with status 200
//   refused       answers with status 429
//   lost          connections that ended before their answer
//   seconds       the time that was measured
//   Milliseconds  quantiles of the answers with status 200, handshake included with --fresh
//
// A connection that the server closes is made again.

// First, because it defines _GNU_SOURCE.
#include "client.h"

#include <gnutls/gnutls.h>
#include <netinet/tcp.h>

enum { ANSWER_BYTES_MAX = 2048, EVENTS_AT_ONCE = 256, REQUEST_BYTES_MAX = 1024 };

static struct {
    double port, seconds, connections, tls, fresh, rate, address, addresses, hold;
    const char *path;
} options = {
    .seconds = 1, .connections = 1, .tls = 1, .address = 1, .addresses = 1, .path = "/healthz"};

enum state { CLOSED, SHAKING, RECEIVING, DONE };

struct client {
    int socket;
    enum state state;
    gnutls_session_t session;
    uint64_t began;
    size_t count;
    char bytes[ANSWER_BYTES_MAX + 1];
};

static struct client *clients;
static size_t client_count, answered_count;
static char request[REQUEST_BYTES_MAX];
static size_t request_count;
static gnutls_certificate_credentials_t credentials;
static gnutls_priority_t priorities;
static int epoll;
static uint64_t good_count, refused_count, lost_count;
static struct samples samples;

static void check(int code, const char *what) {
    if (code < 0) {
        fail("%s: %s", what, gnutls_strerror(code));
    }
}

// Ends with a reset: otherwise tens of thousands of fresh connections would hold all ports for a
// minute.
static void close_client(struct client *client) {
    struct linger at_once = {1, 0};
    if (client->session != NULL) {
        gnutls_deinit(client->session);
        client->session = NULL;
    }
    setsockopt(client->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(client->socket);
    client->state = CLOSED;
}

// Sends the whole request, which is shorter than any socket's buffer.
static bool send_request(struct client *client) {
    client->state = RECEIVING;
    client->count = 0;
    ssize_t sent = client->session != NULL
                       ? gnutls_record_send(client->session, request, request_count)
                       : send(client->socket, request, request_count, MSG_NOSIGNAL);
    return sent == (ssize_t)request_count;
}

// Continues a handshake. Returns whether the connection lives.
static bool shake(struct client *client) {
    int code;
    do {
        code = gnutls_handshake(client->session);
    } while (code < 0 && code != GNUTLS_E_AGAIN && gnutls_error_is_fatal(code) == 0);
    return code == GNUTLS_E_AGAIN || (code == GNUTLS_E_SUCCESS && send_request(client));
}

static bool open_client(struct client *client, uint64_t began) {
    unsigned index = (unsigned)(client - clients) % (unsigned)options.addresses;
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (unsigned)options.address + index),
    };
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)options.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int on = 1;
    client->began = began;
    client->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // The kernel picks the port when it knows both addresses, so that ports are not used up.
    setsockopt(client->socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    // Otherwise a request waits until the end of the handshake is acknowledged, which takes 40 ms.
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (client->socket < 0 || bind(client->socket, (struct sockaddr *)&from, sizeof(from)) != 0 ||
        connect(client->socket, (struct sockaddr *)&to, sizeof(to)) != 0) {
        fail("connect: %s", strerror(errno));
    }
    watch_descriptor(epoll, client->socket, (uint64_t)(uintptr_t)client);
    if (options.tls == 0) {
        return send_request(client);
    }
    check(gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL),
          "gnutls_init");
    check(gnutls_priority_set(client->session, priorities), "gnutls_priority_set");
    check(gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, credentials),
          "gnutls_credentials_set");
    gnutls_transport_set_int(client->session, client->socket);
    client->state = SHAKING;
    return shake(client);
}

// Begins the next request of a client, on a connection of its own if asked to.
static void begin(struct client *client, uint64_t began) {
    if (client->state == DONE && options.fresh != 0) {
        close_client(client);
    }
    client->began = began;
    if (!(client->state == DONE ? send_request(client) : open_client(client, began))) {
        lost_count++;
        close_client(client);
    }
}

// The length of the answer whose head is there, or 0.
static size_t answer_length(char *bytes) {
    const char *end = strstr(bytes, "\r\n\r\n");
    const char *length = strcasestr(bytes, "\r\nContent-Length: ");
    return end == NULL || length == NULL
               ? 0
               : (size_t)(end + 4 - bytes) + strtoul(length + 18, NULL, 10);
}

// Counts an answer that is whole.
static void take(struct client *client, const char *bytes) {
    uint64_t now = now_nanoseconds();
    client->state = DONE;
    answered_count++;
    if (strncmp(bytes, "HTTP/1.1 200", 12) == 0) {
        good_count++;
        add_sample(&samples, (int64_t)(now - client->began));
    } else if (strncmp(bytes, "HTTP/1.1 429", 12) == 0) {
        refused_count++;
    } else {
        fail("answered %.*s", (int)strcspn(bytes, "\r"), bytes);
    }
}

// Receives the available bytes. Returns whether the connection lives.
static bool receive(struct client *client) {
    do {
        char *at = client->bytes + client->count;
        size_t room = ANSWER_BYTES_MAX - client->count;
        ssize_t count = client->session != NULL ? gnutls_record_recv(client->session, at, room)
                                                : recv(client->socket, at, room, MSG_DONTWAIT);
        if (client->session != NULL ? count == GNUTLS_E_AGAIN : count < 0 && errno == EAGAIN) {
            return true;
        }
        if (count <= 0 || client->state == DONE) {
            return false;
        }
        client->count += (size_t)count;
        client->bytes[client->count] = '\0';
        size_t length = answer_length(client->bytes);
        if (length > 0 && client->count >= length) {
            take(client, client->bytes);
        }
    } while (client->session != NULL && gnutls_record_check_pending(client->session) > 0);
    return true;
}

static void serve(int milliseconds) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(epoll, events, EVENTS_AT_ONCE, milliseconds);
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        bool lives = client->state == SHAKING ? shake(client) : receive(client);
        bool is_done = client->state == DONE;
        if (!lives) {
            lost_count += !is_done;
            close_client(client);
        }
        if (options.rate == 0 && options.hold == 0 && client->state != SHAKING &&
            client->state != RECEIVING) {
            begin(client, now_nanoseconds());
        }
    }
}

// Begins the due requests, on clients that are free.
static void begin_due(uint64_t start, uint64_t now, uint64_t *begun) {
    uint64_t due = (uint64_t)((double)(now - start) / 1e9 * options.rate);
    for (size_t i = 0; i < client_count && *begun < due; i++) {
        if (clients[i].state == CLOSED || clients[i].state == DONE) {
            begin(&clients[i], start + (uint64_t)((double)*begun / options.rate * 1e9));
            ++*begun;
        }
    }
}

static void run(void) {
    uint64_t start = now_nanoseconds();
    uint64_t end = start + (uint64_t)(options.seconds * 1e9);
    uint64_t begun = 0;
    for (size_t i = 0; i < client_count && options.rate == 0; i++) {
        begin(&clients[i], now_nanoseconds());
    }
    uint64_t now = start;
    while (now < end) {
        if (options.rate > 0) {
            begin_due(start, now, &begun);
        }
        serve(options.rate > 0 ? 1 : 100);
        now = now_nanoseconds();
    }
    printf("{\"requests\":%lu,\"refused\":%lu,\"lost\":%lu,\"seconds\":%f,", good_count,
           refused_count, lost_count, (double)(now - start) / 1e9);
    print_samples(&samples);
    printf("}\n");
}

// Opens the connections one after the other: a service that starts a thousand handshakes at once
// would need more memory than one that has a thousand connections.
static void hold(void) {
    char byte;
    for (size_t i = 0; i < client_count; i++) {
        size_t before = answered_count;
        begin(&clients[i], now_nanoseconds());
        for (int turn = 0; turn < 1000 && answered_count == before && lost_count == 0; turn++) {
            serve(10);
        }
        if (lost_count > 0 || good_count != i + 1) {
            fail("connection %zu has got no answer", i + 1);
        }
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
}

int main(int count, char **words) {
    parse_options(count, words,
                  (struct option[]){{"--port", &options.port, NULL},
                                    {"--path", NULL, &options.path},
                                    {"--seconds", &options.seconds, NULL},
                                    {"--connections", &options.connections, NULL},
                                    {"--tls", &options.tls, NULL},
                                    {"--fresh", &options.fresh, NULL},
                                    {"--rate", &options.rate, NULL},
                                    {"--address", &options.address, NULL},
                                    {"--addresses", &options.addresses, NULL},
                                    {"--hold", &options.hold, NULL},
                                    {NULL, NULL, NULL}});
    raise_descriptor_limit();
    check(gnutls_certificate_allocate_credentials(&credentials), "credentials");
    check(gnutls_priority_init(&priorities, "NORMAL:-GROUP-ALL:+GROUP-X25519", NULL),
          "gnutls_priority_init");
    request_count = (size_t)snprintf(request, sizeof(request),
                                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", options.path);
    client_count = (size_t)options.connections;
    clients = calloc(client_count, sizeof(*clients));
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (clients == NULL || epoll < 0 || request_count >= sizeof(request)) {
        fail("no memory for %zu clients, or the path is too long", client_count);
    }
    if (options.hold > 0) {
        hold();
    } else {
        run();
    }
    return 0;
}
