"""A client for Latchkey in one file. Copy it into your project; it needs Python 3.10 and httpx.

    from latchkey import Latchkey

    with Latchkey("http://127.0.0.1:8080") as client:
        client.put("greeting", {"text": "hello"})
        print(client.get("greeting").value)

**Threads.** All threads of a process can use one client. Its calls block; a program with asyncio
calls them through `asyncio.to_thread`.

**Repeats.** A request that finds no service, loses its answer or is refused with 429 or 503 is sent
again, until `patience` is over. A write has an `Idempotency-Key`, so the service makes it once.
While the service has no room for more keys, writes are sent without one. A write without a key is
not sent again when its answer is lost: it raises `OutcomeUnknown`. Say `keys=False` if the service
ignores keys (`--idempotency-seconds 0`).

Length: one file, so that it can be copied.
"""

from __future__ import annotations

import json
import math
import random
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, TypedDict
from urllib.parse import quote

import httpx

__all__ = [
    "Busy", "Claim", "Condition", "Event", "Forbidden", "Full", "Gone", "Json", "Latchkey",
    "LatchkeyError", "Lease", "LeaseLost", "NotAcquired", "NotAnInteger", "NotFound", "Outcome",
    "OutcomeUnknown", "PreconditionFailed", "Problem", "Property", "Replaced", "Result", "Step",
    "Unauthorized", "Unreachable", "Watch",
]

Json: TypeAlias = Any
"""A JSON value: what `json.loads` returns and `json.dumps` takes."""

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
KEYLESS_SECONDS = 10
LEASE_SHARE = 0.9
"""Of its time to live. The rest is for a program that learns late that its time is over."""


class LatchkeyError(Exception):
    """What this module raises."""


class Unreachable(LatchkeyError):
    """The service was not reached or did not answer in time. Nothing was changed."""


class OutcomeUnknown(LatchkeyError):
    """The write may have been made, or may still be made: its answer was lost."""


class LeaseLost(LatchkeyError):
    """A lock, an election or a claim was lost while the work went on."""


class NotAcquired(LatchkeyError):
    """The lock was held by others the whole time."""


class Replaced(LatchkeyError):
    """Another watch has the same `observer`. Do not watch again."""


class Problem(LatchkeyError):
    """The service refused the request: nothing was changed.

    `type` is the name of the problem, such as "precondition-failed": decide by it, or by the
    subclass. `detail` is for people.
    """

    def __init__(self, answer: httpx.Response) -> None:
        try:
            body = answer.json()
        except ValueError:
            body = {}
        body = body if isinstance(body, dict) else {}
        self.status: int = answer.status_code
        self.type: str = str(body.get("type", "")).rpartition("/")[2]
        self.detail: str = str(body.get("detail", ""))
        try:
            self.retry_after = float(answer.headers.get("Retry-After", 0))
        except ValueError:
            self.retry_after = 0.0
        super().__init__(f"{self.status} {self.type}: {self.detail}")


class NotFound(Problem):
    """There is no property with this name."""


class PreconditionFailed(Problem):
    """The property has another revision, or exists although `if_absent` was asked for."""


class NotAnInteger(Problem):
    """The value cannot be incremented, or the sum has more than 64 bits."""


class Gone(Problem):
    """The history does not hold this revision."""


class Unauthorized(Problem):
    """There is no token that counts."""


class Forbidden(Problem):
    """The token does not allow this."""


class Full(Problem):
    """The store, a quota or the disk is full."""


class Busy(Problem):
    """The service refuses for now: a rate, a share, a bound, or it starts or stops."""


_PROBLEMS: Mapping[str, type[Problem]] = {
    "not-found": NotFound, "precondition-failed": PreconditionFailed,
    "not-an-integer": NotAnInteger, "overflow": NotAnInteger, "gone": Gone,
    "unauthorized": Unauthorized, "forbidden": Forbidden, "store-full": Full,
    "quota-exceeded": Full, "disk-full": Full,
}
_NO_KEY_LEFT = ("client-share-taken", "too-many-idempotency-keys")


