#!/usr/bin/env python3
"""Looks for broken promises of a cluster: three replicas, three members of etcd, and faults.

    Tests/cluster/run.py --binary .build-release/bin/latchkey [--quick] [--rounds N] [--seed S]

In each round six clients write and read at all replicas, plain readers and steady writers have one
each, and a watch goes from one to the other, while one or two faults happen (faults.py): also cuts
of the network where that is possible (network.py), losses of power, and full disks. In every second
round, each replica also switches its strategy every 50 ms. Then the answers have to be those of one
service (judge.py), and the replicas the same. At the end violations are planted in the recorded
history, and have to be found. Campaigns of their own follow: increments with a key at all replicas
at once (counting.py), watches that change the replica (moving.py), full disks of one replica and of
most (filling.py), and upgrades from the version before (upgrading.py). A cluster runs for some
rounds; the next one has the next seed. The promises are those of docs/cluster.md. Needs the
standard library, and a C compiler.
"""

import argparse
import collections
import contextlib
import itertools
import json
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import PATIENCE_SECONDS, Failure  # noqa: E402

import counting  # noqa: E402
import filling  # noqa: E402
import moving  # noqa: E402
import planted  # noqa: E402
import network  # noqa: E402
import upgrading  # noqa: E402
from availability import Availability  # noqa: E402
from clients import Client, Prober, Reader, Watcher  # noqa: E402
from faults import CUTS, FAULTS, end_replica, kill_all, kill_member, kill_replica  # noqa: E402
from faults import move_leader  # noqa: E402
from replicas import Cluster, await_true  # noqa: E402
from switcher import Switcher  # noqa: E402

CLIENTS, ROUNDS_OF_CLUSTER, JOIN_SECONDS_MAX = 6, 6, PATIENCE_SECONDS
# The least number for each replica, in a round with switches.
SWITCHES_MIN = 20


class Campaign:
    """One cluster: its rounds, and all requests and answers."""

    def __init__(self, cluster, choose, seconds, faults, availability, switch_period=0):
        """Strategies are switched in every round whose number is a multiple of the period."""
        self.cluster, self.choose, self.seconds = cluster, choose, seconds
        cluster.may_be_full = True
        self.switch_period = switch_period
        self.faults, self.availability = faults, availability
        self.tokens, self.operations = itertools.count(1), []
        self.changes, self.number = [], 0
        self.watcher = Watcher(cluster, random.Random(choose.random()), cluster.start)

    def seeded(self):
        return random.Random(self.choose.random())

    def round(self):
        """Returns a summary."""
        self.number += 1
        plans = [(fault, self.seeded(), self.choose.uniform(0.2, self.seconds / 2))
                 for fault in self.faults(self.choose)]
        talkers = [Client(self.cluster, self.seeded(), self.tokens, number)
                   for number in range(CLIENTS)]
        readers = [Reader(self.cluster, self.seeded(), replica)
                   for replica in self.cluster.replicas]
        probers = [Prober(self.cluster, self.seeded(), replica, self.tokens)
                   for replica in self.cluster.replicas]
        talkers += readers + probers
        self.watcher = self.resumed()
        words, errors = [], []
        faults = [threading.Thread(target=run_fault, args=(self.cluster, *plan, words, errors))
                  for plan in plans]
        end = time.monotonic() + self.seconds
        with contextlib.ExitStack() as stack:
            switchers = [stack.enter_context(Switcher(replica, self.choose.random()))
                         for replica in self.cluster.replicas if self.is_switched()]
            for thread in talkers + [self.watcher] + faults:
                thread.start()
            for fault in faults:
                fault.join(2 * JOIN_SECONDS_MAX)
            time.sleep(max(0.0, end - time.monotonic()))
            for each in switchers:
                await_true(f"replica {each.service.number} is switched", lambda each=each: errors
                           or each.error or len(each.reports) >= SWITCHES_MIN)
        for talker in talkers:
            talker.is_stopped.set()
        for talker in talkers:
            talker.join(JOIN_SECONDS_MAX)
        operations = [each for talker in talkers for each in talker.operations]
        self.operations += operations
        self.operations.sort(key=lambda each: each.begin)
        errors += [talker.error for talker in talkers if talker.error]
        if errors or any(thread.is_alive() for thread in talkers + faults):
            raise Failure(f"after {words}: {errors or 'a thread does not end'}")
        try:
            self.judge()
            self.availability.judge(operations, probers, readers, self.cluster.excuses)
        except Failure as failure:
            raise Failure(f"after {words}: {failure}") from None
        if switchers:
            words.append(f"{sum(len(each.reports) for each in switchers)} switches")
        fates = collections.Counter(each.fate for each in self.operations)
        return (f"{'; '.join(words)}: {len(self.operations)} operations so far, "
                + ", ".join(f"{count} {fate}" for fate, count in sorted(fates.items()))
                + f", {len(self.changes)} commits, {self.watcher.cuts} cuts of the watch, "
                f"{self.watcher.middles} in transactions; "
                + ", ".join(f"{what} {seconds:.2f} s" for what, seconds in
                            self.availability.last.items() if seconds > 1))

    def is_switched(self):
        return self.switch_period and self.number % self.switch_period == 0

    def resumed(self):
        """The watch of the round before, as a new thread."""
        former, watcher = self.watcher, Watcher(self.cluster, self.seeded(), self.cluster.start)
        watcher.revision, watcher.last = former.revision, former.last
        watcher.events, watcher.cuts = former.events, former.cuts
        watcher.middles = former.middles
        return watcher

    def judge(self):
        export, (self.changes, revision) = self.cluster.settle()
        self.settled = revision
        try:
            await_true("the watch is at the end", lambda: self.watcher.error
                       or self.watcher.revision >= revision)
        finally:
            self.watcher.is_stopped.set()
            self.watcher.join(JOIN_SECONDS_MAX)
        if self.watcher.error:
            raise Failure(str(self.watcher.error))
        order = planted.judge(*self.recorded())
        rows = [json.loads(line) for line in export.splitlines()]
        state = {row["name"]: (row["revision"], row["value"], row["created"])
                 for row in rows[:-1]}
        if state != order.state() or rows[-1]["revision"] != revision != order.revision:
            raise Failure("the export is not what the commits make")

    def recorded(self):
        # A request whose packets were cut can arrive after `settle`: the next round has its change.
        events = [each for each in self.watcher.events if each[0] <= self.settled]
        return self.cluster.start, self.changes, self.operations, events

    def plant(self):
        """Returns a line for each violation, and the number of those that were not found."""
        lines, missed = [], 0
        for name, change in planted.PLANTS.items():
            try:
                planted.judge(*change(*self.recorded()))
                lines.append(f"FAILED: was not found: planted '{name}'")
                missed += 1
            except Failure as failure:
                lines.append(f"ok planted '{name}': {str(failure)[:120]}")
        return lines, missed


