// The operations of checker.h: each replays its result, or adds an event to the graph and ends the
// step.

#include "graph.h"

#include <stddef.h>

const char *const data_race = "a data race";
const char *const use_after_free = "a use of freed memory";

// No program writes this value.
static const uint32_t freed = UINT32_MAX;

void end_step(enum outcome outcome) {
    longjmp(step.escape, outcome);
}

void check(bool condition, const char *finding) {
    if (!condition) {
        step.finding = finding;
        end_step(FAILED);
    }
}

// The next event of the running thread if its program has been here before, else NULL.
static const struct event *replay(void) {
    while (step.replayed < step.graph->counts[step.thread]) {
        const struct event *event =
            &step.graph->events[step.thread * step.stride + step.replayed++];
        if (event->kind != INTERRUPT) {
            return event;
        }
    }
    return NULL;
}

static bool is_after_total_fence(void) {
    event_set past_set = past(step.thread);
    for (int event = 0; event < EVENTS_MAX; event++) {
        const struct event *earlier = &step.graph->events[event];
        if ((past_set & bit(event)) != 0 && earlier->order == SEQ_CST &&
            (earlier->kind == FENCE || earlier->kind == INTERRUPT)) {
            return true;
        }
    }
    return false;
}

// Ends the step after an operation with this order. An operation with another order can only
// contradict the single order of the sequentially consistent events after one of their fences.
static void end_with(enum order order) {
    step.is_order_open = order == SEQ_CST || is_after_total_fence();
    end_step(PERFORMED);
}

static void add_read(int place, int at, enum order order) {
    append(step.thread, (struct event){.kind = READ,
                                       .order = (uint8_t)order,
                                       .place = (uint8_t)place,
                                       .from = (uint8_t)write_at(place, at),
                                       .read = value_at(place, at)});
}

static void add_update(int place, int at, uint32_t value, enum order order) {
    int write = append(step.thread, (struct event){.kind = UPDATE,
                                                   .order = (uint8_t)order,
                                                   .place = (uint8_t)place,
                                                   .from = (uint8_t)write_at(place, at),
                                                   .read = value_at(place, at),
                                                   .written = value});
    insert_write(place, at + 1, write);
}

// The place in the modification order that this step tries; the newest first.
static int chosen(int place) {
    step.options = latest(place) - oldest_visible(place) + 1;
    return latest(place) - step.choice;
}

uint32_t load(int place, enum order order) {
    const struct event *done = replay();
    if (done == NULL) {
        add_read(place, chosen(place), order);
        end_with(order);
    }
    return done->read;
}

uint32_t await_change(int place, uint32_t value, enum order order) {
    const struct event *done = replay();
    if (done == NULL) {
        if (value_at(place, latest(place)) == value) {
            end_step(BLOCKED);
        }
        add_read(place, latest(place), order);
        end_with(order);
    }
    return done->read;
}

void store(int place, uint32_t value, enum order order) {
    if (replay() == NULL) {
        step.is_eager = true;
        int at = chosen(place);
        if (is_followed_by_update(place, at)) {
            end_step(PRUNED);
        }
        int write = append(step.thread, (struct event){.kind = WRITE,
                                                       .order = (uint8_t)order,
                                                       .place = (uint8_t)place,
                                                       .written = value});
        insert_write(place, at + 1, write);
        end_with(order);
    }
}

static uint32_t exchanged(uint32_t old, uint32_t value) {
    (void)old;
    return value;
}

static uint32_t added(uint32_t old, uint32_t value) {
    return old + value;
}

static uint32_t joined(uint32_t old, uint32_t value) {
    return old | value;
}

static uint32_t update(int place, uint32_t (*change)(uint32_t, uint32_t), uint32_t value,
                       enum order order) {
    const struct event *done = replay();
    if (done == NULL) {
        int at = chosen(place);
        if (is_followed_by_update(place, at)) {
            end_step(PRUNED);
        }
        add_update(place, at, change(value_at(place, at), value), order);
        end_with(order);
    }
    return done->read;
}

uint32_t exchange(int place, uint32_t value, enum order order) {
    return update(place, exchanged, value, order);
}

uint32_t add(int place, uint32_t value, enum order order) {
    return update(place, added, value, order);
}

uint32_t bitwise_or(int place, uint32_t value, enum order order) {
    return update(place, joined, value, order);
}

