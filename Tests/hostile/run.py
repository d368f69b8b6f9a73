#!/usr/bin/env python3
"""Attacks a running `latchkey serve` from outside and says what held.

    Tests/hostile/run.py --binary .build-release/release/latchkey [--quick] [--only NAME]

Every case starts the service anew on a free port of the loopback address, in both thread modes,
plays clients that mean no good, and prints one line with its figures. `--quick` takes seconds,
the long form minutes. Standard library only.
"""

import argparse
import sys
import time

import drain
import heads
import log
import names
import probes
from service import MODES, Failure, Refused

SUBJECTS = (drain, heads, log, probes, names)


def main():
    arguments = parse_arguments()
    passed = failed = 0
    for subject in SUBJECTS:
        for name, case in subject.CASES.items():
            for mode in arguments.mode or MODES:
                if arguments.only and not any(name.startswith(text) for text in arguments.only):
                    continue
                if attempt(case, name, arguments, mode):
                    passed += 1
                else:
                    failed += 1
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def attempt(case, name, arguments, mode):
    """Runs one case and prints its line."""
    began = time.monotonic()
    try:
        word, figures = "ok", case(arguments, mode)
    except (Failure, Refused, OSError) as failure:
        word, figures = "FAILED:", failure or type(failure).__name__
    seconds = time.monotonic() - began
    print(f"{word} {name}, {mode} ({seconds:.1f} s): {figures}", flush=True)
    return word == "ok"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--quick", action="store_true", help="all of it in seconds")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="only cases whose names begin so; can be repeated")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this thread mode")
    parser.add_argument("--verbose", action="store_true", help="every variant that went wrong")
    parser.add_argument("--repeats", type=int, help="how often drain cases repeat")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
