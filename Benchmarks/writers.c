// Writes properties whose value or name says when they were written.
//
//   writers --port N [--connections N] [--rate N] [--seconds N]
//   writers --port N [--connections N] --expire-after N --expire-within N --count N
//
// In the first form each value is "@TIME", and all connections write one property: with a rate, one
// after the other at that many a second; without one, each as soon as its last answer is there.
// In the second form there are --count properties. They expire at equal distances, the first of
// them --expire-after seconds after the start, the last --expire-within later; their names are
// "@TIME" of their expiry.
//
// Prints one JSON object: requests, seconds, and the time until the answer.

#include "client.h"

enum { REQUEST_BYTES_MAX = 512, RECEIVE_BYTES = 4096, ANSWER_SECONDS_MAX = 30 };

static struct {
    double port, connections, rate, seconds, expire_after, expire_within, count;
} options = {.connections = 1, .seconds = 1e9, .count = 1e18};

struct writer {
    int socket;
    bool is_waiting;
    uint64_t sent;
};

static struct writer *writers;
static size_t sent_count, answered_count;
static uint64_t started;
static struct samples samples;

static void write_property(struct writer *writer) {
    char request[REQUEST_BYTES_MAX];
    char name[64] = "measured", value[64] = "1";
    writer->sent = now_nanoseconds();
    if (options.expire_after > 0) {
        double share = (double)sent_count / options.count;
        double due = options.expire_after + share * options.expire_within;
        double ttl = due - (double)(writer->sent - started) / 1e9;
        if (ttl < 1e-3) {
            fail("the properties are not written before they expire");
        }
        uint64_t milliseconds = (uint64_t)(ttl * 1e3);
        snprintf(name, sizeof(name), "%c%lu?ttl=%lu.%03lu", TIME_MARK,
                 writer->sent + milliseconds * 1000000u, milliseconds / 1000, milliseconds % 1000);
    } else {
        snprintf(value, sizeof(value), "\"%c%020lu\"", TIME_MARK, writer->sent);
    }
    int count = snprintf(request, sizeof(request),
                         "PUT /v1/properties/%s HTTP/1.1\r\nHost: localhost\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                         name, strlen(value), value);
    send_all(writer->socket, request, (size_t)count);
    writer->is_waiting = true;
    sent_count++;
}

static void receive_answer(struct writer *writer) {
    char answer[RECEIVE_BYTES];
    ssize_t count = recv(writer->socket, answer, sizeof(answer) - 1, 0);
    if (count <= 0) {
        fail("the service closed a connection");
    }
    answer[count] = '\0';
    if (strncmp(answer, "HTTP/1.1 20", 11) != 0 || strstr(answer, "\r\n\r\n") == NULL) {
        fail("a PUT was answered %s", answer);
    }
    writer->is_waiting = false;
    answered_count++;
    add_sample(&samples, (int64_t)(now_nanoseconds() - writer->sent));
}

static bool may_send(void) {
    return (double)sent_count < options.count &&
           (double)(now_nanoseconds() - started) < options.seconds * 1e9;
}

// Milliseconds until the next write is due; 0 if it is.
static int until_due(void) {
    if (options.rate == 0) {
        return 0;
    }
    double due = (double)sent_count / options.rate * 1e9 - (double)(now_nanoseconds() - started);
    return due <= 0 ? 0 : 1 + (int)(due / 1e6);
}

static void run(int epoll, size_t writer_count) {
    size_t next = 0;
    while (may_send() || answered_count < sent_count) {
        // A late answer delays the writes after it, which are then sent at once.
        int wait = ANSWER_SECONDS_MAX * 1000;
        while (may_send() && answered_count + writer_count > sent_count) {
            int milliseconds = until_due();
            if (milliseconds > 0) {
                wait = milliseconds;
                break;
            }
            while (writers[next].is_waiting) {
                next = (next + 1) % writer_count;
            }
            write_property(&writers[next]);
            next = (next + 1) % writer_count;
        }
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, wait);
        if (count == 0 && wait == ANSWER_SECONDS_MAX * 1000) {
            fail("no answer within %d seconds", ANSWER_SECONDS_MAX);
        }
        for (int i = 0; i < count; i++) {
            receive_answer(&writers[events[i].data.u64]);
        }
    }
}

int main(int count, char **words) {
    parse_options(count, words,
                  (struct option[]){{"--port", &options.port, NULL},
                                    {"--connections", &options.connections, NULL},
                                    {"--rate", &options.rate, NULL},
                                    {"--seconds", &options.seconds, NULL},
                                    {"--expire-after", &options.expire_after, NULL},
                                    {"--expire-within", &options.expire_within, NULL},
                                    {"--count", &options.count, NULL},
                                    {NULL, NULL, NULL}});
    size_t writer_count = (size_t)options.connections;
    writers = calloc(writer_count, sizeof(*writers));
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (writers == NULL || epoll < 0) {
        fail("no memory for %zu connections", writer_count);
    }
    for (size_t i = 0; i < writer_count; i++) {
        writers[i].socket = connect_to((uint16_t)options.port);
        watch_descriptor(epoll, writers[i].socket, i);
    }
    started = now_nanoseconds();
    run(epoll, writer_count);
    double seconds = (double)(now_nanoseconds() - started) / 1e9;
    printf("{\"requests\":%zu,\"seconds\":%.6f,", answered_count, seconds);
    print_samples(&samples);
    printf("}\n");
    return 0;
}
