"""The client for threads: the client for asyncio, in an event loop of its own."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NoReturn, TypeVar

import httpx

from ._async_client import AsyncLatchkey
from ._errors import Closed, LeaseLost
from ._json import Json
from ._leases import AsyncClaim, AsyncLease
from ._portal import Portal
from ._types import Condition, Event, Outcome, Property, States, Step
from ._watches import AsyncWatch, Item, check_states

T = TypeVar("T")


class Latchkey:
    """A client of one service, for threads: all threads of a process can share it. Its calls block.

    Its parameters and calls are those of `AsyncLatchkey`, whose documentation has more details. It
    sends all requests in a thread of its own, which starts with the first call. After a fork, the
    child has other connections. Close it, or use it in `with`. `Cancel` ends calls.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, urls: Sequence[str] = (),
        token: str | None = None, ca: str | None = None, cert: tuple[str, str] | None = None,
        timeout: float = 10, patience: float = 10, keys: bool = True,
        http: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        self._client = AsyncLatchkey(
            url, urls=urls, token=token, ca=ca, cert=cert, timeout=timeout, patience=patience,
            keys=keys, http=http)
        self._portals: dict[int, Portal] = {}

    def __enter__(self) -> Latchkey:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client cannot be pickled: it has connections and a token")

    def close(self) -> None:
        """Ends all waits and watches, gives back what they got, and closes the connections."""
        self._portal.close()

    # One property

    def get(self, name: str, *, revision: int | None = None) -> Property:
        """Reads a property, now or as of a revision. Raises `NotFound`, and `Gone` for the past."""
        return self._call(self._client.get(name, revision=revision))

    def find(self, name: str) -> Property | None:
        """Reads a property; None if there is none."""
        return self._call(self._client.find(name))

    def put(
        self, name: str, value: Json, *, ttl: float | None = None, ttl_if_new: float | None = None,
        if_revision: int | None = None, if_absent: bool = False,
    ) -> int:
        """Creates or replaces a property. Returns the new revision."""
        return self._call(self._client.put(
            name, value, ttl=ttl, ttl_if_new=ttl_if_new, if_revision=if_revision,
            if_absent=if_absent))

    def delete(self, name: str, *, if_revision: int | None = None) -> bool:
        """Deletes a property. Returns whether there was one."""
        return self._call(self._client.delete(name, if_revision=if_revision))

    def increment(
        self, name: str, by: int = 1, *, ttl: float | None = None, ttl_if_new: float | None = None,
    ) -> int:
        """Adds to an integer, from 0 if there is none. Returns the sum. Raises `NotAnInteger`."""
        return self._call(self._client.increment(name, by, ttl=ttl, ttl_if_new=ttl_if_new))

    def merge(
        self, name: str, patch: Json, *, ttl: float | None = None, ttl_if_new: float | None = None,
        if_revision: int | None = None,
    ) -> Json:
        """Merges a JSON merge patch (RFC 7396); None removes a member. Returns the new value."""
        return self._call(self._client.merge(
            name, patch, ttl=ttl, ttl_if_new=ttl_if_new, if_revision=if_revision))

    def touch(self, name: str, ttl: float, *, if_revision: int | None = None) -> int:
        """Restarts the time to live. Value and revision stay. Returns the revision."""
        return self._call(self._client.touch(name, ttl, if_revision=if_revision))

    def wait(self, name: str, after: int = 0, *, wait: float = 30) -> Property | None:
        """Waits until the property's revision is above `after`; None after `wait` seconds."""
        return self._call(self._client.wait(name, after, wait=wait))

    # Several properties

    def list(self, prefix: str = "", *, values: bool = True) -> Iterator[Property]:
        """The properties whose names start with the prefix, sorted by name, page by page."""
        after: str | None = None
        while True:
            page, after = self._call(self._client.page(prefix, values, after))
            yield from page
            if after is None:
                return

    def get_many(self, names: Sequence[str]) -> dict[str, Property]:
        """Reads at most 128 properties at one revision. Missing ones are left out."""
        return self._call(self._client.get_many(names))

    def count(self, prefix: str = "") -> int:
        """The number of names that start with the prefix."""
        return self._call(self._client.count(prefix))

    def delete_prefix(self, prefix: str) -> int:
        """Deletes all properties whose names start with the prefix. Returns their number."""
        return self._call(self._client.delete_prefix(prefix))

    def transaction(
        self, then: Iterable[Step], *, when: Iterable[Condition] = (),
        otherwise: Iterable[Step] = (), wait: float = 0,
    ) -> Outcome:
        """Makes the steps of `then` if all conditions of `when` hold, else those of `otherwise`."""
        return self._call(self._client.transaction(
            [*then], when=[*when], otherwise=[*otherwise], wait=wait))

    # Queues

    def pop(self, prefix: str, *, wait: float | None = 0) -> Property | None:
        """Removes and returns the first property, by name, under the prefix."""
        return self._call(self._client.pop(prefix, wait=wait), self._client.put_back)

    def claim(
        self, jobs: str, *, claims: str, ttl: float = 30, wait: float | None = 0,
        value: Json = None,
    ) -> Claim | None:
        """Takes the first job under the prefix `jobs` that has no claim, or None."""
        claim = self._call(self._client.claim(
            jobs, claims=claims, ttl=ttl, wait=wait, value=value), _give_back)
        return None if claim is None else Claim(self, claim)

    def work(
        self, jobs: str, handle: Callable[[Claim], Iterable[Step] | None], *, claims: str,
        ttl: float = 30, wait: float | None = None, value: Json = None,
    ) -> int:
        """Calls `handle` in this thread for one job after the other. Returns the number done."""
        count = 0
        claim = self.claim(jobs, claims=claims, ttl=ttl, wait=wait, value=value)
        while claim is not None:
            following: Claim | None = None
            try:
                # A generator runs here.
                steps = [*(handle(claim) or ())]
                with suppress(LeaseLost):
                    following = claim.finish_and_claim(*steps)
                    count += 1
            except BaseException:
                claim.abandon()
                raise
            claim = following or self.claim(
                jobs, claims=claims, ttl=ttl, wait=wait, value=value)
        return count

    # Locks

    def acquire(
        self, name: str, *, ttl: float = 10, wait: float | None = None, value: Json = None,
    ) -> Lease:
        """Like `lock`, without `with`: call `release` of the lease."""
        return Lease(self, self._call(
            self._client.acquire(name, ttl=ttl, wait=wait, value=value), _give_back))

    @contextmanager
    def lock(
        self, name: str, *, ttl: float = 10, wait: float | None = None, value: Json = None,
    ) -> Generator[Lease, None, None]:
        """Holds a lock: a property that one client creates and that expires without renewal.

        Waits up to `wait` seconds, without limit if None, then raises `NotAcquired`. If the lock is
        lost, `lost` of the lease is set, and the end of the block raises `LeaseLost`.
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
        """Leads in the block: `lock` with the candidate as its value, for others to read."""
        return self.lock(name, ttl=ttl, wait=wait, value=candidate)

    # Watches

    def watch(
        self, *prefixes: str, names: Sequence[str] = (), initial: bool = False,
        after: int | str | None = None, previous: bool = False, observer: str | None = None,
        silence: float = 60,
    ) -> Watch:
        """The changes of names and prefixes; without both, of all properties. Iterate over it."""
        return Watch(self, self._client.watch(
            *prefixes, names=names, initial=initial, after=after, previous=previous,
            observer=observer, silence=silence))

    # The event loop

    @property
    def _portal(self) -> Portal:
        portal = self._portals.get(os.getpid())
        if portal is None:
            # Another thread may be first.
            portal = self._portals.setdefault(os.getpid(), Portal(self._client))
            weakref.finalize(self, portal.end).atexit = False
        return portal

    def _call(
        self, coroutine: Coroutine[Any, Any, T], undo: Callable[[T], object] = lambda result: None,
    ) -> T:
        return self._portal.call(coroutine, undo)


def _give_back(lease: AsyncLease | None) -> None:
    if lease is not None:
        lease.give_back()


class _Lost(threading.Event):
    """Set by the event loop, and also seen as set when that does not run."""

    def __init__(self, lease: AsyncLease) -> None:
        super().__init__()
        self._lease = lease
        lease.when_lost(self.set)

    def is_set(self) -> bool:
        return self._lease.is_lost or super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            # Reads the clock at the latest when the lease would end.
            until = self._lease.remaining or None
            bounds = [each for each in (left, until) if each is not None]
            super().wait(min(bounds) if bounds else None)
        return True


class Lease:
    """A property that this program holds until `release`, or until it is lost.

    `token` is its fencing token: each later holder has a greater one. `lost` is set when the lease
    is lost, or could not be renewed within nine tenths of its time to live, counted from before the
    last request that renewed it.
    """

    def __init__(self, client: Latchkey, lease: AsyncLease) -> None:
        self.name = lease.name
        self.token = lease.token
        self.lost: threading.Event = _Lost(lease)
        self.guard = lease.guard
        self._client = client
        self._lease = lease

    @property
    def remaining(self) -> float:
        """Seconds for which the lease is surely held; 0 if it is lost or released."""
        return self._lease.remaining

    def check(self) -> None:
        """Raises `LeaseLost` if the lease is lost."""
        self._lease.check()

    def release(self) -> bool:
        """Gives it back. Returns whether it was held until now; a second time, the same again."""
        if not self._lease.is_here:
            return False
        with suppress(Closed):
            return self._client._portal.call(self._lease.release(), is_shielded=True)
        return False


class Claim(Lease):
    """A job that this program works on. `job` is its property, `value` that property's value."""

    def __init__(self, client: Latchkey, claim: AsyncClaim) -> None:
        super().__init__(client, claim)
        self.job = claim.job
        self.value: Json = claim.value
        self._claim = claim

    def finish(self, *steps: Step) -> None:
        """Removes the job, and makes further steps in the same transaction.

        Raises `LeaseLost` if the claim was lost: nothing was done, and another program has the job.
        """
        self._client._call(self._claim.finish(*steps))

    def finish_and_claim(self, *steps: Step) -> Claim | None:
        """Like `finish`, and takes the next job in the same transaction; None if there is none."""
        claim = self._client._call(self._claim.finish_and_claim(*steps), _give_back)
        return None if claim is None else Claim(self._client, claim)

    def abandon(self) -> None:
        """Gives the job back, for another program to take it at once."""
        self.release()


class Watch(Iterator[Event]):
    """The events of a watch, without losses or repeats. It reconnects after each cut.

    Use it in `with`, or call `close`, which another thread may do as well. It raises errors that do
    not pass, such as `Forbidden`. `last_id` is the id of the last event that it has returned.
    """

    def __init__(self, client: Latchkey, watch: AsyncWatch) -> None:
        self.last_id = watch.last_id
        self._client = client
        self._watch = watch
        self._items: deque[Item] = deque()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __next__(self) -> Event:
        while True:
            if not self._items:
                items = self._client._call(self._watch.take(), self._watch.untake)
                self._items.extend(items)
            if self._watch.is_closed or not self._items:
                raise StopIteration
            event, self.last_id = self._items.popleft()
            if event is not None:
                return event

    def close(self) -> None:
        """Ends the iteration, at once."""
        self._watch.is_closed = True
        self._client._portal.post(self._watch.end)

    def states(self) -> Iterator[dict[str, Json]]:
        """All values by name, after each commit: never half of a transaction.

        The watch must have `initial=True`, and is closed at the end of the iteration.
        """
        check_states(self._watch.wish)
        states = States()
        try:
            for event in self:
                if (state := states.after(event)) is not None:
                    yield state
        finally:
            self.close()


