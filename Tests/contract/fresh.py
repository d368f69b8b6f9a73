"""Each alert of deploy/alerts.yaml on a fresh service: the first event of its kind is enough.

A case starts services, and yields the metrics before the event and after it. promtool gets both, as
a Prometheus would have them that scrapes each 15 s, with the alerts of deploy/: before the event
the alert must be silent, and after it pending or firing. An `increase()` of a counter that appears
with its first event would stay silent.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

import tls

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(TOP / "scripts"), str(TOP / "Tests" / "cluster")]

from as_service import ClusterAsService  # noqa: E402
from process import Failure, Latchkey, await_true, create_certificate, events, run  # noqa: E402

ALERTS = TOP / "deploy" / "alerts.yaml"
JOB = 'job="latchkey",instance="fresh"'
# Scrapes before the event, and after it.
COUNTS = (8, 5)
INTERVAL_SECONDS = 15
# Length of a file: the data of a service that has just started is shorter.
LENGTH_MAX = 1 << 20


def values_in(metrics, name, labels=""):
    return [value for series, value in metrics.items()
            if series.split("{")[0] == name and labels in series]


def value_of(service, name, labels=""):
    return sum(values_in(service.metrics(), name, labels))


def await_metric(service, name, holds=bool, labels=""):
    """The first scrape in which it holds: in the next one, it can be over."""
    def scrape():
        metrics = service.metrics()
        values = values_in(metrics, name, labels)
        return metrics if values and holds(sum(values)) else None

    return await_true(f"{name} of {service.url}", scrape)


def put(service, name, value="1", expect=(201, 204)):
    service.ask("PUT", f"/v1/properties/{name}", value, expect=expect)


def post(service, route, body, status=200):
    service.ask("POST", f"/v1/{route}", body, {"Content-Type": "application/json"}, (status,))


@contextlib.contextmanager
def connections(service, count, path=None):
    """Opens `count` connections. With a path, each has sent a request for it, and has the head."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(contextlib.closing(service.connect()))
                  for _ in range(count)]
        for each in opened:
            each.connect()
            if path:
                each.request("GET", path)
                each.getresponse()
        yield


def down(binary, _):
    with Latchkey(binary) as service:
        yield service.metrics()
        service.kill()
        yield None


def absent(*_):
    yield {'up{job="latchkey",instance="gone"}': 1}
    # The target is not in the service discovery any more.
    yield {}


def refuses(binary, _):
    with Latchkey(binary, "--max-operations", "1") as service:
        yield service.metrics()
        for status in (202, 503):
            post(service, "operations", '{"after":3600,"steps":[{"get":"a"}]}', status)
        yield service.metrics()


def full(binary, _):
    with Latchkey(binary, "--max-properties", "1") as service:
        yield service.metrics()
        put(service, "a")
        put(service, "b", expect=(507,))
        yield service.metrics()


def restarted(binary, _):
    for _ in range(2):
        with Latchkey(binary) as service:
            yield service.metrics()


