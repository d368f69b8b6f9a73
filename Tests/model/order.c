// The axiom of RC11 for sequentially consistent operations: "psc is acyclic" (section 3.3 of the
// paper that checker.h names).
//
// With sb: before in the thread. hb: happens before. eco: before in the place's modification order,
// with reads after the write that they read. A set's name tells whose successors it holds.

#include "graph.h"

#include <string.h>

// Every event of the graph under its number, and the relations as sets of successors.
static struct {
    int events[EVENTS_MAX];
    int count;
    event_set later_in_thread[EVENTS_MAX];
    event_set same_place[EVENTS_MAX];
    event_set hb[EVENTS_MAX];
    event_set eco[EVENTS_MAX];
    event_set scb[EVENTS_MAX];
    event_set fences;
    event_set total;
} sc;

#define FOR_EACH(event, set)                                                                       \
    for (event_set rest_##event = (set); rest_##event != 0; rest_##event &= rest_##event - 1)      \
        for (int event = lowest(rest_##event), once_##event = 1; once_##event; once_##event = 0)

static int lowest(event_set set) {
    uint64_t low = (uint64_t)set;
    return low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(set >> 64));
}

static const struct event *event_at(int event) {
    return &step.graph->events[event];
}

static event_set one(int event) {
    return (event_set)1 << event;
}

// Successors of the events of one thread among those of another. A later event has no more of them
// than an earlier one; a set that has an event also has all later ones.
static void relate_threads(int thread, int other) {
    int start = thread * step.stride;
    int end = start + step.graph->counts[thread];
    int next = other * step.stride;
    int last = next + step.graph->counts[other];
    event_set all = step.graph->counts[other] == 0 ? 0 : (one(last) - 1) & ~(one(next) - 1);
    for (int event = start; event < end; event++) {
        while (next < last && (event_at(next)->before & one(event)) == 0) {
            next++;
        }
        sc.hb[event] |= next == last ? 0 : all & ~(one(next) - 1);
    }
}

static void collect(void) {
    sc.count = 0;
    sc.fences = 0;
    sc.total = 0;
    for (int thread = 0; thread < step.model->threads; thread++) {
        int start = thread * step.stride;
        int end = start + step.graph->counts[thread];
        for (int event = start; event < end; event++) {
            enum kind kind = event_at(event)->kind;
            sc.events[sc.count++] = event;
            sc.later_in_thread[event] =
                (one(end - 1) | (one(end - 1) - 1)) & ~(one(event) - 1) & ~one(event);
            sc.hb[event] = sc.later_in_thread[event];
            sc.same_place[event] = sc.eco[event] = 0;
            if (event_at(event)->order == SEQ_CST) {
                sc.total |= one(event);
                sc.fences |= kind == FENCE || kind == INTERRUPT ? one(event) : 0;
            }
        }
    }
    for (int pair = 0; pair < THREADS_MAX * THREADS_MAX; pair++) {
        int thread = pair / THREADS_MAX;
        int other = pair % THREADS_MAX;
        if (thread != other && thread < step.model->threads && other < step.model->threads) {
            relate_threads(thread, other);
        }
    }
}

// Fills `eco` and `same_place` place by place: the readers of the initial value, then each write
// with its readers.
static void relate_places(void) {
    event_set readers[EVENTS_MAX + 1];
    event_set places[PLACES_MAX] = {0};
    event_set initial[PLACES_MAX] = {0};
    memset(readers, 0, sizeof readers);
    for (int index = 0; index < sc.count; index++) {
        int event = sc.events[index];
        const struct event *known = event_at(event);
        if (known->kind < FENCE) {
            places[known->place] |= one(event);
        }
        if (known->kind == READ) {
            *(known->from == INITIAL ? &initial[known->place] : &readers[known->from]) |=
                one(event);
        }
    }
    for (int place = 0; place < step.model->places; place++) {
        event_set later = places[place] & ~initial[place];
        FOR_EACH(event, places[place]) {
            sc.same_place[event] = places[place];
        }
        FOR_EACH(event, initial[place]) {
            sc.eco[event] = later;
        }
        for (int at = 0; at < step.graph->writes_counts[place]; at++) {
            int write = step.graph->writes[place][at];
            later &= ~one(write);
            sc.eco[write] = later;
            later &= ~readers[write];
            FOR_EACH(reader, readers[write]) {
                sc.eco[reader] = later;
            }
        }
    }
}

// The events after some event of `set`, in its thread and at another place. A set that has an event
// also has all later ones of its thread, so the first two places are enough.
static event_set later_elsewhere(event_set set) {
    event_set reached = 0;
    for (int thread = 0; thread < step.model->threads; thread++) {
        event_set events = set >> (thread * step.stride) << (thread * step.stride);
        if (thread < step.model->threads - 1) {
            events &= one((thread + 1) * step.stride) - 1;
        }
        if (events == 0) {
            continue;
        }
        int first = lowest(events);
        reached |= sc.later_in_thread[first] & ~sc.same_place[first];
        events &= ~sc.same_place[first] & ~one(first);
        if (events != 0) {
            int second = lowest(events);
            reached |= sc.later_in_thread[second] & ~sc.same_place[second];
        }
    }
    return reached;
}

// scb = sb ∪ sb≠loc;hb;sb≠loc ∪ hb=loc ∪ mo ∪ fr
static void relate_sequentially(void) {
    event_set writers = 0;
    for (int index = 0; index < sc.count; index++) {
        enum kind kind = event_at(sc.events[index])->kind;
        writers |= kind == WRITE || kind == UPDATE ? one(sc.events[index]) : 0;
    }
    for (int index = 0; index < sc.count; index++) {
        int event = sc.events[index];
        sc.scb[event] = sc.later_in_thread[event] | (sc.hb[event] & sc.same_place[event]) |
                        (sc.eco[event] & writers);
        event_set elsewhere = sc.later_in_thread[event] & ~sc.same_place[event];
        if (elsewhere != 0) {
            // The successors of the first of them include those of the others.
            sc.scb[event] |= later_elsewhere(sc.hb[lowest(elsewhere)]);
        }
    }
}

// psc = ([SC] ∪ [F];hb?);scb;([SC] ∪ hb?;[F]) ∪ [F];(hb ∪ hb;eco;hb);[F]
static event_set sequentially_after(int event) {
    event_set reached = sc.scb[event];
    event_set next = 0;
    if (sc.fences >> event & 1) {
        event_set through_eco = 0;
        FOR_EACH(other, sc.hb[event]) {
            reached |= sc.scb[other];
            through_eco |= sc.eco[other];
        }
        next |= sc.hb[event] & sc.fences;
        FOR_EACH(barrier, sc.fences) {
            next |= (event_at(barrier)->before & through_eco) != 0 ? one(barrier) : 0;
        }
    }
    FOR_EACH(barrier, sc.fences) {
        next |= (event_at(barrier)->before & reached) != 0 ? one(barrier) : 0;
    }
    return next | (reached & sc.total);
}

bool is_sequentially_consistent(void) {
    collect();
    if ((sc.total & (sc.total - 1)) == 0) {
        return true;
    }
    relate_places();
    relate_sequentially();
    event_set after[EVENTS_MAX];
    FOR_EACH(event, sc.total) {
        after[event] = sequentially_after(event);
    }
    // Repeatedly takes out the events without a predecessor in the set.
    event_set left = sc.total;
    for (event_set before = 0; left != before;) {
        before = left;
        FOR_EACH(event, left) {
            if ((after[event] & left) == 0) {
                left &= ~(one(event));
            }
        }
    }
    return left == 0;
}
