"""One request, until it has a final answer.

`clients/behaviour.md` says which requests are repeated, and what each answer means.
"""

from __future__ import annotations

import asyncio
import random
import re
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar

import httpx

from ._errors import (
    Busy, Closed, LatchkeyError, NotLatchkey, OutcomeUnknown, Problem, Unreachable,
    kind_of_problem,
)
from ._json import Json, from_json, to_json
from ._session import Late, Session
from ._types import query_of

T = TypeVar("T")

Kind = Literal["none", "wrong", "cut"]
GRACE_SECONDS = 2
"""The time after its wait by which a waiting call ends."""
KEYLESS_SECONDS = 10
_NO_KEY_LEFT = ("client-share-taken", "too-many-idempotency-keys")
_NOT_THE_ANSWER = ("idempotency-key-reused", "not-leader")
# A repeat gets such a status if the token has lost its right since the first attempt.
_NOT_ALLOWED = (401, 403)
_WITHOUT_CHANGE = (425, 429)
_PASSING = (408, 500, 502, 503, 504)
_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", -5), socket.EAI_FAIL,
                 getattr(socket, "EAI_ADDRFAMILY", -9))
# Errors of a reader when the answer is not the service's.
NOT_PROMISED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_NO_BODY = object()


class Answer:
    """An answer, of the service or of something else."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    def json(self) -> Json:
        if self.media_type != "application/json":
            raise ValueError("not JSON")
        return from_json(self._response.content)

    def revision(self) -> int:
        found = re.fullmatch(r'(?:W/)?"(\d{1,19})"', self.headers["ETag"])
        if found is None:
            raise ValueError("not a revision")
        return int(found[1])

    def problem(self) -> Problem | None:
        """The problem, or None if it is not one of the service."""
        if self.status < 400 or self.media_type != "application/problem+json":
            return None
        try:
            body = from_json(self._response.content)
            type, detail, leader = body["type"], body.get("detail"), body.get("leader")
            kind = type.removeprefix("/problems/")
        except NOT_PROMISED:
            return None
        if kind == type:
            return None
        leader = leader or self.headers.get("Latchkey-Leader")
        return kind_of_problem(self.status, kind)(
            self.status, kind, str(detail or ""), self.retry_after, leader and str(leader))

    @property
    def retry_after(self) -> float:
        """The seconds, from a number or a date."""
        text = self.headers.get("Retry-After", "0")
        with suppress(ValueError):
            return max(0.0, float(text))
        with suppress(ValueError, OverflowError):
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        return 0.0

    @property
    def is_passing(self) -> bool:
        """Whether the status says that something other than the service cannot answer now."""
        return self.status in _WITHOUT_CHANGE or self.status in _PASSING


@dataclass
class Request:
    """`safe`: it can be made twice. `wait`: the seconds that the service shall wait."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Json = _NO_BODY
    headers: dict[str, str] = field(default_factory=dict[str, str])
    statuses: Collection[int] = (200,)
    safe: bool = False
    wait: float = 0
    key: str | None = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        # An attempt was sent, and its outcome is unknown.
        self.may_be_made = False
        self.content: bytes | None = None
        self.safe = self.safe or self.method == "GET"
        if self.safe:
            self.key = None
        if self.body is not _NO_BODY:
            self.content = to_json(self.body)
            self.headers.setdefault("Content-Type", "application/json")

    def target(self, left: float) -> str:
        query = query_of({**self.params, "wait": left or None})
        return f"{self.path}?{query}" if query else self.path


@dataclass
class Failure:
    """An attempt without an answer. "none": no connection; "wrong": no attempt can succeed."""

    kind: Kind
    text: str


class _Phase:
    """Whether the request was sent."""

    is_connecting = False

    async def trace(self, name: str, _: Mapping[str, Any]) -> None:
        if name.endswith(".send_request_headers.started"):
            self.is_connecting = False
        elif name.startswith("connection.connect_") and name.endswith(".started"):
            self.is_connecting = True


