"""The Python package with a service that is a function, and a clock that the test advances."""

import asyncio
import decimal
import json
import os
import pickle
import subprocess
import sys

import httpx

from expecting import VirtualClock, expect, refused
from process import PATIENCE_SECONDS
import latchkey
from latchkey import Latchkey
from latchkey._streams import Parser

TOKEN = "secret-token-of-ann"
HANG, CUT, NO_CONNECTION = "hang", "cut", "no connection"


def problem(status, kind, headers=None, **members):
    body = json.dumps({"type": f"/problems/{kind}", "detail": "why", **members})
    return httpx.Response(status, text=body, headers={
        "Content-Type": "application/problem+json", **(headers or {})})


def ok(body=None, status=200, tag=7):
    headers = {"ETag": f'"{tag}"', "Latchkey-Created": "1"}
    return httpx.Response(status, headers=headers) if body is None else httpx.Response(
        status, json=body, headers=headers)


PUT = ok(status=201)
PAGE = httpx.Response(200, html="<p>Please sign in.</p>")
EMPTY = httpx.Response(200)


class Service:
    """Answers with the steps of a script, one after the other; repeats the last one."""

    def __init__(self, *script):
        self.script, self.seen = [*script], []

    async def __call__(self, request):
        self.seen.append(request)
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        answer = answer(request) if callable(answer) else answer
        if answer == HANG:
            await asyncio.Event().wait()
        if answer == CUT:
            raise httpx.ReadError("cut", request=request)
        if answer == NO_CONNECTION:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def client(self, kind=Latchkey, clock=None, **options):
        client = kind(**{"url": "http://one", **options}, http=lambda: httpx.AsyncClient(
            transport=httpx.MockTransport(self)))
        settings = client._client._settings if kind is Latchkey else client._settings
        settings.clock = clock or VirtualClock()
        return client

    def keys(self):
        return {each.headers.get("Idempotency-Key") for each in self.seen}


def time_of(client):
    return client._client._settings.clock.time


def answers_that_pass(_):
    """Errors that pass, and the error at the end if they do not."""
    for status, read_error, write_error in (
            (425, "Unreachable", "Unreachable"), (429, "Unreachable", "Unreachable"),
            *((each, "Unreachable", "OutcomeUnknown") for each in (408, 500, 502, 503, 504))):
        passing = httpx.Response(status, html="<p>Bad gateway</p>")
        service = Service(passing, passing, PUT)
        with service.client() as client:
            expect(client.put("a", 1), 7)
            expect((len(service.seen), len(service.keys())), (3, 1))
        with Service(passing).client() as client:
            for kind, call in ((write_error, lambda client=client: client.put("a", 1)),
                               (read_error, lambda client=client: client.get("a"))):
                begin = time_of(client)
                expect(type(refused(latchkey.LatchkeyError, call)).__name__, kind)
                expect(time_of(client) - begin <= 10, True)
    with Service(problem(503, "draining", {"Retry-After": "3"}), PUT).client() as client:
        client.put("a", 1)
        expect(3 <= time_of(client) < 4, True)
    for date, count in (("Fri, 31 Dec 2100 23:59:59 GMT", 1), ("Wed, 21 Oct 2015 07:28:00 GMT", 2),
                        ("soon", 2)):
        service = Service(problem(503, "draining", {"Retry-After": date}), PUT)
        with service.client() as client:
            if count == 1:
                refused(latchkey.Busy, client.put, "a", 1)
            else:
                client.put("a", 1)
            expect((len(service.seen), time_of(client) < 1), (count, True))


def answers_of_others(_):
    """A page, a redirect, an answer without its tag: none of these is a success."""
    json_page = httpx.Response(200, json={})
    untagged = httpx.Response(204)
    redirect = httpx.Response(307, headers={"Location": "http://elsewhere/"})
    for answer in (PAGE, EMPTY, redirect, json_page, httpx.Response(404, html="no"), untagged):
        service = Service(answer)
        with service.client() as client:
            for call in (lambda c: c.get("a"), lambda c: c.put("a", 1), lambda c: c.increment("a"),
                         lambda c: c.merge("a", 1), lambda c: c.touch("a", 5), lambda c: c.count(),
                         lambda c: c.delete_prefix("a"), lambda c: c.transaction([]),
                         lambda c: c.get_many(["a"]), lambda c: [*c.list()],
                         lambda c: c.wait("a", 5), lambda c: next(c.watch()),
                         lambda c: c.pop("a"), lambda c: c.acquire("a"),
                         lambda c: answer is untagged and c.get("a") or c.delete("a")):
                refused(latchkey.NotLatchkey, call, client)
            expect({each.url.host for each in service.seen}, {"one"})
    with Service(CUT, PAGE).client() as client:
        refused(latchkey.OutcomeUnknown, client.put, "a", 1)


