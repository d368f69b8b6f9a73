// LatchkeyGuards: while a stripe gets another guard, never two are inside, no write is lost or
// doubled, one thread's writes stay in order, a transaction is one step, and all of them end.
//
// Design: a lock is a word; a queue is a line of slots, where a place is taken in one step. A
// blocking caller waits for the slot before its own; a submitted write is a job for the last
// thread. The value of a stripe is a plain number in base four: each write appends its digit, so
// that the number shows the order, and two inside are a data race. A guard is left by one of two
// protocols:
//
// 1. It applies accesses at once: it is held exclusively, `serving` and `index` are stored, it is
//    left.
// 2. It applies them later: the next guard is held, `index` is stored, the switch waits for askers
//    and for the end of the line, `serving` is stored, both are left.
//
// A caller that enters a guard reads `serving` inside. A caller that asks a queue counts itself and
// reads `index` again; the switch stores `index` and reads the count.
//
// Length: the accesses of one stripe and of several are read side by side with the switch.

#include "checker.h"
#include "models.h"

#include <stddef.h>

enum { STRIPES = 2, SLOTS = 4 };
enum { ORDER_LOCK = FIRST_PLACE, FIRST_STRIPE };
enum {
    INDEX,
    SERVING,
    ASKERS,
    LOCKS,
    TAIL = LOCKS + 2,
    FIRST_SLOT,
    VALUE = FIRST_SLOT + SLOTS,
    STRIPE_PLACES
};
enum { PLACES = FIRST_STRIPE + STRIPES * STRIPE_PLACES };

// The kinds of guards: the first two are locks.
enum kind { LOCK, OTHER_LOCK, QUEUE, NO_KIND };

// The content of a slot of a queue: from here on, the digit of a submitted write.
enum { EMPTY, LEFT, JOBS };

enum {
    NOT_LOOKED_AT_AGAIN = 1,
    COUNTED_LATE,
    COUNT_RELAXED,
    LOOKS_RELAXED,
    TELLS_RELAXED,
    ASKERS_RELAXED,
    ASKERS_NOT_WAITED_FOR,
    INDEX_BEFORE_ENTERING,
    BOTH_BEFORE_ENTERING,
    INDEX_BEFORE_SERVING,
    SERVING_NOT_LOOKED_AT,
    FIRST_PROTOCOL,
    SECOND_PROTOCOL,
    SERVING_UNACQUIRED,
    SERVING_UNRELEASED,
    ONE_SERVING_LOOKED_AT,
    LATER_FIRST,
    COUNTED_FIRST,
    NOT_IN_ONE_STEP,
};

struct plan {
    enum kind start[STRIPES];
    enum kind next[STRIPES];
    // The next guard of the first stripe, if it is switched twice.
    enum kind last;
};

static const struct plan *plan(void) {
    return setting();
}

static int place(int stripe, int field) {
    return FIRST_STRIPE + stripe * STRIPE_PLACES + field;
}

static void append(int stripe, uint32_t digit) {
    write_plain(place(stripe, VALUE), read_plain(place(stripe, VALUE)) * 4 + digit);
}

// Acquires: a caller that finds a new guard finds that it serves, and need not begin again.
static uint32_t asked(int stripe) {
    return load(place(stripe, INDEX), ACQUIRE);
}

// Acquires: only this load orders a caller that comes by an old index to a guard that serves again.
static uint32_t serving(int stripe, uint32_t entered) {
    return is_faulty(SERVING_NOT_LOOKED_AT)
               ? entered
               : load(place(stripe, SERVING), ordered(SERVING_UNACQUIRED, ACQUIRE));
}

// A place at the end of the line.
static int take_ticket(int stripe) {
    int ticket = (int)add(place(stripe, TAIL), 1, ACQ_REL);
    check(ticket < SLOTS, "the line is too short for this model");
    return ticket;
}

static void wait_until_left(int slot) {
    uint32_t seen = await_change(slot, EMPTY, ACQUIRE);
    if (seen != LEFT) {
        await_change(slot, seen, ACQUIRE);
    }
}

static void wait_for_front(int stripe, int ticket) {
    if (ticket > 0) {
        wait_until_left(place(stripe, FIRST_SLOT + ticket - 1));
    }
}