async def exchange(
    session: Session, base: str, target: str, request: Request, until: float, *,
    is_stream: bool = False, is_last: bool = False,
) -> httpx.Response | Failure:
    """One attempt."""
    phase, headers = _Phase(), dict(request.headers)
    was_in_doubt, request.may_be_made = request.may_be_made, True
    if session.settings.token:
        headers["Authorization"] = f"Bearer {session.settings.token}"
    if request.key:
        headers["Idempotency-Key"] = request.key
    try:
        sent = session.http.build_request(
            request.method, base + target, content=request.content, headers=headers, timeout=None,
            extensions={"trace": phase.trace})
    except Exception as error:  # noqa: BLE001
        # A missing file, an invalid proxy in the environment, an invalid address.
        return Failure("wrong", _origin(base) + _said(error))
    try:
        return await session.race(
            session.http.send(sent, stream=is_stream, follow_redirects=False), until,
            is_last=is_last, undo=lambda response: session.spawn(response.aclose()))
    except Late:
        kind: Kind = "none" if phase.is_connecting else "cut"
        return Failure(kind, _origin(base) + "no answer in time")
    except (asyncio.CancelledError, Closed):
        request.may_be_made = was_in_doubt or not phase.is_connecting
        raise
    except Exception as error:  # noqa: BLE001
        return Failure(_kind(error, phase), _origin(base) + _said(error))


def _kind(error: Exception, phase: _Phase) -> Kind:
    for each in _causes(error):
        if isinstance(each, socket.gaierror):
            return "wrong" if each.errno in _NO_SUCH_NAME else "none"
        if isinstance(each, ssl.SSLError) and not isinstance(
                each, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)):
            return "wrong"
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout,
                          httpx.ProxyError)):
        return "none"
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return "wrong"
    if phase.is_connecting:
        return "none" if isinstance(error, (httpx.TransportError, OSError)) else "wrong"
    return "cut"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _said(error: Exception) -> str:
    deepest = [each for each in _causes(error) if str(each)]
    return f"{type(error).__name__}: {deepest[-1] if deepest else error!r}"


def _origin(base: str) -> str:
    """The address without a password."""
    scheme, _, rest = base.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}: "


async def ask(
    session: Session, request: Request, read: Callable[[Answer], T], *,
    until: float | None = None, limit: float | None = None, is_last: bool = False,
) -> T:
    """Sends a request until it has a final answer, which `read` reads.

    The call ends at `until`, and after `limit` seconds instead of the client's patience. `is_last`:
    it also works when the client is closed.
    """
    if session.is_closed and not is_last:
        raise Closed("the client is closed")
    settings, clock = session.settings, session.clock
    # Giving back repeats a request: it has the key that was sent.
    if not settings.keys or not is_last and clock.now() < session.keyless_until:
        request.key = None
    session.call_count += not is_last
    try:
        return await _Asking(session, request, until, limit, is_last).answer(read)
    finally:
        session.call_count -= not is_last


