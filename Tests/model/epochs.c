// LatchkeySync/Support/Epochs.swift: no value is freed while it is read, and all are freed.
//
// Design: the same functions, statement by statement, with the names of its Design comment (R1 to
// R4, N1, N2, W1, W2, C1, C2). Guarantees of other code are assumed: the set of live threads does
// not change here, and the locks are locks of the checker. A value is a place in plain memory: a
// read that races with freeing it, or comes after that, is a finding. So is a replaced value that
// is not freed when all threads have ended.
//
// Length: the algorithm, its models and its faults are read side by side.
//
// The queue of jobs is the last thread, if the model has one: a servant, which sleeps until a job
// is due. In its model a collector looks once and takes nothing out, so that jobs become due with
// few threads.

#include "checker.h"
#include "models.h"

#include <stddef.h>

enum {
    CLOCK = FIRST_PLACE,
    NOTICE,
    COLLECTING,
    WRITING,
    HOLDING,
    HELD,
    JOB_DUE,
    NO_JOB,
    POINTERS,
    SLOTS = POINTERS + 2,
    VALUES = SLOTS + 3,
    PLACES = VALUES + 6
};
enum { IDLE, BUSY, ASKED };
enum { FENCING = 1, FENCED = 2, BOTH = FENCING | FENCED, ENTRY_UNIT = 4 };

// The first values of the two pointers.
enum { FIRST_VALUES = 0, NEW_VALUES = 2 };

// Later than any stamp or entry.
static const uint32_t never = 15;

// The parts of a model. A thread is a reader if its number is below `readers`.
struct variant {
    int readers;
    int writers;
    int reads;
    int writes;
    // Whether each writer has a pointer of its own.
    bool has_two_pointers;
    // Whether a value that a reader may hold is left alone, so that writers only look and free.
    bool leaves_held;
    // Whether each reader's last read never ends.
    bool stays;
    // After so many fenced reads, a reader frees all readers from fencing. 0: no membarrier(2).
    uint32_t fenced_reads_max;
    // The most looks of a collector, and the most values that it takes out; a job takes out all.
    int looks_max;
    int freed_max;
    // The number of jobs of the servant. 0: there is no servant, and no job may become due.
    int jobs;
};

static const struct variant *variant(void) {
    return setting();
}

enum {
    R1 = 1,
    R2,
    N1,
    ENTRY_FENCE,
    CLEARING,
    R3,
    R4,
    EXIT_FENCE,
    EXIT_NOTICE,
    W1,
    W2,
    NOTICE_LOAD,
    FENCE,
    NOTIFYING,
    FENCE_ENDED,
    NOW,
    C2,
    LOOKING,
    ENDING,
    ASKING,
    JOB_ASKED,
    JOB_BEGUN,
    NO_MEMBARRIER,
    FENCED_EARLY,
    NO_JOB_WHEN_ASKED,
    NO_JOB_FOR_REST,
    NO_ENTRY_ORDER,
    NO_EXIT_ORDER,
    NO_SECOND_LOOK,
    FREED_AT_STAMP,
    NO_CLOCK_LIMIT,
};

// The held values: four bits for each value's stamp, 0 for a value that is not held.
static void hold(uint32_t value, uint32_t stamp) {
    lock(HOLDING);
    write_plain(HELD, read_plain(HELD) | stamp << 4 * value);
    unlock(HOLDING);
}

// Adds the values below the limit to `taken`, a set, the oldest first, until it has `freed_max`.
// Returns the lowest stamp that remains.
static uint32_t take(uint32_t limit, int freed_max, uint32_t *taken) {
    lock(HOLDING);
    uint32_t held = read_plain(HELD);
    uint32_t kept = held;
    uint32_t first;
    for (;;) {
        int oldest = -1;
        first = never;
        for (int value = 0; value < PLACES - VALUES; value++) {
            uint32_t stamp = kept >> 4 * value & 15;
            if (stamp != 0 && stamp < first) {
                first = stamp;
                oldest = value;
            }
        }
        if (first >= limit || __builtin_popcount(*taken) == freed_max) {
            break;
        }
        *taken |= 1u << oldest;
        kept &= ~(15u << 4 * oldest);
    }
    if (kept != held) {
        write_plain(HELD, kept);
    }
    unlock(HOLDING);
    return first;
}

