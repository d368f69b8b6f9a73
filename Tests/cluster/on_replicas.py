"""Work on the replicas: clocks, copied folders, replicas that come too late."""

import os
import shutil
import signal

from clients import JSON
from process import await_true

HOUR_SECONDS = 3600


def clocks(trial):
    """Clocks of replicas go an hour forward and back under load. No write is lost, doubled or
    older.

    A property with a time to live can end too early, then on all replicas.
    """
    cluster, load = trial.cluster, trial.load()
    for seconds in (HOUR_SECONDS, -HOUR_SECONDS, 0):
        for replica in trial.choose.sample(cluster.replicas, 2):
            replica.control.shift_clock(seconds)
            load.await_writes(count=3)
    replica = trial.choose.choice(cluster.replicas)
    replica.end()
    replica.start("lock", -HOUR_SECONDS)
    load.await_writes()
    replica.control.shift_clock(0)
    return load.judge()


def copied_folder(trial):
    """A copy of a folder is started beside it. One of the two stops, and reports that it is a copy.

    The others continue, and all writes acknowledged at both are there once.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    first = trial.choose.choice(cluster.replicas)
    others = [each for each in cluster.replicas if each is not first]
    first.end()
    copy = cluster.add_replica(trial.binary)
    shutil.copytree(first.path / "data", copy.path / "data")
    cluster.restart(first, trial.choose)
    trial.begin(copy)
    load.add(copy)
    await_true(lambda: "one of the two stops: " + trial.words(first) + trial.words(copy),
               lambda: any(is_stopped(trial, each) for each in (first, copy)), trial.patience)
    load.await_writes(others)
    stopped = next(each for each in (first, copy) if is_stopped(trial, each))
    trial.await_said(stopped, "copy") if stopped.is_running() else None
    left = next(each for each in (first, copy) if each is not stopped)
    load.await_writes([left])
    stopped.end(statuses=(0, 1)) if stopped.is_running() else None
    cluster.replicas.remove(stopped)
    return load.judge()


def is_stopped(trial, replica):
    return not replica.is_running() or "diverged" in trial.words(replica)


def too_late(trial):
    """etcd is compacted past replicas that are away: one is stopped, and one has ended.

    They report it, and advise a copy before a deletion. A client that writes there is sent to
    another replica. Neither delays the compaction any more. With empty folders both join.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    frozen, ended, other = trial.choose.sample(cluster.replicas, 3)
    ended.end()
    os.kill(frozen.process.pid, signal.SIGSTOP)
    try:
        # The replica would read pending messages of a member later: the restart ends its watch
        # before.
        for member in cluster.members:
            member.restart(cluster.members)
        load.await_writes([other], count=20)
        cluster.ctl("compact", str(cluster.revision()))
        load.await_writes([other], count=20)
    finally:
        os.kill(frozen.process.pid, signal.SIGCONT)
    trial.await_said(frozen, "too-late", status=503)
    trial.expect_advice(frozen)
    trial.await_refusal(ended, "too-late")
    await_true("no record holds the log for those that are too late",
               lambda: held(cluster, (frozen, ended)) == [], trial.patience)
    for replica in (frozen, ended):
        replica.forget()
        cluster.restart(replica, trial.choose)
    load.await_writes()
    return load.judge()


def held(cluster, replicas):
    """The records of replicas that still need the log."""
    addresses = [f"http://{each.host}:{each.port}" for each in replicas]
    return [each for each in cluster.records().values()
            if each["url"] in addresses and each.get("needsLog", True)]


def folder_of_other(trial):
    """A folder of another cluster: it is not used, and its record does not stay."""
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    known = cluster.cluster_id(cluster.members[0])
    with trial.other_cluster() as other:
        ids = known, other.cluster_id(other.members[0])
        foreign = other.replicas[0]
        foreign.ask("PUT", "/v1/properties/o%2Fforeign", "1", JSON)
        foreign.end()
        new = cluster.add_replica(trial.binary)
        shutil.copytree(foreign.path / "data", new.path / "data")
        before = set(cluster.records())
    trial.await_refusal(new, *ids)
    await_true("its record does not stay",
               lambda: set(cluster.records()) <= before, trial.patience)
    cluster.replicas.remove(new)
    load.await_writes()
    return load.judge()


SCENARIOS = (clocks, copied_folder, too_late, folder_of_other)