class _Asking:
    """The attempts of one call."""

    def __init__(
        self, session: Session, request: Request, until: float | None, limit: float | None,
        is_last: bool,
    ) -> None:
        self.session, self.request, self.is_last = session, request, is_last
        self.clock, self.urls = session.clock, session.settings.urls
        now = self.clock.now()
        self.wait_end = now + request.wait
        self.end = now + (session.settings.patience + request.wait if limit is None else limit)
        if until is not None and request.wait > 0:
            self.end = min(self.end, until + GRACE_SECONDS)
        self.is_in_doubt = False
        self.index = session.address
        self.pause = 0.05
        # Addresses in a row without a connection, wrong addresses, and hops to a leader.
        self.missed, self.wrong, self.hops = 0, dict[int, str](), 0

    async def answer(self, read: Callable[[Answer], T]) -> T:
        request, session = self.request, self.session
        while True:
            now = self.clock.now()
            if not self.is_in_doubt:
                self.index = session.address
            index = self.index
            # In whole milliseconds.
            left = round(max(0.0, self.wait_end - now), 3) if request.wait else 0
            result = await exchange(
                session, self.urls[index], request.target(left), request,
                min(self.end, now + session.settings.timeout + left), is_last=self.is_last)
            delay = self.pause * random.uniform(0.5, 1)
            if isinstance(result, Failure):
                failure, delay = self._missed(index, result, delay)
            else:
                answer = Answer(result)
                if answer.status in request.statuses:
                    try:
                        return read(answer)
                    except NOT_PROMISED:
                        self._end(foreign(self.urls[index], answer))
                refused = self._refused(index, answer)
                if refused is None:
                    continue
                failure = refused
                delay = max(delay, answer.retry_after)
            may_repeat = not self.is_in_doubt or request.key
            if not may_repeat or self.clock.now() + delay > self.end:
                self._end(failure)
            request.may_be_made = self.is_in_doubt
            await session.pause(delay, is_last=self.is_last)
            self.pause = min(self.pause * 2, 2)

    def _end(self, error: LatchkeyError) -> None:
        if self.is_in_doubt:
            raise OutcomeUnknown(str(error))
        raise error

    def _missed(
        self, index: int, result: Failure, delay: float,
    ) -> tuple[LatchkeyError, float]:
        failure, count = Unreachable(result.text), len(self.urls)
        if result.kind == "cut":
            self.is_in_doubt = self.is_in_doubt or not self.request.safe
        elif result.kind == "wrong":
            self.wrong[index] = result.text
            if self.is_in_doubt or len(self.wrong) == count:
                self._end(Unreachable("; ".join(self.wrong.values())))
        if not self.is_in_doubt and count > 1:
            # The next address that is not wrong; without a delay, until all were tried.
            self.missed += 1
            others = [(index + step) % count for step in range(1, count + 1)]
            self.session.address = next(each for each in others if each not in self.wrong)
            if self.missed % count != 0:
                delay = 0
        return failure, delay

    def _refused(self, index: int, answer: Answer) -> LatchkeyError | None:
        """The error of the answer; None: send again at once. Raises errors that do not pass."""
        request, session = self.request, self.session
        self.missed = 0
        problem = answer.problem()
        if problem is None:
            if answer.is_passing:
                if answer.status not in _WITHOUT_CHANGE:
                    self.is_in_doubt = self.is_in_doubt or not request.safe
                return Unreachable(str(foreign(self.urls[index], answer)))
            self._end(foreign(self.urls[index], answer))
        assert problem is not None
        if problem.type in _NO_KEY_LEFT and request.key and not self.is_in_doubt:
            request.key = None
            session.keyless_until = self.clock.now() + KEYLESS_SECONDS
            return None
        if problem.type == "outcome-unknown":
            self.is_in_doubt = self.is_in_doubt or not request.safe
        elif problem.type == "answer-not-kept" or (
                self.is_in_doubt and (
                    problem.type in _NOT_THE_ANSWER or problem.status in _NOT_ALLOWED)):
            raise OutcomeUnknown(str(problem))
        elif problem.type == "not-leader" and self.hops < len(self.urls) and (
                leader := leader_of(problem, self.urls)) is not None:
            self.hops += 1
            session.address = leader
            return None
        elif not isinstance(problem, Busy):
            raise problem
        return problem


def leader_of(problem: Problem, urls: Collection[str]) -> int | None:
    """The index of the leader's address, or None."""
    leader = (problem.leader or "").rstrip("/").lower()
    return next((index for index, url in enumerate(urls) if url.lower() == leader), None)


def foreign(base: str, answer: Answer) -> NotLatchkey:
    return NotLatchkey(f"{_origin(base)}something else than the service answered, with status "
                       f"{answer.status} and {answer.media_type or 'no type'}")

