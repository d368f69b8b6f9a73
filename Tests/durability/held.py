"""Syncs that are held: no answer shows a change that is not on the disk.

Design: a sync of the log begins and does not end until the campaign lets it. Meanwhile clients send
changes of every kind, each reader gets some answers, and clients cause refusals that would reveal
such a change. No answer may need a revision after the one before the hold. Then the syncs end, and
all requests are answered; or the power is lost, and the disk has everything that was shown.
"""

import itertools
import json
import random
import re
import threading

import history
import images
import load
import seeing
import shim
from process import PATIENCE_SECONDS, Failure, await_true
from service import STRATEGIES, Service

QUIET = [f"q/{number}" for number in range(4)]
NAMES = [f"s/{number}" for number in range(6)]
# So many answers of each reader that does not have to wait are enough.
ANSWERS = 30
JSON = {"Content-Type": "application/json"}


def interval(campaign):
    """Changes are answered before they are on the disk."""
    campaign.options, campaign.limits = ("--durability", "interval"), {"sync-interval": 1}


PLANTS = {"interval": interval}


def run(arguments, scratch):
    counts = {"holds": 0, "shown": 0, "power losses": 0, "held answers": 0}
    choose = random.Random(arguments.seed)
    strategies = itertools.cycle(STRATEGIES)
    for number in range(arguments.holds):
        path = scratch / str(number)
        path.mkdir()
        try:
            Hold(arguments, path, choose, counts, next(strategies)).run(number % 2 == 1)
        except Failure as failure:
            raise Failure(f"hold {number}: {failure}") from None
        counts["holds"] += 1
    return ", ".join(f"{value} {name}" for name, value in counts.items())


class Ask(threading.Thread):
    """One request, which may have to wait for the disk."""

    def __init__(self, service, method, target, body=None, headers=None):
        super().__init__(daemon=True)
        self.service, self.request = service, (method, target, body, headers)
        self.answer, self.text, self.error = None, b"", None

    def run(self):
        try:
            status, fields, self.text = self.service.ask(*self.request, expect=None)
            self.answer = (status, fields.get("ETag"))
        except Exception as error:  # noqa: BLE001
            self.error = error

    def __repr__(self):
        return f"{self.request[:2]}, answered {self.answer or self.error}"


