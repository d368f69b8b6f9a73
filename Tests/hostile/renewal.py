"""Certificates that change while the service runs, and those that clients show.

Design: the cases have a few certificates, and write one after the other to the files of the
service: with one step for each file, with a text that is written slowly into the file itself, and
with a link that names another folder. In between the files do not belong together. Meanwhile
honest clients ask, some with kept connections and some with a new one for each request.
"""

import os
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import time

from beside import Held, Honest, awaited, end, metrics
from certificates import Certificate
from service import TLS_MODES, Failure, Service, client_context

# From the last byte of the files until a new client sees them.
SHOWN_SECONDS_MAX = 2
HOST = b"Host: 127.0.0.1\r\n"
# Between the files, and between the parts of one.
PAUSE_SECONDS = 0.02


class Files:
    """The files that the service reads, behind a link to the folder that has them."""

    def __init__(self, folder, certificate):
        self.folder, self.link, self.count = pathlib.Path(folder), pathlib.Path(folder) / "now", 0
        self.chain, self.key = self.link / "chain.pem", self.link / "key.pem"
        self.by_link(certificate)

    def options(self):
        return "--tls-certificate", self.chain, "--tls-key", self.key

    def by_link(self, certificate):
        """Both at once, as Kubernetes replaces a secret."""
        self.count += 1
        place = self.folder / str(self.count)
        place.mkdir()
        for name, text in zip(("chain.pem", "key.pem"), certificate.texts()):
            (place / name).write_bytes(text)
        link = self.folder / "next"
        link.symlink_to(place.name)
        os.replace(link, self.link)

    def one_by_one(self, certificate):
        """Each at once, and a moment in which they do not belong together."""
        for path, text in zip((self.chain, self.key), certificate.texts()):
            path.with_suffix(".new").write_bytes(text)
            os.replace(path.with_suffix(".new"), path)
            time.sleep(PAUSE_SECONDS)

    def in_place(self, certificate):
        """Empty files, then half of each, then all."""
        for path, text in zip((self.key, self.chain), reversed(certificate.texts())):
            with open(path, "wb", buffering=0) as file:
                for part in (text[:len(text) // 2], text[len(text) // 2:]):
                    time.sleep(PAUSE_SECONDS)
                    file.write(part)


def session_of(service, context, session=None):
    """A new session that has had an answer, so that it has its ticket."""
    plain = socket.create_connection(service.address, timeout=10)
    shaken = context.wrap_socket(plain, session=session)
    shaken.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
    if not shaken.recv(1 << 16).startswith(b"HTTP/1.1 200 "):
        raise Failure("a new session gets no answer")
    return shaken


def shown(service):
    with session_of(service, client_context()) as session:
        return session.getpeercert(binary_form=True)


def show(service, files, certificate, how, is_signalled):
    """Replaces the certificate. Returns the seconds until new clients see it."""
    getattr(files, how)(certificate)
    began = time.monotonic()
    if is_signalled:
        service.process.send_signal(signal.SIGHUP)
    awaited(lambda: shown(service) == certificate.shown(), f"the certificate ({how})",
            SHOWN_SECONDS_MAX)
    return time.monotonic() - began


def replaced(run, mode):
    """A certificate is replaced again and again, and every request is answered."""
    watched, signalled = (4, 12) if run.quick else (60, 60)
    pool = [Certificate(f"localhost-{i}", kind=("EC", "RSA")[i % 2]) for i in range(4)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = Files(folder, pool[0])
            with Service(run.binary, *files.options()) as service:
                with Honest(service, 3) as kept, Honest(service, 2, kept=False) as new:
                    held, waits = Held(service), {True: [0], False: [0]}
                    for i in range(watched + signalled):
                        how = ("one_by_one", "in_place", "by_link")[i % 3]
                        is_signalled = i >= watched
                        waits[is_signalled].append(show(
                            service, files, pool[(i + 1) % len(pool)], how, is_signalled))
                said = service.log.kept.count(b"certificate read")
                complaints = service.log.kept.count(b"certificate not read")
                figures = (f"{watched + signalled} replaced; a new one is shown after "
                           f"{max(waits[False]):.1f} s, with SIGHUP {max(waits[True]):.1f} s; "
                           f"kept: {kept.figures()}, new: {new.figures()}, "
                           f"{held.settle() >> 10} KiB more")
                # A look can come between the files, so one that succeeds may come later.
                if said < watched + signalled or complaints:
                    raise Failure(f"{figures}; the log: {said} read, {complaints} not read")
                return end(service, figures)
    finally:
        for certificate in pool:
            certificate.remove()


def broken(run, mode):
    """Files that are not right leave what is served, and the log says so once."""
    first, second = Certificate("localhost-1"), Certificate("localhost-2")
    breaks = {"no certificate": lambda files: files.chain.write_bytes(b"none\n"),
              "the key of another": lambda files: files.key.write_bytes(second.texts()[1]),
              "no file": lambda files: files.chain.unlink()}
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = Files(folder, first)
            with Service(run.binary, *files.options()) as service:
                with Honest(service, 2) as kept, Honest(service, kept=False) as new:
                    ways = list(breaks.items())[:1 if run.quick else None]
                    for count, (what, spoil) in enumerate(ways, 1):
                        spoil(files)
                        awaited(lambda: complaints(service) >= count, f"a complaint ({what})")
                        # As long as a second complaint would take.
                        time.sleep(1.5 if run.quick else 5)
                        if shown(service) != first.shown():
                            raise Failure(f"{what}: another certificate is shown")
                        if complaints(service) != count:
                            raise Failure(f"{what}: {complaints(service)} complaints")
                        files.by_link(second)
                        awaited(lambda: shown(service) == second.shown())
                        files.by_link(first)
                        awaited(lambda: shown(service) == first.shown())
                    files.chain.write_bytes(b"none\n")
                    service.process.send_signal(signal.SIGHUP)
                    awaited(lambda: complaints(service) > len(ways), "a complaint at SIGHUP", 1)
                    if shown(service) != first.shown():
                        raise Failure("SIGHUP: another certificate is shown")
                if b"PRIVATE" in service.log.kept:
                    raise Failure("a key in the log")
                return end(service, f"{len(ways)} ways, one line each; kept: {kept.figures()}, "
                                    f"new: {new.figures()}")
    finally:
        first.remove()
        second.remove()


def complaints(service):
    return service.log.kept.count(b"certificate not read")


def resumed(run, mode):
    """A session is resumed with its ticket, by many clients, until the certificate changes."""
    first, second = Certificate("localhost-1"), Certificate("localhost-2")
    rounds, wrong = 20 if run.quick else 500, []
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = Files(folder, first)
            with Service(run.binary, *files.options()) as service:
                for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                    files.by_link(first)
                    awaited(lambda: shown(service) == first.shown())
                    context = client_context(least=version)
                    context.maximum_version = version
                    before = metrics(service)["latchkey_tls_resumed_handshakes_total"]
                    with session_of(service, context) as session:
                        ticket = session.session
                    for _ in range(rounds):
                        with session_of(service, context, ticket) as session:
                            if not session.session_reused:
                                wrong.append(f"{version.name}: not resumed")
                            ticket = session.session
                    count = metrics(service)["latchkey_tls_resumed_handshakes_total"] - before
                    if count != rounds:
                        wrong.append(f"{version.name}: {rounds} resumed, {count} counted")
                    files.by_link(second)
                    awaited(lambda: shown(service) == second.shown())
                    with session_of(service, context, ticket) as session:
                        if session.session_reused:
                            wrong.append(f"{version.name}: resumed with another certificate")
                figures = f"{2 * rounds} resumed, {len(wrong)} wrong"
                if wrong:
                    raise Failure("\n    ".join([figures, *wrong[:6]]))
                return end(service, figures)
    finally:
        first.remove()
        second.remove()


def shown_by_clients():
    """The authority, and for each kind of client its certificate and the statuses of GET, PUT."""
    authority = Certificate("authority", is_authority=True)
    other = Certificate("authority", is_authority=True)
    rights = {"owner": (200, 204), "reader": (200, 403)}
    rows = {f"{name}": (Certificate(name, authority, "clientAuth"), statuses)
            for name, statuses in rights.items()}
    refused = (401, 401)
    rows |= {
        "no certificate": (None, refused),
        "a name without a token": (Certificate("stranger", authority, "clientAuth"), refused),
        "another authority": (Certificate("owner", other, "clientAuth"), refused),
        "its own authority": (Certificate("owner", usage="clientAuth"), refused),
        "expired": (Certificate("owner", authority, "clientAuth", days=-1), refused),
        "for servers": (Certificate("owner", authority, "serverAuth"), refused),
        "signed by a client": (Certificate("owner", rows["owner"][0], "clientAuth"), refused)}
    return authority, other, rows


def client_certificates(run, mode):
    """Who shows a certificate has the rights of its name; one that is not right gives none."""
    own, (authority, other, rows), wrong = Certificate("localhost"), shown_by_clients(), []
    try:
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder) / "tokens"
            owner = token(run.binary, tokens, "owner", "read,write")
            token(run.binary, tokens, "reader", "read")
            options = ("--token-file", tokens, "--tls-client-ca", authority.chain)
            with Service(run.binary, *own.options(), *options) as service:
                service.ask("PUT", "/v1/properties/n", "1", owner)
                for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                    for what, (certificate, right) in rows.items():
                        context = client_context(certificate, version)
                        context.maximum_version = version
                        statuses = asked(service, context)
                        if statuses != right:
                            wrong.append(f"{version.name}, {what}: {statuses}, not {right}")
                figures = f"{2 * len(rows)} clients, {len(wrong)} wrong"
                if wrong:
                    raise Failure("\n    ".join([figures, *wrong]))
                return end(service, figures)
    finally:
        for certificate in (own, authority, other, *(row[0] for row in rows.values() if row[0])):
            certificate.remove()


def token(binary, path, name, grant):
    """Makes a token. Returns the header that has it."""
    made = subprocess.run(
        [binary, "token", "create", name, "--grant", grant, "--token-file", path],
        capture_output=True, text=True, timeout=30, check=True)
    return {"Authorization": f"Bearer {made.stdout.strip()}"}


def asked(service, context):
    """The statuses of a GET and a PUT on one connection."""
    connection, statuses = service.connection(context=context), []
    for method, body in (("GET", None), ("PUT", b"1")):
        connection.request(method, "/v1/properties/n", body, {"Host": "127.0.0.1"})
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    return tuple(statuses)


CASES = {"tls-replaced": replaced, "tls-broken": broken, "tls-resumed": resumed,
         "tls-clients": client_certificates}
MODES_OF_CASES = dict.fromkeys(CASES, TLS_MODES)
