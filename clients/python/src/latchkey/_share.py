"""One stream for the watches of a client.

***Design.** Each watch begins with a stream of its own. It is up to date when it has the id of a
*complete commit, outside of the current state. Watches that are up to date are merged: their
*streams end, and one with all their prefixes and names begins at the smallest of their ids. Each
*watch drops events that it already has or did not ask for. A watch that is read too slowly gets its
*own stream from its place. They are merged between two steps of the event loop, when no task is in
*the middle of its messages: so no event is in two places.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ._errors import Closed
from ._session import Session
from ._streams import Stream, Wish
from ._types import Event

if TYPE_CHECKING:
    from ._watches import AsyncWatch

FILTER_COUNT_MAX = 16


@dataclass
class Member:
    watch: AsyncWatch
    cursor: str
    # Held back until the next one: the last event of a commit gets the commit's id.
    held: Event | None = None


class Share:
    """The watches of a session that have one stream, and those that can join them."""

    def __init__(self, session: Session) -> None:
        self.level: dict[AsyncWatch, str] = {}
        self._session = session
        self._members: dict[AsyncWatch, Member] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_in_state = False
        self._will_merge = False

    def join(self, watch: AsyncWatch, cursor: str) -> None:
        """The watch is up to date, until its next event."""
        self.level[watch] = cursor
        self._merge_soon()

    def _merge_soon(self) -> None:
        # Not at once: the calling task could not be ended before it has handled its messages.
        if not self._will_merge:
            self._will_merge = True
            self._session.loop.call_soon(self._merge)

    def _merge(self) -> None:
        """Merges the watches that are up to date."""
        self._will_merge = False
        if self._is_in_state or not self._members and len(self.level) < 2:
            return
        added = False
        for watch, cursor in list(self.level.items()):
            wishes = [each.wish for each in (*self._members, watch)]
            prefixes, names = _filters(wishes)
            if len(prefixes) + len(names) <= FILTER_COUNT_MAX:
                watch.stop_reading()
                self._members[watch] = Member(watch, cursor)
                del self.level[watch]
                added = True
        if added:
            if self._task is not None:
                self._task.cancel()
            self._task = self._session.spawn(self._read())

    def leave(self, watch: AsyncWatch) -> None:
        self.level.pop(watch, None)
        self._members.pop(watch, None)
        if not self._members and self._task is not None:
            self._task.cancel()
            self._task, self._is_in_state = None, False

    async def _read(self) -> None:
        wishes = [each.wish for each in self._members]
        prefixes, names = _filters(wishes)
        wish = Wish(prefixes, names, False, any(each.previous for each in wishes), None,
                    min(each.silence for each in wishes))
        begin = min((each.cursor for each in self._members.values()), key=order_of)
        try:
            async for event, cursor in Stream(self._session, wish, begin).items():
                for member in list(self._members.values()):
                    self._pass(member, event, cursor)
                if event is not None and event.type in ("gap", "ready"):
                    # The gap may have filled up members, perhaps all: these have left.
                    self._is_in_state = event.type == "gap" and bool(self._members)
                    self._merge_soon()
        except Closed:
            pass
        except Exception:  # noqa: BLE001
            # Each finds out alone whether the error concerns it.
            for member in list(self._members.values()):
                self._go_alone(member)

    def _pass(self, member: Member, event: Event | None, cursor: str | None) -> None:
        watch = member.watch
        if event is not None and (self._is_in_state or event.type in ("gap", "ready")):
            if event.type == "ready" and cursor is not None:
                member.cursor = cursor
            member.held = None
            if event.type in ("gap", "ready") or watch.wish.matches(event.name):
                watch.add(event, member.cursor)
        elif cursor is not None and order_of(cursor) > order_of(member.cursor):
            member.cursor = cursor
            if event is not None and watch.wish.matches(event.name):
                self._add_held(member)
                member.held = event if watch.wish.previous else replace(event, previous=None)
            elif member.held is None:
                watch.add(None, cursor)
            if is_whole(cursor):
                self._add_held(member, cursor)
        if watch.is_full:
            self._go_alone(member)

    def _add_held(self, member: Member, cursor: str | None = None) -> None:
        if member.held is not None:
            event = replace(member.held, id=cursor or member.held.id)
            member.watch.add(event, event.id)
            member.held = None

    def _go_alone(self, member: Member) -> None:
        self._add_held(member)
        self.leave(member.watch)
        member.watch.go_alone(member.cursor)


def order_of(cursor: str) -> tuple[int, float]:
    """Orders an id within a commit before that of the commit."""
    revision, _, part = cursor.partition(".")
    return int(revision), int(part) if part else math.inf


def is_whole(cursor: str) -> bool:
    return cursor.isascii() and cursor.isdigit()


def _filters(wishes: list[Wish]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if any(not each.prefixes and not each.names for each in wishes):
        return (), ()
    return (tuple(dict.fromkeys(one for each in wishes for one in each.prefixes)),
            tuple(dict.fromkeys(one for each in wishes for one in each.names)))
