"""Backups of etcd that are restored, and a deleted log.

The folders of the replicas then have writes that etcd lacks: they stay, each replica reports it,
and none advises to delete a folder before it was copied.
"""

import json
import os
import signal
import threading

from clients import JSON, path
from operated import LOG, OTHER_TOKEN
from process import Failure, await_true, expect

WRITES, READERS = 10, 8
NAME = path("o/kept")


def former_life(trial, token):
    """Load, a backup of etcd, more load, the restore. Returns the load and the last place."""
    cluster, load = trial.cluster, trial.load()
    load.await_writes(count=WRITES)
    backup = cluster.save()
    load.await_writes(count=WRITES)
    place = int(cluster.key(LOG)["mod_revision"])
    cluster.restore(backup, token)
    return load, place


def restored_as_other(trial):
    """With another token the restored etcd has another ID. All replicas stop and report it."""
    cluster = trial.cluster
    known = cluster.cluster_id(cluster.members[0])
    load, _ = former_life(trial, OTHER_TOKEN)
    ids = known, cluster.cluster_id(cluster.members[0])
    for replica in cluster.replicas:
        trial.await_said(replica, "diverged", *ids, status=503)
        trial.await_logged(replica, *ids)
    for replica in cluster.replicas:
        replica.end(statuses=(0, 1))
        trial.await_refusal(replica, *ids)
    return load.judge_folders()


def restored_as_same(trial):
    """With the same token it has the same ID. The log lacks the replicas' writes: all stop."""
    cluster = trial.cluster
    load, _ = former_life(trial, None)
    for replica in cluster.replicas:
        trial.await_said(replica, "diverged", status=503)
        trial.expect_advice(replica)
    for replica in cluster.replicas:
        replica.end(statuses=(0, 1))
        trial.await_refusal(replica, "diverged")
    return load.judge_folders()


def grown(trial, load, place, by):
    """A new replica writes until the log has passed a place, and etcd is compacted.

    Returns the figures of the folders.
    """
    cluster = trial.cluster
    for replica in cluster.replicas:
        replica.end(statuses=(0, 1))
    figures = load.judge_folders()
    new = cluster.add_replica(trial.binary)
    cluster.restart(new, trial.choose)
    # The records of the replicas also have places of the log.
    while int(cluster.key(LOG)["mod_revision"]) <= place + 20:
        put(new)
    cluster.ctl("compact", str(place + by))
    return figures


def put(replica, value=1):
    """Returns the revision."""
    return revision(replica.ask("PUT", NAME, json.dumps(value), JSON)[1])


def revision(headers):
    return int(headers["ETag"].strip('"'))


def restored_and_grown(trial):
    """It has passed the places of the replicas, and was compacted: no replica continues in it."""
    load, place = former_life(trial, None)
    figures = grown(trial, load, place, 20)
    for replica in trial.cluster.replicas[:3]:
        trial.await_refusal(replica, "only copy of acknowledged writes")
    return figures


def restored_as_other_and_grown(trial):
    """The ID shows that it is another log: `diverged`, not `too-late`."""
    cluster = trial.cluster
    known = cluster.cluster_id(cluster.members[0])
    load, place = former_life(trial, OTHER_TOKEN)
    figures = grown(trial, load, place, 20)
    for replica in cluster.replicas[:3]:
        trial.await_refusal(replica, known, cluster.cluster_id(cluster.members[0]))
    return figures


def restored_and_compacted_behind(trial):
    """It was compacted exactly at the place of a replica, which cannot know its entry then."""
    cluster = trial.cluster
    load = trial.load()
    load.await_writes(count=WRITES)
    backup = cluster.save()
    load.await_writes(count=WRITES)
    load.stop()
    cluster.settle()
    for replica in cluster.replicas:
        replica.end()
    place = int(cluster.key(LOG)["mod_revision"])
    cluster.restore(backup)
    figures = grown(trial, load, place, 1)
    for replica in cluster.replicas[:3]:
        trial.await_refusal(replica, "only copy of acknowledged writes")
    return figures


