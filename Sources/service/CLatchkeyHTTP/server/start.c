// The start of a server, and its socket.
//
// libmicrohttpd is given a socket that listens already, because errors of the address then have
// their own call and number, and because quiescing needs the socket (drain.c).

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "library/library.h"
#include "library/lines.h"
#include "library/log.h"
#include "request/request.h"
#include "server/server.h"
#include "tls/tls.h"

// Nothing is decoded.
static size_t keep_escapes(void *context, struct MHD_Connection *mhd, char *text) {
    (void)context;
    (void)mhd;
    return strlen(text);
}

static latchkey_http_server *fail(latchkey_http_failure *failure, const char *call, int code) {
    *failure = (latchkey_http_failure){call, code};
    return NULL;
}

// Returns a socket that listens, or is only bound, or -1.
static int listen_on(const latchkey_http_options *options, bool listens,
                     latchkey_http_failure *failure) {
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[8];
    snprintf(port, sizeof(port), "%u", options->port);
    int code = getaddrinfo(options->host, port, &hints, &found);
    if (code != 0) {
        fail(failure, "getaddrinfo", code);
        return -1;
    }
    int result = -1;
    for (struct addrinfo *at = found; at != NULL && result < 0; at = at->ai_next) {
        int yes = 1;
        int send_bytes = LATCHKEY_HTTP_SEND_BYTES_MAX;
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            fail(failure, "socket", errno);
        } else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
                   // Connections inherit it.
                   setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes)) != 0) {
            fail(failure, "setsockopt", errno);
        } else if (bind(fd, at->ai_addr, at->ai_addrlen) != 0) {
            fail(failure, "bind", errno);
        } else if (listens && listen(fd, (int)options->listen_backlog) != 0) {
            fail(failure, "listen", errno);
        } else {
            result = fd;
            *failure = (latchkey_http_failure){NULL, 0};
        }
        if (result < 0 && fd >= 0) {
            close(fd);
        }
    }
    freeaddrinfo(found);
    return result;
}

bool latchkey_http_can_listen(const latchkey_http_options *options,
                              latchkey_http_failure *failure) {
    int fd = listen_on(options, false, failure);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static uint16_t port_of(int fd) {
    struct sockaddr_storage at;
    socklen_t count = sizeof(at);
    if (getsockname(fd, (struct sockaddr *)&at, &count) != 0) {
        return 0;
    }
    return at.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)(void *)&at)->sin6_port)
                                    : ntohs(((struct sockaddr_in *)(void *)&at)->sin_port);
}

// The length of the library's memory of a connection: one half for the head and the bytes after it
// in the same piece, one half for its notes of header lines and for the head of the answer. If the
// latter does not fit, the library closes the connection instead of answering, after the request
// was served. All of it is zeroed between two requests, which costs a request more than anything
// else outside the kernel, so it must not be generous (decision 0004).
static size_t pool_bytes(const latchkey_http_options *options) {
    enum {
        FIELD_BYTES = 64,  // its note of a header line
        HALF_BYTES_MIN = LATCHKEY_HTTP_FIELDS_MAX * FIELD_BYTES +
                         LATCHKEY_HTTP_ANSWER_HEAD_BYTES_MAX + LINES_BYTES + 256,
        HALF_BYTES_OVER_HEAD = 1024,
    };
    size_t half = (size_t)options->head_bytes_max + HALF_BYTES_OVER_HEAD;
    return 2 * (half < HALF_BYTES_MIN ? HALF_BYTES_MIN : half);
}

static struct MHD_Daemon *start_daemon(latchkey_http_server *server) {
    const latchkey_http_options *options = &server->options;
    unsigned flags = MHD_USE_ERROR_LOG | MHD_USE_ITC | MHD_USE_EPOLL_INTERNAL_THREAD |
                     MHD_ALLOW_SUSPEND_RESUME | (server->is_encrypted ? MHD_USE_TLS : 0);
    struct MHD_OptionItem further[5];
    struct MHD_OptionItem *at = further;
    if (options->joins_only) {
        flags |= MHD_USE_NO_LISTEN_SOCKET;
    } else {
        *at++ = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, server->listener, NULL};
    }
    if (options->threads >= 2) {
        *at++ = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, options->threads, NULL};
    }
    if (server->is_encrypted) {
        latchkey_http_tls_set_options(at);
        at += 2;
    }
    *at = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(flags, server->port, latchkey_http_connection_admit, server,
                            latchkey_http_request_access, server, MHD_OPTION_EXTERNAL_LOGGER,
                            latchkey_http_log_library, server, MHD_OPTION_NOTIFY_CONNECTION,
                            latchkey_http_connection_notify, server, MHD_OPTION_NOTIFY_COMPLETED,
                            latchkey_http_request_completed, server, MHD_OPTION_URI_LOG_CALLBACK,
                            latchkey_http_request_line, server, MHD_OPTION_UNESCAPE_CALLBACK,
                            keep_escapes, server, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            pool_bytes(options), MHD_OPTION_CONNECTION_LIMIT, (unsigned)INT_MAX,
                            MHD_OPTION_THREAD_STACK_SIZE, (size_t)LATCHKEY_HTTP_STACK_BYTES,
                            MHD_OPTION_ARRAY, further, MHD_OPTION_END);
}

