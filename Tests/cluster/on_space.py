"""Work on the keys of etcd, and on its limits."""

import threading

from clients import JSON, path
from loads import OTHERS
from operated import Needs, encoded
from process import Failure

QUOTA_BYTES = 16 << 20
PIECE_BYTES = 1_000_000
OTHERS_MEGABYTES = 300
# The limit of one request to etcd, and the length of values of which few fit.
REQUEST_BYTES, VALUE_BYTES = 96 << 10, 30_000


def full(trial):
    """NOSPACE: writes get 507, each replica reports it; after compact, defrag and disarm they
    continue.

    The commands are those of docs/cluster.md. They need no restart of a replica. A replica that
    starts meanwhile serves reads.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    cluster.may_be_full = True
    put_until_full(cluster)
    load.await_answer(507)
    trial.await_told("space")
    replica = trial.choose.choice(cluster.replicas)
    replica.end()
    cluster.restart(replica, trial.choose)
    load.await_answer(507)
    # Each replica knows its own place.
    place = min(each["storedPlace"] for replica in cluster.replicas
                for each in replica.ask_json("/v1/cluster")["cluster"]["replicas"]
                if each["isThis"])
    cluster.ctl("compact", str(place))
    cluster.ctl("defrag")
    cluster.ctl("alarm", "disarm")
    load.await_writes()
    trial.await_serving()
    trial.await_quiet("space")
    return load.judge()


full.needs = Needs("--quota-backend-bytes", str(QUOTA_BYTES))


def put_until_full(cluster):
    """Writes one key of others, again and again."""
    for _ in range(1000):
        cluster.members[0].ask("/v3/kv/put", {
            "key": encoded("others"), "value": encoded(b"x" * PIECE_BYTES)})
        if "NOSPACE" in cluster.ctl("alarm", "list"):
            return
    raise Failure("etcd is never full")


def compacted_and_defragmented(trial):
    """Both, again and again. Writes continue."""
    cluster, load = trial.cluster, trial.load()
    for _ in range(3):
        load.await_writes(count=5)
        cluster.compact()
        for member in cluster.members:
            cluster.ctl("defrag", members=[member])
        load.await_writes()
    replica = trial.choose.choice(cluster.replicas)
    replica.kill()
    cluster.restart(replica, trial.choose)
    load.await_writes()
    return load.judge()


def others_keys(trial):
    """300 MB of others' keys: members are defragmented and restart, a replica joins."""
    cluster, load = trial.cluster, trial.load()
    for number in range(OTHERS_MEGABYTES):
        cluster.ask("/v3/kv/put", {
            "key": encoded(f"others/{number}"), "value": encoded(b"x" * PIECE_BYTES)})
    load.await_writes()
    for member in cluster.members:
        cluster.ctl("defrag", members=[member])
        member.restart(cluster.members)
        load.await_writes()
    replica = trial.choose.choice(cluster.replicas)
    replica.forget()
    cluster.restart(replica, trial.choose)
    load.await_writes()
    return load.judge()


def small_requests(trial):
    """etcd takes 96 KiB. No batch of values of 30 kB is refused; a longer value always is.

    The clients fail on a 413.
    """
    cluster, load = trial.cluster, trial.load()
    for writer in load.writers:
        writer.padding = VALUE_BYTES
    load.await_writes()
    # Enough at once that replicas make batches of them.
    for replica in cluster.replicas:
        statuses = put_at_once(replica, f"{OTHERS}long-{replica.number}", 24, VALUE_BYTES)
        if set(statuses) - {200, 201, 204}:
            raise Failure(f"values of {VALUE_BYTES} bytes were answered {statuses}")
        statuses = put_at_once(replica, f"{OTHERS}longer", 3, 2 * REQUEST_BYTES)
        if set(statuses) != {413}:
            raise Failure(f"values of {2 * REQUEST_BYTES} bytes were answered {statuses}")
    load.await_writes()
    return load.judge()


small_requests.needs = Needs("--max-request-bytes", str(REQUEST_BYTES))


def put_at_once(replica, name, count, length):
    """The statuses of `count` writes that begin together."""
    statuses, gate = [], threading.Barrier(count)

    def put(number):
        gate.wait()
        statuses.append(replica.ask(
            "PUT", path(f"{name}-{number}"), f'"{"x" * length}"', JSON, expect=None)[0])

    threads = [threading.Thread(target=put, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return statuses


def smaller_requests_than_before(trial):
    """An entry was sent to members that did not answer, and is now too large for etcd.

    The replica gives it up, and continues without a restart: the write was unknown or refused.
    """
    cluster, load = trial.cluster, trial.load()
    load.await_writes()
    # So that it is an entry of its own, which is sent at once.
    load.rest()
    for member in cluster.members:
        trial.stop(member)
    answers = {}

    def put(replica):
        answers[replica.number] = replica.ask(
            "PUT", path(f"{OTHERS}large-{replica.number}"), f'"{"x" * 3 * REQUEST_BYTES}"', JSON,
            expect=None)[0]

    threads = [threading.Thread(target=put, args=(each,)) for each in cluster.replicas]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for member in cluster.members:
        member.flags += ("--max-request-bytes", str(REQUEST_BYTES))
        member.kill()
    for member in cluster.members:
        member.start(cluster.members)
    load.go_on()
    load.await_writes()
    trial.await_serving()
    if set(answers.values()) - {413, 500, 503}:
        raise Failure(f"writes that no member answered were answered {answers}")
    figures = load.judge()
    for number, status in answers.items():
        found = cluster.replicas[0].status_of(path(f"{OTHERS}large-{number}"))
        if found == 200 and status != 500:
            raise Failure(f"was answered {status}, and is there: large-{number}")
    return f"answers {sorted(answers.values())}; {figures}"


SCENARIOS = (full, compacted_and_defragmented, others_keys, small_requests,
             smaller_requests_than_before)
