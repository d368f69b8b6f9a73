#!/usr/bin/env python3
"""Drives the service under every strategy with wrk and prints one table.

For each strategy, once with event-loop threads and once with a thread for each connection, the
service is started anew and loaded with GET, PUT, increment and a mix of nine GETs to one PUT. After
that its own account of the contention is read. Three things are checked, because figures of a
service that is wrong are worth nothing:

- no request failed that the load did not mean to fail: the only status but 2xx is 503 with a full
  backlog, under an asynchronous strategy;
- the counter stands at the number of 200 answers that the service gave to increments, which is
  what wrk has seen plus at most one for each connection that was cut off at the end;
- the acquisitions that the service reports are as many as the requests must have caused.

wrk and the service share the machine, so that the figures are good for comparing the strategies
with each other and for nothing else. `--quick` is for seeing that all of it works.
"""

import argparse
import pathlib
import re
import sys
import time

import loader
from driver import drive, rate, socket_errors

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey  # noqa: E402

CONNECTIONS = 32
MIX_PROPERTIES = 1000
VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
WORKLOADS = ("get", "put", "increment", "mix")
MODES = {"event-loop": (), "thread-per-connection": ("--thread-per-connection",)}
SETTLE_SECONDS_MAX = 10

REQUESTS = re.compile(r'latchkey_http_requests_total\{(.*)\}')
LABEL = re.compile(r'(\w+)="([^"]*)"')

FIRST_BUCKET_NANOSECONDS = 100


def main():
    arguments = parse_arguments()
    began = time.monotonic()
    strategies = arguments.strategies or all_strategies(arguments.binary)
    rows, failures = [], []
    for mode in MODES:
        for strategy in strategies:
            # The quick version shows that the other mode works; it does not repeat everything.
            workloads = WORKLOADS if mode == "event-loop" or not arguments.quick else ("mix",)
            progress(f"{strategy}, {mode}")
            try:
                row = measure(arguments, strategy, mode, workloads)
                rows.append(row)
                failures += [f"{strategy}, {mode}: {text}" for text in row["failures"]]
            except Failure as failure:
                failures.append(f"{strategy}, {mode}: {failure}")
    progress("")
    print_table(rows)
    print(f"\nwrk: 1 thread, {CONNECTIONS} connections, about {arguments.seconds:g} s each, on the "
          f"service's own cores; {time.monotonic() - began:.0f} s in all. A single request:\n\n"
          "  curl -i -X PUT --json '12' http://127.0.0.1:8080/v1/properties/answer\n")
    for failure in failures:
        print(f"FAILED: {failure}")
    answers = sum(row["answers"] for row in rows)
    print(f"{answers:,} answers; every counter, status and acquisition as it must be."
          if not failures else f"{len(failures)} checks failed.")
    return 1 if failures else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--seconds", type=float, help="per workload; 3, or 0.15 with --quick")
    parser.add_argument("--quick", action="store_true", help="all of it in under 30 seconds")
    parser.add_argument("--strategies", type=lambda text: text.split(","),
                        help="names with commas; all if not given")
    arguments = parser.parse_args()
    if arguments.seconds is None:
        arguments.seconds = 0.15 if arguments.quick else 3
    return arguments


def all_strategies(binary):
    with Latchkey(binary) as service:
        return [each["name"] for each in service.ask_json("/v1/strategies")["strategies"]]


def measure(arguments, strategy, mode, workloads):
    """One row of the table."""
    options = ("--strategy", strategy, *MODES[mode])
    row = {"strategy": strategy, "mode": mode, "answers": 0, "refused": 0, "failures": []}
    with Latchkey(arguments.binary, *options) as service:
        prepare(service)
        service.ask("POST", "/v1/contention/reset")
        before = service.metrics()
        reports = {}
        for workload in workloads:
            url = f"{service.url}/v1/properties/{workload}"
            if workload == "increment":
                url += "/increment"
            reports[workload] = drive(
                url, workload, arguments.seconds, connections=CONNECTIONS,
                arguments=(MIX_PROPERTIES,) if workload == "mix" else ())
            row["answers"] += reports[workload]["requests"]
            row["refused"] += reports[workload]["status"]
            row[workload] = rate(reports[workload])
        answered = settled(service, before)
        contention = contention_row(service, strategy)
        row["contention"] = contention
        row["failures"] = [
            *check_statuses(service, strategy, reports, answered),
            *check_counter(service, reports, answered),
            *check_acquisitions(contention, answered)]
    return row


