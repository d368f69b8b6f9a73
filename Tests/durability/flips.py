"""Damage of real files: the state is right, or the start is refused with a message."""

import collections
import concurrent.futures
import pathlib
import random
import shutil
import struct

import history
import load
from process import Failure, Refused, await_true
from service import Service

# The numbers of writes in the database, and of later ones in the log.
WRITES = (2000, 300)
KINDS = ("flip", "flip", "flip", "truncate", "zero", "cut-start", "garbage", "gone")


def run(arguments, scratch):
    subject = Subject(arguments, scratch / "subject")
    figures = []
    for name in sorted(subject.files):
        found = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            results = [pool.submit(subject.damage, scratch, name, number)
                       for number in range(arguments.flips)]
            for result in results:
                found[result.result()] += 1
        figures.append(f"{name} ({len(subject.files[name])} bytes): " + ", ".join(
            f"{value} {what}" for what, value in sorted(found.items())))
    return "; ".join(figures)


def plant(subject):
    """The judge expects another state."""
    name = min(subject.history.state)
    value = subject.history.state[name]
    subject.history.state[name] = ("other", *value[1:])


PLANTS = {"other": plant}


class Subject:
    """A folder that was in use and killed: with a database, and a log that is not empty."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        folder.mkdir(parents=True)
        data = folder / "data"
        tokens = load.tokens()
        self.history = None
        # The first life ends with a checkpoint, the second one with a kill.
        for life in range(2):
            with Service(arguments.binary, data, *self.options(), log=folder / "log") as service:
                self.history = self.history or history.History(service.export()[1])
                with load.Load(service, f"{arguments.seed}.{life}", tokens, clients=4,
                               kinds=("put", "small", "small", "transaction", "delete", "merge",
                                      "increment")) as running:
                    await_true("the clients have written", lambda running=running: sum(
                        each.fate == load.MADE for each in running.outcomes) >= WRITES[life])
                self.history.extend(*service.changes(self.history.revision))
                self.history.check(running.outcomes)
                if life == 0 and service.end() != 0:
                    raise Failure("SIGTERM does not end with status 0")
                service.kill()
        self.files = {path.name: path.read_bytes() for path in data.iterdir()}
        self.transactions, self.frame_bytes = frames(self.files["latchkey.db-wal"])
        self.keyed = [each for each in running.outcomes
                      if each.key and each.fate == load.MADE][:5]
        if arguments.plant:
            PLANTS[arguments.plant](self)

    @staticmethod
    def options():
        # The campaign can last longer than keys are kept by default, and it repeats requests.
        return ("--history-bytes", "1GiB", "--idempotency-seconds", 604_800)

    def damage(self, scratch, name, number):
        """Damages one file of a copy, and starts the service on it. Returns the result."""
        choose = random.Random(f"{self.arguments.seed}.{name}.{number}")
        content, kind, place, end = spoil(self.files[name], choose)
        folder = pathlib.Path(scratch) / f"{name}.{number}"
        (folder / "data").mkdir(parents=True)
        for each, data in self.files.items():
            (folder / "data" / each).write_bytes(content if each == name else data)
        what = f"{name}, {kind} at byte {place} (number {number}, kept in {folder})"
        try:
            with Service(self.arguments.binary, folder / "data", *self.options(),
                         log=folder / "log") as service:
                if "log-is-not-noted" in (folder / "log").read_text():
                    result = self._check_life(service, name, what)
                else:
                    result = self._check(service, name, (kind, place, end), what)
        except Refused as refused:
            result = self._check_refusal(refused, what)
        shutil.rmtree(folder)
        return result

    def _check(self, service, name, damage, what):
        changes, revision = service.changes(self.history.first)
        state = service.export()[0]
        if revision == self.history.revision:
            known = self.history.commits
            if any(not same_commit(known[each["revision"]], each) for each in changes):
                raise Failure(f"{what}: another history")
            history.compare(state, self.history.state, f"{what}: the state")
            self._check_keys(service, what)
            return "right"
        if name != "latchkey.db-wal":
            raise Failure(f"{what}: starts at {revision} instead of {self.history.revision}")
        # After a loss of power, a log without its last, unsynced commits is normal.
        history.compare(state, self.history.state_at(revision), f"{what}: the state")
        if not self.may_be_torn(*damage):
            raise Failure(f"{what}: starts without the commits {revision + 1} to "
                          f"{self.history.revision}, and says nothing")
        return "as torn"

    def _check_life(self, service, name, what):
        """Without its record of the log, the folder counts as a copy: its revisions are others."""
        state, revision = service.export()
        if name != "latchkey.lock" or revision <= self.history.revision + (1 << 32):
            raise Failure(f"{what}: continues at {revision} after {self.history.revision}")
        history.compare(state, self.history.state, f"{what}: the state")
        self._check_keys(service, what)
        return "another life"

    def _check_keys(self, service, what):
        for first in self.keyed:
            status, headers, text = service.ask(first.method, first.path, first.body,
                                                first.headers, expect=None)
            if headers["Idempotency-Replayed"] != "true" or text != first.answer:
                raise Failure(f"{what}: a repeat got {status} {text[:100]}: {first}")

    @staticmethod
    def _check_refusal(refused, what):
        lines = [line for line in refused.log.splitlines() if line]
        if refused.status <= 0:
            raise Failure(f"{what}: ended by a signal: {refused}")
        if not lines or "latchkey." not in lines[-1]:
            raise Failure(f"{what}: refused without a sentence that names the file: {refused}")
        return "refused"

    def may_be_torn(self, kind, place, end):
        """Whether no intact commit follows the damage: then it looks like a torn end.

        The first transaction is recorded at once, the others a minute later.
        """
        start, last = self.transactions[-1]
        return place >= self.transactions[0][1] and (
            kind == "truncate" or place >= start or end > last - self.frame_bytes)


def spoil(data, choose):
    """Returns the content, the kind of damage, and its first and last place."""
    kind = choose.choice(KINDS)
    place = choose.randrange(len(data)) if data else 0
    if not data:
        return b"x", "garbage", 0, 1
    if kind == "gone":
        return choose.choice((b"", bytes(len(data)))), kind, 0, len(data)
    if kind == "flip":
        return data[:place] + bytes([data[place] ^ 1 << choose.randrange(8)]) + \
            data[place + 1:], kind, place, place + 1
    if kind == "truncate":
        return data[:place], kind, place, len(data)
    if kind == "cut-start":
        place = min(place, 8192)
        return data[place:], kind, 0, place
    start = place // 512 * 512
    end = min(start + choose.choice((512, 4096, 65536)), len(data))
    filling = bytes(end - start) if kind == "zero" else choose.randbytes(end - start)
    return data[:start] + filling + data[end:], kind, start, end


def frames(wal):
    """The begin and the end of each transaction of the log, and the length of a frame."""
    salts, start, place, found = wal[16:24], 32, 32, []
    size = 24 + struct.unpack_from(">I", wal, 8)[0]
    while place + size <= len(wal) and wal[place + 8:place + 16] == salts:
        is_end = struct.unpack_from(">I", wal, place + 4)[0] != 0
        place += size
        if is_end:
            found.append((start, place))
            start = place
    return found, size


def same_commit(known, change):
    return [(each.type, each.name, each.value) for each in known] == [
        (each["type"], each["name"], each.get("value")) for each in change["effects"]]