def problems(_):
    with Service(problem(412, "precondition-failed")).client() as client:
        error = refused(latchkey.PreconditionFailed, client.put, "a", 1)
        again = pickle.loads(pickle.dumps(error))
        expect((type(again), str(again)), (type(error), "412 precondition-failed: why"))
    for kind in ("outcome-unknown", "answer-not-kept"):
        with Service(problem(500, kind)).client() as client:
            refused(latchkey.OutcomeUnknown, client.put, "a", 1)
    for answer in (problem(401, "unauthorized"), problem(403, "forbidden"),
                   problem(421, "not-leader", leader="http://one"),
                   problem(422, "idempotency-key-reused")):
        with Service(CUT, answer).client() as client:
            refused(latchkey.OutcomeUnknown, client.put, "a", 1)
    service = Service(problem(503, "too-many-idempotency-keys"), PUT)
    with service.client() as client:
        client.put("a", 1)
        expect([bool(each.headers.get("Idempotency-Key")) for each in service.seen], [True, False])


def deadlines(_):
    with Service(HANG).client() as client:
        refused(latchkey.OutcomeUnknown, client.put, "a", 1)
        expect(9 < time_of(client) <= 10, True)
        refused(latchkey.Unreachable, client.get, "a")
        expect(time_of(client) <= 20, True)
    # Each attempt asks for the rest of the wait, which limits the call.
    service = Service(CUT, CUT, HANG)
    with service.client(timeout=1) as client:
        refused(latchkey.OutcomeUnknown, client.transaction, [], wait=4)
        expect(time_of(client) <= 6, True)
        waits = [float(each.url.params.get("wait", 0)) for each in service.seen]
        expect((waits[0], sorted(waits, reverse=True), len(service.keys())), (4, waits, 1))
    # Without a key, because giving back in the background takes time as well.
    with Service(HANG).client(keys=False) as client:
        begin = time_of(client)
        refused(latchkey.LatchkeyError, client.acquire, "a", wait=1)
        expect(time_of(client) - begin <= 3, True)


def no_connection(_):
    with Service(NO_CONNECTION, PUT).client() as client:
        expect(client.put("a", 1), 7)
    with Service(NO_CONNECTION).client() as client:
        refused(latchkey.Unreachable, client.put, "a", 1)
    for url in ("ftp://one", "one:8080", "http://", "http://127.0.0.1:99999", "http://[::1"):
        with Latchkey(url, token=TOKEN) as client:
            refused(latchkey.Unreachable, client.put, "a", 1)
            refused(latchkey.Unreachable, next, client.watch())
    with Latchkey("https://localhost:1", ca="/nowhere") as client:
        refused(latchkey.Unreachable, client.put, "a", 1)


def several_addresses(_):
    urls = ["http://one", "http://two"]

    def hosts(service):
        return [each.url.host for each in service.seen]

    service = Service(lambda request: NO_CONNECTION if request.url.host == "one" else PUT)
    with service.client(urls=urls) as client:
        client.put("a", 1)
        client.put("a", 1)
        expect((hosts(service), time_of(client)), (["one", "two", "two"], 0))
    follower = problem(421, "not-leader", leader="http://two/")
    service = Service(follower, PUT)
    with service.client(urls=urls) as client:
        client.put("a", 1)
        expect(hosts(service), ["one", "two"])
    stranger = problem(421, "not-leader", {"Latchkey-Leader": "http://three"})
    service = Service(stranger)
    with service.client(urls=urls, token=TOKEN) as client:
        error = refused(latchkey.Problem, client.put, "a", 1)
        expect((error.leader, "http://three" in str(error), hosts(service)),
               ("http://three", True, ["one"]))
    # A write in doubt stays at its address, also when other calls use another.
    def moved(_):
        client._client._current.address = 1
        return CUT

    service = Service(moved, NO_CONNECTION, PUT)
    with service.client(urls=urls) as client:
        client.put("a", 1)
        expect(hosts(service), ["one"] * 3)


