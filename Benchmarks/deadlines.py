"""How exact the service is where it promises a time.

Tests drive these clocks by hand. Here a real one drives the service.
"""

import json
import socket
import time
import urllib.parse

from process import Failure, Latchkey
from table import progress, row

ROUNDS = 5
SECONDS = 1
MOST = 1.1
# Connections are looked at in ticks of a quarter of a second: one look sees that a request has
# begun, and another one that its time is over.
CONNECTION_MOST = 1.55
FLAGS = [f"--{name}-seconds={SECONDS}" for name in ("request-timeout", "idle-timeout", "drain")]
# Waits end up to a sixteenth earlier, so that many do not end at once.
LEAST = SECONDS * 15 / 16
# Its condition never holds.
WAITING = json.dumps({"if": [{"name": "none", "exists": True}], "then": [{"get": "a"}]}).encode()


def measure_deadlines(arguments):
    with Latchkey(arguments.binary, *FLAGS) as service:
        service.ask("PUT", "/v1/properties/a", b"1", expect=(201,))
        revision = service.ask("GET", "/v1/properties/a")[1]["ETag"].strip('"')
        rows = [
            measure("a poll with `wait` ends", LEAST, MOST,
                    lambda: poll(service, revision)),
            measure("a transaction with `wait` ends", LEAST, MOST,
                    lambda: transact(service)),
            measure("a request that does not arrive is answered", SECONDS, CONNECTION_MOST,
                    lambda: late(service)),
            measure("a connection without a request is closed", SECONDS, CONNECTION_MOST,
                    lambda: idle(service)),
        ]
    return [*rows, measure("a drain ends beside a request that does not arrive", SECONDS,
                           MOST, lambda: drain(arguments.binary))]


def measure(name, least, most, action):
    progress(name)
    values = [action() for _ in range(ROUNDS)]
    if min(values) < least:
        raise Failure(f"{name} after {min(values):.4f} s, which is too early")
    return row(name, values, "s", f"≤ {most}", max(values) <= most,
               f"a bound of {SECONDS} s; the worst counts")


def poll(service, revision):
    start = time.monotonic()
    service.ask("GET", f"/v1/properties/a?after={revision}&wait={SECONDS}", expect=(304,))
    return time.monotonic() - start


def transact(service):
    start = time.monotonic()
    service.ask("POST", f"/v1/transactions?wait={SECONDS}", WAITING,
                {"Content-Type": "application/json"}, expect=(200,))
    return time.monotonic() - start


def late(service):
    with connected(service) as client:
        start = time.monotonic()
        client.sendall(b"GET / HT")
        if b" 408 " not in client.recv(4096):
            raise Failure("a late request is not answered with 408")
        return time.monotonic() - start


def idle(service):
    start = time.monotonic()
    with connected(service) as client:
        if client.recv(1):
            raise Failure("an idle connection is answered")
        return time.monotonic() - start


def drain(binary):
    with Latchkey(binary, f"--drain-seconds={SECONDS}") as service, connected(service) as client:
        client.sendall(b"PUT /v1/properties/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                       b"Expect: 100-continue\r\n\r\n")
        if b" 100 " not in client.recv(4096):
            raise Failure("a body is not asked for")
        start = time.monotonic()
        service.end()
        return time.monotonic() - start


def connected(service):
    address = urllib.parse.urlsplit(service.url)
    return socket.create_connection((address.hostname, address.port))
