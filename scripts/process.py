"""Starts the programs that tests and benchmarks talk to, and stops them again.

The programs listen on the loopback address, on a free port, and are ended by their own process ids.
No wait is without a limit.
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

# The limit of each wait, however busy the machine is. It promises nothing to users.
PATIENCE_SECONDS = 120
START_SECONDS_MAX = PATIENCE_SECONDS
STOP_SECONDS_MAX = PATIENCE_SECONDS
ANSWER_SECONDS_MAX = PATIENCE_SECONDS
ETCD = pathlib.Path(__file__).resolve().parent.parent / ".build-tools/bin/etcd"


class Failure(Exception):
    """A promise was broken. The message is for people."""


class Refused(Failure):
    """The program did not start, or ended by itself."""

    def __init__(self, status, log):
        super().__init__(f"status {status}: {log.strip()[-600:]}")
        self.status, self.log = status, log


def await_true(what, holds, seconds=PATIENCE_SECONDS):
    """Waits until it holds, and returns its result. `what` may be a function that describes it."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise Failure(f"it never came: {what() if callable(what) else what}")
        # Another process does not report its progress, so this polls.
        time.sleep(0.01)
    return found


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f"{what}: {str(found)[:400]!r}, not {str(wanted)[:400]!r}")


def run(*words, statuses=(0,), timeout=10 * PATIENCE_SECONDS, **options):
    """Runs a command, which must end with one of these statuses. Returns its output."""
    try:
        done = subprocess.run(
            [str(word) for word in words], text=True, timeout=timeout, check=False, **{
                "stdin": None if "input" in options else subprocess.DEVNULL,
                "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
    except subprocess.TimeoutExpired as error:
        raise Failure(str(error)) from error
    if done.returncode not in statuses:
        raise Failure(f"{' '.join(map(str, words))}: status {done.returncode}: "
                      f"{((done.stdout or '') + (done.stderr or '')).strip()[-1500:]}")
    return done.stdout


def free_port():
    """A port that the kernel gives to no client: one could take it before the program does."""
    while True:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return one.getsockname()[1]


class Server:
    """A program that prints its address among its first lines. A context manager.

    `log` gets what it writes to its standard error: a descriptor, or a path whose file it adds to.
    """

    # Finds the address in such a line.
    listening = re.compile(r"listening on (https?://\S+)")
    # The environment of the program; None: that of this process.
    environment = None
    # Called in the new process before the program begins.
    prepare = None

    def __init__(self, *command, log=subprocess.DEVNULL):
        self.command = [str(word) for word in command]
        self.log = log
        self.process = None
        self.url = None
        # Set when it listens, or when its output has ended.
        self.started = None
        # The test has ended it, and has checked its status.
        self.was_ended = False
        # The place in the file where the log of this start begins.
        self.log_start = 0

    def __enter__(self):
        self.launch()
        is_over = self.started.wait(START_SECONDS_MAX)
        if self.url is None:
            # Its output ends a moment before the process.
            status = self._wait(STOP_SECONDS_MAX if is_over else 0)
            self.kill()
            if status is not None and self.said():
                raise Refused(status, self.said())
            raise Failure(f"{' '.join(self.command)} did not start (status {status})"
                          + self.said()[-600:])
        return self

    def launch(self):
        """Starts it, without waiting until it listens."""
        self.url, self.was_ended = None, False
        if isinstance(self.log, pathlib.PurePath):
            with open(self.log, "ab") as log:
                self.log_start = log.tell()
                self._start(log)
        else:
            self._start(self.log)

    def _start(self, log):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True, env=self.environment, preexec_fn=self.prepare)
        self.started = threading.Event()
        threading.Thread(target=self._read_output, args=(self.started,), daemon=True).start()

    def said(self):
        """The log since the start, if it goes to a file."""
        if not isinstance(self.log, pathlib.PurePath):
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(self.log_start)
            return log.read()

    def last_words(self):
        """Why the program ended by itself, or the end of its log."""
        text = self.said()
        return next((line for line in text.splitlines() if "Fatal error" in line), text[-600:])

    def is_running(self):
        return self.process.poll() is None

    def kill(self):
        """Kills it. Its connections are closed and its files free when this returns."""
        self.was_ended = True
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self, seconds=STOP_SECONDS_MAX):
        """Asks it to end. Returns the status, or None if it had to be killed."""
        self.was_ended = True
        self.ask_to_end()
        status = self._wait(seconds)
        self.kill()
        return status

    def _wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def __exit__(self, kind, *_):
        if self.was_ended:
            return
        status = self.end()
        if kind is None and status != 0:
            raise Failure(f"{' '.join(self.command)} ended with status {status} (None: killed)")

    def ask_to_end(self):
        """Closes its standard input, with which most programs end."""
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
        """A connection, over TLS if the program speaks it, without verifying the certificate."""
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
    """`latchkey serve` on a free port.

    `limits` are those of LATCHKEY_LIMITS, by their names; `variables` are added to those of this
    process.
    """

    def __init__(self, binary, *options, log=subprocess.DEVNULL, limits=None, variables=None):
        super().__init__(binary, "serve", "--port", "0", *options, log=log)
        variables = dict(variables or {})
        if limits:
            variables["LATCHKEY_LIMITS"] = ",".join(
                f"{name}={value}" for name, value in limits.items())
        # Not set in this process: other threads start services meanwhile.
        self.environment = {**os.environ, **variables} if variables else None

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def is_ready(self):
        return self.status_of("/readyz") == 200

    def status_of(self, path):
        """The status of an answer, or None if there is none."""
        try:
            return self.ask("GET", path, expect=None)[0]
        except (OSError, http.client.HTTPException):
            return None

    def await_ready(self):
        """Waits until its data is read, or until it is up to date with other replicas."""
        def is_ready():
            if self.process.poll() is not None:
                raise Refused(self.process.returncode, self.said())
            return self.is_ready()

        try:
            await_true(lambda: f"the service is ready: {self.last_words()}", is_ready)
        except BaseException:
            self.kill()
            raise
        return self

    def metrics(self):
        """The samples of /metrics: the name with its labels, as written, and the value."""
        samples = {}
        for line in self.ask("GET", "/metrics", expect=(200,))[2].decode().splitlines():
            if line and not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                samples[series] = float(value)
        return samples

    def request_count(self, *parts):
        """The number of answered requests, of a kind or all, without requests for metrics."""
        return sum(value for series, value in self.metrics().items()
                   if series.startswith("latchkey_http_requests_total")
                   and "/metrics" not in series and all(part in series for part in parts))


