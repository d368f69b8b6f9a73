#include "steps.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { CONNECTIONS_MAX = 4096 };

// A connection of libmicrohttpd's. (lock)
typedef struct record {
    const void *connection;  // or NULL
    bool is_suspended;
    unsigned resuming;  // threads inside MHD_resume_connection()
} record;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static record records[CONNECTIONS_MAX];
static atomic_uint suspensions;
static atomic_uint faults;
static atomic_uint delays[STEP_COUNT];

void steps_delay(step step, uint32_t microseconds) {
    atomic_store(&delays[step], microseconds);
}

uint32_t steps_suspensions(void) {
    return atomic_load(&suspensions);
}

uint32_t steps_faults(void) {
    return atomic_load(&faults);
}

static void pause_at(step step) {
    uint32_t microseconds = atomic_load(&delays[step]);
    if (microseconds > 0) {
        struct timespec time = {0, (long)microseconds * 1000};
        nanosleep(&time, NULL);
    }
}

static void blame(const char *sentence) {
    fprintf(stderr, "steps: %s\n", sentence);
    atomic_fetch_add(&faults, 1);
}

// The record of a connection. (lock)
static record *record_of(const void *connection) {
    record *empty = NULL;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (records[i].connection == connection) {
            return &records[i];
        }
        if (empty == NULL && records[i].connection == NULL) {
            empty = &records[i];
        }
    }
    *empty = (record){connection, false, 0};
    return empty;
}

void __real_MHD_suspend_connection(struct MHD_Connection *connection);
void __wrap_MHD_suspend_connection(struct MHD_Connection *connection);
void __real_MHD_resume_connection(struct MHD_Connection *connection);
void __wrap_MHD_resume_connection(struct MHD_Connection *connection);

// Skips a call that breaks a rule, so that the test can go on and report it.
void __wrap_MHD_suspend_connection(struct MHD_Connection *connection) {
    atomic_fetch_add(&suspensions, 1);
    pause_at(STEP_BEFORE_SUSPEND);
    pthread_mutex_lock(&lock);
    record *r = record_of(connection);
    bool is_wrong = r->is_suspended;
    r->is_suspended = true;
    pthread_mutex_unlock(&lock);
    if (is_wrong) {
        blame("a suspended connection was suspended");
    } else {
        __real_MHD_suspend_connection(connection);
    }
    pause_at(STEP_AFTER_SUSPEND);
}

void __wrap_MHD_resume_connection(struct MHD_Connection *connection) {
    pthread_mutex_lock(&lock);
    record_of(connection)->resuming++;
    pthread_mutex_unlock(&lock);
    pause_at(STEP_BEFORE_RESUME);
    pthread_mutex_lock(&lock);
    record *r = record_of(connection);
    bool is_wrong = !r->is_suspended;
    r->is_suspended = false;
    pthread_mutex_unlock(&lock);
    if (is_wrong) {
        blame("a connection was resumed that was not suspended");
    } else {
        __real_MHD_resume_connection(connection);
    }
    pause_at(STEP_AFTER_RESUME);
    pthread_mutex_lock(&lock);
    record_of(connection)->resuming--;
    pthread_mutex_unlock(&lock);
}

void __real_latchkey_http_connection_notify(void *context, struct MHD_Connection *mhd,
                                            void **socket_context,
                                            enum MHD_ConnectionNotificationCode code);
void __wrap_latchkey_http_connection_notify(void *context, struct MHD_Connection *mhd,
                                            void **socket_context,
                                            enum MHD_ConnectionNotificationCode code);

// libmicrohttpd frees its connection after this call.
void __wrap_latchkey_http_connection_notify(void *context, struct MHD_Connection *mhd,
                                            void **socket_context,
                                            enum MHD_ConnectionNotificationCode code) {
    __real_latchkey_http_connection_notify(context, mhd, socket_context, code);
    if (code != MHD_CONNECTION_NOTIFY_CLOSED) {
        return;
    }
    pthread_mutex_lock(&lock);
    record *r = record_of(mhd);
    bool is_wrong = r->resuming > 0 || r->is_suspended;
    r->connection = NULL;
    pthread_mutex_unlock(&lock);
    if (is_wrong) {
        blame("a connection went away while it was suspended or resumed");
    }
}

struct connection;
void __real_latchkey_http_body_give(struct connection *c, const char *bytes, size_t *count);
void __wrap_latchkey_http_body_give(struct connection *c, const char *bytes, size_t *count);
bool __real_latchkey_http_body_is_taken(struct connection *c);
bool __wrap_latchkey_http_body_is_taken(struct connection *c);

void __wrap_latchkey_http_body_give(struct connection *c, const char *bytes, size_t *count) {
    pause_at(STEP_BEFORE_PIECE);
    __real_latchkey_http_body_give(c, bytes, count);
}

bool __wrap_latchkey_http_body_is_taken(struct connection *c) {
    pause_at(STEP_BEFORE_PIECE);
    return __real_latchkey_http_body_is_taken(c);
}
