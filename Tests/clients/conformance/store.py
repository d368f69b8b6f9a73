"""The Latchkey that a scripted service forwards to."""

import json
import threading
import urllib.parse

import process

ABSENT = "(no property)"


class Gone(OSError):
    """The client has closed its connection, or the case is over."""


class Store:
    """The Latchkey that the scripted service forwards to. It starts when it is needed."""

    def __init__(self, binary):
        self.binary, self.lock, self.service = binary, threading.Lock(), None
        self.is_closed = False

    def address(self):
        with self.lock:
            if self.is_closed:
                raise Gone
            if self.service is None:
                self.service = process.Latchkey(self.binary)
                self.service.__enter__()
            return self.service.address

    def end(self, is_closed=False):
        """Drops its state; a later request starts it again, unless it is closed."""
        with self.lock:
            self.is_closed = is_closed
            if self.service:
                self.service.kill()
            self.service = None

    def ask(self, method, name, body=None):
        self.address()
        path = "/v1/properties/" + urllib.parse.quote(name, safe="")
        return self.service.ask(method, path, body, expect=(200, 201, 204, 404))

    def put(self, name, value):
        """Changes a value as another client. Returns the revision."""
        return int(self.ask("PUT", name, json.dumps(value))[1]["ETag"].strip('"'))

    def delete(self, name):
        self.ask("DELETE", name)

    def value(self, name):
        status, _, body = self.ask("GET", name)
        return json.loads(body) if status == 200 else ABSENT