static void leave_queue(int stripe, int ticket) {
    store(place(stripe, FIRST_SLOT + ticket), LEFT, RELEASE);
}

static void count(int stripe) {
    add(place(stripe, ASKERS), 1, ordered(COUNT_RELAXED, SEQ_CST));
}

static void count_back(int stripe) {
    add(place(stripe, ASKERS), UINT32_MAX, RELEASE);
}

static bool is_still_asked(int stripe) {
    return is_faulty(NOT_LOOKED_AT_AGAIN) ||
           load(place(stripe, INDEX), ordered(LOOKS_RELAXED, SEQ_CST)) == QUEUE;
}

// The ticket of a caller that found a queue; -1 if the stripe no longer has it. The ticket is the
// place in the line: the caller is accepted before its slot has content.
static int ask_queue(int stripe) {
    if (!is_faulty(COUNTED_LATE)) {
        count(stripe);
    }
    bool is_asked = is_still_asked(stripe);
    if (is_faulty(COUNTED_LATE)) {
        count(stripe);
    }
    int ticket = is_asked ? take_ticket(stripe) : -1;
    count_back(stripe);
    return ticket;
}

// Waits if the guard of the index did not serve before.
static uint32_t ask_again(int stripe, uint32_t entered, uint32_t serving) {
    uint32_t kind = asked(stripe);
    if (kind == entered) {
        await_change(place(stripe, SERVING), serving, ACQUIRE);
        kind = asked(stripe);
    }
    return kind;
}

// Enters the guard of a stripe, and appends a digit. A job of a queue is already inside.
static void write_blocking(int stripe, uint32_t digit, bool is_job) {
    uint32_t kind = is_job ? QUEUE : asked(stripe);
    for (;;) {
        int ticket = -1;
        if (kind != QUEUE) {
            lock(place(stripe, LOCKS) + (int)kind);
        } else if (!is_job) {
            ticket = ask_queue(stripe);
            if (ticket < 0) {
                kind = asked(stripe);
                continue;
            }
            wait_for_front(stripe, ticket);
        }
        uint32_t counts = serving(stripe, kind);
        if (counts == kind) {
            append(stripe, digit);
        }
        if (kind != QUEUE) {
            unlock(place(stripe, LOCKS) + (int)kind);
        } else if (!is_job) {
            leave_queue(stripe, ticket);
        }
        if (counts == kind) {
            return;
        }
        is_job = false;
        kind = ask_again(stripe, kind, counts);
    }
}

// A queue accepts the write, any other guard applies it.
static void submit(int stripe, uint32_t digit) {
    if (asked(stripe) == QUEUE) {
        int ticket = ask_queue(stripe);
        if (ticket >= 0) {
            store(place(stripe, FIRST_SLOT + ticket), JOBS + digit, RELEASE);
            return;
        }
    }
    write_blocking(stripe, digit, false);
}

// The thread of a queue.
static void serve_queue(int stripe) {
    for (int ticket = 0; ticket < SLOTS; ticket++) {
        uint32_t slot = await_change(place(stripe, FIRST_SLOT + ticket), EMPTY, ACQUIRE);
        if (slot != LEFT) {
            write_blocking(stripe, slot - JOBS, true);
            leave_queue(stripe, ticket);
        }
    }
}

// A read inside a read, in which the holder may enter the first guard again.
static void read_twice(int stripe) {
    uint32_t kind = asked(stripe);
    for (;;) {
        lock(place(stripe, LOCKS) + (int)kind);
        uint32_t counts = serving(stripe, kind);
        if (counts == kind) {
            break;
        }
        unlock(place(stripe, LOCKS) + (int)kind);
        kind = ask_again(stripe, kind, counts);
    }
    uint32_t inner = asked(stripe);
    if (inner != kind) {
        lock(place(stripe, LOCKS) + (int)inner);
        uint32_t counts = serving(stripe, inner);
        unlock(place(stripe, LOCKS) + (int)inner);
        if (counts != inner) {
            ask_again(stripe, inner, counts);
        }
    }
    read_plain(place(stripe, VALUE));
    unlock(place(stripe, LOCKS) + (int)kind);
}