static uint32_t oldest_entry(void) {
    uint32_t oldest = never;
    for (int reader = 0; reader < variant()->readers; reader++) {
        uint32_t entry = load(SLOTS + reader, ordered(C2, SEQ_CST));
        oldest = entry != 0 && entry < oldest ? entry : oldest;
    }
    return oldest;
}

static void end_fence(uint32_t old) {
    if ((old & FENCED) != 0 || variant()->fenced_reads_max == 0) {
        return;
    }
    if (is_faulty(FENCED_EARLY) && (old & FENCING) == 0) {
        bitwise_or(NOTICE, FENCED, SEQ_CST);
    }
    if (!is_faulty(NO_MEMBARRIER)) {
        membarrier();
    }
    if ((old & FENCING) == 0 && !is_faulty(FENCED_EARLY)) {
        bitwise_or(NOTICE, FENCED, ordered(FENCE_ENDED, SEQ_CST));
    }
}

static void notify(uint32_t entry) {
    uint32_t word = load(NOTICE, RELAXED);
    while (!compare_exchange(NOTICE, word, entry * ENTRY_UNIT | (word & FENCED) | FENCING,
                             ordered(NOTIFYING, SEQ_CST), RELAXED)) {
        word = load(NOTICE, RELAXED);
    }
    end_fence(word);
}

static void fence_of_those_who_look(void) {
    if ((load(NOTICE, ordered(NOTICE_LOAD, SEQ_CST)) & FENCED) == 0) {
        end_fence(bitwise_or(NOTICE, FENCING, ordered(FENCE, SEQ_CST)));
    }
}

// Returns whether more values could be taken.
static bool take_unread(int freed_max, uint32_t *taken) {
    uint32_t awaited = load(NOTICE, ordered(NOTICE_LOAD, SEQ_CST)) / ENTRY_UNIT;
    for (;;) {
        uint32_t now = load(CLOCK, ordered(NOW, ACQUIRE));
        fence_of_those_who_look();  // C1
        uint32_t oldest = oldest_entry();
        uint32_t limit = oldest < now || is_faulty(NO_CLOCK_LIMIT) ? oldest : now;
        uint32_t first = take(limit, freed_max, taken);
        if (first < limit) {
            return true;
        }
        uint32_t next = first < now ? oldest : 0;
        if (next == awaited) {
            return false;
        }
        notify(next);
        if (next == 0 || is_faulty(NO_SECOND_LOOK)) {
            return false;
        }
        awaited = next;
    }
}

static void ask_later(void) {
    if (exchange(JOB_DUE, 1, ordered(JOB_ASKED, ACQ_REL)) == 0) {
        check(variant()->jobs > 0, "a job is due where none is expected");
        unlock(NO_JOB);
    }
}

static void ask(int freed_max) {
    uint32_t taken = 0;
    int looks = 0;
    while (exchange(COLLECTING, ASKED, ordered(ASKING, ACQ_REL)) == IDLE) {
        exchange(COLLECTING, BUSY, ordered(LOOKING, ACQ_REL));
        bool is_more = take_unread(freed_max, &taken);
        bool is_asked = exchange(COLLECTING, IDLE, ordered(ENDING, ACQ_REL)) == ASKED;
        if (!is_more && !is_asked) {
            break;
        }
        looks++;
        if (is_more || looks == variant()->looks_max) {
            if (!is_faulty(is_more ? NO_JOB_FOR_REST : NO_JOB_WHEN_ASKED)) {
                ask_later();
            }
            break;
        }
    }
    for (int value = 0; value < PLACES - VALUES; value++) {
        if ((taken >> value & 1) != 0) {
            free_plain(VALUES + value);
        }
    }
}

static void discard(uint32_t value, uint32_t stamp) {
    fence_of_those_who_look();  // C1
    uint32_t oldest = oldest_entry();
    if (stamp < oldest || (is_faulty(FREED_AT_STAMP) && stamp == oldest)) {
        free_plain(VALUES + (int)value);
    } else if (!variant()->leaves_held) {
        hold(value, stamp);
        ask(variant()->freed_max);
    }
}

