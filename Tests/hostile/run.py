#!/usr/bin/env python3
"""Attacks a running `latchkey serve` from outside and says what held.

    Tests/hostile/run.py --binary .build-release/bin/latchkey [--quick] [--only NAME]

Every case starts the service anew on a free port of the loopback address, in both thread modes,
plays clients that mean no good, and prints one line with its figures. `--quick` takes seconds,
the long form minutes. The cases are those of issue 7. Standard library only.
"""

import argparse
import concurrent.futures
import sys
import time

import descriptors
import drain
import heads
import log
import names
import probes
import slow
import tokens
from service import MODES, Failure, Refused

SUBJECTS = (drain, descriptors, heads, slow, log, probes, names, tokens)


def main():
    arguments = parse_arguments()
    attempts = [(subject, name, mode) for subject in SUBJECTS for name in subject.CASES
                for mode in arguments.mode or MODES
                if not arguments.only or name.startswith(tuple(arguments.only))]
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        results = [pool.submit(attempt, subject.__name__, name, arguments, mode)
                   for subject, name, mode in attempts]
        for result in results:
            holds, line = result.result()
            print(line, flush=True)
            failed += not holds
    print(f"\n{len(attempts) - failed} passed, {failed} failed")
    return 1 if failed or not attempts else 0


def attempt(subject, name, arguments, mode):
    """Runs one case. Returns whether it held, and its line."""
    began = time.monotonic()
    try:
        word, figures = "ok", sys.modules[subject].CASES[name](arguments, mode)
    except (Failure, Refused, OSError) as failure:
        word, figures = "FAILED:", failure or type(failure).__name__
    seconds = time.monotonic() - began
    return word == "ok", f"{word} {name}, {mode} ({seconds:.1f} s): {figures}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--quick", action="store_true", help="all of it in seconds")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="only cases whose names begin so; can be repeated")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this thread mode")
    parser.add_argument("--verbose", action="store_true", help="every variant that went wrong")
    parser.add_argument("--repeats", type=int, help="how often drain cases repeat")
    parser.add_argument("--jobs", type=int, help="cases at a time; 1, or 3 with --quick")
    arguments = parser.parse_args()
    arguments.jobs = arguments.jobs or (3 if arguments.quick else 1)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
