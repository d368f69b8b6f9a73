"""Arguments and results of calls, and how answers of the service become results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict
from urllib.parse import quote

from ._errors import InvalidValue
from ._json import Json

Step = TypedDict("Step", {
    "put": str, "value": Json, "merge": str, "patch": Json, "increment": str, "by": int,
    "delete": str, "get": str, "touch": str, "ttl": float, "ttl-if-new": float, "pop": str,
    "claim": str, "delete-prefix": str, "count": str,
}, total=False)
"""A step of a transaction, such as `{"put": "a", "value": 5}`."""

Condition = TypedDict("Condition", {
    "name": str, "revision": int, "exists": bool, "absent": bool, "equals": Json, "<": Json,
    "<=": Json, ">": Json, ">=": Json, "!=": Json,
}, total=False)
"""A name and one test, such as `{"name": "a", "revision": 7}`."""

WAIT_SECONDS_MAX = 60
NAMES_COUNT_MAX = 128
TARGET_BYTES_MAX = 4000
"""The service takes 4,096 bytes of path and query."""


@dataclass(frozen=True)
class Property:
    """A property. `ttl` is None if it does not expire. Without values, `value` is None."""

    name: str
    revision: int
    created: int
    value: Json = None
    ttl: float | None = None


@dataclass(frozen=True)
class Result:
    """The property after a step, or its count. Revision 0: there is no such property."""

    name: str = ""
    revision: int = 0
    created: int = 0
    value: Json = None
    ttl: float | None = None
    count: int = 0


@dataclass(frozen=True)
class Outcome:
    """A transaction's result. `succeeded`: its conditions held. `results`: one for each step."""

    succeeded: bool
    revision: int
    results: Sequence[Result]


@dataclass(frozen=True)
class Event:
    """An event of a watch.

    "put", "delete" and "expire" are changes. "ready": the current state is complete. "gap": forget
    everything; the current state follows as "put" events, and then "ready".

    `previous` is the value before, if the watch asked for it and there was one. `id` is None within
    the current state. `ends_commit` is False if more events of the same transaction follow.
    """

    type: Literal["put", "delete", "expire", "ready", "gap"]
    name: str = ""
    revision: int = 0
    created: int = 0
    value: Json = None
    ttl: float | None = None
    reason: str = ""
    previous: Json = None
    id: str | None = None

    @property
    def ends_commit(self) -> bool:
        return self.id is None or "." not in self.id


_EVENT_FIELDS = {field.name for field in fields(Event)} - {"type", "id"}
_RESULT_FIELDS = {field.name for field in fields(Result)}


# These raise KeyError, TypeError or ValueError if the answer is not the service's.

def event_of(
    kind: Literal["put", "delete", "expire", "ready", "gap"], row: Json, id: str | None,
) -> Event:
    event = Event(kind, id=id, **{key: row[key] for key in row.keys() & _EVENT_FIELDS})
    integer(event.revision)
    if not isinstance(row["revision" if kind in ("ready", "gap") else "name"], (str, int)):
        raise TypeError("not an event")
    return event


def outcome_of(body: Json) -> Outcome:
    results = [Result(**{key: row[key] for key in row.keys() & _RESULT_FIELDS})
               for row in body["results"]]
    return Outcome(boolean(body["succeeded"]), integer(body["revision"]), results)


def property_of(row: Mapping[str, Any]) -> Property:
    return Property(
        row["name"], integer(row["revision"]), row["created"], row.get("value"), row.get("ttl"))


def property_of_result(row: Result) -> Property | None:
    if row.revision == 0:
        return None
    return Property(row.name, row.revision, row.created, row.value, row.ttl)


def integer(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("not an integer")
    return value


def boolean(value: Json) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not a boolean")
    return value


# Parts of requests.

def path_of(name: str) -> str:
    if not name:
        raise InvalidValue("a name is empty")
    encoded = percent_encoded(name)
    # A path would lose these two names.
    return "/v1/properties/" + (encoded.replace(".", "%2E") if name in (".", "..") else encoded)


def percent_encoded(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        pass
    raise InvalidValue("a name is not Unicode text")


def query_of(params: Mapping[str, Any]) -> str:
    """The parameters that have a value; one for each element of a list."""
    return "&".join(
        f"{key}={percent_encoded(_written(one))}"
        for key, value in params.items() if value is not None
        for one in ([value] if isinstance(value, (str, int, float)) else value))


def _written(value: str | float) -> str:
    """Floats are seconds: without an exponent."""
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".") if math.isfinite(value) else str(value)
    return str(value)


def conditions(if_revision: int | None, if_absent: bool = False) -> dict[str, str]:
    headers = {} if if_revision is None else {"If-Match": f'"{if_revision}"'}
    return {**headers, "If-None-Match": "*"} if if_absent else headers


def whole(seconds: float) -> float:
    """Rounds up to whole milliseconds: the shortest wait is one."""
    if not math.isfinite(seconds):
        raise InvalidValue(f"{seconds} seconds cannot be waited for")
    return math.ceil(seconds * 1000) / 1000


def piece(seconds: float) -> float:
    """The part of a longer time that one request waits."""
    return whole(max(0, min(seconds, WAIT_SECONDS_MAX)))


def end_of(wait: float | None, now: float) -> float | None:
    """The end of a wait; None: no end."""
    if wait is not None and math.isnan(wait):
        raise InvalidValue("a wait is not a number")
    return None if wait is None or wait == math.inf else now + max(0.0, wait)


class States:
    """All values by name, as of the last event."""

    def __init__(self) -> None:
        self._state: dict[str, Json] = {}
        self._is_whole = False

    def after(self, event: Event) -> dict[str, Json] | None:
        """The state after the event, if it ends a commit."""
        if event.type == "gap":
            self._state, self._is_whole = {}, False
        elif event.type == "put":
            self._state[event.name] = event.value
        elif event.type == "ready":
            self._is_whole = True
        else:
            self._state.pop(event.name, None)
        return dict(self._state) if self._is_whole and event.ends_commit else None


