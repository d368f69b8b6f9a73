"""More clients than there are descriptors.

Either the start is refused with a message, where the hard limit is too low for the limits; or each
client within the limit is served, each other one gets 503, and the service is neither busy nor logs
while the clients are idle.
"""

import collections
import re

from answers import parse
from clients import Asker, Loop
from process import PATIENCE_SECONDS, Failure, Refused
from service import MODES, Service, is_encrypted, say_status

CONNECTIONS_MAX = 1024
LINES_PER_SECOND_MAX = 10
# The share of one processor while all clients are idle.
BUSY_SHARE_MAX = 0.1
# Long enough for a busy machine to end 1,024 connections whose clients storm. drain.py tests the
# speed of a drain.
DRAIN_SECONDS = 5
SENTENCE_BYTES_MAX = 500
HEALTH = b"GET /v1/strategies HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Idler(Asker):
    """Sends one request and stays. With `storms`, it reconnects whenever it is disconnected."""

    storms = False

    def __init__(self, loop, address):
        super().__init__(loop, address, HEALTH)

    def ended(self, why):
        self.end = why
        if self.storms and why != "refused":
            self.connect()

    def status(self):
        found = parse(self.data)[0]
        return found[0].status if found else None


def measure(service, loop, peers, seconds):
    """Lets the clients be idle. Returns the lines of log a second, and the share of a processor."""
    lines, processor = service.lines(), service.cpu_seconds()
    loop.run(seconds)
    return ((service.lines() - lines) / seconds,
            (service.cpu_seconds() - processor) / seconds)


def crowd(run, mode, files, clients):
    """One crowd of clients. Returns a sentence with figures, and whether the result is right."""
    limits = f"nofile {files[0]}/{files[1]}"
    try:
        service = Service(run.binary, "--max-connections", CONNECTIONS_MAX, "--drain-seconds",
                          DRAIN_SECONDS, *MODES[mode], files=files)
        with service, Loop() as loop:
            peers = loop.connect(Idler(loop, service.address) for _ in range(clients))
            loop.run(PATIENCE_SECONDS,
                     lambda: all(peer.status() or peer.end for peer in peers))
            lines, busy = measure(service, loop, peers, 1 if run.quick else 5)
            served = sum(peer.status() == 200 for peer in peers)
            refused = sum(peer.status() == 503 for peer in peers)
            others = clients - served - refused
            for peer in peers:
                peer.storms = True
                if peer.socket is None:
                    peer.connect()
            loop.run(0.2)
            service.terminate()
            loop.run(PATIENCE_SECONDS, lambda: service.ended_within(0))
            status, crash = service.wait(0), service.crash()
            # On a busy machine a drain can end before all is answered; then its status is not 0.
            ends_well = status == 0
    except Refused as refusal:
        # A refusal is right only where the limit cannot be raised.
        right = (files[1] <= CONNECTIONS_MAX and refusal.status > 0
                 and 0 < len(refusal.log) < SENTENCE_BYTES_MAX
                 and re.search(r"descriptor|nofile|open files", refusal.log))
        return f"{limits}: start refused: {refusal.log!r}", right
    # On a busy machine a handshake that takes a second can lose its place, before its client can be
    # told so.
    others_max = max(0, clients - CONNECTIONS_MAX) if is_encrypted(mode) else 0
    right = (served == min(clients, CONNECTIONS_MAX) and others <= others_max and ends_well
             and lines < LINES_PER_SECOND_MAX and busy < BUSY_SHARE_MAX and not crash)
    return (f"{limits}: {served} served, {refused} refused with 503, {others} neither; idle: "
            f"{lines:.0f} lines/s, {100 * busy:.0f} % of a processor; {say_status(status)}"
            + (f"; {crash!r}" if crash else "")), right


def descriptors(run, mode):
    figures, right = [], True
    for files in ((1024, 1024), (64, 64), (1024, 16384), (64, 16384)):
        if run.quick and files in ((1024, 1024), (1024, 16384)):
            continue
        sentence, holds = crowd(run, mode, files, 1500)
        figures.append(sentence)
        right = right and holds
    if not right:
        raise Failure("\n    ".join(["", *figures]))
    return "; ".join(figures)


class Churner(Idler):
    """Ends the connection as soon as it is answered, and reconnects."""

    storms = True

    def received(self, data):
        self.finish("closed")


def churn(run, mode):
    """The signal, while descriptors run out and become free again and again."""
    endings = collections.Counter()
    repeats = 12 if run.quick else 60
    for i in range(run.repeats or repeats):
        # Several event loops share the descriptors: some run out while others release theirs.
        with Service(run.binary, "--max-connections", CONNECTIONS_MAX, "--drain-seconds", 1,
                     "--http-threads", 4, *MODES[mode], files=(64, 16384)) as service, \
                Loop() as loop:
            loop.connect(kind(loop, service.address)
                         for kind in [Idler] * (30 + 3 * (i % 6)) + [Churner] * 25)
            loop.run(0.15 + 0.003 * (i % 40))
            service.terminate()
            loop.run(PATIENCE_SECONDS, lambda: service.ended_within(0))
            ending = say_status(service.wait(0)) + (" and a panic" if service.crash() else "")
            endings[ending] += 1
    if set(endings) - {"status 0"}:
        raise Failure(str(dict(endings)))
    return str(dict(endings))


CASES = {"descriptors": descriptors, "descriptors-churn": churn}
