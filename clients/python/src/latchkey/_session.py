"""The state of a client in one event loop of one process: connections, tasks and the time.

A session is never used after a fork, or in another event loop: the client begins another one. The
former one is left alone, because its connections belong to the parent.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx

from ._errors import Closed, InvalidValue

T = TypeVar("T")

CLOSING_SECONDS_MAX = 1


class Timer(Protocol):
    def cancel(self) -> object: ...


class Clock:
    """The time, which is never set back, and also continues while the machine sleeps."""

    # Windows has neither.
    _clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

    def now(self) -> float:
        return time.monotonic() if self._clock is None else time.clock_gettime(self._clock)

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        """Calls in the running event loop."""
        return asyncio.get_running_loop().call_later(max(0.0, when - self.now()), callback)


class Late(Exception):
    """The time of a `race` is over."""


@dataclass
class Settings:
    """The settings of a client."""

    urls: Sequence[str]
    token: str | None = field(default=None, repr=False)
    ca: str | None = None
    cert: tuple[str, str] | None = None
    timeout: float = 10
    patience: float = 10
    keys: bool = True
    http: Callable[[], httpx.AsyncClient] | None = None
    # Tests replace it by a clock that they advance.
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.urls = [url.rstrip("/") for url in self.urls]
        if not self.urls:
            raise InvalidValue("there is no address")
        self.token = self.token.strip() if self.token else None
        # Other characters would make the token part of a library's error.
        if self.token and not all("!" <= each <= "~" for each in self.token):
            raise InvalidValue("a token has visible ASCII characters only")

    def create_http(self) -> httpx.AsyncClient:
        if self.http is not None:
            return self.http()
        if any(url.startswith("https:") for url in self.urls):
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert:
                context.load_cert_chain(*self.cert)
        else:
            # Skips the certificates of the system, which take some time to read.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Each watch and each waiting lock holds a connection.
        return httpx.AsyncClient(verify=context, limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=20))


class Session:
    """See the top of this file."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = settings.clock
        self.pid = os.getpid()
        self.loop = asyncio.get_running_loop()
        self.address = 0
        self.keyless_until = 0.0
        self.is_closed = False
        # The stream that watches share.
        self.share: object = None
        # The number of calls in progress, and callbacks that run at once at the session's end.
        self.call_count = 0
        self.at_close: set[Callable[[], None]] = set()
        self._closed: asyncio.Future[None] = self.loop.create_future()
        self._http: httpx.AsyncClient | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._last: set[asyncio.Task[None]] = set()

    @property
    def is_here(self) -> bool:
        """Whether this process may use it."""
        return self.pid == os.getpid() and not self.is_closed

    @property
    def http(self) -> httpx.AsyncClient:
        """Raises the libraries' errors for a wrong file or a wrong proxy."""
        if self._http is None:
            self._http = self.settings.create_http()
        return self._http

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts a task whose error, if any, is not reported again."""
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def race(
        self, coroutine: Coroutine[Any, Any, T], until: float, *, is_last: bool = False,
        undo: Callable[[T], object] = lambda result: None,
    ) -> T:
        """Awaits it until this time, then raises `Late`; raises `Closed` when the client closes.

        It is then cancelled, also if the caller is: a coroutine that does not end holds nothing up.
        `undo` gets a result that comes nevertheless.
        """
        task = self.spawn(coroutine)
        is_taken = is_cancelled = False
        try:
            await self._first(until, is_last, task)
            is_taken = task.done()
        except asyncio.CancelledError:
            is_cancelled = True
            raise
        finally:
            if not is_taken:
                task.add_done_callback(lambda done: _undo(done, undo))
                await _end(task, is_cancelled)
        if not is_taken:
            raise Late
        return task.result()

    async def pause(self, seconds: float, *, is_last: bool = False) -> None:
        await self._first(self.clock.now() + seconds, is_last)

    async def _first(self, until: float, is_last: bool, *tasks: asyncio.Task[Any]) -> None:
        """Waits for a task, the time or the end of the client; the last two raise."""
        late: asyncio.Future[None] = self.loop.create_future()

        def end() -> None:
            if not late.done():
                late.set_result(None)

        timer = self.clock.call_at(until, end)
        ends: list[asyncio.Future[Any]] = [*tasks, late]
        if not is_last:
            ends.append(self._closed)
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if self.is_closed and not is_last and not any(task.done() for task in tasks):
            raise Closed("the client is closed")

    def last(self, give_back: Callable[[], Awaitable[object]]) -> None:
        """Runs `give_back` in the background, and also while the client is closed."""
        if self.pid != os.getpid() or self.loop.is_closed():
            return
        task = self.loop.create_task(self._give_back(give_back))
        self._last.add(task)
        task.add_done_callback(self._last.discard)

    async def _give_back(self, give_back: Callable[[], Awaitable[object]]) -> None:
        for _ in range(2):
            try:
                await give_back()
                return
            except asyncio.CancelledError:
                # `asyncio.run` ends and cancels each task once, and then waits for it.
                continue
            except Exception:  # noqa: BLE001
                # It expires by itself.
                return

    def abandon(self) -> None:
        """Ends all waits at once, and all leases. May be called by another thread at its end."""
        self.is_closed = True
        for end in list(self.at_close):
            end()

    async def close(self) -> None:
        if self.is_closed:
            return
        self.abandon()
        self._closed.set_result(None)
        while self.call_count > 0:
            # Calls that were waiting give back what they got.
            await asyncio.sleep(0)
        if self._last:
            with suppress(Late):
                await self.race(
                    _all([*self._last]), self.clock.now() + self.settings.timeout, is_last=True)
        tasks = [*self._tasks, *self._last]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSING_SECONDS_MAX)
        if self._http is not None:
            await self._http.aclose()


async def _end(task: asyncio.Task[Any], is_cancelled: bool) -> None:
    """Cancels a task, which then closes its connection; a second cancellation would prevent that.

    At the end of `asyncio.run`, Python 3.10 cancels the task as well as its caller.
    """
    try:
        for _ in range(10 if is_cancelled else 0):
            await asyncio.sleep(0)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=CLOSING_SECONDS_MAX)


def _undo(task: asyncio.Task[T], undo: Callable[[T], object]) -> None:
    if not task.cancelled() and task.exception() is None:
        undo(task.result())


async def _all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
