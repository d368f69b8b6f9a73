#!/usr/bin/env python3
"""Loads the service for minutes and watches its memory.

The load is the mix of nine GETs to one PUT over a fixed set of properties, so that once all of them
are there nothing has a reason to grow. Resident memory is read every two seconds; the first third
of the time is the warm-up. It fails if the last quarter of the rest needs noticeably more than the
first quarter of it.
"""

import argparse
import pathlib
import statistics
import sys
import threading
import time

import loader
from driver import drive, socket_errors

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey  # noqa: E402

PROPERTIES = 1000
SAMPLE_SECONDS = 2
# What a heap may move by itself while nothing leaks.
GROWTH_SHARE_MAX = 0.02
GROWTH_BYTES_MAX = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--strategy", default="lock")
    parser.add_argument("--seconds", type=int, default=180)
    arguments = parser.parse_args()

    with Latchkey(arguments.binary, "--strategy", arguments.strategy) as service:
        loader.fill(service.address, PROPERTIES, lambda index: b"mix%d" % index, b"1")
        samples, report = load(service, arguments.seconds)
    if socket_errors(report):
        raise Failure(f"{socket_errors(report)} socket errors")

    steady = samples[len(samples) // 3:]
    quarter = max(1, len(steady) // 4)
    early, late = statistics.median(steady[:quarter]), statistics.median(steady[-quarter:])
    print(f"{report['requests']:,} answers under {arguments.strategy} in {arguments.seconds} s; "
          f"resident memory {early / 1e6:.1f} MB, later {late / 1e6:.1f} MB, "
          f"at most {max(samples) / 1e6:.1f} MB")
    if late - early > max(GROWTH_BYTES_MAX, GROWTH_SHARE_MAX * early):
        print("FAILED: the memory keeps growing")
        return 1
    return 0


def load(service, seconds):
    """The samples of the memory during the load, and wrk's report."""
    reports = []
    url = f"{service.url}/v1/properties/mix"
    worker = threading.Thread(
        target=lambda: reports.append(drive(url, "mix", seconds, arguments=(PROPERTIES,))))
    worker.start()
    samples = []
    while worker.is_alive():
        samples.append(service.resident_bytes())
        if sys.stderr.isatty():
            print(f"\r\033[K{samples[-1] / 1e6:.1f} MB", end="", file=sys.stderr, flush=True)
        time.sleep(SAMPLE_SECONDS)
    if not reports:
        raise Failure("wrk did not finish")
    return samples, reports[0]


if __name__ == "__main__":
    sys.exit(main())
