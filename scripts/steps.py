"""Checks that run one after the other, each with its name."""

import sys
import tempfile
import traceback

from process import Failure


def step(name, action, *arguments):
    print(f"-- {name}", flush=True)
    action(*arguments)


def status_of_steps(action):
    """Calls a function of a log file. If it fails, prints the reason and the end of the log."""
    with tempfile.TemporaryFile("w+") as log:
        try:
            action(log)
            return 0
        except Exception as failure:  # noqa: BLE001
            if not isinstance(failure, Failure):
                traceback.print_exc(file=sys.stdout)
            print(f"FAILED: {failure!s}\n\nThe end of the service's log:")
            log.seek(0)
            print("".join(log.readlines()[-20:]))
            return 1
