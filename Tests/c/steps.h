// Delays at each step of suspending and resuming, and a check of what libmicrohttpd demands there.
//
// libmicrohttpd does not check its callers, and sanitizers do not see into it. So the linker puts
// functions of ours around the calls (run.sh): each of them notes which connections are suspended,
// and waits where a test has planted a delay.

#ifndef LATCHKEY_TEST_STEPS_H
#define LATCHKEY_TEST_STEPS_H

#include <stdint.h>

typedef enum step {
    STEP_BEFORE_PIECE,  // libmicrohttpd hands over a piece of a body, or its end
    STEP_BEFORE_SUSPEND,
    STEP_AFTER_SUSPEND,
    STEP_BEFORE_RESUME,
    STEP_AFTER_RESUME,
    STEP_COUNT,
} step;

// From now on each thread waits at this step; 0: not any more.
void steps_delay(step step, uint32_t microseconds);

// How many connections were suspended until now.
uint32_t steps_suspensions(void);

// How often the rules were broken until now: a suspended connection was suspended, one was resumed
// that was not suspended, or one went away while it was resumed. Each is printed.
uint32_t steps_faults(void);

#endif
