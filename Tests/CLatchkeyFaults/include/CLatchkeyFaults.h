// A file system for SQLite, around the standard one, whose calls fail or wait when a test says so.
//
// Design: each file system has a state of its own under one mutex, so that tests do not disturb
// each other. The mutex is not held during a call of the standard file system. SQLite calls from
// any thread. A file system has to live longer than its connections.

#ifndef CLATCHKEYFAULTS_H
#define CLATCHKEYFAULTS_H

#include <stdbool.h>

struct latchkey_faults;

// Bits of the calls.
enum {
    LATCHKEY_FAULTS_READ = 1,
    LATCHKEY_FAULTS_WRITE = 2,
    LATCHKEY_FAULTS_SYNC = 4,
    LATCHKEY_FAULTS_TRUNCATE = 8,
    // Of the log only.
    LATCHKEY_FAULTS_LOG = 16,
    // Of the database and of the index of the log; not their release.
    LATCHKEY_FAULTS_LOCK = 32,
    // This call does not fail.
    LATCHKEY_FAULTS_DELETE = 64,
};

// Makes only the calling thread one of another user (the system call setresuid(2), not the function
// of the C library); 0 is root again.
void latchkey_faults_become(unsigned user);

// Registers a file system under a name.
struct latchkey_faults *latchkey_faults_make(const char *name);

void latchkey_faults_free(struct latchkey_faults *faults);

// Lets calls of the kinds in `calls` fail: `count` of them, from the `first` one from now on,
// counted from 0. They return `code`, and `error` is the errno that SQLite asks for. A write that
// fails has written the first `percent` of its bytes.
void latchkey_faults_fail(struct latchkey_faults *faults, int calls, long first, long count,
                          int code, int error, int percent);

// No further call fails.
void latchkey_faults_stop(struct latchkey_faults *faults);

// The number of these calls since the last latchkey_faults_fail().
long latchkey_faults_count(struct latchkey_faults *faults);

// Calls the observer before each write, sync, truncation and deletion, with the bit of the call and
// that of the log. No other call is made until this one is done. Set while no database is open.
void latchkey_faults_observe(struct latchkey_faults *faults, void (*observer)(void *, int),
                             void *context);

// Lets syncs of the log wait, or continue.
void latchkey_faults_hold(struct latchkey_faults *faults, bool holds);

// The number of syncs of the log that wait.
int latchkey_faults_waiting(struct latchkey_faults *faults);

// Waits until a sync of the log waits.
void latchkey_faults_await(struct latchkey_faults *faults);

#endif
