"""Clocks that jump, places that cannot be written to or are full, readers without end, SIGTERM."""

import collections
import concurrent.futures
import contextlib
import datetime
import email.utils
import itertools
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import threading
import time

import kill
import load
import shim
from process import PATIENCE_SECONDS, Failure, Refused, await_true
from service import STRATEGIES, Service

DAY = 86400
LOG_BYTES_MAX = 4 << 20
# What one batch may add beyond the bound, and what the readers of the size miss.
LOG_BYTES_SLACK = 8 << 20
DISK_BYTES = 48 << 20
PLANTS = {}


def run(arguments, scratch):
    lines, failures = [], []
    for name, case in (("clock", clock), ("read-only", read_only), ("reader", reader),
                       ("full", full), ("low", low), ("gone", gone), ("hang", hang),
                       ("held", held), ("sigterm", sigterm),
                       ("second", second)):
        if arguments.only and name not in arguments.only:
            continue
        folder = scratch / name
        folder.mkdir()
        try:
            lines.append(f"{name}: {case(arguments, folder)}")
        except (Failure, Refused) as failure:
            failures.append(f"{name}: {failure}")
    if failures:
        raise Failure("; ".join(failures + lines))
    return "; ".join(lines)


def clock(arguments, folder):
    """What has expired stays away when the clock is set back, and what has not stays."""
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
    """A refusal with a sentence, and not a service that cannot keep anything."""
    with Service(arguments.binary, folder / "data", log=folder / "log") as service:
        service.ask("PUT", load.path("a"), "1")
        service.end()
    (folder / "file").write_text("no folder")
    # The superuser may write everywhere: then it is another user who starts the service.
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
    """A transaction of sqlite3 that does not end: the log stays bounded, and shrinks later."""
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
        # Nothing of it touches reads.
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


