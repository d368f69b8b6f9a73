#!/usr/bin/env python3
"""Drives the command line: reads calls as lines of JSON, and writes their results.

Each call is one run of the program LATCHKEY_BINARY. A lease is `latchkey lock NAME -- CHILD`: CHILD
reports through a pipe that it runs, and ends when it is told to.
"""

import contextlib
import itertools
import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading

PROGRAM = os.environ.get("LATCHKEY_BINARY", "latchkey")
# The error of each status; see clients/behaviour.md. Only `lock` has the last three.
ERRORS = {1: "Unreachable", 2: "Usage", 3: "NotFound", 4: "PreconditionFailed", 5: "Busy",
          6: "OutcomeUnknown", 123: "LeaseLost", 124: "NotAcquired", 125: "Unreachable"}
HELD = 'echo "$LATCHKEY_FENCING_TOKEN" >&3; exec 3>&-; exec cat <&4 >/dev/null'


class Refused(Exception):
    def __init__(self, error, text=""):
        super().__init__(text)
        self.error, self.text = error, text


class Driver:
    def __init__(self):
        self.options, self.environment, self.token_file = [], dict(os.environ), None
        self.running, self.cancelled = {}, set()
        self.leases, self.watches, self.numbers = {}, {}, itertools.count(1)
        self.output = threading.Lock()

    def serve(self):
        threads = []
        for line in sys.stdin:
            request = json.loads(line)
            threads.append(threading.Thread(target=self.answer, args=(request,), daemon=True))
            threads[-1].start()
        self.call_close()
        for process in self.running.values():
            process.kill()

    def answer(self, request):
        number, arguments = request["id"], request.get("args", {})
        try:
            call = getattr(self, "call_" + request["call"], None)
            if call is None:
                raise Refused("NotSupported")
            answer = {"ok": call(number, **arguments)}
        except Refused as refused:
            error = "Cancelled" if number in self.cancelled else refused.error
            answer = {"error": error, "text": refused.text}
        except Exception as error:  # noqa: BLE001
            answer = {"error": type(error).__name__, "text": f"driver: {error!r}"}
        with self.output:
            print(json.dumps({"id": number, **answer}), flush=True)

    # Runs of the program

    def _start(self, number, *words, **pipes):
        process = subprocess.Popen(
            [PROGRAM, words[0], *self.options, *map(str, words[1:])], env=self.environment,
            text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            **{"stdout": subprocess.PIPE, **pipes})
        self.running[number] = process
        return process

    def _run(self, number, *words, statuses=(0,)):
        """The output of the program, and its status, which is one of `statuses`."""
        process = self._start(number, *words)
        output, said = process.communicate()
        if process.returncode not in statuses:
            raise failed(process.returncode, said)
        return output, process.returncode

    def _json(self, number, *words, **options):
        return json.loads(self._run(number, *words, **options)[0])

    # The client

    def call_open(self, number, urls, token=None, timeout=10, patience=10, keys=True):
        self.call_close(number)
        if not keys or len(urls) > 1:
            raise Refused("NotSupported")
        self.options = ["--url", urls[0], "--timeout-seconds", str(math.ceil(timeout)),
                        "--patience-seconds", str(math.ceil(patience))]
        if token is not None:
            # A new file for each client; it is removed with the process.
            self.token_file = tempfile.NamedTemporaryFile(  # noqa: SIM115
                "w", prefix="latchkey-token-")
            self.token_file.write(token)
            self.token_file.flush()
            self.options += ["--token-from", self.token_file.name]

    def call_close(self, _=None):
        for lease in list(self.leases.values()):
            lease.end()
        for watch in list(self.watches.values()):
            watch.close()
        self.leases, self.watches = {}, {}

    def call_cancel(self, _, call):
        self.cancelled.add(call)
        self.running[call].send_signal(signal.SIGINT)

    # Properties

    def call_get(self, number, name):
        found = self._json(number, "get", name, "--json")
        return {"value": found["value"], "revision": found["revision"]}

    def call_find(self, number, name):
        try:
            return self.call_get(number, name)
        except Refused as refused:
            if refused.error != "NotFound":
                raise
            return None

    def call_put(self, number, name, value, ttl=None, if_revision=None, if_absent=False):
        flags = ["--ttl", ttl] * (ttl is not None)
        flags += ["--if-revision", if_revision] * (if_revision is not None)
        flags += ["--if-absent"] * if_absent
        return self._json(
            number, "put", name, "--json", *flags, "--", json.dumps(value))["revision"]

    def call_delete(self, number, name, if_revision=None):
        flags = ["--if-revision", if_revision] * (if_revision is not None)
        return self._run(number, "delete", name, *flags, statuses=(0, 3))[1] == 0

    def call_increment(self, number, name, by=1):
        return self._json(number, "increment", name, "--json", "--", by)["value"]

    def call_merge(self, number, name, patch):
        return self._json(number, "merge", name, json.dumps(patch), "--json")["value"]

    def call_touch(self, number, name, ttl, if_revision=None):
        flags = ["--if-revision", if_revision] * (if_revision is not None)
        return self._json(number, "touch", name, "--ttl", ttl, *flags, "--json")["revision"]

    def call_get_many(self, number, names):
        output = self._run(number, "get", *names, "--json", statuses=(0, 3))[0]
        rows = [json.loads(line) for line in output.splitlines()]
        return {row["name"]: row["value"] for row in rows}

    def call_list(self, number, prefix=""):
        return self._run(number, "list", prefix, "--names")[0].splitlines()

    def call_count(self, number, prefix=""):
        return self._json(number, "count", prefix, "--json")["count"]

    def call_delete_prefix(self, number, prefix):
        return self._json(number, "delete", "--prefix", prefix, "--json")["count"]

    def call_transaction(self, number, then, when=(), otherwise=(), wait=0):
        body = {"if": list(when), "then": list(then), "else": list(otherwise)}
        output, status = self._run(
            number, "txn", json.dumps(body), "--wait", wait, statuses=(0, 4))
        if status and not output:
            raise failed(status, "")
        return json.loads(output)

    def call_pop(self, number, prefix, wait=0):
        output, status = self._run(
            number, "pop", prefix, "--wait", wait, "--json", statuses=(0, 3))
        found = json.loads(output) if status == 0 else None
        return found and {"name": found["name"], "value": found["value"]}

    # Leases and watches

    def call_acquire(self, number, name, ttl, wait=None, value=None):
        flags = ["--wait", wait] * (wait is not None) + ["--holder", value] * (value is not None)
        lease = Lease(self, number, name, "--ttl", ttl, *flags)
        key = next(self.numbers)
        self.leases[key] = lease
        return {"lease": key, "token": lease.token}

    def call_release(self, _, lease):
        status, said = self.leases[lease].end()
        if status not in (0, 123):
            raise failed(status, said)
        return status == 0

    def call_lost(self, _, lease):
        # `latchkey lock` has ended its child.
        status, said = self.leases[lease].ended()
        if status != 123:
            raise failed(status, said)
        return True

    def call_watch(self, _, prefixes=(), names=(), initial=False, after=None, observer=None):
        if observer is not None:
            raise Refused("NotSupported")
        flags = [word for prefix in prefixes for word in ("--prefix", prefix)]
        flags += ["--initial"] * initial + ["--after", after] * (after is not None)
        key = next(self.numbers)
        self.watches[key] = Watch(self._start(("watch", key), "watch", *names, *flags, "--json"))
        return {"watch": key}

    def call_next(self, _, watch):
        return self.watches[watch].next()

    def call_close_watch(self, _, watch):
        self.watches[watch].close()


