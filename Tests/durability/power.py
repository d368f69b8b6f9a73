"""A loss of power: each disk that it can leave has all writes acknowledged before it."""

import bisect
import collections
import concurrent.futures
import itertools
import json
import pathlib
import random
import shutil
import sqlite3
import threading
import time

import history
import images
import load
import shim
from process import Failure, Refused
from service import STRATEGIES, Service

# Long enough to collect the commits, and short enough that compaction continues.
HISTORY_BYTES = 4_000_000
LIMITS = {"compact-after": 1000}
REPEATS = 4
KINDS = ("put",) * 6 + ("small",) * 6 + ("delete", "increment", "increment", "transaction",
                                         "transaction", "move", "merge", "import", "lives", "get")
PLANTS = {"wal": "wal", "all": "all"}


def run(arguments, scratch):
    """One recorded run for each strategy, and images of each."""
    counts, figures = collections.Counter(), []
    strategies = STRATEGIES[:arguments.runs]
    share = arguments.images // len(strategies)
    for number, strategy in enumerate(strategies):
        recording = Recording(arguments, scratch / str(number), strategy, number)
        recording.run()
        figures.append(f"{strategy}: {recording.figures}")
        faults = recording.check_images(share, counts)
        if faults:
            raise Failure(f"{strategy}: {len(faults)} of {share} images are wrong; the first: "
                          + "\n".join(faults[:5]))
        shutil.rmtree(scratch / str(number))
    return (f"{share * len(strategies)} images, " + ", ".join(
        f"{value} {name}" for name, value in counts.items()) + "; " + "; ".join(figures))