static void write_value(int pointer, uint32_t value) {
    write_plain(VALUES + (int)value, 1);
    if (variant()->writers > 1) {
        lock(WRITING);
    }
    uint32_t old = exchange(POINTERS + pointer, value, ordered(W1, SEQ_CST));
    uint32_t stamp = add(CLOCK, 1, ordered(W2, SEQ_CST));
    if (variant()->writers > 1) {
        unlock(WRITING);
    }
    discard(old, stamp);
}

// The reader's half of the fence.
static void readers_fence(int slot, uint32_t entry, uint32_t *fenced_reads) {
    exchange(slot, entry, ordered(ENTRY_FENCE, SEQ_CST));
    if (variant()->fenced_reads_max == 0) {
        return;
    }
    *fenced_reads = (*fenced_reads + 1) % variant()->fenced_reads_max;
    if (*fenced_reads == 0) {
        uint32_t word = load(NOTICE, RELAXED);
        if ((word & FENCED) != 0) {
            compare_exchange(NOTICE, word, word & ~(uint32_t)(FENCING | FENCED),
                             ordered(CLEARING, SEQ_CST), RELAXED);
        }
    }
}

static void leave_slowly(int slot, uint32_t entry) {
    uint32_t word = load(NOTICE, RELAXED);
    if ((word & FENCING) != 0) {
        exchange(slot, 0, ordered(EXIT_FENCE, SEQ_CST));
        word = load(NOTICE, ordered(EXIT_NOTICE, SEQ_CST));
    }
    if (entry <= word / ENTRY_UNIT) {
        ask(variant()->freed_max);
    }
}

static void read_value(int pointer, int slot, uint32_t *fenced_reads, bool stays) {
    uint32_t early = 0;
    if (is_faulty(NO_ENTRY_ORDER)) {
        early = load(POINTERS + pointer, SEQ_CST);
    }
    uint32_t entry = load(CLOCK, ordered(R1, ACQUIRE));
    // Releases for the read before this one: a thread that finds this entry knows that that read
    // has ended. The release of its R4 does not cover a relaxed store of the same thread.
    store(slot, entry, ordered(R2, RELEASE));
    if ((load(NOTICE, ordered(N1, ACQUIRE)) & FENCING) != 0) {
        readers_fence(slot, entry, fenced_reads);
    }
    uint32_t value =
        is_faulty(NO_ENTRY_ORDER) ? early : load(POINTERS + pointer, ordered(R3, SEQ_CST));
    read_plain(VALUES + (int)value);
    if (stays) {
        return;
    }
    uint32_t notice = 0;
    if (is_faulty(NO_EXIT_ORDER)) {
        notice = load(NOTICE, RELAXED);
    }
    store(slot, 0, ordered(R4, RELEASE));
    if (!is_faulty(NO_EXIT_ORDER)) {
        notice = load(NOTICE, RELAXED);  // N2
    }
    if (notice != 0) {
        leave_slowly(slot, entry);
    }
}

static void program(int thread) {
    if (thread < variant()->readers) {
        uint32_t fenced_reads = 0;
        for (int time = 0; time < variant()->reads; time++) {
            int pointer = variant()->has_two_pointers ? (thread + time) % 2 : 0;
            read_value(pointer, SLOTS + thread, &fenced_reads,
                       variant()->stays && time == variant()->reads - 1);
        }
        return;
    }
    int writer = thread - variant()->readers;
    if (writer == variant()->writers) {
        for (int job = 0; job < variant()->jobs; job++) {
            lock(NO_JOB);
            exchange(JOB_DUE, 0, ordered(JOB_BEGUN, ACQ_REL));
            ask(PLACES - VALUES);
        }
        return;
    }
    for (int time = 0; time < variant()->writes; time++) {
        write_value(variant()->has_two_pointers ? writer : 0,
                    NEW_VALUES + (uint32_t)(writer * variant()->writes + time));
    }
}

