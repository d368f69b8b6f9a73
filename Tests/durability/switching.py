"""Another strategy every 50 ms, in memory: nothing is lost, doubled, torn, or out of order.

Design: one life starts with each strategy, with one stripe (only then the actor is available), and
one with 128. It has all kinds of requests, readers and watches, and the history judges them. With
--switch, `kill` and `readers` do the same with data on disk, and with kills.
"""

import random

import history
import kill
import load
import seeing
from process import Failure, await_true
from readers import NAMES
from service import Service, switching
from switcher import names
from watching import Watch

STRIPES = (1, 128)
# Each second life holds less than the clients write, so that properties are evicted.
OPTIONS = (("--history-bytes", "256MiB"),
           ("--history-bytes", "256MiB", "--max-bytes", "60000", "--eviction", "lru"))


def refuse(outcomes):
    """A client was told that its write was refused, and it is there."""
    kill.refuse(None, outcomes)


PLANTS = {"refused": refuse}


def run(arguments, scratch):
    counts = {"starts": 0, "commits": 0, "requests": 0, "repeats": 0, "unknown": 0, "evicted": 0,
              "expired": 0, "shown": 0, "switches": 0}
    with Service(arguments.binary, None, log=scratch / "log") as service:
        table = service.ask_json("/v1/strategies")
    # A strategy that does not block has one stripe.
    blocking = names({"strategies": [
        each for each in table["strategies"] if each["traits"]["blocksCaller"]]})
    starts = [(strategy, stripes) for stripes in STRIPES
              for strategy in (names(table) if stripes == 1 else blocking)]
    for number, (strategy, stripes) in enumerate(starts):
        life = Life(arguments, scratch / str(number), number, counts)
        try:
            life.live(strategy, stripes)
        except (Failure, OSError) as failure:
            raise Failure(f"from {strategy}, {stripes} stripes: {failure}{life.ending()}") from None
        finally:
            life.close()
        counts["starts"] += 1
    return ", ".join(f"{value} {name}" for name, value in counts.items())


class Life(kill.Folder):
    """One life of a service in memory."""

    def live(self, strategy, stripes):
        self.service = Service(
            self.arguments.binary, None, "--strategy", strategy, "--stripes", str(stripes),
            *OPTIONS[self.counts["starts"] % 2], *self.arguments.option, log=self.path / "log")
        self.service.__enter__()
        self.history = history.History(self.service.export()[1])
        self.watches = [Watch(self.history.revision), Watch()]
        for watch in self.watches:
            watch.follow(self.service)
        readers = seeing.start(self.service, lambda: random.Random(self.choose.random()), NAMES,
                               "s/")
        seed = f"{self.arguments.seed}.{self.path.name}"
        with switching(self.arguments, self.service, seed, self.counts) as switcher, \
                load.Load(self.service, seed, self.tokens) as running:
            await_true("there are so many switches", lambda: switcher.error or len(
                switcher.reports) >= self.arguments.switches)
            running.stop()
        if running.errors:
            raise Failure(running.errors[0])
        if self.arguments.plant:
            PLANTS[self.arguments.plant](running.outcomes)
        self.check(running.outcomes)
        self.service.kill()
        # Expiries after that are not in the history.
        seen = [each for each in seeing.finish(readers) if each.revision <= self.history.revision]
        seeing.judge(seen, self.history)
        self.counts["shown"] += len(seen)