def failed(status, said):
    if status < 0 or status in (128 + signal.SIGINT, 128 + signal.SIGTERM):
        return Refused("Cancelled", said)
    return Refused(ERRORS.get(status, f"Status{status}"), said)


class Lease:
    """A run of `latchkey lock`. The lock is held once the child has printed its token."""

    def __init__(self, driver, number, name, *flags):
        tells, child_tells = os.pipe()
        child_hears, hears = os.pipe()
        self.hears = os.fdopen(hears, "w")
        place = f"/proc/{os.getpid()}/fd"
        shell = f"exec 3>{place}/{child_tells} 4<{place}/{child_hears}"
        self.process = driver._start(
            number, "lock", name, *flags, "--", "sh", "-c", f"{shell}; {HELD}",
            stdout=subprocess.DEVNULL)
        self.child_hears, self.over = child_hears, threading.Event()
        threading.Thread(target=self._await, args=(child_tells,), daemon=True).start()
        with os.fdopen(tells) as output:
            token = output.readline().strip()
        if not token:
            self.end()
            raise failed(self.process.returncode, self.said)
        self.token = int(token)

    def _await(self, child_tells):
        self.said = self.process.stderr.read()
        self.process.wait()
        # This was the only writer left: the reader sees the end.
        os.close(child_tells)
        self.over.set()

    def end(self):
        with contextlib.suppress(OSError):
            self.hears.close()
        return self.ended()

    def ended(self):
        self.over.wait()
        return self.process.returncode, self.said


class Watch:
    def __init__(self, process):
        self.process, self.lines = process, queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        said = self.process.stderr.read()
        self.lines.put(failed(self.process.wait(), said))

    def next(self):
        event = self.lines.get()
        if isinstance(event, Refused):
            self.lines.put(event)
            raise event
        return {"type": event["event"], **{
            key: event.get(key) for key in ("name", "revision", "value", "id")}}

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    # A shell starts background programs with SIGINT ignored, and their children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Driver().serve()