def _problem(answer: httpx.Response) -> Problem:
    problem = Problem(answer)
    kind = Busy if problem.status in (429, 503) else _PROBLEMS.get(problem.type, Problem)
    return kind(answer)


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
    """The property behind a step, or its count. Revision 0: there is no such property."""

    name: str = ""
    revision: int = 0
    created: int = 0
    value: Json = None
    ttl: float | None = None
    count: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a transaction did. `succeeded`: its conditions held. `results`: one for each step."""

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


_EVENT_FIELDS = {field.name for field in fields(Event)}
_RESULT_FIELDS = {field.name for field in fields(Result)}


class _Clock:
    """The time, and waits for it."""

    def now(self) -> float:
        """Seconds of a clock that is never set back."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits until the event is set, or the time is over. Returns whether it is set."""
        return event.wait(seconds)


class Latchkey:
    """A client of one service. Close it, or use it in `with`.

    - `token`: sent as `Authorization: Bearer`. `ca`: a file of certificates to trust, in place of
      the system's.
    - `timeout`: seconds for each attempt. `patience`: seconds for further attempts. `keys`: whether
      writes have an `Idempotency-Key`.
    - `http`: your own `httpx.Client`, for client certificates or proxies. It is not closed.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, token: str | None = None,
        ca: str | None = None, timeout: float = 10, patience: float = 10, keys: bool = True,
        http: httpx.Client | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout
        self._patience = patience
        self._keys = keys
        self._keyless_until = 0.0
        # Tests put one here that they drive by hand.
        self._clock = _Clock()
        self._owns_http = http is None
        self._http = http or httpx.Client(
            verify=ssl.create_default_context(cafile=ca),
            # Each watch and each waiting lock holds a connection.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))

    def __enter__(self) -> Latchkey:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._http.close()

    # One property

    def get(self, name: str, *, revision: int | None = None) -> Property:
        """Reads a property, now or as of a revision. Raises `NotFound`, and `Gone` for the past."""
        return _answered(name, self._ask("GET", _path(name), {"revision": revision}))

    def find(self, name: str) -> Property | None:
        """Reads a property; None if there is none."""
        try:
            return self.get(name)
        except NotFound:
            return None

    def put(
        self, name: str, value: Json, *, ttl: float | None = None, ttl_if_new: float | None = None,
        if_revision: int | None = None, if_absent: bool = False,
    ) -> int:
        """Creates or replaces a property. Returns the new revision.

        Without `ttl` it does not expire. `if_revision` and `if_absent` raise `PreconditionFailed`.
        """
        answer = self._ask(
            "PUT", _path(name), {"ttl": ttl, "ttl-if-new": ttl_if_new}, body=value, has_body=True,
            headers=_conditions(if_revision, if_absent))
        return _revision(answer)

    def delete(self, name: str, *, if_revision: int | None = None) -> bool:
        """Deletes a property. Returns whether there was one."""
        try:
            self._ask("DELETE", _path(name), headers=_conditions(if_revision))
        except NotFound:
            return False
        return True

    def increment(
        self, name: str, by: int = 1, *, ttl: float | None = None, ttl_if_new: float | None = None,
    ) -> int:
        """Adds to an integer, from 0 if there is none. Returns the sum. Raises `NotAnInteger`."""
        answer = self._ask(
            "POST", _path(name) + "/increment", {"ttl": ttl, "ttl-if-new": ttl_if_new},
            body={"by": by}, has_body=True)
        return int(answer.json())

    def merge(
        self, name: str, patch: Json, *, ttl: float | None = None, ttl_if_new: float | None = None,
        if_revision: int | None = None,
    ) -> Json:
        """Merges a JSON merge patch (RFC 7396); None removes a member. Returns the new value."""
        headers = {"Content-Type": "application/merge-patch+json", **_conditions(if_revision)}
        return self._ask(
            "PATCH", _path(name), {"ttl": ttl, "ttl-if-new": ttl_if_new}, body=patch,
            has_body=True, headers=headers).json()

    def touch(self, name: str, ttl: float, *, if_revision: int | None = None) -> int:
        """Lets the time to live begin anew. Value and revision stay. Returns the revision."""
        answer = self._ask(
            "POST", _path(name) + "/touch", {"ttl": ttl}, headers=_conditions(if_revision),
            safe=True)
        return _revision(answer)

    def wait(self, name: str, after: int = 0, *, wait: float = 30) -> Property | None:
        """Waits until the property's revision is above `after`; None after `wait` seconds.

        With `after=0` it also waits for a property that does not exist yet; otherwise a missing one
        raises `NotFound`.
        """
        end = self._clock.now() + wait
        while True:
            # The service ends a poll before its time, above all one behind a proxy.
            left = _piece(end - self._clock.now())
            try:
                # Proxies want a condition where the answer can be 304.
                answer = self._ask(
                    "GET", _path(name), {"after": after, "wait": left}, wait=left,
                    headers={"If-None-Match": f'"{after}"'})
                if answer.status_code != 304:
                    return _answered(name, answer)
            except NotFound:
                if after != 0:
                    raise
            if self._clock.now() >= end:
                return None

    # Several properties

    def list(self, prefix: str = "", *, values: bool = True) -> Iterator[Property]:
        """The properties whose names start with the prefix, sorted by name, page by page.

        A page is the state at one revision; two pages need not be.
        """
        after: str | None = None
        while True:
            page = self._ask("GET", "/v1/properties", {
                "prefix": prefix, "limit": 1000, "values": str(values).lower(), "after": after,
            }).json()
            yield from (_listed(row) for row in page["properties"])
            after = page.get("next")
            if after is None:
                return

    def get_many(self, names: Sequence[str]) -> dict[str, Property]:
        """Reads at most 128 properties at one revision. Those that do not exist are left out."""
        if not names:
            return {}
        page = self._ask("GET", "/v1/properties", {"name": names}).json()
        return {row["name"]: _listed(row) for row in page["properties"]}

    def count(self, prefix: str = "") -> int:
        """How many names start with the prefix."""
        return int(self._ask("GET", "/v1/count", {"prefix": prefix}).json()["count"])

    def delete_prefix(self, prefix: str) -> int:
        """Deletes all properties whose names start with the prefix. Returns how many.

        Each 1000 are one commit; it is not one step if there are more.
        """
        total = 0
        while True:
            answer = self._ask("DELETE", "/v1/properties", {"prefix": prefix, "limit": 1000}).json()
            total += int(answer["count"])
            if not answer["more"]:
                return total

    def transaction(
        self, then: Iterable[Step], *, when: Iterable[Condition] = (),
        otherwise: Iterable[Step] = (), wait: float = 0,
    ) -> Outcome:
        """Makes the steps of `then` if all conditions of `when` hold, else those of `otherwise`.

        All steps are made at one revision, or none. With `wait`, at most 60 seconds, it waits until
        the conditions hold and each `pop` finds something; all steps wait, not only the pop.
        """
        body = {"if": [*when], "then": [*then], "else": [*otherwise]}
        wait = _whole(wait)
        answer = self._ask(
            "POST", "/v1/transactions", {"wait": wait or None}, body=body, has_body=True,
            wait=wait).json()
        results = [
            Result(**{key: row[key] for key in row if key in _RESULT_FIELDS})
            for row in answer["results"]]
        return Outcome(answer["succeeded"], answer["revision"], results)

    # Queues

    def pop(self, prefix: str, *, wait: float | None = 0) -> Property | None:
        """Removes and returns the first property, by name, under the prefix.

        Waits up to `wait` seconds for one, without limit if None. If this program dies then, the
        property is lost: `work` and `claim` are for jobs that must be done.
        """
        popped = self._pop({"pop": prefix}, wait)
        return popped[0] if popped else None

    def claim(
        self, jobs: str, *, claims: str, ttl: float = 30, wait: float | None = 0,
        value: Json = None,
    ) -> Claim | None:
        """Takes the first job under the prefix `jobs` that has no claim, or None.

        The claim is a property under the prefix `claims` with a time to live. It is renewed until
        `finish` or `abandon`; if this program dies, the job comes back after `ttl` seconds.
        """
        step: Step = {"pop": jobs, "claim": claims, "ttl": ttl, "value": value}
        while popped := self._pop(step, wait):
            job, token, sent = popped
            claim = Claim(self, job, step, token, sent)
            if claim.remaining > 0:
                return claim
        return None

    def work(
        self, jobs: str, handle: Callable[[Claim], Iterable[Step] | None], *, claims: str,
        ttl: float = 30, wait: float | None = None, value: Json = None,
    ) -> int:
        """Calls `handle` for one job after the other. Returns how many were finished.

        Ends when there is no job for `wait` seconds; None: never. A job is finished, and the next
        one taken, when `handle` returns; the steps that it returns are made in the same
        transaction, and thus once for each job. If it raises, the job comes back at once and the
        error is raised here. `handle` is called at least once for a job, and again if its claim was
        lost.
        """
        count = 0
        claim = self.claim(jobs, claims=claims, ttl=ttl, wait=wait, value=value)
        while claim is not None:
            try:
                steps = handle(claim) or ()
            except BaseException:
                claim.abandon()
                raise
            try:
                claim = claim.finish_and_claim(*steps)
                count += 1
            except LeaseLost:
                claim = None
            if claim is None:
                claim = self.claim(jobs, claims=claims, ttl=ttl, wait=wait, value=value)
        return count

    def _pop(self, step: Step, wait: float | None) -> tuple[Property, int, float] | None:
        """The property, the revision of the transaction, and when the request was sent."""
        end = None if wait is None else self._clock.now() + wait
        while True:
            sent = self._clock.now()
            left = WAIT_SECONDS_MAX if end is None else end - sent
            outcome = self.transaction([step], wait=_piece(left))
            found = _popped(outcome.results[0])
            if found:
                return found, outcome.revision, sent
            if end is not None and self._clock.now() >= end:
                return None

    # Locks

    def acquire(
        self, name: str, *, ttl: float = 10, wait: float | None = None, value: Json = None,
    ) -> Lease:
        """As `lock`, without `with`: call `release` of the lease."""
        end = None if wait is None else self._clock.now() + wait
        while True:
            sent = self._clock.now()
            left = WAIT_SECONDS_MAX if end is None else end - sent
            outcome = self.transaction(
                [{"put": name, "value": value, "ttl": ttl}], when=[{"name": name, "absent": True}],
                wait=_piece(left))
            if outcome.succeeded:
                lease = Lease(self, name, outcome.revision, ttl, sent)
                if lease._start():
                    return lease
            elif end is not None and self._clock.now() >= end:
                raise NotAcquired(name)

    @contextmanager
    def lock(
        self, name: str, *, ttl: float = 10, wait: float | None = None, value: Json = None,
    ) -> Iterator[Lease]:
        """Holds a lock: a property that one client creates and that expires without renewal.

        Waits up to `wait` seconds, without limit if None, then raises `NotAcquired`. The lock is
        renewed by a thread, `ttl` seconds at a time. If it is lost, `lost` of the lease is set, and
        the end of the block raises `LeaseLost`. Clients that wait get it in their order.
        """
        lease = self.acquire(name, ttl=ttl, wait=wait, value=value)
        try:
            yield lease
        except BaseException:
            lease.release()
            raise
        if not lease.release():
            raise LeaseLost(name)

    def election(
        self, name: str, candidate: Json, *, ttl: float = 10, wait: float | None = None,
    ) -> AbstractContextManager[Lease]:
        """Leads in the block: `lock` with the candidate as its value, for others to read.

        `find(name)` is the leader, and `watch(names=[name])` tells when it changes.
        """
        return self.lock(name, ttl=ttl, wait=wait, value=candidate)

    # Watches

    def watch(
        self, *prefixes: str, names: Sequence[str] = (), initial: bool = False,
        after: int | str | None = None, previous: bool = False, observer: str | None = None,
        silence: float = 60,
    ) -> Watch:
        """The changes of names and prefixes, of all properties without both. Iterate over it.

        - `initial`: the current state comes first, as "put" events, and then "ready".
        - `after`: begins behind this revision or id of an event.
        - `previous`: events have the value before. `observer`: ends an older watch with this name.
        - `silence`: it connects again after so many seconds without a sign; more than 15, after
          which the service sends one.
        """
        params = {
            "prefix": prefixes, "name": names, "initial": "true" if initial else None,
            "previous": "true" if previous else None, "observer": observer}
        return Watch(self, _query(params), None if after is None else str(after), silence, initial)

    # Requests

    def _ask(
        self, method: str, path: str, params: Mapping[str, Any] | None = None, *,
        body: Json = None, has_body: bool = False, headers: Mapping[str, str] | None = None,
        wait: float = 0, safe: bool = False, limit: float | None = None,
    ) -> httpx.Response:
        """Sends a request until it has an answer that counts.

        `safe`: it can be made twice. `limit`: seconds for all attempts, instead of the client's.
        """
        safe = safe or method == "GET"
        sent = {**self._headers, **(headers or {})}
        if has_body:
            sent.setdefault("Content-Type", "application/json")
        if self._keys and not safe and self._clock.now() >= self._keyless_until:
            sent["Idempotency-Key"] = uuid.uuid4().hex
        timeout = httpx.Timeout(self._timeout, read=self._timeout + wait)
        end = self._clock.now() + (self._patience + wait if limit is None else limit)
        pause, in_doubt = 0.05, False
        while True:
            failure: LatchkeyError
            delay = pause * random.uniform(0.5, 1)
            if limit is not None:
                # It holds for each part of an attempt: to connect, to send, to read.
                timeout = httpx.Timeout(max(0.001, min(self._timeout, end - self._clock.now()) / 3))
            try:
                answer = self._http.request(
                    method, self._url + path, params=_query(params or {}), headers=sent,
                    content=json.dumps(body).encode() if has_body else None, timeout=timeout)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
                failure = Unreachable(f"{self._url}: {error}")
            except httpx.TransportError as error:
                failure = Unreachable(f"{self._url}: {error!r}")
                in_doubt = not safe
            else:
                if answer.status_code < 400:
                    return answer
                problem = _problem(answer)
                if problem.type in _NO_KEY_LEFT and "Idempotency-Key" in sent and not in_doubt:
                    del sent["Idempotency-Key"]
                    self._keyless_until = self._clock.now() + KEYLESS_SECONDS
                    continue
                if problem.type == "outcome-unknown":
                    in_doubt = not safe
                elif not isinstance(problem, Busy):
                    if problem.type == "answer-not-kept":
                        raise OutcomeUnknown(str(problem)) from problem
                    raise problem
                failure = problem
                delay = max(delay, problem.retry_after)
            may_repeat = not in_doubt or "Idempotency-Key" in sent
            if not may_repeat or self._clock.now() + delay > end:
                if in_doubt:
                    raise OutcomeUnknown(str(failure)) from failure
                raise failure
            self._clock.wait(threading.Event(), delay)
            pause = min(pause * 2, 2)


class Lease:
    """A property that this program holds until `release`, or until it is lost.

    `token` is its fencing token: each later holder has a greater one. `lost` is set when the lease
    is lost, or could not be renewed within nine tenths of its time to live, counted from before the
    last request that renewed it.
    """

    def __init__(self, client: Latchkey, name: str, token: int, ttl: float, since: float) -> None:
        self.name = name
        self.token = token
        self.lost = threading.Event()
        self._client = client
        self._ttl = ttl
        self._end = since + ttl * LEASE_SHARE
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease {name}", daemon=True)

    @property
    def guard(self) -> Condition:
        """A condition for transactions: the lease is still held."""
        return {"name": self.name, "revision": self.token}

    @property
    def remaining(self) -> float:
        """Seconds for which the lease is surely held; 0 if it is lost."""
        return 0.0 if self.lost.is_set() else max(0.0, self._end - self._client._clock.now())

    def check(self) -> None:
        """Raises `LeaseLost` if the lease is lost."""
        if self.remaining == 0:
            raise LeaseLost(self.name)

    def release(self) -> bool:
        """Gives it back. Returns whether it was held until now."""
        self._released.set()
        try:
            return self._client.delete(self.name, if_revision=self.token)
        except PreconditionFailed:
            return False
        except LatchkeyError:
            # It expires by itself.
            return self.remaining > 0

    def _start(self) -> bool:
        """Begins to renew. False if it was lost while the answer was under way."""
        if self._end - self._client._clock.now() < self._ttl * 2 / 3:
            self._renew()
        is_held = self.remaining > 0
        if is_held:
            self._thread.start()
        else:
            self.lost.set()
        return is_held

    def _keep(self) -> None:
        while not self._client._clock.wait(self._released, self._pause):
            self._renew()
            if self.remaining == 0:
                if not self._released.is_set():
                    self.lost.set()
                return

    @property
    def _pause(self) -> float:
        return self._ttl / 3 if self.remaining > self._ttl / 2 else min(0.1, self.remaining)

    def _renew(self) -> None:
        sent = self._client._clock.now()
        try:
            self._client._ask(
                "POST", _path(self.name) + "/touch", {"ttl": self._ttl}, safe=True,
                headers=_conditions(self.token), limit=self._end - sent)
            self._end = sent + self._ttl * LEASE_SHARE
        except (NotFound, PreconditionFailed):
            self._end = sent
        except LatchkeyError:
            pass


class Claim(Lease):
    """A job that this program works on. `job` is its property, `value` that property's value."""

    def __init__(
        self, client: Latchkey, job: Property, step: Step, token: int, since: float,
    ) -> None:
        name = step["claim"] + job.name.removeprefix(step["pop"])
        super().__init__(client, name, token, step["ttl"], since)
        self.job = job
        self.value: Json = job.value
        self._step = step
        self._start()

    def finish(self, *steps: Step) -> None:
        """Removes the job, and makes further steps in the same transaction.

        Raises `LeaseLost` if the claim was lost: nothing was done, and another program has the job.
        """
        self._finish(steps)

    def finish_and_claim(self, *steps: Step) -> Claim | None:
        """As `finish`, and takes the next job in the same transaction; None if there is none."""
        sent = self._client._clock.now()
        outcome = self._finish([*steps, self._step])
        job = _popped(outcome.results[-1])
        if job is None:
            return None
        claim = Claim(self._client, job, self._step, outcome.revision, sent)
        return claim if claim.remaining > 0 else None

    def abandon(self) -> None:
        """Gives the job back, for another program to take it at once."""
        self.release()

    def _finish(self, steps: Iterable[Step]) -> Outcome:
        self._released.set()
        outcome = self._client.transaction(
            [{"delete": self.job.name}, {"delete": self.name}, *steps], when=[self.guard])
        if not outcome.succeeded:
            self.lost.set()
            raise LeaseLost(self.name)
        return outcome


