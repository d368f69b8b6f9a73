"""An honest client that has no connection yet, while all places are fought for."""

import http.client
import threading
import time

from service import Failure

# It comes again when it is refused, as the others do, and so needs some luck.
THROUGH_SECONDS_MAX = 30


def newcomer(service, loop, headers=None):
    """The seconds until a new client is served, while the clients of the loop go on.

    It has a thread of its own: in the loop it would wait for each of its hostile neighbours.
    """
    began, seconds = time.monotonic(), []

    def come():
        while time.monotonic() - began < THROUGH_SECONDS_MAX:
            try:
                if service.ask("GET", "/v1/strategies", headers=headers)[0] == 200:
                    seconds.append(time.monotonic() - began)
                    return
            except (OSError, http.client.HTTPException):
                continue

    thread = threading.Thread(target=come, daemon=True)
    thread.start()
    loop.run(2 * THROUGH_SECONDS_MAX, lambda: not thread.is_alive())
    if not seconds:
        raise Failure(f"a new client was not served within {THROUGH_SECONDS_MAX} s")
    return seconds[0]
