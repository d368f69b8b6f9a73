// LatchkeySync/RawLocks/ConditionLine.swift: no wake-up is lost, and no condition is asked after
// its end.
//
// Design: the same functions as there and in AdaptiveLock+Waiting.swift, statement by statement.
// Both locks are locks of the checker. The line is a set, asked from the lowest thread on: safety
// does not depend on the order. A deadline passes at once: the thread does not sleep, and its try
// comes at any moment before or after it is chosen. The setting tells which threads are tasks of
// one executor: they are a group of the line, and so are the threads. A condition is a place in
// plain memory that ends with the wait, so that asking it too late is a finding.

#include "checker.h"
#include "models.h"

#include <stddef.h>

enum {
    LOCK = FIRST_PLACE,
    LINE,
    AWAITED,
    ITEMS,
    IS_TOLD,
    IN_LINE,
    CHOSEN,
    EXECUTOR,
    CONDITIONS,
    WOKEN = CONDITIONS + THREADS_MAX,
    PLACES = WOKEN + THREADS_MAX
};

enum {
    NO_SUCCESSOR = 1,
    NOT_COUNTED_ON,
    JOINS_UNNOTED,
    ARRIVES_UNNOTED,
    LEAVES_UNLOCKED,
    STAYS_IN_LINE,
    STAYS_CHOSEN,
    WAKES_NONE,
    SLEEPS_UNSEEN,
    ONE_GROUP,
};

// The condition of a thread.
enum condition { AN_ITEM = 1, A_WORD };

static uint32_t bit(int thread) {
    return UINT32_C(1) << thread;
}

static bool holds(uint32_t condition) {
    return read_plain(condition == AN_ITEM ? ITEMS : IS_TOLD) > 0;
}

static uint32_t tasks(void) {
    const uint32_t *tasks = setting();
    return tasks == NULL ? 0 : *tasks;
}

static uint32_t group_of(int thread) {
    return (tasks() & bit(thread)) != 0 ? tasks() : ~tasks();
}

// ConditionGroup.isToBeAsked
static bool is_asked(uint32_t group) {
    if (is_faulty(ONE_GROUP)) {
        return read_plain(CHOSEN) == 0 && read_plain(IN_LINE) != 0;
    }
    return (read_plain(IN_LINE) & group) != 0 &&
           (group == tasks() || (read_plain(CHOSEN) & group) == 0);
}

static bool is_to_be_asked(void) {
    return is_asked(~tasks()) || (tasks() != 0 && is_asked(tasks()));
}

// The last part of AdaptiveLock.change().
static void note_line(void) {
    store(AWAITED, is_to_be_asked() ? 1 : 0, RELAXED);
}

static void choose_thread(int thread) {
    write_plain(IN_LINE, read_plain(IN_LINE) & ~bit(thread));
    write_plain(CHOSEN, read_plain(CHOSEN) | bit(thread));
}

static void wake(int thread) {
    store(WOKEN + thread, 1, RELAXED);
    if (!is_faulty(WAKES_NONE)) {
        futex_wake(WOKEN + thread);
    }
}

// The first thread of a group whose condition holds; -1 if there is none.
static int choose_of(uint32_t group) {
    if (!is_asked(group)) {
        return -1;
    }
    for (int thread = 0; thread < THREADS_MAX; thread++) {
        if ((read_plain(IN_LINE) & group & bit(thread)) != 0 &&
            holds(read_plain(CONDITIONS + thread))) {
            choose_thread(thread);
            return thread;
        }
    }
    return -1;
}

static void unlock_changed(void) {
    if (load(AWAITED, RELAXED) == 0) {
        unlock(LOCK);
        return;
    }
    lock(LINE);
    int task = tasks() == 0 ? -1 : choose_of(tasks());
    int thread = choose_of(~tasks());
    note_line();
    unlock(LINE);
    unlock(LOCK);
    if (task >= 0) {
        wake(task);
    }
    if (thread >= 0) {
        wake(thread);
    }
}

