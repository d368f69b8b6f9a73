"""One client with a thousand addresses: no share of an address limits it.

Design: each member of the crowd has an address of its own in 127.0.0.0/16, all in one loop of the
main thread. Beside it, honest clients with a token send requests in threads (beside.py). The limits
of all clients together must hold: of connections, and of a token for watches. Probes are answered,
connected honest clients are never refused, new ones get a place, and afterwards everything is
released.
"""

import contextlib
import subprocess
import tempfile
import time

from answers import parse
from beside import GROWTH_BYTES_MAX, Held, Honest, end, token
from clients import Loop, Peer
from newcomers import newcomer
from process import PATIENCE_SECONDS, Failure
from service import MODES, TLS_MODES, Service
from tls import HalfShaker, hello

ADDRESSES = 1000
HOST = b"Host: 127.0.0.1\r\n"
QUICK_SECONDS, SECONDS = 3, 20
# Connections become free after this idle time.
IDLE_SECONDS = 2
WATCHERS_MAX = 100
PROBES, PROBE_TRIES_MAX = 5, 5
PROBED = ("/healthz", "/readyz", "/metrics")
# The memory of a connection: its pool and buffers, a session of TLS.
CONNECTION_BYTES_MAX = 256 << 10


def address(index):
    """The address of a member: none is one of the honest clients'."""
    return f"127.0.{1 + index // 250}.{1 + index % 250}"


class Member(Peer):
    """Sends a request, and another one `again` after each answer. Reconnects when it is closed."""

    def __init__(self, loop, service, index, text, again=False):
        super().__init__(loop, service.address, address(index))
        self.text, self.again, self.returns, self.is_served = text, again, True, False
        self.data, self.statuses = bytearray(), {}

    def opened(self):
        self.data.clear()
        self.send(self.text)

    def received(self, data):
        self.data += data
        end_of_head = self.data.find(b"\r\n\r\n")
        # A watch has no end: its head is enough.
        if end_of_head < 0 or self.is_served and not self.again:
            return
        found = parse(self.data)[0]
        if found and found[0].whole:
            status = found[0].status
            self.statuses[status] = self.statuses.get(status, 0) + 1
            # Whether it has one of the places, whatever the answer is.
            self.is_served = status in (200, 401)
            self.data.clear()
            if self.again:
                self.send(self.text)

    def ended(self, why):
        self.is_served = False
        if self.returns and why != "refused":
            self.connect()


def request(path, fields=b""):
    return b"GET " + path + b" HTTP/1.1\r\n" + HOST + fields + b"\r\n"


def idle(loop, service, _):
    """Each wants a connection, and keeps it."""
    return [Member(loop, service, i, request(b"/v1/strategies")) for i in range(ADDRESSES)]


def wrong(loop, service, _):
    """Sends invalid tokens, one after the other."""
    return [Member(loop, service, i, request(
        b"/v1/properties/honest", b"Authorization: Bearer lk_%072x\r\n" % i), True)
            for i in range(ADDRESSES)]


def watching(loop, service, fields):
    """Watches with one valid token."""
    return [Member(loop, service, i, request(b"/v1/watch", fields)) for i in range(ADDRESSES)]


def half(loop, service, _):
    """Handshakes that do not end."""
    start = hello()
    return [HalfShaker(loop, service.address, address(i), start[:(1, 5, 100, None)[i % 4]])
            for i in range(ADDRESSES)]


