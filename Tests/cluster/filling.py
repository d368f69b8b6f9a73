"""Replicas with full disks, while clients write to all of them.

First one replica: it falls behind, takes no writes, shows no old state, and the others answer every
write. Then two of three: writes that store something are refused with 507, and deletions are made.
Each time there is room again in the end, and all replicas have the same state. Each disk is a small
file system in memory, in a mount namespace that a process holds, and ballast fills it. Where that
is not possible, the calls that write fail instead.
"""

import bisect
import collections
import contextlib
import http.client
import json
import os
import subprocess
import threading
import time

import replicas
import shim
from clients import JSON, path
from faults import STALE_SECONDS
from process import PATIENCE_SECONDS, Failure, await_true, expect

DISK_BYTES, PIECE_BYTES = 96 << 20, 1 << 16
# More than a replica keeps in memory while its disk is full.
LONG_COUNT, LONG_BYTES = 64, 200_000
NAMES, REMOVED = 4, 24
OUT_OF_ROOM = "/problems/disk-full"


class SmallDisk:
    """The disk of a replica; only its process sees it."""

    def __init__(self, replica):
        self.path = replica.path
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c",
             f'mount -t tmpfs -o size={DISK_BYTES} tmpfs "$1" && echo && exec cat', "sh",
             self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.is_made = bool(self.holder.stdout.readline())
        self.inside = ("nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt")
        self.ballast = f"/proc/{self.holder.pid}/root{self.path}/ballast"

    def fill(self):
        with open(self.ballast, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(PIECE_BYTES))

    def empty(self):
        os.unlink(self.ballast)

    def close(self):
        self.holder.communicate()


class FailingDisk:
    """A disk whose calls fail as if it were full."""

    def __init__(self, replica):
        self.control = replica.control

    def fill(self):
        self.control.arm("write", "no-space", count=shim.ALWAYS)

    def empty(self):
        self.control.disarm()

    def close(self):
        pass


class Cluster(replicas.Cluster):
    """A cluster whose replicas have small disks."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.disks = [SmallDisk(replica) for replica in self.replicas]
        self.are_small = all(disk.is_made for disk in self.disks)
        for replica, disk in zip(self.replicas, self.disks if self.are_small else ()):
            replica.inside, replica.library = disk.inside, None
        if not self.are_small:
            self.close_disks()
            self.disks = [FailingDisk(replica) for replica in self.replicas]

    def kill(self):
        super().kill()
        self.close_disks()

    def close_disks(self):
        for disk in self.disks:
            disk.close()


class Write:
    """One request: its put, when it was sent and answered, and its status."""

    def __init__(self, replica, name, number):
        self.replica, self.name, self.number = replica, name, number
        self.begin, self.end, self.status = time.monotonic_ns(), None, None

    is_made = property(lambda self: self.status in (200, 201, 204))
    # It is not made, and will not be.
    is_refused = property(lambda self: self.status in (503, 507))

    def __repr__(self):
        return f"{self.name}={self.number} at replica {self.replica}, answered {self.status}"


class Talker(threading.Thread):
    """Sends one request after the other, to one replica."""

    def __init__(self, replica):
        super().__init__(daemon=True)
        self.replica, self.is_stopped, self.error = replica, threading.Event(), None
        self.connection = http.client.HTTPConnection(
            replica.host, replica.port, timeout=PATIENCE_SECONDS)

    def run(self):
        try:
            while not self.is_stopped.is_set():
                self.step()
        except Exception as error:  # noqa: BLE001
            self.error = error
        self.connection.close()

    def ask(self, method, target, body=None):
        self.connection.request(method, target, body, JSON if body else {})
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def finish(self):
        self.is_stopped.set()
        self.join(PATIENCE_SECONDS)
        if self.error or self.is_alive():
            raise Failure(f"{type(self).__name__} of replica {self.replica.number}: {self.error}")


class Writer(Talker):
    """Puts increasing numbers, to names of its own."""

    def __init__(self, replica):
        super().__init__(replica)
        self.writes, self.made_count = [], 0

    def step(self):
        number = len(self.writes) + 1
        name = f"w/{self.replica.number}/{number % NAMES}"
        self.writes.append(each := Write(self.replica.number, name, number))
        status, _, text = self.ask("PUT", path(name), str(number))
        if status == 507:
            expect("the problem", json.loads(text)["type"], OUT_OF_ROOM)
        each.end, each.status = time.monotonic_ns(), status
        self.made_count += each.is_made
        if not each.is_made:
            # After a refusal, the next request waits a moment.
            self.is_stopped.wait(0.02)


class Reader(Talker):
    """Reads another writer's property at one replica; records the time, the age and the number."""

    def __init__(self, replica, other):
        super().__init__(replica)
        self.name, self.reads, self.refused_count = f"w/{other.number}/0", [], 0

    def step(self):
        begin = time.monotonic_ns()
        status, headers, text = self.ask("GET", path(self.name))
        if status == 200:
            self.reads.append((begin, float(headers["Latchkey-Age"]), self.name, int(text)))
        elif status == 503:
            self.refused_count += 1
        elif status != 404:
            raise Failure(f"a read was answered {status}: {text[:200]!r}")
        self.is_stopped.wait(0.01)


