"""Helpers that the tests of the clients share."""

import asyncio
import contextlib
import faulthandler
import threading

from process import PATIENCE_SECONDS, Failure, await_true

CHECK_SECONDS_MAX = 5 * PATIENCE_SECONDS


def timed(name, check, subject):
    """Runs a check, and prints its name. A check that hangs ends the process and shows where."""
    print(f"   {name}", flush=True)
    faulthandler.dump_traceback_later(CHECK_SECONDS_MAX, exit=True)
    check(subject)
    faulthandler.cancel_dump_traceback_later()


def expect(found, wanted):
    if found != wanted:
        raise Failure(f"{found!r} instead of {wanted!r}")


def refused(kind, call, *arguments, **options):
    """The error of this kind that the call raises."""
    try:
        value = call(*arguments, **options)
    except kind as error:
        return error
    raise Failure(f"no {kind.__name__}, but {value!r}")


class ManualClock:
    """The time of a client, which stands still until a test advances it.

    It advances within the event loop of the client: between two steps of its tasks.
    """

    def __init__(self):
        self.time, self.timers, self.loop = 0.0, [], None

    def now(self):
        return self.time

    def call_at(self, when, callback):
        self.loop = asyncio.get_running_loop()
        timer = Timer(when, callback, self.timers, self.loop)
        self.timers.append(timer)
        return timer

    def advance(self, seconds):
        await_true("the client waits for the time", lambda: self.timers)
        asyncio.run_coroutine_threadsafe(self.go_on(seconds), self.loop).result(PATIENCE_SECONDS)

    async def go_on(self, seconds):
        await settled()
        self.time += seconds
        for timer in [each for each in self.timers if each.when <= self.time]:
            if timer in self.timers:
                timer.cancel()
                timer.callback()
        await settled()


class VirtualClock(ManualClock):
    """Goes on by itself, to the next time for which the client waits, when nothing else happens."""

    # Timers that were set or called.
    count = 0

    def call_at(self, when, callback):
        self.count += 1
        timer = super().call_at(when, callback)
        self.loop.create_task(self.jump(timer))
        return timer

    async def jump(self, timer):
        while timer in self.timers:
            count = self.count
            await settled()
            # A client that was closed can leave timers, and its loop calls none of them.
            if count == self.count and timer in self.timers and all(
                    timer.when <= each.when for each in self.timers if each.loop is timer.loop):
                self.count += 1
                self.time = max(self.time, timer.when)
                timer.cancel()
                timer.callback()


async def settled():
    """Waits until the tasks that can run without input have done so."""
    for _ in range(20):
        await asyncio.sleep(0)


class Timer:
    def __init__(self, when, callback, timers, loop):
        self.when, self.callback, self.timers, self.loop = when, callback, timers, loop

    def cancel(self):
        if self in self.timers:
            self.timers.remove(self)


class Result:
    """The return value or the error of a thread."""

    value = None
    error = None


@contextlib.contextmanager
def at_once(call):
    """Calls in a thread while the block runs, and joins it. Yields the result, for later."""
    result = Result()

    def run():
        try:
            result.value = call()
        except Exception as error:  # noqa: BLE001
            result.error = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield result
    thread.join(PATIENCE_SECONDS)
    if thread.is_alive():
        raise Failure("a thread did not end")
    if result.error is not None:
        raise result.error
