"""The content of the log, and its effect when it is not read."""

import fcntl
import os
import time

from answers import parse
from clients import Asker, Loop, Peer
from process import PATIENCE_SECONDS, Failure
from service import MODES, Service, say_status

SECRET = b"customer-4711-secret"
SECRETS = (b"/v1/properties/" + SECRET, b"/v1/properties?prefix=" + SECRET)
HOST = b"Host: 127.0.0.1\r\n"
NO_COLON = b"GET /healthz HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n"
LINES_PER_SECOND_MAX = 10


class Resetter(Peer):
    """Sends many requests in one piece, reads nothing, and ends with RST; then repeats that."""

    def __init__(self, loop, address, number, rounds):
        super().__init__(loop, address)
        self.number, self.rounds = number, rounds

    def opened(self):
        target = SECRETS[self.number % 2]
        self.send((b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n") * 200)

    def again(self):
        self.rounds -= 1
        self.reset()
        if self.rounds > 0:
            self.connect()

    def received(self, data):
        self.again()

    def ended(self, why):
        self.again()


def secrets(run, mode):
    """No name is logged, and each client's lines are limited."""
    rounds = 20 if run.quick else 200
    with Service(run.binary, *MODES[mode]) as service, Loop() as loop:
        service.ask("PUT", f"/v1/properties/{SECRET.decode()}", b'"' + b"x" * 20000 + b'"')
        start = time.monotonic()
        peers = loop.connect(Resetter(loop, service.address, i, rounds) for i in range(40))
        loop.run(PATIENCE_SECONDS, lambda: all(peer.rounds <= 0 for peer in peers))
        service.terminate()
        status = service.wait()
        # The time of its last line.
        seconds = time.monotonic() - start
        named = service.said().count(SECRET.decode())
        figures = (f"{40 * rounds} resets in {seconds:.1f} s, {service.lines()} lines of log, "
                   f"{named} with a name, {say_status(status)}")
        excess = service.lines() > LINES_PER_SECOND_MAX * (seconds + 1) + 10
        if named or excess or status not in (0, 1):
            raise Failure(f"{figures}; {service.said()[:300]}")
        return figures


class Shouter(Peer):
    """Sends a malformed head on one connection after the other."""

    def __init__(self, loop, address, rounds):
        super().__init__(loop, address)
        self.rounds = rounds

    def opened(self):
        self.send(NO_COLON)

    def ended(self, why):
        self.rounds -= 1
        if self.rounds > 0 and why != "refused":
            self.connect()


def unread(run, mode):
    """With a log that is not read the service answers, and ends when it is told to."""
    rounds = 50 if run.quick else 500
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    try:
        with Service(run.binary, "--drain-seconds", 2, "--log-level", "debug", *MODES[mode],
                     log=write_end) as service, Loop() as loop:
            resets = loop.connect(Resetter(loop, service.address, i, rounds // 10)
                                  for i in range(20))
            shouts = loop.connect(Shouter(loop, service.address, rounds) for _ in range(40))
            loop.run(PATIENCE_SECONDS, lambda: all(p.rounds <= 0 for p in resets + shouts))
            done = sum(rounds - max(0, peer.rounds) for peer in shouts)
            try:
                answer = service.ask("GET", "/healthz")[0]
            except OSError as error:
                answer = repr(error)
            service.terminate()
            status = service.wait()
    finally:
        os.close(read_end)
        os.close(write_end)
    figures = (f"{done} of {40 * rounds} malformed heads, then /healthz {answer}, SIGTERM: "
               f"{say_status(status)}")
    if answer != 200 or status not in (0, 1) or done < 40 * rounds:
        raise Failure(figures)
    return figures


def closed_streams(run, mode):
    """A stream that is closed at the start is /dev/null, and clients get answers and no log."""
    wrong, tries = [], 0
    for closed in ((2,), (0,), (1,), (0, 2), (0, 1, 2)):
        tries += 1
        with Service(run.binary, "--log-level", "debug", "--drain-seconds", 1, *MODES[mode],
                     closed=closed) as service, Loop() as loop:
            health = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
            peers = loop.connect(Asker(loop, service.address, health) for _ in range(4))
            loop.run(PATIENCE_SECONDS, lambda: all(peer.data or peer.end for peer in peers))
            for descriptor in closed:
                place = os.readlink(f"/proc/{service.process.pid}/fd/{descriptor}")
                if place != "/dev/null":
                    wrong.append(f"closed {closed}: {descriptor} is {place}")
            for _ in range(10):
                resetter, shouter = loop.connect((Resetter(loop, service.address, 0, 2),
                                                  Shouter(loop, service.address, 2)))
                loop.run(PATIENCE_SECONDS,
                         lambda: resetter.rounds <= 0 and shouter.rounds <= 0)
            service.terminate()
            loop.run(PATIENCE_SECONDS, lambda: all(peer.end for peer in peers))
            status = service.wait()
            for peer in peers:
                found, rest = parse(peer.data)
                if [answer.status for answer in found] != [200] or rest:
                    wrong.append(f"closed {closed}: a client got {rest[:120]!r} "
                                 f"after {[answer.status for answer in found]}")
            if status not in (0, 1):
                wrong.append(f"closed {closed}: {say_status(status)}")
    figures = f"{tries} sets of closed streams, {len(wrong)} wrong"
    if wrong:
        raise Failure("\n    ".join([figures, *wrong[:6]]))
    return figures


CASES = {"log-secrets": secrets, "log-unread": unread, "log-closed-streams": closed_streams}
