"""The cost of watchers and expiry, and how late they are.

Each delay is taken by one clock (CLOCK_MONOTONIC): from the time that a writer puts into the value
of a property to the time at which a watcher's process has got the event. So it has the PUT, the
commit, the delivery and the client in it. Clients are the C programs beside this file; they run on
the same cores as the service.
"""

import contextlib
import json
import os
import statistics
import subprocess
import time

import loader
from clients import Clients
from process import Failure, Latchkey
from table import progress, row

WRITERS = 32
ONE_WATCHER_ROUNDS = 20
ONE_WATCHER_SECONDS = 1
# Watchers, commits a second, and the targets: milliseconds, microseconds.
FAN_OUTS = ((1000, 100, 10, 6), (10_000, 10, 60, None))
FAN_OUT_ROUNDS = 4
FAN_OUT_SECONDS = 3
IDLE_WATCHERS = 10_000
# Two keep-alive periods and a little.
IDLE_SECONDS = 31
BURST_PROPERTIES = 300_000
BURST_SECONDS = 30
MORTAL_PROPERTIES = 1_000_000
MORTAL_SECONDS = 10
SETTLE_SECONDS = 3
EXPIRING_PROPERTIES = 10_000
EXPIRING_SECONDS = 10
WRITE_SECONDS = 6
CLIENT_SECONDS_MAX = 120
UNREAD_WATCHERS = 9000
READING_WATCHERS = 900
SHARING_ROUNDS = 4
SHARING_SECONDS = 8
# Long enough for the commits of a round, so that a stream which reads is not ended.
SHARING_HISTORY_BYTES = 1 << 30
CATCHING_UP_WATCHERS = 200
CATCHING_UP_LINES = 60_000
CATCHING_UP_RATE = 20


class Watchers(Clients):
    """The process of `count` watchers, which all are at the latest revision. A context manager."""

    def __init__(self, arguments, service, count=1, target="/v1/watch", event="put",
                 reads=True):
        super().__init__(
            arguments.clients / "watchers", "--port", service.address[1],
            "--connections", count, "--target", target, "--event", event,
            "--unread", 0 if reads else 1)


