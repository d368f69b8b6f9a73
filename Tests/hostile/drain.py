"""SIGTERM in the middle of a storm: the end is in time, clean, and every answer is true.

The clients are active when the signal comes, and continue until the port is closed.
"""

import collections
import signal
import time

from answers import parse
from clients import Asker, Loop, Peer
from process import PATIENCE_SECONDS, Failure
from service import MODES, Service, say_status

HOST = b"Host: 127.0.0.1\r\n"
DRAIN_SECONDS = 1
LATE_SECONDS = 0.05
INCREMENT = b"POST /v1/properties/n/increment HTTP/1.1\r\n" + HOST + b"\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
LARGE = b"GET /v1/properties/large HTTP/1.1\r\n" + HOST + b"\r\n"
# Holds the guard for long, so that writes queue up.
LIST = b"GET /v1/properties?limit=1000 HTTP/1.1\r\n" + HOST + b"\r\n"
NO_COLON = b"GET /healthz HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n"

LONG_NO_COLON = (b"GET /healthz HTTP/1.1\r\n" + HOST
                 + b"".join(b"a%d: %s\r\n" % (i, b"x" * 60) for i in range(60))
                 + b"no colon\r\n\r\n")

# The bytes that a client sends at once, and those that it sends late, around the moment at which
# the daemon stops. The first lists leave no request in progress, so that the daemon stops as soon
# as the signal has come; the last does, so that it stops when the time to drain is over.
LONG = ((b"", LONG_NO_COLON),)
SHORT = ((b"", NO_COLON), (HEALTH, NO_COLON))
ALL = LONG + SHORT + (
    (b"GET /healthz HTTP/1.1\r\n" + HOST, b"no colon\r\n\r\n"),
    (NO_COLON, b""),
    (b"GET /healthz HT", b"TP/1.1\r\nno colon\r\n\r\n"),
    (b"\x16\x03\x01garbage\r\n\r\n", b""),
    (b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n", b""),
    (b"PUT /v1/properties/a HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n123", b"456789"),
    (HEALTH * 8, HEALTH),
    (HEALTH * 3 + NO_COLON, b""),
    (b"PUT /v1/properties/a HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n1", b""),
    (INCREMENT * 4 + b"GET /x HTTP/1.1\r\nno colon", b"\r\n\r\n"),
    (b"", b""),
)


class Stormer(Peer):
    """Sends its bytes, and again on a new connection when it is disconnected."""

    def __init__(self, loop, address, opening, late):
        super().__init__(loop, address)
        self.opening, self.late, self.rounds = opening, late, 0

    def opened(self):
        self.rounds += 1
        self.send(self.opening)

    def ended(self, why):
        if why != "refused":
            self.connect()


def volley(service, loop, peers, repeat):
    """The late parts without a pause, and the signal at some place among them."""
    place = len(peers) * (repeat % 7) // 10
    for i, peer in enumerate(peers):
        if i == place:
            service.terminate()
        peer.opening = peer.late
        peer.send(peer.late)


def around_the_end(service, loop, peers, repeat):
    """The signal, and the late parts around the time at which the drain ends."""
    service.terminate()
    loop.run(DRAIN_SECONDS - LATE_SECONDS, lambda: service.ended_within(0))
    for i, peer in enumerate(peers):
        peer.send(peer.late)
        if i % 8 == 0:
            loop.run(2 * LATE_SECONDS * 8 / len(peers), lambda: service.ended_within(0))


ATTACKS = ((LONG, volley), (SHORT, volley), (LONG, volley), (ALL, around_the_end))


def storm_once(run, mode, count, scripts, attack, repeat):
    """One storm. Returns how it ended, its seconds, and the connections made."""
    with Service(run.binary, "--drain-seconds", DRAIN_SECONDS, "--max-connections", 4 * count,
                 *MODES[mode]) as service, Loop() as loop:
        peers = loop.connect(Stormer(loop, service.address, *scripts[i % len(scripts)])
                             for i in range(count))
        loop.run(PATIENCE_SECONDS, lambda: all(peer.rounds for peer in peers))
        start = time.monotonic()
        attack(service, loop, peers, repeat)
        loop.run(PATIENCE_SECONDS, lambda: service.ended_within(0))
        seconds = time.monotonic() - start
        status = service.wait(0)
        ending = say_status(status)
        if status is not None and status >= 0 and service.crash():
            ending += f" and {service.crash()!r}"
        return ending, seconds, sum(peer.rounds for peer in peers)


def storm(run, mode):
    """No crash, no panic and no delay, whatever is being parsed when the signal comes."""
    count, repeats = (120, 8) if run.quick else (500, 200)
    endings, slowest, rounds = collections.Counter(), 0, 0
    for i in range(run.repeats or repeats):
        scripts, attack = ATTACKS[i % len(ATTACKS)]
        ending, seconds, done = storm_once(run, mode, count, scripts, attack, i)
        endings[ending] += 1
        slowest, rounds = max(slowest, seconds), rounds + done
    figures = f"{dict(endings)}, slowest end {slowest:.2f} s, {rounds} connections"
    if set(endings) - {"status 0"}:
        raise Failure(figures)
    return figures


APPLIED = "drains with a refused write applied"


class Counter(Peer):
    """Keeps some increments in progress on one connection, with their answers."""

    def __init__(self, loop, address, depth):
        super().__init__(loop, address)
        self.depth, self.data, self.sent, self.seen = depth, bytearray(), 0, 0

    def opened(self):
        self.more(self.depth)

    def more(self, count):
        self.sent += count
        self.send(INCREMENT * count)

    def received(self, data):
        self.data += data
        arrived = self.data.count(b"HTTP/1.1 ", max(0, len(self.data) - len(data) - 8))
        self.seen += arrived
        if self.seen < 4000:
            self.more(min(arrived, self.depth))


def judge(peers, strategy, tally):
    """Adds the answers of one drain to the tally."""
    values, unknown = [], 0
    for peer in peers:
        answers, rest = parse(peer.data)
        for answer in answers:
            if answer.status == 200 and answer.whole:
                values.append(int(answer.body))
            elif answer.status == 503:
                tally["503"] += 1
                tally["503 without a problem document"] += answer.problem() is None
            else:
                kind = (answer.problem() or {}).get("type", "without a problem")
                tally[f"{answer.status} {kind}"] += 1
                unknown += "outcome-unknown" in kind
        # A server takes one request of a connection after the other, so that only the first without
        # an answer can have been in progress, and none after an answer that closes.
        if len(answers) < peer.sent and not (answers and answers[-1].closes and not rest):
            unknown += 1
    tally["200"] += len(values)
    tally["unknown"] += unknown
    highest = max(values, default=0)
    if len(set(values)) != len(values):
        tally["drains with a value answered twice"] += 1
    refused = highest - len(values) - unknown
    if refused > 0:
        tally[f"{APPLIED} under {strategy}"] += 1
        tally["refused writes applied, at least"] += refused


def count_once(run, mode, strategy, connections, tally):
    with Service(run.binary, "--strategy", strategy, "--stripes", 1, "--drain-seconds", 0,
                 "--http-threads", 4, *MODES[mode]) as service, Loop() as loop:
        fill(service)
        peers = loop.connect(Counter(loop, service.address, 1 + i % 8) for i in range(connections))
        loop.connect(Asker(loop, service.address, LIST * 50) for _ in range(2))
        loop.run(PATIENCE_SECONDS, lambda: sum(peer.seen for peer in peers) > 3 * connections)
        service.terminate()
        loop.run(PATIENCE_SECONDS, lambda: service.ended_within(0))
        status = service.wait(0)
        loop.run(PATIENCE_SECONDS, lambda: not loop.peers)
        tally[say_status(status)] += 1
        if service.crash():
            raise Failure(service.crash())
        judge(peers, strategy, tally)


def fill(service):
    for i in range(200):
        service.ask("PUT", f"/v1/properties/filler{i}", b'"' + b"x" * 4000 + b'"')


def truth(run, mode):
    """A 503 means not applied, and is a problem document."""
    strategies = ("serial-queue-async", "barrier-queue-async", "actor", "lock")
    # In both modes together 504 drains of the three asynchronous strategies.
    repeats = 2 if run.quick else 84
    tally = collections.Counter()
    for _ in range(run.repeats or repeats):
        for strategy in strategies[:3] if run.quick else strategies:
            count_once(run, mode, strategy, 120 if run.quick else 200, tally)
            tally["drains"] += 1
    figures = ", ".join(f"{name}: {count}" for name, count in sorted(tally.items()))
    wrong = (APPLIED, "503 without a problem document", "drains with a value answered twice",
             "did not end", "signal")
    if any(tally[name] for name in tally if name.startswith(wrong)):
        raise Failure(figures)
    return figures


class Reader(Asker):
    """Requests something large and reads nothing until it is told to."""

    receive_bytes, reads = 4096, False

    def handle(self, events):
        if self.is_open and not self.reads:
            self.loop.change(self, 0)
        else:
            super().handle(events)


def cut(run, mode):
    """An answer that the end cut short is reported."""
    with Service(run.binary, "--drain-seconds", 1, "--max-body-bytes", 1 << 24,
                 *MODES[mode]) as service, Loop() as loop:
        # More than the buffers of both sides hold.
        service.ask("PUT", "/v1/properties/large", b'"' + b"x" * 12000000 + b'"')
        peers = loop.connect(Reader(loop, service.address, LARGE) for _ in range(20))
        loop.run(PATIENCE_SECONDS, lambda: all(peer.is_open for peer in peers))
        loop.run(0.5)
        service.terminate()
        status = service.wait()
        for peer in peers:
            peer.reads = True
            loop.change(peer, 1)
        loop.run(PATIENCE_SECONDS, lambda: not loop.peers)
        short = sum(not answer.whole for peer in peers for answer in parse(peer.data)[0])
        none = sum(not parse(peer.data)[0] for peer in peers)
        said = service.says_cut()
        figures = (f"{short} of 20 answers cut short, {none} missing, {say_status(status)}, "
                   f"the log {'says so' if said else 'says nothing'}")
        if status != 0 or (short + none > 0 and not said):
            raise Failure(figures)
        return figures


def signals(run, mode):
    """Each signal that ends a service drains it, with idle clients or not."""
    wrong = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with Service(run.binary, "--drain-seconds", 1, *MODES[mode]) as service, Loop() as loop:
            start_idle(service, loop)
            service.process.send_signal(number)
            status = service.wait()
            if status != 0:
                wrong.append(f"{number.name}: {say_status(status)}")
    if wrong:
        raise Failure(", ".join(wrong))
    return "SIGTERM, SIGINT: status 0"


def nohup(run, mode):
    """SIGHUP ends no service, ignored at the start or not; SIGTERM still drains."""
    figures = ""
    for hang_up in ("default", "ignore"):
        with Service(run.binary, "--drain-seconds", 1, *MODES[mode], hang_up=hang_up) as service, \
                Loop() as loop:
            start_idle(service, loop)
            service.process.send_signal(signal.SIGHUP)
            # A drain with idle clients takes much less.
            if service.ended_within(0.5):
                raise Failure(f"SIGHUP ({hang_up}): {say_status(service.wait(0))}")
            ready, *_ = service.ask("GET", "/readyz")
            service.terminate()
            figures = f"SIGHUP, then ready: {ready}; SIGTERM: {say_status(service.wait())}"
            if figures != "SIGHUP, then ready: 200; SIGTERM: status 0":
                raise Failure(figures)
    return figures


def start_idle(service, loop):
    """Clients that have an answer and stay connected."""
    peers = loop.connect(Stormer(loop, service.address, HEALTH, b"") for _ in range(10))
    loop.run(PATIENCE_SECONDS, lambda: all(peer.rounds for peer in peers))


CASES = {"drain-signals": signals, "drain-nohup": nohup, "drain-storm": storm,
         "drain-truth": truth, "drain-cut": cut}
