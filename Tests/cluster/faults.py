"""Faults of replicas and members of etcd while clients run. Each fault ends by itself.

A fault names its excuses: `all` for a replica that does not run, and `writes` where no majority of
etcd is reachable. Everything else must continue; availability.py judges that.
"""

import contextlib
import signal
import threading
import time

from process import Failure
from replicas import await_true, signal_all

DOWN_SECONDS_MAX = 1.5
STOP_SECONDS = (0.2, 4.0)
CUT_SECONDS = (0.5, 6.0)
# docs/cluster.md: a replica that was not up to date for 5 s is stale; it looks every 200 ms.
STALE_SECONDS = 6.0
# While most disks are full, no replica takes writes.
FULL = threading.Lock()


@contextlib.contextmanager
def away(cluster, replica):
    """The process has ended, or is stopped, until the block is over."""
    with replica.lock, cluster.excused("all", [replica]):
        yield


def kill_replica(cluster, choose):
    replica = choose.choice(cluster.replicas)
    with away(cluster, replica):
        replica.kill()
        time.sleep(choose.uniform(0, DOWN_SECONDS_MAX))
        cluster.restart(replica, choose)
    return f"kill replica {replica.number} ({replica.variant})"


def lose_power(cluster, choose):
    """Its disk loses everything that was not synced. It continues from the rest."""
    replica = choose.choice(cluster.replicas)
    with away(cluster, replica):
        pattern = replica.lose_power(choose)
        cluster.restart(replica, choose)
    return f"power loss of replica {replica.number} ({pattern}, {replica.variant})"


def fill_disk(cluster, choose):
    """It must be unready or end, and continue when there is room. Others always continue."""
    replica = choose.choice(cluster.replicas)
    with FULL, away(cluster, replica):
        replica.control.arm("write", "no-space", choose.randrange(20), 1 << 40)
        await_true("a replica with a full disk is not ready", lambda: not replica.is_running()
                   or replica.status_of("/readyz") == 503)
        time.sleep(choose.uniform(0, DOWN_SECONDS_MAX))
        has_ended = not replica.is_running()
        if not has_ended and choose.random() < 0.4:
            # 3: changes that it has executed are in the log, but not on its disk.
            replica.end(statuses=(0, 3))
            has_ended = True
        replica.control.disarm()
        if has_ended or choose.random() < 0.5:
            replica.kill()
            cluster.restart(replica, choose)
        else:
            await_true("a replica is ready when its disk has room", replica.is_ready)
    return f"full disk of replica {replica.number}{', which ended' if has_ended else ''}"


def end_replica(cluster, choose):
    replica = choose.choice(cluster.replicas)
    with away(cluster, replica):
        replica.end()
        cluster.restart(replica, choose)
    return f"end replica {replica.number} ({replica.variant})"


def empty_replica(cluster, choose):
    """It takes the state of another one, also if the log has lost its start."""
    replica = choose.choice(cluster.replicas)
    with away(cluster, replica):
        replica.forget()
        cluster.restart(replica, choose)
    return f"empty replica {replica.number} ({replica.variant})"


def kill_all(cluster, choose):
    with contextlib.ExitStack() as stack:
        for replica in cluster.replicas:
            stack.enter_context(away(cluster, replica))
        for replica in choose.sample(cluster.replicas, 3):
            replica.kill()
        for replica in cluster.replicas:
            cluster.restart(replica, choose)
    return "kill all replicas"


def stop_replica(cluster, choose):
    replica, seconds = choose.choice(cluster.replicas), choose.uniform(*STOP_SECONDS)
    with away(cluster, replica):
        _stop([replica], seconds)
    return f"stop replica {replica.number} for {seconds:.1f} s"


# A majority of etcd is there, and each replica reaches it: writes continue.

def kill_member(cluster, choose):
    member = choose.choice(cluster.members)
    with cluster.disturbed():
        member.kill()
        time.sleep(choose.uniform(0, DOWN_SECONDS_MAX))
        member.start(cluster.members)
    return f"kill member {member.number}"


def stop_member(cluster, choose):
    member, seconds = choose.choice(cluster.members), choose.uniform(*STOP_SECONDS)
    with cluster.disturbed():
        _stop([member], seconds)
    return f"stop member {member.number} for {seconds:.1f} s"


def stop_leader(cluster, choose):
    seconds = choose.uniform(*STOP_SECONDS)
    with cluster.disturbed():
        member = cluster.leader()[0]
        _stop([member], seconds)
    return f"stop the leader, member {member.number}, for {seconds:.1f} s"


