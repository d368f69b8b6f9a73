"""Rows of `make bench`: `adaptive` and the locks that a user would take instead.

The limit is Rust's parking_lot, the crate of Debian. Each language runs the same loop in a process
of its own: threads on processors of their own as far as there are enough, one start line, one
addition in the guarded section, nothing outside. A round runs every contender once, in another
order from round to round; a ratio is formed within the round.
"""

import contextlib
import statistics
import subprocess

from table import progress, row

THREADS = (1, 2, 4, 8)
ROUNDS = 25
MILLISECONDS = 60
TARGET = 1.00
PEER = "parking_lot"
ADAPTIVE = "adaptive"
# The name in LatchkeySyncBenchmark, and the one in the table.
CONTENDERS = {
    ADAPTIVE: ADAPTIVE,
    "pthread-box": "pthread mutex in a tail allocation (as NIOLockedValueBox)",
    "NSLock": "NSLock",
    "Mutex": "Mutex",
}


class Racer:
    """A process that answers each line with the nanoseconds of wall and processor time."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def race(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        wall, cpu = map(float, self.process.stdout.readline().split())
        return wall, cpu


def measure_peers(arguments):
    if not (arguments.micro and arguments.parking_lot):
        return []
    rows = []
    with contextlib.ExitStack() as stack:
        rust = stack.enter_context(Racer(arguments.parking_lot))
        swift = stack.enter_context(Racer(arguments.micro, "--peers"))
        for threads in THREADS:
            rows += compare(rust, swift, threads)
    return rows


def compare(rust, swift, threads):
    names = [PEER, *CONTENDERS]
    costs = {name: [] for name in names}
    # The first round is not counted.
    for turn in range(ROUNDS + 1):
        progress(f"{threads} threads, round {turn} of {ROUNDS}")
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            if name == PEER:
                cost = rust.race(threads, MILLISECONDS)
            else:
                cost = swift.race(name, threads, MILLISECONDS)
            if turn:
                costs[name].append(cost)
    rows = []
    for name, title in CONTENDERS.items():
        rows += ratios_of_costs(title, threads, costs[name], costs[PEER], name == ADAPTIVE)
    return rows


def ratios_of_costs(title, threads, costs, peer, has_target):
    """Two rows: of wall time, and of processor time."""
    rows = []
    for part, text in enumerate((
            f"{title} ÷ {PEER}, write, {threads} thread{'s' * (threads > 1)}",
            "  processor time")):
        over, under = ([each[part] for each in side] for side in (costs, peer))
        values = [one / other for one, other in zip(over, under)]
        note = f"{statistics.median(over):.3g} ns ÷ {statistics.median(under):.3g} ns"
        with_target = has_target and part == 0
        rows.append(row(text, values, "", f"≤ {TARGET:.2f}" if with_target else "",
                        statistics.median(values) <= TARGET if with_target else None, note))
    return rows