static void tell(int stripe, enum kind next) {
    store(place(stripe, INDEX), next, ordered(TELLS_RELAXED, SEQ_CST));
}

static void serve(int stripe, enum kind next) {
    store(place(stripe, SERVING), next, ordered(SERVING_UNRELEASED, RELEASE));
}

static int enter_to_leave(int stripe, enum kind kind) {
    if (kind != QUEUE) {
        lock(place(stripe, LOCKS) + (int)kind);
        return -1;
    }
    int ticket = take_ticket(stripe);
    wait_for_front(stripe, ticket);
    return ticket;
}

static void leave(int stripe, enum kind kind, int ticket) {
    if (kind != QUEUE) {
        unlock(place(stripe, LOCKS) + (int)kind);
    } else {
        leave_queue(stripe, ticket);
    }
}

static void leave_at_once(int stripe, enum kind old, enum kind next) {
    bool is_early = is_faulty(INDEX_BEFORE_ENTERING) || is_faulty(BOTH_BEFORE_ENTERING);
    if (is_faulty(BOTH_BEFORE_ENTERING)) {
        serve(stripe, next);
    }
    if (is_early) {
        tell(stripe, next);
    }
    int ticket = enter_to_leave(stripe, old);
    if (is_faulty(INDEX_BEFORE_SERVING)) {
        tell(stripe, next);
    }
    serve(stripe, next);
    if (!is_early && !is_faulty(INDEX_BEFORE_SERVING)) {
        tell(stripe, next);
    }
    leave(stripe, old, ticket);
}

static void leave_later(int stripe, enum kind old, enum kind next) {
    // Held so that askers wait for it, and do not begin again until it serves.
    int next_ticket = enter_to_leave(stripe, next);
    tell(stripe, next);
    uint32_t askers = load(place(stripe, ASKERS), ordered(ASKERS_RELAXED, SEQ_CST));
    while (askers != 0 && !is_faulty(ASKERS_NOT_WAITED_FOR)) {
        askers = await_change(place(stripe, ASKERS), askers, SEQ_CST);
    }
    int ticket = enter_to_leave(stripe, old);
    serve(stripe, next);
    leave(stripe, old, ticket);
    leave(stripe, next, next_ticket);
}

static void switch_guard(int stripe, enum kind old, enum kind next) {
    bool is_later = is_faulty(FIRST_PROTOCOL)    ? false
                    : is_faulty(SECOND_PROTOCOL) ? true
                                                 : old == QUEUE;
    if (is_later) {
        leave_later(stripe, old, next);
    } else {
        leave_at_once(stripe, old, next);
    }
}

static void switch_all(void) {
    for (int stripe = 0; stripe < STRIPES; stripe++) {
        if (plan()->next[stripe] != plan()->start[stripe]) {
            switch_guard(stripe, plan()->start[stripe], plan()->next[stripe]);
        }
    }
    if (plan()->last != NO_KIND) {
        switch_guard(0, plan()->next[0], plan()->last);
    }
}

// MARK: transactions

// Counts the caller as an asker of a queue; false if the stripe has another guard.
static bool count_if_queue(int stripe) {
    while (asked(stripe) == QUEUE) {
        count(stripe);
        if (is_still_asked(stripe)) {
            return true;
        }
        count_back(stripe);
    }
    return false;
}

// Holds the lock of a stripe, and returns its kind; QUEUE if the stripe has a queue by now.
static uint32_t hold_lock(int stripe) {
    uint32_t kind = asked(stripe);
    while (kind != QUEUE) {
        lock(place(stripe, LOCKS) + (int)kind);
        uint32_t counts =
            is_faulty(ONE_SERVING_LOOKED_AT) && stripe == 0 ? kind : serving(stripe, kind);
        if (counts == kind) {
            break;
        }
        unlock(place(stripe, LOCKS) + (int)kind);
        kind = ask_again(stripe, kind, counts);
    }
    return kind;
}

static uint32_t count_or_hold(int stripe) {
    uint32_t kind = QUEUE;
    while (!count_if_queue(stripe) && (kind = hold_lock(stripe)) == QUEUE) {
    }
    return kind;
}

