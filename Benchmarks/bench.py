#!/usr/bin/env python3
"""Measures what docs/performance.md promises, most of it as ratios inside one run.

The limit is the floor program: bare libmicrohttpd that answers the same bytes from one static
value. Service and floor run side by side and are loaded in turn, in another order in each round, so
that other work of the machine slows both. A ratio is taken within a round; printed are the median
of the rounds and a 95 % interval of it. A missed target is marked and is not an error: the table
is for people.
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import loader
from driver import drive, rate, socket_errors
from table import print_table, progress, ratios, row

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from clients import turns  # noqa: E402
from command import measure_command  # noqa: E402
from deadlines import measure_deadlines  # noqa: E402
from durability import measure_durability  # noqa: E402
from instructions import measure_instructions  # noqa: E402
from peers import measure_peers  # noqa: E402
from process import Failure, Latchkey, Server  # noqa: E402
from questions import measure_questions  # noqa: E402
from recording import measure_recording  # noqa: E402
from sizes import measure_sizes  # noqa: E402
from switching import measure_switching  # noqa: E402
from tls import measure_tls  # noqa: E402
from transfer import measure_transfers  # noqa: E402
from watching import measure_expiry, measure_watching  # noqa: E402
# Last: it brings folders of tests, which have modules of the same names.
from cluster import measure_cluster  # noqa: E402

CONNECTIONS = 32
MANY = 100_000
MILLION = 1_000_000
VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
MICRO_SECONDS_MAX = 600
# The table's names for the units of LatchkeySyncBenchmark. Ratios have none.
UNITS = {"nanoseconds": "ns", "B": "B"}


def main():
    arguments = parse_arguments()
    rows = []
    for name, measure in PARTS.items():
        if arguments.only in (None, name):
            rows += measure(arguments)
    progress("")
    print_table(rows)
    missed = sum(1 for each in rows if each["met"] is False)
    targets = sum(1 for each in rows if each["met"] is not None)
    print(f"\n{arguments.rounds * SHORTER} rounds of {arguments.seconds / SHORTER:g} s, "
          f"wrk -t1 -c{CONNECTIONS}, {os.cpu_count()} cores, load average before {BEFORE[0]:.1f}. "
          f"{missed} of {targets} targets missed. Low to high is a 95 % interval of the median.")
    return 0


BEFORE = os.getloadavg()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to measure, a release build")
    parser.add_argument("--floor", required=True, help="the floor program")
    parser.add_argument("--clients", required=True, type=pathlib.Path,
                        help="the folder of the programs puts, sessions, watchers, writers")
    parser.add_argument("--micro", help="the program that measures without HTTP")
    parser.add_argument("--heap", help="the library that --micro counts allocations with")
    parser.add_argument("--parking-lot", help="the program that races parking_lot's Mutex")
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2,
                        help=f"per load and round; each is {SHORTER} shorter ones")
    return parser.parse_args()


# Each load is made as this many shorter ones in rounds of their own: which loop gets how many of
# wrk's connections is chance, and moves a load's throughput by a third.
SHORTER = 10


def measure_requests(arguments):
    """Everything that wrk measures."""
    threads = str(os.cpu_count())
    with Latchkey(arguments.binary, "--http-threads", threads) as one, \
            Latchkey(arguments.binary, "--http-threads", threads,
                     "--history-bytes", "1") as short, \
            Latchkey(arguments.binary, "--http-threads", threads) as many, \
            floor_program(arguments, "per-request") as floor, \
            floor_program(arguments, "shared") as shared:
        one.ask("PUT", "/v1/properties/get", VALUE)
        loader.fill(many.address, MANY, lambda index: b"random%d" % index, VALUE)
        loads = interleave(arguments, {
            "get": (one, "get", "get", ()),
            "get floor": (floor, "get", "get", ()),
            "get shared": (shared, "get", "get", ()),
            "put": (one, "put", "put", ()),
            "put floor": (floor, "put", "put", ()),
            "put shared": (shared, "put", "put", ()),
            "put short": (short, "put", "put", ()),
            "charset": (one, "charset", "put", ()),
            "patch": (one, "patch", "put", ()),
            "random": (many, "random", "random", (MANY,)),
            "random one": (many, "random", "random", (1,)),
        })
    return [
        *ratios("GET one property ÷ floor", loads, "get", "get floor", 0.97, 0.95),
        *ratios("PUT one property ÷ floor", loads, "put", "put floor", 0.97, 1.05),
        *ratios("PUT ÷ with --history-bytes 1", loads, "put", "put short", 0.97, 1.03),
        *ratios("PUT with a charset ÷ without", loads, "charset", "put", 0.98, 1.02),
        *ratios("PATCH ÷ PUT", loads, "patch", "put", 0.83, 1.2),
        *ratios("GET 100,000 at random ÷ one", loads, "random", "random one", 0.85),
        *ratios("GET ÷ floor that never makes a response", loads, "get", "get shared"),
        *ratios("PUT ÷ floor that never makes a response", loads, "put", "put shared")]


def measure_access(arguments):
    """The cost of a token: a service that asks for one, and one that does not."""
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "tokens"
        token = subprocess.run(
            [arguments.binary, "token", "create", "bench", "--grant", "read,write:g",
             "--token-file", lines], capture_output=True, text=True, check=True).stdout.strip()
        with Latchkey(arguments.binary) as open_one, \
                Latchkey(arguments.binary, "--token-file", lines) as guarded:
            open_one.ask("PUT", "/v1/properties/get", VALUE)
            guarded.ask("PUT", "/v1/properties/get", VALUE, {"Authorization": f"Bearer {token}"})
            loads = interleave(arguments, {
                "get": (open_one, "get", "get", ()),
                "get token": (guarded, "get", "get", (token,)),
                "put": (open_one, "put", "get", ()),
                "put token": (guarded, "put", "get", (token,)),
            })
    return [
        *ratios("GET with a token ÷ without", loads, "get token", "get", 0.97),
        *ratios("PUT with a token ÷ without", loads, "put token", "put")]


def measure_transactions(arguments):
    """A transaction that puts two properties, and two PUTs, in turn on one connection."""
    with Latchkey(arguments.binary, "--http-threads", str(os.cpu_count())) as service:
        loads = interleave(arguments, {
            "transaction": (service, "transaction", "pair", ()),
            "pair": (service, "pair", "pair", ()),
        }, connections=1)
    # wrk counts two PUTs of each pair.
    loads["pair"] = [(each / 2, time * 2) for each, time in loads["pair"]]
    return ratios("transaction of two PUTs ÷ two PUTs, one client", loads, "transaction", "pair",
                  1.2)


def interleave(arguments, cases, connections=CONNECTIONS, shorter=SHORTER):
    """Loads the cases in turn, starting with another one in each round.

    Each load of an argument is made as `shorter` ones.

    Returns by case a list of (answers a second, microseconds of processor time for each).
    """
    loads = {name: [] for name in cases}
    for name in turns(cases, arguments.rounds * shorter):
        server, kind, last, words = cases[name]
        before = server.cpu_seconds()
        report = drive(f"{server.url}/v1/properties/{last}", kind,
                       arguments.seconds / shorter, connections=connections, arguments=words)
        if socket_errors(report) or report["status"]:
            raise Failure(f"{name}: not every answer was 2xx: {report}")
        spent = server.cpu_seconds() - before
        loads[name].append((rate(report), 1e6 * spent / report["requests"]))
    return loads


def floor_program(arguments, response, *options):
    """The floor with as many threads as the service, and the same value."""
    return Server(arguments.floor, "--port", "0", "--threads", str(os.cpu_count()),
                  "--value", VALUE.decode(), "--response", response, *options)


def measure_million(arguments):
    """Memory for a property, and how long a page takes, with a million of them."""
    with Latchkey(arguments.binary) as service:
        service.ask("GET", "/v1/properties")
        before = service.resident_bytes()
        loader.fill(service.address, MILLION, lambda index: b"k%09d" % index, VALUE,
                    lambda done: progress(f"loading a million properties: {done:,}"))
        each = (service.resident_bytes() - before) / MILLION
        pages = [page_milliseconds(service, index * MILLION // 21) for index in range(1, 21)]
    return [
        row("resident memory per property", [each], "B", "≤ 200", each <= 200,
            "1,000,000 with names of 10 and values of 32 bytes"),
        row("list 100 of 1,000,000", pages, "ms", "< 10", statistics.median(pages) < 10,
            "pages all over the range")]


def page_milliseconds(service, index):
    connection = http.client.HTTPConnection(*service.address)
    connection.connect()
    # The first digits of a name match a hundred names or more.
    path = f"/v1/properties?limit=100&prefix=k{index:09d}"[:-3]
    began = time.perf_counter()
    connection.request("GET", path)
    page = json.loads(connection.getresponse().read())
    took = 1000 * (time.perf_counter() - began)
    connection.close()
    if len(page["properties"]) != 100:
        raise Failure(f"{path} has {len(page['properties'])} properties")
    return took


def measure_micro(arguments):
    """The rows of the program that measures without HTTP."""
    if not arguments.micro:
        return []
    return rows_of(arguments.micro)


def measure_memory(arguments):
    """The heap memory of a guarded value."""
    if not (arguments.micro and arguments.heap):
        return []
    return rows_of(arguments.micro, "--memory", LD_PRELOAD=arguments.heap)


def rows_of(*command, **environment):
    """The rows that a program prints: one JSON object a line."""
    progress(pathlib.Path(command[0]).name)
    output = subprocess.run(command, capture_output=True, text=True, check=True,
                            stdin=subprocess.DEVNULL, timeout=MICRO_SECONDS_MAX,
                            env={**os.environ, **environment}).stdout
    return [
        row(found["measure"], found["rounds"],
            UNITS.get(found["unit"], ""),
            (found.get("target") or "").replace("at least", "≥").replace("at most", "≤"),
            found.get("isMet"), note_of(found))
        for found in map(json.loads, output.splitlines())]


def note_of(found):
    """The nanoseconds of each side. The measure itself names the subject of a comparison."""
    reference, taken = found.get("reference"), found.get("nanosecondsPerOperation")
    subject = "" if reference else found["subject"]
    parts = (subject, "" if taken is None else f"{taken:.3g} ns")
    note = ": ".join(part for part in parts if part)
    return note + (f"; {reference}: {found['referenceNanoseconds']:.3g} ns" if reference else "")


PARTS = {
    "instructions": measure_instructions,
    "requests": measure_requests,
    "access": measure_access,
    "tls": lambda arguments: measure_tls(arguments, interleave, floor_program),
    "transactions": measure_transactions,
    "watching": measure_watching,
    "expiry": measure_expiry,
    "deadlines": measure_deadlines,
    "durability": measure_durability,
    "cluster": lambda arguments: measure_cluster(arguments, interleave),
    "recording": lambda arguments: measure_recording(arguments, interleave),
    "million": measure_million,
    "questions": measure_questions,
    "transfer": measure_transfers,
    "micro": measure_micro,
    "memory": measure_memory,
    "command": measure_command,
    "switching": measure_switching,
    "peers": measure_peers,
    "sizes": measure_sizes,
}

if __name__ == "__main__":
    sys.exit(main())
