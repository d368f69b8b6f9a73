"""Checks TLS on the running service: the commands of docs/operating.md, certificates, and rights.

In the section "TLS" of the page, a block of commands is run line by line, except those that need
the internet (`certbot`). `latchkey serve` runs until the next block that has one. A line with
`curl` ends with `# STATUS`. Weak versions and ciphers: Tests/hostile/tls.py. Needs only the
standard library, openssl and curl.
"""

import contextlib
import http.client
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import PATIENCE_SECONDS, Failure, Latchkey, await_true, expect, run  # noqa: E402

PAGE = TOP / "docs" / "operating.md"
PORT = "8443"
COMMAND_SECONDS_MAX = 2 * PATIENCE_SECONDS
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
MISTAKES = (("# 401", "# 200"), ("--cert ann.pem --key ann-key.pem", ""), ("/CN=ann", "/CN=bob"))
PROMISE = re.compile(r"#\s+(\d{3})$")
REQUEST = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Service(Latchkey):
    """A service that speaks TLS, and keeps its log."""

    listening = re.compile(r"listening on (https://\S+)")

    def __init__(self, binary, folder, *options):
        super().__init__(binary, *options, log=folder / "log")


def sh(folder, *words):
    return run(*words, cwd=folder)


def certificate(folder, name="localhost", days=30):
    """A certificate and its key, as texts."""
    sh(folder, *REQUEST, "-x509", "-days", str(days), "-subj", f"/CN={name}", "-addext",
       "subjectAltName=DNS:localhost", "-keyout", "new-key", "-out", "new")
    return (folder / "new").read_text(), (folder / "new-key").read_text()


def validity(has_ended):
    """The options of `openssl x509` for the time of a certificate."""
    if not has_ended:
        return "-days", "30"
    # OpenSSL takes times from 3.4 on, and from 3.5 on the end may not be before the begin.
    version = re.match(r"OpenSSL (\d+)\.(\d+)", run("openssl", "version"))
    if (int(version[1]), int(version[2])) < (3, 4):
        return "-days", "-1"
    return "-not_before", "20200101000000Z", "-not_after", "20200102000000Z"


def client_certificate(folder, name, authority, usage="clientAuth", has_ended=False):
    """Files with a certificate that an authority, (certificate, key), has signed, and its key."""
    place = pathlib.Path(tempfile.mkdtemp(dir=folder))
    (place / "ca").write_text(authority[0])
    (place / "ca-key").write_text(authority[1])
    (place / "extensions").write_text(f"extendedKeyUsage={usage}\n")
    sh(place, *REQUEST, "-subj", f"/CN={name}", "-keyout", "key", "-out", "request")
    sh(place, "openssl", "x509", "-req", "-in", "request", "-CA", "ca", "-CAkey", "ca-key",
       "-CAcreateserial", "-extfile", "extensions", *validity(has_ended), "-out", "certificate")
    return place / "certificate", place / "key"


class Bench:
    """A service's certificate, an authority for clients, and the tokens `ann` and `bob`."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.own, self.authority = certificate(folder), certificate(folder, "authority")
        (folder / "certificate").write_text(self.own[0])
        (folder / "key").write_text(self.own[1])
        (folder / "authorities").write_text(self.authority[0])
        self.tokens = {
            name: sh(folder, binary, "token", "create", name, "--grant", grant, "--token-file",
                     folder / "tokens").strip()
            for name, grant in (("ann", "read,write"), ("bob", "read:b/"))}

    def flags(self):
        names = (("certificate", "certificate"), ("key", "key"), ("client-ca", "authorities"))
        flags = [word for flag, name in names for word in (f"--tls-{flag}", self.folder / name)]
        return [*flags, "--token-file", self.folder / "tokens"]

    def serve(self):
        return Service(self.binary, self.folder, *self.flags())

    def ask(self, service, path, *options, token=None):
        """The answer as curl prints it, and curl's status."""
        if token:
            options += ("-H", f"Authorization: Bearer {self.tokens[token]}")
        done = subprocess.run(
            ["curl", "-sSik", "-m", str(PATIENCE_SECONDS), *options, service.url + path],
            capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX, check=False)
        return done.stdout, done.returncode

    def expect(self, status, *request, **options):
        text, _ = self.ask(*request, **options)
        if not text.startswith(f"HTTP/1.1 {status} "):
            raise Failure(f"{request[1:]}: {status} was to be the status of {text[:300]!r}")
        return text

    def shown(self, service):
        return ssl.get_server_certificate(service.address)