// Each value without a pointer is freed, and no other.
static void all_is_freed(void) {
    if (variant()->stays) {
        return;
    }
    check(last_value(JOB_DUE) == 0, "a job is left");
    check(last_value(HELD) == 0, "a value is held at the end");
    int values = NEW_VALUES + variant()->writers * variant()->writes;
    for (uint32_t value = 0; value < (uint32_t)values; value++) {
        bool is_current = last_value(POINTERS) == value || last_value(POINTERS + 1) == value;
        check(is_freed(VALUES + (int)value) == !is_current, "a value is not freed");
    }
}

// Versions of clang-format differ on braces in macros.
// clang-format off
#define MODEL(title, thread_count, notice, interrupted, is_cut, reader_count, writer_count,        \
              read_count, write_count, job_count, ...)                                             \
    {                                                                                              \
        .name = "snapshot, " title, .threads = thread_count, .program = program,                   \
        .finally = all_is_freed, .places = PLACES,                                                 \
        .initial = {[CLOCK] = 1, [NOTICE] = (notice), [NO_JOB] = 1, [POINTERS + 1] = 1},           \
        .setting = &(const struct variant){.readers = reader_count,                                \
                                           .writers = writer_count,                                \
                                           .reads = read_count,                                    \
                                           .writes = write_count,                                  \
                                           .jobs = job_count,                                      \
                                           __VA_ARGS__},                                           \
        .interruptible = interrupted, .has_servant = (job_count) > 0, .is_long = is_cut            \
    }
// clang-format on
#define AS_BUILT .looks_max = 2, .freed_max = 6
#define LITTLE .looks_max = 1, .freed_max = 0

enum {
    FENCES,
    FENCES_TWO_READS,
    FENCES_TWO_WRITES,
    FENCES_TWO_READERS,
    FENCES_TWO_WRITERS,
    FENCES_JOB,
    BARRIER,
    BARRIER_AFTER_FENCES,
    BARRIER_TWO_LOOK,
    BARRIER_TWO_READS,
    BARRIER_TWO_WRITERS,
    FENCES_TWO_VALUES,
    BARRIER_TWO_READERS,
};

// When explored completely, two of the long models also hold: that of two writers that look has
// 19,992,002 states, that of two reads 2,009,372.
static const struct model models[] = {
    MODEL("readers fence", 2, BOTH, 0, false, 1, 1, 1, 1, 0, AS_BUILT),
    MODEL("readers fence, two reads", 2, BOTH, 0, false, 1, 1, 2, 1, 0, AS_BUILT),
    MODEL("readers fence, two writes", 2, BOTH, 0, false, 1, 1, 1, 2, 0, AS_BUILT),
    MODEL("readers fence, two readers", 3, BOTH, 0, false, 2, 1, 1, 1, 0, AS_BUILT, .stays = true),
    MODEL("readers fence, two writers", 3, BOTH, 0, false, 1, 2, 1, 1, 0, AS_BUILT, .stays = true),
    MODEL("readers fence, jobs", 3, BOTH, 0, false, 1, 1, 1, 1, 3, LITTLE),
    MODEL("membarrier", 2, 0, 1, false, 1, 1, 1, 1, 0, AS_BUILT, .fenced_reads_max = 1),
    MODEL("membarrier after fences", 2, BOTH, 1, false, 1, 1, 1, 1, 0, AS_BUILT,
          .fenced_reads_max = 1),
    MODEL("membarrier, two writers that look", 3, BOTH, 1, true, 1, 2, 2, 1, 0, AS_BUILT,
          .fenced_reads_max = 1, .stays = true, .leaves_held = true),
    MODEL("membarrier, two reads", 2, BOTH, 1, true, 1, 1, 2, 1, 0, AS_BUILT, .fenced_reads_max = 1,
          .stays = true),
    MODEL("membarrier, two writers", 3, 0, 1, true, 1, 2, 1, 1, 0, AS_BUILT, .fenced_reads_max = 1,
          .stays = true),
    MODEL("readers fence, two values", 3, BOTH, 0, true, 1, 2, 2, 1, 0, AS_BUILT, .stays = true,
          .has_two_pointers = true),
    MODEL("membarrier, two readers", 3, BOTH, 2, true, 2, 1, 1, 1, 0, AS_BUILT,
          .fenced_reads_max = 1, .stays = true),
};