class Crowd:
    """A crowd, its answers, and the measurements meanwhile."""

    def __init__(self, run, service, members, loop, bound):
        self.service, self.members, self.loop, self.bound = service, members, loop, bound
        self.shakes = isinstance(members[0], HalfShaker)
        self.seconds = QUICK_SECONDS if run.quick else SECONDS
        self.before = self.bytes = service.resident_bytes()
        self.served = self.tries = 0

    def warm_up(self):
        """A first storm, after which the allocator keeps the memory that it has once had."""
        held = Held(self.service)
        self.come()
        self.loop.run(1)
        self.leave()
        held.settle(2 * self.bound * CONNECTION_BYTES_MAX)

    def come(self):
        for member in self.members:
            member.returns, member.is_served = True, False
            member.connect()

    def storm(self):
        self.come()
        for _ in range(PROBES):
            self.loop.run(self.seconds / PROBES)
            self.served = max(self.served, sum(getattr(member, "is_served", False)
                                               for member in self.members))
            self.bytes = max(self.bytes, self.service.resident_bytes())
            self.tries = max(self.tries, probe(self.service, self.loop, self.shakes))

    def settle(self, held):
        """The memory that the service keeps after the storm. A leak grows with each storm; the next
        storm fills the holes that one leaves in the heap by chance."""
        growth = held.settle(GROWTH_BYTES_MAX * 8)
        if growth > GROWTH_BYTES_MAX:
            again = Held(self.service)
            self.come()
            self.loop.run(self.seconds)
            self.leave()
            again.settle()
        return growth

    def leave(self):
        for member in self.members:
            member.returns = False
            member.finish(None)

    def statuses(self):
        found = {}
        for member in self.members:
            for status, count in getattr(member, "statuses", {}).items():
                found[status] = found.get(status, 0) + count
        return found


def probe(service, loop, waits):
    """The tries until the probes are answered, while the crowd continues. With `waits`, a place of
    a handshake becomes free after a second, with some luck; else a few tries are enough."""
    tries, until = 0, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until if waits else tries < PROBE_TRIES_MAX:
        tries += 1
        loop.run(0.01)
        with contextlib.suppress(OSError):
            if all(service.ask("GET", path)[0] == 200 for path in PROBED) and says_healthy(service):
                return tries
    raise Failure(f"the probes are not answered, {tries} times")


def says_healthy(service):
    """`latchkey health`, which speaks only plain HTTP."""
    # The words before the program set its reaction to SIGHUP.
    command = [service.command[2], "health", "--port", str(service.address[1])]
    return service.context or subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_SECONDS,
        check=False).returncode == 0


def storm(run, mode, kind, bound, statuses, served_max):
    """One crowd. `statuses` are the statuses that its members may get."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = f"{folder}/tokens"
        owner, guest = [token(run.binary, tokens, name, "read,write")
                        for name in ("owner", "guest")]
        options = ("--token-file", tokens, "--open", "readyz,metrics", "--max-connections", bound,
                   "--max-watchers", WATCHERS_MAX, "--idle-timeout-seconds", IDLE_SECONDS)
        with Service(run.binary, *options, *MODES[mode], share="1/4") as service, Loop() as loop:
            fields = f"Authorization: {guest['Authorization']}\r\n".encode()
            crowd = Crowd(run, service, kind(loop, service, fields), loop, bound)
            crowd.warm_up()
            held = Held(service)
            with Honest(service, 2, headers=owner) as kept:
                crowd.storm()
                wait = newcomer(service, loop, owner)
                crowd.leave()
            growth, found = crowd.settle(held), crowd.statuses()
            each = (crowd.bytes - crowd.before) // (2 * bound)
            figures = (f"{ADDRESSES} addresses, bound {bound}: {crowd.served} served at once, "
                       f"{found}; probes at try {crowd.tries}, a new one after {wait:.1f} s, "
                       f"kept: {kept.figures()}, slowest {max(kept.seconds):.2f} s; at most "
                       f"{crowd.bytes - crowd.before >> 20} MiB more, then {growth >> 10} KiB")
            if set(found) - statuses or crowd.served > served_max or each > CONNECTION_BYTES_MAX:
                raise Failure(figures)
            return end(service, figures)


def connections(run, mode):
    """More connections than there are places, from addresses that all are within their share."""
    bound = 400
    # Clients without a token get 401 within the limit, and 503 beyond.
    return storm(run, mode, idle, bound, {401, 503}, bound)


def wrong_tokens(run, mode):
    """Wrong tokens from everywhere."""
    return storm(run, mode, wrong, 2 * ADDRESSES, {401}, ADDRESSES)


def watches(run, mode):
    """Watches of one token have the share of one client, from any address."""
    return storm(run, mode, watching, 2 * ADDRESSES, {200, 429}, WATCHERS_MAX // 4)


def half_handshakes(run, mode):
    """Handshakes that do not end, from everywhere."""
    return storm(run, mode, half, 400, set(), 0)


CASES = {"crowd-connections": connections, "crowd-tokens": wrong_tokens,
         "crowd-watches": watches, "crowd-half": half_handshakes}
MODES_OF_CASES = {"crowd-half": TLS_MODES}
