"""Increments with a key that are sent to all replicas at once; each must count once.

Each request goes to every replica at the same moment, and is repeated at each of them until it has
an answer, while replicas are killed and members of etcd lead and follow. All its answers must be
the same, and all requests together must have counted every number once.
"""

import collections
import http.client
import threading
import time

from clients import JSON, path
from process import PATIENCE_SECONDS, Failure

WORKERS = 4
# A property whose requests have another key at each replica: a fault that must be found.
PLANTED = "planted"


class Increment(threading.Thread):
    """Sends one request to one replica until it has an answer."""

    def __init__(self, replica, name, key, is_over):
        super().__init__(daemon=True)
        self.replica, self.name, self.key, self.is_over = replica, name, key, is_over
        self.answer, self.error, self.tries = None, None, 0

    def run(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while self.answer is None and self.error is None:
            if time.monotonic() > end:
                self.error = "it never came"
                return
            self.tries += 1
            try:
                self.ask()
            except (OSError, http.client.HTTPException):
                # The replica is down. The same request may have been made there or elsewhere.
                self.is_over.wait(0.02)
            except (ValueError, TypeError) as error:
                self.error = f"no such answer is promised: {error}"

    def ask(self):
        connection = http.client.HTTPConnection(self.replica.host, self.replica.port,
                                                timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", path(self.name) + "/increment", '{"by":1}',
                               {**JSON, "Idempotency-Key": self.key})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status == 200:
            self.answer = (int(text), answer.headers["ETag"])
        elif answer.status in (429, 503) or b"/outcome-unknown" in text:
            self.is_over.wait(0.02)
        else:
            self.error = f"no such answer is promised: {answer.status} {text[:200]!r}"


class Worker(threading.Thread):
    """Sends one key after the other."""

    def __init__(self, cluster, number, count, name):
        super().__init__(daemon=True)
        self.cluster, self.number, self.count, self.name = cluster, number, count, name
        self.answers, self.tries, self.error = {}, 0, None
        self.is_over = threading.Event()

    def run(self):
        for index in range(self.count):
            key = f"{self.number}-{index}"
            asked = [Increment(replica, self.name, self.key_at(replica, index), self.is_over)
                     for replica in self.cluster.replicas]
            for each in asked:
                each.start()
            for each in asked:
                each.join()
                self.tries += each.tries
                if each.error:
                    self.error = f"key {key} at replica {each.replica.number}: {each.error}"
                    return
            self.answers[key] = [each.answer for each in asked]

    def key_at(self, replica, index):
        """The same key at each replica, except for the planted fault."""
        key = f"{self.name}-{self.number}-{index}"
        return key + replica.node if self.name == PLANTED else key


def run(cluster, choose, count, disturb, name="counted"):
    """Returns figures, and the answers with the sum."""
    workers = [Worker(cluster, number, count, name) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    cluster.await_stored()
    words = []
    while any(worker.is_alive() for worker in workers):
        words.append(disturb(cluster, choose).split(" ")[0])
    for worker in workers:
        worker.join()
        if worker.error:
            raise Failure(worker.error)
    answers = {key: found for worker in workers for key, found in worker.answers.items()}
    cluster.settle(can_expire=True)
    total = int(cluster.replicas[0].ask(
        "GET", path(name) + "?consistency=linearizable")[2])
    judge(answers, total)
    return (f"{len(answers)} keys at 3 replicas, {sum(worker.tries for worker in workers)} "
            f"requests, {dict(collections.Counter(words))}", (answers, total))


def judge(answers, total):
    for key, found in answers.items():
        if len(set(found)) != 1:
            raise Failure(f"key {key} has several answers: {found}")
    counted = sorted(found[0][0] for found in answers.values())
    if counted != list(range(1, len(answers) + 1)):
        wrong = [number for number in range(1, len(answers) + 1) if counted.count(number) != 1]
        raise Failure(f"not each key is counted once: {wrong[:5]} of {len(answers)}")
    if total != len(answers):
        raise Failure(f"the sum is {total} of {len(answers)} keys")


def doubled(answers, total):
    return answers, total + 1


def other(answers, total):
    key = next(iter(answers))
    return {**answers, key: [*answers[key][:-1], (answers[key][0][0] + 1, '"1"')]}, total


def lost(answers, total):
    key = max(answers, key=lambda key: answers[key][0][0])
    return {**answers, key: answers[next(iter(answers))]}, total


PLANTS = {"a sum that is too great": doubled, "another answer of one replica": other,
          "a lost increment": lost}
