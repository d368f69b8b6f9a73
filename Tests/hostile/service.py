"""Runs `latchkey serve` as a process of its own and watches it from outside.

Design: the main thread drives the clients. Each stream of the service has a thread that reads it
for as long as it is open, so that the service never waits for a reader unless a case wants that.
Only counts and the first part of a log are kept, because a log may be endless.
"""

import os
import re
import resource
import select
import signal
import subprocess
import ssl
import threading
import time
import http.client

import certificates
from process import PATIENCE_SECONDS, Failure, Latchkey, Refused

KEPT_BYTES_MAX = 4 << 20
LISTENING = re.compile(rb"listening on https?://([^\s/]+):(\d+)")
# Among the options: the service makes a certificate for itself, and all its clients speak TLS.
ENCRYPTED = ("TLS",)
MODES = {"plain": (), "tls": ENCRYPTED}
TLS_MODES = ("tls",)
CRASH = re.compile(rb"Fatal|[Pp]anic|Sanitizer|abort|Assertion|Illegal|Segmentation|\*\*\* ")


class Address(tuple):
    """Where a service is: a host and a port. With `context`, its clients speak TLS."""

    context = None


def client_context(certificate=None, least=ssl.TLSVersion.TLSv1_2):
    """What a client needs for TLS. It takes every certificate: the cases compare them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = least
    if certificate:
        context.load_cert_chain(certificate.chain, certificate.key)
    return context


def is_encrypted(mode):
    return ENCRYPTED[0] in MODES[mode]


class Stream:
    """What a descriptor delivers: the first part as bytes, the rest as counts."""

    def __init__(self, descriptor):
        self.kept, self.bytes, self.lines = bytearray(), 0, 0
        self.descriptor = descriptor
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while data := os.read(self.descriptor, 1 << 16):
            self.bytes += len(data)
            self.lines += data.count(b"\n")
            self.kept += data[:max(0, KEPT_BYTES_MAX - len(self.kept))]
        os.close(self.descriptor)


class Service(Latchkey):
    """`latchkey serve` on a free port of the loopback address. A context manager.

    `files` is the soft and the hard limit of descriptors. `closed` are the standard streams that
    are closed when the program starts. `log` is a descriptor that gets the log instead of us.
    `hang_up` is what SIGHUP does at the start, "default" or "ignore", as `nohup` has it. Else a
    child would inherit that from us, and `nohup make test` would be another test. `share` is that
    of one client: as a rule all, because the clients of most cases have one address.
    """

    # Where it is, once it is known.
    address = None

    def __init__(self, binary, *options, files=None, closed=(), log=None, hang_up="default",
                 share="1/1"):
        self.certificate = None
        if ENCRYPTED[0] in options:
            self.certificate = certificates.Certificate("localhost")
            options = [option for option in options if option != ENCRYPTED[0]]
            options += self.certificate.options()
        super().__init__(binary, "--client-share", share, *options)
        self.command = ["env", f"--{hang_up}-signal=HUP", *self.command]
        self.files, self.closed, self.given_log = files, closed, log
        self.log = self.output = None

    def __enter__(self):
        log_end, log_start = (None, self.given_log) if self.given_log is not None else os.pipe()
        output_end, output_start = os.pipe()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=output_start, stderr=log_start,
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no"},
            preexec_fn=self._prepare if self.files or self.closed else None)
        self.exit_event = os.pidfd_open(self.process.pid)
        os.close(output_start)
        self.output = Stream(output_end)
        if log_end is not None:
            os.close(log_start)
            self.log = Stream(log_end)
        self.address = Address(self._listening_address())
        if "--tls-certificate" in self.command:
            self.address.context = client_context()
        return self

    def _prepare(self):
        if self.files:
            resource.setrlimit(resource.RLIMIT_NOFILE, self.files)
        for descriptor in self.closed:
            os.close(descriptor)

    def _listening_address(self):
        if 1 in self.closed:
            return "127.0.0.1", self._wait(listening_port, "does not listen")
        found = self._wait(lambda _: LISTENING.search(self.output.kept), "did not say where")
        return found[1].decode(), int(found[2])

    def _wait(self, ask, complaint):
        """Asks until there is an answer, the process has ended, or the time to start is up."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not (answer := ask(self.process.pid)):
            if self.ended_within(0.01):
                status = self.wait(0)
                raise Refused(status, self.log.kept.decode(errors="replace") if self.log else "")
            if time.monotonic() > until:
                self.kill()
                raise Failure(f"the service {complaint} within {PATIENCE_SECONDS} s")
        return answer

    def __exit__(self, *_):
        self.kill()
        os.close(self.exit_event)
        if self.certificate:
            self.certificate.remove()

    def ended_within(self, seconds):
        poll = select.poll()
        poll.register(self.exit_event, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=PATIENCE_SECONDS):
        """The exit status, negative for a signal, or None if the process does not end."""
        if not self.ended_within(seconds):
            self.kill()
            return None
        status = self.process.wait()
        for stream in (self.output, self.log):
            if stream is not None:
                stream.thread.join(5)
        return status

    def target(self, path):
        scheme = "https" if self.address.context else "http"
        return "{}://{}:{}{}".format(scheme, *self.address, path)

    def connection(self, seconds=PATIENCE_SECONDS, **options):
        """A new connection for requests."""
        if self.address.context:
            options = {"context": self.address.context, **options}
            return http.client.HTTPSConnection(*self.address, timeout=seconds, **options)
        return http.client.HTTPConnection(*self.address, timeout=seconds, **options)

    def ask(self, method, path, body=None, headers=None, seconds=PATIENCE_SECONDS):
        """One request on a connection of its own. Returns status, headers and body."""
        connection = self.connection(seconds)
        try:
            connection.request(method, path, body, {"Host": "127.0.0.1", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def says_cut(self):
        """Whether the log says that the end came before all was answered."""
        return re.search(rb"cut|too early", self.log.kept, re.IGNORECASE) is not None

    def crash(self):
        """The place of the log that speaks of a crash, or None."""
        kept = bytes(self.log.kept)
        found = CRASH.search(kept)
        return kept[max(0, found.start() - 80):found.end() + 120] if found else None


def listening_port(pid):
    """The port on which a process listens, as the kernel has it, or None."""
    sockets = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                return int(words[1].split(":")[1], 16)
    return None


def say_status(status):
    if status is None:
        return "did not end"
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
