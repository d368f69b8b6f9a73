"""A network of its own for each member of etcd and each replica, and cuts between them.

Design: the campaign runs in a new user and network namespace, where it has the rights of root. Each
node has a network namespace, which a process holds, and one link to the campaign, which forwards. A
cut is a rule of routing that drops packets from one node to another one: no answer and no reset
comes, so connections hang, and new ones are not made. The campaign reaches every node in spite of
cuts. No program outside can reach a node, so nodes listen on their addresses.

Where namespaces are not possible, all nodes listen on the loopback address, and no network is cut.
"""

import collections
import os
import subprocess
import sys
import threading

from process import PATIENCE_SECONDS

INSIDE = "LATCHKEY_CAMPAIGN_NETWORK"
WAYS = (["unshare", "--user", "--map-root-user", "--net"], ["unshare", "--net"])
# Commands that a network needs.
PROBE = ("echo 1 >/proc/sys/net/ipv4/ip_forward && ip link set lo up "
         "&& ip link add probe type veth peer name other "
         "&& ip rule add from 10.77.0.2 to 10.77.0.3 blackhole && unshare --net true")


def enter():
    """Restarts this program in namespaces. Returns the reason if it cannot, or None inside."""
    if INSIDE in os.environ:
        return os.environ[INSIDE] or None
    reason = ""
    for way in WAYS:
        try:
            tried = subprocess.run([*way, "sh", "-c", PROBE], capture_output=True, text=True,
                                   stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = str(error)
            continue
        if tried.returncode == 0:
            sys.stdout.flush()
            os.execvpe(way[0], [*way, sys.executable, *sys.argv], {**os.environ, INSIDE: ""})
        reason = tried.stderr.strip().replace("\n", "; ") or f"status {tried.returncode}"
    return reason


class Loopback:
    """One address for all nodes."""

    can_cut = False

    def host(self, _):
        return "127.0.0.1"

    def inside(self, _):
        """The words before a command that make it run on a node."""
        return []

    def heal(self):
        pass

    def close(self):
        pass


class Star:
    """Nodes around the campaign."""

    can_cut = True
    hub = "10.77.0.1"

    def __init__(self, nodes):
        self.addresses = {node: f"10.77.0.{10 + number}" for number, node in enumerate(nodes)}
        self.cuts, self.lock, self.holders = collections.Counter(), threading.Lock(), {}
        ip("link set lo up")
        with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as file:
            file.write("1")
        for node, address in self.addresses.items():
            # The process ends with the campaign, and its namespace with it.
            holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.holders[node] = holder
            holder.stdout.readline()
            ip(f"link add {node} type veth peer name eth0 netns {holder.pid}",
               f"addr add {self.hub} peer {address}/32 dev {node}", f"link set {node} up")
            ip("link set lo up", f"addr add {address} peer {self.hub}/32 dev eth0",
               "link set eth0 up", f"route add default via {self.hub}", inside=self.inside(node))

    def host(self, node):
        return self.addresses[node]

    def inside(self, node):
        return ["nsenter", f"--net=/proc/{self.holders[node].pid}/ns/net"]

    def cut(self, pairs):
        """Drops packets from the first to the second node of each pair."""
        self._change(pairs, 1)

    def mend(self, pairs):
        self._change(pairs, -1)

    def _change(self, pairs, by):
        with self.lock:
            for pair in pairs:
                former = self.cuts[pair]
                self.cuts[pair] += by
                # Several faults can cut the same direction.
                if not former or not self.cuts[pair]:
                    self._rule("add" if by > 0 else "del", pair)

    def _rule(self, word, pair):
        one, other = (self.addresses[node] for node in pair)
        ip(f"rule {word} from {one} to {other} blackhole")

    def heal(self):
        with self.lock:
            for pair in +self.cuts:
                self._rule("del", pair)
            self.cuts.clear()

    def close(self):
        for holder in self.holders.values():
            holder.stdin.close()
            holder.wait()


def ip(*lines, inside=()):
    subprocess.run([*inside, "ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)
