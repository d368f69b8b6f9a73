#!/usr/bin/env python3
"""Measures what docs/measuring.md promises of `latchkey compare` itself.

How long a run takes, how large its page is and whether a browser opens it without a complaint;
whether the comparison of two reports finds a section that is 20 % or 10 % longer, and a strategy
that is 30 % slower on four threads, and finds nothing between two runs of one build; whether
default runs name the same strategy, also beside another process. Takes about seventy minutes with
twenty pairs, on a machine that does nothing else: a report of a busy one claims less, and says so.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# What the pairs are measured with: every kind of primitive, below and above two processors.
PAIR = ["--strategies", "lock,spin,adaptive,read-write-lock,mutex,snapshot,serial-queue,actor",
        "--threads", "1,2,8", "--duration", "100ms"]
# A planted regression must be found whatever the section: as long as nothing, and much longer than
# the lock. Without work outside, so that the section is what is measured.
PLANTED = [(1000, 1200), (200, 240)]
# The smallest promises: a section that is 10 % longer, on one thread, in default runs; and on four
# threads a strategy that is 30 % slower than itself, by a section of a microsecond without work
# outside, which is all of an operation.
LONGER = ["--threads", "1", "--outside", 0, "--section"]
LONGER_SECTIONS = (1000, 1100)
SLOWER = ["--strategies", "lock,adaptive", "--threads", "4", "--repeats", "10", "--outside", 0,
          "--section"]
SLOWER_SECTIONS = (1000, 1430)
SECONDS_MAX = 600
# What another process takes of a processor, while the verdict has to stay what it is, or weaker.
FOREIGN_SHARE = 0.3


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pairs = arguments.pairs
        parts = {
            "default": lambda: default_run(arguments, folder),
            "stable": lambda: stable(arguments, folder),
            "identical": lambda: identical(arguments, folder),
            "planted": lambda: [planted(arguments, folder, *sections) for sections in PLANTED],
            "longer": lambda: found_pairs(
                arguments, folder, "10 % longer section, one thread", LONGER, LONGER_SECTIONS,
                pairs - pairs // 20),
            "slower": lambda: found_pairs(
                arguments, folder, "30 % slower on 4 threads", SLOWER, SLOWER_SECTIONS,
                pairs * 3 // 4),
        }
        load = busy(FOREIGN_SHARE) if arguments.beside_load else contextlib.nullcontext()
        with load:
            for name, part in parts.items():
                if arguments.only in (None, name):
                    part()
    return 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to measure, a release build")
    parser.add_argument("--pairs", type=int, default=20, help="how many pairs of each kind")
    parser.add_argument("--only", choices=("default", "stable", "identical", "planted", "longer",
                                           "slower"),
                        help="measure this part alone")
    parser.add_argument("--beside-load", action="store_true",
                        help="beside a process that takes a part of a processor")
    return parser.parse_args()


def compare(arguments, *words):
    """Runs it and returns status, output and what it said."""
    # Forced, or each run would wait for the other process to end.
    force = ["--force"] if arguments.beside_load and "--from" not in words else []
    done = subprocess.run([arguments.binary, "compare", *map(str, words), *force], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS_MAX)
    return done.returncode, done.stdout, done.stderr


def default_run(arguments, folder):
    began = time.monotonic()
    status, output, errors = compare(arguments, "--html", folder / "a.html")
    took = time.monotonic() - began
    print(output)
    show("default run", f"{took:.0f} s", "< 75 s", took < 75 and status == 0)
    size = os.path.getsize(folder / "a.html")
    show("HTML page", f"{size / 1000:.0f} kB", "< 500 kB", size < 500_000)
    show("progress", errors.splitlines()[0], "from the first second", "0 %" in errors)
    browser = shutil.which("chromium")
    if browser is None:
        show("errors in a browser's console", "no chromium here", "none", None)
        return
    opened = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={folder}/browser", f"--screenshot={folder}/a.png",
         f"file://{folder}/a.html"],
        text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS_MAX)
    complaints = re.findall(r".*CONSOLE.*", opened.stderr)
    show("errors in a browser's console", f"{len(complaints)}", "none",
         not complaints and os.path.exists(folder / "a.png"))


def stable(arguments, folder):
    """Default runs, quiet and beside a process that takes a part of a processor: who is named.

    A busy machine may make the verdict weaker, so that the current strategy stays, not different.
    """
    count = arguments.pairs // 2
    least = count - count // 10
    named = [name for name, _ in verdicts(arguments, folder, count)]
    usual, times = collections.Counter(named).most_common(1)[0]
    show("default runs that name the same", f"{times} of {count}: {usual}", f"{least}",
         times >= least)
    with busy(FOREIGN_SHARE):
        found = verdicts(arguments, folder, count)
    same = sum(name == usual for name, _ in found)
    weaker = sum(name != usual and name == current for name, current in found)
    show(f"the same beside {FOREIGN_SHARE:.0%} of a processor",
         f"{same} of {count}, {weaker} weaker", f"{least} together", same + weaker >= least)


def verdicts(arguments, folder, count):
    """The strategies that default runs name, each with the current one."""
    found = []
    for run in range(count):
        progress(f"default runs: {run + 1} of {count}")
        report = folder / "stable.json"
        # Forced, or each run would wait for the other process to end.
        status, _, errors = compare(arguments, "--force", "--json", report)
        if status != 0:
            sys.exit(f"compare ended with status {status}: {errors}")
        verdict = json.loads(report.read_text())["recommendation"]
        found.append(((verdict["strategies"] or [None])[0], verdict["current"]))
        progress("")
        print(f"  {verdict['sentence']}", flush=True)
    return found


@contextlib.contextmanager
def busy(share):
    """A process that computes for this share of each 10 ms."""
    loop = ("import time\nwhile True:\n t = time.perf_counter()\n"
            f" while time.perf_counter() - t < {share} / 100: pass\n"
            f" time.sleep({1 - share} / 100)\n")
    process = subprocess.Popen([sys.executable, "-c", loop])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def identical(arguments, folder):
    """Consecutive runs of one build: each is compared with the one before it."""
    found = []
    busy = 0
    for run in range(arguments.pairs + 1):
        progress(f"identical builds: run {run} of {arguments.pairs}")
        report = folder / f"{run}.json"
        status, _, errors = compare(arguments, *PAIR, "--json", report)
        if status != 0:
            sys.exit(f"compare ended with status {status}: {errors}")
        busy += bool(json.loads(report.read_text())["conditions"]["disturbances"])
        if run > 0:
            status, output, errors = compare(
                arguments, "--from", folder / f"{run - 1}.json", "--against", report)
            if status != 0:
                found.append(output + errors)
    progress("")
    clean = arguments.pairs - len(found)
    show("identical builds without a finding", f"{clean} of {arguments.pairs}",
         f"{arguments.pairs} of {arguments.pairs}", not found)
    if busy:
        print(f"  {busy} of the runs were on a busy machine")
    for text in found:
        print(text)


def planted(arguments, folder, before, after):
    reports = []
    for nanoseconds in (before, after):
        progress(f"planted: section of {nanoseconds} ns")
        reports.append(folder / f"planted{nanoseconds}.json")
        compare(arguments, *PAIR, "--section", nanoseconds, "--outside", 0, "--json", reports[-1])
    progress("")
    status, output, _ = compare(arguments, "--from", reports[0], "--against", reports[1])
    show(f"a section of {after} ns after one of {before} ns", f"status {status}", "status 1",
         status == 1)
    print(output)


def found_pairs(arguments, folder, name, words, sections, least):
    """Pairs of runs of which the second has the longer section, and pairs of the same section.

    Runs of both sections take turns. A pair of the same section has a run of the other between.
    """
    found, unable, false, last = 0, 0, 0, None
    share = 1 - sections[0] / sections[1]
    for run in range(arguments.pairs + 1):
        progress(f"{name}: pair {run} of {arguments.pairs}")
        shorter, longer = (folder / f"{run}-{section}.json" for section in sections)
        for report, section in ((shorter, sections[0]), (longer, sections[1])):
            if report == longer and run == arguments.pairs:
                continue
            status, _, errors = compare(arguments, *words, section, "--json", report)
            if status != 0:
                sys.exit(f"compare ended with status {status}: {errors}")
        if last:
            false += compare(arguments, "--from", last, "--against", shorter)[0] != 0
        if run < arguments.pairs:
            status, output, _ = compare(arguments, "--from", shorter, "--against", longer)
            # A strategy is slower if its throughput is; the section itself is in other figures.
            is_found = status == 1 and re.search(r"throughput\b.*\bworse", output) is not None
            found += is_found
            unable += not is_found and detectable(output) > share
        last = shorter
    progress("")
    show(f"{name}: found", f"{found} of {arguments.pairs}, {unable} said that they cannot",
         f"{least} together", found + unable >= least)
    show(f"{name}: found in identical pairs", f"{false}", "0", false == 0)


def detectable(output):
    """The least loss of throughput that a comparison of two reports says that it can find."""
    share = re.search(r"A loss of\s+at\s+least\s+([\d.]+)\s+%", output)
    return float(share[1]) / 100 if share else 0.0


def show(name, value, target, met):
    verdict = {True: "met", False: "MISSED", None: ""}[met]
    print(f"{name:44}  {value:28}  {target:22}  {verdict}".rstrip(), flush=True)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
