// How many threads the system lets this process have.
//
// Design
//
// Threads that end immediately would exist one after the other. So all wait for one lock, which the
// caller holds until the last one is made.

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "CLatchkeyMachine.h"

static void *wait_for(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

int latchkey_machine_threads_refused(int count) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    if (threads == NULL) {
        return ENOMEM;
    }
    int made = 0;
    int error = 0;
    pthread_mutex_lock(&gate);
    while (made < count && (error = pthread_create(&threads[made], NULL, wait_for, &gate)) == 0) {
        made++;
    }
    pthread_mutex_unlock(&gate);
    while (made > 0) {
        pthread_join(threads[--made], NULL);
    }
    free(threads);
    return error;
}
