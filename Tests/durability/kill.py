"""kill -9 under load: acknowledged writes are there, and refused ones are not."""

import itertools
import random
import shutil
import time

import history
import load
from process import Failure, Refused, await_true
from service import STRATEGIES, Service, switching
from watching import Watch

REPEATS = 20
# Folders take turns: one that keeps everything, one that holds less than the clients write, so that
# properties are evicted, and one with a short history, so that changes are compacted all the time.
# The requests of a round fit into its history, however fast the machine is: 150 requests make at
# most half of the 768 KiB that changes have.
KINDS = (
    (("--history-bytes", "256MiB"), {}, {}),
    (("--history-bytes", "256MiB", "--max-bytes", 200_000, "--eviction", "lru"), {}, {}),
    (("--history-bytes", "1MiB"), {"compact-after": 1000}, {"import_lines": 300}),
)
SHORT_HISTORY_REQUESTS = 150


def run(arguments, scratch):
    counts = {"rounds": 0, "commits": 0, "requests": 0, "repeats": 0, "unknown": 0, "evicted": 0,
              "expired": 0}
    strategies = itertools.cycle(STRATEGIES)
    number = 0
    while counts["rounds"] < arguments.rounds:
        rounds = min(1 + arguments.rounds // 10, arguments.rounds - counts["rounds"])
        folder = Folder(arguments, scratch / str(number), number, counts)
        try:
            for _ in range(rounds):
                folder.round(next(strategies), folder.let_run)
                counts["rounds"] += 1
        except (Failure, Refused) as failure:
            raise Failure(f"folder {folder.path}, {folder.strategy}, round {counts['rounds']}: "
                          f"{failure}") from None
        finally:
            folder.close()
        shutil.rmtree(folder.path)
        number += 1
    return ", ".join(f"{value} {name}" for name, value in counts.items())


def cut(path, _):
    """The last commits are lost, as if they were never synced."""
    wal = path / "data" / "latchkey.db-wal"
    with open(wal, "r+b") as file:
        file.truncate(wal.stat().st_size * 3 // 4)


def refuse(_, outcomes):
    """A client was told that its write was refused, and it is there."""
    next(each for each in outcomes if each.fate == load.MADE and each.kind == "put").fate = \
        load.REFUSED


PLANTS = {"cut": cut, "refused": refuse}


class Folder:
    """A data folder over several lives of the service."""

    def __init__(self, arguments, path, kind, counts, environment=None, limits=None):
        self.arguments, self.path, self.counts = arguments, path, counts
        self.options, self.limits, self.settings = KINDS[kind % len(KINDS)]
        self.limits = self.limits | (limits or {})
        self.environment = environment
        path.mkdir(parents=True)
        self.choose = random.Random(f"{arguments.seed}.{path.name}")
        self.tokens = load.tokens()
        self.history = self.strategy = None
        self.watches, self.service, self.rounds = [], None, 0
        self.after_kill = lambda: None

    def round(self, strategy, act):
        """Load while `act` runs, kill, start again, check.

        `act` returns whether it has ended the service itself.
        """
        self.strategy = strategy
        self.start(strategy)
        if self.history is None:
            self.history = history.History(self.service.export()[1])
            self.watches.append(Watch(self.history.revision))
        if self.rounds % 3 == 0:
            self.watches.append(Watch())
        for watch in self.watches:
            watch.follow(self.service)
        self.rounds += 1
        seed = f"{self.arguments.seed}.{self.path.name}.{self.rounds}"
        with switching(self.arguments, self.service, seed, self.counts), \
                load.Load(self.service, seed, self.tokens, **self.settings) as running:
            ended = act(running)
            if not ended and self.service.process.poll() is not None:
                raise Failure(f"the service ended by itself, {self.service.process.returncode}: "
                              f"{self.service.last_words()}")
            self.service.kill()
            self.after_kill()
            running.stop()
        self._end(running)

    def let_run(self, running):
        end = time.monotonic() + self.choose.uniform(0.05, self.arguments.seconds)
        while (left := end - time.monotonic()) > 0 and not (
                "compact-after" in self.limits and len(running.outcomes) > SHORT_HISTORY_REQUESTS):
            time.sleep(min(left, 0.002))

    def start(self, strategy):
        self.close()
        self.service = Service(
            self.arguments.binary, self.path / "data", "--strategy", strategy,
            *self.options, *self.arguments.option, log=self.path / "log",
            environment=self.environment, limits=self.limits)
        self.service.__enter__()

    def ending(self):
        """The status and the last words of a service that ended by itself, or ""."""
        if self.service is None or self.service.is_running():
            return ""
        return (f" (the service ended with {self.service.process.returncode}: "
                f"{self.service.last_words()})")

    def close(self):
        if self.service:
            self.service.kill()

    def _end(self, running):
        """Starts the killed service again and checks everything."""
        if running.errors:
            raise Failure(running.errors[0])
        outcomes = running.outcomes
        if self.arguments.plant:
            PLANTS[self.arguments.plant](self.path, outcomes)
        self.start(self.choose.choice(STRATEGIES))
        for watch in self.watches:
            await_true("a watch notices that the service was killed", lambda: watch.ended)
            watch.follow(self.service)
        self.check(outcomes)

    def check(self, outcomes):
        """Checks the history, the state and the watches against the clients' answers."""
        self._take_history(outcomes)
        self.repeat(outcomes)
        self._take_history([])
        for watch in self.watches:
            watch.wait_for(self.history.revision)
            # A property may have expired meanwhile.
            while not watch.check(self.history):
                self._take_history([])
                watch.wait_for(self.history.revision)
        self.counts["requests"] += len(outcomes)
        self.counts["unknown"] += sum(each.fate == load.UNKNOWN for each in outcomes)

    def read_on(self):
        """Reads the changes since the last time, before a short history has dropped them."""
        changes, revision = self.service.changes(self.history.revision)
        self.history.extend(changes, revision)
        self.counts["commits"] += len(changes)
        for reason in ("evicted", "expired"):
            self.counts[reason] += sum(each.get("reason") == reason or (
                reason == "expired" and each["type"] == "expire")
                for change in changes for each in change["effects"])
        return revision

    def _take_history(self, outcomes):
        """Compares the export and the watches at the same revision."""
        while True:
            revision = self.read_on()
            self.history.check(outcomes)
            outcomes = []
            self.history.compare(self.service.export(revision)[0], "the past export")
            state, now = self.service.export()
            if now == revision:
                self.history.compare(live(state, self.history), "the export")
                return

    def repeat(self, outcomes):
        """A repeat with the same key gets the first result, if there was one."""
        keyed = [each for each in outcomes if each.key and each.fate != load.REFUSED]
        unknown = [each for each in keyed if each.fate == load.UNKNOWN]
        made = [each for each in keyed if each.fate == load.MADE]
        for first in made[-REPEATS // 2:] + self.choose.sample(made, min(len(made), REPEATS // 2)) \
                + unknown[:REPEATS]:
            self._repeat_one(first)

    def _repeat_one(self, first):
        again = load.Outcome(first.token, first.kind, first.method, first.path, first.body,
                             first.headers, first.puts)
        again.take(*self.service.ask(first.method, first.path, first.body, first.headers,
                                     expect=None))
        self.counts["repeats"] += 1
        was_made = first.fate == load.MADE or first.token in self.history.tokens
        if was_made and not again.replayed:
            raise Failure(f"a repeat was made again: {first}, then {again}")
        if first.fate == load.MADE and (again.status, again.tag, again.answer) != (
                first.status, first.tag, first.answer):
            raise Failure(f"a repeat got another answer: {first}, then {again} with "
                          f"{again.answer[:200]}")
        if first.fate == load.UNKNOWN and first.kind == "delete":
            # It may have been made before, or now: the history counts it as one that may be.
            return
        if was_made and again.revision and again.revision != self.history.tokens.get(
                first.token, again.revision):
            raise Failure(f"a repeat says another revision: {first}, then {again}")
        first.fate = again.fate if first.fate == load.UNKNOWN else first.fate
        if again.fate == load.MADE and not was_made and again.revision:
            self.history.outcomes[first.token] = first


def live(state, known):
    """Adds properties that have expired, which an export omits before a commit removes them."""
    return {**{name: value for name, value in known.state.items() if name.startswith("t/")},
            **state}
