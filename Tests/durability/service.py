"""`latchkey serve --data` as a process that is killed, refuses to start, or becomes ready late."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import time

from process import Failure, Latchkey

READY_SECONDS_MAX = 30
STRATEGIES = ("lock", "barrier-queue-async", "snapshot", "actor")


class Refused(Exception):
    """The service did not start, or ended while it recovered."""

    def __init__(self, status, log):
        super().__init__(f"status {status}: {log.strip()[-600:]}")
        self.status, self.log = status, log


class Service(Latchkey):
    """A context manager: it waits until the service is ready, and kills it at the end."""

    def __init__(self, binary, data, *options, log, environment=None, limits=None):
        self.log_path = pathlib.Path(log)
        # Not set in this process: other threads start services meanwhile.
        self.environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", **(environment or {})}
        super().__init__(binary, "--data", data, "--client-share", "1/1", *options, limits=limits)

    def __enter__(self):
        with open(self.log_path, "ab") as log:
            self.log, self.log_start = log, log.tell()
            try:
                super().__enter__()
            except Failure as failure:
                raise self._refusal() or failure from None
        self._wait_until_ready()
        return self

    def _refusal(self):
        status = self.process.poll()
        return None if status in (None, -signal.SIGKILL) else Refused(status, self.log_text())

    def log_text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            log.seek(self.log_start)
            return log.read()

    def last_words(self):
        """Of a program that ended by itself: why, or the end of its log."""
        text = self.log_text()
        return next((line for line in text.splitlines() if "Fatal error" in line), text[-600:])

    def _wait_until_ready(self):
        end = time.monotonic() + READY_SECONDS_MAX
        while True:
            try:
                if self.ask("GET", "/readyz", expect=None)[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            if self.process.poll() is not None:
                raise Refused(self.process.returncode, self.log_text())
            if time.monotonic() > end:
                self.kill()
                raise Failure(f"the service was not ready within {READY_SECONDS_MAX} s: "
                              + self.log_text()[-600:])
            time.sleep(0.005)

    def is_running(self):
        """A process that ends by a signal closes its connections before it can be waited for."""
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            return True
        return False

    def is_ready(self):
        return self.ask("GET", "/readyz", expect=None)[0] == 200

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_):
        self.kill()

    def end(self, seconds=30):
        """SIGTERM. Returns the status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def export(self, revision=None):
        """Name to (value, revision, created), and the revision."""
        query = f"?revision={revision}" if revision is not None else ""
        lines = self.ask("GET", f"/v1/export{query}")[2].splitlines()
        rows = [json.loads(line) for line in lines]
        if not rows or not rows[-1].get("end") or rows[-1]["count"] != len(rows) - 1:
            raise Failure(f"an export is not whole: {lines[-1:]}")
        return ({row["name"]: (row["value"], row["revision"], row["created"])
                 for row in rows[:-1]}, rows[-1]["revision"])

    def changes(self, after):
        """The commits behind a revision, or all that there are, and the store's revision."""
        found, query = [], "" if after is None else f"&after={after}"
        while True:
            page = self.ask_json(f"/v1/changes?limit=1000{query}")
            found += page["changes"]
            if not page["hasMore"]:
                return found, page["revision"]
            query = f"&after={page['next']}"