def commands(block):
    return re.sub(r"\\\n\s*", "", block).splitlines()


def follow_page(binary, folder, mistake=("", "")):
    """Runs the commands of the section in order. `mistake` is a text and its replacement."""
    section = PAGE.read_text(encoding="utf-8").split("\n## TLS\n")[1].split("\n## ")[0]
    if mistake[0] not in section:
        raise Failure(f"the page has no {mistake[0]!r}")
    section = section.replace(*mistake)
    (folder / "bin").mkdir()
    (folder / "bin" / "latchkey").symlink_to(pathlib.Path(binary).resolve())
    count = 0
    with contextlib.ExitStack() as stack:
        for block in BLOCK.findall(section):
            if "certbot" in block:
                continue
            for command in commands(block):
                if command.startswith("latchkey serve"):
                    stack.close()
                    words = command.replace(f"--port {PORT}", "").split()[2:]
                    flags = [str(folder / word) if (folder / word).exists() else word
                             for word in words]
                    service = stack.enter_context(Service(binary, folder, *flags))
                    continue
                promise = PROMISE.search(command)
                count += "curl" in command
                for before in (":", "--port "):
                    if before + PORT in command:
                        port = service.address[1]
                        command = command.replace(before + PORT, f"{before}{port}")
                text = sh(folder, "sh", "-ec", f'PATH="$PWD/bin:$PATH"; {command}')
                if promise and not text.startswith(f"HTTP/1.1 {promise[1]} "):
                    raise Failure(f"{command}: {text[:300]!r}")
                if "curl" in command and not promise:
                    raise Failure(f"no status after: {command}")
    if count < 4:
        raise Failure(f"the page has {count} requests over TLS")


def find_mistakes(binary, folder):
    """A wrong status, a request without its certificate, and a wrong file name are found."""
    for index, mistake in enumerate(MISTAKES):
        place = folder / str(index)
        place.mkdir()
        with contextlib.suppress(Failure):
            follow_page(binary, place, mistake)
            raise AssertionError(f"{mistake} is overlooked")


@contextlib.contextmanager
def clients_beside(service):
    """A client that keeps its connection, and one with new ones: none loses an answer."""
    is_over, counts, wrong = threading.Event(), [0, 0], []

    def ask(number):
        connection = service.connect()
        while not is_over.is_set() and not wrong:
            try:
                status = status_on(connection, "/healthz")
                counts[number] += 1
                wrong.extend([status] if status != 200 else [])
            except Exception as error:  # noqa: BLE001
                wrong.append(error)
            if number == 1:
                connection.close()
        connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        await_true("both are answered", lambda: all(counts) or wrong)
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
            wrong.extend(["no answer"] if thread.is_alive() else [])
    if wrong:
        raise Failure(f"a renewal costs an answer, after {counts}: {wrong}")


def replace(binary, folder):
    """New connections get the new certificate when both files are there, in any order."""
    bench = Bench(binary, folder)
    with bench.serve() as service, clients_beside(service):
        for order in (("certificate", "key"), ("key", "certificate")):
            former = bench.shown(service)
            new = dict(zip(("certificate", "key"), certificate(folder)))
            for name in order:
                expect("what half of a pair of files shows", bench.shown(service), former)
                count = service.said().count("certificate not read")
                (folder / "half").write_text(new[name])
                (folder / "half").rename(folder / name)
                if name == order[0]:
                    # It reads them at once, and reports that the files do not belong together.
                    service.process.send_signal(signal.SIGHUP)
                    await_true("half of a pair of files is looked at", lambda count=count:
                               service.said().count("certificate not read") > count)
            await_true("the new certificate is shown", lambda new=new:
                       bench.shown(service).split() == new["certificate"].split())


