// Programs of a few lines whose possible results are known: the checker's own test.
//
// Each has its name from the literature. A program's result is in plain memory, one place for each
// load, and `finally` fails if it is the unusual one: the model must find that or not.

#include "checker.h"
#include "models.h"

#include <stdio.h>

enum { X = FIRST_PLACE, Y, RESULT };

// The orders of the stores, of the loads and of the fences of a program; NO_FENCE for none.
enum { NO_FENCE = -1 };
static enum order stores;
static enum order loads;
static int fences;

static void fence_if_any(void) {
    if (fences != NO_FENCE) {
        fence((enum order)fences);
    }
}

static void result(int number, uint32_t value) {
    write_plain(RESULT + number, value + 1);
}

static bool results_are(int count, const char *expected) {
    for (int number = 0; number < count; number++) {
        if (last_value(RESULT + number) != (uint32_t)(expected[number] - '0') + 1) {
            return false;
        }
    }
    return true;
}

static void store_buffering(int thread) {
    store(thread == 0 ? X : Y, 1, stores);
    fence_if_any();
    result(thread, load(thread == 0 ? Y : X, loads));
}

// One side has the cost of both: the other one only keeps its program order.
static void store_buffering_with_membarrier(int thread) {
    store(thread == 0 ? X : Y, 1, stores);
    if (thread == 0) {
        membarrier();
    }
    result(thread, load(thread == 0 ? Y : X, loads));
}

static void both_read_0(void) {
    check(!results_are(2, "00"), "both read 0");
}

static void message_passing(int thread) {
    if (thread == 0) {
        store(X, 1, RELAXED);
        if (fences == RELEASE || fences == SEQ_CST) {
            fence((enum order)fences);
        }
        store(Y, 1, stores);
        return;
    }
    result(0, load(Y, loads));
    fence_if_any();
    result(1, load(X, RELAXED));
}

static void flag_without_data(void) {
    check(!results_are(2, "10"), "the flag without the data");
}

static void load_buffering(int thread) {
    result(thread, load(thread == 0 ? X : Y, RELAXED));
    store(thread == 0 ? Y : X, 1, RELAXED);
}

static void both_read_1(void) {
    check(!results_are(2, "11"), "both read 1");
}

static void independent_reads(int thread) {
    if (thread < 2) {
        store(thread == 0 ? X : Y, 1, stores);
        return;
    }
    int first = (thread - 2) * 2;
    result(first, load(thread == 2 ? X : Y, loads));
    fence_if_any();
    result(first + 1, load(thread == 2 ? Y : X, loads));
}

static void readers_disagree(void) {
    check(!results_are(4, "1010"), "the readers disagree");
}

static void coherence(int thread) {
    if (thread == 0) {
        store(X, 1, RELAXED);
        store(X, 2, RELAXED);
        return;
    }
    result(0, load(X, RELAXED));
    result(1, load(X, RELAXED));
}

static void goes_back(void) {
    check(!results_are(2, "21"), "a later load reads an older store");
}

static void two_plus_two_writes(int thread) {
    store(thread == 0 ? X : Y, 1, stores);
    fence_if_any();
    store(thread == 0 ? Y : X, 2, stores);
}

static void first_writes_win(void) {
    check(last_value(X) != 1 || last_value(Y) != 1, "both first writes are the last");
}

// A sequentially consistent store may become visible after the thread's next relaxed store.
static void store_then_relaxed(int thread) {
    if (thread == 0) {
        store(X, 1, SEQ_CST);
        store(Y, 1, RELAXED);
        return;
    }
    result(0, load(Y, RELAXED));
    result(1, load(X, SEQ_CST));
}

static void counting(int thread) {
    result(thread, add(X, 1, RELAXED));
}

static void one_is_lost(void) {
    check(last_value(X) == 2, "an addition is lost");
}

// An update in between keeps the release sequence.
static void release_sequence(int thread) {
    if (thread == 0) {
        write_plain(X, 1);
        store(Y, 1, RELEASE);
    } else if (thread == 1) {
        add(Y, 1, RELAXED);
    } else if (load(Y, loads) == 2) {
        read_plain(X);
    }
}

static void sleeping(int thread) {
    if (thread == 0) {
        store(X, 1, RELAXED);
        if (fences != NO_FENCE) {
            futex_wake(X);
        }
    } else {
        while (load(X, RELAXED) == 0) {
            futex_wait(X, 0);
        }
    }
}

static void using_freed(int thread) {
    lock(Y);
    if (thread == 0) {
        free_plain(X);
    } else {
        read_plain(X);
    }
    unlock(Y);
}

