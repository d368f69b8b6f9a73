"""Work on the members of etcd: lost ones, learners, lone ones, later versions, slow ones."""

from operated import Needs, encoded
from process import Failure, await_true

# A commit takes four times this delay if its member leads, else six. Beyond 0.6 s, a replica must
# become more patient.
SLOW_SECONDS = (0.1, 0.2)
SLOW_WRITES = 15


def replaced_members(trial):
    """Each member is removed, and comes back empty at its address. Writes continue."""
    cluster, load = trial.cluster, trial.load()
    for member in trial.choose.sample(cluster.members, 3):
        cluster.remove_member(member)
        load.await_writes()
        cluster.add_member(member)
        await_true("it is healthy", member.is_healthy)
        load.await_writes()
    return load.judge()


def learner_at_old_address(trial):
    """etcd's advice for a lost member. The learner refuses all; writes continue at all replicas.

    Also at a replica that starts meanwhile, and after the voters have been away, so that all
    replicas have been sent to the learner.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    lost, *others = trial.choose.sample(cluster.members, 3)
    lost.kill()
    cluster.remove_member(lost)
    cluster.add_member(lost, "--learner")
    await_true("the learner answers", lambda: lost.ask("/v3/maintenance/status", {}))
    for other in others:
        other.kill()
    for replica in cluster.replicas:
        trial.await_said(replica, "stale")
    for other in others:
        other.start(cluster.members)
    load.await_writes()
    for replica in cluster.replicas:
        replica.end()
        cluster.restart(replica, trial.choose)
        load.await_writes()
    trial.await_serving()
    cluster.promote(lost)
    for other in others:
        other.restart(cluster.members)
    load.await_writes()
    return load.judge()


def lone_member(trial):
    """A member lost its disk, and was started as a cluster of one. No replica uses it.

    While it alone answers, no replica is ready, and each names the address and the clusters. When
    the others are back, all replicas continue with one state, also one that was empty.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    # Otherwise the empty replica begins a new life, and watches start again.
    trial.await_known()
    lone, *others = trial.choose.sample(cluster.members, 3)
    known = cluster.cluster_id(others[0])
    lone.lose_disk()
    lone.start([lone], "--initial-cluster-token", "lone")
    await_true("it is a cluster of its own", lone.is_healthy)
    ids = cluster.cluster_id(lone), known
    for other in others:
        other.restart(cluster.members)
        load.await_writes()
    one, other_one, running = trial.choose.sample(cluster.replicas, 3)
    for other in others:
        other.kill()
    trial.await_said(running, *ids, lone.near.split("//")[1], status=503)
    trial.await_logged(running, *ids)
    one.end(statuses=(0, 1))
    other_one.forget()
    for each in (one, other_one):
        trial.begin(each)
        trial.await_said(each, "connecting", status=503)
        trial.await_said(each, ids[0], status=503)
    for other in others:
        other.start(cluster.members)
    for each in (one, other_one):
        each.await_ready()
    load.await_writes()
    trial.await_serving()
    cluster.remove_member(lone)
    cluster.add_member(lone)
    load.await_writes()
    return load.judge()


def new_cluster_beside_a_lone_member(trial):
    """No replica of a new cluster begins at a member of another etcd.

    Otherwise the first ones would serve a state that only the lone member has.
    """
    cluster = trial.cluster
    lone, *others = trial.choose.sample(cluster.members, 3)
    lone.lose_disk()
    lone.start([lone], "--initial-cluster-token", "lone")
    await_true("it is a cluster of its own", lone.is_healthy)
    for replica in cluster.replicas:
        replica.kill()
        replica.forget()
        replica.options = (*replica.options, "--cluster-name", "later")
    for other in others:
        other.kill()
    for replica in cluster.replicas:
        trial.begin(replica)
        trial.await_said(replica, "connecting", cluster.cluster_id(lone), status=503)
    for other in others:
        other.start(cluster.members)
    for replica in cluster.replicas:
        replica.await_ready()
    cluster.start = cluster.replicas[0].ask_json("/v1/changes?limit=1")["revision"]
    load = trial.load()
    load.await_writes()
    everything = {"key": encoded("\0"), "range_end": encoded("\0")}
    if "kvs" in lone.ask("/v3/kv/range", everything):
        raise Failure("a replica has written to the lone member")
    cluster.remove_member(lone)
    cluster.add_member(lone)
    return load.judge()


def later_version(trial):
    """The members go from 3.4 to 3.5, one after the other. Writes continue."""
    cluster, load = trial.cluster, trial.load()
    for member in trial.choose.sample(cluster.members, 3):
        load.await_writes()
        member.end()
        member.program = trial.later / "etcd"
        member.restart(cluster.members)
        load.await_writes()
    return load.judge()


later_version.needs = Needs(both=True)


def slow_members(trial):
    """100 and 200 ms in each direction, between replicas and members and between members.

    Writes are slow, and continue. Replicas that have learned the delay resend few entries, and do
    not change the member because of it.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    shares = []
    for seconds in SLOW_SECONDS:
        cluster.delay(seconds)
        load.await_writes(count=SLOW_WRITES)
        before = [(trial.count(each, "latchkey_cluster_entries_total"),
                   trial.count(each, "latchkey_cluster_entry_repetitions_total"))
                  for each in cluster.replicas]
        connections = sum(member.ways[0].accepted for member in cluster.members)
        load.await_writes(count=SLOW_WRITES)
        for replica, (entries, repetitions) in zip(cluster.replicas, before):
            entries = trial.count(replica, "latchkey_cluster_entries_total") - entries
            repetitions = trial.count(
                replica, "latchkey_cluster_entry_repetitions_total") - repetitions
            shares.append(f"{int(repetitions)} of {int(entries)}")
            if repetitions > entries / 3:
                raise Failure(f"{seconds} s each way: replica {replica.number} sent entries again "
                              f"{int(repetitions)} times, and executed {int(entries)}")
        connections = sum(member.ways[0].accepted for member in cluster.members) - connections
        if connections > SLOW_WRITES:
            raise Failure(f"{seconds} s each way: the replicas connected {connections} times")
    cluster.delay(0)
    return f"sent again {', '.join(shares)}; {load.judge()}"


slow_members.needs = Needs("--heartbeat-interval", "500", "--election-timeout", "5000",
                           delayed=True)

SCENARIOS = (replaced_members, learner_at_old_address, lone_member,
             new_cluster_beside_a_lone_member, later_version, slow_members)
