"""The cost of switches of the strategy for requests, and how long each holds a stripe.

A service is loaded under one strategy, and for as long while it is switched, in turn. The quantile
of all requests of the second kind is compared with that of all of the first kind together. Each
way of leaving and entering has loads of its own.
"""

import collections
import json

import loader
from driver import drive, socket_errors
from process import Failure, Latchkey
from switcher import Switcher
from table import progress, row

STRIPES = 128
SWITCHES = 1000
INTERVAL_SECONDS = 0.02
# Long enough for the first request of each connection to be less than one in a thousand.
LOAD_SECONDS = 2
LOADS = round(SWITCHES * INTERVAL_SECONDS / LOAD_SECONDS)
SHARE = 0.999
RATIO_MAX = 1.3
HOLD_MILLISECONDS_MAX = 10
# The properties that requests name.
NAMES = 1000
# By the number of properties, the groups of strategies: one whose writes copy their stripe is none
# for large stripes.
SIZES = {NAMES: ("at once", "later", "a copy"), 1_000_000: ("at once", "later")}


def measure_switching(arguments):
    """The rows of the table."""
    rows = []
    for count, groups in SIZES.items():
        with Latchkey(arguments.binary, "--stripes", str(STRIPES)) as service:
            loader.fill(service.address, count, lambda index: b"s%d" % index, b'"0123456789"')
            for name, ways in ways_of(service, groups).items():
                rows += measure_way(service, f"{name}; {count:,} properties", ways)
    return rows


def ways_of(service, groups):
    """By name two groups of strategies that are left and entered in turn."""
    found = collections.defaultdict(list)
    for each in service.ask_json("/v1/strategies")["strategies"]:
        found[group_of(each["traits"])].append(each["name"])
    every = [name for group in groups for name in found[group]]
    ways = {"switches among all": (every, every)}
    for index, one in enumerate(groups):
        for other in groups[index:]:
            # From one strategy there is no switch to itself.
            if len({*found[one], *found[other]}) > 1:
                ways[f"{one} ↔ {other}"] = (found[one], found[other])
    return ways


def group_of(traits):
    """The group of a strategy, which decides how it is switched. None: it needs one stripe."""
    if not traits["blocksCaller"]:
        return None
    if traits["readsDuringWrites"]:
        return "a copy"
    return "later" if traits["asynchronousWrites"] else "at once"


class Alternating(Switcher):
    """Leaves one group for the other."""

    def __init__(self, service, seed, groups):
        super().__init__(service, seed, seconds=INTERVAL_SECONDS)
        self.among, self.groups = groups[0], groups

    def pick(self, last):
        group = self.groups[len(self.reports) % 2]
        return self.choose.choice([each for each in group if each != last])


def measure_way(service, name, groups):
    strategies = sorted({*groups[0], *groups[1]})
    alone, switched, reports = collections.Counter(), collections.Counter(), []
    for number in range(max(LOADS, len(strategies))):
        progress(f"{name}: load {number + 1}")
        change(service, strategies[number % len(strategies)])
        load(service, alone)
        with Alternating(service, number, groups) as switcher:
            load(service, switched)
        reports += switcher.reports
    times = [quantile(each, SHARE) / 1e3 for each in (switched, alone)]
    ratio = times[0] / times[1]
    holds = sorted(1e3 * each["longestHoldSeconds"] for each in reports)
    hold = holds[int(0.99 * len(holds))]
    took = sorted(1e3 * each["seconds"] for each in reports)
    return [
        row(f"p99.9 with ÷ without {name}", [ratio], "", f"≤ {RATIO_MAX}", ratio <= RATIO_MAX,
            f"{times[0]:.2f} ÷ {times[1]:.2f} ms, {sum(switched.values()):,} requests"),
        row("  a switch holds a stripe, p99", [hold], "ms", f"≤ {HOLD_MILLISECONDS_MAX}",
            hold <= HOLD_MILLISECONDS_MAX,
            f"{len(reports):,} switches; max {holds[-1]:.3g} ms; all of a switch takes "
            f"{took[len(took) // 2]:.2g} ms, p99 {took[int(0.99 * len(took))]:.2g} ms")]


def change(service, strategy):
    service.ask("PUT", "/v1/strategy", json.dumps({"strategy": strategy}),
                {"Content-Type": "application/json"}, expect=(200,))


def load(service, latencies):
    """Nine GETs to one PUT; adds their microseconds."""
    report = drive(f"{service.url}/v1/properties/s", "mix", LOAD_SECONDS, arguments=(NAMES,))
    if socket_errors(report) or report["status"]:
        raise Failure(f"not every answer was 2xx: {report}")
    for microseconds, count in report["histogram"]:
        latencies[microseconds] += count


def quantile(latencies, share):
    left = share * sum(latencies.values())
    for microseconds, count in sorted(latencies.items()):
        left -= count
        if left <= 0:
            return microseconds
    raise Failure("nothing was answered")
