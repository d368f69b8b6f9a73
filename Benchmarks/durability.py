"""Rows of `make bench`: the cost of having every write on disk before its answer.

Services with and without --data run side by side and are loaded in turn. The cost of a sync differs
from disk to disk by a factor of 100, so a row on rate also has the limit of the issue for a slow
disk: 0.8 of 64 connections for each sync. etcd and Redis are Debian's, with every write synced.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import loader
from driver import drive, rate
from process import Latchkey, Server
from table import progress, row

CONNECTIONS = 64
NAMES = 10_000
MILLION = 1_000_000
VALUE = b'"' + b"x" * 98 + b'"'
FAST_SYNC_SECONDS = 0.0006
TOOLS = pathlib.Path(__file__).resolve().parent.parent / ".build-tools" / "bin"


def program(name):
    """A program that `scripts/require bench` brought, or that is installed; None without it."""
    return shutil.which(name, path=f"{TOOLS}:{os.environ['PATH']}")


def measure_durability(arguments):
    """All rows. The data is beside this program, on the same disk."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("LATCHKEY_BENCH_DATA", ".")))
    try:
        sync = sync_seconds(folder)
        return (
            writing(arguments, folder, sync) + peers(arguments, folder)
            + reading(arguments, folder, sync) + million(arguments, folder))
    finally:
        shutil.rmtree(folder)


