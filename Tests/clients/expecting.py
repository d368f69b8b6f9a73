"""What the tests of the client files share."""

import contextlib
import faulthandler
import threading

from process import PATIENCE_SECONDS, Failure, await_true

CHECK_SECONDS_MAX = 5 * PATIENCE_SECONDS


def timed(name, check, subject):
    """Runs a check, and says so. One that hangs ends the process and shows where."""
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
    """The time of a client, which stands still until it is told to go on."""

    def __init__(self):
        self.time, self.ends, self.changed = 0.0, [], threading.Condition()

    def now(self):
        return self.time

    def wait(self, event, seconds):
        with self.changed:
            end = self.time + seconds
            self.ends.append(end)
            self.changed.wait_for(lambda: self.time >= end or event.is_set(), PATIENCE_SECONDS)
            self.ends.remove(end)
        return event.is_set()

    def advance(self, seconds):
        """Once a thread waits for a later time. Those whose wait is over go on before the next."""
        await_true("a thread waits for the time",
                   lambda: self.ends and all(end > self.time for end in self.ends))
        with self.changed:
            self.time += seconds
            self.changed.notify_all()


class Result:
    """What a thread returned or raised."""

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
