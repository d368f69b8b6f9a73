#!/usr/bin/env python3
"""Measures what docs/measuring.md promises of `latchkey compare` itself.

How long a run takes, how large its page is and whether a browser opens it without a complaint;
whether the comparison of two reports finds a section that is 20 % or 10 % longer, and a strategy
that is 30 % slower on four threads, and finds nothing between two runs of one build; whether
default runs name the same strategy, also beside another process, and are not beaten by their own
figures; whether intervals hold the differences that were planted, beside nothing and beside busy
processors. Takes hours with twenty pairs, on a machine that does nothing else.
"""

import argparse
import collections
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# The settings of the pairs: every kind of primitive, below and above two processors.
PAIR = ["--strategies", "lock,spin,adaptive,read-write-lock,mutex,snapshot,serial-queue,actor",
        "--threads", "1,2,8", "--duration", "100ms"]
# A planted regression must be found whatever the section: as long as nothing, and much longer than
# the lock. Without work outside, so that only the section is measured.
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
# The share of a processor that another process takes, while the verdict has to stay the same.
FOREIGN_SHARE = 0.3
# The calibration: locks that hold their section longer by these shares, each beside what others
# take of the processors. `Benchmarks/Planted` knows the section.
SHARES = (0, 5, 10, 20, 50)
FOREIGN_SHARES = (0, 0.3, 0.7)
PLANTED_THREADS = (1, 2, 8)
PLANTED_LOCKS = ["--current", "planted-0", "--section", "5us", "--outside", "0", "--strategies",
                 ",".join(["planted-0", "planted-0-too"] + [f"planted-{s}" for s in SHARES if s])]
