// Many watchers in one process: counts what they get, and how late.
//
//   watchers --port N [--connections N] [--target PATH] [--event put|expire] [--unread 1]
//
// Each connection sends GET PATH (/v1/watch). "ready" is printed when each of them has got its
// first id: from then on none may miss a commit, and with --unread none is read. When standard
// input ends, the process goes on until nothing has come for a while, and prints one JSON object:
//
//   events        events of all connections, and by kind
//   jumps         ids that did not follow the id before by one
//   first, last   the lowest first id and the lowest last id
//   ended         connections that the service ended
//   Milliseconds  from the time after the first '@' in the data of events of the kind of --event
//                 until the bytes were there; quantiles over all connections
//
// The chunked coding is decoded here, because a chunk can end inside of a line.

#include "client.h"

enum {
    LINE_BYTES_MAX = 1024,
    RECEIVE_BYTES = 256 * 1024,
    QUIET_MILLISECONDS = 500,
    SETTLE_MILLISECONDS_MAX = 20000,
    EVENTS_AT_ONCE = 512,
};

static struct {
    double port, connections, unread;
    const char *target, *event;
} options = {.connections = 1, .target = "/v1/watch", .event = "put"};

enum part { HEAD, CHUNK_SIZE, CHUNK, CHUNK_END, END };

struct watcher {
    int socket;
    enum part part;
    bool is_ready;
    bool is_timed;
    size_t chunk_left;
    uint64_t first, last;
    size_t line_count;
    char line[LINE_BYTES_MAX];
};

static struct watcher *watchers;
static size_t ready_count, ended_count;
static uint64_t put_count, other_count, jump_count, keep_alive_count;
static struct samples samples;

