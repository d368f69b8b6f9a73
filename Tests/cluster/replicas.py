"""Replicas and members of etcd as processes that are killed, stopped and started again."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import sys
import threading
import time

from process import Etcd, Failure, Latchkey, Refused, await_true, free_port

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "Tests/durability"))

import images  # noqa: E402
import shim  # noqa: E402

STRATEGIES = ("lock", "snapshot", "adaptive", "actor", "barrier-queue-async", "spin")
SKEWS = (0, 30, -30)


class Member(Etcd):
    """A member of etcd."""

    is_over = False

    def __init__(self, folder, number, network):
        self.number, self.node = number, f"m{number}"
        super().__init__(folder / self.node, None, self.node, network.host(self.node),
                         network.inside(self.node))

    def start(self, members):
        if self.is_over:
            raise Failure("the campaign has ended")
        with open(f"{self.folder}.log", "ab") as self.log:
            super().start(members)

    def ask(self, path, body=None, seconds=3):
        """Asks the JSON gateway. Returns None if there is no answer."""
        try:
            return super().ask(path, body, seconds)
        except (OSError, http.client.HTTPException, ValueError, Failure):
            return None

    def is_healthy(self):
        return (self.ask("/health") or {}).get("health") == "true"


class Replica(Latchkey):
    """`latchkey serve --cluster` with a folder of its own."""

    is_over = False
    # Further options of the command line, and the headers of each request.
    options, headers = (), {}
    # The words before its command that make it run on its node.
    inside = ()
    # The values of LATCHKEY_LIMITS, by their names.
    limits = {}

    def __init__(self, binary, folder, number, members, network, library):
        super().__init__(binary, log=folder / f"r{number}.log")
        self.binary, self.folder, self.number = binary, folder, number
        self.node, self.network, self.library = f"r{number}", network, library
        self.host = network.host(self.node)
        self.members = ",".join(each.url for each in members)
        # Its own address is one of its options.
        self.port = free_port()
        self.lock, self.variant = threading.Lock(), ""
        self.path, self.record = folder / f"disk{number}", folder / f"record{number}"
        self.path.mkdir()
        self.control = shim.Control(folder / f"control{number}")
        # The content that the disk has in any case.
        self.disk = None

    def start(self, strategy, skew):
        try:
            self.begin(strategy, skew)
            self.await_ready()
        except Refused as refused:
            raise Failure(f"replica {self.number}: {refused}") from None

    def begin(self, strategy, skew):
        """Starts it without waiting: until etcd answers, it answers only /readyz."""
        if self.is_over:
            raise Failure("the campaign has ended")
        self.variant = f"{strategy}{f' {skew:+d} s' if skew else ''}"
        library = self.watch_disk(skew) if self.library else {}
        self.command = [str(word) for word in (
            *self.network.inside(self.node), *self.inside,
            "env", *(f"{name}={value}" for name, value in library.items()),
            self.binary, "serve", "--host", self.host, "--port", self.port,
            # Addresses other than loopback need it, or tokens.
            *(["--insecure"] if self.network.can_cut else []),
            "--data", self.path / "data",
            "--cluster", self.members, "--cluster-url", f"http://{self.host}:{self.port}",
            "--history-bytes", "256MiB", "--client-share", "1/1", "--log-level", "info",
            "--strategy", strategy, *self.options)]
        self.environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", **(
            {"LATCHKEY_LIMITS": ",".join(f"{name}={value}" for name, value in
                                         self.limits.items())} if self.limits else {})}
        self.launch()
        self.url = f"http://{self.host}:{self.port}"

    def watch_disk(self, skew):
        """The environment for faults of its disk, and for a calendar of its own."""
        self.disk = images.Disk(self.path)
        self.disk.begin()
        self.record.unlink(missing_ok=True)
        self.control.disarm()
        self.control.shift_clock(skew)
        return shim.environment(self.library, self.path, self.record, self.control.path)

    def ask(self, method, path, body=None, headers=None, **others):
        return super().ask(method, path, body, {**self.headers, **(headers or {})}, **others)

    def is_ready(self):
        if not self.is_running():
            raise Failure(f"replica {self.number} ended by itself, {self.process.returncode}: "
                          f"{self.last_words()}")
        return super().is_ready()

    def end(self, statuses=(0,)):
        """Ends it with SIGTERM: requests that it has taken are answered."""
        status = super().end()
        if status not in statuses:
            raise Failure(f"replica {self.number} ended with {status}: {self.last_words()}")

    def forget(self):
        """Removes its data."""
        self.kill()
        shutil.rmtree(self.path / "data")

    def lose_power(self, choose):
        """Kills it, and its disk keeps only synced data. Returns how the rest was chosen."""
        self.kill()
        for entry in images.read_record(self.record):
            self.disk.advance(entry)
        image = self.folder / f"image{self.number}"
        pattern = self.disk.write_image(image, choose, choose.random() < 0.5)
        shutil.rmtree(self.path)
        image.rename(self.path)
        return pattern

    def export(self):
        return self.ask("GET", "/v1/export?replica=true")[2].decode()

    def changes(self):
        return all_changes(self, "&replica=true")


class Cluster:
    """Members of etcd, and replicas. A context manager that ends them all."""

    # Whether a write may be refused with 507: a disk, or etcd, is full.
    may_be_full = False

    def __init__(self, binary, folder, choose, network, member_count=3, replica_count=3):
        self.choose, self.network = choose, network
        self.members = [self.make_member(folder, number) for number in range(member_count)]
        # Without choices all have the calendar and the disk of the machine.
        library = shim.build(folder) if choose else None
        self.replicas = [Replica(binary, folder, number, self.members, network, library)
                         for number in range(replica_count)]
        # A fault that disturbs etcd or its connections holds it: one fault leaves a majority.
        self.etcd = threading.Lock()
        # The times when a replica need not take writes, and when it need not answer at all.
        self.excuses = {"writes": [], "all": []}

    def make_member(self, folder, number):
        return Member(folder, number, self.network)

    @contextlib.contextmanager
    def excused(self, kind, replicas):
        """Meanwhile these replicas have no promises to keep."""
        began = time.monotonic_ns()
        yield
        ended = time.monotonic_ns()
        self.excuses[kind] += [(each.number, began, ended) for each in replicas]

    @contextlib.contextmanager
    def disturbed(self, replicas=()):
        """One fault of etcd at a time. These replicas need not take writes until it is over."""
        with self.etcd, self.excused("writes", replicas):
            yield
            self.await_etcd()

    def await_etcd(self):
        for member in self.members:
            await_true("etcd is healthy again", member.is_healthy)

    def __enter__(self):
        try:
            for member in self.members:
                member.start(self.members)
            self.await_etcd()
            self.start_replicas()
            self.start = self.replicas[0].ask_json("/v1/changes?limit=1")["revision"]
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        # Faults that still run must not start anything.
        for each in self.replicas + self.members:
            each.is_over = True
        for each in self.replicas + self.members:
            each.kill()
        self.network.heal()

    def start_replicas(self):
        for replica, strategy in zip(self.replicas, self.choose.sample(STRATEGIES, 3)):
            replica.start(strategy, self.choose.choice(SKEWS))

    @staticmethod
    def restart(replica, choose):
        replica.start(choose.choice(STRATEGIES), choose.choice(SKEWS))

    def settle(self, can_expire=False):
        """Waits until all replicas are the same, and nothing is left to expire unless `can_expire`.

        Returns the export, the commits and the revision.
        """
        self.await_etcd()
        for replica in self.replicas:
            await_true(f"replica {replica.number} is ready: {replica.last_words()}",
                       replica.is_ready)
        last = []

        def are_same():
            last[:] = [(replica.export(), replica.changes()) for replica in self.replicas]
            export, (_, revision) = last[0]
            return all(each == last[0] for each in last) and \
                (can_expire or '"expires"' not in export) and \
                json.loads(export.splitlines()[-1])["revision"] == revision

        try:
            await_true("the same", are_same)
        except Failure:
            raise Failure("the replicas differ: " + difference(last)) from None
        return last[0]

    def await_stored(self):
        """Waits until each replica has a change on its disk.

        If all lose their first changes at once, they cannot tell their log from a restored one, and
        begin a new life of it, as promised: then the revisions have a gap.
        """
        for replica in self.replicas:
            await_true(f"replica {replica.number} has stored a change",
                       lambda replica=replica: replica.metrics()["latchkey_data_commits_total"])

    def leader(self):
        """The member that leads, and the others' ids."""
        found = []
        await_true("a leader", lambda: found.append(self._leader()) or found[-1])
        return found[-1]

    def _leader(self):
        found = {}
        for member in self.members:
            status = member.ask("/v3/maintenance/status", {}, 0.5)
            if status and "leader" in status:
                found[status["header"]["member_id"]] = (member, status["leader"])
        for identity, (member, leader) in found.items():
            if identity == leader:
                return member, [other for other in found if other != identity]
        return None

    def stored_place(self):
        """The place to which all replicas have the log on disk, by their records in etcd."""
        begin, end = b"/latchkey/replicas/", b"/latchkey/replicas0"
        body = {"key": base64.b64encode(begin).decode(),
                "range_end": base64.b64encode(end).decode()}
        for member in self.members:
            answer = member.ask("/v3/kv/range", body, 0.5)
            if answer and "kvs" in answer:
                said = [json.loads(base64.b64decode(each["value"])) for each in sorted(
                    answer["kvs"], key=lambda each: int(each["mod_revision"]))]
                # A replica that lost its data has an earlier record under another id.
                last = {each["url"]: each["place"] for each in said}
                return min(last.values()) if len(last) == len(self.replicas) else 0
        return 0

    def compact(self):
        place = self.stored_place()
        return place and any(
            member.ask("/v3/kv/compaction", {"revision": place}, 1) is not None
            for member in self.members)


def all_changes(service, query=""):
    """All changes of a service, and the revision."""
    found, after = [], ""
    while True:
        page = service.ask_json(f"/v1/changes?limit=1000{query}{after}")
        found += page["changes"]
        if not page["hasMore"]:
            return found, page["revision"]
        after = f"&after={page['next']}"


def difference(states):
    exports = [state[0].splitlines() for state in states]
    for index in range(1, len(states)):
        for one, other in zip(exports[0], exports[index]):
            if one != other:
                return f"replica 0 has {one[:300]}, replica {index} has {other[:300]}"
        if states[0][1] != states[index][1]:
            return (f"/v1/changes of replica 0 ends at {states[0][1][1]}, that of replica {index} "
                    f"at {states[index][1][1]}")
    return "a property does not expire"


def signal_all(things, number):
    for each in things:
        if each.process.poll() is None:
            os.kill(each.process.pid, number)
