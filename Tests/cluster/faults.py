"""What happens to replicas and members of etcd while clients run. Each fault ends by itself."""

import signal
import time

from replicas import await_true, signal_all

DOWN_SECONDS_MAX = 1.5
STOP_SECONDS = (0.2, 4.0)


def kill_replica(cluster, choose):
    replica = choose.choice(cluster.replicas)
    with replica.lock:
        replica.kill()
        time.sleep(choose.uniform(0, DOWN_SECONDS_MAX))
        cluster.restart(replica, choose)
    return f"kill replica {replica.number} ({replica.variant})"


def end_replica(cluster, choose):
    replica = choose.choice(cluster.replicas)
    with replica.lock:
        replica.end()
        cluster.restart(replica, choose)
    return f"end replica {replica.number} ({replica.variant})"


def empty_replica(cluster, choose):
    """It takes the state of another one, also if the log has forgotten its start."""
    replica = choose.choice(cluster.replicas)
    with replica.lock:
        replica.forget()
        cluster.restart(replica, choose)
    return f"empty replica {replica.number} ({replica.variant})"


def kill_all(cluster, choose):
    for replica in cluster.replicas:
        replica.lock.acquire()
    try:
        for replica in choose.sample(cluster.replicas, 3):
            replica.kill()
        for replica in cluster.replicas:
            cluster.restart(replica, choose)
    finally:
        for replica in cluster.replicas:
            replica.lock.release()
    return "kill all replicas"


def stop_replica(cluster, choose):
    replica, seconds = choose.choice(cluster.replicas), choose.uniform(*STOP_SECONDS)
    with replica.lock:
        _stop([replica], seconds)
    return f"stop replica {replica.number} for {seconds:.1f} s"


def kill_member(cluster, choose):
    member = choose.choice(cluster.members)
    with member.lock:
        member.kill()
        time.sleep(choose.uniform(0, DOWN_SECONDS_MAX))
        member.start(cluster.members)
        await_true("etcd is healthy again", member.is_healthy)
    return f"kill member {member.number}"


def stop_member(cluster, choose):
    member, seconds = choose.choice(cluster.members), choose.uniform(*STOP_SECONDS)
    with member.lock:
        _stop([member], seconds)
    return f"stop member {member.number} for {seconds:.1f} s"


def stop_leader(cluster, choose):
    found, seconds = cluster.leader(), choose.uniform(*STOP_SECONDS)
    if found is None:
        return "no leader to stop"
    with found[0].lock:
        _stop([found[0]], seconds)
    return f"stop the leader, member {found[0].number}, for {seconds:.1f} s"


def no_quorum(cluster, choose):
    members = sorted(choose.sample(cluster.members, 2), key=lambda each: each.number)
    seconds = choose.uniform(1, 6)
    with members[0].lock, members[1].lock:
        _stop(members, seconds)
    return f"no quorum for {seconds:.1f} s"


def move_leader(cluster, choose):
    moves = 0
    for _ in range(choose.randrange(1, 4)):
        found = cluster.leader()
        if found and found[0].ask("/v3/maintenance/transfer-leadership",
                                  {"targetID": choose.choice(found[1])}) is not None:
            moves += 1
        time.sleep(0.1)
    return f"move the leader {moves} times"


def compact(cluster, choose):
    time.sleep(choose.uniform(0, 1))
    return f"compact ({'done' if cluster.compact() else 'not done'})"


def _stop(things, seconds):
    signal_all(things, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        signal_all(things, signal.SIGCONT)


FAULTS = (kill_replica, kill_replica, end_replica, empty_replica, stop_replica, stop_replica,
          kill_member, stop_member, stop_leader, no_quorum, move_leader, compact, kill_all)