class Fill:
    def __init__(self, cluster, choose, count):
        self.cluster, self.count = cluster, count
        self.one_nanoseconds, self.most = 0, []
        # The replica that always has room, the one whose disk is full first, and the third one.
        self.order = choose.sample(range(3), 3)
        self.writers = [Writer(replica) for replica in cluster.replicas]
        self.reader = Reader(*(cluster.replicas[number] for number in self.order[1::-1]))

    def run(self):
        # For the later deletions.
        last = self.cluster.replicas[self.order[0]]
        for number in range(REMOVED):
            last.ask("PUT", path(f"d/{number}"), "1")
        self.cluster.await_stored()
        talkers = [*self.writers, self.reader]
        for each in talkers:
            each.start()
        try:
            self.await_writes(self.writers)
            self.fill_one()
            self.most = [time.monotonic_ns()]
            self.fill_most()
            self.await_writes(self.writers)
            self.most.append(time.monotonic_ns())
        finally:
            for each in talkers:
                each.is_stopped.set()
        for each in talkers:
            each.finish()

    def await_writes(self, writers, count=10):
        """Waits until each has `count` more acknowledged writes."""
        wanted = [writer.made_count + count for writer in writers]
        for writer, least in zip(writers, wanted):
            await_true(lambda writer=writer: f"writes at replica {writer.replica.number}: "
                       f"{writer.writes[-1]}, {writer.error}",
                       lambda writer=writer, least=least: writer.made_count >= least
                       or not writer.is_alive())

    def fill(self, number):
        """Fills it until no write has room, also the room that is reserved for deletions."""
        replica, disk = self.cluster.replicas[number], self.cluster.disks[number]
        await_true("a replica with a full disk is not ready",
                   lambda: disk.fill() or replica.status_of("/readyz") == 503)

    def await_known(self, where, count):
        await_true(f"{count} full disks are known", lambda: count == sum(
            each["isFull"] for each in where.ask_json("/v1/cluster")["cluster"]["replicas"]))

    def await_room(self, *numbers):
        for number in numbers:
            self.cluster.disks[number].empty()
        for number in numbers:
            await_true("a replica is ready when its disk has room",
                       self.cluster.replicas[number].is_ready)

    def fill_one(self):
        """It falls behind. The others answer every write."""
        other, full = (self.cluster.replicas[number] for number in self.order[:2])
        others = [each for each in self.writers if each.replica is not full]
        begin = time.monotonic_ns()
        self.fill(full.number)
        for _ in range(LONG_COUNT):
            other.ask("PUT", path("long"), f'"{"x" * LONG_BYTES}"', JSON)
        await_true("a replica that stands still refuses reads", lambda: self.reader.refused_count
                   or self.reader.error)
        revision = other.ask("GET", "/v1/count")[1]["Latchkey-Revision"]
        for query in ("", "?consistency=linearizable", f"?min-revision={revision}"):
            expect_problem(full, "GET", path("w/0/0") + query, None, 503, "/problems/not-level")
        # It would not learn their outcome.
        expect_problem(full, "PUT", path("p"), "1", 507, OUT_OF_ROOM)
        expect_problem(full, "DELETE", path("d/0"), None, 507, OUT_OF_ROOM)
        self.await_known(other, 1)
        self.await_writes(others, self.count)
        expect("the status of the others", {each.replica.status_of("/readyz") for each in others},
               {200})
        expect("the status of the full one", full.status_of("/readyz"), 503)
        self.one_nanoseconds = time.monotonic_ns() - begin
        self.await_room(full.number)
        self.await_writes(self.writers)

    def fill_most(self):
        """Writes that store something are refused, and deletions are made."""
        one, *full = (self.cluster.replicas[number] for number in self.order)
        for replica in full:
            self.cluster.disks[replica.number].fill()
        self.await_known(one, 2)
        await_true("writes are refused while most disks are full",
                   lambda: one.ask("PUT", path("p"), "1", JSON, expect=None)[0] == 507)
        removed = {"then": [{"delete": "d/1"}, {"pop": "d/2"}]}
        stored = {"then": [{"delete": "d/0"}, {"put": "p", "value": 1}]}
        for target, method, body in (
                (path("p"), "PUT", 1), (path("n") + "/increment", "POST", {"by": 1}),
                (path("d/0") + "/touch?ttl=9", "POST", None),
                ("/v1/transactions", "POST", stored)):
            expect_problem(one, method, target, body and json.dumps(body), 507, OUT_OF_ROOM)
        expect("a transaction that removes", one.ask(
            "POST", "/v1/transactions", json.dumps(removed), JSON)[0], 200)
        for number in range(3, REMOVED):
            expect("a deletion", one.ask("DELETE", path(f"d/{number}"), expect=None)[0], 204)
        expect("a read", one.ask("GET", path("d/0") + "?consistency=linearizable")[0], 200)
        expect("the status of the last one", one.status_of("/readyz"), 200)
        said = one.ask("GET", "/readyz?verbose")[2].decode()
        if "The disks of most replicas are full" not in said:
            raise Failure(f"/readyz?verbose does not say what is full: {said}")
        self.await_room(*(replica.number for replica in full))


