// The client of open loops against a server that answers well, badly, early, or not at all.
//
// Built and run by run.sh under the sanitizers.

#define _GNU_SOURCE
#include "CLatchkeyLoad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

// Two bodies of half of it, each more than the buffers of the kernel hold.
enum { LARGE_BYTES = 64 << 20, SEEN_MAX = 4096 };

static void answer(int socket, const char *text) {
    send(socket, text, strlen(text), MSG_NOSIGNAL);
}

// Answers the requests of a connection by their paths. A body is read only if the path asks for it.
static void *serve_one(void *context) {
    int socket = (int)(intptr_t)context;
    char text[4096] = "";
    size_t count = 0;
    while (true) {
        ssize_t got = recv(socket, text + count, sizeof(text) - 1 - count, 0);
        if (got <= 0) {
            break;
        }
        count += (size_t)got;
        text[count] = 0;
        char *end = strstr(text, "\r\n\r\n");
        if (end == NULL) {
            continue;
        }
        if (strncmp(text, "GET /ok ", 8) == 0) {
            answer(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        } else if (strncmp(text, "GET /empty ", 11) == 0) {
            answer(socket, "HTTP/1.1 204 No Content\r\n\r\n");
        } else if (strncmp(text, "GET /split ", 11) == 0) {
            const char *whole = "HTTP/1.1 200 OK\r\ncontent-LENGTH: \t3\r\n\r\nabc";
            for (const char *byte = whole; *byte != 0; byte++) {
                send(socket, byte, 1, MSG_NOSIGNAL);
            }
        } else if (strncmp(text, "GET /close ", 11) == 0) {
            answer(socket, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            break;
        } else if (strncmp(text, "GET /cut ", 9) == 0) {
            answer(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            break;
        } else if (strncmp(text, "GET /more ", 10) == 0) {
            answer(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ntoo much");
            break;
        } else if (strncmp(text, "GET /unknown ", 13) == 0) {
            answer(socket, "HTTP/1.1 200 OK\r\n\r\nno length");
            break;
        } else if (strncmp(text, "GET /junk ", 10) == 0) {
            answer(socket, "nonsense\r\n\r\n");
            break;
        } else if (strncmp(text, "PUT /early ", 11) == 0) {
            answer(socket, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
            // The rest of the body is never read.
            shutdown(socket, SHUT_RD);
            usleep(50000);
            break;
        }
        // Anything else has no answer.
        count = 0;
        text[0] = 0;
    }
    close(socket);
    return NULL;
}

static void *accept_all(void *context) {
    int listener = (int)(intptr_t)context;
    int socket;
    while ((socket = accept(listener, NULL, NULL)) >= 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)socket);
        pthread_detach(thread);
    }
    return NULL;
}

typedef struct {
    unsigned statuses[SEEN_MAX];
    uint64_t began[SEEN_MAX];
    size_t count;
    size_t interrupts;
} seen;

static void answered(void *context, size_t request, unsigned status, uint64_t began,
                     uint64_t ended) {
    seen *s = context;
    CHECK(ended >= began && request < SEEN_MAX);
    s->statuses[request % SEEN_MAX] = status;
    s->began[request % SEEN_MAX] = began;
    s->count++;
}

static bool never(void *context) {
    (void)context;
    return false;
}

// Some time after the first answer.
static bool behind_an_answer(void *context) {
    seen *s = context;
    return s->count > 0 && ++s->interrupts > 1;
}

static uint16_t port;

// One request for each path, a millisecond apart.
static latchkey_load_outcome run(seen *s, const char *const *paths, size_t count,
                                 uint32_t connections, uint64_t nanoseconds,
                                 bool (*is_interrupted)(void *)) {
    char *bytes = malloc(LARGE_BYTES + 4096 * count);
    latchkey_load_request *requests = calloc(count, sizeof(*requests));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_large = strcmp(paths[i], "PUT /early") == 0;
        int head = sprintf(bytes + used, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
                           paths[i], is_large ? LARGE_BYTES / 2 : 0);
        requests[i] = (latchkey_load_request){
            .due = i * 1000000,
            .first = used,
            .count = (size_t)head + (is_large ? LARGE_BYTES / 2 : 0),
        };
        if (is_large) {
            memset(bytes + used + head, 'x', LARGE_BYTES / 2);
        }
        used += requests[i].count;
    }
    latchkey_load load = {
        .port = port,
        .connections = connections,
        .requests = requests,
        .request_count = count,
        .bytes = (const uint8_t *)bytes,
        .nanoseconds = nanoseconds,
        .answered = answered,
        .is_interrupted = is_interrupted,
        .context = s,
    };
    latchkey_load_outcome outcome = latchkey_load_run(&load);
    CHECK(outcome.error == 0);
    free(requests);
    free(bytes);
    return outcome;
}

#define RUN(s, paths, connections)                                                                 \
    run(&(s), paths, sizeof(paths) / sizeof(*(paths)), connections, 20000000000, never)

static void reads_answers(void) {
    static const char *const paths[] = {"GET /ok",    "GET /empty", "GET /split",
                                        "GET /close", "GET /ok",    "GET /ok"};
    for (uint32_t connections = 1; connections <= 3; connections++) {
        seen s = {0};
        latchkey_load_outcome outcome = RUN(s, paths, connections);
        CHECK(outcome.begun == 6 && outcome.lost == 0 && s.count == 6);
        for (size_t i = 0; i < 6; i++) {
            CHECK(s.statuses[i] == (i == 1 ? 204 : 200));
            CHECK(s.began[i] >= outcome.start + i * 1000000);
        }
    }
}

static void counts_what_is_lost(void) {
    static const char *const paths[] = {"GET /cut",     "GET /ok", "GET /more", "GET /ok",
                                        "GET /unknown", "GET /ok", "GET /junk", "GET /ok"};
    seen s = {0};
    latchkey_load_outcome outcome = RUN(s, paths, 1);
    CHECK(outcome.begun == 8 && outcome.lost == 4 && s.count == 4);
    for (size_t i = 1; i < 8; i += 2) {
        CHECK(s.statuses[i] == 200);
    }
}

static void goes_on_behind_early_answers(void) {
    static const char *const paths[] = {"PUT /early", "GET /ok", "PUT /early", "GET /ok"};
    seen s = {0};
    latchkey_load_outcome outcome = RUN(s, paths, 1);
    CHECK(outcome.begun == 4 && s.count + outcome.lost == 4);
    CHECK(s.statuses[1] == 200 && s.statuses[3] == 200);
}

static void does_not_wait_without_end(void) {
    static const char *const paths[] = {"GET /ok", "GET /nothing", "GET /ok"};
    seen s = {0};
    latchkey_load_outcome outcome = run(&s, paths, 3, 1, 1000000000, never);
    CHECK(outcome.begun == 2 && outcome.lost == 1 && s.count == 1);
}

static void ends_when_interrupted(void) {
    static const char *const paths[] = {"GET /ok", "GET /nothing"};
    seen s = {0};
    latchkey_load_outcome outcome = run(&s, paths, 2, 1, 60000000000, behind_an_answer);
    CHECK(outcome.begun == 2 && s.count == 1);
}

static void says_that_no_server_listens(void) {
    latchkey_load_request request = {0, 0, 1};
    latchkey_load load = {
        .port = 1,
        .connections = 1,
        .requests = &request,
        .request_count = 1,
        .bytes = (const uint8_t *)"x",
        .nanoseconds = 1000,
        .answered = answered,
        .is_interrupted = never,
    };
    CHECK(latchkey_load_run(&load).error == ECONNREFUSED);
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("load_test");
        return 1;
    }
    port = ntohs(address.sin_port);
    pthread_t thread;
    pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener);
    reads_answers();
    counts_what_is_lost();
    goes_on_behind_early_answers();
    does_not_wait_without_end();
    ends_when_interrupted();
    says_that_no_server_listens();
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    printf(failures == 0 ? "load: all passed\n" : "load: %d failures\n", failures);
    return failures != 0;
}
