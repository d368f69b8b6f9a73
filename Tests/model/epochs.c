// Sources/LatchkeySync/Support/Epochs.swift: nothing is freed while it is read, and all is freed.
//
// Design: the same functions, statement by statement, with the names of its Design comment (R1 to
// R4, N1, N2, W1, W2, C1, C2). Left out is what other code answers for: the set of threads that
// live does not change here, and the locks are locks. A value is a place in plain memory: a read
// that races with freeing it, or comes after that, is a finding. So is a replaced value that is not
// freed when all threads have ended.

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
    POINTERS,
    SLOTS = POINTERS + 2,
    VALUES = SLOTS + 3,
    PLACES = VALUES + 6
};
enum { IDLE, BUSY, ASKED };
enum { FENCING = 1 };

// The first values of the two pointers.
enum { FIRST_VALUES = 0, NEW_VALUES = 2 };

// Later than any stamp or entry.
static const uint32_t never = 15;

// What a model is made of. A thread is a reader if its number is below `readers`.
struct variant {
    int readers;
    int writers;
    int reads;
    int writes;
    // Whether each writer has a pointer of its own.
    bool has_two_pointers;
    // Whether each reader's last read never ends.
    bool stays;
    // After so many fenced reads a reader frees all readers from fencing. 0: no membarrier(2).
    uint32_t fenced_reads_max;
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
    NOTIFYING,
    NOW,
    C2,
    STARTING,
    ENDING,
    AGAIN,
    ASKING,
    NO_MEMBARRIER,
    NO_ENTRY_ORDER,
    NO_EXIT_ORDER,
    NO_SECOND_LOOK,
    FREED_AT_STAMP,
    NO_CLOCK_LIMIT,
};

// The held values: four bits for each value's stamp, 0 for one that is not held.
static void hold(uint32_t value, uint32_t stamp) {
    lock(HOLDING);
    write_plain(HELD, read_plain(HELD) | stamp << 4 * value);
    unlock(HOLDING);
}

// The values that were below the limit, as a set; `first` is the lowest stamp that remains.
static uint32_t take(uint32_t limit, uint32_t *first) {
    lock(HOLDING);
    uint32_t held = read_plain(HELD);
    uint32_t kept = held;
    uint32_t taken = 0;
    *first = never;
    for (int value = 0; value < PLACES - VALUES; value++) {
        uint32_t stamp = held >> 4 * value & 15;
        if (stamp != 0 && stamp < limit) {
            taken |= 1u << value;
            kept &= ~(15u << 4 * value);
        } else if (stamp != 0 && stamp < *first) {
            *first = stamp;
        }
    }
    if (kept != held) {
        write_plain(HELD, kept);
    }
    unlock(HOLDING);
    return taken;
}

static uint32_t oldest_entry(void) {
    uint32_t oldest = never;
    for (int reader = 0; reader < variant()->readers; reader++) {
        uint32_t entry = load(SLOTS + reader, ordered(C2, SEQ_CST));
        oldest = entry != 0 && entry < oldest ? entry : oldest;
    }
    return oldest;
}

static void notify(uint32_t entry) {
    uint32_t old = exchange(NOTICE, 2 * entry | FENCING, ordered(NOTIFYING, SEQ_CST));
    if ((old & FENCING) == 0 && variant()->fenced_reads_max > 0 && !is_faulty(NO_MEMBARRIER)) {
        membarrier();
    }
}

static void collectors_fence(void) {
    uint32_t word = load(NOTICE, ordered(NOTICE_LOAD, SEQ_CST));
    if ((word & FENCING) == 0) {
        notify(word / 2);
    }
}

static bool starts_collecting(void) {
    return compare_exchange(COLLECTING, IDLE, BUSY, ordered(STARTING, ACQ_REL),
                            ordered(STARTING, ACQUIRE));
}

static bool ends_collecting(void) {
    if (compare_exchange(COLLECTING, BUSY, IDLE, ordered(ENDING, ACQ_REL),
                         ordered(ENDING, ACQUIRE))) {
        return true;
    }
    exchange(COLLECTING, BUSY, ordered(AGAIN, ACQ_REL));
    return false;
}

