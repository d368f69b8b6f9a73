"""Readers while the service is killed: everything that was shown is there after a restart."""

import itertools
import random
import shutil
import time

import history
import load
import seeing
from kill import cut
from process import Failure
from service import STRATEGIES, Service, switching

NAMES = [f"s/{number}" for number in range(10)] + [f"n/{number}" for number in range(4)]
# Without times to live: an expired property is not in a page, but still in the history.
WRITES = ("small",) * 6 + ("put", "delete", "increment", "transaction", "move", "merge")
ROUNDS_PER_FOLDER = 10


def lost(path, _):
    """The last commits are lost, as if they were never synced."""
    cut(path, _)


def changed(_, seen):
    """A reader was shown a value that was never written."""
    each = first(seen, lambda each: each.kind == "a value")
    name, revision, _ = each.rows[0]
    each.rows[0] = (name, revision, "another")


def left_out(_, seen):
    """A page lacked one of its properties."""
    first(seen, lambda each: each.whole is not None and each.rows).rows.pop()


def first(seen, holds):
    found = next(filter(holds, seen), None)
    if found is None:
        raise Failure("no reader has seen what the plant changes")
    return found


PLANTS = {"lost": lost, "changed": changed, "left-out": left_out}


def run(arguments, scratch):
    counts = {"kills": 0, "commits": 0} | {kind.__name__: 0 for kind in seeing.KINDS}
    strategies = itertools.cycle(STRATEGIES)
    choose = random.Random(arguments.seed)
    for number in range(-(-arguments.rounds // ROUNDS_PER_FOLDER)):
        path = scratch / str(number)
        path.mkdir()
        life = Life(arguments, path, choose, counts)
        for _ in range(min(ROUNDS_PER_FOLDER, arguments.rounds - counts["kills"])):
            life.round(next(strategies))
            counts["kills"] += 1
        shutil.rmtree(path)
    figures = ", ".join(f"{value} {name}" for name, value in counts.items())
    if not all(counts.values()):
        raise Failure(f"a kind of reader has seen nothing: {figures}")
    return figures


class Life:
    """A folder, and all answers that readers got from it."""

    def __init__(self, arguments, path, choose, counts):
        self.arguments, self.path, self.choose, self.counts = arguments, path, choose, counts
        self.tokens, self.history, self.strategy = load.tokens(), None, ""

    def service(self, strategy):
        self.strategy = strategy
        return Service(self.arguments.binary, self.path / "data", "--strategy", strategy,
                       "--history-bytes", "256MiB", *self.arguments.option, log=self.path / "log")

    def seeded(self):
        return random.Random(self.choose.random())

    def round(self, strategy):
        try:
            with self.service(strategy) as service:
                if self.history is None:
                    self.history = history.History(service.export()[1])
                seen, outcomes = self.kill_under_load(service)
            if self.arguments.plant:
                PLANTS[self.arguments.plant](self.path, seen)
            with self.service(self.choose.choice(STRATEGIES)) as service:
                changes, revision = service.changes(self.history.revision)
                self.history.extend(changes, revision)
                # First of all: a reader of a lost write finds the loss.
                seeing.judge(seen, self.history)
                self.history.check(outcomes)
                self.history.compare(service.export()[0], "the export")
        except Failure as failure:
            raise Failure(f"folder {self.path}, {self.strategy}, round {self.counts['kills']}: "
                          f"{failure}") from None
        self.counts["commits"] += len(changes)

    def kill_under_load(self, service):
        readers = seeing.start(service, self.seeded, NAMES, "s/")
        with switching(self.arguments, service, self.choose.random(), self.counts), \
                load.Load(service, self.choose.random(), self.tokens, clients=4,
                          kinds=WRITES) as running:
            time.sleep(self.choose.uniform(0.05, self.arguments.seconds))
            service.kill()
            running.stop()
        if running.errors:
            raise Failure(running.errors[0])
        seen = seeing.finish(readers)
        for reader in readers:
            self.counts[type(reader).__name__] += len(reader.seen)
        return seen, running.outcomes
