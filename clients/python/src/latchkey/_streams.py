"""Streams of events: how they are read, and how one continues where it was cut off."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import httpx

from ._errors import Busy, NotLatchkey, Replaced, Unreachable
from ._json import from_json
from ._requests import NOT_PROMISED, Answer, Failure, Request, exchange, foreign, leader_of
from ._session import Late, Session
from ._types import Event, event_of

PAUSE_SECONDS_MAX = 5
RETRY_SECONDS_MAX = 600
_KINDS: Mapping[str, Literal["put", "delete", "expire", "ready", "gap"]] = {
    "put": "put", "delete": "delete", "expire": "expire", "ready": "ready", "gap": "gap"}


class Message(NamedTuple):
    kind: str
    data: str
    id: str | None


class Parser:
    """Server-sent events, as in the HTML standard.

    Lines end only with CR, LF or both: JSON can have other characters that end lines of text.
    """

    def __init__(self) -> None:
        self.retry: float | None = None
        self._rest = b""
        self._is_first = True
        self._ended_with_return = False
        self._kind = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that end within this piece."""
        if self._ended_with_return and piece.startswith(b"\n"):
            piece = piece[1:]
        if piece:
            self._ended_with_return = piece.endswith(b"\r")
        rest = self._rest + piece
        if self._is_first:
            if b"\xef\xbb\xbf".startswith(rest[:3]) and len(rest) < 3:
                self._rest = rest
                return []
            rest = rest.removeprefix(b"\xef\xbb\xbf")
            self._is_first = False
        *lines, self._rest = re.split(b"\r\n|\r|\n", rest)
        found: list[Message] = []
        for line in lines:
            if line:
                self._field(line.decode(errors="replace"))
            elif self._kind or self._data or self._id is not None:
                found.append(Message(self._kind or "message", "\n".join(self._data), self._id))
                self._kind, self._data, self._id = "", [], None
        return found

    def _field(self, line: str) -> None:
        name, _, text = line.partition(":")
        text = text.removeprefix(" ")
        if name == "event":
            self._kind = text
        elif name == "data":
            self._data.append(text)
        elif name == "id" and "\0" not in text:
            self._id = text
        elif name == "retry" and re.fullmatch("[0-9]{1,9}", text):
            self.retry = int(text) / 1000


@dataclass
class Wish:
    """The parameters of a watch."""

    prefixes: tuple[str, ...]
    names: tuple[str, ...]
    initial: bool
    previous: bool
    observer: str | None
    silence: float

    def matches(self, name: str) -> bool:
        return not self.prefixes and not self.names or name in self.names or any(
            name.startswith(each) for each in self.prefixes)

    def request(self, cursor: str | None) -> Request:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if cursor is not None:
            headers["Last-Event-ID"] = cursor
        return Request("GET", "/v1/watch", {
            "prefix": self.prefixes, "name": self.names, "observer": self.observer,
            "initial": "true" if self.initial else None,
            "previous": "true" if self.previous else None}, headers=headers)


class Stream:
    """The events of a wish, without end: it reconnects after each cut."""

    def __init__(self, session: Session, wish: Wish, cursor: str | None) -> None:
        self.cursor = cursor
        self._session = session
        self._wish = wish
        self._pause = 0.1
        self._retry: float | None = None
        self._retry_after = 0.0
        self._wrong: dict[int, str] = {}
        self._hops = 0

    async def items(self) -> AsyncIterator[tuple[Event | None, str | None]]:
        """Events, each with the cursor after it. Raises errors that do not pass."""
        is_partial = False
        while True:
            if is_partial and self.cursor is None:
                # The stream was cut within the current state, which comes again.
                yield Event("gap"), None
            self._retry_after = 0.0
            async for message in self._connect():
                is_partial, self._pause = True, 0.1
                self.cursor = message.id or self.cursor
                yield self._event(message), self.cursor
            # The service's `retry` already differs for each stream.
            pause = self._retry
            if pause is None:
                pause = self._pause * random.uniform(0.5, 1)
                self._pause = min(self._pause * 2, PAUSE_SECONDS_MAX)
            pause = max(pause, self._retry_after)
            await self._session.pause(min(pause, RETRY_SECONDS_MAX))

    def _event(self, message: Message) -> Event | None:
        if message.kind == "replaced":
            raise Replaced()
        kind = _KINDS.get(message.kind)
        if kind is None:
            return None
        try:
            return event_of(kind, from_json(message.data), message.id)
        except NOT_PROMISED as error:
            text = str(error)
        raise NotLatchkey(f"an event cannot be read: {text}")

    async def _connect(self) -> AsyncIterator[Message]:
        session, settings = self._session, self._session.settings
        request, index = self._wish.request(self.cursor), self._session.address
        result = await exchange(
            session, settings.urls[index], request.target(0), request,
            session.clock.now() + settings.timeout, is_stream=True)
        if isinstance(result, Failure):
            self._missed(index, result)
            return
        try:
            answer = Answer(result)
            if answer.status == 200 and answer.media_type == "text/event-stream":
                self._wrong, self._hops = {}, 0
                parser = Parser()
                async for piece in self._pieces(result):
                    for message in parser.feed(piece):
                        yield message
                    self._retry = self._retry if parser.retry is None else parser.retry
            else:
                await self._refused(index, result)
        finally:
            session.spawn(result.aclose())

    async def _pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """Pieces, until the stream is cut, or is silent for too long."""
        pieces = response.aiter_bytes()

        async def following() -> bytes | None:
            return await anext(pieces, None)

        while True:
            try:
                piece = await self._session.race(
                    following(), self._session.clock.now() + self._wish.silence)
            except (Late, httpx.HTTPError, httpx.StreamError, OSError):
                return
            if piece is None:
                return
            yield piece

    def _missed(self, index: int, result: Failure) -> None:
        count = len(self._session.settings.urls)
        if result.kind == "wrong":
            self._wrong[index] = result.text
            if len(self._wrong) == count:
                raise Unreachable("; ".join(self._wrong.values()))
        self._session.address = (index + 1) % count

    async def _refused(self, index: int, response: httpx.Response) -> None:
        """Raises errors that do not pass."""
        session = self._session
        urls = session.settings.urls
        try:
            await session.race(response.aread(), session.clock.now() + session.settings.timeout)
        except (Late, httpx.HTTPError, OSError):
            return
        answer = Answer(response)
        problem = answer.problem()
        self._retry_after = answer.retry_after
        if problem is None:
            if not answer.is_passing:
                raise foreign(urls[index], answer)
        elif problem.type == "not-leader" and self._hops < len(urls) and (
                leader := leader_of(problem, urls)) is not None:
            self._hops += 1
            session.address = leader
        elif not isinstance(problem, Busy):
            raise problem
