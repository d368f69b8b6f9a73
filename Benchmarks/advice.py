"""Whether `latchkey advise` is right: what it says under load, and what doing it gains.

Two services are asked: one whose lock is contended (one stripe, 16 threads, long sections: merge
patches of a large value, under a strategy that hands over in turn), and one whose lock is not.
Where the answer is to use another strategy, services with the old and the new one are loaded in
turn. The other one must not be told to switch. Shadows get all operations: at a smaller share,
threads queue at the lock and not at its shadow.
"""

import json
import pathlib
import subprocess
import tempfile
import threading

import driver
from process import Failure, Latchkey
from table import progress, ratios, row

THREADS = 16
SECONDS = 60
ADVISE_SECONDS_MAX = 120
# A switch that gains less was not worth the advice.
GAIN_MIN = 1.1
# Of those whose waiters stand in a line: each entry waits for a thread to get a processor.
CONTENDED = "ticket"
SHADOWS = "lock,read-write-lock,adaptive,spin"
LONG_VALUE = json.dumps({f"m{number}": "abcdefghijklmnopqrstuvwxyz" for number in range(400)})
SHORT_VALUE = '"abcdefghijklmnopqrstuvwxyz0123"'
STRIPE = ("--stripes", "1", "--http-threads", str(THREADS))


def measure_advice(arguments, interleave):
    """The rows; `interleave` loads services in turn."""
    contended = advice(arguments, CONTENDED, "merge", LONG_VALUE, STRIPE)
    other = contended["advice"].get("switchTo")
    rows = [verdict_row(contended, f"one stripe, {THREADS} threads, long merge patches", True)]
    if other:
        rows += gain(arguments, interleave, other)
    quiet = advice(arguments, "lock", "get", SHORT_VALUE, ("--http-threads", "2"))
    return rows + [verdict_row(quiet, "128 stripes, 2 threads, GET", False)]


def advice(arguments, strategy, kind, value, flags):
    """What `latchkey advise` says of a service under load, as JSON."""
    progress(f"advise: {strategy}")
    shadows = ("--shadow", f"{strategy},{SHADOWS}" if strategy not in SHADOWS.split(",")
               else SHADOWS, "--shadow-sample", "1/1")
    with Latchkey(arguments.binary, "--strategy", strategy, *flags, *shadows) as service, \
            tempfile.TemporaryDirectory() as folder:
        service.ask("PUT", "/v1/properties/get", value)
        load = threading.Thread(target=driver.drive, args=(
            f"{service.url}/v1/properties/get", kind, SECONDS + 2))
        load.start()
        file = pathlib.Path(folder) / "advice.json"
        done = subprocess.run(
            [arguments.binary, "advise", service.url, "--seconds", str(SECONDS), "--json", file],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ADVISE_SECONDS_MAX)
        load.join()
        if done.returncode != 0:
            raise Failure(f"advise ended with status {done.returncode}: {done.stderr}")
        return json.loads(file.read_text())


def verdict_row(found, place, is_to_switch):
    """The share of the busy time that waiting takes, and whether the answer is the right one."""
    verdict = found["advice"]["verdict"]
    return row(f"advise, {found['advice']['strategy']}, {place}: {verdict}",
               [100 * found["advice"].get("waitShare", 0)], "% waiting",
               "switch" if is_to_switch else "no switch",
               (verdict == "switch") == is_to_switch, found["headline"])


def gain(arguments, interleave, other):
    """What the switch gains, without shadows."""
    with Latchkey(arguments.binary, "--strategy", CONTENDED, *STRIPE) as before, \
            Latchkey(arguments.binary, "--strategy", other, *STRIPE) as after:
        for service in (before, after):
            service.ask("PUT", "/v1/properties/get", LONG_VALUE)
        loads = interleave(arguments, {
            "before": (before, "merge", "get", ()), "after": (after, "merge", "get", ())})
    return ratios(f"the switch to {other} ÷ {CONTENDED}", loads, "after", "before", GAIN_MIN)
