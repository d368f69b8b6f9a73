"""Locks, elections and claims: properties that this program holds for a time.

***Design.** A lease has two independent tasks of the event loop. One renews it. The other one is a
*timer: it sets `lost` when nine tenths of the time are over, whatever the renewal does. `is_lost`
*reads the clock as well, in case the event loop does not run.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Literal, NamedTuple

from ._errors import (
    Closed, LatchkeyError, LeaseLost, NotFound, OutcomeUnknown, PreconditionFailed,
)
from ._json import Json
from ._requests import GRACE_SECONDS, Answer, Request, ask
from ._session import Session, Timer
from ._types import (
    Condition, Outcome, Property, Step, conditions, outcome_of, path_of, property_of_result,
)

LEASE_SHARE = 0.9
"""The share of its time to live that is used; the rest allows for a late timer."""


def transaction_request(
    then: Iterable[Step], when: Iterable[Condition] = (), otherwise: Iterable[Step] = (),
    wait: float = 0,
) -> Request:
    body = {"if": [*when], "then": [*then], "else": [*otherwise]}
    return Request("POST", "/v1/transactions", body=body, wait=wait)


def read_outcome(answer: Answer) -> Outcome:
    return outcome_of(answer.json())


def delete_request(name: str, if_revision: int | None = None) -> Request:
    return Request("DELETE", path_of(name), headers=conditions(if_revision), statuses=(204,))


async def delete_last(session: Session, name: str, token: int) -> None:
    """Gives a lock or a claim back, in the background."""
    await ask(session, delete_request(name, token), lambda answer: None,
              limit=session.settings.timeout, is_last=True)


async def ask_or_give_back(
    session: Session, request: Request, until: float | None,
    undo: Callable[[Outcome], Awaitable[None] | None],
) -> Outcome:
    """Makes a transaction. If its answer does not arrive, `undo` gives back what it got."""
    async def give_back() -> None:
        request.wait = 0
        outcome = await ask(session, request, read_outcome, limit=session.settings.timeout,
                            is_last=True)
        if (undone := undo(outcome)) is not None:
            await undone

    try:
        return await ask(session, request, read_outcome, until=until)
    except (asyncio.CancelledError, Closed, OutcomeUnknown):
        if request.key is not None and request.may_be_made:
            session.last(give_back)
            # Lets it begin: otherwise it would be lost when the event loop ends.
            await asyncio.sleep(0)
        raise


def latest(session: Session, sent: float, end: float | None, wait: float | None) -> float:
    """The end of a call that waits, and whose last request was sent at `sent`."""
    if end is None:
        return math.inf
    return end + GRACE_SECONDS if wait else sent + session.settings.patience


class Jobs(NamedTuple):
    """The parameters of claims: their prefixes, time to live and value."""

    prefix: str
    claims: str
    ttl: float
    value: Json

    def step(self) -> Step:
        return {"pop": self.prefix, "claim": self.claims, "ttl": self.ttl, "value": self.value}

    def claim_name(self, job: Property) -> str:
        return self.claims + job.name.removeprefix(self.prefix)

    def undo(self, session: Session, outcome: Outcome) -> Awaitable[None] | None:
        """Ends the claim that the last step of a transaction made."""
        job = last_property(outcome)
        return None if job is None else delete_last(
            session, self.claim_name(job), outcome.revision)


def last_property(outcome: Outcome) -> Property | None:
    return property_of_result(outcome.results[-1]) if outcome.results else None


class LostEvent(asyncio.Event):
    """Set by a timer, and also seen as set while the event loop is busy."""

    def __init__(self, lease: AsyncLease) -> None:
        super().__init__()
        self._lease = lease

    def is_set(self) -> bool:
        return super().is_set() or self._lease.is_lost

    async def wait(self) -> Literal[True]:
        return self.is_set() or await super().wait()


class AsyncLease:
    """A property that this program holds until `release`, or until it is lost.

    `token` is its fencing token: each later holder has a greater one. `lost` is set when the lease
    is lost, or could not be renewed within nine tenths of its time to live, counted from before the
    last request that renewed it.
    """

    def __init__(self, session: Session, name: str, token: int, ttl: float, since: float) -> None:
        self.name = name
        self.token = token
        self.lost: asyncio.Event = LostEvent(self)
        self._session = session
        self._clock = session.clock
        self._ttl = ttl
        self._end = since + ttl * LEASE_SHARE
        self._was_lost = False
        # A claim that is being finished: it is no loss when it no longer exists.
        self._is_ending = False
        # The result of `release`.
        self._released: bool | None = None
        self._timer: Timer | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._callbacks: list[Callable[[], object]] = []

    @property
    def guard(self) -> Condition:
        """A condition for transactions: the lease is still held."""
        return {"name": self.name, "revision": self.token}

    @property
    def is_here(self) -> bool:
        """Whether it belongs to this process."""
        return self._session.is_here

    @property
    def is_lost(self) -> bool:
        """The same as `lost.is_set()`."""
        return self._was_lost or (self._released is None and (
            self._clock.now() >= self._end or not self._session.is_here))

    @property
    def remaining(self) -> float:
        """Seconds for which the lease is surely held; 0 if it is lost or released."""
        if self.is_lost or self._released is not None:
            return 0.0
        return max(0.0, self._end - self._clock.now())

    def check(self) -> None:
        """Raises `LeaseLost` if the lease is lost."""
        if self.remaining == 0:
            raise LeaseLost(self.name)

    async def release(self) -> bool:
        """Gives it back. Returns whether it was held until now; a second time, the same again."""
        if self._released is not None:
            return self._released
        is_held = not self.is_lost
        self._stop(is_held)
        if self._session.is_here:
            try:
                await ask(self._session, delete_request(self.name, self.token), lambda answer: None)
            except (NotFound, PreconditionFailed):
                self._released = False
            except asyncio.CancelledError:
                self._give_back()
                await asyncio.sleep(0)
                raise
            except LatchkeyError:
                # It expires by itself.
                self._released = is_held and self._clock.now() < self._end
        return self._released or False

    async def start(self, until: float) -> bool:
        """Begins to renew. False if it is not held, and given back.

        A grant that had to wait is renewed first, at the latest by `until`: its time counts from
        before the request.
        """
        try:
            if self._end - self._clock.now() < self._ttl * 2 / 3:
                self._end = await self._renew(until)
        except (asyncio.CancelledError, Closed):
            self._give_back()
            await asyncio.sleep(0)
            raise
        except LatchkeyError:
            self._give_back()
            return False
        if self.is_lost:
            self._give_back()
            return False
        self._session.at_close.add(self._lose)
        self._renewal = self._session.spawn(self._keep())
        self._look()
        return True

    def when_lost(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)
        if self.is_lost:
            callback()

    def give_back(self) -> None:
        """Like `release`, in the background."""
        if self._released is None:
            self._stop(not self.is_lost)
            self._give_back()

    def _give_back(self) -> None:
        self._session.last(lambda: delete_last(self._session, self.name, self.token))

    def _stop(self, released: bool) -> None:
        self._was_lost = self.is_lost
        self._released = released
        self._session.at_close.discard(self._lose)
        if self._session.is_here:
            for each in (self._timer, self._renewal):
                if each is not None:
                    each.cancel()

    def _look(self) -> None:
        """The timer, which continues when the lease was renewed."""
        if self._clock.now() >= self._end:
            self._lose()
        elif self._released is None:
            self._timer = self._clock.call_at(self._end, self._look)

    def _lose(self) -> None:
        if self._released is not None or self._was_lost:
            return
        self._was_lost = True
        self._session.at_close.discard(self._lose)
        self.lost.set()
        for callback in self._callbacks:
            callback()

    async def _keep(self) -> None:
        has_failed = False
        while not self.is_lost and self._released is None:
            await self._session.pause(
                min(0.1, self.remaining) if has_failed else self._ttl / 3)
            has_failed = True
            try:
                end = await self._renew()
                if not self.is_lost:
                    self._end, has_failed = end, False
            except (NotFound, PreconditionFailed):
                if not self._is_ending:
                    self._lose()
            except LatchkeyError:
                pass

    async def _renew(self, until: float = math.inf) -> float:
        """Returns the new end. Raises for another answer, or for none in a third of its time."""
        sent = self._clock.now()

        def read(answer: Answer) -> None:
            if answer.revision() != self.token:
                raise ValueError("another revision")

        await ask(self._session, Request(
            "POST", path_of(self.name) + "/touch", {"ttl": self._ttl}, statuses=(204,), safe=True,
            headers=conditions(self.token)), read, limit=min(self._ttl / 3, until - sent))
        return sent + self._ttl * LEASE_SHARE


class AsyncClaim(AsyncLease):
    """A job that this program works on. `job` is its property, `value` that property's value."""

    def __init__(
        self, session: Session, job: Property, jobs: Jobs, token: int, since: float,
    ) -> None:
        super().__init__(session, jobs.claim_name(job), token, jobs.ttl, since)
        self.job = job
        self.value: Json = job.value
        self._jobs = jobs

    async def finish(self, *steps: Step) -> None:
        """Removes the job, and makes further steps in the same transaction.

        Raises `LeaseLost` if the claim was lost: nothing was done, and another program has the job.
        """
        await self._finish(steps, lambda outcome: None)

    async def finish_and_claim(self, *steps: Step) -> AsyncClaim | None:
        """Like `finish`, and takes the next job in the same transaction; None if there is none."""
        sent = self._clock.now()
        outcome = await self._finish(
            [*steps, self._jobs.step()], lambda done: self._jobs.undo(self._session, done))
        job = last_property(outcome)
        if job is None:
            return None
        claim = AsyncClaim(self._session, job, self._jobs, outcome.revision, sent)
        return claim if await claim.start(sent + self._session.settings.patience) else None

    async def abandon(self) -> None:
        """Gives the job back, for another program to take it at once."""
        await self.release()

    async def _finish(
        self, steps: Iterable[Step], undo: Callable[[Outcome], Awaitable[None] | None],
    ) -> Outcome:
        request = transaction_request(
            [{"delete": self.job.name}, {"delete": self.name}, *steps], [self.guard])
        if not self._session.is_here:
            raise LeaseLost(self.name)
        self._is_ending = True
        try:
            outcome = await ask_or_give_back(
                self._session, request, None, lambda done: undo(done) if done.succeeded else None)
        except (asyncio.CancelledError, Closed, OutcomeUnknown):
            # The repeat in the background needs the claim.
            self._stop(False)
            raise
        finally:
            self._is_ending = False
        if not outcome.succeeded:
            self._lose()
            raise LeaseLost(self.name)
        self._stop(True)
        return outcome


@asynccontextmanager
async def given_back_after_errors(lease: AsyncLease) -> AsyncGenerator[None, None]:
    try:
        yield
    except asyncio.CancelledError:
        # The rest is done in the background.
        lease.give_back()
        await asyncio.sleep(0)
        raise
    except BaseException:
        await lease.release()
        raise
