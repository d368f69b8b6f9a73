"""Runs `latchkey serve` as a process of its own and watches it from outside."""

import os
import pathlib
import re
import resource
import signal
import ssl
import tempfile

import certificates
from process import PATIENCE_SECONDS, Latchkey, await_true

# Among the options: the service makes itself a certificate, and all its clients speak TLS.
ENCRYPTED = ("TLS",)
MODES = {"plain": (), "tls": ENCRYPTED}
TLS_MODES = ("tls",)
CRASH = re.compile(r"Fatal|[Pp]anic|Sanitizer|abort|Assertion|Illegal|Segmentation|\*\*\* ")


class Address(tuple):
    """The address of a service: a host and a port. With `context`, its clients speak TLS."""

    context = None


def client_context(certificate=None, least=ssl.TLSVersion.TLSv1_2):
    """A client's TLS context. It takes every certificate: the cases compare them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = least
    if certificate:
        context.load_cert_chain(certificate.chain, certificate.key)
    return context


def is_encrypted(mode):
    return ENCRYPTED[0] in MODES[mode]


class Service(Latchkey):
    """`latchkey serve` on a free port of the loopback address. A context manager.

    `files` is the soft and the hard limit of descriptors. `closed` are the standard streams that
    are closed when the program starts. `log` is a descriptor that gets the log instead of a file.
    `hang_up` is the disposition of SIGHUP at the start, "default" or "ignore", as after `nohup`; a
    child would inherit ours, and `nohup make test` would be another test. `share` is that of one
    client: usually all, because the clients of most cases have one address.
    """

    def __init__(self, binary, *options, files=None, closed=(), log=None, hang_up="default",
                 share="1/1"):
        self.certificate = self.context = None
        if ENCRYPTED[0] in options:
            self.certificate = certificates.Certificate("localhost")
            options = [option for option in options if option != ENCRYPTED[0]]
            options += self.certificate.options()
        self.folder = tempfile.TemporaryDirectory(prefix="latchkey-")
        super().__init__(binary, "--client-share", share, *options,
                         log=pathlib.Path(self.folder.name) / "log" if log is None else log,
                         variables={"SWIFT_BACKTRACE": "enable=no"})
        self.command = ["env", f"--{hang_up}-signal=HUP", *self.command]
        self.files, self.closed = files, closed
        # Only where needed: code between fork and exec is unsafe in a process with threads.
        self.prepare = self._prepare if files or closed else None
        if "--tls-certificate" in self.command:
            self.context = client_context()

    def _prepare(self):
        if self.files:
            resource.setrlimit(resource.RLIMIT_NOFILE, self.files)
        for descriptor in self.closed:
            os.close(descriptor)

    def _read_output(self, started):
        """Finds the port of a service whose standard output is closed."""
        if 1 in self.closed:
            port = await_true("the service listens", lambda: not self.is_running()
                              or listening_port(self.process.pid))
            if port is not True:
                self.url = f"{'https' if self.context else 'http'}://127.0.0.1:{port}"
            started.set()
        super()._read_output(started)

    def __exit__(self, *_):
        self.kill()
        self.folder.cleanup()
        if self.certificate:
            self.certificate.remove()

    @property
    def address(self):
        found = Address(super().address)
        found.context = self.context
        return found

    def ended_within(self, seconds):
        return self._wait(seconds) is not None

    def terminate(self):
        self.ask_to_end()

    def wait(self, seconds=PATIENCE_SECONDS):
        """The exit status, negative for a signal, or None if the process does not end."""
        status = self._wait(seconds)
        self.kill()
        return status

    def ask(self, method, path, body=None, headers=None, expect=None):
        return super().ask(method, path, body, headers, expect)

    def lines(self):
        """The number of lines in the log."""
        return self.said().count("\n")

    def says_cut(self):
        """Whether the log says that the service ended before all was answered."""
        return "CutOff=" in self.said()

    def crash(self):
        """The place of the log that reports a crash, or None."""
        said = self.said()
        found = CRASH.search(said)
        return said[max(0, found.start() - 80):found.end() + 120] if found else None


def listening_port(pid):
    """The port on which a process listens according to the kernel, or None."""
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
