"""The life of the process in odd environments: its first moments, refusals, its last ones."""

import errno
import os
import socket
import subprocess
import sys

from process import PATIENCE_SECONDS, Failure, expect
from refusing import Absent, Refusal, apart, preloaded

# Runs after the dynamic linker's first calls, and before the program's first statement.
SIGNALS = """
#include <signal.h>
__attribute__((constructor)) static void send(void) { raise(SIGHUP); raise(SIGUSR1); }
"""

# Sends the libraries' messages for the journal to standard error.
SYSLOG = """
#include <stdarg.h>
#include <stdio.h>
static void show(const char *format, va_list list) {
    fputs("syslog: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\\n', stderr);
}
void vsyslog(int level, const char *format, va_list list) { (void)level; show(format, list); }
void __vsyslog_chk(int level, int flag, const char *format, va_list list) {
    (void)level;
    (void)flag;
    show(format, list);
}
"""

# Leaves a process behind whose parent has ended, and waits until it is gone: without end, if it
# stays as a zombie.
ORPHAN = """
import os, sys
reading, writing = os.pipe()
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            os.sched_yield()
        os.write(writing, b"%d " % os.getpid())
        os._exit(os.getppid() != 1)
    os._exit(0)
os.wait()
orphan = int(os.read(reading, 20))
while os.path.exists(f"/proc/{orphan}"):
    os.sched_yield()
sys.exit(7)
"""


def at_once(case, service):
    """Signals before the first statement act as those of a running service."""
    service.environment = {**os.environ, **preloaded(case.folder, SIGNALS, "signals.so")}
    with service:
        service.send(200, "GET", "/healthz")
        service.ends_well()


def without_proc(case, service):
    """Without /proc the program knows its arguments, and serves."""
    words = [*apart("--mount"), "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    done = subprocess.run([*words, case.binary, "--version"], capture_output=True, text=True,
                          timeout=PATIENCE_SECONDS, check=False)
    expect("the status of --version", (done.returncode, done.stderr), (0, ""))
    service.command = [*words, *service.command]
    with service:
        for page in ("/v1/contention", "/metrics", "/v1/overview"):
            service.send(200, "GET", page)
        service.ends_well()


def without_sysinfo(case, service):
    """The service does not call sysinfo(2): the call would kill it."""
    service.prepare = Refusal(("sysinfo", None))
    with service:
        service.send(200, "GET", "/v1/contention")
        service.ends_well()


def without_threads(case, service):
    """A program that gets no threads reports it and ends."""
    refusal = Refusal(("clone3", errno.ENOSYS), ("thread", errno.EAGAIN))
    for words, status in ((("serve", "--port", "0"), 1), (("compare", "--force"), 2)):
        done = subprocess.run([case.binary, *words], capture_output=True, text=True,
                              preexec_fn=refusal, timeout=PATIENCE_SECONDS, check=False)
        expect(f"the status of {words[0]} without threads", done.returncode, status)
        expect("the sentence", "does not allow" in done.stderr.replace("\n  ", " "), True)


def first_process(case, service):
    """As the first process of a container, `lock` leaves no zombies, and has its command's
    status."""
    words = apart("--pid", "--fork", "--kill-child", "--mount-proc")
    with service:
        done = subprocess.run(
            [*words, case.binary, "lock", "l", "--url", service.url, "--", sys.executable, "-c",
             ORPHAN], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        expect("the status of the command", (done.returncode, done.stderr), (7, ""))
        service.ends_well()


def journal(case, service):
    """libdispatch's message about priorities that it may not have does not reach the journal."""
    service.prepare = Refusal(("setpriority", errno.EPERM))
    variables = {**os.environ, **preloaded(case.folder, SYSLOG, "syslog.so")}
    for choice, is_told in (({"LIBDISPATCH_LOG": "YES"}, True), ({}, False)):
        service.environment = {**variables, **choice}
        with service:
            service.send(201, "PUT", "/v1/properties/a?ttl=3600", "1")
            service.send(204, "DELETE", "/v1/properties/a")
            service.ends_well()
        expect("something is told to the journal", "syslog:" in service.said(), is_told)


def slow_reader(case, service):
    """A requested end is a success, even if an answer was cut off."""
    service.command += ["--drain-seconds", "0", "--max-body-bytes", "32MiB"]
    with service, socket.socket() as reader:
        service.send(201, "PUT", "/v1/properties/a", '"%s"' % ("x" * (24 << 20)))
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(service.address)
        reader.sendall(b"GET /v1/properties/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        expect("the begin of an answer", reader.recv(4), b"HTTP")
        service.ends_well()
        if "answersCutOff=1" not in service.said():
            raise Failure(f"nothing was cut off: {service.said()}")


CASES = {"signals at the start": at_once, "without /proc": without_proc,
         "without sysinfo": without_sysinfo, "without threads": without_threads,
         "the first process": first_process, "the journal": journal,
         "a slow reader at the end": slow_reader}


def cases(make):
    """The cases, as run.py calls them; `make` makes a service that is not started."""
    def bound(check):
        def run(case):
            try:
                return check(case, make(case))
            except Absent as error:
                return f"NOT TRIED: {error}"
        return run
    return {name: bound(check) for name, check in CASES.items()}
