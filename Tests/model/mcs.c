// LatchkeySync/RawLocks/MCSLock.swift: the lock excludes, lets each waiter in, and uses no node
// after its end.
//
// Design: the same functions, statement by statement. A node is three places, and its address is
// the first of them, in plain memory: each user of a node reads it, and it ends with the wait. A
// waiter's loop is its last look. Under the lock each thread adds one to a plain number.

#include "checker.h"
#include "models.h"

#include <stddef.h>

enum { TAIL = FIRST_PLACE, NEXT, NUMBER, NODES };
enum { LIFE, BEHIND, WAITING, NODE_PLACES };
enum { NODES_MAX = 4, PLACES = NODES + NODES_MAX * NODE_PLACES };
// No node has these as its address.
enum { FREE, HELD };
enum { UNKNOWN };

enum {
    TRY_ACQUIRES = 1,
    UNLOCK_RELEASES,
    JOINS_RELAXED,
    TELLS_HOLDER,
    TELLS_WAITER,
    ENTERS_ACQUIRES,
    LETS_IN_RELEASES,
    LAST_RELEASES,
    FINDS_SUCCESSOR,
    FORGETS_SUCCESSOR,
    NEXT_CLEARED_LATE,
    LAST_WITHOUT_TAIL,
    FREE_WITHOUT_TAIL,
    FLAG_SET_LATE,
    ENTERS_UNASKED,
};

static bool try_lock_mcs(void) {
    return compare_exchange(TAIL, FREE, HELD, ordered(TRY_ACQUIRES, ACQUIRE), RELAXED);
}

static int use_node(uint32_t address) {
    read_plain((int)address + LIFE);
    return (int)address;
}

static uint32_t address_in(int place) {
    return await_change(place, UNKNOWN, ordered(FINDS_SUCCESSOR, ACQUIRE));
}

// Whether `tail` has become `desired`.
static bool replace_tail(int unseen, uint32_t expected, uint32_t desired, enum order order) {
    if (is_faulty(unseen)) {
        store(TAIL, desired, order);
        return true;
    }
    return compare_exchange(TAIL, expected, desired, order, RELAXED);
}

static void leave(int node) {
    if (load(node + BEHIND, RELAXED) == UNKNOWN || is_faulty(FORGETS_SUCCESSOR)) {
        if (!is_faulty(NEXT_CLEARED_LATE)) {
            store(NEXT, UNKNOWN, RELAXED);
        }
        bool is_last =
            replace_tail(LAST_WITHOUT_TAIL, (uint32_t)node, HELD, ordered(LAST_RELEASES, RELEASE));
        if (is_faulty(NEXT_CLEARED_LATE)) {
            store(NEXT, UNKNOWN, RELAXED);
        }
        if (is_last || is_faulty(FORGETS_SUCCESSOR)) {
            return;
        }
    }
    store(NEXT, address_in(node + BEHIND), RELAXED);
}

static void lock_mcs(int node) {
    if (try_lock_mcs()) {
        return;
    }
    write_plain(node + LIFE, 1);
    store(node + BEHIND, UNKNOWN, RELAXED);
    if (!is_faulty(FLAG_SET_LATE)) {
        store(node + WAITING, 1, RELAXED);
    }
    uint32_t previous = exchange(TAIL, (uint32_t)node, ordered(JOINS_RELAXED, ACQ_REL));
    if (previous != FREE) {
        if (previous == HELD) {
            store(NEXT, (uint32_t)node, ordered(TELLS_HOLDER, RELEASE));
        } else {
            store(use_node(previous) + BEHIND, (uint32_t)node, ordered(TELLS_WAITER, RELEASE));
        }
        if (is_faulty(FLAG_SET_LATE)) {
            store(node + WAITING, 1, RELAXED);
        }
        if (!is_faulty(ENTERS_UNASKED)) {
            await_change(node + WAITING, 1, ordered(ENTERS_ACQUIRES, ACQUIRE));
        }
    }
    leave(node);
    free_plain(node + LIFE);
}

static void unlock_mcs(void) {
    if (load(NEXT, RELAXED) != UNKNOWN ||
        !replace_tail(FREE_WITHOUT_TAIL, HELD, FREE, ordered(UNLOCK_RELEASES, RELEASE))) {
        int node = use_node(address_in(NEXT));
        store(node + WAITING, 0, ordered(LETS_IN_RELEASES, RELEASE));
    }
}

static void add_one(void) {
    write_plain(NUMBER, read_plain(NUMBER) + 1);
    unlock_mcs();
}

static void section(int node) {
    lock_mcs(NODES + node * NODE_PLACES);
    add_one();
}

static void once(int thread) {
    section(thread);
}

static void twice(int thread) {
    section(2 * thread);
    section(2 * thread + 1);
}

static void one_tries(int thread) {
    if (thread > 0) {
        section(thread);
    } else if (try_lock_mcs()) {
        add_one();
    }
}

static void no_holder(void) {
    check(last_value(TAIL) == FREE, "the lock is held at the end");
    check(last_value(NEXT) == UNKNOWN, "a free lock has a successor");
}

enum { ONCE, TWICE, ONE_TRIES };

// Versions of clang-format differ on braces in macros.
// clang-format off
#define MODEL(title, threads, program)                                                             \
    { title, threads, program, no_holder, PLACES, {0}, NULL, 0, false, false }
// clang-format on

static const struct model models[] = {
    MODEL("mcs, one section each", 4, once),
    MODEL("mcs, two sections each", 2, twice),
    MODEL("mcs, one tries", 3, one_tries),
};

static const struct fault faults[] = {
    {"tryLock: relaxed instead of acquiring", TRY_ACQUIRES, RELAXED, TWICE},
    {"unlock: relaxed instead of releasing", UNLOCK_RELEASES, RELAXED, TWICE},
    {"lock: joins the line without acquiring", JOINS_RELAXED, RELEASE, ONCE},
    {"lock: joins the line without releasing", JOINS_RELAXED, ACQUIRE, ONCE},
    {"lock: tells the holder, relaxed", TELLS_HOLDER, RELAXED, ONCE},
    {"lock: tells the waiter before it, relaxed", TELLS_WAITER, RELAXED, ONCE},
    {"lock: enters without acquiring", ENTERS_ACQUIRES, RELAXED, ONCE},
    {"lock: enters unasked", ENTERS_UNASKED, RELAXED, ONCE},
    {"lock: its flag is set after it has joined", FLAG_SET_LATE, RELAXED, ONCE},
    {"leave: relaxed instead of releasing", LAST_RELEASES, RELAXED, ONCE},
    {"leave: does not compare the tail", LAST_WITHOUT_TAIL, RELEASE, ONCE},
    {"leave: forgets its successor", FORGETS_SUCCESSOR, RELAXED, ONCE},
    {"leave: `next` is cleared after the tail", NEXT_CLEARED_LATE, RELAXED, ONCE},
    {"unlock: does not compare the tail", FREE_WITHOUT_TAIL, RELEASE, ONCE},
    {"unlock: finds its successor without acquiring", FINDS_SUCCESSOR, RELAXED, ONCE},
    {"unlock: lets in without releasing", LETS_IN_RELEASES, RELAXED, ONCE},
};

int check_mcs(void) {
    return CHECK_MODELS();
}