static uint32_t take_unread(void) {
    uint32_t taken = 0;
    uint32_t awaited = load(NOTICE, ordered(NOTICE_LOAD, SEQ_CST)) / 2;
    for (;;) {
        uint32_t now = load(CLOCK, ordered(NOW, ACQUIRE));
        collectors_fence();  // C1
        uint32_t oldest = oldest_entry();
        uint32_t first;
        taken |= take(oldest < now || is_faulty(NO_CLOCK_LIMIT) ? oldest : now, &first);
        uint32_t next = first < now ? oldest : 0;
        if (next == awaited) {
            return taken;
        }
        notify(next);
        if (next == 0 || is_faulty(NO_SECOND_LOOK)) {
            return taken;
        }
        awaited = next;
    }
}

static void collect(void) {
    do {
        uint32_t taken = take_unread();
        for (int value = 0; value < PLACES - VALUES; value++) {
            if ((taken >> value & 1) != 0) {
                free_plain(VALUES + value);
            }
        }
    } while (!ends_collecting());
}

static void ask(void) {
    if (exchange(COLLECTING, ASKED, ordered(ASKING, ACQ_REL)) == IDLE) {
        collect();
    }
}

static void discard(uint32_t value, uint32_t stamp) {
    if (!starts_collecting()) {
        hold(value, stamp);
        ask();
        return;
    }
    collectors_fence();  // C1
    uint32_t oldest = oldest_entry();
    if (stamp < oldest || (is_faulty(FREED_AT_STAMP) && stamp == oldest)) {
        if (!ends_collecting()) {
            collect();
        }
        free_plain(VALUES + (int)value);
    } else {
        hold(value, stamp);
        collect();
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
        bitwise_and(NOTICE, ~(uint32_t)FENCING, ordered(CLEARING, SEQ_CST));
    }
}

static void leave_slowly(int slot, uint32_t entry) {
    uint32_t word = load(NOTICE, RELAXED);
    if ((word & FENCING) != 0) {
        exchange(slot, 0, ordered(EXIT_FENCE, SEQ_CST));
        word = load(NOTICE, ordered(EXIT_NOTICE, SEQ_CST));
    }
    if (entry <= word / 2) {
        ask();
    }
}

static void read_value(int pointer, int slot, uint32_t *fenced_reads, bool stays) {
    uint32_t early = 0;
    if (is_faulty(NO_ENTRY_ORDER)) {
        early = load(POINTERS + pointer, SEQ_CST);
    }
    uint32_t entry = load(CLOCK, ordered(R1, ACQUIRE));
    // Releasing for the read before this one: whoever finds this entry knows that one has ended.
    // The release of that R4 does not reach over a relaxed store of the same thread.
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
    for (int time = 0; time < variant()->writes; time++) {
        write_value(variant()->has_two_pointers ? writer : 0,
                    NEW_VALUES + (uint32_t)(writer * variant()->writes + time));
    }
}

// Each value that no pointer has is freed, and no other.
static void all_is_freed(void) {
    if (variant()->stays) {
        return;
    }
    check(last_value(HELD) == 0, "a value is held at the end");
    int values = NEW_VALUES + variant()->writers * variant()->writes;
    for (uint32_t value = 0; value < (uint32_t)values; value++) {
        bool is_current = last_value(POINTERS) == value || last_value(POINTERS + 1) == value;
        check(is_freed(VALUES + (int)value) == !is_current, "a value is not freed");
    }
}

#define MODEL(title, thread_count, notice, interrupted, is_cut, reader_count, writer_count,        \
              read_count, write_count, ...)                                                        \
    {                                                                                              \
        .name = "snapshot, " title, .threads = thread_count, .program = program,                   \
        .finally = all_is_freed, .places = PLACES,                                                 \
        .initial = {[CLOCK] = 1, [NOTICE] = (notice), [POINTERS + 1] = 1},                         \
        .setting = &(const struct variant){.readers = reader_count,                                \
                                           .writers = writer_count,                                \
                                           .reads = read_count,                                    \
                                           .writes = write_count,                                  \
                                           __VA_ARGS__},                                           \
        .interruptible = interrupted, .is_long = is_cut                                            \
    }

