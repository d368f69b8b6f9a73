// LatchkeySync/RawLocks/AdaptiveLock.swift and AdaptiveLock+Sleeping.swift: the lock excludes, and
// wakes each sleeper.
//
// Design: the same functions, statement by statement, without parts that only take time (a holder
// that stays away) and without deadlines. A waiter reads the word `looks` times, then asks `asks`
// times, then sleeps, and asks as often after each wake-up. Under the lock each thread adds one to
// a plain number: two at once are a data race, and so is an addition without the one before.

#include "checker.h"
#include "models.h"

#include <stddef.h>

enum { WORD = FIRST_PLACE, NUMBER, PLACES };
enum { UNLOCKED, LOCKED, CONTENDED, WANTED, STARVING, GRANTED };

enum {
    TRY_ACQUIRES = 1,
    SLEPT_ACQUIRES,
    UNLOCK_RELEASES,
    TAKES_AS_LOCKED,
    WAKES_NONE,
    SLEEPS_UNSEEN,
    SPINS_INTO_LOCK,
    ASKING_ACQUIRES,
    ASKS_OVER_SLEEPERS,
    ASKS_AWAKE,
    LOSES_GRANTS,
    KEEPS_GRANTS,
    WAKES_ONCE,
};

static bool try_lock_word(void) {
    return compare_exchange(WORD, UNLOCKED, LOCKED, ordered(TRY_ACQUIRES, ACQUIRE), RELAXED);
}

static bool ask(int asks, uint32_t taken) {
    for (int round = 0; round < asks; round++) {
        uint32_t word = load(WORD, RELAXED);
        if (word == UNLOCKED) {
            if (compare_exchange(WORD, UNLOCKED, taken, ordered(ASKING_ACQUIRES, ACQUIRE),
                                 RELAXED)) {
                return true;
            }
        } else if (word == CONTENDED || word > WANTED) {
            if (!is_faulty(ASKS_OVER_SLEEPERS)) {
                return false;
            }
            compare_exchange(WORD, CONTENDED, WANTED, RELAXED, RELAXED);
        } else if (word == LOCKED) {
            compare_exchange(WORD, LOCKED, WANTED, RELAXED, RELAXED);
        }
    }
    return false;
}

// In the models with a setting, each thread that is woken is one whose time is up.
static const bool starves = true;

static void sleep_for_lock(int asks) {
    bool has_slept = false;
    for (;;) {
        uint32_t expected = load(WORD, RELAXED);
        if (has_slept || expected != GRANTED) {
            bool is_starving = (has_slept && setting() != NULL) || expected == STARVING;
            expected = is_starving ? STARVING : CONTENDED;
            uint32_t word = exchange(WORD, expected, ordered(SLEPT_ACQUIRES, ACQUIRE));
            if (word == UNLOCKED || (word == GRANTED && !is_faulty(LOSES_GRANTS))) {
                return;
            }
        }
        futex_wait(WORD, is_faulty(SLEEPS_UNSEEN) ? load(WORD, RELAXED) : expected);
        has_slept = true;
        if (ask(asks, is_faulty(ASKS_AWAKE) ? LOCKED : CONTENDED)) {
            return;
        }
    }
}

static void lock_slowly(int looks, int asks) {
    for (int round = 0; round < looks; round++) {
        if (load(WORD, RELAXED) == UNLOCKED && (is_faulty(SPINS_INTO_LOCK) || try_lock_word())) {
            return;
        }
    }
    if (ask(asks, LOCKED)) {
        return;
    }
    if (is_faulty(TAKES_AS_LOCKED)) {
        // As if no other thread could sleep.
        while (!try_lock_word()) {
            if (exchange(WORD, CONTENDED, ACQUIRE) == UNLOCKED) {
                return;
            }
            futex_wait(WORD, CONTENDED);
        }
        return;
    }
    sleep_for_lock(asks);
}

static void hand_over(void) {
    bool is_granted = compare_exchange(WORD, UNLOCKED, GRANTED, RELAXED, RELAXED);
    if (futex_wake(WORD) > 0 || !is_granted || is_faulty(KEEPS_GRANTS) ||
        !compare_exchange(WORD, GRANTED, UNLOCKED, RELAXED, RELAXED)) {
        return;
    }
    if (!is_faulty(WAKES_ONCE)) {
        futex_wake(WORD);
    }
}

