"""Load while an operator works on etcd; its answers are judged exactly (judge.py).

All writes of a round are in the history of the replicas, or in that of a folder which is served
without a cluster: acknowledged writes are there once, and refused ones are not.
"""

import http.client
import itertools
import json
import random
import shutil
import threading
import time

import planted
from clients import Client, Prober, Reader, Watcher
from judge import MADE, Order, check, compare_events
from moving import stop
from process import PATIENCE_SECONDS, Failure, Latchkey, await_true
from replicas import all_changes

CLIENTS = 3
# So that the members of etcd and the replicas get the processors, too.
PAUSE_SECONDS = 0.02
# Prefix of properties that are not part of the load.
OTHERS = "o/"


class Paced:
    """A talker that pauses between requests, and waits while the load rests."""

    is_idle = False

    def step(self):
        self.is_stopped.wait(PAUSE_SECONDS)
        self.is_idle = True
        self.cluster.gate.wait()
        self.is_idle = False
        super().step()


class Worker(Paced, Client):
    """Writes and reads at all replicas."""


class Looker(Paced, Reader):
    pass


class Writer(Paced, Prober):
    """Writes to one replica. `last` is the last answer."""

    last = None
    # The length of a value without its token.
    padding = 0

    def send(self, each, method, target, body=None, headers=None):
        if self.padding:
            body = body[:-1] + f', "padding": "{"x" * self.padding}"}}'
        return super().send(each, method, target, body, headers)

    def take(self, each, headers, text):
        self.last = each.status, text[:300].decode(errors="replace")
        super().take(each, headers, text)

    def made_since(self, since):
        """The number of writes that were made and began then or later."""
        count = 0
        for each in reversed(self.operations):
            if each.begin < since:
                break
            count += each.fate == MADE
        return count


class Load:
    """Clients of all replicas, writers and readers of each one, and a watch. Begins at once."""

    def __init__(self, cluster, choose, patience=PATIENCE_SECONDS):
        self.cluster, self.choose, self.patience = cluster, choose, patience
        cluster.may_be_full, cluster.gate = False, threading.Event()
        cluster.gate.set()
        self.tokens, self.settled = itertools.count(1), None
        self.writers = [Writer(cluster, self.seeded(), each, self.tokens)
                        for each in cluster.replicas]
        self.watcher = Watcher(cluster, self.seeded(), cluster.start)
        self.talkers = [
            *self.writers, *(Looker(cluster, self.seeded(), each) for each in cluster.replicas),
            *(Worker(cluster, self.seeded(), self.tokens, number) for number in range(CLIENTS))]
        for each in [*self.talkers, self.watcher]:
            each.start()

    def seeded(self):
        return random.Random(self.choose.random())

    def add(self, replica):
        """Also writes at this further replica."""
        writer = Writer(self.cluster, self.seeded(), replica, self.tokens)
        self.writers.append(writer)
        self.talkers.append(writer)
        writer.start()

    def await_writes(self, replicas=None, count=1):
        """Waits until each of the replicas, or of those named, has made `count` new writes."""
        since = time.monotonic_ns()
        for writer in self.writers:
            if replicas is not None and writer.replica not in replicas:
                continue
            await_true(lambda writer=writer: f"a write at replica {writer.replica.number}, "
                       f"which answered {writer.last}; {words(writer.replica)}",
                       lambda writer=writer: writer.error or writer.made_since(since) >= count,
                       self.patience + count)
            if writer.error:
                raise Failure(f"replica {writer.replica.number}: {writer.error}")

    def await_answer(self, *statuses):
        """Waits until each replica has answered a write with one of the statuses."""
        for writer in self.writers:
            await_true(lambda writer=writer: f"an answer {statuses} of replica "
                       f"{writer.replica.number}, which answered {writer.last}",
                       lambda writer=writer: writer.error or writer.last
                       and writer.last[0] in statuses, self.patience)
            if writer.error:
                raise Failure(f"replica {writer.replica.number}: {writer.error}")

    def rest(self):
        """Waits until no request is on its way."""
        self.cluster.gate.clear()
        await_true("the load rests", lambda: all(each.is_idle for each in self.talkers))

    def go_on(self):
        self.cluster.gate.set()

    def stop(self):
        self.go_on()
        stop(self.talkers)

    def cancel(self):
        """Ends it without a judgement."""
        self.go_on()
        for each in [*self.talkers, self.watcher]:
            each.is_stopped.set()

    @property
    def operations(self):
        found = [each for talker in self.talkers for each in talker.operations]
        return sorted(found, key=lambda each: each.begin)

    def judge(self):
        """Ends it. All replicas must then have one state with each acknowledged write once."""
        self.stop()
        export, (changes, revision) = self.cluster.settle()
        await_true("the watch is at the end",
                   lambda: self.watcher.error or self.watcher.revision >= revision)
        stop([self.watcher])
        changes = own(changes)
        order = planted.judge(self.cluster.start, changes, self.operations, self.events(revision))
        rows = [json.loads(line) for line in export.splitlines()]
        state = {row["name"]: (row["revision"], row["value"], row["created"])
                 for row in rows[:-1] if not row["name"].startswith(OTHERS)}
        if state != order.state() or rows[-1]["revision"] != revision != order.revision:
            raise Failure("the export is not what the commits make")
        return self.figures()

    def judge_folders(self):
        """Ends it. Serves the data of each replica, which has ended, without the cluster.

        Each has a part of one history, from its begin, and the longest has all acknowledged writes.
        Meanwhile, properties expire by the clock of the machine.
        """
        self.stop()
        stop([self.watcher])
        found = sorted((own(served(replica)) for replica in self.cluster.replicas), key=len)
        order = Order(self.cluster.start, found[-1])
        for changes in found:
            common = [each for each in changes if has_no_expiry(each)]
            if common != [each for each in found[-1] if has_no_expiry(each)][:len(common)]:
                raise Failure("the folders have several histories")
        check(order, self.operations)
        seen = self.watcher.revision
        compare_events([each for each in order.effects if each[0] <= seen],
                       self.events(seen))
        return self.figures()

    def events(self, revision):
        """The load's events that the watch has got, up to a revision."""
        return [each for each in self.watcher.events
                if each[0] <= revision and not each[1].startswith(OTHERS)]

    def figures(self):
        made = sum(each.fate == MADE for each in self.operations)
        return f"{len(self.operations)} operations, {made} writes made"


def own(changes):
    """Without the effects on others' properties."""
    return [{**change, "effects": [effect for effect in change["effects"]
                                   if not effect["name"].startswith(OTHERS)]}
            for change in changes]


def served(replica):
    """The changes in its folder."""
    copy = replica.path / "copy"
    shutil.copytree(replica.path / "data", copy)
    with Latchkey(replica.binary, "--data", copy, "--history-bytes", "256MiB",
                  log=replica.folder / f"copy{replica.number}.log") as service:
        service.await_ready()
        changes, _ = all_changes(service)
    shutil.rmtree(copy)
    return changes


def has_no_expiry(change):
    return all(each.get("reason") != "expired" and each["type"] != "expire"
               for each in change["effects"])


def words(replica):
    """The cluster's part of /readyz?verbose, or the log of a replica that does not answer."""
    try:
        status, _, text = replica.ask("GET", "/readyz?verbose", expect=None)
        checks = json.loads(text)["checks"]
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return f"no answer: {replica.said()[-600:]}"
    details = [each.get("detail", "") for each in checks if each["name"] == "cluster"]
    return f"/readyz?verbose {status}: {'; '.join(details)}"
