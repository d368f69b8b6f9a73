"""A client in a driver process, and what a case may do with it."""

import contextlib
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading

import process
from process import Failure, expect
from service import Service

# The packages have a class for each of these errors; the command line has a shared status.
SAME_STATUS = {
    "NotLatchkey": "Unreachable", "Unauthorized": "Busy", "Forbidden": "Busy", "Full": "Busy",
    "NotAnInteger": "Unreachable|Busy", "Gone": "Unreachable|Busy",
    "Problem": "Unreachable|Busy"}
END_SECONDS = 5
TRIES = 10
TOKEN = "secret-of-the-case"
# The limit of each wait, in seconds; authors of cases set a shorter one with --patience.
patience = process.PATIENCE_SECONDS


def await_true(what, holds):
    process.await_true(what, holds, patience)


class NotSupported(Exception):
    """The client has no such call."""


class Failed(Exception):
    def __init__(self, error, text):
        super().__init__(f"{error}: {' '.join(text.split())[:200]}")
        self.error, self.text = error, text


class Pending:
    """A call whose answer may still come."""

    def __init__(self, number, what):
        self.number, self.what, self.answers = number, what, queue.Queue()
        self.error = None

    def is_over(self):
        return not self.answers.empty()

    def result(self):
        try:
            answer = self.answers.get(timeout=patience)
        except queue.Empty:
            raise Failure(f"{self.what} did not end") from None
        if "error" not in answer:
            return answer.get("ok")
        self.error = answer["error"]
        if self.error == "NotSupported":
            raise NotSupported
        raise Failed(answer["error"], answer.get("text", ""))


