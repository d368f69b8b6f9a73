"""The requests that were sent when the files were made, with every kind of change."""

import json
import urllib.parse

from process import Failure, await_true

LONG_SECONDS = 300_000_000
# Has passed when the files are read: their reader sets its clock a minute later.
SHORT_SECONDS = 20
LATER_SECONDS = 60
JSON = {"Content-Type": "application/json"}


def path(name, query=""):
    return f"/v1/properties/{urllib.parse.quote(name, safe='')}{query}"


def told(answer):
    """An answer without the detail of a problem, which is for people: each version can word it
    differently (RFC 9457, section 3.1.4). The decision is kept, not the words. The identifier of
    its request is also left out.
    """
    body = answer["body"]
    if answer["status"] < 400 or not body:
        return answer
    members = json.loads(body)
    for name in "detail", "request":
        members.pop(name, None)
    return {**answer, "body": members}


class Talker:
    """Sends requests with a token to one service or to several ones in turn."""

    def __init__(self, token, *services):
        self.services, self.count, self.kept = services, 0, []
        self.headers = {"Authorization": f"Bearer {token}"}

    def ask(self, method, target, body=None, headers=None, service=None):
        """Status, entity tag, body, and whether it is the answer to an earlier request."""
        service = service or self.services[self.count % len(self.services)]
        self.count += 1
        status, fields, text = service.ask(
            method, target, body and body.encode(), {**self.headers, **(headers or {})},
            expect=None)
        return {"status": status, "tag": fields.get("ETag"), "body": text.decode(),
                "replayed": fields.get("Idempotency-Replayed") == "true"}

    def send(self, status, method, target, body=None, headers=None, key=None):
        """Sends a request that must get this status. With a key, request and answer are kept."""
        headers = {**(JSON if body else {}), **(headers or {}),
                   **({"Idempotency-Key": key} if key else {})}
        answer = self.ask(method, target, body, headers)
        if answer["status"] != status:
            raise Failure(f"{method} {target} was answered {answer}")
        if key:
            self.kept.append({"method": method, "target": target, "body": body,
                              "headers": headers, "answer": answer})
        return answer

    def rows(self, target):
        return [json.loads(line) for line in self.send(200, "GET", target)["body"].splitlines()]

    def changes(self):
        """All that the history holds, with the exact bytes and times of replicas."""
        found, query = [], ""
        while True:
            page = json.loads(self.send(
                200, "GET", f"/v1/changes?replica=true&limit=1000{query}")["body"])
            found += page["changes"]
            if not page["hasMore"]:
                return found
            query = f"&after={page['next']}"