def refuse(binary, folder):
    """Invalid files change nothing, and the log says so once."""
    bench = Bench(binary, folder)
    with bench.serve() as service:
        former = bench.shown(service)
        make_unreadable(bench, service)
        expect("the certificate that is shown", bench.shown(service), former)
        metrics, _ = bench.ask(service, "/metrics", token="ann")
        found = re.search(r"\nlatchkey_tls_certificate_expiry_seconds (\d+)\n", metrics)
        if not found or not 29 < (int(found[1]) - time.time()) / 86400 <= 30:
            raise Failure("the metric does not say when the certificate ends")
    flags = bench.flags()
    (folder / "broken").write_text("no key")
    for wrong in (flags[:2], flags[2:4], flags[:6], [*flags[:3], folder / "broken", *flags[6:]],
                  [*flags[:3], folder / "absent", *flags[6:]]):
        done = subprocess.run([binary, "serve", "--port", "0", *wrong], capture_output=True,
                              text=True, timeout=COMMAND_SECONDS_MAX, check=False)
        if done.returncode != 1 or "listening" in done.stdout:
            raise Failure(f"{wrong} start a service")


def make_unreadable(bench, service):
    """Replaces the key by one of another certificate."""
    (bench.folder / "key").write_text(bench.authority[1])
    service.process.send_signal(signal.SIGHUP)
    await_true("the log says it", lambda: "certificate not read" in service.said())


def resumed(binary, folder):
    """A session is resumed until the certificate changes, and an open connection continues."""
    bench = Bench(binary, folder)
    with bench.serve() as service:
        context = ssl._create_unverified_context()
        # With TLS 1.3, a ticket is valid only once.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        kept, ticket = shaken(service, context)
        for _ in range(5):
            again, ticket = shaken(service, context, ticket)
            if not again.session_reused:
                raise Failure("a session is not resumed")
            again.close()
        metrics, _ = bench.ask(service, "/metrics", token="ann")
        if "\nlatchkey_tls_resumed_handshakes_total 5\n" not in metrics:
            raise Failure("resumed handshakes are not counted")
        for name, text in zip(("key", "certificate"), reversed(certificate(folder))):
            (folder / "half").write_text(text)
            (folder / "half").rename(folder / name)
        service.process.send_signal(signal.SIGHUP)
        await_true("the log says it", lambda: "certificate read" in service.said())
        again, _ = shaken(service, context, ticket)
        if again.session_reused:
            raise Failure("a session is resumed with another certificate")
        again.close()
        expect("the answer on an open connection after a renewal", answered(kept), 200)
        kept.close()


def shaken(service, context, session=None):
    """A connection that has had an answer, so that it has its ticket; and the ticket."""
    plain_socket = socket.create_connection(service.address, timeout=PATIENCE_SECONDS)
    found = context.wrap_socket(plain_socket, session=session)
    expect("the answer of a new session", answered(found), 200)
    return found, found.session


def answered(connection):
    client = http.client.HTTPConnection("localhost")
    client.sock = connection
    return status_on(client, "/healthz")


