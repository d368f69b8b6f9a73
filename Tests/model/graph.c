// The execution graph: the past of an event, the writes that it may see, and how it is added.

#include "graph.h"

struct step step;

event_set bit(int event) {
    return (event_set)1 << event;
}

static bool acquires(enum order order) {
    return order == ACQUIRE || order == ACQ_REL || order == SEQ_CST;
}

static bool releases(enum order order) {
    return order == RELEASE || order == ACQ_REL || order == SEQ_CST;
}

bool writes(const struct event *event) {
    return event->kind == WRITE || event->kind == UPDATE;
}

static bool reads(const struct event *event) {
    return event->kind == READ || event->kind == UPDATE;
}

event_set past(int thread) {
    int count = step.graph->counts[thread];
    if (count == 0) {
        return 0;
    }
    int last = thread * step.stride + count - 1;
    return step.graph->events[last].before | bit(last);
}

// The events that synchronize with an acquiring read of this write: the heads of its release
// sequences, and all events that happen before them.
static event_set released(int write) {
    event_set set = 0;
    while (write != INITIAL) {
        const struct event *event = &step.graph->events[write];
        if (releases(event->order)) {
            set |= bit(write) | event->before;
        }
        for (int other = write - write % step.stride; other < write; other++) {
            const struct event *earlier = &step.graph->events[other];
            if ((earlier->kind == FENCE || earlier->kind == INTERRUPT) &&
                releases(earlier->order)) {
                set |= bit(other) | earlier->before;
            }
        }
        write = event->kind == UPDATE ? event->from : INITIAL;
    }
    return set;
}

// The number of a write in its place's modification order; the initial value has 0.
static int position(int place, int write) {
    if (write == INITIAL) {
        return 0;
    }
    int index = 0;
    while (step.graph->writes[place][index] != write) {
        index++;
    }
    return index + 1;
}

int write_at(int place, int at) {
    return at == 0 ? INITIAL : step.graph->writes[place][at - 1];
}

uint32_t value_at(int place, int at) {
    return at == 0 ? step.model->initial[place] : step.graph->events[write_at(place, at)].written;
}

int latest(int place) {
    return step.graph->writes_counts[place];
}

int oldest_visible(int place) {
    event_set past_set = past(step.thread);
    int oldest = 0;
    for (int thread = 0; thread < step.model->threads; thread++) {
        for (int index = 0; index < step.graph->counts[thread]; index++) {
            int event = thread * step.stride + index;
            const struct event *known = &step.graph->events[event];
            if ((past_set & bit(event)) == 0 || known->place != place || known->kind >= FENCE) {
                continue;
            }
            int at = position(place, writes(known) ? event : known->from);
            oldest = at > oldest ? at : oldest;
        }
    }
    return oldest;
}

bool is_followed_by_update(int place, int at) {
    return at < latest(place) && step.graph->events[step.graph->writes[place][at]].kind == UPDATE;
}

int append(int thread, struct event event) {
    int index = step.graph->counts[thread];
    if (index == step.stride) {
        end_step(CUT);
    }
    int number = thread * step.stride + index;
    event.before |= past(thread);
    if (reads(&event) && acquires(event.order)) {
        event.before |= released(event.from);
    }
    if (event.kind == FENCE || event.kind == INTERRUPT) {
        for (int i = thread * step.stride; i < number && acquires(event.order); i++) {
            if (reads(&step.graph->events[i])) {
                event.before |= released(step.graph->events[i].from);
            }
        }
    }
    step.graph->events[number] = event;
    step.graph->counts[thread]++;
    return number;
}

void insert_write(int place, int at, int write) {
    if (step.graph->writes_counts[place] == WRITES_MAX) {
        end_step(CUT);
    }
    uint8_t *list = step.graph->writes[place];
    for (int index = step.graph->writes_counts[place]++; index >= at; index--) {
        list[index] = list[index - 1];
    }
    list[at - 1] = (uint8_t)write;
}
