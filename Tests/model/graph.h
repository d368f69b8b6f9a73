// The execution graph: between the operations of checker.h and the exploration.

#ifndef LATCHKEY_MODEL_GRAPH_H
#define LATCHKEY_MODEL_GRAPH_H

#include "checker.h"

#include <setjmp.h>

// A set of events, one bit each.
typedef unsigned __int128 event_set;

enum { EVENTS_MAX = 128, WRITES_MAX = 48, INITIAL = 255 };

enum kind { READ, WRITE, UPDATE, FENCE, INTERRUPT, ACKNOWLEDGED };

struct event {
    uint8_t kind;
    uint8_t order;
    uint8_t place;
    // The event whose value was read, or INITIAL.
    uint8_t from;
    uint32_t read;
    uint32_t written;
    // The events that happen before this one.
    event_set before;
};

// An event's number is its thread's number times `stride`, plus its number in the thread.
struct graph {
    struct event events[EVENTS_MAX];
    uint8_t counts[THREADS_MAX];
    // Modification order of each place, without the initial value.
    uint8_t writes[PLACES_MAX][WRITES_MAX];
    uint8_t writes_counts[PLACES_MAX];
    // The place for which the thread waits in the kernel, 0 if it runs.
    uint8_t sleeping[THREADS_MAX];
};

enum outcome { PERFORMED = 1, BLOCKED, PRUNED, CUT, FAILED, ENDED };

// One step: its input, set before the program runs, and its result.
struct step {
    struct graph *graph;
    const struct model *model;
    const struct fault *fault;
    int stride;
    int thread;
    // The chosen result of the operation, and the number of possible ones.
    int choice;
    int options;
    // The number of the thread's events that the program has replayed.
    int replayed;
    // Whether the step may have made the sequentially consistent events impossible to order.
    bool is_order_open;
    // Whether the operation has the same possible results at any time: it reads nothing, or plain
    // memory. If no interrupt can come before it, no other order is explored.
    bool is_eager;
    const char *finding;
    jmp_buf escape;
};

extern struct step step;

// Ends the program's run.
void end_step(enum outcome outcome);

event_set bit(int event);
bool writes(const struct event *event);

// The events that have happened before the next event of a thread.
event_set past(int thread);

// The writes of a place are numbered in modification order; the initial value has 0.
int write_at(int place, int at);
uint32_t value_at(int place, int at);
int latest(int place);

// The oldest write that the running thread may still read: coherence.
int oldest_visible(int place);

// Whether no write may come between this write and the next.
bool is_followed_by_update(int place, int at);

// Adds an event to a thread and returns its number. The caller inserts a write into the
// modification order. Ends the step if there is no room.
int append(int thread, struct event event);
void insert_write(int place, int at, int write);

// Whether the sequentially consistent events can be put in one order.
bool is_sequentially_consistent(void);

#endif
