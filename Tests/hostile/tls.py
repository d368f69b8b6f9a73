"""Invalid TLS, handshakes that do not end, and versions and ciphers that are too old or weak.

Design: honest clients send requests in threads of their own all the time (beside.py), while the
main thread drives the others. Whatever those send, an honest request never fails, no byte of HTTP
comes back, and all resources are released.
"""

import http.client
import os
import random
import select
import socket
import ssl
import subprocess

from beside import Held, Honest, end, metrics, unless_crashed
from certificates import Certificate
from clients import Asker, Loop, Peer
from process import PATIENCE_SECONDS, Failure, await_true
from service import MODES, TLS_MODES, Service, client_context

SEED = 21
ALERT, HANDSHAKE, DATA = RECORDS = 0x15, 0x16, 0x17
ASK = b"GET /v1/strategies HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HTTP = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def hello(context=None):
    """The first bytes that a client sends."""
    sent = ssl.MemoryBIO()
    shake = (context or client_context()).wrap_bio(ssl.MemoryBIO(), sent)
    try:
        shake.do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()
    raise AssertionError("a handshake without a server")


def record(kind, body, version=0x0303, length=None):
    count = len(body) if length is None else length
    return bytes([kind]) + version.to_bytes(2, "big") + count.to_bytes(2, "big") + body


