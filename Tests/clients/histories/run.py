#!/usr/bin/env python3
"""Judges the results of clients while network, service and clients fail: exactly, by the history.

    Tests/clients/histories/run.py --binary .build-release/bin/latchkey

Drivers of all clients use one service through a faulty proxy. The service is killed, ended and
stopped; drivers are killed, stopped and fork. Then the judge compares the results of the clients
with the history. It takes a minute; `make client-histories` is the long form. Needs what
`scripts/require` installs for `test` and `clients`.
"""

import argparse
import collections
import contextlib
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent.parent / "scripts")]

import process  # noqa: E402
from drivers import CLIENTS, COMMANDS, Driver  # noqa: E402
from faulty import FaultyProxy, Plan  # noqa: E402
from judge import END, Records, Truth, changes, judge  # noqa: E402
from process import Failure, await_true  # noqa: E402
from steps import status_of_steps, step  # noqa: E402
from switcher import Switcher  # noqa: E402
import cancelled  # noqa: E402
import planted  # noqa: E402
import typescript_package  # noqa: E402
import waits  # noqa: E402
import workloads  # noqa: E402

HISTORY = "512MiB"
OPTIONS = {"timeout": 2, "patience": 5}
# Calls of every second driver often time out before their answer.
IMPATIENT = {"timeout": 1, "patience": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--seconds", type=float, default=20, help="of faults")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--client", action="append", choices=CLIENTS, help="default: all")
    parser.add_argument("--each", action="store_true", help="one history for each client")
    parser.add_argument("--switch", action="store_true", help="another strategy every 50 ms")
    arguments = parser.parse_args()
    arguments.client = arguments.client or CLIENTS
    print(f"seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as folder:
        if "typescript" in arguments.client:
            COMMANDS["typescript"] = typescript_package.build_driver(folder)
        return status_of_steps(lambda log: run_all(arguments, log))


def run_all(arguments, log):
    step("the judge finds what is wrong in histories made by hand", planted.check_by_hand)
    step("the judge finds planted mistakes", find_planted, arguments, log)
    for clients in [[each] for each in arguments.client] if arguments.each else [arguments.client]:
        step(f"a history of {', '.join(clients)}", try_clients, arguments, clients, log)
    step("what a cancelled pop got comes back", cancelled.try_cancelled, arguments, log)
    step(f"{waits.RUNS} waits are longer than the lock's time to live", waits.try_waits,
         arguments, log)


class Run:
    """A service, a proxy and drivers; each of them can fail. A context manager."""

    def __init__(self, arguments, log, seconds=0):
        self.arguments, self.log, self.seconds = arguments, log, seconds
        self.random = random.Random(f"run {arguments.seed}")
        self.plan = Plan(arguments.seed)
        self.records = Records()
        # Set when no more work is added, and when no job is left.
        self.is_over, self.is_done = threading.Event(), threading.Event()
        self.drivers, self.workers, self.counts = [], [], collections.Counter()
        self.stack = contextlib.ExitStack()
        self.lock = threading.Lock()
        # Chooses other strategies in runs with switches.
        self.switcher = None
        # Replaces drivers by ones that make mistakes.
        self.disguise = lambda driver: driver

    def __enter__(self):
        folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.service = self.stack.enter_context(process.Latchkey(
            self.arguments.binary, "--data", folder / "data", "--history-bytes", HISTORY,
            log=self.log))
        if self.arguments.switch:
            self.switcher = self.stack.enter_context(Switcher(self.service, self.arguments.seed))
        self.proxy = self.stack.enter_context(
            FaultyProxy(self.service.address, plan=self.plan))
        return self

    def __exit__(self, *details):
        for driver in self.drivers:
            driver.end()
        return self.stack.__exit__(*details)

    def add_driver(self, client, bounds=None, **options):
        self.counts[client] += 1
        driver = self.disguise(Driver.start(
            f"{client} {self.counts[client]}", COMMANDS[client], self.log, self.arguments.binary))
        self.drivers.append(driver)
        driver.bounds = bounds or (OPTIONS if self.counts[client] % 2 else IMPATIENT)
        driver.call("open", urls=[self.proxy.url], **driver.bounds, **options)
        return driver

    def add(self, kind, driver, **options):
        is_over = self.is_done if kind in workloads.LASTING else self.is_over
        worker = kind(driver, self.records, is_over, self.random.random(), **options)
        self.workers.append(worker)
        worker.start()

    def employ(self, driver):
        """Starts all kinds of workers for a driver."""
        fork = self.fork if driver.client == "python" else None
        for _ in range(2):
            self.add(workloads.Locker, driver, fork=fork)
        for kind in (workloads.Writer, workloads.Producer, workloads.Popper):
            self.add(kind, driver)
        # The command line starts a process for each call.
        if driver.client != "command-line":
            for kind in (workloads.Writer, workloads.Writer, workloads.Jobber):
                self.add(kind, driver)
        for watched in workloads.WATCHES:
            self.add(workloads.Follower, driver, watched=watched)

    def fork(self, driver):
        with self.lock:
            self.counts["forks"] += 1
            return driver.fork(f"{driver.client} child {self.counts['forks']}")

    def fail(self):
        """Makes faults of processes, one after the other, until the time is over."""
        end = time.monotonic() + self.seconds
        faults = [self.restart_killed, self.restart_ended, self.stop_service, self.stop_driver,
                  self.kill_driver, self.cut]
        while time.monotonic() < end:
            self.is_over.wait(self.random.uniform(0.2, 1.5))
            self.check_workers()
            fault = self.random.choice(faults)
            self.counts[fault.__name__.replace("_", " ")] += 1
            fault()

    def restart_killed(self):
        self.service.kill()
        self.restart()

    def restart_ended(self):
        self.service.end()
        self.restart()

    def restart(self):
        """Starts the service again after a moment."""
        self.is_over.wait(self.random.uniform(0, 1))
        self.service.__enter__()
        self.proxy.target = self.service.address
        self.service.await_ready()

    def stop_service(self):
        self.stop(self.service.process.send_signal)

    def stop_driver(self):
        self.stop(self.random.choice(self.drivers).signal)

    def stop(self, send_signal):
        send_signal(signal.SIGSTOP)
        self.is_over.wait(self.random.choice((0.1, 0.5, 1.5, 3)))
        send_signal(signal.SIGCONT)

    def kill_driver(self):
        """Replaces a driver by another one."""
        driver = self.random.choice(self.drivers)
        self.drivers.remove(driver)
        driver.end()
        self.employ(self.add_driver(driver.client, driver.bounds))

    def cut(self):
        self.proxy.cut()

    def check_workers(self):
        for worker in self.workers:
            if worker.failure is not None:
                raise worker.failure

    def calm(self):
        self.plan.is_calm = True
        # Requests in progress still have their faults.
        self.proxy.cut()

    def await_all(self, clients):
        """Waits until each client did all that is judged: one that always fails must not pass."""
        def missing():
            self.check_workers()
            records = self.records
            made = {(note.driver.split()[0], kind) for kind, notes in (
                ("job", records.attempts), ("pop", records.pops)) for note in notes
                if note.fate == "made"}
            made |= {(note.driver.split()[0], note.kind) for note in records.writes
                     if note.fate == "made"}
            made |= {(note.driver.split()[0], "grant") for note in records.grants}
            kinds = {*workloads.KINDS, "grant", "pop"}
            return {(client, kind) for client in clients
                    for kind in kinds | ({"job"} if client != "command-line" else set())} - made

        await_true(lambda: f"each client makes all: {missing()}", lambda: not missing())

    def settle(self):
        """Ends all work without faults. Returns the violations."""
        self.calm()
        self.is_over.set()
        self.join(lambda worker: worker.is_over is self.is_over)
        await_true("all jobs are done",
                   lambda: self.service.ask_json("/v1/count?prefix=jobs/")["count"] == 0)
        for driver in self.drivers:
            workloads.take_each_lock(driver)
        self.is_done.set()
        self.service.ask("PUT", f"/v1/properties/{END}", "true")
        self.join(lambda worker: True)
        self.check_workers()
        return [*judge(self.records, Truth(changes(self.service)))]

    def join(self, which):
        end = time.monotonic() + process.PATIENCE_SECONDS
        for worker in self.workers:
            if which(worker):
                worker.join(max(0, end - time.monotonic()))
                if worker.is_alive():
                    raise Failure(f"{worker.name} did not end")

    def figures(self):
        records = self.records
        fates = collections.Counter(write.fate for write in records.writes)
        yield f"writes: {len(records.writes)}, of which {told(fates)}"
        yield f"faults of the network: {told(self.plan.counts)}"
        yield f"others: {told(self.counts)}"
        yield (f"grants: {len(records.grants)}; jobs: "
               f"{told(collections.Counter(each.fate for each in records.attempts))}; pops: "
               f"{told(collections.Counter(each.fate for each in records.pops))}")
        if self.switcher:
            yield f"switches: {len(self.switcher.reports)}"
        events = [event[0] for each in records.followed for event in each.events]
        yield f"watches: {len(records.followed)}; events: {told(collections.Counter(events))}"


def told(counts):
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "none"


def try_clients(arguments, clients, log):
    with Run(arguments, log, arguments.seconds) as run:
        for client in clients:
            for _ in range(2):
                run.employ(run.add_driver(client))
        run.fail()
        run.calm()
        run.await_all(clients)
        violations = run.settle()
        for line in run.figures():
            print("   " + line)
    for violation in violations:
        print("   VIOLATION: " + violation)
    if violations:
        raise Failure(f"{len(violations)} violations, seed {arguments.seed}")


def find_planted(arguments, log):
    """Runs a driver that makes all the mistakes, and one that makes none."""
    client = next((each for each in arguments.client if each != "command-line"), "python")
    with Run(arguments, log) as run:
        run.plan = run.proxy.plan = Plan(arguments.seed, planted.RATES, planted.DELAYS)
        honest = run.add_driver(client)
        run.disguise = planted.Mistaken
        mistaken = run.add_driver(client, keys=False)
        for driver in (honest, mistaken):
            run.employ(driver)
            # So that both want a lock at once.
            for _ in range(2):
                run.add(workloads.Locker, driver)
        await_true(lambda: f"each mistake: {told(mistaken.made)}",
                   lambda: mistaken.has_made_all(run.records))
        violations = run.settle()
        for line in run.figures():
            print("   " + line)
        planted.check(violations)


if __name__ == "__main__":
    sys.exit(main())