class Plan:
    """Chooses faults: all kinds once before one comes again. Counts them."""

    def __init__(self, faults):
        self.faults, self.left, self.counts = faults, [], collections.Counter()

    def __call__(self, choose):
        return [self._next(choose) for _ in range(choose.choice((1, 2)))]

    def _next(self, choose):
        if not self.left:
            self.left = choose.sample(self.faults, len(self.faults))
        fault = self.left.pop()
        self.counts[fault.__name__] += 1
        return fault

    def __str__(self):
        return ", ".join(f"{name} {self.counts[name]}" for name in
                         sorted({fault.__name__ for fault in self.faults}))


def run_fault(cluster, fault, choose, delay, words, errors):
    try:
        time.sleep(delay)
        words.append(fault(cluster, choose))
    except Failure as failure:
        errors.append(Failure(f"{fault.__name__}: {failure}"))


def main():
    arguments = parse_arguments()
    reason = "--no-cuts" if arguments.no_cuts else network.enter()
    # So that a signal ends the processes that were started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"seed {arguments.seed}", flush=True)
    if reason:
        print(f"NOTE: without cuts of the network, as namespaces cannot be made: {reason}",
              flush=True)
        return run(arguments, network.Loopback())
    star = network.Star([f"{kind}{number}" for kind in "mr" for number in range(3)])
    try:
        return run(arguments, star)
    finally:
        star.close()


def disturb(cluster, choose):
    """A fault that ends by itself, and after which every request can be repeated."""
    return choose.choice((kill_replica, kill_replica, end_replica, kill_all, kill_member,
                          move_leader))(cluster, choose)


def run_judged(arguments, network_of_all):
    """Runs the other campaigns. Returns how many passed and failed."""
    amounts = {"counting": arguments.keys, "moving": arguments.moves,
               "filling": arguments.full_writes}
    passed = failed = 0
    for name, module, kind in (("counting", counting, Cluster), ("moving", moving, Cluster),
                               ("filling", filling, filling.Cluster)):
        if not is_wanted(arguments, name):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-", dir=arguments.scratch))
        choose, holds = random.Random(arguments.seed), False
        try:
            with kind(arguments.binary, folder, choose, network_of_all) as cluster:
                figures, recorded = module.run(cluster, choose, amounts[name], disturb)
                print(f"ok {name}: {figures}", flush=True)
                passed, holds = passed + 1, True
                plants = {plant: lambda change=change: module.judge(*change(*recorded))
                          for plant, change in module.PLANTS.items()}
                if name == "counting":
                    plants["another key at each replica"] = lambda: counting.run(
                        cluster, choose, 2, move_leader, counting.PLANTED)
                for plant, judge in plants.items():
                    fault = found(judge)
                    print(f"ok planted '{plant}': {str(fault)[:120]}" if fault else
                          f"FAILED: was not found: planted '{plant}'", flush=True)
                    failed += not fault
        except Failure as failure:
            failed += 1
            print(f"FAILED: seed {arguments.seed}, {name}: {failure}", flush=True)
        if holds or not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return passed, failed