def move_leader(cluster, choose):
    moves = 0
    with cluster.disturbed():
        for _ in range(choose.randrange(1, 4)):
            member, others = cluster.leader()
            moves += member.ask("/v3/maintenance/transfer-leadership",
                                {"targetID": choose.choice(others)}) is not None
            time.sleep(0.1)
    return f"move the leader {moves} times"


def cut_member(cluster, choose):
    """Cuts it from the other members, from the replicas, or from both."""
    member = choose.choice(cluster.members)
    return _cut_member(cluster, choose, member, f"member {member.number}")


def cut_leader(cluster, choose):
    member = cluster.leader()[0]
    return _cut_member(cluster, choose, member, f"the leader, member {member.number},")


def _cut_member(cluster, choose, member, name):
    others = [each for each in cluster.members if each is not member]
    where, far = choose.choice((("the members", others), ("all", others + cluster.replicas),
                                ("the replicas", cluster.replicas)))
    with cluster.disturbed():
        words = _cut(cluster, choose, member, far)
    return f"cut {name} from {where} {words}"


def cut_replica(cluster, choose):
    """Cuts it from one member: the others have a majority."""
    replica, member = choose.choice(cluster.replicas), choose.choice(cluster.members)
    with cluster.disturbed():
        words = _cut(cluster, choose, replica, [member])
    return f"cut replica {replica.number} from member {member.number} {words}"


# No majority: writes are refused, and reads continue.

def no_quorum(cluster, choose):
    members = sorted(choose.sample(cluster.members, 2), key=lambda each: each.number)
    seconds = choose.uniform(1, 6)
    with cluster.disturbed(cluster.replicas):
        _stop(members, seconds)
    return f"no quorum for {seconds:.1f} s"


def cut_all_members(cluster, choose):
    """Cuts each member from the others; the replicas reach all of them."""
    pairs = [(one.node, other.node) for one in cluster.members for other in cluster.members
             if one is not other]
    seconds = choose.uniform(*CUT_SECONDS)
    with cluster.disturbed(cluster.replicas):
        _cut_pairs(cluster, pairs, seconds)
    return f"cut all members from each other for {seconds:.1f} s"


def isolate_replica(cluster, choose):
    """It reaches neither members nor other replicas."""
    replica, seconds = choose.choice(cluster.replicas), choose.uniform(1, STALE_SECONDS + 1)
    far = [each for each in cluster.members + cluster.replicas if each is not replica]
    # Another fault must not restart it: the start would wait until the cut is over.
    with replica.lock, cluster.disturbed([replica]):
        words = _cut(cluster, choose, replica, far, seconds, then=lambda: _check_stale(
            replica, seconds))
    return f"isolate replica {replica.number} {words}"


def _check_stale(replica, seconds):
    if seconds > STALE_SECONDS and b"stale" not in replica.ask(
            "GET", "/readyz?verbose", expect=(200,))[2]:
        raise Failure(f"replica {replica.number} is cut off for {seconds:.1f} s, and not stale")


def compact(cluster, choose):
    time.sleep(choose.uniform(0, 1))
    return f"compact ({'done' if cluster.compact() else 'not done'})"


def _stop(things, seconds):
    signal_all(things, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        signal_all(things, signal.SIGCONT)


def _cut(cluster, choose, near, far, seconds=None, then=lambda: None):
    """Cuts both directions, or one. Returns words for it."""
    seconds = seconds or choose.uniform(*CUT_SECONDS)
    out = [(near.node, each.node) for each in far]
    back = [(each.node, near.node) for each in far]
    pairs, words = choose.choice(((out + back, ""), (out + back, ""), (out, ", its packets"),
                                  (back, ", packets to it")))
    _cut_pairs(cluster, pairs, seconds, then)
    return f"for {seconds:.1f} s{words}"


def _cut_pairs(cluster, pairs, seconds, then=lambda: None):
    cluster.network.cut(pairs)
    try:
        time.sleep(seconds)
        then()
    finally:
        cluster.network.mend(pairs)


FAULTS = (kill_replica, kill_replica, end_replica, empty_replica, stop_replica, lose_power,
          lose_power, fill_disk, kill_all, compact,
          kill_member, stop_member, stop_leader, no_quorum, move_leader)
# Only where a network can be cut.
CUTS = (cut_member, cut_leader, cut_leader, cut_replica, cut_replica, cut_all_members,
        isolate_replica, isolate_replica)
