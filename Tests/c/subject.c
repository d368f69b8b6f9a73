#include "subject.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAITING_MAX = 256, BIG_BYTES = 8 << 20 };

static atomic_uint created;
static atomic_uint released;

// Requests that another thread answers. (lock)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes = PTHREAD_COND_INITIALIZER;
static latchkey_http_request *later[WAITING_MAX];
static latchkey_http_request *held[WAITING_MAX];
static uint32_t later_count;
static uint32_t held_count;
static bool ends;
static uint32_t log_count;
static char log_text[1 << 16];
static pthread_t answerer;

void pause_milliseconds(uint32_t milliseconds) {
    struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static void release(void *bytes) {
    atomic_fetch_add(&released, 1);
    free(bytes);
}

// Answers with a short answer. The header lines and their lengths differ with the body, so that the
// object of the connection is changed in every way.
static bool respond_short(latchkey_http_request *request, uint32_t status, const void *bytes,
                          size_t count) {
    char length[20];
    snprintf(length, sizeof(length), "%zu", count);
    if (!latchkey_http_short_begin(request, bytes, count) ||
        !latchkey_http_short_add(request, "Content-Type", "text/plain") ||
        (count % 4 == 1 && !latchkey_http_short_add(request, "X-Odd", "1")) ||
        !latchkey_http_short_add(request, "X-Length", length)) {
        return false;
    }
    latchkey_http_short_respond(request, status, false);
    return true;
}

// Every other length is answered in short, so that both kinds follow each other.
static void respond(latchkey_http_request *request, uint32_t status, const void *bytes,
                    size_t count) {
    if (count % 2 == 1 && count <= LATCHKEY_HTTP_SHORT_BYTES_MAX &&
        respond_short(request, status, bytes, count)) {
        return;
    }
    char *body = malloc(count + 1);
    memcpy(body, bytes, count);
    atomic_fetch_add(&created, 1);
    latchkey_http_response *response = latchkey_http_response_create(body, count, release, body);
    latchkey_http_response_add(response, "Content-Type", "text/plain");
    latchkey_http_respond(request, status, response, false);
}

void respond_text(latchkey_http_request *request, uint32_t status, const char *text) {
    respond(request, status, text, strlen(text));
}

static void respond_target(latchkey_http_request *request) {
    char text[SUBJECT_TARGET_BYTES_MAX + 16];
    snprintf(text, sizeof(text), "%.*s %.*s", (int)request->path.count, request->path.bytes,
             (int)request->query.count, request->query.bytes ? request->query.bytes : "");
    respond_text(request, 200, text);
}

static void respond_fields(latchkey_http_request *request) {
    char text[SUBJECT_HEAD_BYTES_MAX * 2] = "";
    size_t count = 0;
    for (size_t i = 0; i < request->field_count; i++) {
        latchkey_http_field field = request->fields[i];
        count += (size_t)snprintf(text + count, sizeof(text) - count, "%.*s=%.*s\n",
                                  (int)field.name.count, field.name.bytes, (int)field.value.count,
                                  field.value.bytes);
    }
    respond(request, 200, text, count);
}

static void respond_zeroes(latchkey_http_request *request, size_t count) {
    char *body = calloc(1, count);
    atomic_fetch_add(&created, 1);
    latchkey_http_respond(request, 200, latchkey_http_response_create(body, count, release, body),
                          false);
}

static const uint32_t rejected_status[] = {
    [LATCHKEY_HTTP_REJECTION_MALFORMED] = 400,
    [LATCHKEY_HTTP_REJECTION_TRANSFER_CODING] = 501,
    [LATCHKEY_HTTP_REJECTION_TARGET_TOO_LONG] = 414,
    [LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE] = 431,
    [LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE] = 413,
    [LATCHKEY_HTTP_REJECTION_CONNECTIONS] = 503,
    [LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS] = 429,
    [LATCHKEY_HTTP_REJECTION_DRAINING] = 503,
    [LATCHKEY_HTTP_REJECTION_MEMORY] = 503,
};

static void *answer(void *context) {
    (void)context;
    pthread_mutex_lock(&lock);
    while (true) {
        while (later_count == 0 && !ends) {
            pthread_cond_wait(&wakes, &lock);
        }
        if (later_count == 0) {
            break;
        }
        latchkey_http_request *request = later[--later_count];
        pthread_mutex_unlock(&lock);
        bool rejected = request->rejection != LATCHKEY_HTTP_REJECTION_NONE;
        respond_text(request, rejected ? rejected_status[request->rejection] : 200,
                     rejected ? "rejected" : "later");
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void put(latchkey_http_request **queue, uint32_t *count, latchkey_http_request *request) {
    pthread_mutex_lock(&lock);
    queue[(*count)++] = request;
    pthread_cond_broadcast(&wakes);
    pthread_mutex_unlock(&lock);
}

static void handle(void *context, latchkey_http_request *request) {
    (void)context;
    if (request->rejection != LATCHKEY_HTTP_REJECTION_NONE && path_is(request, "/later")) {
        put(later, &later_count, request);
    } else if (request->rejection != LATCHKEY_HTTP_REJECTION_NONE) {
        respond_text(request, rejected_status[request->rejection], "rejected");
    } else if (path_is(request, "/now")) {
        respond_text(request, 200, "now");
    } else if (path_is(request, "/echo")) {
        respond(request, 200, request->body.bytes ? request->body.bytes : "", request->body.count);
    } else if (path_is(request, "/host")) {
        respond(request, 200, request->authority.bytes ? request->authority.bytes : "",
                request->authority.count);
    } else if (path_is(request, "/fields")) {
        respond_fields(request);
    } else if (path_is(request, "/big")) {
        respond_zeroes(request, BIG_BYTES);
    } else if (path_is(request, "/some")) {
        respond_zeroes(request, SUBJECT_SOME_BYTES);
    } else if (path_is(request, "/later")) {
        put(later, &later_count, request);
    } else if (path_is(request, "/hold")) {
        put(held, &held_count, request);
    } else {
        respond_target(request);
    }
}

static void log_message(void *context, const char *message) {
    (void)context;
    pthread_mutex_lock(&lock);
    log_count++;
    size_t used = strlen(log_text);
    snprintf(log_text + used, sizeof(log_text) - used, "%s\n", message);
    pthread_mutex_unlock(&lock);
    if (getenv("LATCHKEY_TEST_VERBOSE") != NULL) {
        fprintf(stderr, "    log: %s\n", message);
    }
}

latchkey_http_options subject_options(void) {
    return (latchkey_http_options){
        .host = "127.0.0.1",
        .listen_backlog = 128,
        .threads = 2,
        .connections_max = 64,
        .target_bytes_max = SUBJECT_TARGET_BYTES_MAX,
        .head_bytes_max = SUBJECT_HEAD_BYTES_MAX,
        .body_bytes_max = SUBJECT_BODY_BYTES_MAX,
        .idle_milliseconds = 20000,
        .request_milliseconds = 20000,
        .handler = handle,
        .log = log_message,
    };
}

void subject_start(subject *s, latchkey_http_options options) {
    latchkey_http_failure failure;
    log_count = 0;
    log_text[0] = '\0';
    s->server = latchkey_http_start(&options, &failure);
    if (s->server == NULL) {
        fprintf(stderr, "cannot start: %s %d\n", failure.call, failure.code);
        exit(1);
    }
    s->port = latchkey_http_port(s->server);
    ends = false;
    later_count = 0;
    held_count = 0;
    created = 0;
    released = 0;
    pthread_create(&answerer, NULL, answer, NULL);
}

latchkey_http_cut_off subject_stop(subject *s, uint32_t milliseconds) {
    latchkey_http_cut_off cut_off = latchkey_http_stop(s->server, milliseconds);
    pthread_mutex_lock(&lock);
    ends = true;
    pthread_cond_broadcast(&wakes);
    pthread_mutex_unlock(&lock);
    pthread_join(answerer, NULL);
    subject_let_go(0);
    if (created != released) {
        fprintf(stderr, "%u bodies were handed over, %u released\n", created, released);
        exit(1);
    }
    return cut_off;
}

uint32_t subject_log_count(void) {
    pthread_mutex_lock(&lock);
    uint32_t count = log_count;
    pthread_mutex_unlock(&lock);
    return count;
}

bool subject_log_has(const char *text) {
    pthread_mutex_lock(&lock);
    bool has = strstr(log_text, text) != NULL;
    pthread_mutex_unlock(&lock);
    return has;
}

static bool are_held(uint32_t count) {
    pthread_mutex_lock(&lock);
    bool there = held_count >= count;
    pthread_mutex_unlock(&lock);
    return there;
}

bool subject_await_held(uint32_t count) {
    return COMES(are_held(count));
}

bool subject_let_go(uint32_t count) {
    bool there = subject_await_held(count);
    pthread_mutex_lock(&lock);
    while (held_count > 0) {
        latchkey_http_request *request = held[--held_count];
        respond(request, 200, request->body.bytes ? request->body.bytes : "", request->body.count);
    }
    pthread_mutex_unlock(&lock);
    return there;
}

bool subject_await_connections(subject *s, uint32_t count) {
    return COMES(latchkey_http_measure(s->server).connections == count);
}

bool subject_await_suspended(subject *s, uint32_t count) {
    return COMES(latchkey_http_measure(s->server).suspended == count);
}

bool path_is(const latchkey_http_request *request, const char *path) {
    return request->path.count == strlen(path) &&
           memcmp(request->path.bytes, path, request->path.count) == 0;
}

enum { JOBS_MAX = 4096, WORKERS_MAX = 2 };

typedef struct job {
    void (*run)(void *context);
    void *context;
    uint32_t milliseconds;
} job;

static job jobs[JOBS_MAX];  // (lock)
static size_t first_job;
static size_t job_end;
static sem_t jobs_there;
static pthread_t workers[WORKERS_MAX];
static size_t worker_count;

static void *work(void *context) {
    (void)context;
    while (true) {
        sem_wait(&jobs_there);
        pthread_mutex_lock(&lock);
        job next = jobs[first_job++ % JOBS_MAX];
        pthread_mutex_unlock(&lock);
        if (next.run == NULL) {
            return NULL;
        }
        if (next.milliseconds > 0) {
            pause_milliseconds(next.milliseconds);
        }
        next.run(next.context);
    }
}

void workers_start(size_t count) {
    first_job = 0;
    job_end = 0;
    worker_count = count;
    sem_init(&jobs_there, 0, 0);
    for (size_t i = 0; i < count; i++) {
        pthread_create(&workers[i], NULL, work, NULL);
    }
}

void worker_give(void (*run)(void *context), void *context, uint32_t milliseconds) {
    pthread_mutex_lock(&lock);
    jobs[job_end++ % JOBS_MAX] = (job){run, context, milliseconds};
    pthread_mutex_unlock(&lock);
    sem_post(&jobs_there);
}

void workers_end(void) {
    for (size_t i = 0; i < worker_count; i++) {
        worker_give(NULL, NULL, 0);
    }
    for (size_t i = 0; i < worker_count; i++) {
        pthread_join(workers[i], NULL);
    }
}
