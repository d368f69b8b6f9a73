"""The drivers: programs that make the calls of a client, as lines of JSON tell them."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading

from process import PATIENCE_SECONDS, Failure

DRIVERS = pathlib.Path(__file__).resolve().parent.parent / "drivers"
PYTHON = DRIVERS.parent.parent.parent / ".build-tools" / "python" / "bin" / "python"
CLIENTS = ("python", "asyncio", "typescript", "command-line")
# The driver of TypeScript is compiled first.
COMMANDS = {
    "python": [PYTHON, DRIVERS / "python_driver.py"],
    "asyncio": [PYTHON, DRIVERS / "python_driver.py", "--asyncio"],
    "command-line": [PYTHON, DRIVERS / "command_line_driver.py"],
}
# Errors of writes with an unknown result, and of writes that changed nothing. Others are mistakes.
DOUBTFUL = ("OutcomeUnknown", "Cancelled", "Died")
REFUSALS = ("Unreachable", "NotLatchkey", "Busy", "LeaseLost", "NotAcquired", "NotFound",
            "PreconditionFailed")


class CallError(Exception):
    """An error that the client raised; `kind` is its class. "Died": the driver was killed."""

    def __init__(self, call, kind, text):
        super().__init__(f"{call}: {kind}: {text}")
        self.kind = kind

    @property
    def fate(self):
        return "unknown" if self.kind in DOUBTFUL else "refused"


class Call:
    """A call that runs. `future` gets the answer."""

    def __init__(self, driver, number, name):
        self.driver, self.number, self.name = driver, number, name
        self.future = concurrent.futures.Future()

    def result(self):
        try:
            row = self.future.result(PATIENCE_SECONDS)
        except concurrent.futures.TimeoutError:
            raise Failure(f"{self.driver.name}: {self.name} did not end") from None
        if "error" in row:
            if row["error"] not in DOUBTFUL + REFUSALS:
                raise Failure(f"{self.driver.name}: {self.name}: {row}")
            raise CallError(self.name, row["error"], row.get("text"))
        return row["ok"]

    def cancel(self):
        self.driver.begin("cancel", call=self.number)


class Driver:
    """A process that makes calls, all at the same time. `name`: its client, and a number."""

    def __init__(self, name, requests, answers, process=None):
        self.name, self.process = name, process
        self.requests = requests
        self.numbers, self.lock, self.calls = itertools.count(1), threading.Lock(), {}
        self.is_over = self.was_ended = False
        # The options that it was opened with, if they matter.
        self.bounds = None
        threading.Thread(target=self._read, args=[answers], daemon=True).start()

    @classmethod
    def start(cls, name, command, log, binary):
        process = subprocess.Popen(
            [*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True, encoding="utf-8", start_new_session=True,
            env={**os.environ, "LATCHKEY_BINARY": os.path.abspath(binary)})
        return cls(name, process.stdin, process.stdout, process)

    @property
    def client(self):
        return self.name.split()[0]

    def begin(self, call, /, **arguments):
        with self.lock:
            number = next(self.numbers)
            begun = self.calls[number] = Call(self, number, call)
            if self.is_over:
                self._die(number)
                return begun
            try:
                self.requests.write(
                    json.dumps({"id": number, "call": call, "args": arguments}) + "\n")
                self.requests.flush()
            except OSError:
                self._die(number)
        return begun

    def call(self, call, /, **arguments):
        return self.begin(call, **arguments).result()

    def fork(self, name):
        """The driver of a child, which continues with the same client."""
        path = self.call("fork")
        path = path["socket"] if isinstance(path, dict) else path
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(path)
            connection.settimeout(None)
            # The connection stays open as long as one of these files.
            return Driver(name, connection.makefile("w", encoding="utf-8"),
                          connection.makefile("r", encoding="utf-8"))

    def signal(self, number):
        os.kill(self.process.pid, number)

    def end(self):
        """Ends the driver. Calls without an answer end as "Died"."""
        self.was_ended = True
        if self.process is None:
            self.begin("close")
            self.requests.close()
            return
        # Also ends its children, which hold its output open.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _die(self, number):
        call = self.calls.pop(number, None)
        if call is not None:
            call.future.set_result({"error": "Died"})

    def _read(self, answers):
        # A child that is killed resets its connection.
        with contextlib.suppress(OSError):
            for line in answers:
                row = json.loads(line)
                with self.lock:
                    call = self.calls.pop(row["id"], None)
                if call is not None:
                    call.future.set_result(row)
        with self.lock:
            self.is_over = True
            for number in [*self.calls]:
                self._die(number)
