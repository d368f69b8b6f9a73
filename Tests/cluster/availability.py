"""Measures how long replicas made no progress, against the times that docs/cluster.md promises.

The times are judged only if nothing else uses the machine: `run.py --judge-times`.

Design: a wait, or a pause between two answers, is judged without the parts that a fault excuses:
the longest part in which no fault excused the replica counts. So a fault that excuses nothing, such
as the end of one member of etcd, must not be noticed for longer than that.
"""

from judge import FAILED, MADE, READ, REFUSED, UNKNOWN
from process import Failure

WRITES = ("put", "delete", "increment", "transaction")
# Seconds. A change can wait 2 s until it is sent, and then 5 s for the log.
LIMITS = {"pause of writes": 3.0, "503 for a write": 2.0, "unknown outcome": 7.0,
          "read from memory": 1.0, "pause of reads": 1.0}
# For other work on the machine, and for the time of the client and the judge.
ALLOWANCE_SECONDS = 2.0


class Availability:
    """The longest of each of the times, over all rounds; with `is_strict` each has its limit."""

    def __init__(self, is_strict=True):
        self.is_strict = is_strict
        self.longest, self.age, self.errors = dict.fromkeys(LIMITS, 0.0), 0.0, []
        # The times of the last round.
        self.last = {}

    def __str__(self):
        return ", ".join(f"{what} {self.longest[what]:.2f} s of {limit:.0f}"
                         for what, limit in LIMITS.items()) + f"; greatest age {self.age:.1f} s"

    def judge(self, operations, probers, readers, excuses):
        """Takes the times of one round."""
        self.errors, self.last = [], dict.fromkeys(LIMITS, 0.0)
        down = _by_replica(excuses["all"])
        idle = _by_replica(excuses["all"] + excuses["writes"])
        for each in operations:
            if each.status == 507 and not is_excused(each, down[each.replica]):
                raise Failure(f"a replica whose disk has room answers 507: {each}")
            if each.kind in WRITES and each.fate in (REFUSED, UNKNOWN) and each.status:
                self._take("503 for a write" if each.fate == REFUSED else "unknown outcome",
                           each.begin, each.end, down[each.replica], each)
        for prober in probers:
            self._pauses("pause of writes", prober, (MADE,), idle)
        for reader in readers:
            for each in reader.operations:
                if each.end:
                    self._take("read from memory", each.begin, each.end, down[each.replica], each)
                    self.age = max(self.age, each.age / 1e9)
            self._pauses("pause of reads", reader, (READ, FAILED), down)
        if self.errors and self.is_strict:
            raise Failure("; ".join(self.errors[:5]))

    def _pauses(self, what, talker, fates, excuses):
        """Judges pauses between answers, including those at the begin and the end of the round."""
        number = talker.replica.number
        ends = [each.end for each in talker.operations if each.end and each.fate in fates]
        times = [talker.began, *ends, talker.ended]
        for begin, end in zip(times, times[1:]):
            self._take(what, begin, end, excuses[number], f"replica {number}")

    def _take(self, what, begin, end, excuses, who):
        seconds = longest_part(begin, end, excuses) / 1e9
        self.longest[what] = max(self.longest[what], seconds)
        self.last[what] = max(self.last[what], seconds)
        if seconds > LIMITS[what] + ALLOWANCE_SECONDS:
            self.errors.append(f"{what}: {seconds:.2f} s, at most {LIMITS[what]:.0f} s are "
                               f"promised: {who}")


def _by_replica(excuses):
    return {number: sorted((begin, end) for replica, begin, end in excuses if replica == number)
            for number in range(3)}


def is_excused(each, excuses):
    """Whether an operation overlaps an excused time."""
    return any(begin < each.end and each.begin < end for begin, end in excuses)


def longest_part(begin, end, excuses):
    """The longest part of the time from `begin` to `end` outside the excuses, which are sorted."""
    longest = 0
    for left, right in excuses:
        if right > begin and left < end:
            longest, begin = max(longest, left - begin), max(begin, right)
    return max(longest, end - begin)
