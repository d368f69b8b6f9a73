// A command that ends by a time, whatever happens to the process that started it.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CLatchkeyMachine.h"

static bool set_timer(int timer, uint64_t deadline) {
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(deadline / 1000000000u),
                                           .tv_nsec = (long)(deadline % 1000000000u)}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) == 0;
}

// The guard's part: kills the group at the deadline, or when the other end of `control` is closed.
// It is a copy of a process whose other threads do not exist here, so it calls only what
// signal-safety(7) lists, and system calls.
static void watch_over(pid_t group, uint64_t deadline, int control) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    // Signals to the group of the process that started it do not reach the guard.
    setpgid(0, 0);
    prctl(PR_SET_NAME, "latchkey-guard");
    // Readers of our output must not wait for the guard, nor a service for our connections.
    if (control > 0) {
        close_range(0, (unsigned)control - 1, 0);
    }
    close_range((unsigned)control + 1, ~0u, 0);
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    bool is_set = timer >= 0 && set_timer(timer, deadline);
    while (is_set) {
        struct pollfd watched[] = {{.fd = control, .events = POLLIN},
                                   {.fd = timer, .events = POLLIN}};
        if (poll(watched, 2, -1) < 0) {
            is_set = errno == EINTR;
            continue;
        }
        // A later deadline has precedence over one that has passed.
        if (watched[0].revents != 0) {
            is_set = read(control, &deadline, sizeof deadline) == sizeof deadline &&
                     set_timer(timer, deadline);
        } else if (watched[1].revents != 0) {
            is_set = false;
        }
    }
    kill(-group, SIGKILL);
    _exit(0);
}

// Makes a process group the terminal's foreground. If the caller is in the background already, the
// system sends SIGTTOU, unless it is blocked.
static void take_terminal(int terminal, pid_t group) {
    sigset_t output, before;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    sigprocmask(SIG_BLOCK, &output, &before);
    tcsetpgrp(terminal, group);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool is_pipe(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
}

// The terminal that the command can have; -1 if none. This process can give it if its group is in
// the foreground, but not from or to a pipe: another program of the group, such as a pager, may
// read it. `is_kept` says that the command must not read standard input then, since it is the
// terminal: the system would stop it.
static int own_terminal(bool *is_kept) {
    *is_kept = false;
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) {
        return -1;
    }
    bool is_foreground = tcgetpgrp(terminal) == getpgrp();
    if (is_foreground && !is_pipe(0) && !is_pipe(1)) {
        return terminal;
    }
    *is_kept = is_foreground && isatty(0);
    close(terminal);
    return -1;
}

static bool read_nothing(void) {
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nowhere >= 0 && dup2(nowhere, 0) == 0;
}

// The command's part. Returns if it cannot be executed.
static void become(char *const *arguments, char *const *environment, pid_t parent, int go,
                   int terminal, bool is_kept) {
    char byte;
    // The guard kills the whole group; this is for the case that the guard is killed as well.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || setpgid(0, 0) != 0 ||
        read(go, &byte, 1) != 1) {
        return;
    }
    // Before the command can read it.
    if (terminal >= 0) {
        take_terminal(terminal, getpid());
    }
    if (is_kept && !read_nothing()) {
        return;
    }
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        // In glibc it takes no lock and no memory but the stack.
        execvpe(arguments[0], arguments, environment);
    }
}

static void close_ends(const int *ends, int count) {
    for (int index = 0; index < count; index++) {
        close(ends[index]);
    }
}

int latchkey_machine_guarded_start(char *const *arguments, char *const *environment,
                                   uint64_t deadline, int32_t *identifier, int32_t *guard,
                                   int *control, int *terminal) {
    // Reading and writing ends of three pipes: the control, the start signal, the command's error.
    int ends[6];
    for (int index = 0; index < 6; index += 2) {
        if (pipe2(ends + index, O_CLOEXEC) != 0) {
            int error = errno;
            close_ends(ends, index);
            return error;
        }
    }
    pid_t parent = getpid();
    bool is_kept;
    int shown = own_terminal(&is_kept);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        close(ends[3]);
        become(arguments, environment, parent, ends[2], shown, is_kept);
        int error = errno;
        _exit(write(ends[5], &error, sizeof error) == sizeof error ? 127 : 126);
    }
    // Both processes do it, so that the group exists before either of them goes on.
    if (child > 0) {
        setpgid(child, child);
    }
    pid_t watcher = child > 0 ? fork() : -1;
    int error = watcher < 0 ? errno : 0;
    if (watcher == 0) {
        watch_over(child, deadline, ends[0]);
    }
    // Without a guard the command does not start.
    if (watcher > 0 && write(ends[3], "", 1) != 1) {
        error = errno;
    }
    close_ends((int[]){ends[0], ends[2], ends[3], ends[5]}, 4);
    // Executing the program closes the other end.
    ssize_t count = 0;
    int reported = 0;
    while (child > 0 && error == 0 && (count = read(ends[4], &reported, sizeof reported)) < 0 &&
           errno == EINTR) {
    }
    if (count == sizeof reported) {
        error = reported == 0 ? ECHILD : reported;
    }
    close(ends[4]);
    if (error != 0) {
        close(ends[1]);
        if (child > 0) {
            kill(child, SIGKILL);
            latchkey_machine_child_wait(child);
        }
        if (watcher > 0) {
            latchkey_machine_child_wait(watcher);
        }
        latchkey_machine_terminal_take_back(shown, child);
        return error;
    }
    *terminal = shown;
    *identifier = child;
    *guard = watcher;
    *control = ends[1];
    return 0;
}

void latchkey_machine_terminal_take_back(int terminal, int32_t group) {
    if (terminal < 0) {
        return;
    }
    // A shell may have given it to another job.
    if (tcgetpgrp(terminal) == group) {
        take_terminal(terminal, getpgrp());
    }
    close(terminal);
}

int32_t latchkey_machine_child_stop(int32_t identifier) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int flags = WSTOPPED | WNOHANG;
    return waitid(P_PID, (id_t)identifier, &info, flags) == 0 && info.si_pid == identifier
               ? info.si_status
               : 0;
}

bool latchkey_machine_child_has_ended(int32_t identifier) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int flags = WEXITED | WNOHANG | WNOWAIT;
    return waitid(P_PID, (id_t)identifier, &info, flags) == 0 && info.si_pid == identifier;
}
