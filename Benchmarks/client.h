// The common parts of the benchmarks' clients: options, the clock, connections, sorted samples.
//
// Times are of CLOCK_MONOTONIC, in nanoseconds, so that one process can time the messages of
// another one. A client that cannot go on says why and exits with status 1.

#ifndef LATCHKEY_BENCH_CLIENT_H
#define LATCHKEY_BENCH_CLIENT_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The byte before a time, in a value or a name.
enum { TIME_MARK = '@' };

static inline uint64_t now_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

// An option with a number, or with a text if `text` is set.
struct option {
    const char *flag;
    double *number;
    const char **text;
};

static inline void parse_options(int count, char **words, const struct option *options) {
    for (int i = 1; i < count; i += 2) {
        const struct option *option = options;
        while (option->flag != NULL && strcmp(option->flag, words[i]) != 0) {
            option++;
        }
        if (option->flag == NULL || i + 1 == count) {
            fail("%s: %s is not known, or has no value", words[0], words[i]);
        }
        char *end = "";
        if (option->text != NULL) {
            *option->text = words[i + 1];
        } else {
            *option->number = strtod(words[i + 1], &end);
        }
        if (*end != '\0') {
            fail("%s: %s needs a number", words[0], words[i]);
        }
    }
}

static inline void raise_descriptor_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// A connection to a port of the loopback address, as a blocking socket.
static inline int connect_to(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof(address)) != 0) {
        fail("connect: %s", strerror(errno));
    }
    return socket_;
}

static inline void send_all(int socket_, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(socket_, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) {
            fail("send: %s", strerror(errno));
        }
        bytes += sent;
        count -= (size_t)sent;
    }
}

static inline void watch_descriptor(int epoll, int descriptor, uint64_t tag) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        fail("epoll_ctl: %s", strerror(errno));
    }
}

// Samples in nanoseconds. All of them are kept, so that quantiles are exact.
struct samples {
    int64_t *values;
    size_t count;
    size_t room;
};

static inline void add_sample(struct samples *samples, int64_t value) {
    if (samples->count == samples->room) {
        samples->room = samples->room == 0 ? 1 << 16 : samples->room * 2;
        samples->values = realloc(samples->values, samples->room * sizeof(*samples->values));
        if (samples->values == NULL) {
            fail("no memory for %zu samples", samples->room);
        }
    }
    samples->values[samples->count++] = value;
}

static inline int compare_samples(const void *one, const void *other) {
    int64_t left = *(const int64_t *)one, right = *(const int64_t *)other;
    return (left > right) - (left < right);
}

// Prints the members of a JSON object for the samples.
static inline void print_samples(struct samples *samples) {
    qsort(samples->values, samples->count, sizeof(*samples->values), compare_samples);
    const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1}};
    printf("\"samples\":%zu", samples->count);
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
        size_t index = (size_t)(quantiles[i].share * (double)samples->count);
        index = index < samples->count ? index : samples->count - 1;
        double value = samples->count == 0 ? 0 : (double)samples->values[index];
        printf(",\"%sMilliseconds\":%.4f", quantiles[i].name, value / 1e6);
    }
}

#endif
