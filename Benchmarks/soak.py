#!/usr/bin/env python3
"""Loads the service for minutes and watches its memory.

The load is the mix of nine GETs to one PUT over a fixed set of properties, so that once all of them
are there nothing has a reason to grow. Resident memory is read every two seconds; the first third
of the time is the warm-up. It fails if the last quarter of the rest needs noticeably more than the
first quarter of it.

With --data, all of the load writes, each write is on the disk before its answer, and the files are
watched like the memory.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import loader
from driver import drive, socket_errors

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey  # noqa: E402

PROPERTIES = 1000
SAMPLE_SECONDS = 2
# The changes of a heap while nothing leaks.
GROWTH_SHARE_MAX = 0.02
GROWTH_BYTES_MAX = 1 << 20
# The log grows until it starts again, and the table of changes until it is compacted.
FILE_GROWTH_BYTES_MAX = 64 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--strategy", default="lock")
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--data", action="store_true", help="write only, with data that is kept")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=".") as folder:
        options = ("--data", folder) if arguments.data else ()
        with Latchkey(arguments.binary, "--strategy", arguments.strategy, *options) as service:
            loader.fill(service.address, PROPERTIES, lambda index: b"mix%d" % index, b"1")
            samples, report = load(service, arguments, pathlib.Path(folder))
    if socket_errors(report):
        raise Failure(f"{socket_errors(report)} socket errors")

    print(f"{report['requests']:,} answers under {arguments.strategy} in {arguments.seconds} s")
    memory, files = zip(*samples)
    grows = is_growing("resident memory", memory, GROWTH_BYTES_MAX)
    if arguments.data:
        grows += is_growing("files", files, FILE_GROWTH_BYTES_MAX)
    return 1 if grows else 0


def is_growing(what, samples, bytes_max):
    """Whether the last quarter needs more than the first quarter after the warm-up."""
    steady = samples[len(samples) // 3:]
    quarter = max(1, len(steady) // 4)
    early, late = statistics.median(steady[:quarter]), statistics.median(steady[-quarter:])
    print(f"{what}: {early / 1e6:.1f} MB, later {late / 1e6:.1f} MB, "
          f"at most {max(samples) / 1e6:.1f} MB")
    grows = late - early > max(bytes_max, GROWTH_SHARE_MAX * early)
    if grows:
        print(f"FAILED: {what}: grows all the time")
    return grows


def load(service, arguments, folder):
    """The samples of the memory and the files during the load, and wrk's report."""
    reports = []
    url, kind, connections = f"{service.url}/v1/properties/mix", "mix", 32
    if arguments.data:
        kind, connections = "writes", 64
    worker = threading.Thread(target=lambda: reports.append(
        drive(url, kind, arguments.seconds, connections, (PROPERTIES,))))
    worker.start()
    samples = []
    while worker.is_alive():
        samples.append((service.resident_bytes(), byte_count(folder)))
        if sys.stderr.isatty():
            print(f"\r\033[K{samples[-1][0] / 1e6:.1f} MB", end="", file=sys.stderr, flush=True)
        time.sleep(SAMPLE_SECONDS)
    if not reports:
        raise Failure("wrk did not finish")
    return samples, reports[0]


def byte_count(folder):
    """The size of all files in it."""
    return sum(path.stat().st_size for path in folder.iterdir())


if __name__ == "__main__":
    sys.exit(main())
