// The first code that runs in the program.
//
// Design
//
// A service that has just been started can get a signal, such as that of a reload, before its first
// statement, while its many libraries are initialized. So this function is among those that the
// dynamic linker calls before all others of a program (`.preinit_array`, in the ABI's words), with
// the arguments of main(). It blocks the signals of a service, which Service.swift waits for. Other
// commands end by these signals, from the start on.
//
// No library is ready here, nor is a sanitizer: it calls only the kernel.

#define _GNU_SOURCE  // syscall

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CLatchkeyStart.h"

// Sanitizers initialize themselves in the same list, maybe after this.
#define PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))

static int argument_count;
static char **arguments;

static PLAIN bool is_serve(const char *text) {
    static const char serve[] = "serve";
    unsigned index = 0;
    while (index < sizeof(serve) - 1 && text[index] == serve[index]) {
        index++;
    }
    return index == sizeof(serve) - 1 && text[index] == '\0';
}

static PLAIN uint64_t bit(int number) {
    return (uint64_t)1 << (number - 1);
}

static PLAIN void begin(int count, char **list, char **environment) {
    (void)environment;
    argument_count = count;
    arguments = list;
    if (count > 1 && is_serve(list[1])) {
        // As the kernel has them: a bit for each signal.
        uint64_t signals = bit(SIGHUP) | bit(SIGINT) | bit(SIGTERM) | bit(SIGUSR1);
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, NULL, sizeof(signals));
    }
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **,
                                                                            char **) = begin;

int latchkey_start_argument_count(void) {
    return argument_count;
}

const char *latchkey_start_argument(int index) {
    return arguments[index];
}
