#!/usr/bin/env python3
"""Starts the program and tests one of each feature, before the long tests.

    Tests/smoke/run.py --binary .build-debug/debug/latchkey

Services listen on the loopback address. Nothing is measured: each case waits for its results. Needs
only the standard library and openssl.
"""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import termios
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

import lives  # noqa: E402
from process import (PATIENCE_SECONDS, Failure, Latchkey, await_true,  # noqa: E402
                     create_certificate, create_token, events, expect)


class Service(Latchkey):
    """A service whose log is in a file."""

    def __init__(self, case, *options):
        super().__init__(case.binary, *options, log=case.folder / "log")

    def __enter__(self):
        return super().__enter__().await_ready()

    def send(self, status, method, path, body=None, headers=None):
        """The header fields and the body of an answer with this status."""
        found, fields, text = self.ask(method, path, body, headers, expect=None)
        expect(f"{method} {path}", found, status)
        return fields, text.decode()

    def ends_well(self):
        self.ask_to_end()
        expect("the status after SIGTERM", self.process.wait(PATIENCE_SECONDS), 0)
        self.was_ended = True


class Case:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def run(self, *words, status=0, url=None, text=None):
        """The output of a command."""
        words = [self.binary, *words]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              input=text, timeout=PATIENCE_SECONDS, check=False,
                              env={**os.environ, **({"LATCHKEY_URL": url} if url else {})})
        if done.returncode != status:
            raise Failure(f"{words[1:]}: status {done.returncode}, not {status}: {done.stderr}")
        return done.stdout if status == 0 else done.stderr


def one_of_each(service):
    """A request of each kind, a watch and a long poll."""
    fields, _ = service.send(201, "PUT", "/v1/properties/a", '{"a": 1}')
    tag = fields["ETag"]
    expect("a value", service.send(200, "GET", "/v1/properties/a")[1], '{"a": 1}')
    expect("a merge", service.send(200, "PATCH", "/v1/properties/a", '{"b":2}')[1],
           '{"a": 1,"b":2}')
    service.send(412, "PUT", "/v1/properties/a", "3", {"If-Match": tag})
    expect("a sum", service.send(200, "POST", "/v1/properties/n/increment", '{"by":4}')[1], "4")
    key = {"Idempotency-Key": "key"}
    for _ in range(2):
        _, text = service.send(200, "POST", "/v1/properties/n/increment", headers=key)
        expect("a repeated increment", text, "5")
    body = {"if": [{"name": "n", "equals": 5}], "then": [{"put": "t", "value": 1}]}
    _, text = service.send(200, "POST", "/v1/transactions", json.dumps(body))
    expect("a transaction", json.loads(text)["succeeded"], True)
    names = [row["name"] for row in service.ask_json("/v1/properties")["properties"]]
    expect("the names", names, ["a", "n", "t"])
    watch(service)
    service.send(204, "DELETE", "/v1/properties/t")
    service.send(404, "GET", "/v1/properties/t")
    for page in ("/healthz", "/readyz?verbose", "/metrics", "/version", "/openapi.yaml", "/",
                 "/v1/overview", "/v1/contention", "/v1/strategies", "/v1/strategy"):
        service.send(200, "GET", page)


def watch(service):
    """A watch and a long poll get a change that is made while they wait."""
    connection = service.connect()
    connection.request("GET", "/v1/watch?name=w")
    stream = events(connection.getresponse())
    found = []

    def poll():
        found.append(service.send(200, "GET", "/v1/properties/w?after=0&wait=60")[1])

    waiting = threading.Thread(target=poll)
    waiting.start()
    await_true("both wait", lambda: len(service.ask_json("/v1/watches")["watches"]) == 2)
    service.send(201, "PUT", "/v1/properties/w", "7")
    event, data, _ = next(stream)
    expect("an event", (event, data["name"], data["value"]), ("put", "w", 7))
    waiting.join(PATIENCE_SECONDS)
    expect("a long poll", found, ["7"])
    connection.close()
    service.send(204, "DELETE", "/v1/properties/w")


def in_memory(case):
    with Service(case) as service:
        one_of_each(service)
        service.ends_well()
        if re.search(r" (error|warning) ", service.said()):
            raise Failure(f"the log complains: {service.said()}")


