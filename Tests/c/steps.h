// Delays at each step of suspending and resuming, and a check of libmicrohttpd's rules for them.
//
// libmicrohttpd does not check its callers, and sanitizers do not see into it. So the linker puts
// our functions around the calls (run.sh): each records which connections are suspended, and waits
// where a test has set a delay.

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

// From now on each thread waits at this step; 0 ends that.
void steps_delay(step step, uint32_t microseconds);

// The number of suspensions until now.
uint32_t steps_suspensions(void);

// The number of broken rules until now: a suspended connection was suspended, one was resumed that
// was not suspended, or one ended while it was being resumed. Each is printed.
uint32_t steps_faults(void);

#endif