uint32_t latchkey_http_descriptors_max(const latchkey_http_options *options) {
    // An event loop has its epoll set and a descriptor to be woken by, and so has the daemon
    // itself.
    uint32_t loops = options->threads + 1;
    uint32_t listener_and_plug = 3;
    uint32_t watch_set_and_wake = 2;
    return options->connections_max + latchkey_http_server_refusals_max(options) +
           CONNECTIONS_ENDING_MAX + 2 * loops + listener_and_plug + watch_set_and_wake;
}

// Whether the process may open as many descriptors as the limits need.
static bool has_descriptors(const latchkey_http_options *options, latchkey_http_failure *failure) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        fail(failure, "getrlimit", errno);
    } else if (limit.rlim_cur < latchkey_http_descriptors_max(options)) {
        fail(failure, "getrlimit", EMFILE);
    } else {
        return true;
    }
    return false;
}

// Makes the set that the watchdog waits on.
static bool create_watch_set(latchkey_http_server *server, latchkey_http_failure *failure) {
    server->watch_set = epoll_create1(EPOLL_CLOEXEC);
    if (server->watch_set < 0) {
        fail(failure, "epoll_create1", errno);
        return false;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    server->watch_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->watch_wake < 0 ||
        epoll_ctl(server->watch_set, EPOLL_CTL_ADD, server->watch_wake, &event) != 0) {
        fail(failure, "eventfd", errno);
        return false;
    }
    return true;
}

// Starts listener, watchdog and daemon. The started parts stay if a later step fails. The listener
// must then be left alone: libmicrohttpd closes it in most of its failures and does not say in
// which.
static bool start_parts(latchkey_http_server *server, const latchkey_http_options *options,
                        latchkey_http_failure *failure) {
    if (!has_descriptors(options, failure)) {
        return false;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, server->plug) != 0) {
        fail(failure, "socketpair", errno);
        return false;
    }
    if (!create_watch_set(server, failure)) {
        return false;
    }
    if (!options->joins_only) {
        server->listener = listen_on(options, true, failure);
        if (server->listener < 0) {
            return false;
        }
        server->port = port_of(server->listener);
    }
    int code = pthread_create(&server->watchdog, NULL, latchkey_http_deadline_watch, server);
    if (code != 0) {
        fail(failure, "pthread_create", code);
        if (server->listener >= 0) {
            close(server->listener);
        }
        return false;
    }
    server->watchdog_runs = true;
    atomic_store(&server->identity, options->identity);
    server->daemon = start_daemon(server);
    if (server->daemon == NULL) {
        fail(failure, "MHD_start_daemon", errno);
        atomic_store(&server->identity, NULL);
        return false;
    }
    return true;
}

latchkey_http_server *latchkey_http_start(const latchkey_http_options *options,
                                          latchkey_http_failure *failure) {
    *failure = (latchkey_http_failure){NULL, 0};
    latchkey_http_server *server = latchkey_http_server_create(options);
    if (server == NULL) {
        return fail(failure, "malloc", ENOMEM);
    }
    server->free_connection = latchkey_http_connection_free;
    server->say_failure = latchkey_http_tls_say_failure;
    if (!start_parts(server, options, failure)) {
        latchkey_http_deadline_stop(server);
        latchkey_http_server_release(server);
        return NULL;
    }
    if (!latchkey_http_library_is_known() && !options->joins_only) {
        latchkey_http_log_write(server, "libmicrohttpd is a version that was not tested with this "
                                        "program; its short check at the start has passed");
    }
    return server;
}

bool latchkey_http_join(latchkey_http_server *server, int socket) {
    // For code that asks for the client's address.
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return MHD_add_connection(server->daemon, socket, (struct sockaddr *)&from, sizeof(from)) ==
           MHD_YES;
}

uint16_t latchkey_http_port(const latchkey_http_server *server) {
    return server->port;
}

const char *latchkey_http_library_version(void) {
    return MHD_get_version();
}
