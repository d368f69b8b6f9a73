#include "CLatchkeySystem.h"

// Declared here, because libdispatch's headers come with the toolchain and not with the system.

void *latchkey_system_concurrent_queue(void) {
    extern char _dispatch_queue_attr_concurrent;
    return &_dispatch_queue_attr_concurrent;
}

void latchkey_system_queue_release(void *queue) {
    extern void dispatch_release(void *object);
    dispatch_release(queue);
}