static void join(int thread) {
    lock(LINE);
    write_plain(IN_LINE, read_plain(IN_LINE) | bit(thread));
    store(WOKEN + thread, 0, RELAXED);
    if (!is_faulty(JOINS_UNNOTED)) {
        note_line();
    }
    unlock(LINE);
}

// Ends the wait; true if the thread had been chosen. The caller holds the lock of the line.
static bool end_wait(int thread) {
    bool was_chosen = (read_plain(CHOSEN) & bit(thread)) != 0;
    if (was_chosen) {
        if (!is_faulty(STAYS_CHOSEN)) {
            write_plain(CHOSEN, read_plain(CHOSEN) & ~bit(thread));
        }
    } else if (!is_faulty(STAYS_IN_LINE)) {
        write_plain(IN_LINE, read_plain(IN_LINE) & ~bit(thread));
    }
    return was_chosen;
}

static void abandon(int thread) {
    int successor = -1;
    if (!is_faulty(LEAVES_UNLOCKED)) {
        lock(LINE);
    }
    uint32_t group = group_of(thread);
    if (end_wait(thread) && is_asked(group) && !is_faulty(NO_SUCCESSOR)) {
        successor = __builtin_ctz(read_plain(IN_LINE) & group);
        choose_thread(successor);
    }
    if (!is_faulty(LEAVES_UNLOCKED)) {
        unlock(LINE);
    }
    if (successor >= 0) {
        wake(successor);
    }
}

static void sleep_until_woken(int thread) {
    if (is_faulty(SLEEPS_UNSEEN)) {
        futex_wait(WOKEN + thread, load(WOKEN + thread, RELAXED));
        return;
    }
    while (load(WOKEN + thread, RELAXED) == 0) {
        futex_wait(WOKEN + thread, 0);
    }
}

// The executor of a task is busy until a thread of the model releases it.
static void wait_for_executor(void) {
    while (load(EXECUTOR, ACQUIRE) == 0) {
        futex_wait(EXECUTOR, 0);
    }
}

// AdaptiveLock.wait(as:before:)
static bool wait_in_line(int thread, enum condition condition, bool is_impatient) {
    bool is_counted_on = false;
    bool is_over = false;
    do {
        if (!is_over) {
            join(thread);
        }
        if (is_counted_on && !is_faulty(NOT_COUNTED_ON)) {
            unlock_changed();
        } else {
            unlock(LOCK);
        }
        if (is_over) {
            return false;
        }
        if (is_impatient) {
            is_over = true;
            if (!try_lock(LOCK)) {
                abandon(thread);
                return false;
            }
        } else {
            sleep_until_woken(thread);
            if ((tasks() & bit(thread)) != 0) {
                wait_for_executor();
            }
            lock(LOCK);
        }
        lock(LINE);
        is_counted_on = end_wait(thread);
        if (!is_faulty(ARRIVES_UNNOTED)) {
            note_line();
        }
        unlock(LINE);
    } while (!holds(condition));
    return true;
}

// Takes the lock when the condition holds; false if the thread gave up.
static bool enter(int thread, enum condition condition, bool is_impatient) {
    lock(LOCK);
    if (holds(condition)) {
        return true;
    }
    write_plain(CONDITIONS + thread, condition);
    bool is_held = wait_in_line(thread, condition, is_impatient);
    free_plain(CONDITIONS + thread);
    return is_held;
}

static void set_items(uint32_t count) {
    lock(LOCK);
    write_plain(ITEMS, count);
    unlock_changed();
}

static void take_item(int thread) {
    enter(thread, AN_ITEM, false);
    write_plain(ITEMS, read_plain(ITEMS) - 1);
    unlock_changed();
}

static void add_item(void) {
    lock(LOCK);
    write_plain(ITEMS, read_plain(ITEMS) + 1);
    unlock_changed();
}