def garbage(count):
    """Pairs: the bytes to send, and whether they follow a complete handshake."""
    chance, start = random.Random(SEED), hello()
    body = start[5:]
    yield from ((text, False) for text in (
        HTTP, b"", start[:1], start[:5], start[:60], start + start,
        record(HANDSHAKE, b""), record(HANDSHAKE, b"", length=0xffff),
        record(HANDSHAKE, bytes(0x4001)), record(HANDSHAKE, bytes(0xffff)),
        record(HANDSHAKE, b"\x01\xff\xff\xff" + bytes(1000)), record(HANDSHAKE, bytes(1)) * 500,
        b"".join(record(HANDSHAKE, body[i:i + 1]) for i in range(len(body))),
        # SSL 2.0, and records of an alert, of data, of a heartbeat and of an unknown kind.
        b"\x80\x2e\x01\x00\x02" + bytes(43), record(ALERT, b"\x02\x28"), record(DATA, b"x" * 99),
        record(0x18, b"\x01\x40\x00"), record(0xff, b"x"), record(0x14, b"\x01") * 1000,
        record(ALERT, b"\x01\x5a") * 1000))
    for version in (0x0000, 0x0002, 0x0200, 0x0300, 0x0301, 0x0305, 0x0400, 0x7f1c, 0xffff):
        yield record(HANDSHAKE, body, version), False
        yield start[:9] + version.to_bytes(2, "big") + start[11:], False
    for length in (0x4001, 0x4801, 0xffff):
        yield record(DATA, chance.randbytes(length)), True
    yield HTTP, True
    for _ in range(count):
        yield chance.randbytes(chance.randrange(1, 600)), chance.random() < 0.2
        mutated = bytearray(start)
        for _ in range(chance.randrange(1, 8)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        yield bytes(mutated[:chance.choice((len(mutated), chance.randrange(len(mutated))))]), False


class Garbler(Peer):
    """Sends bytes that are not TLS, before a handshake or after one, and ends its half."""

    def __init__(self, loop, address, text, is_behind):
        super().__init__(loop, address)
        self.text, self.context = text, self.context if is_behind else None
        self.data, self.end = bytearray(), None

    def opened(self):
        try:
            # Bypasses the session, if there is one.
            os.write(self.socket.fileno(), self.text)
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.finish("reset")

    def received(self, data):
        self.data += data

    def ended(self, why):
        self.end = why


def not_tls(run, mode):
    """Bytes that are not TLS end only their own connection, soon, and never get HTTP."""
    rows = list(garbage(100 if run.quick else 5000))
    kinds = {}
    with Service(run.binary, *MODES[mode]) as service, unless_crashed(service):
        service.ask("GET", "/healthz")
        held = Held(service)
        with Honest(service, 4) as honest:
            for i in range(0, len(rows), 100):
                with Loop() as loop:
                    peers = loop.connect(Garbler(loop, service.address, *row)
                                         for row in rows[i:i + 100])
                    loop.run(PATIENCE_SECONDS, lambda: all(peer.end for peer in peers))
                for peer in peers:
                    kinds[kind_of(peer)] = kinds.get(kind_of(peer), 0) + 1
        failed = metrics(service)["latchkey_tls_failed_handshakes_total"]
        figures = f"{len(rows)} of garbage: {kinds}, {failed} failed handshakes, {honest.figures()}"
        if set(kinds) - {"closed", "TLS, closed"} or failed == 0:
            raise Failure(figures)
        return end(service, f"{figures}, {held.settle() >> 10} KiB more")


def kind_of(peer):
    """The result of a client of garbage, by the bytes of its socket, as it has ended its half."""
    if peer.end is None:
        return "not closed"
    if not peer.data:
        return "closed"
    return "TLS, closed" if peer.data[0] in RECORDS and b"HTTP/" not in peer.data else "no TLS"


class HalfShaker(Peer):
    """Begins a handshake and sends no more, and reconnects when it is disconnected."""

    def __init__(self, loop, address, source, start, returns=True):
        super().__init__(loop, address, source)
        self.context, self.start, self.rounds, self.returns = None, start, 0, returns

    def opened(self):
        self.rounds += 1
        self.send(self.start)

    def ended(self, why):
        if self.returns and why != "refused":
            self.connect()


def shaking_count(service):
    """Asks until there is an answer: in a storm this handshake may have no place at first."""
    def ask():
        try:
            return [metrics(service)["latchkey_tls_handshaking_connections"]]
        except (OSError, http.client.HTTPException):
            return None

    return await_true("/metrics", ask)[0]


def check_bound(service, bound):
    """All places are available, and not one more."""
    await_true(f"a place for each of {bound} clients",
               lambda: served_count(service, bound) == bound)


def served_count(service, bound):
    with Loop() as loop:
        peers = []
        # Few at a time, so that no handshake takes so long that it loses its place.
        while len(peers) < bound + 8:
            peers += loop.connect(Asker(loop, service.address, ASK)
                                  for _ in range(min(16, bound + 8 - len(peers))))
            loop.run(PATIENCE_SECONDS, lambda: all(one.end or one.data for one in peers))
        served = sum(peer.data.startswith(b"HTTP/1.1 200 ") for peer in peers)
    # There may be fewer: ended connections are closed a moment later.
    if served > bound:
        raise Failure(f"{served} clients are served, where the bound is {bound}")
    return served


def late(run, mode):
    """Refused half handshakes have no place that they could give to others."""
    bound = 16
    with Service(run.binary, "--max-connections", bound, *MODES[mode]) as service, Loop() as loop:
        peers = loop.connect(HalfShaker(loop, service.address, None, b"\x16", False)
                             for _ in range(3 * bound))
        await_true("all are shaking",
                   lambda: loop.run(0.01) or shaking_count(service) >= 3 * bound)
        # Each of them has had its second.
        loop.run(1.1)
        check_bound(service, bound)
        loop.run(0.2)
        for peer in peers:
            peer.finish(None)
        Held(service).settle()
        check_bound(service, bound)
        return end(service, f"{3 * bound} half handshakes, then {bound} clients of {bound}, twice")


# The only cipher that a client offers, and the key of the service for it.
WEAK = (("EC", "ECDHE-ECDSA-AES128-SHA"), ("EC", "ECDHE-ECDSA-AES256-SHA384"),
        ("EC", "ECDHE-ECDSA-AES128-CCM8"), ("EC", "ECDHE-ECDSA-NULL-SHA"), ("EC", "aNULL"),
        ("RSA", "AES128-SHA"), ("RSA", "AES256-GCM-SHA384"), ("RSA", "ECDHE-RSA-AES128-SHA"),
        ("RSA", "DHE-RSA-AES128-GCM-SHA256"), ("RSA", "NULL-SHA256"), ("RSA", "CAMELLIA128-SHA"))
STRONG = (("EC", "ECDHE-ECDSA-AES128-GCM-SHA256"), ("EC", "ECDHE-ECDSA-CHACHA20-POLY1305"),
          ("RSA", "ECDHE-RSA-AES256-GCM-SHA384"))
OLD = (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1)
NEW = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def offering(version, ciphers="ALL"):
    context = client_context(least=version)
    context.maximum_version = version
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    return context


def outcome(service, context):
    """The agreed version, or the kind of refusal."""
    with socket.create_connection(service.address, timeout=PATIENCE_SECONDS) as plain:
        try:
            with context.wrap_socket(plain) as session:
                return session.version()
        except ssl.SSLEOFError:
            # The service closes without an alert. Other errors are the client's own.
            return "refused"
        except OSError as error:
            return repr(error)


def weak(run, mode):
    """Old versions and weak ciphers are refused; the others are not."""
    wrong = []
    for kind in ("EC", "RSA"):
        certificate = Certificate("localhost", kind=kind)
        try:
            with Service(run.binary, *certificate.options()) as service:
                rows = [(offering(version), True) for version in OLD]
                rows += [(offering(version), False) for version in NEW]
                for table, is_refused in ((WEAK, True), (STRONG, False)):
                    rows += [(offering(ssl.TLSVersion.TLSv1_2, name), is_refused)
                             for key, name in table if key == kind]
                for context, is_refused in rows:
                    how, right = outcome(service, context), "refused"
                    if not is_refused:
                        right = context.maximum_version.name.replace("_", ".")
                    if how != right:
                        ciphers = [one["name"] for one in context.get_ciphers()][-2:]
                        wrong.append(f"{kind} {context.maximum_version.name} {ciphers}: {how}")
                end(service, "")
        finally:
            certificate.remove()
    figures = f"{len(WEAK) + 2 * len(OLD)} refused, {len(STRONG) + 2 * len(NEW)} not"
    if wrong:
        raise Failure("\n    ".join([figures, *wrong]))
    return figures


def renegotiate(run, mode):
    """A client of TLS 1.2 that asks for another handshake is disconnected, or gets none."""
    with Service(run.binary, *MODES[mode]) as service, Honest(service) as honest:
        # The honest client has its handshake.
        await_true("it is answered", lambda: honest.seconds)
        before = metrics(service)["latchkey_tls_handshakes_total"]
        client = subprocess.Popen(
            ["openssl", "s_client", "-tls1_2", "-connect", "{}:{}".format(*service.address)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            seen = read_until(client, b"Verify return code")
            client.stdin.write(b"R\n")
            client.stdin.flush()
            seen += read_until(client, None)
            client.wait(PATIENCE_SECONDS)
        finally:
            client.kill()
            client.wait()
        # Each request for the metrics is a handshake.
        more = metrics(service)["latchkey_tls_handshakes_total"] - before
    figures = f"{more - 1} handshakes, then closed, {honest.figures()}"
    if b"RENEGOTIATING" not in seen or more != 2:
        raise Failure(f"{figures}; {seen[-300:]!r}")
    return figures


def read_until(client, word):
    """The output of a program until it has written a word, or until it ends."""
    seen = b""
    while word is None or word not in seen:
        ready = select.select([client.stdout], [], [], PATIENCE_SECONDS)[0]
        if not ready:
            raise Failure(f"openssl says no more after {seen[-200:]!r}")
        data = os.read(client.stdout.fileno(), 1 << 16)
        if not data:
            break
        seen += data
    return seen


CASES = {"tls-garbage": not_tls, "tls-late": late, "tls-weak": weak,
         "tls-renegotiation": renegotiate}
MODES_OF_CASES = dict.fromkeys(CASES, TLS_MODES)