static bool begins(const char *line, const char *prefix) {
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

static void take_id(struct watcher *watcher, uint64_t revision) {
    if (!watcher->is_ready) {
        watcher->is_ready = true;
        watcher->first = revision;
        ready_count++;
    } else if (revision != watcher->last + 1) {
        jump_count++;
    }
    watcher->last = revision;
}

// Takes a line of the stream, which ends with a zero byte instead of its line feed.
static void take_line(struct watcher *watcher, const char *line, uint64_t now) {
    if (begins(line, "data: ")) {
        const char *mark = watcher->is_timed ? strchr(line, TIME_MARK) : NULL;
        if (mark != NULL) {
            add_sample(&samples, (int64_t)(now - strtoull(mark + 1, NULL, 10)));
        }
    } else if (begins(line, "id: ")) {
        take_id(watcher, strtoull(line + 4, NULL, 10));
    } else if (begins(line, "event: ")) {
        watcher->is_timed = strcmp(line + 7, options.event) == 0;
        put_count += strcmp(line + 7, "put") == 0;
        other_count += strcmp(line + 7, "put") != 0;
    } else if (line[0] == ':') {
        keep_alive_count++;
    }
}

// Adds bytes to the watcher's line. Returns how many were taken, up to and with the first line
// feed, and whether that was there, with which the line is whole.
static size_t gather(struct watcher *watcher, const char *bytes, size_t count, bool *is_line) {
    const char *feed = memchr(bytes, '\n', count);
    size_t taken = feed == NULL ? count : (size_t)(feed - bytes) + 1;
    size_t kept = feed == NULL ? taken : taken - 1;
    size_t room = LINE_BYTES_MAX - 1 - watcher->line_count;
    kept = kept < room ? kept : room;
    memcpy(watcher->line + watcher->line_count, bytes, kept);
    watcher->line_count += kept;
    *is_line = feed != NULL;
    if (feed != NULL) {
        watcher->line[watcher->line_count] = '\0';
        watcher->line_count = 0;
    }
    return taken;
}

static void take_head_line(struct watcher *watcher) {
    if (begins(watcher->line, "HTTP/1.1") && !begins(watcher->line, "HTTP/1.1 200")) {
        fail("a watch was answered %s", watcher->line);
    }
    if (watcher->line[0] == '\r') {
        watcher->part = CHUNK_SIZE;
    }
}

// Takes a byte from around a chunk: CR LF after the chunk before, the size in hexadecimal digits,
// CR LF. The size 0 ends the stream.
static void take_coding(struct watcher *watcher, char byte) {
    if (byte == '\r') {
        return;
    }
    if (byte != '\n') {
        int digit = byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
        watcher->chunk_left = watcher->chunk_left * 16 + (size_t)digit;
    } else if (watcher->part == CHUNK_END) {
        watcher->part = CHUNK_SIZE;
    } else if (watcher->chunk_left > 0) {
        watcher->part = CHUNK;
    } else {
        watcher->part = END;
        ended_count++;
    }
}

static void take(struct watcher *watcher, const char *bytes, size_t count, uint64_t now) {
    while (count > 0 && watcher->part != END) {
        bool is_line = false;
        size_t taken = 1;
        if (watcher->part == CHUNK) {
            size_t most = count < watcher->chunk_left ? count : watcher->chunk_left;
            taken = gather(watcher, bytes, most, &is_line);
            watcher->chunk_left -= taken;
            if (is_line) {
                take_line(watcher, watcher->line, now);
            }
            if (watcher->chunk_left == 0) {
                watcher->part = CHUNK_END;
            }
        } else if (watcher->part == HEAD) {
            taken = gather(watcher, bytes, count, &is_line);
            if (is_line) {
                take_head_line(watcher);
            }
        } else {
            take_coding(watcher, *bytes);
        }
        bytes += taken;
        count -= taken;
    }
}

static bool receive(struct watcher *watcher) {
    static char bytes[RECEIVE_BYTES];
    ssize_t count = recv(watcher->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    uint64_t now = now_nanoseconds();
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (count > 0) {
        take(watcher, bytes, (size_t)count, now);
    }
    return count > 0;
}

// Receives bytes until a time is over, or standard input has ended. Returns whether anything has
// come.
static bool serve(int epoll, int milliseconds, bool *is_ended) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(epoll, events, EVENTS_AT_ONCE, milliseconds);
    for (int i = 0; i < count; i++) {
        struct watcher *watcher = events[i].data.ptr;
        if (watcher == NULL) {
            char byte;
            if (read(STDIN_FILENO, &byte, 1) <= 0) {
                *is_ended = true;
                epoll_ctl(epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
            }
        } else if (!receive(watcher)) {
            ended_count += watcher->part != END;
            close(watcher->socket);
        }
    }
    return count > 0;
}

static void report(size_t count) {
    uint64_t first = UINT64_MAX, last = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        first = watchers[i].first < first ? watchers[i].first : first;
        last = watchers[i].last < last ? watchers[i].last : last;
    }
    printf("{\"puts\":%lu,\"others\":%lu,\"jumps\":%lu,\"keepAlives\":%lu,\"ended\":%zu,",
           put_count, other_count, jump_count, keep_alive_count, ended_count);
    printf("\"first\":%lu,\"last\":%lu,", first, last);
    print_samples(&samples);
    printf("}\n");
}

int main(int count, char **words) {
    parse_options(count, words,
                  (struct option[]){{"--port", &options.port, NULL},
                                    {"--connections", &options.connections, NULL},
                                    {"--target", NULL, &options.target},
                                    {"--event", NULL, &options.event},
                                    {"--unread", &options.unread, NULL},
                                    {NULL, NULL, NULL}});
    raise_descriptor_limit();
    size_t watcher_count = (size_t)options.connections;
    watchers = calloc(watcher_count, sizeof(*watchers));
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (watchers == NULL || epoll < 0) {
        fail("no memory for %zu watchers", watcher_count);
    }
    struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input);
    bool is_ended = false;
    for (size_t i = 0; i < watcher_count; i++) {
        char request[LINE_BYTES_MAX];
        int request_count = snprintf(request, sizeof(request),
                                     "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", options.target);
        watchers[i].socket = connect_to((uint16_t)options.port);
        send_all(watchers[i].socket, request, (size_t)request_count);
        watch_descriptor(epoll, watchers[i].socket, (uint64_t)(uintptr_t)&watchers[i]);
        serve(epoll, 0, &is_ended);
    }
    while (ready_count < watcher_count && !is_ended) {
        serve(epoll, -1, &is_ended);
        if (ended_count > 0) {
            fail("%zu of %zu watches ended at once", ended_count, watcher_count);
        }
    }
    puts("ready");
    fflush(stdout);
    if (options.unread > 0) {
        char byte;
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
        report(watcher_count);
        return 0;
    }
    while (!is_ended) {
        serve(epoll, -1, &is_ended);
    }
    uint64_t end = now_nanoseconds() + SETTLE_MILLISECONDS_MAX * 1000000ull;
    while (serve(epoll, QUIET_MILLISECONDS, &is_ended) && now_nanoseconds() < end) {
    }
    report(watcher_count);
    return 0;
}
