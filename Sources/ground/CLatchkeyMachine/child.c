// Child processes that end with their parent, and files without a name.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CLatchkeyMachine.h"

static void close_pipe(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

// The child's part: other threads do not exist here and may have held any lock, so only what
// signal-safety(7) lists may be called. Returns if the program cannot be executed.
static void become(const char *path, char *const *arguments, char *const *environment, int input,
                   pid_t parent, int output) {
    // The parent may have died before the call: then nothing would be sent.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        return;
    }
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    // A group of its own: signals of a terminal reach the parent, which decides.
    if (nowhere < 0 || setpgid(0, 0) != 0 || dup2(input < 0 ? nowhere : input, 0) < 0 ||
        dup2(output, 1) < 0 || dup2(nowhere, 2) < 0) {
        return;
    }
    // A program would inherit that these two signals are ignored, which only this one wants.
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        execve(path, arguments, environment);
    }
}

int latchkey_machine_child_start(const char *path, char *const *arguments, char *const *environment,
                                 int input, int32_t *identifier, int *output) {
    int printed[2];
    int failed[2];
    if (pipe2(printed, O_CLOEXEC) != 0) {
        return errno;
    }
    if (pipe2(failed, O_CLOEXEC) != 0) {
        int error = errno;
        close_pipe(printed);
        return error;
    }
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        become(path, arguments, environment, input, parent, printed[1]);
        int error = errno;
        _exit(write(failed[1], &error, sizeof error) == sizeof error ? 127 : 126);
    }
    int error = child < 0 ? errno : 0;
    close(failed[1]);
    close(printed[1]);
    // Executing the program closes the other end.
    ssize_t count = 0;
    while (child > 0 && (count = read(failed[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (child > 0 && count == sizeof error) {
        latchkey_machine_child_wait(child);
        error = error == 0 ? ECHILD : error;
    }
    close(failed[0]);
    if (error != 0) {
        close(printed[0]);
        return error;
    }
    *identifier = child;
    *output = printed[0];
    return 0;
}

int latchkey_machine_child_wait(int32_t identifier) {
    int status;
    while (waitpid(identifier, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void latchkey_machine_child_reap(int32_t kept, int32_t also_kept) {
    siginfo_t info;
    do {
        memset(&info, 0, sizeof info);
        // Looks, and leaves the child to be waited for.
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == kept || info.si_pid == also_kept) {
            return;
        }
    } while (waitpid(info.si_pid, NULL, WNOHANG) == info.si_pid);
}

int latchkey_machine_memory_file(const char *name) {
    return memfd_create(name, MFD_CLOEXEC);
}
