"""The work of the clients: each worker is a thread that makes one call of a driver after the other.

The workers record their results, for the judge. They continue until `is_over`, whatever happens.
"""

import contextlib
import itertools
import random
import threading
import time

from drivers import CallError
from judge import END, Attempt, Followed, Grant, Pop, Write
from process import Failure, await_true

LOCKS = ("locks/a", "locks/b", "locks/c")
PAUSE_SECONDS_MAX = 0.05
KINDS = ("put", "increment", "merge", "transaction", "sum", "delete")
CANCELLED_OF_100, FORKED_OF_100 = 10, 20
# A producer makes no more while so many jobs wait. In the end, all are done.
WAITING_COUNT_MAX = 20


class Worker(threading.Thread):
    """Works with a driver until the driver or the run is over. `failure`: the error, if any."""

    numbers = itertools.count(1)

    def __init__(self, driver, records, is_over, seed, fork=None):
        super().__init__(name=f"{type(self).__name__} of {driver.name}", daemon=True)
        self.driver, self.records, self.is_over, self.fork = driver, records, is_over, fork
        self.random = random.Random(f"{seed} {self.name}")
        self.failure = None

    def run(self):
        try:
            while not self.is_over.is_set() and not self.driver.was_ended:
                self.work()
                self.is_over.wait(self.random.uniform(0, PAUSE_SECONDS_MAX))
        except CallError as error:
            if error.kind != "Died" or not self.driver.was_ended:
                self.failure = Failure(f"{self.name}: {error}")
        except Exception as error:  # noqa: BLE001
            self.failure = error

    def work(self):
        raise NotImplementedError

    def chance(self, of_100):
        return self.random.uniform(0, 100) < of_100

    def call(self, call, may_cancel=False, /, **arguments):
        """Makes a call; sometimes cancels a waiting one."""
        begun = self.driver.begin(call, **arguments)
        if may_cancel and self.chance(CANCELLED_OF_100):
            self.is_over.wait(self.random.uniform(0, 0.5))
            begun.cancel()
        return begun.result()

    def write(self, kind, name, call, /, **arguments):
        """Makes and records a write. Returns the record."""
        note = Write(self.driver.name, kind, name, "unknown")
        try:
            note.said = self.driver.call(call, **arguments)
            note.fate = "made"
        except CallError as error:
            note.fate, note.said = error.fate, str(error)
        finally:
            self.records.writes.append(note)
        return note


class Writer(Worker):
    """Writes of all kinds, each under a unique name, and a counter that all clients share."""

    def work(self):
        name = f"ops/{self.driver.name}/{next(self.numbers)}"
        kind = self.random.choice(KINDS)
        if kind == "put":
            options = {"if_absent": True} if self.chance(50) else {}
            note = self.write(kind, name, kind, name=name, value={"of": name}, **options)
            if note.fate == "made":
                self.check_read(name, {"of": name})
        elif kind == "increment":
            note = self.write(kind, name, kind, name=name, by=1)
            if note.fate == "made" and note.said != 1:
                self.records.wrong.append(f"{self.driver.name}: {name} is {note.said} at once")
        elif kind == "merge":
            self.write(kind, name, kind, name=name, patch={"of": name})
        elif kind == "transaction":
            note = self.write(
                kind, name, kind, then=[{"increment": name}, {"increment": "shared"}],
                when=[{"name": name, "absent": True}])
            if note.fate == "made" and not note.said["succeeded"]:
                # The answer says that the name exists, but only this call can have made it.
                self.records.wrong.append(f"{self.driver.name}: {name} was there before")
        elif kind == "sum":
            # With a mark of its own it would be a transaction.
            self.write(kind, name, "increment", name="shared", by=1)
        elif self.write("put", name, "put", name=name, value=1).fate == "made":
            note = self.write(kind, name, kind, name=name)
            if note.fate == "made" and note.said is False:
                self.records.wrong.append(f"{self.driver.name}: {name} was not there to delete")

    def check_read(self, name, value):
        with contextlib.suppress(CallError):
            found = self.driver.call("find", name=name)
            if found is None or found["value"] != value:
                self.records.wrong.append(
                    f"{self.driver.name}: {name} was written and reads as {found}")


class Locker(Worker):
    """Takes locks, writes under their guard, and gives them back."""

    def work(self):
        name = self.random.choice(LOCKS)
        # The command line takes at least a second.
        ttl = self.random.choice((1 if self.driver.client == "command-line" else 0.5, 1, 1, 2))
        try:
            # The wait is often longer than the time to live.
            lease = self.call("acquire", True, name=name, ttl=ttl, wait=10)
        except CallError:
            return
        grant = Grant(self.driver.name, name, lease["token"], time.monotonic(), 0)
        self.records.grants.append(grant)
        self.hold(grant, lease["lease"], ttl)

    def hold(self, grant, lease, ttl):
        # Sometimes for longer than one time to live: then the lease is renewed.
        until = time.monotonic() + ttl * self.random.choice((0.1, 0.2, 0.5, 1.5))
        while True:
            with contextlib.suppress(CallError):
                self.driver.call("transaction", then=[
                    {"put": f"fences/{grant.lock}", "value": grant.token}],
                    when=[{"name": grant.lock, "revision": grant.token}])
            if not self.look(grant, lease) or time.monotonic() > until:
                break
            self.is_over.wait(ttl * 0.1)
        if self.fork and self.chance(FORKED_OF_100):
            self.check_fork(lease)
        self.look(grant, lease)
        grant.end = min(grant.end, time.monotonic())
        with contextlib.suppress(CallError):
            self.driver.call("release", lease=lease)

    def look(self, grant, lease):
        """Whether the lease is still held."""
        if self.driver.client == "command-line":
            # The command line does not report the time left. Its tokens are judged.
            return True
        asked = time.monotonic()
        try:
            left = self.driver.call("remaining", lease=lease)
        except CallError:
            return False
        if left > 0:
            grant.end = max(grant.end, asked + left)
        return left > 0

    def check_fork(self, lease):
        """A child has no lease of its parent, and uses connections of its own."""
        child = self.fork(self.driver)
        left = child.call("remaining", lease=lease)
        released = child.call("release", lease=lease)
        if left > 0 or released:
            self.records.wrong.append(
                f"{child.name}: it has its parent's lease: {left} s left, released: {released}")
        writer = Writer(child, self.records, self.is_over, self.random.random())
        for _ in range(5):
            writer.work()
        child.end()