class Watch(Iterator[Event]):
    """The events of a watch, without loss and repeat. It connects again whenever it is cut off.

    Use it in `with`, or call `close`, which another thread can do as well. It raises what does not
    pass, such as `Forbidden`.
    """

    def __init__(
        self, client: Latchkey, params: httpx.QueryParams, after: str | None,
        silence: float, initial: bool,
    ) -> None:
        self.last_id = after
        self._client = client
        self._params = params
        self._silence = silence
        self._initial = initial
        self._closed = threading.Event()
        self._stream: Any = None
        self._events = self._connect_again()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __next__(self) -> Event:
        return next(self._events)

    def close(self) -> None:
        """Ends the iteration."""
        self._closed.set()
        stream = self._stream
        if stream is not None:
            # Wakes the thread that reads.
            with suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def states(self) -> Iterator[dict[str, Json]]:
        """All values by name, anew after each commit: never half of a transaction.

        The watch must have `initial=True`.
        """
        if not self._initial:
            raise ValueError("states() needs watch(…, initial=True)")
        state: dict[str, Json] = {}
        is_whole = False
        for event in self:
            if event.type == "gap":
                state, is_whole = {}, False
            elif event.type == "put":
                state[event.name] = event.value
            elif event.type == "ready":
                is_whole = True
            else:
                state.pop(event.name, None)
            if is_whole and event.ends_commit:
                yield dict(state)

    def _connect_again(self) -> Iterator[Event]:
        pause, is_partial = 0.1, False
        while not self._closed.is_set():
            if is_partial and self.last_id is None:
                # The stream was cut within the current state, which comes again.
                yield Event("gap")
            delay = pause * random.uniform(0.5, 1)
            try:
                for event in self._connect():
                    pause, is_partial = 0.1, True
                    yield event
            except httpx.TransportError:
                pass
            except Busy as busy:
                delay = max(delay, busy.retry_after)
            self._client._clock.wait(self._closed, delay)
            pause = min(pause * 2, 5)

    def _connect(self) -> Iterator[Event]:
        client = self._client
        headers = {**client._headers, "Accept": "text/event-stream"}
        if self.last_id is not None:
            headers["Last-Event-ID"] = self.last_id
        with client._http.stream(
                "GET", client._url + "/v1/watch", params=self._params, headers=headers,
                timeout=httpx.Timeout(client._timeout, read=self._silence)) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _problem(answer)
            self._stream = answer.extensions["network_stream"]
            try:
                yield from self._read(answer.iter_bytes())
            finally:
                self._stream = None

    def _read(self, pieces: Iterator[bytes]) -> Iterator[Event]:
        kind, data, cursor = "", "", None
        for line in _lines(pieces):
            field, _, text = line.partition(":")
            text = text.removeprefix(" ")
            if field == "event":
                kind = text
            elif field == "data":
                data = text
            elif field == "id":
                cursor = text
            elif not line:
                self.last_id = cursor or self.last_id
                if kind == "replaced":
                    raise Replaced()
                if self._closed.is_set():
                    return
                if kind in ("put", "delete", "expire", "ready", "gap"):
                    row = json.loads(data)
                    row = {key: row[key] for key in row if key in _EVENT_FIELDS}
                    yield Event(kind, id=cursor, **row)  # type: ignore[arg-type]
                kind, data, cursor = "", "", None


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """Lines end with a line feed only: JSON can hold other characters that end lines of text."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode().removesuffix("\r") for line in whole)


def _path(name: str) -> str:
    encoded = quote(name, safe="")
    # A path would lose these two.
    return "/v1/properties/" + (encoded.replace(".", "%2E") if name in (".", "..") else encoded)


def _whole(seconds: float) -> float:
    """In whole milliseconds, and not less: the shortest wait is one."""
    return math.ceil(seconds * 1000) / 1000


def _piece(seconds: float) -> float:
    """What one request waits of a longer time."""
    return _whole(max(0, min(seconds, WAIT_SECONDS_MAX)))


def _query(params: Mapping[str, Any]) -> httpx.QueryParams:
    """The parameters that have a value; each of several."""
    return httpx.QueryParams([
        (key, str(one)) for key, value in params.items() if value is not None
        for one in ([value] if isinstance(value, (str, int, float)) else value)])


def _conditions(if_revision: int | None, if_absent: bool = False) -> dict[str, str]:
    headers = {} if if_revision is None else {"If-Match": f'"{if_revision}"'}
    return {**headers, "If-None-Match": "*"} if if_absent else headers


def _revision(answer: httpx.Response) -> int:
    return int(answer.headers["ETag"].strip('"'))


def _answered(name: str, answer: httpx.Response) -> Property:
    ttl = answer.headers.get("Latchkey-TTL")
    return Property(
        name, _revision(answer), int(answer.headers["Latchkey-Created"]), answer.json(),
        None if ttl is None else float(ttl))


def _listed(row: Mapping[str, Any]) -> Property:
    return Property(
        row["name"], row["revision"], row["created"], row.get("value"), row.get("ttl"))


def _popped(row: Result) -> Property | None:
    if row.revision == 0:
        return None
    return Property(row.name, row.revision, row.created, row.value, row.ttl)
