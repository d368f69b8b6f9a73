"""Clients of several replicas, which record their requests and answers.

Each write carries a unique number, its token: in the value, or as the amount added. So a commit
shows its request. Each client has a list that only its thread writes.
"""

import http.client
import json
import threading
import time

from unittest.mock import ANY

from judge import FAILED, MADE, READ, REFUSED, UNKNOWN, Operation
from process import Failure, events

SECONDS_MAX = 12
PAUSE_SECONDS = 0.02
NAMES = [f"p/{number}" for number in range(8)]
SHARED = NAMES[6:]
SUMS = [f"n/{number}" for number in range(3)]
KINDS = ("put",) * 4 + ("match", "match", "create", "delete", "delete", "increment", "increment",
                        "transaction", "transaction", "lives", "get", "get", "get", "head", "page",
                        "count", "export", "poll", "fresh")
READS = ("get", "head", "page", "count", "export", "poll", "plain")
JSON = {"Content-Type": "application/json"}


def path(name):
    return "/v1/properties/" + name.replace("/", "%2F")


class Talker(threading.Thread):
    """Sends requests to one replica, and to another one after a lost connection."""

    def __init__(self, cluster, choose):
        super().__init__(daemon=True)
        self.cluster, self.choose = cluster, choose
        self.operations, self.is_stopped, self.error = [], threading.Event(), None
        self.replica, self.connection = self.choice(), None
        self.began = self.ended = None

    def choice(self):
        return self.choose.choice(self.cluster.replicas)

    def run(self):
        self.began = time.monotonic_ns()
        while not self.is_stopped.is_set():
            try:
                self.step()
            except Exception as error:  # noqa: BLE001
                self.error = error
                return
        self.ended = time.monotonic_ns()
        if self.connection:
            self.connection.close()

    def send(self, each, method, target, body=None, headers=None):
        """Returns whether there was an answer, which is then in `each`."""
        each.replica = self.replica.number
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    self.replica.host, self.replica.port, timeout=SECONDS_MAX)
                self.connection.connect()
        except OSError:
            each.fate = REFUSED
            return self.lose()
        self.operations.append(each)
        each.begin = time.monotonic_ns()
        try:
            self.connection.request(method, target, body, headers or {})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            return self.lose()
        each.end = time.monotonic_ns()
        each.status = answer.status
        each.age = int(float(answer.headers.get("Latchkey-Age", "0")) * 1e9)
        self.take(each, answer.headers, text)
        if answer.status in (503, 507):
            self.is_stopped.wait(PAUSE_SECONDS)
        return True

    def lose(self):
        self.connection.close()
        self.connection = None
        self.is_stopped.wait(PAUSE_SECONDS)
        self.replica = self.choice()
        return False

    def take(self, each, headers, text):
        status = each.status
        if status == 500 and b"/outcome-unknown" in text:
            each.fate = UNKNOWN
        elif status in (429, 503) or status == 507 and self.cluster.may_be_full:
            each.fate = REFUSED
        elif status in (404, 412):
            each.fate = FAILED
            if each.name and each.kind in READS:
                each.fate, each.seen = READ, {each.name: (0, None)}
        elif status == 304 and each.kind == "poll":
            each.fate = READ
        elif status in (200, 201, 204):
            self.take_success(each, headers, text)
        else:
            raise Failure(f"no such answer is promised: {each}: {text[:300]!r}")

    def take_success(self, each, headers, text):
        tag = int(headers["ETag"].strip('"')) if "ETag" in headers else None
        each.fate = READ if each.kind in READS else MADE
        each.revision = tag
        if each.kind in READS:
            each.revision = int(headers["Latchkey-Revision"])
        if each.kind == "head":
            each.seen = {each.name: (tag, ANY)}
        elif each.kind == "count":
            each.count = json.loads(text)["count"]
        elif each.kind == "export":
            *rows, last = map(json.loads, text.splitlines())
            each.seen |= {one["name"]: (one["revision"], one["value"]) for one in rows}
            if last["count"] != len(rows) or last["revision"] != each.revision:
                raise Failure(f"an export that is not whole: {each}: {last}")
        elif each.kind in ("get", "poll") or each.kind == "plain" and tag is not None:
            each.seen = {each.name: (tag, json.loads(text))}
        elif each.kind in ("page", "plain"):
            page = json.loads(text)
            each.revision = page["revision"]
            each.seen |= {one["name"]: (one["revision"], one["value"])
                          for one in page["properties"]}
        elif each.kind == "increment":
            each.seen = {each.name: (tag, json.loads(text))}
        elif each.kind == "transaction":
            answer = json.loads(text)
            each.fate = MADE if answer["succeeded"] else FAILED
            each.revision = answer["revision"]
            # A put shows only its revision.
            each.seen = {one["name"]: (one["revision"], one.get("value"))
                         for one in answer["results"] if "value" in one or not one["revision"]}


