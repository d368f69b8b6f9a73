// The transfer of a cache line between two processors.

#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "CLatchkeyMachine.h"

// Design. Two threads, each bound to one processor, change a word in turn: one makes it odd, the
// other makes it even. Each change needs the cache line that the other one has. The first thread
// reads the clock once for each batch of round trips and writes the times, which the caller reads
// when both have ended. Both poll, and each ends by itself at `end`, whatever the other one does.

enum { ROUND_TRIPS = 16, POLLS_PER_CLOCK = 512, LINE_BYTES = 128 };

struct line {
    // Alone in its lines: the processors fetch two at once.
    _Alignas(LINE_BYTES) atomic_uint word;
    _Alignas(LINE_BYTES) atomic_bool is_over;
    uint64_t budget;
    uint64_t end;
    float *trips;
    int trips_max;
    int count;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Waits until the word has this value; false if the time is over before.
static bool wait_for(struct line *line, unsigned value) {
    for (unsigned polls = 1;; polls++) {
        if (atomic_load_explicit(&line->word, memory_order_acquire) == value) {
            return true;
        }
        if (polls % POLLS_PER_CLOCK == 0 &&
            (atomic_load_explicit(&line->is_over, memory_order_relaxed) || now() >= line->end)) {
            return false;
        }
        pause_briefly();
    }
}

static void *send_first(void *argument) {
    struct line *line = argument;
    unsigned value = 0;
    // The other thread has begun when it answers.
    atomic_store_explicit(&line->word, ++value, memory_order_release);
    bool is_answered = wait_for(line, ++value);
    uint64_t begin = now();
    const uint64_t last = begin + line->budget;
    while (is_answered && begin < last && line->count < line->trips_max) {
        for (int trip = 0; trip < ROUND_TRIPS && is_answered; trip++) {
            atomic_store_explicit(&line->word, ++value, memory_order_release);
            is_answered = wait_for(line, ++value);
        }
        const uint64_t end = now();
        if (is_answered) {
            line->trips[line->count++] = (float)(end - begin) / ROUND_TRIPS;
        }
        begin = end;
    }
    atomic_store_explicit(&line->is_over, true, memory_order_relaxed);
    return NULL;
}

static void *send_back(void *argument) {
    struct line *line = argument;
    for (unsigned value = 1; wait_for(line, value); value += 2) {
        atomic_store_explicit(&line->word, value + 1, memory_order_release);
    }
    return NULL;
}

// Starts a thread on one processor. Returns 0 or an errno.
static int start(pthread_t *thread, int processor, void *(*body)(void *), struct line *line) {
    cpu_set_t *set = CPU_ALLOC((size_t)processor + 1);
    if (set == NULL) {
        return ENOMEM;
    }
    const size_t size = CPU_ALLOC_SIZE((size_t)processor + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)processor, size, set);
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code == 0) {
        code = pthread_attr_setaffinity_np(&attributes, size, set);
        if (code == 0) {
            code = pthread_create(thread, &attributes, body, line);
        }
        pthread_attr_destroy(&attributes);
    }
    CPU_FREE(set);
    return code;
}

int latchkey_machine_line_trips(int first, int second, uint64_t budget, uint64_t patience,
                                float *trips, int trips_max) {
    if (first < 0 || second < 0 || first == second || trips_max < 1) {
        return -EINVAL;
    }
    struct line line;
    memset(&line, 0, sizeof line);
    line.budget = budget;
    line.end = now() + patience;
    line.trips = trips;
    line.trips_max = trips_max;
    pthread_t threads[2];
    int code = start(&threads[0], second, send_back, &line);
    if (code != 0) {
        return -code;
    }
    code = start(&threads[1], first, send_first, &line);
    if (code != 0) {
        atomic_store_explicit(&line.is_over, true, memory_order_relaxed);
    } else {
        pthread_join(threads[1], NULL);
    }
    pthread_join(threads[0], NULL);
    return code != 0 ? -code : line.count;
}