// An impatient thread waits before a patient one, and takes nothing.
static void one_gives_up(int thread) {
    if (thread == 0) {
        if (enter(thread, AN_ITEM, true)) {
            unlock_changed();
        }
    } else if (thread == 1) {
        take_item(thread);
    } else {
        add_item();
    }
}

static void two_consumers(int thread) {
    if (thread < 2) {
        take_item(thread);
    } else {
        add_item();
        add_item();
    }
}

// The item is taken away again, with a word for which the second thread waits. That thread brings
// the item back.
static void one_is_woken_in_vain(int thread) {
    if (thread == 0) {
        take_item(thread);
    } else if (thread == 1) {
        enter(thread, A_WORD, false);
        write_plain(ITEMS, 1);
        unlock_changed();
    } else {
        set_items(1);
        lock(LOCK);
        write_plain(ITEMS, 0);
        write_plain(IS_TOLD, 1);
        unlock_changed();
    }
}

// The same, with a first thread that does not wait for long.
static void one_gives_up_in_vain(int thread) {
    if (thread > 0) {
        one_is_woken_in_vain(thread);
    } else if (enter(thread, AN_ITEM, true)) {
        unlock_changed();
    }
}

// A task needs an executor that a thread of the same line keeps until it has an item.
static void task_is_late(int thread) {
    if (thread == 2) {
        set_items(2);
        return;
    }
    take_item(thread);
    if (thread == 1) {
        store(EXECUTOR, 1, RELEASE);
        futex_wake(EXECUTOR);
    }
}

static const uint32_t first_is_task = 1;

static void line_is_empty(void) {
    check(last_value(IN_LINE) == 0 && last_value(CHOSEN) == 0, "a thread is left in the line");
}

enum { ONE_GIVES_UP, TWO_CONSUMERS, IN_VAIN, GIVES_UP_IN_VAIN, LATE };

// Versions of clang-format differ on braces in macros.
// clang-format off
#define MODEL(title, program)                                                                      \
    { title, 3, program, line_is_empty, PLACES, {0}, NULL, 0, false, false }

#define TASKS_MODEL(title, program)                                                                \
    { title, 3, program, line_is_empty, PLACES, {0}, &first_is_task, 0, false, false }
// clang-format on

static const struct model models[] = {
    MODEL("conditions, one gives up", one_gives_up),
    MODEL("conditions, two consumers", two_consumers),
    MODEL("conditions, one is woken in vain", one_is_woken_in_vain),
    MODEL("conditions, one gives up in vain", one_gives_up_in_vain),
    TASKS_MODEL("conditions, a task is late", task_is_late),
};

static const struct fault faults[] = {
    {"abandon: no successor", NO_SUCCESSOR, RELAXED, ONE_GIVES_UP},
    {"abandon: without the line's lock", LEAVES_UNLOCKED, RELAXED, ONE_GIVES_UP},
    {"abandon: stays in the line", STAYS_IN_LINE, RELAXED, ONE_GIVES_UP},
    {"wait: woken in vain, and chooses no other", NOT_COUNTED_ON, RELAXED, IN_VAIN},
    {"wait: gives up in vain, and chooses no other", NOT_COUNTED_ON, RELAXED, GIVES_UP_IN_VAIN},
    {"wait: joins, and does not say so", JOINS_UNNOTED, RELAXED, ONE_GIVES_UP},
    {"wait: has the lock, and does not say so", ARRIVES_UNNOTED, RELAXED, TWO_CONSUMERS},
    {"wait: has the lock, and counts as chosen", STAYS_CHOSEN, RELAXED, TWO_CONSUMERS},
    {"wake: no system call", WAKES_NONE, RELAXED, TWO_CONSUMERS},
    {"sleep: compares with what the word is now", SLEEPS_UNSEEN, RELAXED, TWO_CONSUMERS},
    {"choose: a task that is late counts as a thread", ONE_GROUP, RELAXED, LATE},
};

int check_conditions(void) {
    return CHECK_MODELS();
}
