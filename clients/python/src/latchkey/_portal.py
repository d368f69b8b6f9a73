"""The event loop of a client for threads, which runs in a thread of its own.

***Design.** A call is a coroutine there and an event here. The first of the two decides, under the
*lock of the call: the result is taken, or the call is given up. A call that is given up is
*cancelled there; if it has a result nevertheless, `undo` gives that back.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar, cast

from ._async_client import AsyncLatchkey
from ._errors import Cancelled, Closed, LatchkeyError

T = TypeVar("T")


class Cancel:
    """Ends calls of a client for threads. They raise `Cancelled`, and what they got is given back.

        cancel = Cancel()
        with cancel:                      # in one thread
            client.acquire("lock")
        cancel.cancel()                   # in another one

    It applies to all calls of the thread within the block, also later ones, but not to those that
    give something back. Blocks can be nested.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: set[_Call[Any]] = set()
        self.is_cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.done.set()

    def __enter__(self) -> Cancel:
        _cancels().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _cancels().remove(self)

    def add(self, call: _Call[Any]) -> None:
        with self._lock:
            self._calls.add(call)
            if self.is_cancelled:
                call.done.set()

    def remove(self, call: _Call[Any]) -> None:
        with self._lock:
            self._calls.discard(call)


_thread = threading.local()


def _cancels() -> list[Cancel]:
    """The active `Cancel`s of this thread."""
    if not hasattr(_thread, "cancels"):
        _thread.cancels = []
    return cast("list[Cancel]", _thread.cancels)


class _Call(Generic[T]):
    def __init__(self, coroutine: Coroutine[Any, Any, T], undo: Callable[[T], object]) -> None:
        self.done = threading.Event()
        self.task: asyncio.Task[None] | None = None
        self._coroutine = coroutine
        self._undo = undo
        self._lock = threading.Lock()
        self._result: Future[T] = Future()
        self._is_given_up = False

    def start(self) -> None:
        """Runs in the event loop, as do the methods down to `fail`."""
        if self._is_given_up:
            self._coroutine.close()
            return
        self.task = asyncio.get_running_loop().create_task(self._run())
        # Also if it is cancelled before it begins.
        self.task.add_done_callback(lambda _: self._coroutine.close())

    async def _run(self) -> None:
        try:
            result = await self._coroutine
        except BaseException as error:  # noqa: BLE001
            self.fail(Closed("the client is closed")
                      if isinstance(error, asyncio.CancelledError) else error)
            return
        with self._lock:
            if not self._is_given_up:
                self._result.set_result(result)
                self.done.set()
                return
        self._undo(result)

    def fail(self, error: BaseException) -> None:
        with self._lock:
            if not self._is_given_up and not self._result.done():
                self._result.set_exception(error)
                self.done.set()

    def result(self, post: Callable[[Callable[[], object]], object]) -> T:
        """Runs in the calling thread. Gives the call up after `Cancel` and KeyboardInterrupt."""
        try:
            self.done.wait()
        except BaseException:
            self._give_up(post)
            raise
        with self._lock:
            is_there = self._result.done()
        if not is_there:
            self._give_up(post)
            raise Cancelled("the call was cancelled")
        return self._result.result()

    def _give_up(self, post: Callable[[Callable[[], object]], object]) -> None:
        with self._lock:
            self._is_given_up = True
            is_there = self._result.done()
        if not is_there:
            post(lambda: self.task and self.task.cancel())
        elif self._result.exception() is None:
            post(lambda: self._undo(self._result.result()))


class _Resolver(ThreadPoolExecutor):
    """Looks names up in threads for which the end of the program does not wait."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001
                future.set_exception(error)

        threading.Thread(target=run, name="latchkey names", daemon=True).start()
        return future


class Portal:
    """An event loop of this process, in a thread that starts with the first call."""

    def __init__(self, client: AsyncLatchkey) -> None:
        self.pid = os.getpid()
        self._client = client
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_over = False
        self._calls: set[_Call[Any]] = set()

    def call(
        self, coroutine: Coroutine[Any, Any, T], undo: Callable[[T], object] = lambda result: None,
        *, is_shielded: bool = False,
    ) -> T:
        """Runs it in the event loop. `undo` gets a result that comes too late, in that loop."""
        cancels = [] if is_shielded else [*_cancels()]
        try:
            if any(cancel.is_cancelled for cancel in cancels):
                raise Cancelled("the call was cancelled")
            self._start()
        except BaseException:
            coroutine.close()
            raise
        call = _Call(coroutine, undo)
        self._calls.add(call)
        try:
            self.post(call.start)
            if self._is_over:
                call.fail(Closed("the client is closed"))
            for cancel in cancels:
                cancel.add(call)
            return call.result(self.post)
        finally:
            for cancel in cancels:
                cancel.remove(call)
            self._calls.discard(call)

    def post(self, callback: Callable[[], object]) -> None:
        """Calls in the event loop, if there is one, without waiting."""
        if self._loop is not None and not self._is_over:
            # It may be closed at this moment.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(callback)

    def _start(self) -> None:
        with self._lock:
            if threading.current_thread() is self._thread:
                raise LatchkeyError("a call within the client's own thread would wait for itself")
            if self._is_over:
                raise Closed("the client is closed")
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_default_executor(_Resolver(1))
                self._thread = threading.Thread(
                    target=self._run, args=[loop], name="latchkey", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:
                    loop.close()
                    raise Closed(f"the program ends: {error}") from None
                self._loop = loop
                _portals.add(self)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            self._is_over = True
            self._client.abandon()
            for call in list(self._calls):
                call.fail(Closed("the client is closed"))
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=1))
            loop.close()

    def close(self) -> None:
        """Closes the client, and waits for the end of the thread."""
        self.end()
        with self._lock:
            if self._loop is None:
                self._is_over = True
        if self._thread is not None and self.pid == os.getpid():
            self._thread.join()

    def end(self) -> None:
        """Closes the client, without waiting."""
        if self.pid == os.getpid():
            self.post(lambda: _Call(self._close(), lambda result: None).start())

    async def _close(self) -> None:
        try:
            await self._client.close()
        finally:
            asyncio.get_running_loop().stop()


_portals: weakref.WeakSet[Portal] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes all clients before the program ends: calls that were given up give back."""
    for portal in list(_portals):
        portal.close()
