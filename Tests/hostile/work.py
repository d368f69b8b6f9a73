"""How long one small request can work on the store.

Each row is a request, the units of work that it took as the service counts them, and the time that
it took, from outside and without that of the smallest request. The units are bounded, for each
request and for each byte that it has. The times are figures.
"""

import http.client
import json
import time

from process import Failure
from service import Service

UNITS_MAX = 16_000
# The worst row: nearly all of them for 46 bytes, path and body together.
UNITS_PER_BYTE_MAX = 350
REPEATS, QUICK_REPEATS = 9, 3
NAMES, CLAIMS, FOLDERS = 60_000, 20_000, 1000
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
    "some": members(range(7900)),
    "nested": "{" + ",".join(f'"o{i}":{members(range(9))}' for i in range(800)) + "}",
}


def changes():
    """The requests that a transaction decides: what they are called, and their bodies."""
    yield "count 15,900 names", {"then": [{"count": "some/"}]}
    yield "count 60,000 names", {"then": [{"count": "many/"}]}
    yield "count nothing, 128 times", {"then": [{"count": f"none{i}"} for i in range(128)]}
    yield "pop nothing, 128 times", {"then": [{"pop": f"none{i}"} for i in range(128)]}
    yield "pop behind 20,000 claims", {"then": [{"pop": "jobs/", "claim": "claims/", "ttl": 60}]}
    for name in ("long", "members", "short"):
        for times in (1, 4, 7):
            yield f"merge {name}, {times} times", {"then": [{"merge": name, "patch": {}}] * times}
    yield "touch long, 15 times", {"then": [{"touch": "long", "ttl": 1000}] * 15}
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


# Behind a snapshot: they hold the stripes for as long as it takes.
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
        """The status, and the seconds that it took."""
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


def measure(client, repeats, method, path, body):
    """The statuses, the units of one request, and the least seconds that one took."""
    before = client.units()
    found = [client.ask(method, path, body) for _ in range(repeats)]
    units = (client.units() - before) / repeats
    return {status for status, _ in found}, units, min(seconds for _, seconds in found)


def work(run, _):
    """No small request is much work for the store."""
    repeats = QUICK_REPEATS if run.quick else REPEATS
    with Service(run.binary) as service:
        client = Client(service)
        client.put(f"some/{number}" for number in range(15_900))
        client.put(f"many/{number}" for number in range(NAMES))
        client.put(f"{kind}/{number:06}" for number in range(CLAIMS)
                   for kind in ("jobs", "claims"))
        client.put(f"jobs/{CLAIMS + number:06}" for number in range(10 * repeats))
        client.put(f"folders/{number}/{name}" for number in range(FOLDERS) for name in range(4))
        for name, value in VALUES.items():
            client.ask("PUT", f"/v1/properties/{name}", value)
        base = min(client.ask("GET", "/v1/properties/none")[1] for _ in range(10 * repeats))
        # The first pop of two prefixes passes what is claimed.
        client.ask("POST", "/v1/pop?prefix=jobs/&claim=claims/&ttl=60")
        requests = [(name, "POST", TRANSACTIONS,
                     body if isinstance(body, str) else json.dumps(body))
                    for name, body in changes()]
        requests += [(name, "GET", path, None) for name, path in READS.items()]
        rows, wrong = [], []
        for name, method, path, body in requests:
            statuses, units, seconds = measure(client, repeats, method, path, body)
            size = len(path) + len(body or "")
            microseconds = max(0, seconds - base) * 1e6
            rows.append((name, statuses, size, units, microseconds))
            if statuses - {200, 422} or units > UNITS_MAX:
                wrong.append(f"{name}: {statuses}, {units:.0f} units")
        crash = service.crash()
    worst = max(rows, key=lambda row: row[3] / row[2])
    slowest = max((row for row in rows if row[3] > 1000), key=lambda row: row[4] / row[3])
    lines = [f"{name:34} {'/'.join(map(str, sorted(statuses))):>7} {size:8} B {units:8.0f} units "
             f"{microseconds:8.0f} us {units / size:9.3f} units/B {microseconds / size:9.3f} us/B"
             for name, statuses, size, units, microseconds in rows]
    figures = "\n    ".join([f"the worst: {worst[0]}, {worst[3] / worst[2]:.0f} units a byte; the "
                             f"slowest: {slowest[0]}, {slowest[4] / slowest[3]:.2f} us a unit",
                             *lines])
    if wrong or crash or worst[3] / worst[2] > UNITS_PER_BYTE_MAX:
        raise Failure("\n    ".join([*wrong, crash or "", figures]))
    return figures


CASES = {"work": work}
MODES_OF_CASES = {"work": ("plain",)}