def on_disk(case):
    """Answered writes are there after kill -9, and a folder serves one process."""
    data = ("--data", case.folder / "data")
    with Service(case, *data) as service:
        one_of_each(service)
        revision = service.send(200, "GET", "/v1/properties/n")[0]["ETag"]
        case.run("serve", "--port", "0", *data, status=1)
        service.kill()
    with Service(case, *data) as service:
        fields, text = service.send(200, "GET", "/v1/properties/n")
        expect("a value after kill -9", (text, fields["ETag"]), ("5", revision))
        fields, text = service.send(200, "POST", "/v1/properties/n/increment",
                                    headers={"Idempotency-Key": "key"})
        expect("a repeat after kill -9", (text, fields["Idempotency-Replayed"]), ("5", "true"))
        service.ends_well()
    case.run("check", case.folder / "data")


def encrypted(case):
    """TLS and tokens, and both files read again at SIGHUP."""
    folder, tokens = case.folder, case.folder / "tokens"
    certificate, key = create_certificate(folder)
    ann = create_token(case.binary, tokens, "ann", "read,write")
    flags = ("--tls-certificate", certificate, "--tls-key", key)
    with Service(case, *flags, "--token-file", tokens) as service:
        headers = {"Authorization": f"Bearer {ann}"}
        service.send(401, "PUT", "/v1/properties/a", "1")
        service.send(201, "PUT", "/v1/properties/a", "1", headers)
        bob = create_token(case.binary, tokens, "bob", "read")
        former = ssl.get_server_certificate(service.address)
        create_certificate(folder)
        service.process.send_signal(signal.SIGHUP)
        headers = {"Authorization": f"Bearer {bob}"}
        await_true("a new token counts", lambda: service.ask(
            "GET", "/v1/properties/a", headers=headers, expect=None)[0] == 200)
        service.send(403, "PUT", "/v1/properties/a", "2", headers)
        await_true("a new certificate is shown",
                   lambda: ssl.get_server_certificate(service.address) != former)

        def distrust():
            """A client that does not trust the certificate says so, and the log repeats it: unless
            bytes that the service has sent meanwhile reset the connection before that is read."""
            with contextlib.suppress(ssl.SSLCertVerificationError), \
                    socket.create_connection(service.address) as plain:
                ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")
            return "the client says: CA is unknown" in service.said()

        await_true("the log says why", distrust)
        case.run("health", "--port", service.address[1], *flags[:2])
        service.ends_well()


def followed(case):
    """A follower has the leader's state, refuses changes, and leads after a promotion."""
    with Service(case) as leader, Service(case, "--follow", leader.url) as follower:
        tag = leader.send(201, "PUT", "/v1/properties/a", "1")[0]["ETag"]
        fields, text = follower.send(
            200, "GET", f"/v1/properties/a?min-revision={tag.strip(chr(34))}")
        expect("a value of the leader", (text, fields["ETag"]), ("1", tag))
        fields, _ = follower.send(421, "PUT", "/v1/properties/a", "2")
        expect("the leader", fields["Latchkey-Leader"], leader.url)
        leader.ends_well()
        case.run("promote", url=follower.url)
        follower.send(204, "PUT", "/v1/properties/a", "2")
        follower.ends_well()


def drained(case):
    """SIGTERM ends watches with a last event, and a request in progress is answered."""
    with Service(case) as service:
        connection = service.connect()
        connection.request("GET", "/v1/watch")
        stream = connection.getresponse()
        expect("the status of a watch", stream.status, 200)
        # A request whose body has not arrived.
        half = service.connect()
        half.putrequest("PUT", "/v1/properties/a")
        half.putheader("Content-Length", "2")
        half.putheader("Expect", "100-continue")
        half.endheaders()
        expect("an interim answer", half.sock.recv(1 << 10)[:12], b"HTTP/1.1 100")
        service.ask_to_end()
        last = [event for event, _, _ in events(stream)]
        expect("the last event", last[-1:], ["close"])
        half.send(b"12")
        expect("a request in flight", half.getresponse().status, 201)
        expect("the status", service.process.wait(PATIENCE_SECONDS), 0)
        service.was_ended = True


