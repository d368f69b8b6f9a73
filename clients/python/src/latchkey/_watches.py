"""Watches: each has a task that reads a stream, and a queue of events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable

from ._errors import Closed, InvalidValue, LatchkeyError
from ._json import Json
from ._session import Session
from ._share import Share, is_whole
from ._streams import Stream, Wish
from ._types import Event, States

QUEUE_COUNT_MAX = 256

Item = tuple[Event | None, str | None]
"""An event, and the id after which to continue."""


class AsyncWatch:
    """The events of a watch, without losses or repeats. It reconnects after each cut.

    Use it in `async with`, or call `close`, which another task may do as well. It raises errors
    that do not pass, such as `Forbidden`. `last_id` is the id of the last event that it has
    returned.
    """

    def __init__(self, session: Callable[[], Session], wish: Wish, after: str | None) -> None:
        self.last_id = after
        self._open_session = session
        self.wish = wish
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._items: deque[Item] = deque()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._is_over = False
        # Another thread may set it.
        self.is_closed = False
        self._error: LatchkeyError | None = None

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end()

    def __aiter__(self) -> AsyncWatch:
        return self

    async def __anext__(self) -> Event:
        while await self.fill():
            event, self.last_id = self._items.popleft()
            if event is not None:
                return event
        raise StopAsyncIteration

    async def close(self) -> None:
        """Ends the iteration, at once."""
        self.end()

    async def states(self) -> AsyncIterator[dict[str, Json]]:
        """All values by name, after each commit: never half of a transaction.

        The watch must have `initial=True`, and is closed at the end of the iteration.
        """
        check_states(self.wish)
        states = States()
        try:
            async for event in self:
                if (state := states.after(event)) is not None:
                    yield state
        finally:
            self.end()

    # For the watches of threads

    async def take(self) -> list[Item]:
        """All items that have come, at least one; none at the end."""
        await self.fill()
        items = list(self._items)
        self._items.clear()
        return items

    def untake(self, items: Iterable[Item]) -> None:
        self._items.extendleft(reversed([*items]))

    async def fill(self) -> bool:
        """Waits for the next item. False: there are no more."""
        if self._session is None and not self._is_over:
            self._session = self._open_session()
            self._session.at_close.add(self.end)
            self._task = self._session.spawn(self._read(
                self._session, self.last_id, can_share=self.wish.observer is None))
        elif self._session is not None and not self._session.is_here and not self._is_over:
            raise Closed("this watch belongs to another process")
        self._room.set()
        while not self._items and not self._is_over:
            self._changed.clear()
            await self._changed.wait()
        if self._items:
            return True
        error, self._error = self._error, None
        if error is not None:
            raise error
        return False

    def end(self, error: LatchkeyError | None = None) -> None:
        if self._is_over:
            return
        self._is_over, self._error = True, error
        if error is None:
            self.is_closed = True
            self._items.clear()
        self._changed.set()
        if self._session is not None:
            self._session.at_close.discard(self.end)
            if self._session.is_here:
                share_of(self._session).leave(self)
            if self._task is not None and self._session.is_here:
                self._task.cancel()

    # For the share

    @property
    def is_full(self) -> bool:
        return len(self._items) >= QUEUE_COUNT_MAX

    def add(self, event: Event | None, cursor: str | None) -> None:
        if self._items and self._items[-1][0] is None:
            self._items.pop()
        self._items.append((event, cursor))
        self._changed.set()

    def stop_reading(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def go_alone(self, cursor: str) -> None:
        if self._session is not None and not self._is_over:
            self._task = self._session.spawn(
                self._read(self._session, cursor, can_share=False))

    async def _read(self, session: Session, after: str | None, can_share: bool) -> None:
        share = share_of(session)
        is_in_state = self.wish.initial and after is None
        try:
            async for event, cursor in Stream(session, self.wish, after).items():
                self.add(event, cursor)
                if event is not None and event.type in ("gap", "ready"):
                    is_in_state = event.type == "gap"
                share.level.pop(self, None)
                while self.is_full:
                    # Meanwhile the service waits as well.
                    self._room.clear()
                    await self._room.wait()
                if can_share and not is_in_state and cursor is not None and is_whole(cursor):
                    share.join(self, cursor)
        except Closed:
            self.end()
        except LatchkeyError as error:
            self.end(error)
        except Exception as error:  # noqa: BLE001
            self.end(LatchkeyError(repr(error)))


def check_states(wish: Wish) -> None:
    if not wish.initial:
        raise InvalidValue("states() needs watch(…, initial=True)")


def share_of(session: Session) -> Share:
    if session.share is None:
        session.share = Share(session)
    assert isinstance(session.share, Share)
    return session.share
