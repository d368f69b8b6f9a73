"""Clocks that jump, places without write access, endless readers, SIGTERM."""

import collections
import datetime
import email.utils
import json
import os
import pathlib
import sqlite3
import subprocess
import time

import disks
import kill
import load
import shim
from process import PATIENCE_SECONDS, Failure, Refused, await_true
from service import STRATEGIES, Service

DAY = 86400
LOG_BYTES_MAX = 4 << 20
# The bytes that one batch may add beyond the limit, and that the size's readers may miss.
LOG_BYTES_SLACK = 8 << 20
PLANTS = {}


def run(arguments, scratch):
    lines, failures = [], []
    for name, case in (("clock", clock), ("read-only", read_only), ("reader", reader),
                       ("full", disks.full), ("bound", disks.bound), ("low", disks.low),
                       ("gone", disks.gone), ("hang", disks.hang), ("held", disks.held),
                       ("sigterm", sigterm), ("second", second)):
        if arguments.only and name not in arguments.only:
            continue
        folder = scratch / name
        folder.mkdir()
        try:
            lines.append(f"{name}: {case(arguments, folder)}")
        except disks.NotTried as reason:
            lines.append(f"{name}: not tried, since {reason}")
        except (Failure, Refused) as failure:
            failures.append(f"{name}: {failure}")
    if failures:
        raise Failure("; ".join(failures + lines))
    return "; ".join(lines)


def clock(arguments, folder):
    """A clock that is set back brings no expired property back, and removes no other."""
    control = shim.Control(folder / "control")
    environment = shim.environment(arguments.library, folder.resolve(), control=control.path)

    def start():
        return Service(arguments.binary, folder / "data", *arguments.option, log=folder / "log",
                       environment=environment)

    def status(service, name):
        return service.ask("GET", load.path(name), expect=(200, 404))[0]

    def expect(service, when, **names):
        for name, expected in names.items():
            if status(service, name) != expected:
                raise Failure(f"{when}: {name} is not {expected}")

    with start() as service:
        for name, query in (("short", "?ttl=1.5"), ("long", "?ttl=7200"), ("plain", "")):
            service.ask("PUT", load.path(name) + query, "1")
        for days in (-1, 2, 0):
            control.shift_clock(days * DAY)
            expect(service, f"the clock jumped by {days} days", long=200, plain=200)
        control.shift_clock(-DAY)
        shown = email.utils.parsedate_to_datetime(service.ask("GET", "/healthz")[1]["Date"])
        behind = datetime.datetime.now(datetime.timezone.utc) - shown
        if abs(behind.total_seconds() - DAY) > 60:
            raise Failure(f"the clock of the service was not changed ({behind})")
        time.sleep(2)
        expect(service, "the clock is a day back", short=404, long=200, plain=200)
        service.kill()
    with start() as service:
        expect(service, "a restart with the clock a day back", short=404, long=200, plain=200)
        left = float(service.ask("GET", load.path("long"))[1]["Latchkey-TTL"])
        if not 7000 < left <= 7200:
            raise Failure(f"a restart with the clock a day back: long has {left} s")
        service.ask("PUT", load.path("second") + "?ttl=1", "1")
        time.sleep(1.5)
        expect(service, "a property made with the clock a day back", second=404, long=200)
        service.kill()
    control.shift_clock(2 * DAY)
    with start() as service:
        expect(service, "a restart two days later", short=404, long=404, plain=200)
        check_times(service)
        service.kill()
    control.shift_clock(0)
    with start() as service:
        expect(service, "a restart, two days back again", short=404, long=404, plain=200)
        service.ask("PUT", load.path("third") + "?ttl=1", "1")
        time.sleep(1.5)
        expect(service, "the clock is behind the last commit", third=404)
        if "the clock is behind the last change" not in (folder / "log").read_text():
            raise Failure("the log does not say that the clock is behind the last change")
        check_times(service)
    return "4 lives, jumps by a day back and two days on"


def check_times(service):
    times = [each["time"] for each in service.changes(None)[0]]
    if times != sorted(times):
        raise Failure(f"the times of the history go back: {times}")