def command_line(case):
    """The client commands, and the information about the program."""
    with Service(case) as service:
        url = service.url
        case.run("put", "a/1", '{"x": 1}', url=url)
        expect("get", case.run("get", "a/1", url=url).strip(), '{"x": 1}')
        expect("merge", case.run("merge", "a/1", '{"y":2}', url=url).strip(), '{"x": 1,"y":2}')
        expect("increment", case.run("increment", "n", "3", url=url).strip(), "3")
        case.run("put", "a/2", "-", url=url, text='"in"')
        case.run("put", "a/1", "1", "--if-absent", url=url, status=4)
        case.run("touch", "a/2", "--ttl", "1h", url=url)
        expect("count", case.run("count", "a/", url=url).strip(), "2")
        expect("list", case.run("list", "a/", "--names", url=url).split(), ["a/1", "a/2"])
        case.run("txn", '{"if": [{"name": "n", "equals": 3}], "then": [{"delete": "n"}]}', url=url)
        case.run("get", "n", url=url, status=3)
        said = case.run("watch", "a/1", "--initial", "--count", "1", url=url)
        expect("watch", said.split()[:2], ["put", "a/1"])
        # A reader that leaves ends the watch, before there is another event.
        watch = subprocess.Popen([case.binary, "watch", "a/1", "--initial"], text=True,
                                 stdout=subprocess.PIPE, env={**os.environ, "LATCHKEY_URL": url})
        expect("a line of a watch", watch.stdout.readline().split()[:2], ["put", "a/1"])
        watch.stdout.close()
        expect("the status of a watch without a reader", watch.wait(PATIENCE_SECONDS), 0)
        case.run("export", "-o", case.folder / "all", url=url)
        case.run("delete", "--prefix", "a/", url=url)
        case.run("import", case.folder / "all", url=url)
        expect("no difference", case.run("diff", case.folder / "all", url, url=url), "")
        case.run("put", "a/3", "1", url=url)
        case.run("diff", case.folder / "all", url, url=url, status=1)
        case.run("diff", case.folder / "all", case.folder / "none", url=url, status=2)
        case.run("diff", "http://127.0.0.1:1", "-", text="", url=url, status=2)
        case.run("delete", "a/3", url=url)
        dump = '{"header":{},"kvs":[{"key":"YS8z","value":"NQ=="},{"key":"AQ==","value":"NQ=="}]}'
        said = case.run("import", "--from", "etcd", text=dump, url=url, status=2)
        expect("keys that cannot be imported", "1 of 2 keys" in said, True)
        words = ("import", "--from", "etcd", "--partial")
        expect("import", case.run(*words, text=dump, url=url), "1\n")
        dump = '[{"key":"a/3","flags":0,"value":"Ng=="}]'
        expect("import", case.run("import", "--from", "consul", text=dump, url=url), "1\n")
        expect("a key of Consul", case.run("get", "a/3", url=url), "6\n")
        case.run("delete", "a/3", url=url)
        expect("pop", case.run("pop", "a/", url=url).split()[0], "a/1")
        expect("lock", case.run("lock", "l", "--", "echo", "held", url=url).strip(), "held")
        expect("switch", case.run("switch", "adaptive", url=url).split()[:4],
               ["from", "lock", "to", "adaptive"])
        case.run("switch", "hope", url=url, status=2)
        case.run("top", "--once", url=url)
        service.ends_well()
    case.run("get", "a", url="http://127.0.0.1:1", status=1)
    for words in (("--version",), ("--help",), ("serve", "--help"), ("strategies",),
                  ("completion", "--words"), ("completion", "bash"),
                  ("check-config", "--port", "0")):
        if not case.run(*words):
            raise Failure(f"{words} says nothing")