class Recording:
    """A run of the service, the clients' answers, and the record of its files."""

    def __init__(self, arguments, folder, strategy, number):
        self.arguments, self.folder, self.number = arguments, folder, number
        self.disk = folder / "disk"
        self.disk.mkdir(parents=True)
        self.control = shim.Control(folder / "control")
        self.environment = shim.environment(
            arguments.library, self.disk, folder / "record", self.control.path,
            PLANTS.get(arguments.plant))
        self.options = ("--strategy", strategy, "--history-bytes", HISTORY_BYTES, *arguments.option)
        self.outcomes, self.history, self.figures = [], None, ""
        self.kept = []

    def run(self):
        with Service(self.arguments.binary, self.disk / "data", *self.options,
                     log=self.folder / "log", environment=self.environment,
                     limits=LIMITS) as service:
            self.history = history.History(service.export()[1])
            stopped = threading.Event()
            error = []
            collector = threading.Thread(target=self._collect, args=(service, stopped, error))
            collector.start()
            seed = f"{self.arguments.seed}.{self.number}"
            with load.Load(service, seed, load.tokens(), kinds=KINDS, import_lines=300) as running:
                end = time.monotonic() + self.arguments.run_seconds
                while time.monotonic() < end and service.process.poll() is None:
                    self._disturb()
            stopped.set()
            collector.join()
            if error or running.errors:
                raise Failure(f"{(error + running.errors)[0]}")
            self.outcomes = running.outcomes
            self.history.extend(*service.changes(self.history.revision))
            self.history.check(self.outcomes)
            state, revision = service.export()
            if revision == self.history.revision:
                self.history.compare({**state, **{name: value for name, value in
                                                  self.history.state.items()
                                                  if name.startswith("t/")}}, "the export")
            status = service.end()
            if status != 0 and not self.arguments.disturb:
                raise Failure(f"SIGTERM: status {status}: {service.last_words()}")
        self._summarize()

    def _disturb(self):
        if not self.arguments.disturb:
            time.sleep(0.1)
            return
        choose = random.Random(time.monotonic_ns())
        call, action = choose.choice((("sync", "io-error"), ("sync", "synced-io-error"),
                                      ("write", "no-space"), ("write", "short-then-no-space"),
                                      ("write", "io-error")))
        self.control.arm(call, action, choose.randrange(30), choose.choice((1, 1, 2, 20)))
        time.sleep(0.7)
        self.control.disarm()
        time.sleep(0.7)

    def _collect(self, service, stopped, error):
        """Collects commits while the service runs, because the history keeps only the last ones."""
        while not stopped.is_set() and not error:
            try:
                self.history.extend(*service.changes(self.history.revision))
            except (Failure, OSError, KeyError, ValueError) as failure:
                error.append(failure)
            time.sleep(0.03)

    def _summarize(self):
        shown = sorted((each.end, each.revision) for each in self.outcomes
                       if each.end and each.revision)
        self.times = [each[0] for each in shown]
        self.most = list(itertools.accumulate((each[1] for each in shown), max))
        self.keyed = sorted((each for each in self.outcomes
                             if each.key and each.fate == load.MADE and each.kind != "delete"),
                            key=lambda each: each.end)
        self.key_times = [each.end for each in self.keyed]
        self.entries = images.read_record(self.folder / "record")
        self.names = {each.file: pathlib.Path(each.path).name for each in self.entries
                      if each.kind in (images.CREATED, images.OPENED)}
        kinds = collections.Counter((each.kind, self.names.get(each.file)) for each in self.entries)
        self.figures = (
            f"{len(self.entries)} entries, {kinds[images.SYNC_ENDED, 'latchkey.db-wal']} syncs of "
            f"the log, {kinds[images.WRITTEN, 'latchkey.db']} writes and "
            f"{kinds[images.SYNC_ENDED, 'latchkey.db']} syncs of the database, "
            f"{self.history.revision - self.history.first} commits, {len(self.keyed)} keys, "
            f"{sum(each.fate == load.UNKNOWN for each in self.outcomes)} unknown outcomes")

    def check_images(self, count, counts):
        """Returns the violations."""
        disk, faults = images.Disk(self.disk), []
        choose = random.Random(f"{self.arguments.seed}.{self.number}")
        points = images.choose_points(self.entries, count, choose)
        pending = collections.deque()

        def take():
            number, how, path, result = pending.popleft()
            try:
                counts.update(result.result())
                shutil.rmtree(path, ignore_errors=True)
            except (Failure, Refused, OSError, sqlite3.Error, LookupError, ValueError) as failure:
                faults.append(f"image {number}, {how}, kept in {path}: "
                              f"{type(failure).__name__} {failure}")
                if len(faults) > 20:
                    shutil.rmtree(path, ignore_errors=True)

        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            made = images.each_image(self.entries, disk, points, self.folder / "images",
                                     f"{self.arguments.seed}.{self.number}")
            for number, path, loss, how in made:
                pending.append((number, how, path,
                                pool.submit(self.check_image, number, path, loss)))
                if len(pending) > 2 * self.arguments.jobs:
                    take()
            while pending:
                take()
        if disk.differences():
            raise Failure(f"changes of these files were not recorded: {disk.differences()}")
        return faults

    def check_image(self, number, path, loss):
        """Starts the service on a disk. Returns counts."""
        window_ns = int(self.arguments.window_seconds * 1e9)
        place = bisect.bisect_left(self.times, loss - window_ns)
        shown = self.most[place - 1] if place else 0
        with Service(self.arguments.binary, path / "data", *self.options,
                     log=path / "log", limits=LIMITS) as service:
            changes, revision = service.changes(None)
            past, uncertain = self._match(changes, loss)
            oldest = changes[0]["revision"] if changes else revision
            # Earlier commits are judged by the state, not by the start of the history.
            if past < shown:
                raise Failure(f"the last commit is {past} of {revision}, and {shown} was "
                              f"acknowledged or shown (the history begins at {oldest})")
            if past > 0 and (past >= oldest or past == revision):
                history.compare(service.export(past)[0], self.history.state_at(past),
                                f"the export at {past}")
            repeats = self._repeat(service, past, loss, random.Random(number))
            if number % 10 == 0:
                self._check_view(service, path)
        counts = {"commits beyond the acknowledged ones": past - shown,
                  "outcomes that stayed unknown": uncertain, "repeats": repeats}
        (path / "log").unlink()
        return counts

    def _match(self, changes, loss):
        """The last commit that matches, and the number of later ones with an unknown outcome."""
        past, uncertain = self.history_start(changes), 0
        for place, change in enumerate(changes):
            known = self.history.commits.get(change["revision"])
            if known is None or not same(known, change["effects"]):
                for later in changes[place:]:
                    uncertain += self._check_uncertain(later, loss)
                break
            past = change["revision"]
        return past, uncertain

    def history_start(self, changes):
        return changes[0]["revision"] - 1 if changes else 0

    def _check_uncertain(self, change, loss):
        """Checks a commit that the history lacks: it is new, or its outcome is unknown."""
        if all(each["type"] == "expire" for each in change["effects"]):
            return 0
        tokens = {int(found[1]) for each in change["effects"]
                  if (found := history.TOKEN.match(str(each.get("value"))))}
        for token in tokens:
            outcome = self.history.outcomes.get(token)
            if outcome is None or outcome.begin > loss or (
                    outcome.fate != load.UNKNOWN and outcome.end < loss):
                raise Failure(f"revision {change['revision']} on the disk is {outcome}")
        return 1

    def _repeat(self, service, past, loss, choose):
        """Keys of commits that are there give the first answer."""
        acknowledged = self.keyed[:bisect.bisect_left(self.key_times, loss)]
        known = [each for each in acknowledged[-300:] if each.revision <= past]
        for first in known[-REPEATS:] + choose.sample(known, min(REPEATS, len(known))):
            status, headers, text = service.ask(first.method, first.path, first.body,
                                                first.headers, expect=None)
            if (status, headers["ETag"], text) != (first.status, first.tag, first.answer) or \
                    headers["Idempotency-Replayed"] != "true":
                raise Failure(f"a repeat got {status} {dict(headers)} {text[:200]}: {first}")
        return min(len(known), 2 * REPEATS)

    @staticmethod
    def _check_view(service, path):
        """sqlite3 shows the same properties as the service."""
        database = sqlite3.connect(f"file:{path / 'data' / 'latchkey.db'}?mode=ro", uri=True)
        try:
            rows = database.execute("select name, value, revision, created from properties")
            found = {as_text(name): (json.loads(value), revision, created)
                     for name, value, revision, created in rows}
        finally:
            database.close()
        state = service.export()[0]
        names = [name for name in found.keys() | state.keys() if not name.startswith("t/")]
        history.compare({name: found.get(name) for name in names},
                        {name: state.get(name) for name in names}, "the view `properties`")


def as_text(name):
    return name.decode() if isinstance(name, bytes) else name


def same(known, effects):
    return [(each.type, each.name, each.value, each.created, each.reason) for each in known] == [
        (each["type"], each["name"], each.get("value"), each.get("created"), each.get("reason"))
        for each in effects]