class Producer(Worker):
    """Makes jobs of both kinds."""

    def work(self):
        number = next(self.numbers)
        # The command line has no claims, and it may be the only client.
        for prefix in ("pops",) if self.driver.client == "command-line" else ("jobs", "pops"):
            name = f"{prefix}/{self.driver.name}/{number}"
            try:
                if self.driver.call("count", prefix=f"{prefix}/") >= WAITING_COUNT_MAX:
                    continue
            except CallError:
                continue
            self.write("put", name, "put", name=name, value=number, if_absent=True)
        self.is_over.wait(0.2)


class Jobber(Worker):
    """Does jobs: the transaction that ends a job also makes its effects."""

    def work(self):
        try:
            job = self.call("claim", True, jobs="jobs/", claims="claims/",
                            ttl=self.random.choice((0.5, 1)), wait=1)
        except CallError:
            return
        if job is None:
            return
        self.is_over.wait(self.random.choice((0, 0.05, 0.05, 1.5)))
        if self.chance(10):
            with contextlib.suppress(CallError):
                self.driver.call("abandon", lease=job["lease"])
            return
        mark = f"marks/{self.driver.name}/{next(self.numbers)}"
        attempt = Attempt(self.driver.name, job["name"], mark, "unknown")
        self.records.attempts.append(attempt)
        try:
            self.driver.call("finish", lease=job["lease"], steps=[
                {"increment": "done/" + job["name"]}, {"put": mark, "value": job["name"]}])
            attempt.fate = "made"
        except CallError as error:
            attempt.fate = error.fate
            # Otherwise the lease may be renewed, and no other attempt can begin.
            with contextlib.suppress(CallError):
                self.driver.call("abandon", lease=job["lease"])


class Popper(Worker):
    """Pops jobs. A job is lost if the answer is; then the call reports an unknown result.

    The result of a cancelled pop is given back, unless the faults continue; see `cancelled.py`.
    """

    def work(self):
        pop = Pop(self.driver.name, "unknown")
        self.records.pops.append(pop)
        try:
            found = self.call("pop", True, prefix="pops/", wait=1)
            pop.fate, pop.name = ("made", found["name"]) if found else ("refused", "")
        except CallError as error:
            pop.fate = "cancelled" if error.kind == "Cancelled" else error.fate


class Follower(Worker):
    """Follows changes until the last one."""

    def __init__(self, *arguments, watched, **options):
        super().__init__(*arguments, **options)
        self.note = Followed(self.driver.name, watched.get("names", ()),
                             tuple(watched.get("prefixes", ())), watched.get("after", 0),
                             watched.get("initial", False))
        self.watched = watched
        self.records.followed.append(self.note)

    def run(self):
        try:
            self.follow()
        except CallError as error:
            if error.kind != "Died" or not self.driver.was_ended:
                self.note.error = str(error)
        except Failure as failure:
            self.note.error = str(failure)

    def follow(self):
        watch = self.driver.call("watch", **self.watched)["watch"]
        is_in_state, has_end = self.note.is_initial, False
        while not has_end or is_in_state:
            event = self.driver.call("next", watch=watch)
            self.note.events.append(
                (event["type"], event["name"], event["revision"], event["value"]))
            has_end = has_end or event["name"] == END
            is_in_state = event["type"] == "gap" or is_in_state and event["type"] != "ready"
        self.note.is_whole = True
        self.driver.call("close_watch", watch=watch)


WATCHES = (
    {"prefixes": ["ops/", "jobs/"], "names": [END], "after": 0},
    {"prefixes": ["locks/", "claims/"], "names": ["shared", END], "initial": True},
    {"names": [END, "shared"], "after": 0},
)

# These continue when the faults are over.
LASTING = (Jobber, Follower)


def take_each_lock(driver):
    """In the end, each driver gets every lock."""
    for name in LOCKS:
        lease = await_true(f"{driver.name} gets {name}", lambda name=name: acquire(driver, name))
        driver.call("release", lease=lease["lease"])


def acquire(driver, name):
    """None if that fails: on a slow machine, an impatient driver may be too late."""
    with contextlib.suppress(CallError):
        return driver.call("acquire", name=name, ttl=10, wait=20)
    return None
