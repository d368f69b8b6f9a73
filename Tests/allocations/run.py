#!/usr/bin/env python3
"""Counts the allocations of a request, so that a slower hot path is noticed.

    Tests/allocations/run.py --binary .build-release/bin/latchkey

Unlike a time, a count does not depend on other work of the machine. The service runs with a library
that counts each call of malloc() and related functions (counter.c).
"""

import argparse
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey  # noqa: E402

WORD = 8
REQUESTS = 1000
# At least as many commits as the history holds, so that each further one drops another.
HISTORY = 100
HISTORY_BYTES = 280 * HISTORY
WARM_UP = 2 * HISTORY
# The allocations of other threads meanwhile, for each request.
OTHERS = 0.05
JSON = {"Content-Type": "application/json"}

# A PUT allocates the property and its commit.
# A name, a method, a path, the body of a request by its number, and the most allocations.
CASES = [
    ("GET of a property", "GET", "/v1/properties/a", lambda _: None, 0),
    ("GET of a property, not modified", "GET", "/v1/properties/a", lambda _: None, 2),
    ("PUT of a property", "PUT", "/v1/properties/b", lambda index: b'"%06d"' % index, 2),
    ("PUT of an object", "PUT", "/v1/properties/b", lambda index: b'{"a":[1%06d]}' % index, 2),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run, a release build")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counter = pathlib.Path(folder) / "counter.so"
        subprocess.run(
            [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
             "-o", counter, TOP / "Tests/allocations/counter.c"], check=True)
        shared = pathlib.Path(folder) / "count"
        shared.write_bytes(bytes(WORD))
        os.environ["LD_PRELOAD"] = str(counter)
        os.environ["LATCHKEY_ALLOCATIONS"] = str(shared)
        try:
            with Latchkey(arguments.binary, "--http-threads", "1",
                          "--history-bytes", str(HISTORY_BYTES)) as service, \
                    open(shared, "rb") as file, \
                    mmap.mmap(file.fileno(), WORD, access=mmap.ACCESS_READ) as count:
                return check(service, lambda: int.from_bytes(count[:WORD], sys.byteorder))
        except Failure as failure:
            print(f"FAILED: {failure}")
            return 1


def check(service, count):
    """Runs all cases. Returns the exit status."""
    service.ask("PUT", "/v1/properties/a", b'"abcdefghijklmnopqrstuvwxyz0123"')
    etag = service.ask("GET", "/v1/properties/a")[1]["ETag"]
    failed = False
    for name, method, path, body, most in CASES:
        headers = {"If-None-Match": etag} if "not modified" in name else {}
        headers |= JSON if method == "PUT" else {}
        allocations = measure(service, count, (method, path, headers), body)
        is_over = allocations > most + OTHERS
        failed |= is_over
        print(f"{'FAILED' if is_over else 'ok':6}  {name}: {allocations:.2f} allocations, "
              f"at most {most}")
    # If the counter is not in the process, all cases pass.
    if measure(service, count, ("GET", "/v1/strategies", {}), lambda _: None) < 1:
        raise Failure("the counter sees no allocation at all")
    return 1 if failed else 0


def measure(service, count, request, body):
    """The mean of a request's allocations, on one connection."""
    method, path, headers = request
    connection = service.connect()
    try:
        for index in range(WARM_UP + REQUESTS):
            if index == WARM_UP:
                before = count()
            connection.request(method, path, body(index), headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status not in (200, 201, 204, 304):
                raise Failure(f"{method} {path} answered {answer.status}")
        return (count() - before) / REQUESTS
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