def write(arguments, service, **options):
    """Runs the writers and returns their report."""
    words = [word for flag, value in options.items()
             for word in (f"--{flag.replace('_', '-')}", str(value))]
    output = subprocess.run(
        [arguments.clients / "writers", "--port", str(service.address[1]), *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
        timeout=CLIENT_SECONDS_MAX).stdout
    return json.loads(output)


def measure_watching(arguments):
    return [
        *measure_one_watcher(arguments),
        *(each for fan_out in FAN_OUTS for each in measure_fan_out(arguments, *fan_out)),
        *measure_sharing(arguments, UNREAD_WATCHERS, False, 0.8),
        *measure_sharing(arguments, READING_WATCHERS, True, 0.7),
        *measure_catching_up(arguments), *measure_idle(arguments)]


def measure_one_watcher(arguments):
    """PUTs as fast as they go, in turn with one watcher of them and without."""
    rates = {"with": [], "without": []}
    reports = []
    missing = 0
    with Latchkey(arguments.binary, "--http-threads", str(os.cpu_count())) as service:
        for turn in range(ONE_WATCHER_ROUNDS):
            for case in ("with", "without") if turn % 2 else ("without", "with"):
                progress(f"one watcher, round {turn + 1} of {ONE_WATCHER_ROUNDS}: {case}")
                watchers = Watchers(arguments, service) if case == "with" else None
                with watchers or contextlib.nullcontext():
                    done = write(arguments, service, connections=WRITERS,
                                 seconds=ONE_WATCHER_SECONDS)
                rates[case].append(done["requests"] / done["seconds"])
                if watchers:
                    reports.append(watchers.report)
                    missing += done["requests"] - watchers.report["puts"] \
                        + watchers.report["jumps"]
    ratios = [one / other for one, other in zip(rates["with"], rates["without"])]
    with_watcher, without = (statistics.median(rates[case]) for case in ("with", "without"))
    ended = sum(each["ended"] for each in reports)
    return [
        row("commits that one watcher missed", [missing], "", "0", missing == 0 and ended == 0,
            f"of {sum(each['puts'] for each in reports) + missing:,}, in order; "
            f"{ended} of {len(reports)} streams ended"),
        row("PUT with one watcher ÷ without", ratios, "", "≥ 0.9",
            statistics.median(ratios) >= 0.9, f"{with_watcher:,.0f}/s ÷ {without:,.0f}/s"),
        *delays("one watcher of these PUTs, delay", reports)]


def measure_sharing(arguments, count, reads, least):
    """PUTs as fast as they go, in turn beside many watchers and without."""
    bound = str(count + 100)
    name = f"{count:,} {'reading' if reads else 'unread'} watchers"
    rates = {"with": [], "without": []}
    ended, jumps, gotten = 0, 0, 0
    with Latchkey(arguments.binary, "--max-connections", bound, "--max-watchers", bound,
                  "--client-share", "1/1", "--history-bytes", str(SHARING_HISTORY_BYTES),
                  "--http-threads", str(os.cpu_count())) as service:
        for turn in range(SHARING_ROUNDS):
            for case in ("with", "without") if turn % 2 else ("without", "with"):
                progress(f"{name}, round {turn + 1} of {SHARING_ROUNDS}: {case}")
                watchers = Watchers(arguments, service, count, reads=reads) \
                    if case == "with" else None
                with watchers or contextlib.nullcontext():
                    done = write(arguments, service, connections=WRITERS, seconds=SHARING_SECONDS)
                if watchers:
                    ended += watchers.report["ended"]
                    jumps += watchers.report["jumps"]
                    gotten += watchers.report["puts"]
                rates[case].append(done["requests"] / done["seconds"])
    ratios = [one / other for one, other in zip(rates["with"], rates["without"])]
    beside, alone = (statistics.median(rates[case]) for case in ("with", "without"))
    streams = f"; {gotten:,} events, {jumps} gaps, {ended} streams ended; " \
        f"--history-bytes {SHARING_HISTORY_BYTES}" if reads else ""
    return [row(f"PUT beside {name} ÷ without", ratios, "", f"≥ {least}",
                statistics.median(ratios) >= least and ended == 0 and jumps == 0,
                f"{beside:,.0f}/s ÷ {alone:,.0f}/s{streams}")]


def measure_catching_up(arguments):
    """One live watcher beside many that resume over the batches of an import."""
    lines = b"".join(b'{"name":"import/%06d","value":"%s"}\n' % (index, b"v" * 200)
                     for index in range(CATCHING_UP_LINES))
    lines += b'{"end":true,"count":%d}\n' % CATCHING_UP_LINES
    bound = str(CATCHING_UP_WATCHERS + 100)
    with Latchkey(arguments.binary, "--max-connections", bound, "--client-share", "1/1",
                  "--http-threads", str(os.cpu_count())) as service:
        progress(f"{CATCHING_UP_WATCHERS} watchers catch up")
        before = service.metrics()["latchkey_store_revision"]
        service.ask("POST", "/v1/import?partial=true", lines)
        with Watchers(arguments, service, target="/v1/watch?name=measured") as live:
            writing = subprocess.Popen(
                [arguments.clients / "writers", "--port", str(service.address[1]),
                 "--connections", "1", "--rate", str(CATCHING_UP_RATE),
                 "--seconds", str(SHARING_SECONDS)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            with Watchers(arguments, service, CATCHING_UP_WATCHERS,
                          f"/v1/watch?after={before:.0f}"):
                writing.communicate(timeout=CLIENT_SECONDS_MAX)
    greatest = live.report["maxMilliseconds"]
    return [row(f"one live watcher beside {CATCHING_UP_WATCHERS} that catch up, greatest delay",
                [greatest], "ms", "≤ 250", greatest <= 250,
                f"p50 {live.report['p50Milliseconds']:.3g} ms, {live.report['samples']} events, "
                f"behind an import of {CATCHING_UP_LINES:,} lines")]


def measure_fan_out(arguments, count, commit_rate, milliseconds, microseconds):
    """A few commits for many watchers."""
    name = f"{count:,} watchers, {commit_rate} commits/s"
    bound = str(count + 100)
    reports, rates, costs = [], [], []
    with Latchkey(arguments.binary, "--http-threads", str(os.cpu_count()),
                  "--max-connections", bound, "--max-watchers", bound,
                  "--client-share", "1/1") as service:
        for turn in range(FAN_OUT_ROUNDS):
            progress(f"{name}, round {turn + 1} of {FAN_OUT_ROUNDS}")
            with Watchers(arguments, service, count) as watchers:
                before = service.cpu_seconds()
                # Several connections, so that an answer that is late does not lower the rate.
                done = write(arguments, service, connections=WRITERS, rate=commit_rate,
                             seconds=FAN_OUT_SECONDS)
            spent = service.cpu_seconds() - before
            rates.append(done["requests"] / done["seconds"])
            if watchers.report["puts"] != done["requests"] * count \
                    or watchers.report["jumps"] or watchers.report["ended"]:
                raise Failure(f"of {done['requests']} commits {count} watchers got "
                              f"{watchers.report}")
            reports.append(watchers.report)
            costs.append(1e6 * spent / watchers.report["puts"])
    cost = statistics.median(costs)
    return [
        *delays(f"{name}, delay", reports, f"; {statistics.median(rates):.0f} commits/s reached",
                milliseconds),
        row("  the same, processor time a delivery", costs, "µs",
            f"≤ {microseconds}" if microseconds else "",
            cost <= microseconds if microseconds else None, "of the service, all that it does")]


def delays(name, reports, more="", most=None):
    """Two rows: the 99th percentile, and the greatest delay, of each round."""
    p99, greatest = ([each[key] for each in reports]
                     for key in ("p99Milliseconds", "maxMilliseconds"))
    middle = statistics.median(each["p50Milliseconds"] for each in reports)
    return [
        row(f"{name}, p99", p99, "ms", f"≤ {most}" if most else "",
            statistics.median(p99) <= most if most else None,
            f"p50 {middle:.3g} ms, {sum(each['samples'] for each in reports):,} events{more}"),
        row("  the same, greatest", greatest, "ms", "", None, f"over all {max(greatest):.3g} ms")]


def measure_idle(arguments):
    """Many watchers of properties that do not change."""
    bound = str(IDLE_WATCHERS + 100)
    with Latchkey(arguments.binary, "--max-connections", bound, "--max-watchers", bound,
                  "--client-share", "1/1", "--http-threads", str(os.cpu_count())) as service:
        service.ask("GET", "/healthz")
        before = service.resident_bytes()
        progress(f"{IDLE_WATCHERS:,} idle watchers")
        with Watchers(arguments, service, IDLE_WATCHERS, "/v1/watch?prefix=idle") as watchers:
            time.sleep(SETTLE_SECONDS)
            share = processor_shares([service], IDLE_SECONDS)[0]
            resident = service.resident_bytes()
    if watchers.report["ended"]:
        raise Failure(f"{watchers.report['ended']} of the idle watches ended")
    megabytes = resident / 1e6
    return [
        row(f"{IDLE_WATCHERS:,} idle watchers, resident memory", [megabytes], "MB", "< 400",
            megabytes < 400, f"{(resident - before) / IDLE_WATCHERS:,.0f} B for each"),
        row("  the same, processor time", [share], "%", "< 2", share < 2,
            f"of a core, over {IDLE_SECONDS} s; "
            f"{watchers.report['keepAlives'] / IDLE_WATCHERS:.2g} keep-alive comments each")]


def measure_expiry(arguments):
    return [*measure_mortal(arguments), *measure_removal(arguments), measure_burst(arguments)]


def measure_mortal(arguments):
    """Services without work, with and without properties that expire in an hour."""
    with Latchkey(arguments.binary) as full, Latchkey(arguments.binary) as empty:
        before = full.resident_bytes()
        loader.fill(full.address, MORTAL_PROPERTIES, lambda index: b"k%09d?ttl=3600" % index, b"1",
                    lambda done: progress(f"loading properties that expire: {done:,}"))
        each = (full.resident_bytes() - before) / MORTAL_PROPERTIES
        time.sleep(SETTLE_SECONDS)
        progress("idle, with properties that expire")
        shares = processor_shares([full, empty], MORTAL_SECONDS)
    more = shares[0] - shares[1]
    return [row(f"{MORTAL_PROPERTIES:,} properties that expire, idle processor time", [more], "%",
                "≤ 0.1", more <= 0.1,
                f"of a core more than without any: {shares[0]:.3f} - {shares[1]:.3f}"),
            row("resident memory per property that expires", [each], "B", "", None,
                f"{MORTAL_PROPERTIES:,} with names of 10 bytes and values of one")]


def measure_removal(arguments):
    """From the time of a property's expiry to the event of its removal."""
    with Latchkey(arguments.binary, "--http-threads", str(os.cpu_count())) as service:
        progress(f"{EXPIRING_PROPERTIES:,} properties expire")
        with Watchers(arguments, service, event="expire") as watchers:
            write(arguments, service, connections=4, count=EXPIRING_PROPERTIES,
                  expire_after=WRITE_SECONDS, expire_within=EXPIRING_SECONDS)
            wait_until_empty(service)
    report = watchers.report
    if report["samples"] != EXPIRING_PROPERTIES:
        raise Failure(f"{report['samples']} of {EXPIRING_PROPERTIES} properties have expired")
    greatest = report["maxMilliseconds"]
    return [row("removal after a property's expiry, greatest delay", [greatest], "ms", "≤ 50",
                greatest <= 50,
                f"p50 {report['p50Milliseconds']:.3g} ms, p99 {report['p99Milliseconds']:.3g} ms; "
                f"{EXPIRING_PROPERTIES:,} within {EXPIRING_SECONDS} s, at a watcher")]


def measure_burst(arguments):
    """Many properties whose time is over at the same moment."""
    with Latchkey(arguments.binary, "--http-threads", str(os.cpu_count())) as service:
        moment = time.monotonic() + BURST_SECONDS
        loader.fill(service.address, BURST_PROPERTIES,
                    lambda index: b"k%09d?ttl=%.3f" % (index, moment - time.monotonic()), b"1",
                    lambda done: progress(f"loading properties that expire at once: {done:,}"))
        if (left := moment - time.monotonic()) < 0.1:
            raise Failure(f"loading the properties took {BURST_SECONDS - left:.1f} s")
        time.sleep(left)
        while service.metrics()["latchkey_store_properties"] > 0:
            if (took := time.monotonic() - moment) > CLIENT_SECONDS_MAX:
                raise Failure(f"the properties are not removed after {took:.0f} s")
            time.sleep(0.02)
        took = time.monotonic() - moment
    return row(f"{BURST_PROPERTIES:,} properties that expire at once, until all are removed",
               [took], "s", "", None, "as /metrics has it; none is served after its time")


def wait_until_empty(service):
    deadline = time.monotonic() + WRITE_SECONDS + EXPIRING_SECONDS + CLIENT_SECONDS_MAX
    while service.metrics()["latchkey_store_properties"] > 0:
        if time.monotonic() > deadline:
            raise Failure("the properties do not expire")
        time.sleep(0.5)


def processor_shares(services, seconds):
    """How much of a core each service uses while nothing is asked of it, in percent."""
    began = time.monotonic()
    before = [each.cpu_seconds() for each in services]
    time.sleep(seconds)
    after = [each.cpu_seconds() for each in services]
    took = time.monotonic() - began
    return [100 * (late - early) / took for early, late in zip(before, after)]