bool compare_exchange(int place, uint32_t expected, uint32_t desired, enum order success,
                      enum order failure) {
    const struct event *done = replay();
    if (done == NULL) {
        int at = chosen(place);
        bool is_expected = value_at(place, at) == expected;
        if (!is_expected) {
            add_read(place, at, failure);
        } else if (is_followed_by_update(place, at)) {
            end_step(PRUNED);
        } else {
            add_update(place, at, desired, success);
        }
        end_with(is_expected ? success : failure);
    }
    return done->read == expected;
}

void fence(enum order order) {
    if (replay() == NULL) {
        step.is_eager = true;
        append(step.thread, (struct event){.kind = FENCE, .order = (uint8_t)order});
        end_with(order);
    }
}

// Finds another access to the place, one of both a write, that does not happen before this one.
static void check_for_race(int place, bool is_write) {
    step.is_eager = true;
    event_set past_set = past(step.thread);
    for (int thread = 0; thread < step.model->threads; thread++) {
        for (int index = 0; index < step.graph->counts[thread]; index++) {
            int event = thread * step.stride + index;
            const struct event *other = &step.graph->events[event];
            check((past_set & bit(event)) != 0 || other->kind >= FENCE || other->place != place ||
                      (!is_write && !writes(other)),
                  data_race);
        }
    }
    check(value_at(place, latest(place)) != freed, use_after_free);
}

uint32_t read_plain(int place) {
    const struct event *done = replay();
    if (done == NULL) {
        check_for_race(place, false);
        add_read(place, latest(place), RELAXED);
        end_step(PERFORMED);
    }
    return done->read;
}

void write_plain(int place, uint32_t value) {
    if (replay() == NULL) {
        check_for_race(place, true);
        int write =
            append(step.thread,
                   (struct event){
                       .kind = WRITE, .order = RELAXED, .place = (uint8_t)place, .written = value});
        insert_write(place, latest(place) + 1, write);
        end_step(PERFORMED);
    }
}

void free_plain(int place) {
    write_plain(place, freed);
}

void lock(int place) {
    if (replay() == NULL) {
        if (value_at(place, latest(place)) != 0) {
            end_step(BLOCKED);
        }
        add_update(place, latest(place), 1, ACQUIRE);
        end_step(PERFORMED);
    }
}

bool try_lock(int place) {
    return compare_exchange(place, 0, 1, ACQUIRE, RELAXED);
}

void unlock(int place) {
    store(place, 0, RELEASE);
}

void futex_wait(int place, uint32_t expected) {
    if (replay() == NULL) {
        add_update(KERNEL, latest(KERNEL), 0, ACQ_REL);
        int at = chosen(place);
        add_read(place, at, RELAXED);
        if (value_at(place, at) == expected) {
            step.graph->sleeping[step.thread] = (uint8_t)place;
        }
        end_with(RELAXED);
    }
    replay();
}

uint32_t futex_wake(int place) {
    const struct event *done = replay();
    if (done == NULL) {
        int sleepers = 0;
        for (int thread = 0; thread < step.model->threads; thread++) {
            if (step.graph->sleeping[thread] == place && sleepers++ == step.choice) {
                step.graph->sleeping[thread] = 0;
            }
        }
        step.options = sleepers;
        add_update(KERNEL, latest(KERNEL), sleepers > 0, ACQ_REL);
        end_step(PERFORMED);
    }
    return done->written;
}

// Lets another thread execute a fence now, between the caller's past and its next operation.
static void interrupt(int other) {
    if (replay() == NULL) {
        int number = append(
            other,
            (struct event){.kind = INTERRUPT, .order = SEQ_CST, .before = past(step.thread)});
        append(step.thread,
               (struct event){.kind = ACKNOWLEDGED,
                              .before = bit(number) | step.graph->events[number].before});
        end_with(SEQ_CST);
    }
}

void membarrier(void) {
    fence(SEQ_CST);
    for (int thread = 0; thread < step.model->interruptible; thread++) {
        if (thread != step.thread) {
            interrupt(thread);
        }
    }
    fence(SEQ_CST);
}

uint32_t last_value(int place) {
    return value_at(place, latest(place));
}

bool is_freed(int place) {
    return last_value(place) == freed;
}

const void *setting(void) {
    return step.model->setting;
}

enum order ordered(int site, enum order order) {
    return is_faulty(site) ? step.fault->order : order;
}

bool is_faulty(int site) {
    return step.fault != NULL && step.fault->site == site;
}