# A difference of this many times the sensitivity that the run states must be found.
FOUND_AT = 2


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pairs = arguments.pairs
        parts = {
            "default": lambda: default_run(arguments, folder),
            "calibrate": lambda: calibrate(arguments, folder),
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
    parser.add_argument("--planted", help="LatchkeyPlanted, of the same build")
    parser.add_argument("--only", choices=("default", "calibrate", "stable", "identical", "planted",
                                           "longer", "slower"),
                        help="measure this part alone")
    parser.add_argument("--beside-load", action="store_true",
                        help="beside a process that takes a part of a processor")
    return parser.parse_args()


def compare(arguments, *words):
    """Runs it and returns status, output and errors."""
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


def calibrate(arguments, folder):
    """Locks with a known difference: what do intervals find, and how often do they err?

    Each run has all of them on one number of threads. On one thread the lock costs next to nothing
    beside the section, so that the share that was planted is the truth within a percent; on several
    threads it is a little less. Where nothing was planted, the truth is exact.
    """
    if not arguments.planted:
        sys.exit("--planted is missing: make bench-compare builds it")
    runs = -(-arguments.pairs * 10 // (len(FOREIGN_SHARES) * len(PLANTED_THREADS)))
    wrong, due, found, erred = [], 0, 0, 0
    print(f"  {'beside':>6} {'threads':>7}  sensitivity  {'erred at 0 %':>12}" + "".join(
        f"  {f'found {share} %':>10}" for share in SHARES if share))
    for foreign in FOREIGN_SHARES:
        for threads in PLANTED_THREADS:
            counts = dict.fromkeys(SHARES, 0)
            sensitivities = []
            for run in range(runs):
                progress(f"planted differences beside {foreign}, {threads} threads: "
                         f"run {run + 1} of {runs}")
                with busy(foreign):
                    verdict = planted_verdict(arguments, folder, threads)
                sensitivity = verdict.get("sensitivity", float("inf"))
                sensitivities.append(sensitivity)
                for ratio in verdict["ratios"]:
                    share = int(ratio["strategy"].split("-")[1])
                    is_found = ratio["high"] < 1
                    if share == 0:
                        is_found |= ratio["low"] > 1
                        erred += is_found
                    if ratio["low"] >= 1.1 or (ratio["low"] > 1 if share else
                                               ratio["high"] <= 1 / 1.1):
                        wrong.append((foreign, threads, ratio))
                    if share and share / 100 >= FOUND_AT * sensitivity:
                        due += 1
                        found += is_found
                    counts[share] += is_found
            progress("")
            middle = sorted(sensitivities)[len(sensitivities) // 2]
            print(f"  {foreign:>6} {threads:>7}  {middle:>11.1%}  {counts[0]:>12}" + "".join(
                f"  {counts[share]:>10}" for share in SHARES if share), flush=True)
    total = runs * len(FOREIGN_SHARES) * len(PLANTED_THREADS)
    show(f"pairs ranked wrongly in {total} runs", f"{len(wrong)}", "none", not wrong)
    show(f"found at {FOUND_AT} times the stated sensitivity", f"{found} of {due}", "9 of 10",
         found * 10 >= due * 9 if due else None)
    show("intervals that err where nothing was planted", f"{erred} of {total}", "1 of 14",
         erred * 14 <= total)
    for case in wrong:
        print(" ", *case)


def planted_verdict(arguments, folder, threads):
    report = folder / "planted.json"
    words = [arguments.planted, *PLANTED_LOCKS, "--threads", str(threads), "--json", str(report),
             "--force"]
    done = subprocess.run(words, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=SECONDS_MAX)
    if done.returncode != 0:
        sys.exit(f"LatchkeyPlanted ended with status {done.returncode}: {done.stderr}")
    return json.loads(report.read_text())["recommendation"]


def stable(arguments, folder):
    """Default runs, quiet and beside a process that takes a part of a processor: which is named.

    None may be contradicted by its own figures: a strategy that is surely better than the current
    one, where that one stays and the list does not say why.
    """
    count = arguments.pairs // 2
    least = count - count // 10
    quiet = default_reports(arguments, folder, count)
    usual, times = collections.Counter(
        named(found["recommendation"]) for found in quiet).most_common(1)[0]
    show("default runs that name the same", f"{times} of {count}: {usual}", f"{least}",
         times >= least)
    with busy(FOREIGN_SHARE):
        beside = default_reports(arguments, folder, count)
    same = sum(named(found["recommendation"]) == usual for found in beside)
    show(f"the same beside {FOREIGN_SHARE:.0%} of a processor", f"{same} of {count}", f"{least}",
         same >= least)
    beaten = [found["recommendation"]["sentence"] for found in quiet + beside if is_beaten(found)]
    show("verdicts that their own figures beat", f"{len(beaten)}", "none", not beaten)


def named(verdict):
    return (verdict["strategies"] or [None])[0]


def is_beaten(report):
    """Whether the table has a strategy better than the current one that no sentence names."""
    verdict, logs = report["recommendation"], collections.defaultdict(float)
    rows = {(case["strategy"], case["threads"]): case["summary"]["operationsPerSecond"]["median"]
            for case in report["cases"]}
    for (strategy, threads), speed in rows.items():
        logs[strategy] += math.log(max(speed, 1) / max(rows[verdict["current"], threads], 1))
    told = json.dumps([verdict["sentence"], verdict["flip"], verdict["passedOver"],
                       verdict["notes"]])
    count = len({threads for _, threads in rows})
    return named(verdict) == verdict["current"] and any(
        total / count >= math.log(1.1) for name, total in logs.items() if f"`{name}`" not in told)


def default_reports(arguments, folder, count):
    """The reports of default runs."""
    found = []
    for run in range(count):
        progress(f"default runs: {run + 1} of {count}")
        report = folder / "stable.json"
        # Forced, or each run would wait for the other process to end.
        status, _, errors = compare(arguments, "--force", "--json", report)
        if status != 0:
            sys.exit(f"compare ended with status {status}: {errors}")
        found.append(json.loads(report.read_text()))
        progress("")
        line = found[-1]["fingerprint"].get("cacheLine", {}).get("averageNanoseconds", 0)
        print(f"  {found[-1]['recommendation']['sentence']} (cache line {line:.0f} ns)", flush=True)
    return found


@contextlib.contextmanager
def busy(share):
    """A process that computes for this share of each 10 ms; none for 0."""
    if share == 0:
        yield
        return
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