static void unlock_word(void) {
    uint32_t word = exchange(WORD, UNLOCKED, ordered(UNLOCK_RELEASES, RELEASE));
    if (is_faulty(WAKES_NONE)) {
        return;
    }
    if (word == STARVING) {
        hand_over();
    } else if (word == CONTENDED) {
        futex_wake(WORD);
    }
}

static void section(int looks, int asks) {
    if (!try_lock_word()) {
        lock_slowly(looks, asks);
    }
    write_plain(NUMBER, read_plain(NUMBER) + 1);
    unlock_word();
}

static void once_at_once(int thread) {
    (void)thread;
    section(0, 0);
}

static void once_after_a_look(int thread) {
    (void)thread;
    section(1, 0);
}

static void once_asking(int thread) {
    (void)thread;
    section(0, 1);
}

static void one_asks_twice(int thread) {
    section(0, thread > 0 ? 0 : 2);
}

static void twice(int thread) {
    (void)thread;
    section(1, 1);
    section(1, 1);
}

// A holder comes back while the other thread is being woken.
static void twice_at_once(int thread) {
    (void)thread;
    section(0, 0);
    section(0, 0);
}

static void tries(int thread) {
    if (thread > 0) {
        section(0, 0);
    } else if (try_lock_word()) {
        write_plain(NUMBER, read_plain(NUMBER) + 1);
        unlock_word();
    }
}

static void none_holds(void) {
    check(last_value(WORD) == UNLOCKED, "the lock is held at the end");
}

enum { TWICE, AT_ONCE, ONE_TRIES, AFTER_A_LOOK, ASKING, ONE_ASKS, HANDED_OVER, ONE_OF_TWO };

// Versions of clang-format differ on braces in macros.
// clang-format off
#define MODEL(title, threads, program)                                                             \
    { title, threads, program, none_holds, PLACES, {0}, NULL, 0, false, false }

#define STARVING_MODEL(title, threads, program)                                                    \
    { title, threads, program, none_holds, PLACES, {0}, &starves, 0, false, false }
// clang-format on

static const struct model models[] = {
    MODEL("adaptive, two sections each", 2, twice),
    MODEL("adaptive, sleeping at once", 3, once_at_once),
    MODEL("adaptive, one tries", 3, tries),
    MODEL("adaptive, sleeping after one look", 3, once_after_a_look),
    MODEL("adaptive, asking once", 3, once_asking),
    MODEL("adaptive, one asks twice", 3, one_asks_twice),
    STARVING_MODEL("adaptive, handed over", 2, twice_at_once),
    STARVING_MODEL("adaptive, handed over to one of two", 3, once_at_once),
};

static const struct fault faults[] = {
    {"tryLock: relaxed instead of acquiring", TRY_ACQUIRES, RELAXED, TWICE},
    {"lock after sleep: relaxed instead of acquiring", SLEPT_ACQUIRES, RELAXED, TWICE},
    {"unlock: relaxed instead of releasing", UNLOCK_RELEASES, RELAXED, TWICE},
    {"lock after sleep: taken as `locked`", TAKES_AS_LOCKED, RELAXED, AT_ONCE},
    {"unlock: no wake-up", WAKES_NONE, RELAXED, ONE_TRIES},
    {"futex_wait: compares with what the word is now", SLEEPS_UNSEEN, RELAXED, AT_ONCE},
    {"a look without tryLock", SPINS_INTO_LOCK, RELAXED, AFTER_A_LOOK},
    {"asks: relaxed instead of acquiring", ASKING_ACQUIRES, RELAXED, TWICE},
    {"asks: in the place of a sleeper's mark", ASKS_OVER_SLEEPERS, RELAXED, ONE_ASKS},
    {"asks after sleep: taken as `locked`", ASKS_AWAKE, RELAXED, ASKING},
    {"lock after sleep: a grant is lost", LOSES_GRANTS, RELAXED, ONE_OF_TWO},
    {"hands over: a grant that none takes stays", KEEPS_GRANTS, RELAXED, ONE_OF_TWO},
    {"hands over: none is woken after the grant", WAKES_ONCE, RELAXED, ONE_OF_TWO},
};

int check_adaptive(void) {
    return CHECK_MODELS();
}
