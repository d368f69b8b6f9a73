"""Rules that openapi.yaml states in text, because a JSON schema cannot express them."""

import re
import uuid

import schemathesis
from schemathesis.core import NOT_SET

import lint

NAME_BYTES_MAX = 256
WAIT = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
WAIT_SECONDS_MAX = 60
REVISION = re.compile("[0-9]{1,19}")
REVISION_MAX = 1 << 62
KEY = re.compile("[!-~]{1,255}")


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """A name is limited in bytes; a schema counts characters.

    A longer name is refused, so it is not an example of a valid request. The names "." and ".." are
    left out, because clients resolve them before they send a request.
    """
    name = (path_parameters or {}).get("name")
    if not isinstance(name, str):
        return True
    return len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX and name not in (".", "..")


def mixed(one, other):
    """Whether one of the two texts begins with the other."""
    return one.startswith(other) or other.startswith(one)


def apart(prefix, claim):
    """The claim's prefix, changed so that neither begins with the other."""
    return ("~" if str(prefix).startswith("!") else "!") + str(claim)[1:]


def part_claims(body):
    """The same in the steps of a transaction."""
    steps = (body.get("then"), body.get("else")) if isinstance(body, dict) else ()
    for step in (step for branch in steps if isinstance(branch, list) for step in branch):
        if isinstance(step, dict) and {"pop", "claim"} <= step.keys():
            pop, claim = step["pop"], step["claim"]
            if isinstance(pop, str) and isinstance(claim, str) and mixed(claim, pop):
                step["claim"] = apart(pop, claim)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A key is for one request, which a schema cannot say: each valid key is replaced by a new one.

    Otherwise a request would get the answer to an earlier one. Nor can a schema say which
    parameters exclude or need each other: `wait` of a property needs `after`, and `revision`
    excludes both; names of a list exclude a page, `ttl-if-new` excludes `ttl`, and a claim needs a
    time, and must not have the prefix of its pop. A wait is made short. An answer for replicas has
    no past revision, and changes for them have all names. A revision that never comes would only be
    waited for.
    """
    query = case.query or {}
    if case.path == "/v1/properties" and case.method in ("GET", "HEAD") and query.get("name"):
        for other in ("prefix", "limit", "after", "delimiter"):
            query.pop(other, None)
    if "ttl-if-new" in query:
        query.pop("ttl", None)
    if case.path == "/v1/pop":
        if "claim" in query or "ttl" in query:
            query.setdefault("ttl", 60)
            query.setdefault("claim", "claims/")
            if mixed(str(query["claim"]), str(query.get("prefix"))):
                query["claim"] = apart(query["prefix"], query["claim"])
        else:
            case.body = NOT_SET
    part_claims(case.body)
    wait = str(query.get("wait"))
    if WAIT.fullmatch(wait) and float(wait) <= WAIT_SECONDS_MAX:
        # In a query, a text that reads as a number is one: it is replaced by a text that does not.
        query["wait"] = "x" if isinstance(query["wait"], str) else 0
        if case.path.startswith("/v1/properties") and "after" not in query:
            del query["wait"]
    if REVISION.fullmatch(str(query.get("revision"))):
        query.pop("after", None)
        query.pop("wait", None)
    if query.get("replica") in (True, "true") and ("revision" in query or "prefix" in query):
        if case.path != "/v1/export" or "revision" in query:
            del query["replica"]
    least = str(query.get("min-revision"))
    if REVISION.fullmatch(least) and int(least) <= REVISION_MAX:
        query["min-revision"] = 0
    for name, key in list((case.headers or {}).items()):
        if name.lower() == "idempotency-key" and KEY.fullmatch(str(key)):
            case.headers[name] = str(uuid.uuid4())


@schemathesis.check
def httplint(context, answer, case):
    """Each answer is also right by the rules of HTTP."""
    sent = answer.request
    fields = [(name, value) for name, values in answer.headers.items() for value in values]
    found = lint.mistakes((sent.method, sent.path_url, sent.headers.items()),
                          (answer.status_code, fields, answer.content))
    if found:
        raise AssertionError("\n".join(found))