def begin_in_terminal():
    """Standard input becomes the terminal of this process, and no signal is ignored: in the
    programs in its background, a shell ignores the signals of keys."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
                   signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A command in the foreground of a terminal of its own."""

    def __init__(self, case, url, *words, shell=False):
        self.keys, end = os.openpty()
        words = [str(word) for word in words]
        self.process = subprocess.Popen(
            " ".join(words) if shell else words, shell=shell, stdin=end, stdout=end, stderr=end,
            start_new_session=True, env={**os.environ, "LATCHKEY_URL": url},
            preexec_fn=begin_in_terminal)
        os.close(end)
        self.shown = ""

    def await_text(self, text):
        def look():
            if select.select([self.keys], [], [], 0)[0]:
                with contextlib.suppress(OSError):  # EIO: no process has the terminal any more.
                    self.shown += os.read(self.keys, 1 << 10).decode()
            return text in self.shown
        await_true(f"the terminal shows {text!r}", look)

    def press(self, keys):
        os.write(self.keys, keys)

    def ends(self, *statuses):
        status = self.process.wait(PATIENCE_SECONDS)
        if status not in statuses:
            raise Failure(f"status {status}, not {statuses}: {self.shown}")


def terminals(case):
    """A command under a lock reads the terminal and gets its keys; a stopped one ends."""
    with Service(case) as service:
        def hold(script, *words):
            return Terminal(case, service.url, case.binary, *words, "l", "--", "sh", "-c", script)

        def is_free():
            service.send(404, "GET", "/v1/properties/l")

        held = hold("read -r word; echo got $word", "lock")
        held.press(b"hello\n")
        held.await_text("got hello")
        held.ends(0)
        for key, statuses in ((b"\x03", (130,)), (b"\x1c", (131,)), (b"\x1a", (143,))):
            for command in ("lock", "elect") if key != b"\x1a" else ("lock",):
                held = hold("echo ready; read -r word", command)
                held.await_text("ready")
                held.press(key)
                held.ends(*statuses)
                is_free()
        # The signal of a key also reaches the shell that waits for the program.
        held = Terminal(case, service.url, case.binary, "lock l -- sh -c 'echo ready; read -r word'"
                        "; echo went on", shell=True)
        held.await_text("ready")
        held.press(b"\x03")
        held.ends(-signal.SIGINT, 130)
        # With a pipe after it, the terminal may belong to another program.
        held = Terminal(case, service.url, case.binary, "lock l -- sh -c 'read -r word </dev/tty'",
                        "| cat", shell=True)
        held.await_text("without a pipe")
        held.ends(0)
        is_free()
        # Nor can it read the terminal as standard input, which is empty then.
        held = Terminal(case, service.url, case.binary,
                        "lock l -- sh -c 'read -r word || echo nothing'", "| cat", shell=True)
        held.await_text("nothing")
        held.ends(0)
        is_free()
        # The terminal is closed.
        held = hold("echo ready; read -r word", "lock")
        held.await_text("ready")
        os.close(held.keys)
        # It ends by the signal, or by the error of the read.
        held.ends(128 + signal.SIGHUP, 1)
        is_free()
        service.ends_well()


def mistakes(case):
    """A message with status 2, or 1 for mistakes that only a start finds."""
    for words, status, sentence in (
            (("serve", "--no-such-flag"), 2, "--no-such-flag"),
            (("serve", "--port", "x"), 2, "--port"),
            (("serve", "--port", "0", "--port", "0"), 2, "--port"),
            (("no-such-command",), 2, "no-such-command"),
            (("serve", "--port", "0", "--host", "0.0.0.0"), 2, "--token-file"),
            (("serve", "--port", "0", "--token-file", case.folder / "none"), 1, "token create")):
        said = case.run(*words, status=status)
        if sentence not in said:
            raise Failure(f"{words}: {said!r} does not name {sentence!r}")


CASES = {"in memory": in_memory, "on disk": on_disk, "TLS and tokens": encrypted,
         "a follower": followed, "a drain": drained, "the command line": command_line,
         "a terminal": terminals, "mistakes": mistakes, **lives.cases(Service)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    binary, failed, absent = os.path.abspath(parser.parse_args().binary), 0, 0
    for name, check in CASES.items():
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="latchkey-") as folder:
            try:
                # A case may return what was not tried, and the reason.
                said = check(Case(binary, pathlib.Path(folder)))
                word, absent = said or "ok", absent + bool(said)
            except Exception as error:  # noqa: BLE001
                word, failed = f"FAILED: {type(error).__name__}: {error}", failed + 1
        print(f"{word}: {name} ({time.monotonic() - began:.1f} s)", flush=True)
    print(f"\n{len(CASES) - failed - absent} passed, {failed} failed, {absent} not tried")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
