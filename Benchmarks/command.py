"""How long the program takes as a client: from its start to its end, for a service on loopback."""

import os
import statistics
import subprocess
import time

from process import Failure, Latchkey
from table import progress, row

RUNS = 50
GET_MILLISECONDS_MAX = 10
COMMANDS = (
    ("`latchkey get`", ("get", "a"), GET_MILLISECONDS_MAX),
    ("`latchkey --version`, which asks no service", ("--version",), None),
)


def measure_command(arguments):
    progress("measuring the client")
    with Latchkey(arguments.binary) as service:
        environment = {**os.environ, "LATCHKEY_URL": service.url}
        run(arguments.binary, ("put", "a", "1"), environment)
        times = {name: [] for name, _, _ in COMMANDS}
        for _ in range(RUNS):
            for name, words, _ in COMMANDS:
                times[name].append(run(arguments.binary, words, environment))
    rows = []
    for name, _, most in COMMANDS:
        met = None if most is None else statistics.median(times[name]) <= most
        rows.append(row(name, times[name], "ms", "" if most is None else f"≤ {most}", met,
                        f"{RUNS} runs, in turn"))
    return rows


def run(binary, words, environment):
    """The milliseconds that a command took."""
    start = time.perf_counter()
    done = subprocess.run([binary, *words], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Failure(f"{words} ended with {done.returncode}")
    return 1000 * (time.perf_counter() - start)
