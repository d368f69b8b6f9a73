"""Replicas and members of etcd as processes that are killed, stopped and started again."""

import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

from process import Failure, Server

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
ETCD = TOP / ".build-tools/bin/etcd"
STRATEGIES = ("lock", "snapshot", "adaptive", "actor", "barrier-queue-async", "spin")
WAIT_SECONDS_MAX = 60
SKEWS = (0, 30, -30)


def await_true(what, holds, seconds=WAIT_SECONDS_MAX):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"it never came: {what}")
        # Nothing tells when another process has come so far.
        time.sleep(0.02)


def build_clock(folder):
    """The library that gives a process another calendar."""
    library = folder / "clock.so"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library,
                    pathlib.Path(__file__).with_name("clock.c")], check=True)
    return library


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Member:
    """A member of etcd."""

    is_over = False

    def __init__(self, folder, number):
        self.folder, self.number = folder, number
        self.client, self.peer = free_port(), free_port()
        self.process = None
        # Who holds it may kill or stop the process.
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.client}"

    def start(self, members):
        if self.is_over:
            raise Failure("the campaign has ended")
        peers = ",".join(f"m{each.number}=http://127.0.0.1:{each.peer}" for each in members)
        with open(f"{self.folder}/m{self.number}.log", "ab") as log:
            self.process = subprocess.Popen(
                [ETCD, "--name", f"m{self.number}", "--data-dir",
                 f"{self.folder}/m{self.number}", "--listen-client-urls", self.url,
                 "--advertise-client-urls", self.url, "--listen-peer-urls",
                 f"http://127.0.0.1:{self.peer}", "--initial-advertise-peer-urls",
                 f"http://127.0.0.1:{self.peer}", "--initial-cluster", peers,
                 "--snapshot-count", "10000", "--log-level", "error"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, path, body=None, seconds=3):
        """The JSON gateway. Returns None if there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.client, timeout=seconds)
        try:
            connection.request("POST" if body is not None else "GET", path,
                               None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return json.loads(answer.read()) if answer.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def is_healthy(self):
        return (self.ask("/health") or {}).get("health") == "true"

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Replica(Server):
    """`latchkey serve --cluster` with a folder of its own."""

    is_over = False

    def __init__(self, binary, folder, number, members, clock):
        super().__init__()
        self.clock = clock
        self.binary, self.folder, self.number = binary, folder, number
        self.members = ",".join(each.url for each in members)
        # Its own address is one of its options.
        self.port, self.log_path = free_port(), f"{folder}/r{number}.log"
        self.lock, self.variant = threading.Lock(), ""

    def start(self, strategy, skew):
        if self.is_over:
            raise Failure("the campaign has ended")
        self.variant = f"{strategy}{f' {skew:+d} s' if skew else ''}"
        self.command = [str(word) for word in (
            self.binary, "serve", "--port", self.port, "--data", f"{self.folder}/r{self.number}",
            "--cluster", self.members, "--cluster-url", f"http://127.0.0.1:{self.port}",
            "--history", 200_000, "--client-share", "1/1", "--log-level", "info",
            "--strategy", strategy)]
        self.environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}
        if skew:
            self.environment |= {"LD_PRELOAD": str(self.clock), "LATCHKEY_SKEW": str(skew)}
        self.url = None
        with open(self.log_path, "ab") as self.log:
            try:
                self.__enter__()
            except Failure as failure:
                raise Failure(f"{failure}: {self.last_words()}") from None
        await_true(f"replica {self.number} is ready: {self.last_words()}", self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failure(f"replica {self.number} ended by itself, {self.process.returncode}: "
                          f"{self.last_words()}")
        try:
            return self.ask("GET", "/readyz", expect=None)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def last_words(self):
        text = pathlib.Path(self.log_path).read_text(encoding="utf-8", errors="replace")
        found = re.search(r".*Fatal error.*", text)
        return found[0] if found else text[-600:]

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self):
        """SIGTERM: what was taken is answered."""
        self.process.terminate()
        try:
            status = self.process.wait(WAIT_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            status = None
        if status != 0:
            raise Failure(f"replica {self.number} ended with {status}: {self.last_words()}")

    def forget(self):
        """Removes its data."""
        self.kill()
        shutil.rmtree(f"{self.folder}/r{self.number}")

    def export(self):
        return self.ask("GET", "/v1/export?replica=true")[2].decode()

    def changes(self):
        """All that there were, and the revision."""
        found, query = [], "replica=true"
        while True:
            page = self.ask_json(f"/v1/changes?limit=1000&{query}")
            found += page["changes"]
            if not page["hasMore"]:
                return found, page["revision"]
            query = f"replica=true&after={page['next']}"


class Cluster:
    """Three members and three replicas. A context manager that ends them all."""

    def __init__(self, binary, folder, choose):
        self.choose = choose
        self.members = [Member(folder, number) for number in range(3)]
        clock = build_clock(folder)
        self.replicas = [Replica(binary, folder, number, self.members, clock)
                         for number in range(3)]

    def __enter__(self):
        try:
            for member in self.members:
                member.start(self.members)
            for member in self.members:
                await_true("etcd is healthy", member.is_healthy)
            for replica, strategy in zip(self.replicas, self.choose.sample(STRATEGIES, 3)):
                replica.start(strategy, self.choose.choice(SKEWS))
            self.start = self.replicas[0].ask_json("/v1/changes?limit=1")["revision"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # A fault that goes on starts nothing more.
        for each in self.replicas + self.members:
            each.is_over = True
        for each in self.replicas + self.members:
            each.kill()

    @staticmethod
    def restart(replica, choose):
        replica.start(choose.choice(STRATEGIES), choose.choice(SKEWS))

    def settle(self):
        """Waits until all replicas are the same. Returns the commits and the export."""
        for member in self.members:
            await_true("etcd is healthy again", member.is_healthy)
        for replica in self.replicas:
            await_true(f"replica {replica.number} is ready: {replica.last_words()}",
                       replica.is_ready)
        last = []

        def are_same():
            last[:] = [(replica.export(), replica.changes()) for replica in self.replicas]
            export, (_, revision) = last[0]
            return last[0] == last[1] == last[2] and '"expires"' not in export and \
                json.loads(export.splitlines()[-1])["revision"] == revision

        try:
            await_true("the same", are_same, 30)
        except Failure:
            raise Failure("the replicas differ: " + difference(last)) from None
        return last[0]

    def leader(self):
        """The member that leads, and the others' ids; None if it is not known."""
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
        """Up to where all replicas have the log on their disks, as they say in etcd."""
        begin, end = b"/latchkey/replicas/", b"/latchkey/replicas0"
        body = {"key": base64.b64encode(begin).decode(),
                "range_end": base64.b64encode(end).decode()}
        for member in self.members:
            answer = member.ask("/v3/kv/range", body, 0.5)
            if answer and "kvs" in answer:
                said = [json.loads(base64.b64decode(each["value"])) for each in sorted(
                    answer["kvs"], key=lambda each: int(each["mod_revision"]))]
                # One without its data has said something before, as another replica.
                last = {each["url"]: each["place"] for each in said}
                return min(last.values()) if len(last) == len(self.replicas) else 0
        return 0

    def compact(self):
        place = self.stored_place()
        return place and any(
            member.ask("/v3/kv/compaction", {"revision": place}, 1) is not None
            for member in self.members)


def difference(states):
    exports = [state[0].splitlines() for state in states]
    for index in (1, 2):
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
