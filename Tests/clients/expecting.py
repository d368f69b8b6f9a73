"""What the tests of the client files share."""

import contextlib
import faulthandler
import subprocess
import threading
import time

from process import PATIENCE_SECONDS, Failure, await_true

WAIT_SECONDS_MAX = PATIENCE_SECONDS
CHECK_SECONDS_MAX = 5 * PATIENCE_SECONDS


def timed(name, check, subject):
    """Runs a check, and says how long it took. One that hangs ends the process and shows where."""
    faulthandler.dump_traceback_later(CHECK_SECONDS_MAX, exit=True)
    start = time.monotonic()
    check(subject)
    faulthandler.cancel_dump_traceback_later()
    print(f"   {name}: {time.monotonic() - start:.1f} s", flush=True)


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


def wait_until(what, condition):
    """Waits until the condition is true, and returns its value."""
    return await_true(what, condition)


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
    thread.join(WAIT_SECONDS_MAX)
    if thread.is_alive():
        raise Failure("a thread did not end")
    if result.error is not None:
        raise result.error


def self_signed(folder):
    """Files with a certificate for localhost, and with its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=WAIT_SECONDS_MAX)
    return certificate, key