def second_life(trial, token):
    """A replica with an empty folder at a restored etcd never repeats a revision.

    A write with the ETag of the former life does not overwrite a value of the new one.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes(count=WRITES)
    backup = cluster.save()
    load.await_writes(count=WRITES)
    load.stop()
    cluster.settle()
    # Enough writes that the new life reaches the same revisions again, if it can.
    replica = cluster.replicas[0]
    for number in range(50):
        former = put(replica, f"former {number}")
    for each in cluster.replicas:
        each.end()
    figures = load.judge_folders()
    cluster.restore(backup, token)
    new = cluster.add_replica(trial.binary)
    cluster.restart(new, trial.choose)
    fill = path("o/fill")
    while True:
        now = revision(new.ask("PUT", fill, "1", JSON)[1])
        if now >= former - 1:
            break
    later = put(new, "later")
    status = new.ask("PUT", NAME, '"overwritten"', {**JSON, "If-Match": f'"{former}"'},
                     expect=None)[0]
    expect(f"a write with If-Match {former} of the former life, where {later} is", status, 412)
    # The others take the new life, too, and have its revisions.
    empty = cluster.add_replica(trial.binary)
    cluster.restart(empty, trial.choose)
    await_true("its state is the same", lambda: empty.export() == new.export())
    return f"former {former}, later {later}; {figures}"


def second_life_as_same(trial):
    """The same ID: a replica with an empty folder recognizes it by the log, which is not empty."""
    return second_life(trial, None)


def second_life_as_other(trial):
    """Another ID: the agreement shows it, too, and gets the new one."""
    return second_life(trial, OTHER_TOKEN)


def second_life_of_all(trial):
    """All folders are moved away, and all replicas start at once at a restored etcd.

    They are one service again, and repeat no revision of the former life.
    """
    cluster = trial.cluster
    for replica in cluster.replicas:
        put(replica, "saved")
    backup = cluster.save()
    former = max(put(replica, number) for number in range(WRITES) for replica in cluster.replicas)
    for replica in cluster.replicas:
        replica.end()
    cluster.restore(backup, OTHER_TOKEN)
    for replica in cluster.replicas:
        (replica.path / "data").rename(replica.path / "former")
        trial.begin(replica)
    for replica in cluster.replicas:
        replica.await_ready()
    cluster.settle()
    value, headers = read(cluster.replicas[0])
    expect("what was saved", value, "saved")
    # Another empty replica may have begun a later life: the last one is for all.
    cluster.start = cluster.replicas[0].ask_json("/v1/changes?limit=1")["revision"]
    if not revision(headers) <= former < cluster.start:
        raise Failure(f"{former} was given, and the new life begins at {cluster.start}")
    load = trial.load()
    load.await_writes(count=WRITES)
    return f"former {former}, later {cluster.start}; {load.judge()}"


def read(replica):
    _, headers, text = replica.ask("GET", NAME + "?consistency=linearizable")
    return json.loads(text), headers


def deleted_log(trial):
    """`etcdctl del` of the log's key: all replicas stop and report it, and no new one begins."""
    cluster, load = trial.cluster, trial.load()
    load.await_writes(count=WRITES)
    trial.await_known()
    cluster.ctl("del", LOG)
    for replica in cluster.replicas:
        trial.await_said(replica, "diverged", status=503)
        trial.await_logged(replica, "diverged")
    new = cluster.add_replica(trial.binary)
    trial.begin(new)
    trial.await_unready(new)
    new.kill()
    cluster.replicas.remove(new)
    for replica in cluster.replicas:
        replica.end(statuses=(0, 1))
        # A write that was on its way may have made the key again.
        trial.await_refusal(replica, LOG)
    return load.judge_folders()


def deleted_log_of_stopped(trial):
    """It is deleted while no replica runs. None with data continues, and no new one begins."""
    cluster, load = trial.cluster, trial.load()
    load.await_writes(count=WRITES)
    trial.await_known()
    load.stop()
    cluster.settle()
    for replica in cluster.replicas:
        replica.end()
    cluster.ctl("del", LOG)
    for replica in cluster.replicas:
        trial.await_refusal(replica, LOG, "is not there any more")
    new = cluster.add_replica(trial.binary)
    trial.begin(new)
    trial.await_unready(new)
    new.kill()
    cluster.replicas.remove(new)
    if cluster.key(LOG):
        raise Failure("a replica has begun the log again")
    return load.judge_folders()


def lagging(trial, change):
    """One replica has not executed an acknowledged write when its log becomes another one.

    It answers no linearizable read with less: such a read began after the acknowledgement.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes(count=WRITES)
    trial.await_known()
    load.stop()
    cluster.settle()
    behind, *others = trial.choose.sample(cluster.replicas, 3)
    former = put(others[0], "former")
    await_true("it has that", lambda: behind.export() == others[0].export())
    backup = cluster.save()
    for number in range(WRITES):
        put(others[0], number)
    await_true("it has that, too", lambda: behind.export() == others[0].export())
    os.kill(behind.process.pid, signal.SIGSTOP)
    try:
        # The replica would read pending messages of a member later: the restart ends its watch
        # before.
        for member in cluster.members:
            member.restart(cluster.members)
        least = put(others[0], "acknowledged")
        change(cluster, backup)
        # They wait in its queue, and begin after the acknowledgement.
        reads = [LinearizableReads(behind) for _ in range(READERS)]
        for each in reads:
            each.start()
    finally:
        os.kill(behind.process.pid, signal.SIGCONT)
    trial.await_said(behind, "diverged", status=503)
    for each in reads:
        each.is_over.set()
    for each in reads:
        each.join()
    early = [each for one in reads for each in one.revisions if each < least]
    if early:
        raise Failure(f"{len(early)} linearizable reads of replica {behind.number} have revision "
                      f"{max(early)}, and {least} was acknowledged before; {former} was saved")
    for replica in cluster.replicas:
        trial.await_said(replica, "diverged", status=503)
        replica.end(statuses=(0, 1))
    return load.judge_folders()


class LinearizableReads(threading.Thread):
    """Reads until it is over. Records the revisions in the answers."""

    def __init__(self, replica):
        super().__init__(daemon=True)
        self.replica, self.revisions, self.is_over = replica, [], threading.Event()

    def run(self):
        while not self.is_over.is_set():
            status, headers, _ = self.replica.ask(
                "GET", NAME + "?consistency=linearizable", expect=None)
            if status == 200:
                self.revisions.append(revision(headers))


def restored_while_one_lags(trial):
    """The restored log ends before the place of the replica that lags."""
    return lagging(trial, lambda cluster, backup: cluster.restore(backup))


def deleted_while_one_lags(trial):
    """The key does not exist, so the log has no end."""
    return lagging(trial, lambda cluster, _: cluster.ctl("del", LOG))


SCENARIOS = (restored_as_other, restored_as_same, restored_and_grown, restored_as_other_and_grown,
             restored_and_compacted_behind, second_life_as_same, second_life_as_other,
             second_life_of_all, deleted_log, deleted_log_of_stopped, restored_while_one_lags,
             deleted_while_one_lags)