// Takes the tickets of all queues in one step.
static void join_queues(const uint32_t *kinds, int *tickets) {
    bool are_several = kinds[0] == QUEUE && kinds[1] == QUEUE && !is_faulty(NOT_IN_ONE_STEP);
    if (are_several) {
        lock(ORDER_LOCK);
    }
    for (int stripe = 0; stripe < STRIPES; stripe++) {
        if (kinds[stripe] == QUEUE && tickets[stripe] < 0) {
            tickets[stripe] = take_ticket(stripe);
        }
    }
    if (are_several) {
        unlock(ORDER_LOCK);
    }
    for (int stripe = 0; stripe < STRIPES; stripe++) {
        if (kinds[stripe] == QUEUE) {
            count_back(stripe);
        }
    }
}

// In ascending order: counts itself for a queue, and holds a lock.
static void enter_all(uint32_t *kinds, int *tickets) {
    bool is_counted[STRIPES] = {false, false};
    for (int stripe = 0; stripe < STRIPES && is_faulty(COUNTED_FIRST); stripe++) {
        is_counted[stripe] = count_if_queue(stripe);
    }
    for (int stripe = 0; stripe < STRIPES; stripe++) {
        kinds[stripe] = is_counted[stripe] ? QUEUE : count_or_hold(stripe);
        if (kinds[stripe] == QUEUE && is_faulty(LATER_FIRST)) {
            tickets[stripe] = take_ticket(stripe);
        }
    }
    join_queues(kinds, tickets);
    for (int stripe = 0; stripe < STRIPES; stripe++) {
        if (kinds[stripe] == QUEUE) {
            wait_for_front(stripe, tickets[stripe]);
            check(serving(stripe, QUEUE) == QUEUE, "a queue was left before all were in it");
        }
    }
}

// Adds one in both stripes, which always have the same number.
static void transact(void) {
    uint32_t kinds[STRIPES];
    int tickets[] = {-1, -1};
    enter_all(kinds, tickets);
    uint32_t number = read_plain(place(0, VALUE));
    check(number == read_plain(place(1, VALUE)), "half of a transaction is seen");
    write_plain(place(0, VALUE), number + 1);
    write_plain(place(1, VALUE), number + 1);
    for (int stripe = 0; stripe < STRIPES; stripe++) {
        leave(stripe, (enum kind)kinds[stripe], tickets[stripe]);
    }
}

static void transactions(int thread) {
    if (thread == 0) {
        switch_all();
    } else {
        transact();
    }
}

static void transactions_and_read(int thread) {
    transactions(thread);
    if (thread == 2) {
        read_twice(0);
    }
}

static void both(void) {
    check(last_value(place(0, VALUE)) == 2 && last_value(place(1, VALUE)) == 2,
          "a transaction is lost or doubled");
}

// MARK: one stripe

// Two writes of one thread, and one exclusive write.
static void blocking(int thread) {
    if (thread == 0) {
        switch_all();
    } else if (thread == 1) {
        write_blocking(0, 1, false);
        write_blocking(0, 2, false);
    } else {
        read_twice(0);
        write_blocking(0, 3, false);
    }
}

static void submitting(int thread) {
    if (thread == 0) {
        switch_all();
    } else if (thread == 1) {
        submit(0, 1);
        submit(0, 2);
    } else if (thread == 2) {
        write_blocking(0, 3, false);
    } else {
        serve_queue(0);
    }
}

static void three_writes(void) {
    uint32_t seen = 0;
    for (uint32_t digits = last_value(place(0, VALUE)); digits != 0; digits /= 4) {
        uint32_t digit = digits % 4;
        check((seen & 1u << digit) == 0, "a write is doubled");
        check(digit != 2 || (seen & 1u << 1) == 0, "the writes of a thread are out of order");
        seen |= 1u << digit;
    }
    check(seen == 0xE, "a write is lost");
}

