"""Watches that change the replica again and again: no event is lost, doubled or out of order.

Several watches, of all names or of some, go from replica to replica with the id of the last event,
in the middle of a transaction too, while clients write and replicas are killed. In the end, each
must have got the effects of all commits that it watches, once, in their order.
"""

import itertools
import random

from clients import Client, Watcher
from judge import Order, compare_events
from process import PATIENCE_SECONDS, Failure, await_true

CLIENTS, SPAN_SECONDS = 4, (0.02, 0.4)
QUERIES = ("", "prefix=p/", "prefix=t/", "name=p/1&name=p/7", "prefix=n/&previous=true", "")


class Mover(Watcher):
    span = SPAN_SECONDS

    def __init__(self, cluster, choose, query):
        super().__init__(cluster, choose, cluster.start)
        self.query = query


def expected(order, query):
    """The effects that a watch with these parameters gets."""
    parts = [part.split("=") for part in query.split("&") if part and "previous" not in part]
    return [each for each in order.effects if not parts or any(
        each[1] == value if key == "name" else each[1].startswith(value)
        for key, value in parts)]


def run(cluster, choose, faults, disturb):
    """Returns figures, and the recorded events."""
    def seeded():
        return random.Random(choose.random())

    tokens, words = itertools.count(1), []
    talkers = [Client(cluster, seeded(), tokens, number) for number in range(CLIENTS)]
    movers = [Mover(cluster, seeded(), query) for query in QUERIES]
    for each in talkers + movers:
        each.start()
    cluster.await_stored()
    for _ in range(faults):
        words.append(disturb(cluster, choose).split(" ")[0])
    stop(talkers)
    _, (changes, _) = cluster.settle()
    order = Order(cluster.start, changes)
    for mover in movers:
        wanted = expected(order, mover.query)
        await_true(f"the watch of {mover.query or 'all'} is at the end",
                   lambda mover=mover, wanted=wanted: mover.error
                   or len(mover.events) >= len(wanted))
    stop(movers)
    recorded = [(mover.query, mover.events) for mover in movers]
    judge(order, recorded)
    return (f"{len(movers)} watches, {sum(mover.cuts for mover in movers)} moves, "
            f"{sum(mover.middles for mover in movers)} in transactions, "
            f"{sum(len(mover.events) for mover in movers)} events, {', '.join(words)}",
            (order, recorded))


def stop(threads):
    for each in threads:
        each.is_stopped.set()
    for each in threads:
        each.join(PATIENCE_SECONDS)
        if each.error or each.is_alive():
            raise Failure(f"{type(each).__name__}: {each.error or 'does not end'}")


def judge(order, recorded):
    for query, found in recorded:
        try:
            compare_events(expected(order, query), found)
        except Failure as failure:
            raise Failure(f"the watch of {query or 'all'}: {failure}") from None


def _changed(recorded, change):
    """Changes the middle of the watch with the most events."""
    (query, found), *others = sorted(recorded, key=lambda each: -len(each[1]))
    middle = len(found) // 2
    return [(query, found[:middle] + change(found[middle:])), *others]


def lost(order, recorded):
    return order, _changed(recorded, lambda found: found[1:])


def doubled(order, recorded):
    return order, _changed(recorded, lambda found: found[:1] + found)


def swapped(order, recorded):
    return order, _changed(recorded, lambda found: [found[1], found[0], *found[2:]])


PLANTS = {"a lost event": lost, "a doubled event": doubled, "events out of order": swapped}
