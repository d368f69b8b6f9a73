"""Starts the programs that tests and benchmarks talk to, and stops them again.

Whatever is started here listens on the loopback address, on a free port, and is ended by its own
process id. Nothing waits without a bound.
"""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import threading
import time
import urllib.parse

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 30
ANSWER_SECONDS_MAX = 30


class Failure(Exception):
    """Something that was promised did not happen. The message is for the person who reads it."""


class Server:
    """A program that prints where it listens among its first lines. A context manager."""

    # Finds the address in such a line.
    listening = re.compile(r"listening on (https?://\S+)")
    # The variables that the program gets; None: those of this process.
    environment = None

    def __init__(self, *command, log=subprocess.DEVNULL):
        self.command = [str(word) for word in command]
        self.log = log
        self.process = None
        self.url = None

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True, env=self.environment)
        started = threading.Event()
        threading.Thread(target=self._read_output, args=(started,), daemon=True).start()
        if not started.wait(START_SECONDS_MAX) or self.url is None:
            status = self.process.poll()
            self.process.kill()
            self.process.wait()
            raise Failure(f"{' '.join(self.command)} did not start (status {status})")
        return self

    def __exit__(self, kind, *_):
        self.ask_to_end()
        try:
            status = self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "none; it had to be killed"
        if kind is None and status != 0:
            raise Failure(f"{' '.join(self.command)} ended with status {status}")

    def ask_to_end(self):
        """Most programs end with their standard input."""
        self.process.stdin.close()

    def _read_output(self, started):
        for line in self.process.stdout:
            found = self.listening.search(line)
            if found and self.url is None:
                self.url = found[1].rstrip("/")
                started.set()
        started.set()

    @property
    def address(self):
        parts = urllib.parse.urlsplit(self.url)
        return parts.hostname, parts.port

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise Failure("the kernel does not say how much memory is resident")

    def cpu_seconds(self):
        """Processor time that the program has used so far, in user and kernel mode."""
        # The clock of a process, as clock_getcpuclockid() numbers it on Linux.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def connect(self):
        """A connection, over TLS if the program speaks it, whose certificate is not verified."""
        if self.url.startswith("https:"):
            return http.client.HTTPSConnection(
                *self.address, timeout=ANSWER_SECONDS_MAX,
                context=ssl._create_unverified_context())
        return http.client.HTTPConnection(*self.address, timeout=ANSWER_SECONDS_MAX)

    def ask(self, method, path, body=None, headers=None, expect=(200, 201, 204)):
        """One request on a connection of its own. Returns status, headers and body."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if expect and answer.status not in expect:
            raise Failure(f"{method} {path} answered {answer.status}: {text[:200]!r}")
        return answer.status, answer.headers, text

    def ask_json(self, path):
        return json.loads(self.ask("GET", path)[2])


class Latchkey(Server):
    """`latchkey serve` on a free port. Limits are those of LATCHKEY_LIMITS, by their names."""

    def __init__(self, binary, *options, log=subprocess.DEVNULL, limits=None):
        super().__init__(binary, "serve", "--port", "0", *options, log=log)
        if limits:
            text = ",".join(f"{name}={value}" for name, value in limits.items())
            self.environment = {**(self.environment or os.environ), "LATCHKEY_LIMITS": text}

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def metrics(self):
        """The samples of /metrics: the name with its labels, as written, and the value."""
        samples = {}
        for line in self.ask("GET", "/metrics")[2].decode().splitlines():
            if line and not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                samples[series] = float(value)
        return samples


def events(answer):
    """The server-sent events of an answer: type, data and id; the last whole one if it is cut."""
    event = data = number = None
    for line in answer:
        if not line.endswith(b"\n"):
            return
        line = line.decode().rstrip("\r\n")
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            data = json.loads(line[6:])
        elif line.startswith("id: "):
            number = line[4:]
        elif not line and event:
            yield event, data, number
            event = data = number = None


def create_token(binary, lines, name, *grants):
    """Adds a token to a file of them, and returns it."""
    words = [word for grant in grants for word in ("--grant", grant)]
    return subprocess.run(
        [binary, "token", "create", name, *words, "--token-file", lines], capture_output=True,
        text=True, timeout=ANSWER_SECONDS_MAX, check=True).stdout.strip()
