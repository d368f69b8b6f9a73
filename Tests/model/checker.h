// An exhaustive checker for small concurrent programs under the C++20 memory model.
//
// Design: a program is ordinary C that touches shared memory only through the operations below. The
// checker runs it in every way the model allows: every order of the threads' steps, and at each
// step every store that a load may read and every place that a store may take in the modification
// order. It records not the order of the steps but the execution graph (each thread's events, the
// store that each load read, the modification order of each place), so that it explores two orders
// once if no thread can tell them apart. It reports a data race, a use of freed memory, threads
// that wait without end, and any check of the program that fails.
//
// The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing sequential consistency in
// C/C++11", PLDI 2017), on which GenMC is built too: the C++20 model without load buffering, that
// is, a load never reads a store that depends on it. Release sequences are those of C++20: a later
// store of the same thread does not continue one. For sequentially consistent operations it has the
// weaker published form of the C++20 rules, so it may report too much, not too little.
//
// A program is run again from its start for each step: operations that were performed before return
// the same as then. So it must be deterministic and may not write to C variables that outlive the
// call.

#ifndef LATCHKEY_MODEL_CHECKER_H
#define LATCHKEY_MODEL_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

enum order { RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

// A place is a shared variable: an index below places_count. Place 0 belongs to the kernel.
enum { KERNEL, FIRST_PLACE };

// Atomic operations. Operations that change a place return its former value.
uint32_t load(int place, enum order order);
void store(int place, uint32_t value, enum order order);
uint32_t exchange(int place, uint32_t value, enum order order);
uint32_t add(int place, uint32_t value, enum order order);
uint32_t bitwise_or(int place, uint32_t value, enum order order);
bool compare_exchange(int place, uint32_t expected, uint32_t desired, enum order success,
                      enum order failure);
// The last load of a loop that loads until the place has another value. Only the newest value is
// tried, so the place may change once meanwhile.
uint32_t await_change(int place, uint32_t value, enum order order);
void fence(enum order order);

// Plain memory: an access that races with another one is a finding, and so is an access to a freed
// place.
uint32_t read_plain(int place);
void write_plain(int place, uint32_t value);
void free_plain(int place);

// A lock that was checked separately: acquires and releases, and blocks.
void lock(int place);
bool try_lock(int place);
void unlock(int place);

// futex(2) as in the kernel: both calls take the lock of the place's hash bucket, so that for a
// waker the comparison and falling asleep are one step. There are no spurious wake-ups: they would
// only help a waiting thread.
void futex_wait(int place, uint32_t expected);
// Returns the number of threads that it woke: one at most.
uint32_t futex_wake(int place);

// membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED: each other thread executes a sequentially
// consistent fence at some point between the call and the return, not all at the same time. In the
// model only the first `interruptible` threads do: a result with fewer fences also holds with more.
void membarrier(void);

// Stops the exploration with this finding if the condition does not hold.
void check(bool condition, const char *finding);

// For a model's last check, when all threads have ended.
uint32_t last_value(int place);
bool is_freed(int place);

// The `setting` of the running model.
const void *setting(void);

// Findings of the checker itself.
extern const char *const data_race;
extern const char *const use_after_free;
extern const char *const waits_without_end;

enum { THREADS_MAX = 4, PLACES_MAX = 24, STATES_MAX = 500000 };

struct model {
    const char *name;
    int threads;
    void (*program)(int thread);
    // May be NULL.
    void (*finally)(void);
    int places;
    uint32_t initial[PLACES_MAX];
    // The result of setting().
    const void *setting;
    int interruptible;
    // Whether the last thread is a servant: it may wait without end.
    bool has_servant;
    // Whether the exploration stops after STATES_MAX states, unless the environment has
    // LATCHKEY_MODEL_FULL. A fault must be found before that, too.
    bool is_long;
};

// A planted fault in a model, to prove that the checker finds it.
struct fault {
    const char *name;
    // The changed operation by a model's name for it, and its order instead, if any.
    int site;
    enum order order;
    // The index of the model in which it is found. NOWHERE: the algorithm does not need this order;
    // no model that is explored completely has a finding.
    int model;
};

enum { NOWHERE = -1 };

// The order of an operation that a fault may weaken, and whether a fault removes a part.
enum order ordered(int site, enum order order);
bool is_faulty(int site);

// Explores each model without faults, then each fault. Prints one line for each. Returns the number
// of wrong verdicts.
int check_models(const struct model *models, int models_count, const struct fault *faults,
                 int faults_count);

// The same, of the arrays `models` and `faults` of a file.
#define CHECK_MODELS()                                                                             \
    check_models(models, (int)(sizeof models / sizeof *models), faults,                            \
                 (int)(sizeof faults / sizeof *faults))

// The finding of a model, or NULL: for the tests of the checker itself.
const char *explore(const struct model *model, const struct fault *fault);

#endif
