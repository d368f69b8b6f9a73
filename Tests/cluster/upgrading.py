"""Replicas of the version before are replaced under load, and none decides by other rules.

The level of rules defines the meaning of changes (docs/decisions). Replicas of the version before
know only the first one. They are the program that --earlier names, or the present one with a limit
to the first level: it writes, reads and decides as 0.1 does.
"""

import os
import signal

import replicas
from faults import away
from process import Failure, Refused, await_true, expect

LEVEL, EARLIER_LEVEL = 2, 1
# Replaces the hour for which others wait; the clocks of all must then be the same.
ABSENCE_SECONDS = 3
STOPPED = f"has format {LEVEL}, which a later version has written: update this replica"
REFUSED = f"The cluster has format {LEVEL} of its settings, and this program {EARLIER_LEVEL}."


class Cluster(replicas.Cluster):
    """A cluster that begins with replicas of the version before, whose calendars are right."""

    def __init__(self, binary, earlier, folder, choose, network):
        super().__init__(binary, folder, choose, network)
        self.binary, self.earlier = binary, earlier
        self.is_new = [False] * len(self.replicas)

    def start_replicas(self):
        for replica, strategy in zip(self.replicas, self.choose.sample(replicas.STRATEGIES, 3)):
            self.start_earlier(replica, strategy)

    def start_earlier(self, replica, strategy):
        self.is_new[replica.number] = False
        replica.binary = self.earlier or self.binary
        replica.limits = {} if self.earlier else {"rule-level": EARLIER_LEVEL}
        replica.start(strategy, 0)

    def replace(self, replica, choose, limits):
        """Starts the present program on the data of the one before, which has ended."""
        replica.binary, replica.limits = self.binary, limits
        replica.start(choose.choice(replicas.STRATEGIES), 0)
        self.is_new[replica.number] = True

    def new(self):
        return [each for each in self.replicas if self.is_new[each.number]]

    def rules(self):
        """The rules by which each new replica decides."""
        return [each.ask_json("/v1/cluster")["cluster"]["rules"] for each in self.new()]

    def await_known(self):
        """Waits until each new replica knows all others' rules, and has considered them."""
        wanted = sorted(LEVEL if is_new else EARLIER_LEVEL for is_new in self.is_new)
        for each in self.new():
            await_true("it has heard of the others", lambda each=each: wanted == sorted(
                one["knownRules"] for one in each.ask_json("/v1/cluster")["cluster"]["replicas"]))

    def await_raised(self):
        await_true("the rules are raised", lambda: set(self.rules()) == {LEVEL})


def replace_one_by_one(cluster, choose):
    """The rules are raised when the last replica is replaced, and not before."""
    for replica in choose.sample(cluster.replicas, 3):
        if cluster.new():
            cluster.await_known()
            expect("the rules while one of the version before is there", set(cluster.rules()),
                   {EARLIER_LEVEL})
        with away(cluster, replica):
            replica.end()
            cluster.replace(replica, choose, {})
    cluster.await_raised()
    return "replaced one by one"


def stop_the_last(cluster, choose):
    """It is stopped for longer than the others wait, and then finds an entry that it cannot read.

    The others wait for an hour until it is stopped, and for three seconds from then on: a replica
    updates its record only every 5 s, so the rules could be raised before.
    """
    limits = {"replica-absence": ABSENCE_SECONDS}
    last, *others = choose.sample(cluster.replicas, 3)
    for replica in others:
        with away(cluster, replica):
            replica.end()
            cluster.replace(replica, choose, {})
    cluster.await_known()
    expect("the rules before it is stopped", set(cluster.rules()), {EARLIER_LEVEL})
    with away(cluster, last):
        os.kill(last.process.pid, signal.SIGSTOP)
        try:
            for replica in others:
                with away(cluster, replica):
                    replica.end()
                    cluster.replace(replica, choose, limits)
            cluster.await_raised()
        finally:
            os.kill(last.process.pid, signal.SIGCONT)
        await_true("it stops", lambda: STOPPED in last.ask(
            "GET", "/readyz?verbose", expect=None)[2].decode())
        last.ask("PUT", "/v1/properties/late", "1", expect=(503,))
        last.end()
        try:
            cluster.start_earlier(last, "lock")
            raise Failure("one of the version before joins after the raise")
        except (Failure, Refused) as failure:
            if REFUSED not in str(failure):
                raise
        cluster.replace(last, choose, limits)
    cluster.await_raised()
    return f"replica {last.number} was stopped while the rules were raised"


UPGRADES = (replace_one_by_one, stop_the_last)