class Driver:
    """A driver process that runs cases one after the other, or a listening one. It ends when a case
    fails.
    """

    def __init__(self, command=(), environment=(), listening=None):
        self.command = [str(word) for word in command]
        self.environment = {**os.environ, **dict(environment)}
        self.process, self.source, self.pending = None, None, {}
        self.is_warm = False
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        if listening:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(listening)
            self._use(connection.makefile("r"), connection.makefile("w"))
            connection.close()

    def start(self, call, arguments):
        if self.source is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=self.environment, stderr=None if "-v" in sys.argv else subprocess.DEVNULL)
            self._use(self.process.stdout, self.process.stdin)
        pending = Pending(next(self.numbers), call)
        self.pending[pending.number] = pending
        line = json.dumps({"id": pending.number, "call": call, "args": arguments})
        with self.lock:
            try:
                # JSON has no literal for infinity.
                self.sink.write(line.replace("Infinity", "1e999") + "\n")
                self.sink.flush()
            except OSError as error:
                raise Failure(f"the driver has ended: {error}") from error
        return pending

    def _use(self, source, sink):
        self.source, self.sink, self.pending = source, sink, {}
        threading.Thread(target=self._read, args=(source, self.pending), daemon=True).start()

    @staticmethod
    def _read(source, pending):
        for line in source:
            answer = json.loads(line)
            pending.pop(answer["id"]).answers.put(answer)
        for each in list(pending.values()):
            each.answers.put({"error": "DriverEnded", "text": "before its answer"})

    def end(self):
        """Ends the driver, and its children if it can."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if self.source:
                self.sink.close()
            if self.process:
                self.process.wait(END_SECONDS)
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process, self.source, self.is_warm = None, None, False


class Try:
    """One case with one client."""

    def __init__(self, client, driver, binary):
        self.client, self.driver, self.binary = client, driver, binary
        self.services, self.texts = [], []
        # No client may send a request to it: redirects and problems name it.
        self.elsewhere = self.serve()

    def serve(self, script=None, **options):
        self.services.append(Service(self.binary, script, **options))
        return self.services[-1]

    def open(self, script=None, urls=None, short=False, **options):
        """A client of a new service.

        `short`: its calls end soon, for cases that wait for that. A busy machine may send no
        request within such a time; `doubtful` allows for that. All other calls end by answers.
        """
        if not self.driver.is_warm:
            # A process starts slowly; that must not use up a short time.
            self.driver.is_warm = True
            self.open()
            self.call("find", name="none")
        service = self.serve(script)
        # "At once" means much less than these seconds; no case waits that long.
        times = {"timeout": 1, "patience": 2} if short else {
            "timeout": 5 * patience, "patience": 5 * patience}
        self.call("open", **{"urls": urls or [service.url], **times, **options})
        self.service, self.store = service, service.store
        if "*" not in service.script:
            # Starts the store now, so that its start is no part of a call.
            self.store.address()
        return service

    def start(self, call, /, **arguments):
        return self.driver.start(call, arguments)

    def call(self, name, /, **arguments):
        return self.start(name, **arguments).result()

    def gives(self, wanted, call, /, **arguments):
        found = self.call(call, **arguments)
        if not (wanted(found) if callable(wanted) else found == wanted):
            raise Failure(f"{call} gives {found!r}, not {wanted!r}")
        return found

    def fails(self, wanted, call, /, **arguments):
        """Expects that the call fails with one of these errors. Returns the error's text."""
        pending = call if isinstance(call, Pending) else self.start(call, **arguments)
        if self.client == "command-line":
            wanted = "|".join(SAME_STATUS.get(each, each) for each in wanted.split("|"))
        try:
            found = pending.result()
        except Failed as failed:
            self.texts.append(failed.text)
            if failed.error in wanted.split("|"):
                return failed.text
            raise Failure(f"{pending.what} ends with {failed}, not {wanted}") from None
        raise Failure(f"{pending.what} gives {found!r}, not {wanted}")

    def doubtful(self, call, /, **arguments):
        """Expects `OutcomeUnknown` for a write, or `Unreachable` if it was not sent in time."""
        pending = call if isinstance(call, Pending) else self.start(call, **arguments)
        self.fails("OutcomeUnknown|Unreachable", pending)
        if pending.error == "Unreachable" and [
                each for each in self.service.requests if each.method != "GET"]:
            raise Failure(f"{pending.what} was sent, and ends with Unreachable")

    def at_last(self, wanted, call, /, **arguments):
        """Like `fails`, with some more tries: a client ends its call by a clock, and a busy machine
        may be late then.
        """
        for _ in range(TRIES - 1):
            with contextlib.suppress(Failure):
                return self.fails(wanted, call, **arguments)
        return self.fails(wanted, call, **arguments)

    def cancel(self, pending):
        self.call("cancel", call=pending.number)
        self.fails("Cancelled", pending)

    # The requests that the service got

    def count(self, kind, wanted):
        expect(f"requests of the kind {kind}", len(self.service.of(kind)), wanted)

    def seen(self, kind, count=1, service=None):
        """Waits for this number of requests. Returns the last one of them."""
        service = service or self.service
        await_true(f"request {count} of the kind {kind}",
                   lambda: len(service.of(kind)) >= count)
        return service.of(kind)[count - 1]

    def over(self, request):
        """Waits until its answer was sent, or its connection closed."""
        await_true(f"the end of {request.method} {request.target}", lambda: request.is_over)

    def one_key(self, kind, least=2):
        """Expects that all requests of the kind have the same key."""
        keys = [request.key for request in self.service.of(kind)]
        if len(keys) < least or len(set(keys)) != 1 or not keys[0]:
            raise Failure(f"the keys of {kind} are {keys}")

    def becomes(self, name, wanted):
        await_true(lambda: f"{name} becomes {wanted!r}, now {self.store.value(name)!r}",
                   lambda: self.store.value(name) == wanted)

    def changes(self, name, before):
        await_true(f"{name} is no longer {before!r}", lambda: self.store.value(name) != before)

    def let(self, gate):
        self.service.gates.add(gate)

    def finish(self):
        """Checks the rules that every case must keep."""
        for text in self.texts:
            if TOKEN in text:
                raise Failure(f"a token is in {text!r}")
        if self.elsewhere.requests:
            raise Failure(f"an address of an answer was asked: {self.elsewhere.requests}")

    def close(self):
        for service in self.services:
            service.close()