static const struct plan from_lock = {{LOCK}, {OTHER_LOCK}, LOCK};
static const struct plan to_queue = {{LOCK}, {QUEUE}, NO_KIND};
static const struct plan from_queue = {{QUEUE}, {LOCK}, NO_KIND};
static const struct plan two_locks = {{LOCK, LOCK}, {OTHER_LOCK, OTHER_LOCK}, NO_KIND};
static const struct plan two_queues = {{QUEUE, QUEUE}, {LOCK, QUEUE}, NO_KIND};
static const struct plan queue_last = {{LOCK, QUEUE}, {LOCK, LOCK}, NO_KIND};
static const struct plan queue_first = {{QUEUE, LOCK}, {LOCK, LOCK}, NO_KIND};

enum { FROM_LOCK, TO_QUEUE, FROM_QUEUE, TWO_LOCKS, TWO_QUEUES, QUEUE_LAST, QUEUE_FIRST };

#define STRIPE_AT(kind) kind, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0

// Versions of clang-format differ on braces in macros.
// clang-format off
#define MODEL(title, threads, program, finally, plan, first, second)                               \
    { title, threads, program, finally, PLACES, {0, 0, STRIPE_AT(first), STRIPE_AT(second)},       \
      &plan, 0, threads == 4, false }
// clang-format on

static const struct model models[] = {
    MODEL("switch, a lock for another and back", 3, blocking, three_writes, from_lock, LOCK, LOCK),
    MODEL("switch, a lock for a queue", 4, submitting, three_writes, to_queue, LOCK, LOCK),
    MODEL("switch, a queue for a lock", 4, submitting, three_writes, from_queue, QUEUE, LOCK),
    MODEL("switch, two locks", 3, transactions_and_read, both, two_locks, LOCK, LOCK),
    MODEL("switch, one of two queues", 3, transactions, both, two_queues, QUEUE, QUEUE),
    MODEL("switch, a lock and a queue", 3, transactions, both, queue_last, LOCK, QUEUE),
    MODEL("switch, a queue and a lock", 3, transactions, both, queue_first, QUEUE, LOCK),
};

static const struct fault faults[] = {
    {"at once: `index` is stored before entering", INDEX_BEFORE_ENTERING, RELAXED, FROM_LOCK},
    {"at once: both are stored before entering", BOTH_BEFORE_ENTERING, RELAXED, TO_QUEUE},
    {"at once: the protocol of a guard that applies later", SECOND_PROTOCOL, RELAXED, FROM_LOCK},
    {"at once: `index` is stored before `serving`", INDEX_BEFORE_SERVING, RELAXED, TO_QUEUE},
    {"enter: `serving` is not looked at", SERVING_NOT_LOOKED_AT, RELAXED, FROM_LOCK},
    {"enter: `serving` is loaded without acquiring", SERVING_UNACQUIRED, RELAXED, FROM_LOCK},
    {"at once: `serving` is stored without releasing", SERVING_UNRELEASED, RELAXED, FROM_LOCK},
    {"ask: `index` is not loaded again", NOT_LOOKED_AT_AGAIN, RELAXED, FROM_QUEUE},
    {"ask: counts after `index` was loaded again", COUNTED_LATE, RELAXED, FROM_QUEUE},
    {"ask: counts, relaxed", COUNT_RELAXED, RELAXED, FROM_QUEUE},
    {"ask: loads `index` again, acquiring", LOOKS_RELAXED, ACQUIRE, FROM_QUEUE},
    {"later: the protocol of a guard that applies at once", FIRST_PROTOCOL, RELAXED, FROM_QUEUE},
    {"later: `index` is stored, releasing", TELLS_RELAXED, RELEASE, FROM_QUEUE},
    {"later: the count is loaded, acquiring", ASKERS_RELAXED, ACQUIRE, FROM_QUEUE},
    {"later: askers are not waited for", ASKERS_NOT_WAITED_FOR, RELAXED, FROM_QUEUE},
    {"several: `serving` of the first is not looked at", ONE_SERVING_LOOKED_AT, RELAXED, TWO_LOCKS},
    {"several: is in a queue before it has a later lock", LATER_FIRST, RELAXED, QUEUE_FIRST},
    {"several: counts before it has an earlier lock", COUNTED_FIRST, RELAXED, QUEUE_LAST},
    {"several: is not in all queues in one step", NOT_IN_ONE_STEP, RELAXED, TWO_QUEUES},
};

int check_switch(void) {
    return CHECK_MODELS();
}