class Client(Talker):
    """Makes writes and linearizable reads."""

    def __init__(self, cluster, choose, tokens, number):
        super().__init__(cluster, choose)
        self.tokens, self.known = tokens, {}
        # Commits of DELETE have no token. Those without a condition are made by one client, one
        # after the other; those of other names have the revision of If-Match.
        self.own = NAMES[number]

    def step(self):
        getattr(self, "do_" + self.choose.choice(KINDS))()

    def put(self, name, query="", matches=None, headers=None):
        token = next(self.tokens)
        each = Operation("put", None, token, name, matches)
        self.send(each, "PUT", path(name) + query, json.dumps({"t": token}),
                  {**JSON, **(headers or {})})
        if each.fate == MADE:
            self.known[name] = each.revision

    def do_put(self):
        self.put(self.choose.choice(NAMES))

    def do_lives(self):
        seconds = self.choose.choice((0.2, 0.5, 1, 2))
        self.put(f"t/{self.choose.randrange(4)}", f"?ttl={seconds}")

    def do_match(self):
        name = self.choose.choice(NAMES)
        matches = self.known.get(name) or 1
        self.put(name, "", matches, {"If-Match": f'"{matches}"'})

    def do_create(self):
        self.put(self.choose.choice(NAMES), "", 0, {"If-None-Match": "*"})

    def do_delete(self):
        name = self.choose.choice((self.own, *SHARED))
        matches = None if name == self.own else self.known.get(name) or 1
        each = Operation("delete", None, name=name, matches=matches)
        self.send(each, "DELETE", path(name),
                  headers={"If-Match": f'"{matches}"'} if matches else {})

    def do_increment(self):
        token, name = next(self.tokens), self.choose.choice(SUMS)
        each = Operation("increment", None, token, name)
        self.send(each, "POST", path(name) + "/increment", json.dumps({"by": token}), JSON)

    def do_transaction(self):
        token = next(self.tokens)
        one, other, third = self.choose.sample(NAMES, 3)
        matches = self.known.get(one, 0)
        each = Operation("transaction", None, token, one, matches)
        gets = [{"get": one}, {"get": third}]
        body = {"if": [{"name": one, "revision": matches}], "else": gets, "then": [
            {"put": one, "value": {"t": token}}, {"put": other, "value": {"t": token}},
            {"get": third}]}
        self.send(each, "POST", "/v1/transactions", json.dumps(body), JSON)
        for name, (revision, _) in each.seen.items():
            self.known[name] = revision

    def do_get(self):
        name = self.choose.choice(NAMES + SUMS)
        each = Operation("get", None, name=name)
        self.send(each, "GET", path(name) + "?consistency=linearizable")
        if each.fate == READ:
            self.known[name] = each.seen[name][0]

    def do_head(self):
        name = self.choose.choice(NAMES + SUMS)
        self.send(Operation("head", None, name=name), "HEAD",
                  path(name) + "?consistency=linearizable")

    def do_poll(self):
        """Waits for a change of a property that this client knows."""
        name = self.choose.choice(NAMES)
        each = Operation("poll", None, name=name, matches=self.known.get(name, 0))
        self.send(each, "GET", f"{path(name)}?consistency=linearizable&wait=0.3"
                               f"&after={each.matches}")

    def do_count(self):
        each = Operation("count", None)
        self.send(each, "GET", "/v1/count?prefix=p/&consistency=linearizable")

    def do_export(self):
        each = Operation("export", None, seen=dict.fromkeys(NAMES, (0, None)))
        self.send(each, "GET", "/v1/export?prefix=p/&consistency=linearizable")

    def do_fresh(self):
        """Reads at least the state that any replica has shown to this client."""
        name, least = self.choose.choice(NAMES), max(self.known.values(), default=0)
        each = Operation("plain", None, name=name)
        each.least = least
        self.send(each, "GET", f"{path(name)}?min-revision={least}")

    def do_page(self):
        names = self.choose.sample(NAMES + SUMS, 4)
        each = Operation("page", None, seen=dict.fromkeys(names, (0, None)))
        query = "&".join(f"name={name}" for name in names)
        self.send(each, "GET", f"/v1/properties?{query}&consistency=linearizable")


