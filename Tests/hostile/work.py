"""Limits the work of one small request on the store.

Each row is a request, the units of work as the service counts them, and its time as measured from
outside, without that of a request of its size that does nothing. The units are limited, for each
request and for each of its bytes. In the long form the time is limited, too, by that of the
control: a count of nearly as many names as a change can count.
"""

import http.client
import json
import re
import threading
import time

from process import Failure
from service import Service

UNITS_MAX = 16_000
# The worst row: all units for 22 bytes, path and body together.
UNITS_PER_BYTE_MAX = 750
CONTROL, CONTROL_TIMES_MAX = "count 14,900 names", 24
REPEATS, QUICK_REPEATS = 9, 3
NAMES, CLAIMS, FOLDERS, COLD = 60_000, 20_000, 1000, 4000
MEGABYTE = 1_000_000
TRANSACTIONS = "/v1/transactions"
COUNTER = "latchkey_store_work_units_total"


def members(numbers, pause=""):
    return "{" + ",".join(f'"k{number}":{pause}1' for number in numbers) + "}"


VALUES = {
    "long": '{"x":"' + "x" * (MEGABYTE - 100) + '"}',
    "numbers": "[" + ",".join(["1"] * (MEGABYTE // 2)) + "]",
    "members": members(range(MEGABYTE // 12)),
    "short": "{" + ",".join(['"":1'] * (MEGABYTE // 5)) + "}",
    "empty": "[" + ",".join(["{}"] * (MEGABYTE // 3 - 9)) + "]",
    "escapes": '"' + "\\u0041" * (MEGABYTE // 7) + '"',
    "digits": "1" * MEGABYTE,
    "fewer": "1" * 30_000,
    "blanks": " " * 400_000 + "5",
    "some": members(range(7900)),
    "nested": "{" + ",".join(f'"o{i}":{members(range(9))}' for i in range(800)) + "}",
}


def tests(name, relation, value, times):
    return {"if": [{"name": name, relation: value}] * times, "then": []}


def changes():
    """The requests that a transaction decides: their names and bodies."""
    yield CONTROL, {"then": [{"count": "some/"}]}
    yield "count 60,000 names", {"then": [{"count": "many/"}]}
    yield "count nothing, 128 times", {"then": [{"count": f"none{i}"} for i in range(128)]}
    yield "pop nothing, 128 times", {"then": [{"pop": f"none{i}"} for i in range(128)]}
    yield "pop behind 20,000 claims", {"then": [{"pop": "jobs/", "claim": "claims/", "ttl": 60}]}
    for name in ("long", "members", "short"):
        for times in (1, 4, 7):
            yield f"merge {name}, {times} times", {"then": [{"merge": name, "patch": {}}] * times}
    yield "touch long, 15 times", {"then": [{"touch": "long", "ttl": 1000}] * 15}
    yield "increment digits", {"then": [{"increment": "digits", "by": 1}]}
    # The last step refuses it, so it can be sent again.
    yield "increment blanks", {"then": [{"increment": "blanks", "by": 1},
                                        {"increment": "digits", "by": 1}]}
    yield "digits > 5, 15 times", tests("digits", ">", 5, 15)
    yield "30,000 digits > 5, 15 times", tests("fewer", ">", 5, 15)
    yield "30,000 digits = 5, 15 times", tests("fewer", "equals", 5, 15)
    yield "long < 5, 15 times", tests("long", "<", 5, 15)
    yield "escapes >= A, 15 times", tests("escapes", ">=", "A", 15)
    for name in ("numbers", "members", "escapes"):
        yield f"{name} !=", tests(name, "!=", "a" if name == "escapes" else {"a": 1}, 1)
    # 8 pairs with the same claims; the condition fails.
    pops = [{"pop": f"jobs/{rest}", "claim": f"claims/{rest}", "ttl": 60}
            for rest in ("", "0", "00", "000", "01", "010", "011", "012")]
    yield "pop 8 pairs, if not", {"if": [{"name": "none", "revision": 9}], "then": pops}
    yield "pop 15 times, nothing left", \
        {"then": [{"pop": "jobs/0", "claim": "claims/0", "ttl": 60}] * 15}
    yield "pop 100 times, nothing left", {"then": [{"pop": "none"}] * 100}
    for name in ("numbers", "members", "short", "empty", "escapes"):
        other = {"a": 1} if VALUES[name].startswith("{") else ["a"]
        yield f"equals {name}", {"if": [{"name": name, "equals": other}], "then": []}
    yield "equals some, in another order", \
        '{"if":[{"name":"some","equals":' + members(reversed(range(7900))) + '}],"then":[]}'
    yield "equals some, spelled otherwise", \
        '{"if":[{"name":"some","equals":' + members(range(7900), " ") + '}],"then":[]}'
    yield "equals numbers, spelled otherwise", \
        '{"if":[{"name":"numbers","equals":' + VALUES["numbers"].replace("]", " ]") \
        + '}],"then":[]}'


PATCHES = {f"PATCH {name}": f"/v1/properties/{name}" for name in ("long", "members", "short")}

# Reads from a snapshot: they hold the stripes while they take it, and the rest is read in turns
# with others. So their times are only reported.
READS = {
    "GET a count of 60,000": "/v1/count?prefix=many/",
    "GET 1000 names": "/v1/properties?prefix=many/&limit=1000&values=false",
    "GET 1000 folders": "/v1/properties?prefix=folders/&delimiter=/&limit=1000&values=false",
}


class Client:
    """Sends requests on one connection."""

    def __init__(self, service):
        self.service = service
        self.connection = http.client.HTTPConnection(*service.address)

    def ask(self, method, path, body=None, media="application/json"):
        """The status, and the seconds of the request."""
        began = time.perf_counter()
        self.connection.request(method, path, body, {"Content-Type": media})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - began

    def put(self, names):
        lines = "\n".join(f'{{"name":"{name}","value":1}}' for name in names)
        path = "/v1/import?partial=true&batch=1000"
        status, _ = self.ask("POST", path, lines, "application/x-ndjson")
        if status != 200:
            raise Failure(f"an import got {status}")

    def units(self):
        return self.service.metrics()[COUNTER]


def measure(client, name, method, path, bodies):
    """A row: the mean of the units, and the least time beyond that of a request of its size."""
    before = client.units()
    found = [client.ask(method, path, body) for body in bodies]
    units = (client.units() - before) / len(bodies)
    # It is read, too, and its conditions are on a missing property.
    empty = '{"then":[]}' if len(bodies[0] or "") < 10_000 else re.sub(
        '"name":"[a-z]*"', '"name":"none"', bodies[0])
    base = min(client.ask("POST", TRANSACTIONS, empty)[1] for _ in range(5 * len(bodies)))
    microseconds = max(0, min(seconds for _, seconds in found) - base) * 1e6
    return name, {status for status, _ in found}, len(path) + len(bodies[0] or ""), units, \
        microseconds


def measure_cold(client, repeats):
    """A row: the first pop of two prefixes, and the longest GET of another client meanwhile."""
    worst, statuses, before, is_over = [], set(), client.units(), threading.Event()
    body = ""
    for number in range(repeats):
        other, found = Client(client.service), [0]
        is_over.clear()

        def get():
            while not is_over.is_set():
                found.append(other.ask("GET", "/v1/properties/none")[1])

        thread = threading.Thread(target=get)
        thread.start()
        steps = [{"pop": f"cold{number}/{rest}", "claim": f"taken{number}/{rest}", "ttl": 60}
                 for rest in ("0000", "000", "00", "0", "", "1", "2", "3")]
        body = json.dumps({"then": steps})
        statuses.add(client.ask("POST", TRANSACTIONS, body)[0])
        is_over.set()
        thread.join()
        worst.append(max(found))
    base = min(client.ask("GET", "/v1/properties/none")[1] for _ in range(10))
    return "GET beside a first pop", statuses, len(body), (client.units() - before) / repeats, \
        max(0, min(worst) - base) * 1e6


def measure_stripes(run, repeats):
    """Rows: walks through the greatest number of stripes."""
    with Service(run.binary, "--stripes", "1024") as service:
        client = Client(service)
        client.put(f"many/{number}" for number in range(NAMES))
        for name, step in (("count", {"count": "none"}), ("pop", {"pop": "none"}),
                           ("claim", {"pop": "none", "claim": "claims/", "ttl": 60})):
            for times in (31, 128):
                body = json.dumps({"then": [step] * times})
                yield measure(client, f"{name} nothing, {times} times, 1024 stripes", "POST",
                              TRANSACTIONS, [body] * repeats)


def work(run, _):
    """No small request is much work for the store."""
    repeats = QUICK_REPEATS if run.quick else REPEATS
    with Service(run.binary) as service:
        client = Client(service)
        client.put(f"some/{number}" for number in range(14_900))
        for number in range(repeats):
            client.put(f"gone{number}/{rest}" for rest in range(1000))
            client.put(f"{kind}{number}/{rest:04}" for rest in range(COLD)
                       for kind in ("cold", "taken"))
        client.put(f"many/{number}" for number in range(NAMES))
        client.put(f"{kind}/{number:06}" for number in range(CLAIMS)
                   for kind in ("jobs", "claims"))
        client.put(f"jobs/{CLAIMS + number:06}" for number in range(10 * repeats))
        client.put(f"folders/{number}/{name}" for number in range(FOLDERS) for name in range(4))
        for name, value in VALUES.items():
            client.ask("PUT", f"/v1/properties/{name}", value)
        # The first pop of two prefixes passes the claimed jobs.
        client.ask("POST", "/v1/pop?prefix=jobs/&claim=claims/&ttl=60")
        requests = [(name, "POST", TRANSACTIONS,
                     [body if isinstance(body, str) else json.dumps(body)] * repeats)
                    for name, body in changes()]
        requests += [(name, "PATCH", path, ["{}"] * repeats) for name, path in PATCHES.items()]
        requests += [("delete-prefix of 1,000 names", "POST", TRANSACTIONS, [
            json.dumps({"then": [{"delete-prefix": f"gone{number}/"}]})
            for number in range(repeats)])]
        requests += [(name, "GET", path, [None] * repeats) for name, path in READS.items()]
        rows = [measure(client, *request) for request in requests]
        rows.append(measure_cold(client, repeats))
        crash = service.crash()
    rows += measure_stripes(run, repeats)
    control = next(row[4] for row in rows if row[0] == CONTROL)
    wrong = [f"{row[0]}: {row[1]}, {row[3]:.0f} units, {row[4] / control:.1f} times the control"
             for row in rows if row[1] - {200, 409, 422} or row[3] > UNITS_MAX
             or not run.quick and row[0] not in READS and row[4] > CONTROL_TIMES_MAX * control]
    worst = max(rows, key=lambda row: row[3] / row[2])
    slowest = max((row for row in rows if row[3] > 1000), key=lambda row: row[4] / row[3])
    lines = [f"{name:39} {'/'.join(map(str, sorted(statuses))):>7} {size:8} B {units:8.0f} units "
             f"{microseconds:8.0f} us {microseconds / control:5.1f} x {units / size:9.3f} units/B "
             f"{microseconds / size:9.3f} us/B"
             for name, statuses, size, units, microseconds in rows]
    figures = "\n    ".join([f"the worst: {worst[0]}, {worst[3] / worst[2]:.0f} units a byte; the "
                             f"slowest: {slowest[0]}, {slowest[4] / slowest[3]:.2f} us a unit",
                             *lines])
    if wrong or crash or worst[3] / worst[2] > UNITS_PER_BYTE_MAX:
        raise Failure("\n    ".join([*wrong, crash or "", figures]))
    return figures


CASES = {"work": work}
MODES_OF_CASES = {"work": ("plain",)}
