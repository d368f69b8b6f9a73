#!/usr/bin/env python3
"""Looks for broken promises of a cluster while an operator works on its etcd.

    Tests/cluster/operators.py --binary .build-release/bin/latchkey --etcd FOLDER [--quick]

Each scenario is a function of on_members.py, on_space.py, on_logs.py, on_access.py or
on_replicas.py, which says what must hold. It has a cluster of its own: three members of etcd, three
replicas, and load at all of them (loads.py), whose answers are judged exactly. No time is judged:
the scenarios wait for each result. All listen on the loopback address.

`--etcd` names a folder with `etcd` and `etcdctl`; `--later-etcd` one of the next version, with
which the scenarios run, too. Needs the standard library, a C compiler and openssl.
"""

import argparse
import base64
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import PATIENCE_SECONDS, Failure, await_true, run  # noqa: E402

import on_access  # noqa: E402
import on_logs  # noqa: E402
import on_members  # noqa: E402
import on_replicas  # noqa: E402
import on_space  # noqa: E402
from clients import JSON  # noqa: E402
from loads import Load, words  # noqa: E402
from network import Loopback  # noqa: E402
from operated import SETTINGS, Cluster, Needs  # noqa: E402

MODULES = (on_members, on_space, on_logs, on_access, on_replicas)
SCENARIOS = [each for module in MODULES for each in module.SCENARIOS]
# Scenarios of the short form: with the first version, and with the later one.
QUICK = (("lone_member", "restored_as_other", "small_requests"),
         ("learner_at_old_address", "full", "deleted_log"))
# States of a replica that does not continue.
FINAL = ("diverged", "too-late")
DELETION = re.compile(r"\b[Dd]elete (its |the |this )?(data|folder|it)\b")
COPY = re.compile(r"\b([Cc]op(y|ies)|[Mm]ove)\b")


class Trial:
    """A scenario on a cluster."""

    def __init__(self, scenario, folder, arguments, programs):
        self.scenario, self.folder, self.arguments = scenario, folder, arguments
        self.binary, self.programs, self.later = arguments.binary, programs, arguments.later_etcd
        self.choose, self.patience = random.Random(arguments.seed), arguments.patience
        self.cluster, self.advice, self.loads = self.make_cluster(folder), [], []

    def run(self):
        """Returns figures."""
        with self.cluster:
            try:
                figures = self.scenario(self)
            finally:
                for load in self.loads:
                    load.cancel()
        for log in self.folder.glob("r*.log"):
            self.advice += log.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in self.advice:
            deletion = DELETION.search(line)
            if deletion and not COPY.search(line[:deletion.start()]):
                raise Failure(f"advises to delete before a copy: {line[:400]}")
        return figures

    def make_cluster(self, folder):
        needs = getattr(self.scenario, "needs", Needs())
        return Cluster(self.binary, self.programs, folder, self.choose, Loopback(), needs)

    def other_cluster(self):
        folder = self.folder / "other"
        folder.mkdir()
        return self.make_cluster(folder)

    def load(self):
        self.loads.append(Load(self.cluster, self.choose, self.patience))
        return self.loads[-1]

    def begin(self, replica):
        replica.begin("lock", 0)

    @staticmethod
    def stop(member):
        member.process.send_signal(signal.SIGSTOP)

    def await_known(self):
        """Waits until etcd has the records that replicas write some seconds after the first entry.

        They have the place on the disk of each one, and the revision at which the log's key was
        made.
        """
        await_true("the agreement has the log",
                   lambda: b'"created"' in base64.b64decode(self.cluster.key(SETTINGS)["value"]),
                   self.patience)
        await_true("all have said a place", self.cluster.stored_place, self.patience)

    # MARK: The words of a replica

    def words(self, replica):
        """Its words now. They are searched for advice in the end."""
        said = words(replica)
        if said not in self.advice[-10:]:
            self.advice.append(said)
        return said

    def await_said(self, replica, *needles, status=None):
        """Waits until /readyz?verbose has such words, in any case of letters."""
        def is_said():
            if not replica.is_running():
                raise Failure(f"replica {replica.number} ended by itself: {replica.said()[-600:]}")
            said = self.words(replica).lower()
            return f"verbose {status or ''}" in said and all(
                each.lower() in said for each in needles)

        await_true(lambda: f"replica {replica.number} says {needles}, but {self.words(replica)}",
                   is_said, self.patience)

    def await_serving(self):
        for replica in self.cluster.replicas:
            self.await_said(replica, "serving", status=200)

    def await_quiet(self, needle):
        """Waits until no replica reports it any more."""
        for replica in self.cluster.replicas:
            await_true(lambda replica=replica: self.words(replica),
                       lambda replica=replica: needle not in self.words(replica), self.patience)

    def await_logged(self, replica, *needles):
        """Waits until a line of its log has such words. A reason is logged only when it changes."""
        def lines():
            return [line for line in replica.said().lower().splitlines()
                    if all(each.lower() in line for each in needles)]

        await_true(f"replica {replica.number} logs {needles}", lines, self.patience)
        if len(lines()) > 20:
            raise Failure(f"replica {replica.number} logs {needles} {len(lines())} times")

    def await_told(self, words):
        """Waits until each replica reports etcd's error in /readyz, its log, and a metric."""
        for replica in self.cluster.replicas:
            self.await_said(replica, words)
            self.await_logged(replica, words)
            self.await_counted(replica, "latchkey_cluster_etcd_failures_total")

    def count(self, replica, name):
        """The sum of the samples of a metric."""
        return sum(value for series, value in replica.metrics().items()
                   if series.split("{")[0] == name)

    def await_counted(self, replica, name):
        await_true(f"replica {replica.number} counts in {name}",
                   lambda: self.count(replica, name), self.patience)

    def expect_advice(self, replica):
        """A write at a replica that does not continue is sent to another replica."""
        text = replica.ask("PUT", "/v1/properties/o%2Flate", "1", JSON, expect=(503,))[2].decode()
        if "another replica" not in text:
            raise Failure(f"replica {replica.number} does not go on, and answers a write {text}")

    def await_refusal(self, replica, *needles):
        """Starts it. It must end, or stop before it is ready, and give the reason."""
        self.begin(replica)
        said = self.await_unready(replica)
        self.advice += said.splitlines()
        for each in needles:
            if each.lower() not in said.lower():
                raise Failure(f"replica {replica.number} does not say '{each}': {said[-800:]}")

    def await_unready(self, replica):
        """Waits until it ends or stops, which must be before it is ready. Returns its words."""
        def is_unready():
            if not replica.is_running():
                return replica.said()
            if replica.status_of("/readyz") == 200:
                raise Failure(f"replica {replica.number} goes on: {self.words(replica)}")
            said = self.words(replica)
            return said if any(f": {each}" in said for each in FINAL) else None

        return await_true(lambda: f"replica {replica.number} ends: {self.words(replica)}",
                          is_unready, self.patience)