class Etcd:
    """A member of etcd. As a context manager, one that is a cluster of its own.

    `inside` are words before the command. If `options` repeat a flag, the last one is used.
    """

    program, options = ETCD, ()

    def __init__(self, folder, log, name="default", host="127.0.0.1", inside=()):
        self.folder, self.log, self.name = folder, log, name
        self.host, self.inside = host, inside
        self.port, self.process = free_port(), None
        self.url, self.peer_url = f"http://{host}:{self.port}", f"http://{host}:{free_port()}"

    def start(self, members):
        peers = ",".join(f"{each.name}={each.peer_url}" for each in members)
        self.process = subprocess.Popen(
            [*self.inside, self.program, "--name", self.name, "--data-dir", self.folder,
             "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
             "--initial-cluster", peers, "--snapshot-count", "10000", "--log-level", "error",
             *self.options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        self.start([self])
        try:
            await_true("etcd is healthy", self.is_healthy)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        self.kill()

    def is_healthy(self):
        if self.process.poll() is not None:
            raise Failure(f"etcd ended with status {self.process.returncode}")
        try:
            return self.ask("/health").get("health") == "true"
        except (OSError, http.client.HTTPException, ValueError, Failure):
            return False

    def ask(self, path, body=None, seconds=PATIENCE_SECONDS):
        """Asks the JSON gateway."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        try:
            connection.request("GET" if body is None else "POST", path,
                               None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Failure(f"etcd answers {path} with {answer.status}: {text[:300]!r}")
        return json.loads(text)


def events(answer):
    """The server-sent events of an answer: type, data and id; without a last incomplete one."""
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
    """Adds a token to a token file, and returns it."""
    words = [word for grant in grants for word in ("--grant", grant)]
    return subprocess.run(
        [binary, "token", "create", name, *words, "--token-file", lines], capture_output=True,
        text=True, timeout=ANSWER_SECONDS_MAX, check=True).stdout.strip()


def create_certificate(folder, name="localhost"):
    """Makes files with a self-signed certificate for a name, and with its key. Replaces them."""
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
         f"subjectAltName=DNS:{name},IP:127.0.0.1", "-out", f"{files[0]}.new", "-keyout",
         f"{files[1]}.new"], capture_output=True, timeout=ANSWER_SECONDS_MAX, check=True)
    for file in reversed(files):
        os.replace(f"{file}.new", file)
    return files