def read_only(arguments, folder):
    """The start is refused with a message: the service could not keep anything."""
    with Service(arguments.binary, folder / "data", log=folder / "log") as service:
        service.ask("PUT", load.path("a"), "1")
        service.end()
    (folder / "file").write_text("no folder")
    # The superuser may write everywhere, so another user starts the service.
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] \
        if os.getuid() == 0 else []
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != pathlib.Path("/tmp"):
            parent.chmod(0o755)
    for path in (folder / "data").iterdir():
        path.chmod(0o444)
    (folder / "data").chmod(0o555)
    sentences = []
    for data in (folder / "data", folder / "missing", folder / "file"):
        command = [*other, str(arguments.binary), "serve", "--port", "0", "--data", str(data)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=PATIENCE_SECONDS, text=True)
        except subprocess.TimeoutExpired:
            raise Failure(f"the service starts on {data}, which it cannot write to") from None
        last = (done.stderr.strip().splitlines() or [""])[-1]
        if done.returncode <= 0 or str(data) not in last:
            raise Failure(f"{data}: status {done.returncode}, {done.stderr[-400:]}")
        sentences.append(last.rpartition(str(data))[2][:60])
    (folder / "data").chmod(0o755)
    return f"{len(sentences)} refusals"


def reader(arguments, folder):
    """An endless transaction of sqlite3: the log stays within its limit, and shrinks later."""
    counts = collections.Counter()
    subject = kill.Folder(arguments, folder / "folder", 0, counts,
                          limits={"max-wal-bytes": LOG_BYTES_MAX})
    log = folder / "folder" / "data" / "latchkey.db-wal"
    seen = []

    def hold(running):
        database = sqlite3.connect(f"file:{log.with_name('latchkey.db')}?mode=ro", uri=True)
        database.execute("begin")
        database.execute("select count(*) from changes").fetchone()
        await_true("writes are held at the bound",
                   lambda: watch_size() and not subject.service.is_ready())
        subject.service.ask("PUT", load.path("quiet"), "1", expect=(503,))
        time.sleep(0.5)
        seen.append(log.stat().st_size)
        # Reads are not affected.
        subject.service.ask("GET", load.path("quiet"), expect=(404,))
        database.close()
        since = time.monotonic_ns()
        await_true("writes go on after the reader has gone", lambda: any(
            each.fate == load.MADE and each.begin > since
            for client in running.clients for each in client.outcomes[-50:]))
        for _ in range(20):
            time.sleep(0.1)
            watch_size()

    def watch_size():
        seen.append(log.stat().st_size)
        if seen[-1] > LOG_BYTES_MAX + LOG_BYTES_SLACK:
            raise Failure(f"the log has {seen[-1]} bytes, and the bound is {LOG_BYTES_MAX}")
        return True

    try:
        subject.round("lock", hold)
    finally:
        subject.close()
    return f"at most {max(seen)} bytes of {LOG_BYTES_MAX}, {counts['commits']} commits"


def sigterm(arguments, folder):
    """An end under load loses nothing, with status 0."""
    counts = collections.Counter()
    subject = kill.Folder(arguments, folder / "folder", 0, counts)

    def end(running):
        # The service is stopped while properties expire, which are commits without a request.
        for number in range(200):
            outcome = load.Outcome(next(subject.tokens), "put", "PUT", load.path(
                f"t/e{number}") + f"?ttl={0.3 + number * 0.005:.3f}", "", puts={})
            outcome.body = json.dumps(value := load.text_value(outcome.token, 0))
            outcome.puts = {f"t/e{number}": value}
            outcome.take(*subject.service.ask(outcome.method, outcome.path, outcome.body))
            running.clients[0].outcomes.append(outcome)
        status = subject.service.end()
        if status != 0:
            raise Failure(f"status {status}: {subject.service.last_words()}")
        return True

    try:
        for number in range(arguments.terms):
            subject.round(STRATEGIES[number % 4], end)
    finally:
        subject.close()
    return f"{arguments.terms} ends, {counts['commits']} commits"


def second(arguments, folder):
    """Another process on the same folder is refused, and changes nothing."""
    with Service(arguments.binary, folder / "data", log=folder / "log") as service:
        service.ask("PUT", load.path("a"), "1")
        try:
            with Service(arguments.binary, folder / "data", log=folder / "log2"):
                raise Failure("a second process starts on the folder")
        except Refused as refused:
            if refused.status <= 0 or str(folder / "data") not in refused.log:
                raise Failure(f"no sentence: {refused}") from None
        service.ask("PUT", load.path("a"), "2")
        service.kill()
    with Service(arguments.binary, folder / "data", log=folder / "log") as service:
        if service.ask("GET", load.path("a"))[2] != b"2":
            raise Failure("the first process lost a write")
    return "refused"


