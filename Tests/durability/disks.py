"""Disks that are full, nearly full, removed, or hang."""

import collections
import concurrent.futures
import contextlib
import itertools
import json
import resource
import shutil
import subprocess
import threading
import time

import kill
import load
import shim
from process import PATIENCE_SECONDS, Failure, await_true, run
from service import Service

DISK_BYTES = 48 << 20
# Length of a file. The service logs less, and the database's log soon exceeds it.
LENGTH_BOUND = 1 << 18


class NotTried(Exception):
    """A case that this user, or this machine, cannot run."""


@contextlib.contextmanager
def small_disk(folder):
    disk = folder / "disk"
    disk.mkdir()
    make_disk("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", disk)
    try:
        yield disk
    finally:
        run("umount", "--lazy", disk)


def make_disk(*words):
    try:
        run(*words)
    except (Failure, OSError) as failure:
        raise NotTried(f"a disk cannot be made: {failure}") from None


def full(arguments, folder):
    """A small disk that is filled and emptied again, twice, with a kill in each state."""
    with small_disk(folder) as disk:
        return fill_and_empty(arguments, disk, Ballast(disk))


def bound(arguments, folder):
    """The same with a limit on the length of files, which needs no disk."""
    return fill_and_empty(arguments, folder, LengthBound())


class Ballast:
    """A file beside the data that takes all the room left."""

    def __init__(self, disk):
        self.path = disk / "ballast"

    def fill(self, _):
        with self.path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))

    def empty(self, _):
        self.path.unlink()


class LengthBound:
    """A file cannot be written beyond a length."""

    def fill(self, service):
        self._limit(service, LENGTH_BOUND)

    def empty(self, service):
        self._limit(service, resource.RLIM_INFINITY)

    def _limit(self, service, byte_count):
        if service.process.poll() is None:
            resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE,
                             (byte_count, resource.RLIM_INFINITY))


def fill_and_empty(arguments, disk, room):
    counts = collections.Counter()
    subject = kill.Folder(arguments, disk / "folder", 0, counts)

    def fill(running):
        room.fill(subject.service)
        # Decided changes wait; later ones are refused with 507. Before that, the condition fails.
        answers = []

        def is_refused():
            answers.append(subject.service.ask("PUT", load.path("quiet"), "1",
                                               {"If-Match": '"1"'}, expect=(412, 507)))
            return answers[-1][0] == 507

        await_true("the full disk is noticed", is_refused)
        problem = json.loads(answers[-1][2])
        if problem["type"] != "/problems/disk-full":
            raise Failure(f"a write on the full disk is answered {problem}")
        subject.service.ask("GET", load.path("quiet"), expect=(404,))

    def kill_full(running):
        fill(running)
        subject.service.kill()
        room.empty(subject.service)
        return True

    def empty(running):
        fill(running)
        room.empty(subject.service)
        since = time.monotonic_ns()
        await_true("writes go on when there is space", lambda: any(
            each.fate == load.MADE and each.begin > since
            for client in running.clients for each in client.outcomes[-50:]))

    try:
        for strategy in ("lock", "actor"):
            subject.round(strategy, empty)
            subject.round(strategy, kill_full)
    except (Failure, OSError) as failure:
        raise Failure(f"{failure}{subject.ending()}") from None
    finally:
        subject.close()
    return f"filled 4 times, {counts['commits']} commits"


def low(arguments, folder):
    """A disk that the service fills: deletions make room, and no write is lost or held."""
    with small_disk(folder) as disk:
        return fill_by_writing(arguments, folder, disk)


def fill_by_writing(arguments, folder, disk):
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

    with Service(arguments.binary, data, log=folder / "log") as service:
        number = 0
        for _ in range(4):
            while put(service, f"l/{number}"):
                number += 1
            if not service.is_ready() or (data / "latchkey.reserve").exists():
                raise Failure("a low disk is not ready, or keeps its reserve")
            for name in list(values):
                service.ask("DELETE", load.path(name), expect=(200, 204))
                del values[name]
            await_true("there is room again", lambda: put(service, f"l/{number}"))
            number += 1
        # Now a kill while the disk is low, and a larger disk.
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
    return f"filled 5 times with {number} values; {said.strip()}"


def gone(arguments, folder):
    """The folder is removed during writes, then syncs fail: acknowledged writes are exported."""
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
        # The removed files, which are still open, take them.
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
    """A sync without end: the service is not ready, and waiting clients are answered in time."""
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
    """A write that finds no space: waiting clients are answered in time, and it is made later."""
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