class Hold:
    def __init__(self, arguments, path, choose, counts, strategy):
        self.arguments, self.path, self.choose, self.counts = arguments, path, choose, counts
        self.control, self.strategy = shim.Control(path / "control"), strategy
        self.options, self.limits = (), {}
        self.disk_path, self.record = path / "disk", path / "record"
        self.disk_path.mkdir()
        self.disk = images.Disk(self.disk_path)
        if arguments.plant:
            PLANTS[arguments.plant](self)

    def seeded(self):
        return random.Random(self.choose.random())

    def service(self, environment=None):
        return Service(self.arguments.binary, self.disk_path / "data", "--strategy", self.strategy,
                       *self.options, *self.arguments.option, log=self.path / "log",
                       environment=environment, limits=self.limits)

    def run(self, is_lost):
        self.disk.begin()
        with self.service(shim.environment(self.arguments.library, self.disk_path, self.record,
                                           self.control.path)) as service:
            known = history.History(service.export()[1])
            for token, name in enumerate(QUIET + NAMES[:4], 1):
                service.ask("PUT", load.path(name), json.dumps(load.text_value(token, 5)))
            known.extend(*service.changes(known.revision))
            readers = seeing.start(service, self.seeded, QUIET, "q/")
            self.await_answers(readers)
            asked = self.hold(service, readers, known)
            if is_lost:
                service.kill()
                self.control.disarm()
                seen = seeing.finish(readers)
                self.lose_power()
            else:
                self.control.disarm()
                for each in asked:
                    each.join(PATIENCE_SECONDS)
                    if each.answer is None:
                        raise Failure(f"is not answered after the hold: {each}")
                last = int(service.ask("PUT", load.path("z"), '"T1000:"')[1]["ETag"].strip('"'))
                for reader in readers:
                    if isinstance(reader, (seeing.Watch, seeing.Changes)):
                        await_true("a reader sees what was held", lambda reader=reader: any(
                            each.revision >= last for each in reader.seen))
                known.extend(*service.changes(known.revision))
                for reader in readers:
                    reader.stop()
                service.kill()
                seen = seeing.finish(readers)
        if is_lost:
            with self.service() as service:
                known.extend(*service.changes(known.revision))
            self.counts["power losses"] += 1
        seeing.judge(seen, known)
        self.counts["shown"] += len(seen)

    def await_answers(self, readers, since=None):
        """Waits until each reader of unchanged properties has some more answers."""
        begin = since or [0 for _ in readers]
        for reader, count in zip(readers, begin):
            # A page shows one moment, and can wait for all that was decided before it.
            if type(reader) is seeing.Values:
                await_true(f"answers of {type(reader).__name__}, which does not wait",
                           lambda reader=reader, count=count: reader.error or not
                           reader.is_alive() or len(reader.seen) >= count + ANSWERS)

    def hold(self, service, readers, known):
        """Holds the syncs, and judges the answers meanwhile. Returns the requests."""
        self.control.arm("sync", "held", count=shim.ALWAYS, place="log")
        tag = {"If-Match": f'"{known.state["s/1"][1]}"'}
        asked = [Ask(service, *words) for words in (
            ("PUT", load.path("s/0"), '"T100:"'),
            ("PUT", load.path("s/1"), '"T101:"', tag),
            ("DELETE", load.path("s/2")),
            ("PUT", load.path("s/5"), '"T102:"'),
            ("PUT", load.path("s/4"), '"T103:"', {"Idempotency-Key": "held"}),
            ("POST", load.path("n/0") + "/increment", '{"by":104}', JSON),
            ("POST", "/v1/transactions", json.dumps({"then": [
                {"put": "s/3", "value": "T105:"}, {"put": "s/6", "value": "T105:"}]}), JSON))]
        for each in asked:
            each.start()
        await_true("a sync is held", lambda: self.control.held > 0)
        # The answer to each of these would reveal a change that is not on the disk.
        later = [Ask(service, *words) for words in (
            ("PUT", load.path("s/5"), '"T106:"', {"If-None-Match": "*"}),
            ("PUT", load.path("s/1"), '"T107:"', tag),
            ("PUT", load.path("s/4"), '"T103:"', {"Idempotency-Key": "held"}),
            ("GET", load.path("s/5")), ("GET", load.path("s/0")), ("GET", load.path("s/2")),
            ("GET", "/v1/properties?prefix=s/"), ("GET", "/v1/count?prefix=s/"),
            ("GET", "/v1/export"), ("POST", "/v1/pop?prefix=s/5"))]
        for each in later:
            each.start()
        self.await_answers(readers, [len(reader.seen) for reader in readers])
        if not self.control.held:
            raise Failure("the hold has ended")
        self.judge(asked, later, readers, known)
        self.counts["held answers"] += sum(each.answer is None for each in asked + later)
        return asked + later

    def judge(self, asked, later, readers, known):
        """Before the hold ends, no answer may need its commits."""
        for each in asked:
            if each.answer is not None:
                raise Failure(f"is answered, and not on the disk: {each}")
        for each in later:
            method, target, *_ = each.request
            status, tag = each.answer or (None, None)
            # A read may be answered with the state before the hold.
            old = method == "GET" and (
                target.endswith("s%2F5") and status == 404
                or tag is not None and int(tag.strip('"')) <= known.revision
                or status == 200 and self.is_old(target, each.text, known))
            if each.answer is not None and not old:
                raise Failure(f"tells of what is not on the disk: {each}")
        for reader in readers:
            if reader.error:
                raise Failure(f"a reader: {reader.error}")
            for each in list(reader.seen):
                if each.revision > known.revision:
                    raise Failure(f"is shown, and not on the disk ({known.revision} is): {each}")

    def is_old(self, target, text, known):
        """Whether the answer shows only revisions from before the hold."""
        if target.startswith("/v1/count"):
            held = [name for name in known.state if name.startswith("s/")]
            return json.loads(text)["count"] == len(held)
        revisions = re.findall(rb'"revision":(\d+)', text)
        return all(int(revision) <= known.revision for revision in revisions)

    def lose_power(self):
        for entry in images.read_record(self.record):
            self.disk.advance(entry)
        image = self.path / "image"
        self.disk.write_image(image, self.seeded(), False)
        self.disk_path.rename(self.path / "before")
        image.rename(self.disk_path)
