"""Helpers of cases beside the attack: honest clients, figures, resources of the service."""

import collections
import contextlib
import http.client
import os
import threading
import time

from process import PATIENCE_SECONDS, Failure, await_true, create_token

# Buffers of the allocator may keep this much after any storm.
GROWTH_BYTES_MAX = 16 << 20


def metrics(service):
    """The metrics of the service, as the sum over their labels."""
    found = collections.Counter()
    for series, value in service.metrics().items():
        found[series.partition("{")[0]] += int(value)
    # A missing metric is an error, and not 0.
    return dict(found)


def descriptor_count(service):
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


def token(binary, path, name, grant):
    """Makes a token. Returns the header with it."""
    return {"Authorization": f"Bearer {create_token(binary, path, name, grant)}"}


class Held:
    """The resources of the service before a storm. Afterwards it must have released all others."""

    def __init__(self, service):
        self.service = service
        self.descriptors, self.bytes = descriptor_count(service), service.resident_bytes()

    def settle(self, growth_max=GROWTH_BYTES_MAX):
        """Waits until connections, handshakes and descriptors are as before. Returns the growth of
        the memory in bytes."""
        await_true(lambda: f"less than {self.excess()}", lambda: not self.excess())
        growth = self.service.resident_bytes() - self.bytes
        if growth > growth_max:
            raise Failure(f"{growth >> 10} KiB more are resident")
        return growth

    def excess(self):
        found = metrics(self.service)
        # This request has a connection.
        if found["latchkey_http_connections"] > 1 or found["latchkey_tls_handshaking_connections"]:
            return (f"{found['latchkey_http_connections']} connections, "
                    f"{found['latchkey_tls_handshaking_connections']} handshakes")
        count = descriptor_count(self.service)
        if count > self.descriptors + 1:
            return f"{count} descriptors, before {self.descriptors}"
        return None


class Honest:
    """Clients in threads of their own that send one request after the other.

    With `kept` they keep their connections, which must not end; otherwise each request has a new
    one.
    """

    def __init__(self, service, count=1, kept=True, headers=None, path="/v1/properties/honest"):
        self.service, self.kept, self.path = service, kept, path
        self.headers = {"Host": "127.0.0.1", **(headers or {})}
        self.stops, self.seconds, self.wrong = threading.Event(), [], []
        self.begun = threading.Semaphore(0)
        self.threads = [threading.Thread(target=self._ask_all, daemon=True) for _ in range(count)]

    def __enter__(self):
        status, _, body = self.service.ask("PUT", self.path, "1", self.headers)
        if status not in (201, 204):
            raise Failure(f"PUT {self.path}: {status} {body!r}")
        for thread in self.threads:
            thread.start()
        # All clients have their connection.
        if not all([self.begun.acquire(timeout=PATIENCE_SECONDS) for _ in self.threads]):
            raise Failure("honest clients are not served before the storm")
        return self

    def __exit__(self, *_):
        self.stops.set()
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)

    def _ask_all(self):
        connection, is_begun = None, False
        while not self.stops.is_set() and len(self.wrong) < 10:
            began = time.monotonic()
            try:
                connection = connection or self.service.connect()
                connection.request("GET", self.path, headers=self.headers)
                answer = connection.getresponse()
                body = answer.read()
                if (answer.status, body) != (200, b"1"):
                    self.wrong.append(f"{answer.status} {body[:80]!r}")
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(repr(error))
                connection = None
            self.seconds.append(time.monotonic() - began)
            if not is_begun:
                is_begun = True
                self.begun.release()
            if connection and not self.kept:
                connection.close()
                connection = None
            # Not at full speed: these clients must be served beside the load, and are no load.
            self.stops.wait(0.002)
        if connection:
            connection.close()

    def figures(self):
        """Their figures, after the end. Raises if a request did not succeed."""
        if self.wrong or not self.seconds:
            raise Failure(f"{len(self.wrong)} of {len(self.seconds)} requests of honest clients "
                          f"failed: {self.wrong[:3]}")
        return (f"{len(self.seconds)} honest requests, p99 "
                f"{1000 * percentile(self.seconds, 99):.0f} ms")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


def end(service, figures):
    """Checks that the service still ends as it should. Returns the figures."""
    service.terminate()
    status = service.wait(PATIENCE_SECONDS)
    if status != 0 or service.crash():
        raise Failure(f"{figures}; status {status}, {service.crash()!r}")
    return figures


@contextlib.contextmanager
def unless_crashed(service):
    """A failure beside a crash is reported as the crash."""
    try:
        yield
    except (Failure, OSError):
        if service.ended_within(1):
            raise Failure(f"the service ended: {service.said()[-300:]}") from None
        raise
