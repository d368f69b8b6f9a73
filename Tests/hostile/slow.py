"""Clients that request much and read nothing, or a trickle.

The bytes that the kernel holds for the service are read from /proc/net/tcp: the send queues of the
sockets with the service's port.
"""

from clients import LATER, Loop, Peer
from process import PATIENCE_SECONDS, Failure
from service import MODES, Service

ASK = b"GET /v1/properties/large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
VALUE = b'"' + b"x" * ((1 << 20) - 2) + b'"'
IDLE_SECONDS = 2
QUEUE_BYTES_MAX = 1 << 20
# Twice a second.
SIP_BYTES = 128
LISTEN, TIME_WAIT = "0A", "06"


class Mute(Peer):
    """Requests a large answer many times and reads nothing."""

    receive_bytes = 4096

    def opened(self):
        self.send(ASK * 100)

    def handle(self, events):
        if self.is_open:
            self.loop.change(self, 0)
        else:
            super().handle(events)

    def sip(self, count):
        """Takes a few bytes. Returns whether the connection still exists."""
        try:
            return self.socket.recv(count) != b""
        except LATER:
            return True
        except OSError:
            return False


def queues(port):
    """The lengths of the service's send queues, one for each socket that it has or had."""
    lengths = []
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            words = line.split()
            if int(words[1].split(":")[1], 16) == port and words[3] not in (LISTEN, TIME_WAIT):
                lengths.append(int(words[4].split(":")[0], 16))
    return lengths


def unread(run, mode):
    """Little is held for a client that reads nothing, and not for long."""
    count = 100 if run.quick else 1000
    with Service(run.binary, "--idle-timeout-seconds", IDLE_SECONDS, "--max-connections", count + 8,
                 *MODES[mode]) as service, Loop() as loop:
        service.ask("PUT", "/v1/properties/large", VALUE)
        loop.connect(Mute(loop, service.address) for _ in range(count))
        seen = [queues(service.address[1])]

        def is_over():
            """Whether bytes were held, and none are now."""
            seen.append(queues(service.address[1]))
            return any(map(sum, seen)) and sum(seen[-1]) == 0

        loop.run(PATIENCE_SECONDS, is_over)
        lengths, total = seen[-1], max(map(sum, seen))
        longest = max(length for each in seen for length in each)
        try:
            alive = service.ask("GET", "/healthz")[0]
        except OSError as error:
            alive = repr(error)
        figures = (f"{count} clients: at most {longest >> 10} KiB for one, {total >> 20} MiB for "
                   f"all; in the end {sum(lengths) >> 20} MiB in {len(lengths)} sockets, /healthz "
                   f"{alive}")
        if not 0 < longest < QUEUE_BYTES_MAX or sum(lengths) > 0 or alive != 200:
            raise Failure(figures)
        return figures


def trickle(run, mode):
    """An answer has a least rate."""
    count = 20 if run.quick else 100
    with Service(run.binary, "--idle-timeout-seconds", IDLE_SECONDS, "--max-connections", count + 8,
                 *MODES[mode]) as service, Loop() as loop:
        service.ask("PUT", "/v1/properties/large", VALUE)
        there, taken = loop.connect(Mute(loop, service.address) for _ in range(count)), 0
        left = count
        while left and taken < 2 * PATIENCE_SECONDS * SIP_BYTES:
            loop.run(0.5)
            there = [peer for peer in there if peer.socket and peer.sip(SIP_BYTES)]
            taken += SIP_BYTES
            left = len(queues(service.address[1]))
        figures = (f"{count} clients that take {2 * SIP_BYTES} bytes/s: {left} still there after "
                   f"{taken} bytes")
        if left > 0:
            raise Failure(figures)
        return figures


CASES = {"slow-unread": unread, "slow-trickle": trickle}
