"""A service that is full is alive. Its probes are answered, and nothing else is.

Design: the loop of the silent clients runs in a thread of its own while the main thread asks.
"""

import http.client
import subprocess
import threading

from clients import Loop, Peer
from service import MODES, Failure, Service, say_status

TRIES = 10
PROBES = ("/healthz", "/readyz", "/metrics")
STORM_SECONDS_MAX = 60


class Silent(Peer):
    """Connects and says nothing. With `returns`, it connects again when it is hung up on.

    One that stays asks a probe first. Its answer shows that it has its place: a connection of which
    only the kernel knows would lose it to a request of the main thread, and places would stay free.
    """

    def __init__(self, loop, address, returns):
        super().__init__(loop, address)
        self.returns, self.rounds = returns, 0

    def opened(self):
        if self.returns:
            self.rounds += 1
        else:
            self.send(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def received(self, _):
        self.rounds += 1

    def ended(self, why):
        if self.returns and why != "refused":
            self.connect()


def probe(run, service):
    """The statuses of the three probes, what another request gets, and how `health` ended."""
    alive = tuple(service.ask("GET", path)[0] for path in PROBES)
    served, _, body = service.ask("GET", "/v1/strategies")
    # `latchkey health` speaks plain HTTP only.
    command = ["true"] if service.address.context else [
        run.binary, "health", "--port", str(service.address[1])]
    health = subprocess.run(command, capture_output=True, timeout=15, check=False)
    return alive, served, body.decode("utf-8", "replace"), health


def crowd(run, mode, bound, clients, returns):
    """What is wrong with the probes while so many clients are there, as sentences."""
    # Clients that return are ended soon, so that places become free and are fought for.
    options = ("--max-connections", bound, "--idle-timeout-seconds", 2 if returns else 60)
    wrong = []
    with Service(run.binary, *options, *MODES[mode]) as service, Loop() as loop:
        peers = [Silent(loop, service.address, returns) for _ in range(clients)]
        for peer in peers:
            peer.connect()
        loop.run(10, lambda: all(peer.rounds for peer in peers))
        if not all(peer.rounds for peer in peers):
            return [f"{sum(not peer.rounds for peer in peers)} of {clients} clients have no place"]
        stops = threading.Event()
        storm = threading.Thread(target=loop.run, args=(STORM_SECONDS_MAX, stops.is_set))
        storm.start()
        for _ in range(TRIES):
            wrong += mistakes(run, service, returns)
        stops.set()
        storm.join()
        service.terminate()
        status = service.wait()
        if status != 0:
            wrong.append(say_status(status))
    return [f"{clients} clients{' that return' * returns}: {text}" for text in wrong]


def mistakes(run, service, returns):
    try:
        alive, served, body, health = probe(run, service)
    except (OSError, http.client.HTTPException, subprocess.TimeoutExpired) as error:
        return [repr(error)]
    wrong = []
    if alive != (200, 200, 200) or health.returncode != 0:
        wrong.append(f"{PROBES} {alive}, `latchkey health` {health.returncode} {health.stderr!r}")
    says_full = served == 503 and "too-many-connections" in body
    # Clients that come and go leave a place free now and then.
    if not says_full and not (returns and served == 200):
        wrong.append(f"/v1/strategies {served} {body[:100]}")
    return wrong


def full(run, mode):
    bound = 50 if run.quick else 1024
    wrong = crowd(run, mode, bound, bound, False) + crowd(run, mode, bound, 2 * bound, True)
    figures = f"bound {bound}, {2 * TRIES} tries, {len(wrong)} wrong"
    if wrong:
        raise Failure("\n    ".join([figures, *wrong[:3], *wrong[-3:]]))
    return figures


CASES = {"probes": full}