def prepare(service):
    for name in ("get", "put"):
        service.ask("PUT", f"/v1/properties/{name}", VALUE)
    loader.fill(service.address, MIX_PROPERTIES, lambda index: b"mix%d" % index, VALUE)


def settled(service, before):
    """What was answered since `before`, by method, route and status, when nothing moves any more.

    wrk leaves in the middle of requests, which the service finishes without it.
    """
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    last = None
    while time.monotonic() < deadline:
        now = {}
        for series, value in service.metrics().items():
            found = REQUESTS.fullmatch(series)
            if found and "/v1/properties/" in found[1]:
                labels = dict(LABEL.findall(found[1]))
                # The last series of a route is for a status that it should not have answered.
                status = labels["status"].replace("other", "999")
                key = (labels["method"], labels["route"], int(status))
                now[key] = int(value - before.get(series, 0))
        if now == last:
            return now
        last = now
        time.sleep(0.05)
    raise Failure("requests were still being answered after the load had ended")


def contention_row(service, strategy):
    for row in service.ask_json("/v1/contention")["rows"]:
        if row["strategy"] == strategy and row["role"] == "serving":
            return row
    raise Failure("/v1/contention has no row for the serving strategy")


def check_statuses(service, strategy, reports, answered):
    for workload, report in reports.items():
        if socket_errors(report):
            yield f"{workload}: {socket_errors(report)} socket errors"
        if report["requests"] == 0:
            yield f"{workload}: no answers"
    allowed = {200, 201, 204} | ({503} if strategy.endswith("-async") else set())
    for (method, route, status), count in answered.items():
        if status not in allowed and count:
            yield f"{count} times {status} to {method} {route}"


def check_counter(service, reports, answered):
    if "increment" not in reports:
        return
    report = reports["increment"]
    counter = int(service.ask("GET", "/v1/properties/increment")[2])
    given = sum(count for (method, _, status), count in answered.items()
                if method == "POST" and status == 200)
    seen = report["requests"] - report["status"]
    if counter != given:
        yield f"the counter stands at {counter} after {given} answers of 200"
    if not seen <= counter <= seen + CONNECTIONS:
        yield f"the counter stands at {counter}, but wrk has seen {seen} answers of 200"


def check_acquisitions(contention, answered):
    due = {"read": 0, "write": 0}
    for (method, _, status), count in answered.items():
        if status < 400:
            due["read" if method in ("GET", "HEAD") else "write"] += count
    for mode, count in due.items():
        reported = contention["acquisitions"][mode]
        if reported != count:
            yield f"{reported} {mode} acquisitions are reported for {count} requests"


def print_table(rows):
    head = ("strategy", "mode", "answers", "503s", "GET/s", "PUT/s", "incr/s", "mix/s",
            "wait p50", "p99", "hold p50", "p99", "contended")
    lines = [head] + [cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for index, line in enumerate(lines):
        left = [cell.ljust(width) for cell, width in zip(line[:2], widths[:2])]
        right = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:])]
        print("  ".join(left + right))
        if index == 0:
            print("  ".join("-" * width for width in widths))


def cells(row):
    contention = row["contention"]
    rates = (f"{row[name]:,.0f}" if name in row else "" for name in WORKLOADS)
    waits = quantiles(contention["wait"]["all"]) + quantiles(contention["hold"]["all"])
    ratio = contention.get("contendedRatio")
    sign = "" if contention["contendedIsExact"] else "~"
    return (row["strategy"], row["mode"], f"{row['answers']:,}", f"{row['refused']:,}", *rates,
            *waits, "" if ratio is None else f"{sign}{100 * ratio:.2f} %")


def quantiles(durations):
    if durations is None:
        return ("", "")
    found = (durations[name] for name in ("p50Nanoseconds", "p99Nanoseconds"))
    # Nothing is known inside the first bucket but its bound.
    return tuple(("≤" if each == FIRST_BUCKET_NANOSECONDS else "") + duration(each)
                 for each in found)


def duration(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"


def progress(text):
    """What is being measured, on standard error; one line that changes, if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(f"load: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