struct litmus {
    const char *name;
    void (*program)(int thread);
    void (*finally)(void);
    int threads;
    enum order stores;
    enum order loads;
    int fences;
    bool is_found;
};

static const struct litmus litmuses[] = {
    {"SB, release and acquire", store_buffering, both_read_0, 2, RELEASE, ACQUIRE, NO_FENCE, true},
    {"SB, sequentially consistent", store_buffering, both_read_0, 2, SEQ_CST, SEQ_CST, NO_FENCE,
     false},
    {"SB, acquire and release fences", store_buffering, both_read_0, 2, RELAXED, RELAXED, ACQ_REL,
     true},
    {"SB, fences", store_buffering, both_read_0, 2, RELAXED, RELAXED, SEQ_CST, false},
    {"SB, relaxed stores", store_buffering, both_read_0, 2, RELAXED, SEQ_CST, NO_FENCE, true},
    {"SB, membarrier", store_buffering_with_membarrier, both_read_0, 2, RELAXED, RELAXED, NO_FENCE,
     false},
    {"MP, relaxed", message_passing, flag_without_data, 2, RELAXED, RELAXED, NO_FENCE, true},
    {"MP, release only", message_passing, flag_without_data, 2, RELEASE, RELAXED, NO_FENCE, true},
    {"MP, acquire only", message_passing, flag_without_data, 2, RELAXED, ACQUIRE, NO_FENCE, true},
    {"MP", message_passing, flag_without_data, 2, RELEASE, ACQUIRE, NO_FENCE, false},
    {"MP, acquire fence", message_passing, flag_without_data, 2, RELEASE, RELAXED, ACQUIRE, false},
    {"MP, release fence", message_passing, flag_without_data, 2, RELAXED, ACQUIRE, RELEASE, false},
    {"LB (not in this model)", load_buffering, both_read_1, 2, RELAXED, RELAXED, NO_FENCE, false},
    {"IRIW, release and acquire", independent_reads, readers_disagree, 4, RELEASE, ACQUIRE,
     NO_FENCE, true},
    {"IRIW, sequentially consistent", independent_reads, readers_disagree, 4, SEQ_CST, SEQ_CST,
     NO_FENCE, false},
    {"IRIW, fences", independent_reads, readers_disagree, 4, RELAXED, RELAXED, SEQ_CST, false},
    {"CoRR", coherence, goes_back, 2, RELAXED, RELAXED, NO_FENCE, false},
    {"2+2W, release", two_plus_two_writes, first_writes_win, 2, RELEASE, RELAXED, NO_FENCE, true},
    {"2+2W, sequentially consistent", two_plus_two_writes, first_writes_win, 2, SEQ_CST, RELAXED,
     NO_FENCE, false},
    {"2+2W, fences", two_plus_two_writes, first_writes_win, 2, RELAXED, RELAXED, SEQ_CST, false},
    {"SC store, relaxed store", store_then_relaxed, flag_without_data, 2, RELAXED, RELAXED,
     NO_FENCE, true},
    {"additions", counting, one_is_lost, 2, RELAXED, RELAXED, NO_FENCE, false},
    {"release sequence", release_sequence, NULL, 3, RELAXED, ACQUIRE, NO_FENCE, false},
    {"release sequence, relaxed", release_sequence, NULL, 3, RELAXED, RELAXED, NO_FENCE, true},
    {"futex", sleeping, NULL, 2, RELAXED, RELAXED, SEQ_CST, false},
    {"futex without wake", sleeping, NULL, 2, RELAXED, RELAXED, NO_FENCE, true},
    {"use after free", using_freed, NULL, 2, RELAXED, RELAXED, NO_FENCE, true},
};

int check_litmuses(void) {
    int wrong = 0;
    int count = (int)(sizeof litmuses / sizeof *litmuses);
    for (int index = 0; index < count; index++) {
        const struct litmus *litmus = &litmuses[index];
        struct model model = {.name = litmus->name,
                              .threads = litmus->threads,
                              .program = litmus->program,
                              .finally = litmus->finally,
                              .places = RESULT + 4,
                              .interruptible = litmus->threads};
        stores = litmus->stores;
        loads = litmus->loads;
        fences = litmus->fences;
        const char *finding = explore(&model, NULL);
        if ((finding != NULL) != litmus->is_found) {
            printf("litmus %s: %s: FAIL\n", litmus->name,
                   finding == NULL ? "nothing found" : finding);
            wrong++;
        }
    }
    printf("litmus: %d of %d programs as the literature says\n", count - wrong, count);
    return wrong;
}
