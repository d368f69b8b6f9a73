"""`latchkey serve --data` as a process that is killed, refuses to start, or becomes ready late."""

import contextlib
import json
import subprocess

from process import Failure, Latchkey
from switcher import Switcher

STRATEGIES = ("lock", "barrier-queue-async", "snapshot", "actor")


class Service(Latchkey):
    """A context manager: it waits until the service is ready, and kills it at the end."""

    def __init__(self, binary, data, *options, log, environment=None, limits=None):
        """In memory without `data`."""
        kept = ("--data", data) if data else ()
        super().__init__(binary, *kept, "--client-share", "1/1", *options, log=log,
                         limits=limits,
                         variables={"SWIFT_BACKTRACE": "enable=no", **(environment or {})})

    def __enter__(self):
        return super().__enter__().await_ready()

    def is_running(self):
        """A process that ends by a signal closes its connections before it can be waited for."""
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            return True
        return False

    def __exit__(self, *_):
        self.kill()

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
        """The commits after a revision, or all that there are, and the store's revision."""
        found, query = [], "" if after is None else f"&after={after}"
        while True:
            page = self.ask_json(f"/v1/changes?limit=1000{query}")
            found += page["changes"]
            if not page["hasMore"]:
                return found, page["revision"]
            query = f"&after={page['next']}"


@contextlib.contextmanager
def switching(arguments, service, seed, counts):
    """With --switch another strategy serves every 50 ms, until the end."""
    if not arguments.switch:
        yield None
        return
    with Switcher(service, seed) as switcher:
        yield switcher
    # The kill may come before the first switch.
    missed = counts.pop("rounds without a switch", 0) + 1
    if not switcher.reports:
        counts["rounds without a switch"] = missed
    if missed > 2 and not switcher.reports:
        raise Failure("nothing was switched in three rounds")
    counts["switches"] = counts.get("switches", 0) + len(switcher.reports)