def plain(binary, folder):
    """Plain HTTP gets no answer, and the cookie of a session is only for TLS."""
    bench = Bench(binary, folder)
    with bench.serve() as service:
        done = subprocess.run(
            ["curl", "-sS", "-m", str(PATIENCE_SECONDS),
             service.url.replace("https", "http") + "/healthz"],
            capture_output=True, timeout=COMMAND_SECONDS_MAX, check=False)
        expect("what curl gets of plain HTTP", (done.returncode, done.stdout), (52, b""))
        session = bench.expect(204, service, "/v1/session", "-XPOST", token="ann")
        if not re.search(r"^Set-Cookie: .*; Secure\r?$", session, re.MULTILINE):
            raise Failure(f"the cookie is not Secure: {session!r}")
        cookie = re.search(r"^Set-Cookie: ([^;]+)", session, re.MULTILINE)[1]
        bench.expect(404, service, "/v1/properties/a", "-b", cookie)
        name, _, value = cookie.partition("=")
        for place in (0, len(value) // 2, len(value) - 1):
            changed = value[:place] + ("0" if value[place] != "0" else "1") + value[place + 1:]
            bench.expect(401, service, "/v1/properties/a", "-b", f"{name}={changed}")


def clients(binary, folder):
    """A certificate has the rights of the token of its name, until its line is removed."""
    bench = Bench(binary, folder)
    shown_files = {name: client_certificate(folder, name, bench.authority)
                   for name in ("ann", "bob", "eve")}
    ann = shown_files["ann"][0].read_text(), shown_files["ann"][1].read_text()
    shown_files |= {
        "foreign": client_certificate(folder, "ann", certificate(folder, "authority")),
        "for servers": client_certificate(folder, "ann", bench.authority, "serverAuth"),
        "ended": client_certificate(folder, "ann", bench.authority, has_ended=True),
        "signed by a client": client_certificate(folder, "ann", ann)}
    shows = {name: ("--cert", files[0], "--key", files[1])
             for name, files in shown_files.items()}
    with bench.serve() as service:
        path = "/v1/properties/a"
        bench.expect(201, service, path, *shows["ann"], "-XPUT", "-d1", "-HContent-Type:")
        bench.expect(200, service, path, *shows["ann"])
        bench.expect(403, service, path, *shows["bob"])
        bench.expect(401, service, path)
        for name in list(shows)[2:]:
            reason = "no name in --token-file" if name == "eve" else "--tls-client-ca"
            if reason not in bench.expect(401, service, path, *shows[name]):
                raise Failure(f"{name}: 401 without the reason {reason!r}")
        # A token in the request takes precedence over the certificate.
        bench.expect(403, service, path, *shows["ann"], token="bob")
        bench.expect(401, service, path, *shows["ann"], "-H", "Authorization: Bearer lk_wrong")
        for field in ("Origin: https://evil.example", "Sec-Fetch-Site: cross-site",
                      "Sec-Fetch-Site: same-site"):
            bench.expect(403, service, path, *shows["ann"], "-H", field)
            bench.expect(403, service, path, *shows["ann"], "-XDELETE", "-H", field)
        bench.expect(421, service, path, *shows["ann"], "-H", "Host: evil.example")
        lines = (folder / "tokens").read_text().splitlines(keepends=True)
        kept = keep(service, shown_files["ann"], path)
        (folder / "half").write_text("".join(line for line in lines if "ann" not in line))
        (folder / "half").rename(folder / "tokens")
        await_true("a certificate without the line of its name does not count", lambda: bench.ask(
            service, path, *shows["ann"])[0].startswith("HTTP/1.1 401"))
        expect("the status on an open connection", status_on(kept, path), 401)
        kept.close()


def keep(service, files, path):
    """A connection with a certificate, on which a request was answered with 200."""
    context = ssl._create_unverified_context()
    context.load_cert_chain(*files)
    connection = http.client.HTTPSConnection(*service.address, context=context,
                                            timeout=PATIENCE_SECONDS)
    expect("the status for a certificate", status_on(connection, path), 200)
    return connection


def status_on(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def silent(binary, folder):
    """A token in a URL is not valid, and neither tokens nor keys are ever logged."""
    bench = Bench(binary, folder)
    with bench.serve() as service:
        bench.ask(service, "/v1/properties/a", token="ann")
        bench.ask(service, "/v1/properties/a", "-H", "Authorization: Bearer lk_wrong")
        for name in ("token", "access_token"):
            bench.expect(401, service, f"/v1/properties/a?{name}={bench.tokens['ann']}")
        make_unreadable(bench, service)
        secrets = [*bench.tokens.values(), "lk_", "-----"]
        for key in (bench.own[1], bench.authority[1]):
            secrets += [line for line in key.splitlines() if len(line) > 20]
        found = [secret for secret in secrets if secret in service.said()]
        if found:
            raise Failure(f"the log has {found[0]!r}: {service.said()}")


CHECKS = {
    "the commands of docs/operating.md work": follow_page,
    "that check finds mistakes": find_mistakes,
    "a pair of files is shown when it is whole": replace,
    "files that are not right change nothing": refuse,
    "a session is resumed until the certificate changes": resumed,
    "plain HTTP gets nothing, and a cookie is for TLS only": plain,
    "a certificate has the rights of its name": clients,
    "the log has no secret": silent,
}
