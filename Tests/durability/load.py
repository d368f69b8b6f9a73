"""Clients that write and read, and record their answers.

Design: each write carries a unique number, its token: in the value, or as the amount added. So a
commit shows its request (history.py). Each client has a connection, and a list of outcomes that
only its thread writes.
"""

import http.client
import itertools
import json
import random
import threading
import time

from process import PATIENCE_SECONDS

MADE, REFUSED, UNKNOWN, READ = "made", "refused", "unknown", "read"
SIZES = (0, 10, 100, 100, 1000, 4000, 20000)
TRIES_BETWEEN_SECONDS = 0.01


class Outcome:
    """A request and its outcome. `puts` are the values, None where it deletes."""

    def __init__(self, token, kind, method, path, body=None, headers=None, puts=None):
        self.token, self.kind, self.puts = token, kind, puts or {}
        self.method, self.path, self.body, self.headers = method, path, body, headers or {}
        self.name = next(iter(self.puts), None)
        self.begin = self.end = 0
        self.fate, self.status, self.revision = UNKNOWN, None, None
        self.answer, self.tag = b"", None
        self.matches = None  # the revision that If-Match names

    @property
    def key(self):
        return self.headers.get("Idempotency-Key")

    def send(self, connection):
        """Sends it and records the answer. Raises the connection's errors."""
        self.begin = time.monotonic_ns()
        connection.request(self.method, self.path, self.body, self.headers)
        answer = connection.getresponse()
        text = answer.read()
        self.end = time.monotonic_ns()
        self.take(answer.status, answer.headers, text)

    def take(self, status, headers, text):
        self.status, self.answer, self.tag = status, text, headers.get("ETag")
        self.replayed = headers.get("Idempotency-Replayed") == "true"
        if status == 500 and b"/outcome-unknown" in text:
            self.fate = UNKNOWN
        elif status == 500:
            raise ValueError("no such answer is promised")
        elif status >= 400:
            self.fate = READ if self.kind == "get" and status == 404 else REFUSED
        else:
            self.fate = READ if self.kind == "get" else MADE
            self.revision = self._revision(text)

    def _revision(self, text):
        if self.tag:
            return int(self.tag.strip('"'))
        if self.kind in ("transaction", "move", "import"):
            return json.loads(text)["revision"] or None
        return None  # the answer to DELETE has none

    def __repr__(self):
        return (f"{self.kind} {self.method} {self.path} (token {self.token}, {self.fate}, status "
                f"{self.status}, revision {self.revision}, key {self.key})")


def text_value(token, size):
    return f"T{token}:" + "x" * size


