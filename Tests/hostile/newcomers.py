"""An honest client without a connection, while all places are contested."""

import http.client
import threading
import time

from process import PATIENCE_SECONDS, Failure


def newcomer(service, loop, headers=None):
    """The seconds until a new client is served, while the clients of the loop continue.

    It reconnects when it is refused, as the others do, and so needs some luck. It has a thread of
    its own: in the loop it would wait for each of its hostile neighbours.
    """
    began, seconds, stops = time.monotonic(), [], threading.Event()

    def come():
        while not stops.is_set():
            try:
                if service.ask("GET", "/v1/strategies", headers=headers)[0] == 200:
                    seconds.append(time.monotonic() - began)
                    return
            except (OSError, http.client.HTTPException):
                continue

    thread = threading.Thread(target=come, daemon=True)
    thread.start()
    loop.run(PATIENCE_SECONDS, lambda: not thread.is_alive())
    stops.set()
    if not seconds:
        raise Failure(f"a new client was not served within {PATIENCE_SECONDS} s")
    return seconds[0]
