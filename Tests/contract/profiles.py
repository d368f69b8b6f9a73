"""A service with `--profile` and a planted hot lock, and the contents of its profile."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile

import pprof

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))

from process import Failure, Latchkey, expect, run  # noqa: E402

# One lock for everything, held long by transactions with expensive conditions, and short by the
# rest. A condition compares two objects whose members are in different orders.
OPTIONS = ("--profile", "--stripes", "1", "--http-threads", "8", "--metering", "full")
SLOW = "LatchkeyService/TransactionRoutes.swift"
FAST = "LatchkeyService/PropertyRoutes.swift"
CONDITIONS = 5
MEMBERS = 300
# With sampling of one in 100, so many contended accesses are enough to tell slow from fast.
CONTENTIONS = 1500
ROUNDS_MAX = 40


def hot(binary, log, check):
    """Calls `check` with the service and its profile, which has enough samples."""
    with Latchkey(binary, *OPTIONS, log=log) as service:
        members = [(f"k{n}", n) for n in range(MEMBERS)]
        service.ask("PUT", "/v1/properties/hot", json.dumps(dict(members)))
        condition = {"name": "hot", "equals": dict(reversed(members))}
        change = json.dumps({"if": [condition] * CONDITIONS, "then": [{"put": "b", "value": 1}]})
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            for _ in range(ROUNDS_MAX):
                window = threads.submit(
                    service.ask, "GET", "/debug/pprof/mutex?seconds=2")
                slow = [threads.submit(repeat, service, window, "POST", "/v1/transactions", change)
                        for _ in range(3)]
                fast = [threads.submit(repeat, service, window, "PUT", "/v1/properties/a", "1")
                        for _ in range(3)]
                for each in slow + fast:
                    each.result()
                _, headers, part = window.result()
                _, _, file = service.ask("GET", "/debug/pprof/mutex")
                if sum(sample.count for sample in pprof.read(file).samples) >= CONTENTIONS:
                    break
            else:
                raise Failure("too little contention was recorded")
        expect("the type of a profile", headers["Content-Type"], "application/octet-stream")
        if pprof.read(part).seconds < 1.9:
            raise Failure(f"a profile of 2 s has {pprof.read(part).seconds} s")
        check(service, file)


def repeat(service, window, *request):
    """Sends the request again and again on one connection, until the window is over."""
    connection = service.connect()
    try:
        while not window.done():
            connection.request(*request, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 400:
                raise Failure(f"{request[:2]} answered {answer.status}")
    finally:
        connection.close()


def check_file(service, file):
    """Decodes the file, and compares it with the planted lock."""
    profile = pprof.read(file)
    expect("the sample types", profile.types, [("contentions", "count"), ("delay", "nanoseconds")])
    expect("the period", profile.period, 100)
    for sample in profile.samples:
        if not sample.stack or sample.count % profile.period or sample.delay <= 0:
            raise Failure(f"a sample is {sample}")
        if sample.labels["strategy"] != "lock" or sample.labels["mode"] not in ("read", "write"):
            raise Failure(f"the labels are {sample.labels}")
    text = service.ask("GET", "/v1/contention", headers={"Accept": "text/plain"})[2].decode()
    if "Who blocks whom" not in text or max(map(len, text.splitlines())) > 80:
        raise Failure(f"the text is\n{text}")
    delays = {"slow": 0, "fast": 0}
    for sample in profile.samples:
        kind = "slow" if sample.stack[0].startswith(SLOW) else "fast"
        delays[kind] += sample.delay
    if delays["slow"] < delays["fast"]:
        raise Failure(f"not those that hold the lock long are blamed: {delays}\n{text}")


def check_with_go(_, file):
    """`go tool pprof` reads the file; its first line is the code that holds the lock long."""
    go = shutil.which("go")
    if go is None:
        raise Failure("no go; run scripts/require pprof")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "mutex.pb.gz")
        path.write_bytes(file)

        def show(*options):
            return run(go, "tool", "pprof", *options, path, env={**os.environ, "HOME": folder})

        top = show("-top", "-sample_index=delay")
        lines = top.splitlines()
        head = next(n for n, line in enumerate(lines) if "flat%" in line)
        if SLOW not in lines[head + 1]:
            raise Failure(f"go tool pprof -top does not blame the holder:\n{top}")
        tags = show("-tags", "-sample_index=contentions")
        if "waiter" not in tags or FAST not in tags:
            raise Failure(f"go tool pprof -tags does not show the waiter:\n{tags}")