def cannot_write(binary, folder):
    with Latchkey(binary, "--data", folder / "data") as service:
        service.await_ready()
        yield service.metrics()
        # Acts as a full disk without needing one.
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE,
                         (LENGTH_MAX, resource.RLIM_INFINITY))
        value = json.dumps("x" * (LENGTH_MAX // 2))
        # A decided change waits for room, so its client has no answer.
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            waiting = [threads.submit(put, service, f"a{number}", value, None)
                       for number in range(3)]
            yield await_metric(service, "latchkey_data_healthy", lambda healthy: healthy == 0)
            resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            for each in waiting:
                each.result()


@contextlib.contextmanager
def replica(binary, folder):
    """One replica, and its etcd."""
    cluster = ClusterAsService(binary, folder, 1)
    try:
        service = cluster.__enter__()
        put(service, "a")
        yield service, cluster.members[0]
    finally:
        cluster.kill()


def replica_stopped(binary, folder):
    with replica(binary, folder) as (service, etcd):
        yield service.metrics()
        # Deletes the log of the cluster.
        etcd.ask("/v3/kv/deleterange", {"key": "Lw==", "range_end": "MA=="})
        yield await_metric(service, "latchkey_cluster_state", labels="diverged")


def replica_stale(binary, folder):
    with replica(binary, folder) as (service, etcd):
        yield service.metrics()
        etcd.kill()
        yield await_metric(service, "latchkey_cluster_state", lambda state: state == 0, "serving")


def etcd_refuses(binary, folder):
    with replica(binary, folder) as (service, etcd):
        yield service.metrics()
        for path, body in (("user/add", {"name": "root", "password": "a"}),
                           ("role/add", {"name": "root"}),
                           ("user/grant", {"user": "root", "role": "root"}), ("enable", {})):
            etcd.ask(f"/v3/auth/{path}", body)
        put(service, "b", expect=None)
        yield await_metric(service, "latchkey_cluster_etcd_failures_total", labels="denied")


def disconnected(binary, _):
    with Latchkey(binary) as leader, Latchkey(binary, "--follow", leader.url) as follower:
        follower.await_ready()
        yield follower.metrics()
        leader.kill()
        yield await_metric(follower, "latchkey_follow_connected", lambda connected: not connected)


def evicts(binary, _):
    with Latchkey(binary, "--max-properties", "1", "--eviction", "lru") as service:
        yield service.metrics()
        put(service, "a")
        put(service, "b")
        yield await_metric(service, "latchkey_store_evictions_total")


def refuses_connections(binary, _):
    with Latchkey(binary, "--max-connections", "4", "--client-share", "1/1") as service:
        yield service.metrics()
        with connections(service, 4):
            # Clients beyond the limit may only use the operators' routes.
            service.ask("GET", "/v1/count", expect=(503,))
            yield service.metrics()


def descriptors_near(binary, _):
    with Latchkey(binary, "--max-connections", "900", "--client-share", "1/1") as service:
        count = int(value_of(service, "process_open_fds"))
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (count + 50, count + 50))
        yield service.metrics()
        with connections(service, 45, "/healthz"):
            yield service.metrics()


def contended(binary, _):
    """Transactions that hold one lock for a long time; see profiles.py."""
    with Latchkey(binary, "--stripes", "1", "--http-threads", "8", "--metering", "full") as service:
        yield service.metrics()
        members = [(f"k{number}", number) for number in range(300)]
        put(service, "hot", json.dumps(dict(members)))
        condition = {"name": "hot", "equals": dict(reversed(members))}
        change = json.dumps({"if": [condition] * 30, "then": [{"put": "b", "value": 1}]})

        def waits_long():
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                list(threads.map(lambda _: post(service, "transactions", change), range(40)))
            waits = "latchkey_lock_wait_seconds"
            long = value_of(service, f"{waits}_count") \
                - value_of(service, f"{waits}_bucket", 'le="0.0131072"')
            return long > value_of(service, f"{waits}_count") / 50

        await_true("accesses wait", waits_long)
        yield service.metrics()


def watch_gaps(binary, _):
    with Latchkey(binary, "--history-bytes", "1000") as service:
        yield service.metrics()
        for number in range(100):
            put(service, "a", str(number))
        with connections(service, 1, "/v1/watch?after=1"):
            yield await_metric(service, "latchkey_watch_gaps_total")


def operations_wait(binary, _):
    with Latchkey(binary, "--max-operations", "3", limits={"operation-threads": 1}) as service:
        yield service.metrics()
        for _ in range(3):
            post(service, "operations", '{"steps":[{"wait":3600}]}', 202)
        yield await_metric(service, "latchkey_operations", lambda count: count == 2,
                           'state="ready"')


def memory_high(binary, _):
    """Raises the gauge of the scrape, without using memory."""
    with Latchkey(binary) as service:
        yield service.metrics()
        yield {**service.metrics(), "process_resident_memory_bytes": 1.8e9}


def certificate_ends(binary, folder):
    long, short = tls.certificate(folder, days=30), create_certificate(folder)
    kept = tuple(file.read_text() for file in short)
    for file, text in zip(short, long):
        file.write_text(text)
    with tls.Service(binary, folder, "--tls-certificate", short[0],
                     "--tls-key", short[1]) as service:
        expiry = "latchkey_tls_certificate_expiry_seconds"
        before = service.metrics()
        for file, text in zip(short, kept):
            file.write_text(text)
        service.process.send_signal(signal.SIGHUP)
        after = await_metric(service, expiry, lambda ends: ends < before[expiry])
        # The clock of promtool begins at 0. The service has just started.
        for each in (before, after):
            yield {**each, expiry: each[expiry] - each["process_start_time_seconds"]}


def dropping(service, counter, write):
    """Scrapes before and after `write` makes lines that are dropped."""
    yield service.metrics()

    def is_dropped():
        write()
        return value_of(service, counter)

    await_true("lines are dropped", is_dropped)
    yield service.metrics()
    # The service would wait for its log at its end.
    service.kill()


def log_dropped(binary, _):
    read, write = os.pipe()
    try:
        with Latchkey(binary, log=write) as service:
            # Each signal logs some lines, which no process reads.
            yield from dropping(service, "latchkey_log_dropped_total",
                                lambda: service.process.send_signal(signal.SIGUSR1))
    finally:
        os.close(read)
        os.close(write)


def audit_dropped(binary, folder):
    # A pipe that no process reads.
    os.mkfifo(folder / "audit")
    pipe = os.open(folder / "audit", os.O_RDWR)
    try:
        with Latchkey(binary, "--audit-log", folder / "audit") as service:
            # Each property has a line.
            names = [f"{number:03}" + "a" * 200 for number in range(128)]
            change = json.dumps({"then": [{"put": name, "value": 1} for name in names]})
            yield from dropping(service, "latchkey_audit_dropped_total",
                                lambda: post(service, "transactions", change))
    finally:
        os.close(pipe)


# By function, since some alerts have the same event.
CASES = {
    down: ["LatchkeyDown"], absent: ["LatchkeyAbsent"], refuses: ["LatchkeyRefusesRequests"],
    full: ["LatchkeyStoreFull", "LatchkeyBoundNear"], restarted: ["LatchkeyRestarted"],
    cannot_write: ["LatchkeyCannotWrite"], replica_stopped: ["LatchkeyReplicaStopped"],
    replica_stale: ["LatchkeyReplicaStale"], etcd_refuses: ["LatchkeyEtcdRefuses"],
    disconnected: ["LatchkeyFollowerDisconnected"], evicts: ["LatchkeyEvicts"],
    refuses_connections: ["LatchkeyConnectionsRefused"],
    descriptors_near: ["LatchkeyDescriptorsNearBound"],
    contended: ["LatchkeyLockContended", "LatchkeyLockWaitHigh"], watch_gaps: ["LatchkeyWatchGaps"],
    operations_wait: ["LatchkeyOperationsWait"], memory_high: ["LatchkeyMemoryHigh"],
    certificate_ends: ["LatchkeyCertificateEnds"], log_dropped: ["LatchkeyLogDropped"],
    audit_dropped: ["LatchkeyAuditDropped"],
}


def scrapes(case, binary):
    with tempfile.TemporaryDirectory() as folder:
        try:
            return list(case(binary, pathlib.Path(folder)))
        except Exception as error:
            raise Failure(f"{case.__name__}: {error!r}") from error


def samples(scrape):
    """The samples with the labels and series that Prometheus adds."""
    if scrape is None or any(series.startswith("up{") for series in scrape or ["up{"]):
        return {f"up{{{JOB}}}": 0} if scrape is None else scrape
    labelled = {}
    for series, value in scrape.items():
        name, _, labels = series.rstrip("}").partition("{")
        labelled[f"{name}{{{JOB}{',' if labels else ''}{labels}}}"] = value
    return {f"up{{{JOB}}}": 1, **labelled}


def group(alert, before, after):
    """A group of promtool's tests: silent before, pending or firing after."""
    named = set(re.findall(r"\b(?:latchkey|process|up)\w*", expressions()[alert]))
    series = []
    both = (samples(before), samples(after))
    for name in {**both[0], **both[1]}:
        if name.split("{")[0] in named:
            # Prometheus marks a series as stale when a scrape no longer has it.
            values = [f"{each[name]}x{count - 1}" if name in each else no
                      for each, count, no in zip(both, COUNTS, (f"_x{COUNTS[0]}", "stale"))]
            series.append({"series": name, "values": " ".join(values)})
    begin, end = COUNTS[0] - 1, sum(COUNTS) - 1
    pending = f'count(ALERTS{{alertname="{alert}"}}) > bool 0'
    return {"name": alert, "interval": f"{INTERVAL_SECONDS}s", "input_series": series,
            "promql_expr_test": [
                {"expr": pending, "eval_time": f"{begin * INTERVAL_SECONDS}s", "exp_samples": []},
                {"expr": pending, "eval_time": f"{end * INTERVAL_SECONDS}s",
                 "exp_samples": [{"value": 1, "labels": "{}"}]}]}


def expressions():
    """The expression of each alert."""
    text = ALERTS.read_text(encoding="utf-8")
    return {each.split("\n")[0].strip(): each.split("expr:")[1]
            for each in text.split("- alert:")[1:]}


def mistakes(promtool, groups, folder):
    """The failures that promtool reports."""
    file = pathlib.Path(folder, "fresh.yaml")
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": groups,
                                "evaluation_interval": f"{INTERVAL_SECONDS}s"}), encoding="utf-8")
    return run(promtool, "test", "rules", file, statuses=(0, 1), stderr=subprocess.STDOUT)


def check(binary, promtool):
    missing = set(expressions()) ^ {alert for alerts in CASES.values() for alert in alerts}
    if missing:
        raise Failure(f"these alerts have no case, or are not there: {sorted(missing)}")
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = dict(zip(CASES, threads.map(lambda case: scrapes(case, binary), CASES)))
    with tempfile.TemporaryDirectory() as folder:
        said = mistakes(promtool, [group(alert, *found[case]) for case, alerts in CASES.items()
                                   for alert in alerts], folder)
        if "FAILED" in said or "SUCCESS" not in said:
            raise Failure(f"an alert is not silent before its event, or is after it:\n{said}")
        # A counter that appears with its first event.
        before, after = found[full]
        before = {series: value for series, value in before.items() if value}
        if "FAILED" not in mistakes(promtool, [group("LatchkeyStoreFull", before, after)], folder):
            raise Failure("that an alert stays silent is overlooked")
