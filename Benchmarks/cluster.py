"""Rows of `make bench`: clusters of three replicas over three members of etcd, all on this machine.

The cost of a write is compared with etcd's own puts: one key each, by the same members, in turn.
The clients of HTTP are the same for replicas and etcd's JSON gateway; puts over gRPC have a client
in C, which costs less than wrk.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from driver import drive, rate, socket_errors
from durability import NAMES, VALUE, program
from process import Failure, Latchkey
from table import progress, ratios, row
from transfer import load

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "cluster"))

from network import Loopback  # noqa: E402
from replicas import Cluster  # noqa: E402

CLIENTS = 192
SECONDS_MAX = 120
STRATEGY = "adaptive"


def measure_cluster(arguments, interleave):
    """All rows. The data is beside this program, on the same disk."""
    if not program("etcd"):
        return []
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("LATCHKEY_BENCH_DATA", ".")))
    try:
        with FixedCluster(arguments.binary, folder) as cluster:
            return (writing(arguments, cluster) + reading(arguments, cluster, folder, interleave)
                    + million(arguments, cluster, folder))
    finally:
        shutil.rmtree(folder)


class FixedCluster(Cluster):
    """A cluster whose replicas have one strategy."""

    def __init__(self, binary, folder):
        super().__init__(binary, folder, None, Loopback())

    def start_replicas(self):
        for replica in self.replicas:
            replica.start(STRATEGY, 0)


def writing(arguments, cluster):
    """Writes as fast as the clients can, and at half that rate."""
    ports = [member.url.rpartition(":")[2] for member in cluster.members]
    own, put, gateway, cost = [], [], [], []
    for turn in range(arguments.rounds):
        progress(f"writes of a cluster, round {turn}")
        before = cpu_seconds(cluster)
        done = on_each([f"{replica.url}/v1/properties/random" for replica in cluster.replicas],
                       "writes", arguments.seconds)
        count = sum(report["requests"] for report in done)
        cost.append([1e6 * (after - early) / count
                     for early, after in zip(before, cpu_seconds(cluster))])
        own.append(sum(map(rate, done)))
        put.append(rate(puts(arguments, ports, CLIENTS)))
        gateway.append(sum(map(rate, on_each(
            [f"{member.url}/v3/kv/put" for member in cluster.members], "etcd",
            arguments.seconds))))
    half, half_put = statistics.median(own) / 2, statistics.median(put) / 2
    times, late, single, alone, one, one_put = [], [], [], [], [], []
    for turn in range(arguments.rounds):
        progress(f"writes of a cluster at half the rate, round {turn}")
        reports = at_rate(arguments, cluster, half)
        times.append(statistics.mean(report["p50Milliseconds"] for report in reports))
        late.append(max(report["p99Milliseconds"] for report in reports))
        single.append(puts(arguments, ports, CLIENTS, half_put)["p50Milliseconds"])
        last = puts(arguments, ports, 1)
        alone.append(last["p50Milliseconds"])
        one_put.append(rate(last))
        one.append(rate(drive(f"{cluster.replicas[0].url}/v1/properties/random", "writes",
                              arguments.seconds, 1, (NAMES,))))
    replicas, members = (statistics.median(each[part] for each in cost) for part in (0, 1))
    return [
        against(f"PUT, {CLIENTS} clients of 3 replicas ÷ etcd's puts over gRPC", own, put, "/s",
                2),
        against("PUT, the same ÷ its JSON gateway", own, gateway, "/s", 4),
        row("  processor time of the replicas", [each[0] for each in cost], "µs", "≤ 40",
            replicas <= 40, f"{replicas:.1f} µs beside {members:.1f} µs of etcd"),
        # It never waits for others.
        against("PUT, one client ÷ etcd's puts over gRPC, one at a time", one, one_put, "/s", 0.6),
        against("p50 of PUT at half that rate ÷ of etcd's put at half its own", times, single,
                " ms", 2, is_most=True),
        against("  ÷ of etcd's put with no other", times, alone, " ms", None),
        row("  p99 of PUT", late, "ms", "≤ 8", statistics.median(late) <= 8,
            f"{half:,.0f}/s, the slowest replica"),
    ]


def against(name, over, under, unit, target, is_most=False):
    """A row of ratios, each inside a round."""
    values = [one / other for one, other in zip(over, under)]
    form = "{:,.0f}" if unit == "/s" else "{:.2f}"
    note = " ÷ ".join(form.format(statistics.median(each)) + unit for each in (over, under))
    if target is None:
        return row(name, values, "", "", None, note)
    middle = statistics.median(values)
    is_met = middle <= target if is_most else middle >= target
    return row(name, values, "", f"{'≤' if is_most else '≥'} {target}", is_met, note)


def cpu_seconds(cluster):
    """Processor time of all replicas, and of all members."""
    return [sum(time.clock_gettime((~each.process.pid << 3) | 2) for each in group)
            for group in (cluster.replicas, cluster.members)]


def on_each(urls, kind, seconds):
    """Loads all at once, each with a share of the clients. Returns the reports."""
    reports = {}

    def work(url):
        reports[url] = drive(url, kind, seconds, CLIENTS // len(urls), (NAMES,))

    threads = [threading.Thread(target=work, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(reports) < len(urls):
        raise Failure("a load did not end")
    for report in reports.values():
        if socket_errors(report) or report["status"]:
            raise Failure(f"not every answer was 2xx: {report}")
    return list(reports.values())


def puts(arguments, ports, in_flight, per_second=0):
    flags = [word for pair in zip(("--port", "--port2", "--port3"), ports) for word in pair]
    return json.loads(subprocess.run(
        [arguments.clients / "puts", *flags, "--in-flight", str(in_flight), "--rate",
         str(per_second), "--seconds", str(arguments.seconds)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        timeout=SECONDS_MAX).stdout)


def at_rate(arguments, cluster, per_second):
    """PUTs at a constant rate, the same share of it to each replica. Returns the reports."""
    processes = [subprocess.Popen(
        [arguments.clients / "writers", "--port", str(replica.port), "--connections",
         str(CLIENTS // 3), "--rate", str(per_second / 3), "--seconds", str(arguments.seconds)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for replica in cluster.replicas]
    outputs = [process.communicate(timeout=SECONDS_MAX)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise Failure("a client of writes has failed")
    return list(map(json.loads, outputs))


def reading(arguments, cluster, folder, interleave):
    """GETs on a replica, and on a service with data that is in no cluster."""
    replica = cluster.replicas[0]
    with Latchkey(arguments.binary, "--data", f"{folder}/single", "--strategy", STRATEGY,
                  "--client-share", "1/1") as single:
        for server in (single, replica):
            server.ask("PUT", "/v1/properties/get", VALUE)
        loads = interleave(arguments, {"replica": (replica, "get", "get", ()),
                                       "single": (single, "get", "get", ())})
    return ratios("GET on a replica ÷ without a cluster", loads, "replica", "single", 0.95)


def million(arguments, cluster, folder):
    """The cost of a million properties, and how long a new replica needs to have them."""
    first, last = cluster.replicas[0], cluster.replicas[2]
    with Latchkey(arguments.binary, "--data", f"{folder}/million", "--strategy", STRATEGY,
                  "--history-bytes", "256MiB", "--client-share", "1/1") as single:
        for server in (single, first):
            progress("a million properties")
            load(server.address, 1_000_000)
        added = (first.resident_bytes() - single.resident_bytes()) / (1 << 20)
    times = []
    for turn in range(arguments.rounds):
        progress(f"seeding a replica, round {turn}")
        last.forget()
        start = time.monotonic()
        last.start(STRATEGY, 0)
        times.append(time.monotonic() - start)
    seconds = statistics.median(times)
    return [
        row("seeding of a replica, 1,000,000 properties", times, "s", "< 15", seconds < 15,
            "from its start until it is ready"),
        row("memory of a replica beyond that of a service with --data", [added], "MiB", "≤ 64",
            added <= 64, "1,000,000 properties"),
    ]