def expect_problem(replica, method, target, body, status, problem):
    found, _, text = replica.ask(method, target, body, JSON if body else {}, expect=None)
    expect(f"{method} {target}", (found, json.loads(text).get("type") if text else None),
           (status, problem))


def run(cluster, choose, count, _disturb):
    """Returns figures, and the requests with their answers."""
    fill = Fill(cluster, choose, count)
    fill.run()
    export, (changes, _) = cluster.settle()
    rows = {row["name"]: row["value"] for row in map(json.loads, export.splitlines()[:-1])}
    expect("what is left of what was removed", [name for name in rows if name[0] == "d"], ["d/0"])
    writes = [each for writer in fill.writers for each in writer.writes]
    recorded = (writes, numbers(changes), fill.reader.reads, fill.order[1], fill.most)
    judge(*recorded)
    made = sum(each.is_made for each in writes)
    return (f"{made} of {len(writes)} writes made, {len(fill.reader.reads)} reads, one full for "
            f"{fill.one_nanoseconds / 1e9:.1f} s, two full for "
            f"{(fill.most[1] - fill.most[0]) / 1e9:.1f} s"
            + ("" if cluster.are_small else ", by failing calls: no disk can be made"), recorded)


def numbers(changes):
    """The puts, in their order: names and numbers."""
    return [(effect["name"], effect["value"]) for change in changes
            for effect in change["effects"] if effect["name"].startswith("w/")]


def judge(writes, changes, reads, full, most):
    if len(set(changes)) != len(changes):
        raise Failure("a write was made twice")
    there = set(changes)
    for each in writes:
        if each.is_made and (each.name, each.number) not in there:
            raise Failure(f"was acknowledged, and is not there: {each}")
        if each.is_refused and (each.name, each.number) in there:
            raise Failure(f"was refused, and is there: {each}")
        if not each.is_made and each.replica != full and not most[0] < each.begin < most[1]:
            raise Failure(f"a replica whose disk has room does not answer a write: {each}")
    made = collections.defaultdict(list)
    for each in writes:
        if each.is_made:
            made[each.name].append((each.end, each.number))
    for begin, age, name, number in reads:
        if age > STALE_SECONDS:
            raise Failure(f"a replica shows a state that is {age} s old")
        # It must contain the writes that were acknowledged before.
        before = made[name][:bisect.bisect(made[name], (begin - age * 1e9,))]
        if before and before[-1][1] > number:
            raise Failure(f"{number} is shown with an age of {age} s, and {before[-1]} is newer")


def lost(writes, changes, *others):
    return writes, changes[:-1], *others


def doubled(writes, changes, *others):
    return writes, changes + changes[:1], *others


def refused(writes, *others):
    return [answered(each, 507) if each is writes[0] else each for each in writes], *others


def unanswered(writes, changes, reads, full, most):
    number = next(index for index, each in enumerate(writes) if each.replica != full)
    return ([answered(each, 500) if index == number else each
             for index, each in enumerate(writes)], changes, reads, full, most)


def answered(write, status):
    other = Write(write.replica, write.name, write.number)
    other.begin, other.end, other.status = write.begin, write.end, status
    return other


def old(writes, changes, reads, *others):
    *former, (begin, _, name, number) = reads
    return writes, changes, [*former, (begin, 9.0, name, number)], *others


def stale(writes, changes, reads, *others):
    *former, (begin, age, name, _) = reads
    return writes, changes, [*former, (begin, age, name, 0)], *others


PLANTS = {"an acknowledged write is lost": lost, "a write that is made twice": doubled,
          "a refused write that is made": refused, "a write without an answer": unanswered,
          "a read of an old state": old, "a read that is older than it says": stale}