def run_upgrades(arguments, network_of_all):
    """Runs each upgrade as the fault of a round. Returns how many passed and failed."""
    passed = failed = 0
    for upgrade in upgrading.UPGRADES:
        if not is_wanted(arguments, upgrade.__name__):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-", dir=arguments.scratch))
        choose, holds = random.Random(arguments.seed), False
        try:
            with upgrading.Cluster(arguments.binary, arguments.earlier, folder, choose,
                                   network_of_all) as cluster:
                campaign = Campaign(cluster, choose, arguments.seconds,
                                    lambda _, upgrade=upgrade: [upgrade],
                                    Availability(arguments.judge_times))
                print(f"ok {upgrade.__name__}: {campaign.round()}", flush=True)
                passed, holds = passed + 1, True
        except Failure as failure:
            failed += 1
            print(f"FAILED: seed {arguments.seed}, {upgrade.__name__}: {failure}", flush=True)
        if holds or not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return passed, failed


def is_wanted(arguments, name):
    return not arguments.only or name in arguments.only.split(",")


def found(judge):
    """The violation that a judge has found, or None."""
    try:
        judge()
    except Failure as failure:
        return failure
    return None


def run(arguments, network_of_all):
    left, seed, failed, passed = arguments.rounds, arguments.seed, 0, 0
    began, missed, operations, commits = time.monotonic(), 0, 0, 0
    faults = FAULTS + CUTS if network_of_all.can_cut else FAULTS
    plan = Plan([each for each in faults if is_wanted(arguments, each.__name__)])
    availability = Availability(arguments.judge_times)
    while left > 0 and plan.faults:
        rounds = min(left, ROUNDS_OF_CLUSTER)
        left -= rounds
        folder = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-", dir=arguments.scratch))
        choose, campaign, holds = random.Random(seed), None, False
        try:
            with Cluster(arguments.binary, folder, choose, network_of_all) as cluster:
                campaign = Campaign(cluster, choose, arguments.seconds, plan, availability,
                                    switch_period=1 if arguments.switch else 2)
                for number in range(1, rounds + 1):
                    print(f"ok seed {seed}, round {number}: {campaign.round()}", flush=True)
                    passed += 1
                if seed == arguments.seed:
                    lines, missed = campaign.plant()
                    print("\n".join(lines), flush=True)
                holds = True
        except Failure as failure:
            failed += 1
            print(f"FAILED: seed {seed}, round {campaign.number if campaign else 0}: {failure}",
                  flush=True)
        if campaign:
            operations += len(campaign.operations)
            commits += len(campaign.changes)
        if holds or not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
        seed += 1
    for others in () if arguments.switch else (run_judged, run_upgrades):
        more_passed, more_failed = others(arguments, network_of_all)
        passed, failed = passed + more_passed, failed + more_failed
    print(f"\n{operations} operations, {commits} commits, {time.monotonic() - began:.0f} s")
    print(f"faults: {plan}")
    print(f"longest: {availability}")
    print(f"{passed} passed, {failed + missed} failed")
    return 1 if failed + missed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, type=lambda path: pathlib.Path(path).resolve(),
                        help="the latchkey to run")
    parser.add_argument("--earlier", type=lambda path: pathlib.Path(path).resolve(),
                        help="a latchkey of the version before; else the present one as one")
    parser.add_argument("--quick", action="store_true", help="in about a minute")
    parser.add_argument("--rounds", type=int, help="6 with --quick, else 120")
    parser.add_argument("--keys", type=int, help="of each of four clients; 30 with --quick, or 500")
    parser.add_argument("--moves", type=int, help="faults while watches move; 4 or 40")
    parser.add_argument("--full-writes", type=int,
                        help="of each other replica while a disk is full; 50 or 10,000")
    parser.add_argument("--seconds", type=float, help="of load in a round, at least")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--judge-times", action="store_true",
                        help="fail beyond the times of docs/cluster.md; for a machine at rest")
    parser.add_argument("--switch", action="store_true",
                        help="another strategy every 50 ms in all rounds; no other campaigns")
    parser.add_argument("--no-cuts", action="store_true", help="leave the network as it is")
    parser.add_argument("--only",
                        help="names of faults, campaigns and upgrades, with commas between them")
    parser.add_argument("--scratch", type=pathlib.Path, help="where files are made")
    parser.add_argument("--keep", action="store_true", help="keep the files of a failure")
    arguments = parser.parse_args()
    if arguments.rounds is None:
        arguments.rounds = 6 if arguments.quick else 120
    arguments.keys = arguments.keys or (30 if arguments.quick else 500)
    arguments.moves = arguments.moves or (4 if arguments.quick else 40)
    arguments.full_writes = arguments.full_writes or (50 if arguments.quick else 10_000)
    arguments.seconds = arguments.seconds or (4.0 if arguments.quick else 6.0)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