class Run:
    """Runs the chosen scenarios, some at once."""

    def __init__(self, arguments, chosen):
        self.arguments, self.left = arguments, iter(chosen)
        self.lock, self.passed, self.failed, self.trials = threading.Lock(), 0, [], []

    def __call__(self):
        """Returns the status of the campaign."""
        began = time.monotonic()
        workers = [threading.Thread(target=self.work, daemon=True)
                   for _ in range(self.arguments.jobs)]
        try:
            for each in workers:
                each.start()
            for each in workers:
                each.join()
        finally:
            # After a signal, scenarios may still run.
            for each in self.trials:
                each.cluster.kill()
        print(f"\n{time.monotonic() - began:.0f} s\n{self.passed} passed, {len(self.failed)} failed"
              + "".join(f"\n    {name}" for name in self.failed))
        return 1 if self.failed else 0

    def work(self):
        while True:
            with self.lock:
                found = next(self.left, None)
            if found is None:
                return
            scenario, programs, version = found
            folder = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-", dir=self.arguments.scratch))
            self.take(Trial(scenario, folder, self.arguments, programs), version)

    def take(self, trial, version):
        name, began = f"{trial.scenario.__name__} ({version})", time.monotonic()
        self.trials.append(trial)
        try:
            line = f"ok {name}: {trial.run()}, {time.monotonic() - began:.0f} s"
            self.passed += 1
        except Exception as failure:  # noqa: BLE001
            line = f"FAILED: seed {self.arguments.seed}, {name}: {failure or repr(failure)}"
            self.failed.append(name)
            if self.arguments.keep:
                line += f"\nfiles of {name}: {trial.folder}"
        self.trials.remove(trial)
        print(line, flush=True)
        if line.startswith("ok") or not self.arguments.keep:
            shutil.rmtree(trial.folder, ignore_errors=True)


def choose(arguments, versions):
    """The scenarios, each with the folder of etcd and its version."""
    found = []
    for number, (programs, version) in enumerate(versions):
        for scenario in SCENARIOS:
            needs = getattr(scenario, "needs", Needs())
            if needs.both and (number or arguments.later_etcd is None):
                continue
            if arguments.only and scenario.__name__ not in arguments.only.split(","):
                continue
            if not arguments.quick or arguments.only or \
                    any(scenario.__name__ in names for names in
                        (QUICK[number:number + 1] if len(versions) > 1 else QUICK)):
                found.append((scenario, programs, version))
    return found


def version_of(programs):
    return re.search(r"Version: (\d+\.\d+)", run(programs / "etcd", "--version"))[1]


def main():
    arguments = parse_arguments()
    # So that a signal ends the processes that were started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"seed {arguments.seed}", flush=True)
    versions = [(arguments.etcd, version_of(arguments.etcd))]
    if arguments.later_etcd:
        versions.append((arguments.later_etcd, version_of(arguments.later_etcd)))
        # The order does not depend on the version of Debian.
        versions.sort(key=lambda each: each[1])
        arguments.later_etcd = versions[1][0]
    else:
        print(f"NOTE: with etcd {versions[0][1]} alone: the other Debian's cannot be had",
              flush=True)
    return Run(arguments, choose(arguments, versions))()


def parse_arguments():
    def path(text):
        return pathlib.Path(text).resolve()

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, type=path, help="the latchkey to run")
    parser.add_argument("--etcd", type=path, default=TOP / ".build-tools/bin",
                        help="a folder with etcd and etcdctl")
    parser.add_argument("--later-etcd", type=path, help="one of another version")
    parser.add_argument("--quick", action="store_true", help="some scenarios, in 90 seconds")
    parser.add_argument("--only", help="names of scenarios, with commas between them")
    parser.add_argument("--jobs", type=int, default=1, help="so many at once")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS,
                        help="seconds after which what must come does not come")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--scratch", type=pathlib.Path, help="where files are made")
    parser.add_argument("--keep", action="store_true", help="keep the files of a failure")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
