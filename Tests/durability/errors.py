"""Calls that fail: a full disk passes, and any other fault ends the service without losses."""

import collections
import itertools
import shutil
import threading
import time

import shim
from kill import PLANTS, Folder  # noqa: F401
from load import MADE
from process import Failure, Refused, await_true
from service import STRATEGIES

FAULTS_PER_ROUND = 4
ROUNDS_PER_FOLDER = 6
# The call, its fault, the file, and the number of calls in a row.
FAULTS = [(call, action, place, count)
          for call, place, actions in (
              ("write", "log", ("no-space", "io-error", "short", "short-then-no-space")),
              ("sync", "log", ("io-error", "no-space", "synced-io-error", "slow")),
              ("write", "elsewhere", ("no-space", "io-error", "short-then-no-space")),
              ("sync", "elsewhere", ("io-error", "slow")),
              ("truncate", "anywhere", ("no-space", "io-error")))
          for action in actions for count in (1, 3, shim.ALWAYS)
          if action != "slow" or count == 1]
START_FAULTS = [("open", "io-error"), ("open", "no-space"), ("unlink", "io-error")] + [
    (call, action) for call, action, _, _ in FAULTS if action != "slow"]


def run(arguments, scratch):
    campaign = Campaign(arguments)
    faults = iter(campaign.faults())
    strategies = itertools.cycle(STRATEGIES)
    number = 0
    while campaign.left > 0:
        path = scratch / str(number)
        control = shim.Control(scratch / f"control{number}")
        environment = shim.environment(arguments.library, path.resolve(), control=control.path)
        folder = Folder(arguments, path, number, campaign.counts, environment)
        folder.after_kill = control.disarm
        try:
            for _ in range(ROUNDS_PER_FOLDER):
                if campaign.left > 0:
                    campaign.fail_start(folder, control)
                    folder.round(next(strategies), campaign.act(folder, control, faults))
                    campaign.counts["rounds"] += 1
        except (Failure, Refused, OSError) as failure:
            raise Failure(f"folder {path}, {folder.strategy}, after {campaign.last}: "
                          f"{failure}{folder.ending()}") from None
        finally:
            control.disarm()
            folder.close()
        shutil.rmtree(path)
        number += 1
    if campaign.counts["ends"] and not campaign.statuses[500]:
        raise Failure("no client that waited was told that the outcome is not known")
    return f"{campaign}"


def await_end(service):
    """The status of a service that ends by itself."""
    await_true("the service ends", lambda: service.process.poll() is not None)
    return service.process.returncode


class Campaign:
    def __init__(self, arguments):
        self.arguments, self.last = arguments, None
        self.left = arguments.faults
        self.counts = collections.Counter()
        self.fired, self.statuses = collections.Counter(), collections.Counter()
        self.recovery = 0.0

    def __str__(self):
        counts = ", ".join(f"{value} {name}" for name, value in self.counts.items())
        fired = ", ".join(f"{name} {value}" for name, value in sorted(self.fired.items()))
        statuses = ", ".join(f"{name}: {value}" for name, value in sorted(self.statuses.items()))
        return (f"{counts}; faults that came: {fired}; answers: {statuses}; longest recovery "
                f"{self.recovery:.1f} s")

    def faults(self):
        """Each kind in turn, and of each kind one call after the other."""
        skip = 0
        while self.left > 0:
            for fault in FAULTS:
                if self.left > 0:
                    self.left -= 1
                    yield *fault, skip
            # First one call after the other; later with larger steps, to reach checkpoints and
            # compaction.
            skip = skip + 1 if skip < 24 else skip * 3 // 2 % 3001

    def fail_start(self, folder, control):
        """A call fails while the service starts: it refuses with a message, or serves."""
        call, action = folder.choose.choice(START_FAULTS)
        self.last = ("at the start", call, action, skip := folder.choose.choice((0, 1, 2, 5, 9)))
        control.arm(call, action, skip, folder.choose.choice((1, shim.ALWAYS)))
        # It may serve reads, and become ready when the fault has gone.
        timer = threading.Timer(1, control.disarm)
        timer.start()
        try:
            folder.start(STRATEGIES[0])
            self.counts["starts with a fault"] += 1
        except Refused as refused:
            if refused.status <= 0 or "latchkey" not in refused.log:
                raise Failure(f"no sentence: {refused}") from None
            self.counts["refusals to start"] += 1
        timer.cancel()
        folder.close()
        control.disarm()

    def act(self, folder, control, faults):
        def during(running):
            time.sleep(0.1)
            for number, fault in enumerate(itertools.islice(faults, FAULTS_PER_ROUND)):
                self.last = ("of the calls in turn", *fault)
                is_last = number == FAULTS_PER_ROUND - 1 or self.left == 0
                if self._fail(folder, control, running, fault, is_last):
                    self._count(running, reads=False)
                    return True
                if not is_last:
                    folder.read_on()
            self._count(running)
            return False
        return during

    def _fail(self, folder, control, running, fault, is_last):
        """Whether the service has ended, as it must if the disk may have lost pages."""
        call, action, place, count, skip = fault
        if place == "elsewhere" or call == "truncate":
            # The database is written when the log starts again: after a write without space.
            skip %= 7
            control.arm("write", "no-space", place="log", slot=1)
        control.arm(call, action, skip, count, place)
        end = time.monotonic() + (1.5 if skip < 100 else 4)
        while not control.fired and time.monotonic() < end:
            time.sleep(0.002)
        if not control.fired:
            control.disarm()
            self.fired[f"{call} {place} not reached"] += 1
            return False
        self.fired[f"{call} {place} {action}"] += 1
        if action == "io-error" or call != "write" and action != "slow":
            status = await_end(folder.service)
            if status != 1 or "writes-fail" not in folder.service.said():
                raise Failure(f"the end has status {status}: {folder.service.last_words()}")
            self.counts["ends"] += 1
            return True
        time.sleep(folder.choose.choice((0, 0.02, 0.3)))
        # Half of the last faults end with kill -9.
        if is_last and folder.choose.random() < 0.5:
            return False
        control.disarm()
        began, since = time.monotonic(), time.monotonic_ns()
        await_true("writes go on after a fault", lambda: any(
            each.fate == MADE and each.begin > since
            for client in running.clients for each in client.outcomes[-50:]))
        await_true("/readyz is 200 after a fault", folder.service.is_ready)
        self.recovery = max(self.recovery, time.monotonic() - began)
        return False

    def _count(self, running, reads=True):
        for each in list(running.outcomes):
            if each.status in (500, 503, 507):
                self.statuses[each.status] += 1
                if reads and each.kind == "get":
                    raise Failure(f"a read was answered {each.status}: {each.answer[:300]}")
