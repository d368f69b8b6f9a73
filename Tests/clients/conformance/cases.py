"""The table of cases."""

from dataclasses import dataclass
from typing import Any

PACKAGES = ("python", "asyncio", "typescript")
ALL = (*PACKAGES, "command-line")
CASES = []


@dataclass
class Case:
    """`row`: the row in the table of the issue, 0 for none. `only`: the clients that run it."""

    title: str
    row: int
    act: Any
    only: tuple


def case(title, row=0, each=None, only=ALL):
    """Adds a case; with `each`, one for each value, which is in the title."""
    def add(act):
        for value in [None] if each is None else each:
            shown = value[0] if isinstance(value, tuple) else value
            CASES.append(Case(
                title.format(shown), row,
                act if each is None else lambda attempt, value=value: act(attempt, value), only))
        return act
    return add