def secrets(_):
    with Service(problem(500, "x"), CUT).client(token=TOKEN + " \n", url="http://u:pass@one",
                                                patience=0.1) as client:
        errors = [refused(latchkey.LatchkeyError, client.get, "a") for _ in range(2)]
        shown = [*map(repr, errors), *map(str, errors), repr(vars(client._client)), repr(client),
                 *(str(pickle.dumps(each)) for each in errors)]
        expect([text for text in shown if TOKEN in text], [])
        expect([text for text in map(str, errors) if "pass" in text], [])
        refused(TypeError, pickle.dumps, client)
    error = refused(latchkey.InvalidValue, Latchkey, token=TOKEN + "\n" + TOKEN)
    expect(TOKEN in str(error), False)
    service = Service(PUT)
    with service.client(token=TOKEN + "\r\n") as client:
        client.put("a", 1)
        expect(service.seen[0].headers["Authorization"], f"Bearer {TOKEN}")


def values(_):
    service = Service(ok())
    with service.client() as client:
        for value in (float("nan"), float("inf"), [float("-inf")], {1, 2}, 10 ** 5000, b"x"):
            refused(latchkey.InvalidValue, client.put, "a", value)
        refused(latchkey.InvalidValue, client.put, "", 1)
        refused(latchkey.InvalidValue, client.put, "\ud800", 1)
        refused(latchkey.InvalidValue, client.wait, "a", wait=float("nan"))
        refused(latchkey.InvalidValue, client.get_many, ["a"] * 129)
        expect(service.seen, [])
    digits = "9" * 5000
    text = f'{{"a": {digits}, "b": 1e999, "c": {10 ** 400}, "d": 0.5}}'
    answer = httpx.Response(200, text=text, headers={
        "Content-Type": "application/json", "ETag": '"7"', "Latchkey-Created": "1"})
    with Service(answer).client() as client:
        expect(client.get("a").value, {"a": decimal.Decimal(digits), "b": decimal.Decimal("1e999"),
                                       "c": 10 ** 400, "d": 0.5})
    names = [f"{number:040}" for number in range(128)]
    rows = [{"name": name, "revision": 7, "created": 1, "value": 1} for name in names]
    service = Service(ok({"succeeded": True, "revision": 7, "results": [*rows[:-1],
                                                                        {"revision": 0}]}))
    with service.client() as client:
        expect([*client.get_many(names)], names[:-1])
        expect((service.seen[0].method, service.keys()), ("POST", {None}))


def streams(_):
    """All line ends, a byte order mark, `retry`; cut anywhere."""
    text = ('retry: 1500\nid: 3\n\n: a comment\nevent: put\ndata: {"name":"ü\u2028",\n'
            'data: "revision":4}\nid: 4\nother\n\nevent:ready\ndata:{}\n\n')
    wanted = [("message", "", "3"), ("put", '{"name":"ü\u2028",\n"revision":4}', "4"),
              ("ready", "{}", None)]
    for end in ("\n", "\r\n", "\r"):
        raw = b"\xef\xbb\xbf" + text.replace("\n", end).encode()
        for size in (1, 2, 3, 7, len(raw)):
            parser, found = Parser(), []
            for start in range(0, len(raw), size):
                found += parser.feed(raw[start:start + size])
            expect((found, parser.retry), (wanted, 1.5))


def without_clocks_of_unix(_):
    """Works without them, as on Windows."""
    program = """
import time
for name in [each for each in vars(time) if each.startswith(("CLOCK_", "clock_"))]:
    delattr(time, name)
import latchkey
latchkey._session.Clock().now()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE_SECONDS, env={
        **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(latchkey.__file__))})


CHECKS = (answers_that_pass, answers_of_others, problems, deadlines, no_connection,
          several_addresses, secrets, values, streams,
          without_clocks_of_unix)