enum {
    FENCES,
    FENCES_TWO_READS,
    FENCES_TWO_WRITES,
    FENCES_TWO_READERS,
    FENCES_TWO_WRITERS,
    BARRIER,
    BARRIER_AFTER_FENCES,
    BARRIER_TWO_READS,
    FENCES_TWO_VALUES,
    BARRIER_TWO_READERS,
    BARRIER_TWO_WRITERS,
};

// Completely explored once, the long ones hold too: that of two readers has 2,956,803 states, that
// of two writers 1,248,208, and is cut where a thread has 42 events. The one of two values was
// stopped after a minute.
static const struct model models[] = {
    MODEL("readers fence", 2, FENCING, 0, false, 1, 1, 1, 1),
    MODEL("readers fence, two reads", 2, FENCING, 0, false, 1, 1, 2, 1),
    MODEL("readers fence, two writes", 2, FENCING, 0, false, 1, 1, 1, 2),
    MODEL("readers fence, two readers", 3, FENCING, 0, false, 2, 1, 1, 1, .stays = true),
    MODEL("readers fence, two writers", 3, FENCING, 0, false, 1, 2, 1, 1, .stays = true),
    MODEL("membarrier", 2, 0, 1, false, 1, 1, 1, 1, .fenced_reads_max = 1),
    MODEL("membarrier after fences", 2, FENCING, 1, false, 1, 1, 1, 1, .fenced_reads_max = 1),
    MODEL("membarrier, two reads", 2, FENCING, 1, false, 1, 1, 2, 1, .fenced_reads_max = 1,
          .stays = true),
    MODEL("readers fence, two values", 3, FENCING, 0, true, 1, 2, 2, 1, .stays = true,
          .has_two_pointers = true),
    MODEL("membarrier, two readers", 3, FENCING, 2, true, 2, 1, 1, 1, .fenced_reads_max = 1,
          .stays = true),
    MODEL("membarrier, two writers", 3, 0, 1, true, 1, 2, 1, 1, .fenced_reads_max = 1,
          .stays = true),
};

// Three orders could be weaker as far as these models go: W2, of which a reader needs that it
// releases and a writer nothing more; endsCollecting, since what a collector has to know of the one
// before comes with the notice and the lock of the held values; and the collector's clock, since it
// reads the notice after that.
static const struct fault faults[] = {
    {"R1: relaxed", R1, RELAXED, FENCES},
    {"R2: relaxed", R2, RELAXED, BARRIER_TWO_READS},
    {"N1: relaxed", N1, RELAXED, BARRIER_TWO_READERS},
    {"the exchange after N1: acquiring and releasing", ENTRY_FENCE, ACQ_REL, FENCES},
    {"the clearing of the bit: releasing", CLEARING, RELEASE, BARRIER_TWO_READS},
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
    {"the collector's notice: acquiring", NOTICE_LOAD, ACQUIRE, BARRIER_TWO_READS},
    {"notify: acquiring and releasing", NOTIFYING, ACQ_REL, FENCES},
    {"the collector's clock: relaxed", NOW, RELAXED, NOWHERE},
    {"C2: acquiring", C2, ACQUIRE, FENCES},
    {"C2: relaxed", C2, RELAXED, FENCES},
    {"startsCollecting: relaxed", STARTING, RELAXED, BARRIER_TWO_WRITERS},
    {"endsCollecting: relaxed", ENDING, RELAXED, NOWHERE},
    {"endsCollecting, asked: relaxed", AGAIN, RELAXED, FENCES_TWO_WRITES},
    {"ask: relaxed", ASKING, RELAXED, BARRIER},
    {"ask: releasing", ASKING, RELEASE, BARRIER_TWO_WRITERS},
    {"no membarrier", NO_MEMBARRIER, RELAXED, BARRIER},
    {"R3 before R2", NO_ENTRY_ORDER, RELAXED, BARRIER},
    {"N2 before R4", NO_EXIT_ORDER, RELAXED, BARRIER},
    {"no second look after notify", NO_SECOND_LOOK, RELAXED, FENCES},
    {"freed at the stamp", FREED_AT_STAMP, RELAXED, FENCES},
    {"freed above the clock", NO_CLOCK_LIMIT, RELAXED, FENCES_TWO_VALUES},
};

int check_epochs(void) {
    return check_models(models, (int)(sizeof models / sizeof *models), faults,
                        (int)(sizeof faults / sizeof *faults));
}
