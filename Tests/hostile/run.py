#!/usr/bin/env python3
"""Attacks a running `latchkey serve` from outside and reports which cases held.

    Tests/hostile/run.py --binary .build-release/bin/latchkey [--quick] [--only NAME]

Every case starts the service on a free port of the loopback address, plays hostile clients, and
prints one line with its figures. The long form does so over TLS, too; `--quick`, which takes
seconds, only where a case is about TLS, or with `--mode`. The cases are those of issues 7, 21 and
46. Needs the standard library, `openssl` for certificates, and `wrk`.
"""

import argparse
import concurrent.futures
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))

import crowds  # noqa: E402
import descriptors  # noqa: E402
import drain  # noqa: E402
import heads  # noqa: E402
import log  # noqa: E402
import slow  # noqa: E402
import tls  # noqa: E402
import work  # noqa: E402
from process import Failure, Refused  # noqa: E402
from service import MODES, is_encrypted  # noqa: E402

SUBJECTS = (drain, descriptors, heads, slow, log, tls, crowds, work)


def main():
    arguments = parse_arguments()
    attempts = [(subject, name, mode) for subject in SUBJECTS for name in subject.CASES
                for mode in modes(subject, name, arguments)
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


def modes(subject, name, arguments):
    """The modes of a case. A short run has TLS only for cases that need it."""
    own = getattr(subject, "MODES_OF_CASES", {}).get(name, MODES)
    if arguments.mode:
        return [mode for mode in arguments.mode if mode in own]
    return [mode for mode in own if not is_encrypted(mode)] or own if arguments.quick else own


def attempt(subject, name, arguments, mode):
    """Runs one case. Returns whether it passed, and its line."""
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
    parser.add_argument("--mode", action="append", choices=MODES, help="only with TLS, or without")
    parser.add_argument("--verbose", action="store_true", help="every variant that went wrong")
    parser.add_argument("--repeats", type=int, help="how often drain cases repeat")
    parser.add_argument("--jobs", type=int, help="cases at a time; 1, or 3 with --quick")
    arguments = parser.parse_args()
    arguments.jobs = arguments.jobs or (3 if arguments.quick else 1)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