class Client(threading.Thread):
    """Sends requests until it is stopped, or the service has gone."""

    def __init__(self, address, number, tokens, choose, settings):
        super().__init__(daemon=True)
        self.address, self.number, self.tokens, self.choose = address, number, tokens, choose
        self.settings = settings
        self.outcomes, self.known = [], {}
        self.is_stopped = threading.Event()
        self.error = None

    def run(self):
        connection = None
        while not self.is_stopped.is_set():
            connection = connection or http.client.HTTPConnection(
                *self.address, timeout=PATIENCE_SECONDS)
            outcome = self.next_request()
            outcome.begin = time.monotonic_ns()
            self.outcomes.append(outcome)
            try:
                outcome.send(connection)
                if outcome.kind in ("put", "get") and outcome.revision:
                    self.known[outcome.name or outcome.path] = outcome.revision
                if outcome.status in (503, 507):
                    time.sleep(TRIES_BETWEEN_SECONDS)
            except (OSError, http.client.HTTPException):
                outcome.fate = READ if outcome.kind == "get" else UNKNOWN
                connection.close()
                connection = None
                time.sleep(TRIES_BETWEEN_SECONDS)
            except (ValueError, KeyError) as error:
                self.error = f"{outcome}: {error!r} in {outcome.answer[:200]!r}"
                return
        if connection:
            connection.close()

    def next_request(self):
        kinds = self.settings.get("kinds", ("put",) * 6 + ("small",) * 4 + (
            "delete", "increment", "increment", "transaction", "transaction", "move", "merge",
            "import", "get", "get", "lives"))
        outcome = getattr(self, "make_" + self.choose.choice(kinds))(next(self.tokens))
        if outcome.kind not in ("get", "import") and self.choose.random() < 0.3:
            outcome.headers["Idempotency-Key"] = f"k{outcome.token}-{id(self)}"
        return outcome

    def _own_name(self):
        return f"c{self.number}/{self.choose.randrange(20)}"

    def _any_name(self):
        return f"s/{self.choose.randrange(10)}" if self.choose.random() < 0.5 else self._own_name()

    def make_put(self, token, size=None, ttl=""):
        name = self._any_name() if not ttl else f"t/{self.choose.randrange(10)}"
        value = text_value(token, self.choose.choice(SIZES) if size is None else size)
        outcome = Outcome(token, "put", "PUT", path(name) + ttl, json.dumps(value),
                          puts={name: value})
        if name in self.known and self.choose.random() < 0.2:
            outcome.matches = self.known[name]
            outcome.headers["If-Match"] = f'"{outcome.matches}"'
        return outcome

    def make_small(self, token):
        return self.make_put(token, size=20)

    def make_lives(self, token):
        return self.make_put(token, size=20, ttl=f"?ttl={self.choose.choice((1, 2, 3600))}")

    def make_delete(self, token):
        name = self._any_name()
        return Outcome(token, "delete", "DELETE", path(name), puts={name: None})

    def make_increment(self, token):
        name = f"n/{self.choose.randrange(4)}"
        return Outcome(token, "increment", "POST", path(name) + "/increment",
                       json.dumps({"by": token}), puts={name: token})

    def make_move(self, token):
        first, second = self.choose.sample(range(4), 2)
        steps = [{"increment": f"n/{first}", "by": -token}, {"increment": f"n/{second}",
                                                             "by": token}]
        return Outcome(token, "move", "POST", "/v1/transactions", json.dumps({"then": steps}),
                       puts={f"n/{first}": -token, f"n/{second}": token})

    def make_merge(self, token):
        name = f"o/{self.choose.randrange(4)}"
        patch = {"t": token, f"m{self.choose.randrange(3)}": "y" * self.choose.choice(SIZES[:5])}
        return Outcome(token, "merge", "PATCH", path(name), json.dumps(patch),
                       {"Content-Type": "application/merge-patch+json"}, puts={name: patch})

    def make_transaction(self, token):
        names = {self._any_name() for _ in range(self.choose.choice((1, 2, 5, 20)))}
        puts = {name: None if self.choose.random() < 0.2 else text_value(
            token, self.choose.choice(SIZES[:5])) for name in sorted(names)}
        # A transaction without a change takes no revision.
        puts[min(names)] = text_value(token, 10)
        steps = [{"delete": name} if value is None else {"put": name, "value": value}
                 for name, value in puts.items()]
        return Outcome(token, "transaction", "POST", "/v1/transactions",
                       json.dumps({"then": steps}), puts=puts)

    def make_import(self, token):
        puts = {f"i/{self.number}/{self.choose.randrange(500)}": text_value(token, 30)
                for _ in range(self.settings.get("import_lines", 50))}
        lines = "".join(json.dumps({"name": name, "value": value}) + "\n"
                        for name, value in puts.items())
        return Outcome(token, "import", "POST", "/v1/import?partial=true&batch=1000", lines,
                       {"Content-Type": "application/x-ndjson"}, puts=puts)

    def make_get(self, token):
        outcome = Outcome(token, "get", "GET", path(name := self._any_name()))
        outcome.name = name
        return outcome


def path(name):
    return "/v1/properties/" + name.replace("/", "%2F")


class Load:
    """Several clients. A context manager that stops them."""

    def __init__(self, service, seed, tokens, clients=8, **settings):
        self.clients = [Client(service.address, number, tokens,
                               random.Random(f"{seed}.{number}"), settings)
                        for number in range(clients)]

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for client in self.clients:
            client.is_stopped.set()
        for client in self.clients:
            client.join(PATIENCE_SECONDS)

    @property
    def outcomes(self):
        """All outcomes; none is added after `stop`."""
        return list(itertools.chain.from_iterable(client.outcomes for client in self.clients))

    @property
    def errors(self):
        return [client.error for client in self.clients if client.error]


def tokens(first=1):
    return itertools.count(first)