// As far as these models show, some orders could be weaker: W2, of which a reader needs only the
// release and a writer nothing more; C1's bit, since the thread that sets it calls membarrier(2);
// the bit after that, since membarrier(2) ends with a full fence of its caller; an ask that need
// not acquire, since the exchange after it does; the end of a look, since a collector gets all that
// it must know of the one before with the next one's words and the lock of the held values; and the
// collector's clock, since it reads the notice after that. The fault of a reader that clears only
// one bit needs three reads and three writes, which are too many to explore.
static const struct fault faults[] = {
    {"R1: relaxed", R1, RELAXED, FENCES},
    {"R2: relaxed", R2, RELAXED, BARRIER_TWO_READS},
    {"N1: relaxed", N1, RELAXED, BARRIER_TWO_READERS},
    {"the exchange after N1: acquiring and releasing", ENTRY_FENCE, ACQ_REL, FENCES},
    {"the clearing of the bits: releasing", CLEARING, RELEASE, BARRIER_TWO_READS},
    {"R3: acquiring", R3, ACQUIRE, FENCES},
    {"R3: relaxed", R3, RELAXED, BARRIER},
    {"R4: relaxed", R4, RELAXED, BARRIER},
    {"the exchange after N2: acquiring and releasing", EXIT_FENCE, ACQ_REL, FENCES},
    {"the notice after that: acquiring", EXIT_NOTICE, ACQUIRE, FENCES},
    {"W1: acquiring and releasing", W1, ACQ_REL, FENCES},
    {"W1: releasing", W1, RELEASE, FENCES},
    {"W1: relaxed", W1, RELAXED, BARRIER},
    {"W2: acquiring and releasing", W2, ACQ_REL, NOWHERE},
    {"W2: relaxed", W2, RELAXED, BARRIER},
    {"C1's notice: acquiring", NOTICE_LOAD, ACQUIRE, BARRIER_TWO_READS},
    {"C1's bit: acquiring and releasing", FENCE, ACQ_REL, NOWHERE},
    {"the bit after membarrier: relaxed", FENCE_ENDED, RELAXED, NOWHERE},
    {"notify: acquiring and releasing", NOTIFYING, ACQ_REL, FENCES},
    {"the collector's clock: relaxed", NOW, RELAXED, NOWHERE},
    {"C2: acquiring", C2, ACQUIRE, FENCES},
    {"C2: relaxed", C2, RELAXED, FENCES},
    {"a look: relaxed", LOOKING, RELAXED, FENCES_TWO_WRITES},
    {"the end of a look: relaxed", ENDING, RELAXED, NOWHERE},
    {"ask: relaxed", ASKING, RELAXED, BARRIER},
    {"ask: releasing", ASKING, RELEASE, NOWHERE},
    {"a job asked for: relaxed", JOB_ASKED, RELAXED, FENCES_JOB},
    {"a job begun: relaxed", JOB_BEGUN, RELAXED, FENCES_JOB},
    {"no membarrier", NO_MEMBARRIER, RELAXED, BARRIER},
    {"the second bit before membarrier", FENCED_EARLY, RELAXED, BARRIER_TWO_WRITERS},
    {"no job after the last look", NO_JOB_WHEN_ASKED, RELAXED, FENCES_JOB},
    {"no job for the rest", NO_JOB_FOR_REST, RELAXED, FENCES_JOB},
    {"R3 before R2", NO_ENTRY_ORDER, RELAXED, BARRIER},
    {"N2 before R4", NO_EXIT_ORDER, RELAXED, BARRIER},
    {"no second look after notify", NO_SECOND_LOOK, RELAXED, FENCES},
    {"freed at the stamp", FREED_AT_STAMP, RELAXED, FENCES},
    {"freed above the clock", NO_CLOCK_LIMIT, RELAXED, FENCES_TWO_VALUES},
};

int check_epochs(void) {
    return CHECK_MODELS();
}