class Reader(Talker):
    """Plain reads of one replica."""

    def __init__(self, cluster, choose, replica):
        super().__init__(cluster, choose)
        self.replica = replica

    def choice(self):
        return getattr(self, "replica", None)

    def step(self):
        if self.choose.random() < 0.5:
            names = self.choose.sample(NAMES + SUMS, 4)
            each = Operation("plain", None, seen=dict.fromkeys(names, (0, None)))
            self.send(each, "GET", "/v1/properties?" + "&".join(f"name={one}" for one in names))
        else:
            name = self.choose.choice(NAMES + SUMS)
            self.send(Operation("plain", None, name=name), "GET", path(name))
        # So that the reads do not take the writers' time.
        self.is_stopped.wait(0.002)


class Prober(Reader):
    """Writes to one replica, with almost no pause."""

    def __init__(self, cluster, choose, replica, tokens):
        super().__init__(cluster, choose, replica)
        self.tokens = tokens

    def step(self):
        token, name = next(self.tokens), f"w/{self.replica.number}"
        self.send(Operation("put", None, token, name), "PUT", path(name),
                  json.dumps({"t": token}), JSON)
        self.is_stopped.wait(PAUSE_SECONDS)


class Watcher(Talker):
    """A watch that is cut again and again, and continues at another replica."""

    # Its parameters, and the least and the longest time in seconds that it stays at a replica.
    query, span = "", (0.05, 1.5)

    def __init__(self, cluster, choose, first):
        super().__init__(cluster, choose)
        self.revision, self.last, self.events, self.cuts = first, str(first), [], 0
        self.middles = 0

    def step(self):
        self.replica = self.choice()
        end = time.monotonic() + self.choose.uniform(*self.span)
        connection = http.client.HTTPConnection(
            self.replica.host, self.replica.port, timeout=1)
        try:
            connection.request("GET", f"/v1/watch?{self.query}",
                               headers={"Last-Event-ID": self.last})
            answer = connection.getresponse()
            if answer.status == 200:
                self.read(answer, end)
            elif answer.status not in (429, 503):
                raise Failure(f"a watch was answered {answer.status}: {answer.read(300)!r}")
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
            self.cuts += 1
        self.is_stopped.wait(PAUSE_SECONDS)

    def read(self, answer, end):
        for event, data, number in events(answer):
            self.take_event(event, data, number)
            # In the middle of a transaction.
            is_cut = number and "." in number and self.choose.random() < 0.2
            self.middles += bool(is_cut)
            if is_cut or time.monotonic() > end or self.is_stopped.is_set():
                return

    def take_event(self, event, data, number):
        if event == "gap":
            raise Failure(f"a watch that resumed at {self.last} on replica {self.replica.number} "
                          f"got a gap: {data}")
        if event in ("put", "delete", "expire"):
            self.events.append((data["revision"], data["name"], data.get("value")))
        if number:
            self.last = number
            if "." not in number:
                self.revision = int(number)
