"""Item 16: a service that is full is alive. Its probes are answered, and say that it is full."""

import subprocess

from clients import Loop, Peer
from service import MODES, Failure, Service, say_status

TRIES = 20


class Silent(Peer):
    """Connects and says nothing. With `returns`, it connects again when it is hung up on."""

    def __init__(self, loop, address, returns):
        super().__init__(loop, address)
        self.returns, self.rounds = returns, 0

    def opened(self):
        self.rounds += 1

    def ended(self, why):
        if self.returns and why != "refused":
            self.connect()


def probe(run, service):
    """What the three probes say: the statuses, and the body of /readyz."""
    alive = service.ask("GET", "/healthz")[0]
    ready, _, body = service.ask("GET", "/readyz")
    health = subprocess.run([run.binary, "health", "--port", str(service.address[1])],
                            capture_output=True, timeout=15, check=False).returncode
    return alive, ready, body.decode("utf-8", "replace"), health


def full(run, mode):
    bound = 50 if run.quick else 1024
    wrong, tries = [], 0
    for clients, returns in ((bound, False), (2 * bound, True)):
        # Silent clients are ended soon in the second round, and come back.
        options = ("--max-connections", bound, "--idle-timeout-seconds", 2 if returns else 60)
        with Service(run.binary, *options, *MODES[mode]) as service, Loop() as loop:
            peers = [Silent(loop, service.address, returns) for _ in range(clients)]
            for peer in peers:
                peer.connect()
            loop.run(10, lambda: all(peer.rounds for peer in peers))
            for _ in range(TRIES if returns else 1):
                loop.run(0.05)
                tries += 1
                try:
                    alive, ready, body, health = probe(run, service)
                except OSError as error:
                    wrong.append(f"{clients} clients: {error!r}")
                    continue
                if alive != 200 or health != 0:
                    wrong.append(f"{clients} clients: /healthz {alive}, `latchkey health` {health}")
                # Clients that come and go leave a place free now and then.
                says_full = ready == 503 and ("full" in body or "too-many-connections" in body)
                if not says_full and not (returns and ready == 200):
                    wrong.append(f"{clients} clients: /readyz {ready} {body[:100]}")
            loop.close()
            service.terminate()
            status = service.wait(15)
            if status != 0:
                wrong.append(f"{clients} clients: {say_status(status)}")
    figures = f"bound {bound}, {tries} tries, {len(wrong)} wrong"
    if wrong:
        raise Failure("\n    ".join([figures, *wrong[:6]]))
    return figures


CASES = {"probes": full}
