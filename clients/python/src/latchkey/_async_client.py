"""The client for asyncio, which also does the work of the client for threads.

Length: all calls in one class.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import NoReturn, TypeVar

import httpx

from ._calls import (
    AsyncHandler, property_in, property_or_none_in, put_again, read_page, read_tagged, steps_of,
)
from ._errors import Closed, InvalidValue, LeaseLost, NotAcquired, NotFound
from ._json import Json
from ._leases import (
    AsyncClaim, AsyncLease, Jobs, ask_or_give_back, delete_last, delete_request,
    given_back_after_errors, last_property, latest, read_outcome, transaction_request,
)
from ._requests import Answer, Request, ask
from ._session import Session, Settings
from ._streams import Wish
from ._types import (
    NAMES_COUNT_MAX, TARGET_BYTES_MAX, WAIT_SECONDS_MAX, Condition, Outcome, Property, Step,
    boolean, conditions, end_of, integer, path_of, piece, property_of_result, query_of,
    whole,
)
from ._watches import AsyncWatch

T = TypeVar("T")
# Sessions of the parent, in a child: ending them would close the parent's connections.
_LEFT_ALONE: list[Session] = []


class AsyncLatchkey:
    """A client of one service, for asyncio. Close it, or use it in `async with`.

    - `urls`: several addresses of the service, in place of `url`.
    - `token`: sent as `Authorization: Bearer`. `ca`: a file of certificates to trust, in place of
      the system's. `cert`: the files of a client's certificate and its key.
    - `timeout`: seconds for each attempt. `patience`: seconds for further attempts. `keys`: whether
      writes have an `Idempotency-Key`.
    - `http`: makes your own `httpx.AsyncClient`, for proxies; called again after a fork.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, urls: Sequence[str] = (),
        token: str | None = None, ca: str | None = None, cert: tuple[str, str] | None = None,
        timeout: float = 10, patience: float = 10, keys: bool = True,
        http: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        self._settings = Settings(urls or [url], token, ca, cert, timeout, patience, keys, http)
        self._current: Session | None = None
        self._is_closed = False

    async def __aenter__(self) -> AsyncLatchkey:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client cannot be pickled: it has connections and a token")

    async def close(self) -> None:
        """Ends all waits and watches, gives back what they got, and closes the connections.

        Locks and claims that are held are lost: they expire.
        """
        self._is_closed = True
        session = self._current
        if session is not None and session.is_here and session.loop is asyncio.get_running_loop():
            await session.close()

    def abandon(self) -> None:
        """Like `close`, when the event loop has ended."""
        self._is_closed = True
        if self._current is not None:
            self._current.abandon()

    # One property

    async def get(self, name: str, *, revision: int | None = None) -> Property:
        """Reads a property, now or as of a revision. Raises `NotFound`, and `Gone` for the past."""
        return await self._ask(
            Request("GET", path_of(name), {"revision": revision}), property_in(name))

    async def find(self, name: str) -> Property | None:
        """Reads a property; None if there is none."""
        try:
            return await self.get(name)
        except NotFound:
            return None

    async def put(
        self, name: str, value: Json, *, ttl: float | None = None, ttl_if_new: float | None = None,
        if_revision: int | None = None, if_absent: bool = False,
    ) -> int:
        """Creates or replaces a property. Returns the new revision.

        Without `ttl` it does not expire. `if_revision` and `if_absent` raise `PreconditionFailed`.
        """
        return await self._ask(Request(
            "PUT", path_of(name), {"ttl": ttl, "ttl-if-new": ttl_if_new}, body=value,
            headers=conditions(if_revision, if_absent), statuses=(201, 204)), Answer.revision)

    async def delete(self, name: str, *, if_revision: int | None = None) -> bool:
        """Deletes a property. Returns whether there was one."""
        try:
            await self._ask(delete_request(name, if_revision), lambda answer: None)
        except NotFound:
            return False
        return True

    async def increment(
        self, name: str, by: int = 1, *, ttl: float | None = None, ttl_if_new: float | None = None,
    ) -> int:
        """Adds to an integer, from 0 if there is none. Returns the sum. Raises `NotAnInteger`."""
        return await self._ask(Request(
            "POST", path_of(name) + "/increment", {"ttl": ttl, "ttl-if-new": ttl_if_new},
            body={"by": by}), lambda answer: integer(read_tagged(answer)))

    async def merge(
        self, name: str, patch: Json, *, ttl: float | None = None, ttl_if_new: float | None = None,
        if_revision: int | None = None,
    ) -> Json:
        """Merges a JSON merge patch (RFC 7396); None removes a member. Returns the new value."""
        headers = {"Content-Type": "application/merge-patch+json", **conditions(if_revision)}
        return await self._ask(Request(
            "PATCH", path_of(name), {"ttl": ttl, "ttl-if-new": ttl_if_new}, body=patch,
            headers=headers), read_tagged)

    async def touch(self, name: str, ttl: float, *, if_revision: int | None = None) -> int:
        """Restarts the time to live. Value and revision stay. Returns the revision."""
        return await self._ask(Request(
            "POST", path_of(name) + "/touch", {"ttl": ttl}, headers=conditions(if_revision),
            statuses=(204,), safe=True), Answer.revision)

    async def wait(self, name: str, after: int = 0, *, wait: float = 30) -> Property | None:
        """Waits until the property's revision is above `after`; None after `wait` seconds.

        With `after=0` it also waits for a property that does not exist yet; otherwise a missing one
        raises `NotFound`.
        """
        end = end_of(wait, self._now())
        while True:
            # The service ends a poll before its time, above all behind a proxy.
            left = self._left(end)
            try:
                # Proxies expect a condition in a request that can be answered with 304.
                found = await self._ask(Request(
                    "GET", path_of(name), {"after": after}, wait=left, statuses=(200, 304),
                    headers={"If-None-Match": f'"{after}"'}), property_or_none_in(name), end)
                if found is not None:
                    return found
            except NotFound:
                if after != 0:
                    raise
            if end is not None and self._now() >= end:
                return None

    # Several properties

    async def list(self, prefix: str = "", *, values: bool = True) -> AsyncIterator[Property]:
        """The properties whose names start with the prefix, sorted by name, page by page.

        A page is the state at one revision; two pages need not be.
        """
        after: str | None = None
        while True:
            page, after = await self.page(prefix, values, after)
            for each in page:
                yield each
            if after is None:
                return

    async def page(
        self, prefix: str, values: bool, after: str | None,
    ) -> tuple[Sequence[Property], str | None]:
        """A page of a list, and the `after` of the next one."""
        params = {"prefix": prefix, "limit": 1000, "values": str(values).lower(), "after": after}
        return await self._ask(Request("GET", "/v1/properties", params), read_page)

    async def get_many(self, names: Sequence[str]) -> dict[str, Property]:
        """Reads at most 128 properties at one revision. Missing ones are left out."""
        if len(names) > NAMES_COUNT_MAX:
            raise InvalidValue(f"{len(names)} names are more than {NAMES_COUNT_MAX}")
        if not names:
            return {}
        request = Request("GET", "/v1/properties", {"name": names})
        if len(request.target(0)) < TARGET_BYTES_MAX:
            found, _ = await self._ask(request, read_page)
        else:
            reads: list[Step] = [{"get": name} for name in names]
            request = transaction_request(reads)
            request.safe, request.key = True, None
            outcome = await self._ask(request, read_outcome)
            found = [each for row in outcome.results if (each := property_of_result(row))]
        return {each.name: each for each in found}

    async def count(self, prefix: str = "") -> int:
        """The number of names that start with the prefix."""
        return await self._ask(
            Request("GET", "/v1/count", {"prefix": prefix}),
            lambda answer: integer(answer.json()["count"]))

    async def delete_prefix(self, prefix: str) -> int:
        """Deletes all properties whose names start with the prefix. Returns their number.

        Each 1000 are one commit.
        """
        total, more = 0, True
        while more:
            count, more = await self._ask(
                Request("DELETE", "/v1/properties", {"prefix": prefix, "limit": 1000}),
                lambda answer: (integer(answer.json()["count"]), boolean(answer.json()["more"])))
            total += count
        return total

    async def transaction(
        self, then: Iterable[Step], *, when: Iterable[Condition] = (),
        otherwise: Iterable[Step] = (), wait: float = 0,
    ) -> Outcome:
        """Makes the steps of `then` if all conditions of `when` hold, else those of `otherwise`.

        All steps are made at one revision, or none. With `wait`, at most 60 seconds, it waits until
        the conditions hold and each `pop` finds something; all steps wait, not only the pop.
        """
        wait = whole(wait)
        return await self._ask(
            transaction_request(then, when, otherwise, wait), read_outcome, self._now() + wait)

    # Queues

    async def pop(self, prefix: str, *, wait: float | None = 0) -> Property | None:
        """Removes and returns the first property, by name, under the prefix.

        Waits up to `wait` seconds for one, without limit if None. If this program dies before it
        has used the property, the property is lost: `work` and `claim` are for jobs that must be
        done.
        """
        session, end = self._session(), end_of(wait, self._now())

        def undo(outcome: Outcome) -> Awaitable[None] | None:
            found = last_property(outcome)
            return None if found is None else put_again(session, found)

        while True:
            outcome = await ask_or_give_back(
                session, transaction_request([{"pop": prefix}], wait=self._left(end)), end, undo)
            found = last_property(outcome)
            if found is not None or end is not None and self._now() >= end:
                return found

    def put_back(self, popped: Property | None) -> None:
        """Puts a popped property back, in the background, for a call that is over."""
        if popped is not None and (session := self._current) is not None:
            session.last(lambda: put_again(session, popped))

    async def claim(
        self, jobs: str, *, claims: str, ttl: float = 30, wait: float | None = 0,
        value: Json = None,
    ) -> AsyncClaim | None:
        """Takes the first job under the prefix `jobs` that has no claim, or None.

        The claim is a property under the prefix `claims` with a time to live. It is renewed until
        `finish` or `abandon`; if this program dies, the job comes back after `ttl` seconds.
        """
        session, end = self._session(), end_of(wait, self._now())
        spec = Jobs(jobs, claims, ttl, value)
        while True:
            sent = self._now()
            outcome = await ask_or_give_back(
                session, transaction_request([spec.step()], wait=self._left(end)), end,
                lambda done: spec.undo(session, done))
            job = last_property(outcome)
            if job is not None:
                claim = AsyncClaim(session, job, spec, outcome.revision, sent)
                if await claim.start(latest(session, sent, end, wait)):
                    return claim
            if end is not None and self._now() >= end:
                return None

    async def work(
        self, jobs: str, handle: AsyncHandler, *, claims: str, ttl: float = 30,
        wait: float | None = None, value: Json = None,
    ) -> int:
        """Calls `handle` for one job after the other. Returns the number of finished ones.

        `handle` may be an ordinary function, a coroutine function or a generator function. Ends
        when there is no job for `wait` seconds, with None never. When `handle` returns, its job is
        finished and the next one taken, in one transaction with the steps that it returns: these
        are made once for each job. If it raises, the job comes back at once and the error is raised
        here. `handle` is called at least once for a job, and again if its claim was lost.
        """
        count = 0
        claim = await self.claim(jobs, claims=claims, ttl=ttl, wait=wait, value=value)
        while claim is not None:
            following: AsyncClaim | None = None
            async with given_back_after_errors(claim):
                steps = await steps_of(handle, claim)
                with suppress(LeaseLost):
                    following = await claim.finish_and_claim(*steps)
                    count += 1
            claim = following or await self.claim(
                jobs, claims=claims, ttl=ttl, wait=wait, value=value)
        return count

    # Locks

    async def acquire(
        self, name: str, *, ttl: float = 10, wait: float | None = None, value: Json = None,
    ) -> AsyncLease:
        """Like `lock`, without `async with`: call `release` of the lease."""
        session, end = self._session(), end_of(wait, self._now())
        step: Step = {"put": name, "value": value, "ttl": ttl}

        def undo(outcome: Outcome) -> Awaitable[None] | None:
            return delete_last(session, name, outcome.revision) if outcome.succeeded else None

        while True:
            sent = self._now()
            request = transaction_request(
                [step], [{"name": name, "absent": True}], wait=self._left(end))
            outcome = await ask_or_give_back(session, request, end, undo)
            if outcome.succeeded:
                lease = AsyncLease(session, name, outcome.revision, ttl, sent)
                if await lease.start(latest(session, sent, end, wait)):
                    return lease
            if end is not None and self._now() >= end:
                raise NotAcquired(f"{name}: another client has the lock.")

    @asynccontextmanager
    async def lock(
        self, name: str, *, ttl: float = 10, wait: float | None = None, value: Json = None,
    ) -> AsyncGenerator[AsyncLease, None]:
        """Holds a lock: a property that one client creates and that expires without renewal.

        Waits up to `wait` seconds, without limit if None, then raises `NotAcquired`. A task renews
        the lock, `ttl` seconds at a time. If it is lost, `lost` of the lease is set, and the end of
        the block raises `LeaseLost`. Waiting clients get it in their order.
        """
        lease = await self.acquire(name, ttl=ttl, wait=wait, value=value)
        async with given_back_after_errors(lease):
            yield lease
        if not await lease.release():
            raise LeaseLost(name)

    def election(
        self, name: str, candidate: Json, *, ttl: float = 10, wait: float | None = None,
    ) -> AbstractAsyncContextManager[AsyncLease]:
        """Leads in the block: `lock` with the candidate as its value. `find(name)` reads it."""
        return self.lock(name, ttl=ttl, wait=wait, value=candidate)

    # Watches

    def watch(
        self, *prefixes: str, names: Sequence[str] = (), initial: bool = False,
        after: int | str | None = None, previous: bool = False, observer: str | None = None,
        silence: float = 60,
    ) -> AsyncWatch:
        """The changes of names and prefixes; without both, of all properties. Iterate over it.

        - `initial`: the current state comes first, as "put" events, and then "ready".
        - `after`: starts after this revision or event id.
        - `previous`: events have the value before. `observer`: ends an older watch with this name.
        - `silence`: it reconnects after so many seconds without a message; more than 15, as the
          service sends one at least every 15.
        """
        wish = Wish(prefixes, tuple(names), initial, previous, observer, silence)
        query_of(wish.request(None).params)
        cursor = None if after is None else str(after)
        if cursor is not None and not (cursor.isascii() and cursor.isprintable()):
            raise InvalidValue("this is not the id of an event")
        return AsyncWatch(self._session, wish, cursor)

    # Requests

    def _session(self) -> Session:
        if self._is_closed:
            raise Closed("the client is closed")
        session, loop = self._current, asyncio.get_running_loop()
        if session is None or session.pid != os.getpid() or session.loop is not loop:
            if session is not None and session.pid != os.getpid():
                _LEFT_ALONE.append(session)
            session = self._current = Session(self._settings)
        return session

    async def _ask(
        self, request: Request, read: Callable[[Answer], T], until: float | None = None,
    ) -> T:
        return await ask(self._session(), request, read, until=until)

    def _now(self) -> float:
        return self._settings.clock.now()

    def _left(self, end: float | None) -> float:
        return WAIT_SECONDS_MAX if end is None else piece(end - self._now())
