"""Clients in a process of their own, and turns."""

import json
import subprocess

from process import Failure
from table import progress

SECONDS_MAX = 300


class Clients:
    """A process of clients. A context manager; after it, `report` is the output.

    One that `is_awaited` says "ready", and goes on until its input ends.
    """

    def __init__(self, program, *words, is_awaited=True, reports=True):
        self.command = [program, *map(str, words)]
        self.is_awaited, self.reports = is_awaited, reports
        self.report = None

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.is_awaited and self.process.stdout.readline() != "ready\n":
            self.process.kill()
            self.process.wait()
            raise Failure("the clients did not get ready")
        return self

    def __exit__(self, kind, *_):
        try:
            output, _ = self.process.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure("the clients did not end") from None
        if kind is None and self.process.returncode != 0:
            raise Failure("the clients have failed")
        if kind is None and self.reports:
            self.report = json.loads(output)


def turns(names, rounds, what=""):
    """Yields the names in turn, starting with another one in each round, and says which it is."""
    names = list(names)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            progress(f"{what}round {turn + 1} of {rounds}: {name}")
            yield name