def sync_seconds(folder):
    """The median time of a small write with fdatasync."""
    path = folder / "sync"
    times = []
    with open(path, "wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    path.unlink()
    return statistics.median(times)


def writing(arguments, folder, sync):
    """PUTs of random names, in turn with and without data."""
    with Latchkey(arguments.binary) as memory, \
            Latchkey(arguments.binary, "--data", folder / "always") as kept:
        for service in (memory, kept):
            loader.fill(service.address, NAMES, lambda index: b"random%d" % index, VALUE)
        found = {"memory": [], "kept": []}
        before, written = journal(kept), disk_bytes(kept)
        for turn in range(arguments.rounds * 2):
            progress(f"durable writes, round {turn}")
            pair = [("memory", memory), ("kept", kept)]
            for name, service in pair if turn % 2 else reversed(pair):
                start = service.cpu_seconds()
                report = drive(f"{service.url}/v1/properties/random", "writes",
                               arguments.seconds, CONNECTIONS, (NAMES,))
                found[name].append((
                    rate(report), (service.cpu_seconds() - start) / report["requests"] * 1e6,
                    report["p99Microseconds"] / 1000))
        after, written = journal(kept), disk_bytes(kept) - written
    over, under = found["kept"], found["memory"]
    commits = after["commits"] - before["commits"]
    slow = sync > FAST_SYNC_SECONDS
    limit = CONNECTIONS / sync
    rates = [one[0] / (limit if slow else other[0]) for one, other in zip(over, under)]
    bound = 0.8 if slow else 0.5
    wait = max(10, 4 * sync * 1000)
    added = [one[1] - other[1] for one, other in zip(over, under)]
    late = [one[2] for one in over]
    shares = [(after["syncs"] - before["syncs"]) / commits]
    kept_rate, memory_rate = (statistics.median(one[0] for one in side) for side in (over, under))
    note = (f"{kept_rate:,.0f}/s, in memory {memory_rate:,.0f}/s, "
            f"a sync takes {sync * 1e3:.2f} ms")
    return [
        row(f"PUT, {CONNECTIONS} connections, each on disk ÷ "
            + ("connections for each sync" if slow else "in memory"), rates, "", f"≥ {bound}",
            statistics.median(rates) >= bound, note),
        row("  its p99", late, "ms", f"< {wait:.3g}", statistics.median(late) < wait, ""),
        row("  processor time of the service, added", added, "µs", "≤ 10",
            statistics.median(added) <= 10, ""),
        row("  syncs for each PUT", shares, "", "≤ 0.083", shares[0] <= 1 / 12,
            f"{commits:,.0f} PUTs"),
        row("  bytes to the disk for each PUT", [written / commits], "B", "", None,
            f"{NAMES:,} names"),
    ]


def journal(service):
    metrics = service.metrics()
    return {name: metrics[f"latchkey_data_{name}_total"] for name in ("commits", "syncs")}


def disk_bytes(service):
    for line in pathlib.Path(f"/proc/{service.process.pid}/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    raise RuntimeError("the kernel does not count the bytes that a process writes")


class Peer(Server):
    """etcd or Redis, which print nothing useful on standard output."""

    def __init__(self, port, *command):
        super().__init__(*command)
        self.port = port

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{self.port}"
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(OSError), \
                    socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return self
        self.process.kill()
        raise RuntimeError(f"{self.command[0]} did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peers(arguments, folder):
    """The same writes by etcd's JSON gateway, and Redis' own benchmark."""
    rows = []
    port, peer_port = free_port(), free_port()
    etcd = program("etcd")
    with Latchkey(arguments.binary, "--data", folder / "peers") as kept:
        loader.fill(kept.address, NAMES, lambda index: b"random%d" % index, VALUE)

        def own():
            return rate(drive(f"{kept.url}/v1/properties/random", "writes", arguments.seconds,
                              CONNECTIONS, (NAMES,)))

        if etcd:
            client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
            with Peer(port, etcd, "--data-dir", folder / "etcd", "--listen-client-urls", client,
                      "--advertise-client-urls", client, "--listen-peer-urls", peer,
                      "--initial-advertise-peer-urls", peer,
                      "--initial-cluster", f"default={peer}", "--log-level", "error"):
                values = []
                for turn in range(arguments.rounds):
                    progress(f"etcd, round {turn}")
                    theirs = rate(drive(f"{client}/v3/kv/put", "etcd", arguments.seconds,
                                        CONNECTIONS, (NAMES,)))
                    values.append((own(), theirs))
                rows.append(against("etcd, one node, JSON gateway", values, 5))
        redis = program("redis-server")
        if redis:
            port = free_port()
            with Peer(port, redis, "--port", port, "--bind", "127.0.0.1", "--dir", folder,
                      "--appendonly", "yes", "--appendfsync", "always", "--save", ""):
                values = []
                for turn in range(arguments.rounds):
                    progress(f"Redis, round {turn}")
                    values.append((own(), redis_rate(port)))
                rows.append(against("Redis, appendfsync always, its own benchmark", values, 1))
    return rows


def redis_rate(port):
    text = subprocess.run(
        [program("redis-benchmark"), "-p", str(port), "-c", str(CONNECTIONS), "-n", "60000", "-r",
         str(NAMES), "-d", "100", "-t", "set", "--csv"],
        check=True, capture_output=True, text=True, timeout=120).stdout
    return float(text.splitlines()[-1].split(",")[1].strip('"'))


def against(name, values, target):
    quotients = [ours / theirs for ours, theirs in values]
    note = " ÷ ".join(f"{statistics.median(each):,.0f}/s" for each in zip(*values))
    return row(f"PUT on disk ÷ {name}", quotients, "", f"≥ {target}",
               statistics.median(quotients) >= target, note)


def reading(arguments, folder, sync):
    """GETs beside durable writes, and of the property that is being written."""
    with Latchkey(arguments.binary, "--data", folder / "reads") as kept:
        kept.ask("PUT", "/v1/properties/get", VALUE)
        url = f"{kept.url}/v1/properties/"
        quotients, late = [], []
        for turn in range(arguments.rounds):
            progress(f"reads beside durable writes, round {turn}")
            alone = rate(drive(url + "get", "get", arguments.seconds, 8))
            with writer(arguments, kept, 10_000):
                quotients.append(rate(drive(url + "get", "get", arguments.seconds, 8)) / alone)
                report = drive(url + "measured", "get", arguments.seconds, 2)
                late.append(report["p99Microseconds"] / 1000)
    bound = sync * 1000 + 2
    return [
        row("GET beside 10,000 PUT/s on disk ÷ without", quotients, "", "≥ 0.9",
            statistics.median(quotients) >= 0.9, ""),
        row("GET of the property that is written, p99", late, "ms", f"≤ {bound:.2f}",
            statistics.median(late) <= bound, ""),
    ]


@contextlib.contextmanager
def writer(arguments, service, per_second):
    """PUTs of one property at a constant rate, by our own client."""
    process = subprocess.Popen(
        [arguments.clients / "writers", "--port", str(service.address[1]), "--connections", "32",
         "--rate", str(per_second), "--seconds", "60"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def million(arguments, folder):
    """A million names: bytes, stalls by compaction, memory, recovery."""
    options = ("--data", folder / "million")
    with Latchkey(arguments.binary) as memory, Latchkey(arguments.binary, *options) as kept:
        for service in (memory, kept):
            loader.fill(service.address, MILLION, lambda index: b"random%d" % index, VALUE,
                        lambda done: progress(f"a million names: {done:,}"))
        added = (kept.resident_bytes() - memory.resident_bytes()) / 1e6
        before, written, longest = journal(kept), disk_bytes(kept), 0
        end = time.monotonic() + 60
        while journal(kept)["commits"] - before["commits"] < MILLION and time.monotonic() < end:
            progress("a million names: writing them again")
            report = drive(f"{kept.url}/v1/properties/random", "writes", 5, CONNECTIONS,
                           (MILLION,))
            longest = max(longest, report["maxMicroseconds"] / 1000)
        commits = journal(kept)["commits"] - before["commits"]
        byte_count = (disk_bytes(kept) - written) / commits
    start = time.monotonic()
    with Latchkey(arguments.binary, *options) as kept:
        seconds = time.monotonic() - start
        metrics = kept.metrics()
    changes = metrics["latchkey_data_changes"]
    return [
        row("bytes to the disk for each PUT, 1,000,000 names", [byte_count], "B", "≤ 3000",
            byte_count <= 3000, f"{commits:,.0f} PUTs, compaction and checkpoints included"),
        row("  the longest PUT meanwhile", [longest], "ms", "≤ 100", longest <= 100, ""),
        row("  memory beyond that without --data", [added], "MB", "≤ 64", added <= 64, ""),
        row("  recovery", [seconds], "s", "< 5", seconds < 5,
            f"{MILLION:,} properties and {changes:,.0f} changes"),
    ]