def full(arguments, folder):
    """A small disk that is filled and emptied again, twice, with a kill in each state."""
    counts = collections.Counter()
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(mount, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
        return "not tried, since this user may not mount a disk"
    subject = None
    ballast = disk / "ballast"

    def fill(running):
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        # What was decided waits; what comes then is refused.
        await_true("the full disk is noticed", lambda: not subject.service.is_ready())
        problem = json.loads(subject.service.ask("PUT", load.path("quiet"), "1", expect=(507,))[2])
        if problem["type"] != "/problems/disk-full":
            raise Failure(f"a write on the full disk is answered {problem}")
        subject.service.ask("GET", load.path("quiet"), expect=(404,))

    def kill_full(running):
        fill(running)
        subject.service.kill()
        ballast.unlink()
        return True

    def empty(running):
        fill(running)
        ballast.unlink()
        since = time.monotonic_ns()
        await_true("writes go on when there is space", lambda: any(
            each.fate == load.MADE and each.begin > since
            for client in running.clients for each in client.outcomes[-50:]))

    try:
        subject = kill.Folder(arguments, disk / "folder", 0, counts)
        for strategy in ("lock", "actor"):
            subject.round(strategy, empty)
            subject.round(strategy, kill_full)
    finally:
        if subject:
            subject.close()
        subprocess.run(["umount", "--lazy", str(disk)], check=True, stdin=subprocess.DEVNULL)
    return f"filled 4 times, {counts['commits']} commits"


def low(arguments, folder):
    """A disk that the service fills: deletions make room, and nothing is lost or held."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(mount, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
        return "not tried, since this user may not mount a disk"
    data, values = disk / "data", {}
    value = json.dumps("v" * 200_000)

    def put(service, name):
        status, _, body = service.ask("PUT", load.path(name), value, expect=(201, 204, 507))
        if status == 507:
            if json.loads(body)["type"] != "/problems/disk-full":
                raise Failure(f"a full disk is answered {body}")
            return False
        values[name] = value
        return True

    def expect_values(service):
        found = {name: json.dumps(each[0]) for name, each in service.export()[0].items()}
        if found != values:
            raise Failure(f"{len(values)} values were acknowledged, and {len(found)} are there")

    def command(*words):
        done = subprocess.run([str(arguments.binary), *words, str(data)], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS, text=True)
        if done.returncode != 0:
            raise Failure(f"{words}: status {done.returncode}, {done.stderr}")
        return done.stdout

    try:
        with Service(arguments.binary, data, log=folder / "log") as service:
            number = 0
            for _ in range(4):
                while put(service, f"l/{number}"):
                    number += 1
                if service.is_ready() or (data / "latchkey.reserve").exists():
                    raise Failure("a low disk is ready, or keeps its reserve")
                for name in list(values):
                    service.ask("DELETE", load.path(name), expect=(200, 204))
                    del values[name]
                await_true("there is room again", service.is_ready)
            # Now a kill while it is low, and a larger disk.
            while put(service, f"l/{number}"):
                number += 1
            service.kill()
        size = f"remount,size={2 * DISK_BYTES}"
        subprocess.run(["mount", "-o", size, str(disk)], check=True, stdin=subprocess.DEVNULL)
        if "writes-fail" in (folder / "log").read_text():
            raise Failure("a write has failed, although the disk was only low")
        with Service(arguments.binary, data, log=folder / "log2") as service:
            expect_values(service)
            for name in list(values)[2:]:
                service.ask("DELETE", load.path(name), expect=(200, 204))
                del values[name]
            if (status := service.end()) != 0:
                raise Failure(f"the end has status {status}")
        said = command("compact")
        size = (data / "latchkey.db").stat().st_size
        if size > 1 << 20:
            raise Failure(f"after compact, the database has {size} bytes: {said}")
        command("check")
        with Service(arguments.binary, data, log=folder / "log3") as service:
            expect_values(service)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True, stdin=subprocess.DEVNULL)
    return f"filled 5 times with {number} values; {said.strip()}"


def gone(arguments, folder):
    """The folder is removed under writes, then syncs fail: what was acknowledged is exported."""
    control = shim.Control(folder / "control")
    environment = shim.environment(arguments.library, folder.resolve(), control=control.path)
    acknowledged, refused = {}, threading.Event()

    def write(service, worker):
        for number in itertools.count():
            name = f"g/{worker}/{number}"
            status = service.ask("PUT", load.path(name), str(number), expect=None)[0]
            if status == 503:
                return refused.set()
            if status < 300:
                acknowledged[name] = number
            elif status != 500:
                raise Failure(f"a write was answered {status}")

    with Service(arguments.binary, folder / "data", log=folder / "log",
                 environment=environment) as service, \
            concurrent.futures.ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(write, service, worker) for worker in range(4)]
        await_true("there are writes", lambda: len(acknowledged) > 100)
        shutil.rmtree(folder / "data")
        # Files without a name take them.
        count = len(acknowledged)
        await_true("writes go on", lambda: refused.is_set() or len(acknowledged) > count + 100)
        control.arm("sync", "io-error", count=shim.ALWAYS)
        for worker in workers:
            worker.result(PATIENCE_SECONDS)
        if service.is_ready() or service.status_of("/healthz") != 200:
            raise Failure("/readyz must be 503, and /healthz 200")
        exported = service.export()[0]
        lost = [name for name, value in acknowledged.items()
                if exported.get(name, (None,))[0] != value]
        if lost:
            raise Failure(f"{len(lost)} acknowledged values are not exported, such as {lost[0]}")
        service.ask_to_end()
        if (status := service.process.wait(PATIENCE_SECONDS)) != 1:
            raise Failure(f"the end has status {status}")
    return f"{len(acknowledged)} acknowledged, {len(exported)} exported"


def hang(arguments, folder):
    """A sync without an end: the service is not ready, and who waits is answered in time."""
    control = shim.Control(folder / "control")
    environment = shim.environment(arguments.library, folder.resolve(), control=control.path)
    with Service(arguments.binary, folder / "data", "--answer-timeout-seconds", "1",
                 log=folder / "log", environment=environment) as service:
        service.ask("PUT", load.path("kept"), "1")
        control.arm("sync", "held", place="log", count=shim.ALWAYS)
        for method, body, status, problem in (("PUT", "2", 500, "outcome-unknown"),
                                              ("GET", None, 503, "timed-out")):
            answer = service.ask(method, load.path("held"), body, expect=(status,))[2]
            if not json.loads(answer)["type"].endswith(problem):
                raise Failure(f"{method} is answered {answer}")
        await_true("/readyz is 503", lambda: service.status_of("/readyz") == 503)
        service.ask("GET", load.path("kept"), expect=(200,))
        await_true("the log says it", lambda: "disk-hangs" in service.said())
        control.disarm()
        await_true("/readyz is 200 again", service.is_ready)
        service.ask("GET", load.path("held"), expect=(200,))
        service.kill()
    return "500 and 503 in time"


def held(arguments, folder):
    """A write that finds no space: who waits is answered in time, and it is made later."""
    control = shim.Control(folder / "control")
    environment = shim.environment(arguments.library, folder.resolve(), control=control.path)
    with Service(arguments.binary, folder / "data", "--answer-timeout-seconds", "1",
                 log=folder / "log", environment=environment) as service:
        control.arm("write", "no-space", place="log", count=shim.ALWAYS)
        for method, body, status, problem in (("PUT", "2", 500, "outcome-unknown"),
                                              ("GET", None, 503, "disk-full")):
            answer = service.ask(method, load.path("held"), body, expect=(status,))[2]
            if not json.loads(answer)["type"].endswith(problem):
                raise Failure(f"{method} is answered {answer}")
        service.ask("PUT", load.path("refused"), "1", expect=(507,))
        control.disarm()
        await_true("/readyz is 200 again", service.is_ready)
        if service.ask("GET", load.path("held"), expect=(200,))[2] != b"2":
            raise Failure("what was held is not made")
        service.ask("GET", load.path("refused"), expect=(404,))
        service.kill()
    return "500 and 503 in time"


def sigterm(arguments, folder):
    """The end under load loses nothing, with status 0."""
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


