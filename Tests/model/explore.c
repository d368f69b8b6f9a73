// The exploration: every step of every thread from every execution graph, each graph once.

#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const waits_without_end = "threads that wait without end";

// Hashes of the explored graphs, 128 bits each, in an open table. Among a hundred million graphs,
// two share one with a probability of 2^-75.
static struct {
    event_set *slots;
    size_t size;
    size_t count;
} seen;

static uint64_t graphs;
static uint64_t executions;
// Steps for which a thread or a place had no room left.
static uint64_t cuts;
// The limit of explored graphs.
static uint64_t graphs_max;

static uint64_t mix(uint64_t hash, uint64_t word) {
    event_set product = (event_set)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (word << 32 | word >> 32);
}

// A thread's actions follow from its reads, so the hash has only these and the order of writes.
static event_set hash_of(const struct graph *graph) {
    uint64_t low = 1;
    uint64_t high = 2;
    for (int thread = 0; thread < step.model->threads; thread++) {
        low = mix(low, graph->counts[thread] * 256u + graph->sleeping[thread]);
        high = mix(high, low);
        for (int index = 0; index < graph->counts[thread]; index++) {
            const struct event *event = &graph->events[thread * step.stride + index];
            low = mix(low, (uint64_t)event->kind << 56 | (uint64_t)event->from << 48 |
                               (uint64_t)event->place << 40 | event->read);
            high = mix(high, low);
        }
    }
    for (int place = 0; place < step.model->places; place++) {
        low = mix(low, graph->writes_counts[place]);
        for (int at = 0; at < graph->writes_counts[place]; at++) {
            low = mix(low, graph->writes[place][at]);
            high = mix(high, low);
        }
    }
    event_set hash = (event_set)high << 64 | low;
    return hash == 0 ? 1 : hash;
}

static bool put(event_set hash) {
    size_t slot = (size_t)hash & (seen.size - 1);
    while (seen.slots[slot] != 0) {
        if (seen.slots[slot] == hash) {
            return false;
        }
        slot = (slot + 1) & (seen.size - 1);
    }
    seen.slots[slot] = hash;
    seen.count++;
    return true;
}

static void resize(size_t size) {
    event_set *old = seen.slots;
    size_t old_size = seen.size;
    seen.slots = calloc(size, sizeof *seen.slots);
    if (seen.slots == NULL) {
        fprintf(stderr, "calloc failed for %zu graphs\n", size);
        abort();
    }
    seen.size = size;
    seen.count = 0;
    for (size_t slot = 0; slot < old_size; slot++) {
        if (old[slot] != 0) {
            put(old[slot]);
        }
    }
    free(old);
}

static bool is_new(const struct graph *graph) {
    if (seen.count * 2 >= seen.size) {
        resize(seen.size * 2);
    }
    return put(hash_of(graph));
}

static enum outcome run(struct graph *graph, int thread, int choice) {
    step.graph = graph;
    step.thread = thread;
    step.choice = choice;
    step.options = 1;
    step.replayed = 0;
    step.is_order_open = false;
    step.is_eager = false;
    int outcome = setjmp(step.escape);
    if (outcome == 0) {
        step.model->program(thread);
        return ENDED;
    }
    return (enum outcome)outcome;
}

static bool is_failed_at_end(struct graph *graph) {
    executions++;
    step.graph = graph;
    if (step.model->finally != NULL && setjmp(step.escape) == 0) {
        step.model->finally();
        return false;
    }
    return step.model->finally != NULL;
}

static void print(const struct graph *graph) {
    static const char *const kinds[] = {"read",  "write",     "update",
                                        "fence", "interrupt", "acknowledged"};
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
    for (int thread = 0; thread < step.model->threads; thread++) {
        printf("  thread %d%s\n", thread, graph->sleeping[thread] != 0 ? ", asleep" : "");
        for (int index = 0; index < graph->counts[thread]; index++) {
            const struct event *event = &graph->events[thread * step.stride + index];
            printf("    %2d %s %s place %d from %d: read %u wrote %u\n",
                   thread * step.stride + index, kinds[event->kind], orders[event->order],
                   event->place, event->from == INITIAL ? -1 : event->from, event->read,
                   event->written);
        }
    }
}

static void report(const struct graph *graph) {
    if (getenv("LATCHKEY_MODEL_TRACE") != NULL) {
        printf("%s\n", step.finding);
        print(graph);
    }
}

