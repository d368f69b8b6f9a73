#!/usr/bin/env python3
"""Counts the user instructions of a request, under valgrind's callgrind.

    Benchmarks/instructions.py --binary .build-release/release/latchkey \\
        --floor Benchmarks/build/floor

A count is the same from run to run, also on a machine that does other things, unlike a time. One
client sends requests over one connection that is kept, to one event-loop thread, after enough of
them to fill the history. The kernel's work is not counted.
"""

import argparse
import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey, Server  # noqa: E402
from table import print_table, progress, row  # noqa: E402

REQUESTS = 2000
# The history is filled before anything is counted, so that each commit drops another one.
HISTORY = 500
HISTORY_BYTES = 280 * HISTORY
WARM_UP = 2 * HISTORY
VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
JSON = "application/json"
ANSWER_SECONDS_MAX = 120

PAIR = (b'{"then":[{"put":"pair0","value":' + VALUE + b'},{"put":"pair1","value":' + VALUE + b"}]}")

# For each case: method, path, media type, body.
CASES = {
    "GET": ("GET", "/v1/properties/get", None, b""),
    "PUT": ("PUT", "/v1/properties/put", JSON, VALUE),
    "PUT with a charset": ("PUT", "/v1/properties/put", JSON + "; charset=utf-8", VALUE),
    "PATCH": ("PATCH", "/v1/properties/put", "application/merge-patch+json", VALUE),
    "transaction of two PUTs": ("POST", "/v1/transactions", JSON, PAIR),
}
FLOOR_CASES = ("GET", "PUT")

# Ratios of two cases' instructions, and the largest allowed.
RATIOS = (
    ("GET ÷ floor", "GET", "GET floor", None),
    ("PUT ÷ floor", "PUT", "PUT floor", None),
    ("PUT with a charset ÷ without", "PUT with a charset", "PUT", None),
    ("PATCH ÷ PUT", "PATCH", "PUT", 1.2),
)
BOUNDS = {"transaction of two PUTs": 35_000}


def measure_instructions(arguments):
    """The rows of the table; none where valgrind is not installed."""
    if not shutil.which("valgrind"):
        return []
    options = ("--http-threads", "1", "--history-bytes", str(HISTORY_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        # valgrind cannot read all debug information of newer compilers.
        binary = pathlib.Path(folder) / "latchkey"
        subprocess.run(["strip", "--strip-debug", "-o", binary, arguments.binary], check=True)
        counts = count_all(Counted(Latchkey(binary, *options)), CASES)
    floor = Server(arguments.floor, "--port", "0", "--threads", "1", "--value", VALUE.decode())
    floor_counts = count_all(Counted(floor), {name: CASES[name] for name in FLOOR_CASES})
    counts |= {f"{name} floor": count for name, count in floor_counts.items()}
    rows = [
        row(f"user instructions, {name}", [count], "", target(BOUNDS.get(name)),
            met(count, BOUNDS.get(name)), "callgrind, one client")
        for name, count in counts.items()]
    for name, over, under, most in RATIOS:
        ratio = counts[over] / counts[under]
        rows.append(row(f"user instructions, {name}", [ratio], "", target(most), met(ratio, most),
                        f"{counts[over]:,.0f} ÷ {counts[under]:,.0f}"))
    return rows


def target(most):
    return "" if most is None else f"≤ {most:,}"


def met(value, most):
    return None if most is None else value <= most


class Counted:
    """A server that runs under callgrind. A context manager."""

    def __init__(self, server):
        self.server = server
        self.folder = tempfile.TemporaryDirectory()
        self.output = pathlib.Path(self.folder.name) / "count"
        server.command[:0] = [
            # callgrind counts "rep stosb", which clears a connection's memory, once for each byte.
            "env", "GLIBC_TUNABLES=glibc.cpu.hwcaps=-ERMS",
            "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.output}"]

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(self.folder)
        self.stack.enter_context(self.server)
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def take(self):
        """The instructions since the last time."""
        before = self.dumps()
        subprocess.run(["callgrind_control", "--dump", str(self.server.process.pid)], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)
        new = sorted(self.dumps() - before)
        if len(new) != 1:
            raise Failure(f"callgrind wrote {len(new)} dumps")
        for line in new[0].read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("summary:", "totals:")):
                return int(line.split()[1])
        raise Failure("callgrind counted nothing")

    def dumps(self):
        return set(self.output.parent.glob(self.output.name + ".*"))


def count_all(counted, cases):
    """By case the instructions of one request, on average."""
    counts = {}
    with counted as server:
        with socket.create_connection(server.server.address, timeout=ANSWER_SECONDS_MAX) as client:
            send(client, request(*CASES["PUT"]), 1)
            send(client, request("PUT", *CASES["GET"][1:2], JSON, VALUE), 1)
            for name, case in cases.items():
                progress(f"counting instructions: {name}")
                message = request(*case)
                send(client, message, WARM_UP)
                server.take()
                send(client, message, REQUESTS)
                counts[name] = server.take() / REQUESTS
    return counts


def request(method, path, media_type, body):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if media_type:
        head += f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def send(client, message, count):
    """Sends a message `count` times, each after the answer to the one before."""
    for _ in range(count):
        client.sendall(message)
        answer = client.recv(4096)
        if not answer.startswith(b"HTTP/1.1 2"):
            raise Failure(f"not every answer was 2xx: {answer[:200]!r}")
        head, _, body = answer.partition(b"\r\n\r\n")
        length = content_length(head)
        while len(body) < length:
            body += client.recv(4096)


def content_length(head):
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to measure, a release build")
    parser.add_argument("--floor", required=True, help="the floor program")
    rows = measure_instructions(parser.parse_args())
    if not rows:
        print("valgrind is not installed", file=sys.stderr)
        return 1
    progress("")
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