def send_all(talker):
    """Changes of all kinds, refusals, keys, and times that have passed, or will not for years."""
    send = talker.send
    for name, value in (("values/number", "1.50"), ("values/large", "9007199254740993"),
                        ("values/text", '"\\u00e4 ö \\n"'), ("values/object", '{ "a" : [1,2] }'),
                        ("values/null", "null"), ("names/ä %/?#", "true"), ("values/empty", '""'),
                        ("values/long", json.dumps("x" * 5000))):
        send(201, "PUT", path(name), value)
    for value in ("1", "2", "3"):
        send(201 if value == "1" else 204, "PUT", path("past"), value)
    send(204, "DELETE", path("past"))
    send(201, "PUT", path("past"), "4")
    send(201, "PUT", path("gone"), "1")
    send(204, "DELETE", path("gone"))

    send(201, "PUT", path("keyed/put"), "1", key="put-1")
    tag = send(204, "PUT", path("keyed/put"), "2", {"If-Match": "*"}, key="put-2")["tag"]
    send(412, "PUT", path("keyed/put"), "3", {"If-Match": '"1"'})
    send(204, "PUT", path("keyed/put"), "4", {"If-Match": tag})
    send(200, "PATCH", path("keyed/merge"), '{"a":{"b":1},"c":null}', key="merge")
    send(200, "PATCH", path("keyed/merge"), '{"a":{"d":[2]}}')
    send(200, "POST", path("keyed/sum") + "/increment", '{"by":5}', key="increment")
    send(200, "POST", path("keyed/sum") + "/increment", '{"by":-7}')
    send(409, "POST", path("values/text") + "/increment")
    send(201, "PUT", path("keyed/delete"), "1")
    send(204, "DELETE", path("keyed/delete"), key="delete")

    send(201, "PUT", path("lives/years", f"?ttl={LONG_SECONDS}"), "1", key="ttl")
    send(201, "PUT", path("lives/touched", "?ttl=500"), "1")
    send(204, "POST", path("lives/touched") + f"/touch?ttl={LONG_SECONDS}", key="touch")
    send(200, "POST", path("lives/sum") + f"/increment?ttl-if-new={LONG_SECONDS}")
    send(201, "PUT", path("lives/over", "?ttl=0.05"), "1")

    send(201, "PUT", path("jobs/1"), '"one"')
    send(201, "PUT", path("jobs/2"), '"two"')
    send(200, "POST", f"/v1/pop?prefix=jobs/&claim=claims/&ttl={LONG_SECONDS}", key="pop")
    send(200, "POST", "/v1/pop?prefix=jobs/2")
    body = {"if": [{"name": "past", "equals": 4}, {"name": "none", "absent": True}],
            "then": [{"put": "many/1", "value": {"a": 1}}, {"increment": "many/2", "by": 3},
                     {"merge": "many/1", "patch": {"b": 2}}, {"put": "many/3", "value": 1},
                     {"delete": "many/3"}, {"get": "past"}, {"count": "values/"}]}
    send(200, "POST", "/v1/transactions", json.dumps(body), key="transaction")
    body = {"if": [{"name": "past", ">": 100}], "then": [], "else": [{"put": "many/4", "value": 4}]}
    send(200, "POST", "/v1/transactions", json.dumps(body), key="transaction-else")
    for number in range(4):
        send(201, "PUT", path(f"many/part/{number}"), str(number))
    send(200, "DELETE", "/v1/properties?prefix=many/part/", key="delete-prefix")
    lines = "".join(json.dumps({"name": f"imported/{number}", "value": {"n": number}}) + "\n"
                    for number in range(5))
    send(200, "POST", "/v1/import?partial=true&batch=2", lines,
         {"Content-Type": "application/x-ndjson"})
    body = {"id": "job", "steps": [{"put": "by/operation", "value": 1}]}
    # Only the service that took an operation has it.
    owner = talker.services[talker.count % len(talker.services)]
    send(202, "POST", "/v1/operations", json.dumps(body))
    await_true("the operation has finished", lambda: json.loads(talker.ask(
        "GET", "/v1/operations/job", service=owner)["body"])["state"] == "finished")
    await_true("a property has expired", lambda: any(
        effect["type"] == "expire" for change in talker.changes() for effect in change["effects"]))
    send(201, "PUT", path("lives/short", f"?ttl={SHORT_SECONDS}"), "1")
    send(201, "PUT", path("last"), '"one"')


def state(talker, token):
    """The present state of the service, and the expected answers to repeats with a key."""
    export, changes = talker.rows("/v1/export?replica=true"), talker.changes()
    if export[-1]["revision"] != changes[-1]["revision"]:
        raise Failure("something was changed meanwhile")
    past = [{"target": path("past", f"?revision={change['revision']}"), "body": each["value"]}
            for change in changes for each in change["effects"]
            if each["name"] == "past" and each["type"] == "put"]
    values = [{"name": row["name"], **{part: answer[part] for part in ("body", "tag")}}
              for row in export[:-1] for answer in [talker.send(200, "GET", path(row["name"]))]]
    return {"milliseconds": changes[-1]["milliseconds"], "token": token, "export": export,
            "values": values, "changes": changes, "past": past, "kept": talker.kept}