// A thread whose next step need not be tried in any other order, or -1.
static int eager_thread(const struct graph *graph) {
    for (int thread = step.model->interruptible; thread < step.model->threads; thread++) {
        struct graph next = *graph;
        if (graph->sleeping[thread] == 0) {
            run(&next, thread, 0);
            if (step.is_eager) {
                return thread;
            }
        }
    }
    return -1;
}

static bool visit(const struct graph *graph);

// Explores the possible results of a thread's next step. Returns true when a fault was found;
// `outcome` is that of the only possibility, PERFORMED if there were several.
static bool visit_after(const struct graph *graph, int thread, enum outcome *outcome) {
    int options = 1;
    for (int choice = 0; choice < options; choice++) {
        struct graph next = *graph;
        enum outcome result = run(&next, thread, choice);
        options = step.options;
        cuts += result == CUT;
        *outcome = options > 1 ? PERFORMED : result;
        if (result == FAILED) {
            report(&next);
            return true;
        }
        if (result == PERFORMED && is_new(&next) &&
            (!step.is_order_open || is_sequentially_consistent()) && visit(&next)) {
            return true;
        }
    }
    return false;
}

// Returns true when a fault was found.
static bool visit(const struct graph *graph) {
    int ended = 0;
    int blocked = 0;
    enum outcome outcome = PERFORMED;
    if (graphs == graphs_max) {
        return false;
    }
    graphs++;
    int eager = eager_thread(graph);
    if (eager >= 0) {
        return visit_after(graph, eager, &outcome);
    }
    for (int thread = 0; thread < step.model->threads; thread++) {
        if (graph->sleeping[thread] != 0) {
            blocked++;
        } else if (visit_after(graph, thread, &outcome)) {
            return true;
        } else {
            bool is_idle =
                outcome == BLOCKED && step.model->has_servant && thread == step.model->threads - 1;
            ended += outcome == ENDED || is_idle;
            blocked += outcome == BLOCKED && !is_idle;
        }
    }
    if (ended == step.model->threads) {
        struct graph last = *graph;
        return is_failed_at_end(&last);
    }
    if (ended + blocked == step.model->threads) {
        step.finding = waits_without_end;
        report(graph);
        return true;
    }
    return false;
}

const char *explore(const struct model *model, const struct fault *fault) {
    static const struct graph empty;
    memset(&step, 0, sizeof step);
    step.model = model;
    step.fault = fault;
    step.stride = EVENTS_MAX / model->threads;
    graphs = 0;
    executions = 0;
    cuts = 0;
    bool is_full = !model->is_long || getenv("LATCHKEY_MODEL_FULL") != NULL;
    graphs_max = is_full ? UINT64_MAX : STATES_MAX;
    free(seen.slots);
    seen.slots = NULL;
    seen.size = 0;
    resize((size_t)1 << 16);
    return visit(&empty) ? step.finding : NULL;
}

static bool check_model(const struct model *model) {
    const char *finding = explore(model, NULL);
    printf("%s, %d threads: %llu states, %llu executions", model->name, model->threads,
           (unsigned long long)graphs, (unsigned long long)executions);
    if (graphs == graphs_max) {
        printf(", stopped");
    }
    if (cuts > 0) {
        printf(", %llu cut after %d events of a thread", (unsigned long long)cuts, step.stride);
    }
    printf(": %s\n", finding == NULL ? "holds" : finding);
    fflush(stdout);
    return finding == NULL;
}

static const char *find(const struct model *models, int count, const struct fault *fault) {
    const char *finding = NULL;
    for (int index = 0; index < count && finding == NULL; index++) {
        bool is_due = fault->model == NOWHERE ? !models[index].is_long : fault->model == index;
        finding = is_due ? explore(&models[index], fault) : NULL;
    }
    return finding;
}

int check_models(const struct model *models, int models_count, const struct fault *faults,
                 int faults_count) {
    int wrong = 0;
    for (int index = 0; index < models_count; index++) {
        wrong += !check_model(&models[index]);
    }
    for (int index = 0; index < faults_count; index++) {
        const struct fault *fault = &faults[index];
        const char *finding = find(models, models_count, fault);
        bool is_wrong = (finding == NULL) != (fault->model == NOWHERE);
        wrong += is_wrong;
        printf("  %s: %s%s\n", fault->name, finding == NULL ? "nothing found" : finding,
               is_wrong ? ": FAIL" : "");
        fflush(stdout);
    }
    return wrong;
}
