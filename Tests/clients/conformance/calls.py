"""Cases: meanings of answers, and which calls are repeated."""

from cases import PACKAGES, case
from service import (
    EARLY_SECONDS, NEVER, Answer, answered, cut, edited, page, problem, redirect, right,
)

PUT = {"name": "a", "value": 1}
# Each call, what it sends, and the kind of its request.
CALLS = {
    "get": ({"name": "a"}, "get"), "put": (PUT, "put"), "delete": ({"name": "a"}, "delete"),
    "increment": ({"name": "n", "by": 2}, "increment"),
    "merge": ({"name": "o", "patch": {"x": 1}}, "merge"),
    "touch": ({"name": "a", "ttl": 60}, "touch"),
    "transaction": ({"then": [{"put": "a", "value": 1}]}, "transaction"),
    "pop": ({"prefix": "jobs/", "wait": 0}, "transaction"),
    "get_many": ({"names": ["a"]}, "list"), "list": ({"prefix": ""}, "list"),
    "count": ({"prefix": ""}, "count"), "delete_prefix": ({"prefix": "a"}, "delete_prefix"),
}
WRITES = ("put", "delete", "increment", "merge", "transaction", "pop", "delete_prefix")
PROBLEMS = (
    (404, "not-found", "NotFound"), (412, "precondition-failed", "PreconditionFailed"),
    (409, "not-an-integer", "NotAnInteger"), (410, "gone", "Gone"),
    (401, "unauthorized", "Unauthorized"), (403, "forbidden", "Forbidden"),
    (507, "quota-exceeded", "Full"), (507, "store-full", "Full"),
    (422, "idempotency-key-reused", "Problem"))


def is_revision(found):
    return isinstance(found, int) and found > 1_000_000


@case("each call gives what the service says")
def plain(t):
    t.open()
    revision = t.gives(is_revision, "put", name="a b/ü?#%", value={"x": [1, None]})
    t.gives({"value": {"x": [1, None]}, "revision": revision}, "get", name="a b/ü?#%")
    t.gives(None, "find", name="none")
    t.fails("NotFound", "get", name="none")
    t.gives(7, "increment", name="n", by=7)
    t.gives({"x": 1}, "merge", name="o", patch={"x": 1})
    t.gives(True, "delete", name="a b/ü?#%")
    t.gives(["n", "o"], "list", prefix="")
    t.gives(False, "delete", name="none")
    t.gives({"n": 7}, "get_many", names=["n", "none"])
    t.fails("PreconditionFailed", "put", name="n", value=1, if_absent=True)
    t.gives(is_revision, "touch", name="n", ttl=60)
    t.gives(2, "count", prefix="")
    t.gives(1, "delete_prefix", prefix="o")
    t.gives(lambda found: found["succeeded"], "transaction", then=[{"put": "jobs/1", "value": 5}])
    t.gives(lambda found: found["value"] == 5, "pop", prefix="jobs/", wait=0)
    t.gives(None, "pop", prefix="jobs/", wait=0)


@case("a {} of a proxy passes", 2, each=(408, 425, 429, 500, 502, 503, 504))
def foreign_status_passes(t, status):
    t.open({"*": [page(status)] + [right] * 9, "get": [page(status)]})
    t.gives(2, "increment", name="n", by=2)
    t.gives(lambda found: found["value"] == 2, "get", name="n")
    t.one_key("increment")
    t.count("get", 2)


@case("a {} of a proxy without end is not 'nothing was changed'", 3,
      each=(408, 500, 502, 503, 504))
def foreign_status_stays(t, status):
    last = page(status, Retry_After=NEVER)
    t.open({"put": [page(status), last], "get": [page(status), last]})
    t.fails("OutcomeUnknown", "put", **PUT)
    t.one_key("put")
    t.fails("Unreachable", "get", name="a")


@case("a {} of a proxy without end: nothing was changed", 3, each=(425, 429))
def foreign_refusal_stays(t, status):
    t.open({"*": [page(status), page(status, Retry_After=NEVER)]})
    t.fails("Unreachable|Busy|NotLatchkey", "put", **PUT)
    t.count("put", 2)


@case("{}: after a 504 and a lost answer it is made once", 13, each=WRITES)
def made_once(t, call):
    arguments, kind = CALLS[call]
    t.open({kind: [page(504, made=True), cut()]})
    t.store.put("jobs/1", 1)
    before = t.store.put("a", 0)
    found = t.call(call, **arguments)
    if found in (0, False, None):
        raise AssertionError(f"{call} gives the second answer: {found}")
    t.one_key(kind, 3)
    if t.store.put("after", 1) != before + 2:
        raise AssertionError(f"{call} was made twice")


@case("a write without a key whose answer is lost is not repeated", 3, only=PACKAGES)
def no_keys(t):
    t.open({"increment": [page(504, made=True)]}, keys=False)
    t.fails("OutcomeUnknown", "increment", name="n", by=1)
    t.count("increment", 1)


@case("touch, which can be made twice, is repeated without a key", 3)
def touch_repeats(t):
    t.open({"touch": [page(502), cut()]})
    t.store.put("a", 1)
    t.gives(is_revision, "touch", name="a", ttl=60)
    t.count("touch", 3)


@case("Retry-After of {} is kept", 2, each=(("the service", problem(
    503, "draining", headers={"Retry-After": "1"})), ("a proxy", page(503, Retry_After="1"))))
def retry_after(t, value):
    t.open({"put": [value[1]]})
    t.gives(is_revision, "put", **PUT)
    first, second = t.service.of("put")
    if second.seconds - first.seconds < 1 - EARLY_SECONDS:
        raise AssertionError("it was sent again before that")


@case("a problem {} passes", 2, each=((429, "rate-limited"), (503, "draining")))
def busy_passes(t, value):
    t.open({"*": [problem(*value)] * 2})
    t.gives(is_revision, "put", **PUT)
    t.count("put", 3)


@case("a problem {} without end is Busy", 2, each=((429, "rate-limited"), (503, "draining")))
def busy_stays(t, value):
    last = problem(*value, headers={"Retry-After": NEVER})
    t.open({"put": [problem(*value), last], "get": [problem(*value), last]})
    t.fails("Busy", "put", **PUT)
    t.fails("Busy", "get", name="a")


@case("the problem {} is that error, at once", 0, each=[(each[1], each) for each in PROBLEMS])
def problems(t, value):
    status, kind, error = value[1]
    t.open({"*": [problem(status, kind), ...]})
    t.fails(error, "put", **PUT)
    t.count("put", 1)


@case("outcome-unknown is repeated with its key", 3)
def outcome_unknown(t):
    t.open({"increment": [problem(500, "outcome-unknown", made=True)] * 2})
    t.gives(1, "increment", name="n", by=1)
    t.one_key("increment", 3)


@case("outcome-unknown, then a 504 without end, is OutcomeUnknown", 3)
def outcome_stays_unknown(t):
    t.open({"put": [problem(500, "outcome-unknown")] * 2 + [page(504, Retry_After=NEVER)]})
    t.fails("OutcomeUnknown", "put", **PUT)
    t.one_key("put", 3)


@case("answer-not-kept says that the write may have been made", 3)
def answer_not_kept(t):
    t.open({"put": [cut(), problem(500, "answer-not-kept"), ...]})
    t.fails("OutcomeUnknown", "put", **PUT)
    t.count("put", 2)


@case("a lost answer, then {}: OutcomeUnknown", 3, each=(
    ("a page", page()), ("a redirect", answered(Answer(302, {"Location": "/"}))),
    ("a foreign 404", page(404))))
def doubt_then_foreign(t, value):
    t.open({"increment": [cut(), value[1], ...]})
    t.fails("OutcomeUnknown", "increment", name="n", by=1)


@case("a lost answer, then {}: OutcomeUnknown", 3, each=(
    ("401", problem(401, "unauthorized")), ("403", problem(403, "forbidden"))))
def doubt_then_refused(t, value):
    t.open({"increment": [cut(), value[1], ...]})
    t.fails("OutcomeUnknown", "increment", name="n", by=1)
    t.count("increment", 2)


@case("{}: a 504, then JSON of something else: OutcomeUnknown", 3, each=WRITES)
def doubt_then_json(t, call):
    arguments, kind = CALLS[call]
    login = page(body=b'{"login": "please"}', content_type="application/json")
    t.open({kind: [page(504, made=True), login, ...]})
    t.store.put("jobs/1", 1)
    t.fails("OutcomeUnknown", call, **arguments)
    t.one_key(kind)


@case("a lost answer, then Busy without end: OutcomeUnknown", 3)
def doubt_then_busy(t):
    t.open({"increment": [cut(), problem(503, "draining", headers={"Retry-After": NEVER})]})
    t.fails("OutcomeUnknown", "increment", name="n", by=1)


@case("a lost answer, then a problem with the same key: that problem", 3)
def doubt_then_problem(t):
    t.open({"put": [cut(made=False), problem(412, "precondition-failed")]})
    t.fails("PreconditionFailed", "put", if_absent=True, **PUT)
    t.one_key("put")


@case("no room for keys: a write is sent without one, and not repeated in doubt", 3)
def keyless(t):
    full = problem(503, "too-many-idempotency-keys")
    t.open({"increment": [full, right, cut()], "put": [full, right]})
    t.gives(1, "increment", name="n", by=1)
    found = [request.key is None for request in t.service.of("increment")]
    if found != [False, True]:
        raise AssertionError(f"keys are missing: {found}")
    if t.client != "command-line":
        # The next write has no key either, so it is not repeated.
        t.fails("OutcomeUnknown", "increment", name="n", by=1)
        t.count("increment", 3)


@case("{}: no room for keys, then a 504: OutcomeUnknown", 3, each=WRITES)
def keyless_doubt(t, call):
    arguments, kind = CALLS[call]
    t.open({kind: [problem(503, "too-many-idempotency-keys"), page(504, made=True)]})
    t.store.put("jobs/1", 1)
    said = t.fails("OutcomeUnknown", call, **arguments)
    keys = [request.key is None for request in t.service.of(kind)]
    if keys != [False, True]:
        raise AssertionError(f"keys are missing: {keys}")
    if "--idempotency-key" in said:
        raise AssertionError(f"a key that was not kept is said to help: {said!r}")


@case("{}: a page with 200 is no success", 4, each=CALLS)
def sign_in(t, call):
    arguments, kind = CALLS[call]
    t.open({"*": [page(), ...]})
    t.fails("NotLatchkey", call, **arguments)
    t.count("*", 1)


@case("a redirect {} is not followed", 4, each=(301, 302, 303, 307, 308))
def redirects(t, status):
    t.open({"*": [redirect(status, t.elsewhere.url), ...]}, token="secret-of-the-case")
    for call in ("put", "get", "delete", "increment"):
        t.fails("NotLatchkey", call, **CALLS[call][0])
        t.count(CALLS[call][1], 1)


@case("a {} is not Latchkey's", 4, each=(
    ("204 without a tag", "put", page(204, body=b"")),
    ("204 without a tag, of touch", "touch", page(204, body=b"")),
    ("200 without a body", "increment", page(200, body=b"")),
    ("404 of a proxy", "get", page(404)), ("404 of a proxy, of a deletion", "delete", page(404)),
    ("403 of a proxy", "put", page(403)),
    ("value of another type", "get", edited(Content_Type="text/plain")),
    ("value without a tag", "get", edited(without=("ETag",))),
    ("tag that is no number", "put", edited(ETag='"x"')),
    ("problem of another origin", "put", answered(Answer(
        412, {"Content-Type": "application/problem+json"},
        b'{"type":"https://proxy.example/blocked","status":412}'))),
    ("problem that is cut off", "put", answered(Answer(
        412, {"Content-Type": "application/problem+json"}, b'{"type":"/problems/prec'))),
    ("half of a JSON text", "get", edited(body=b'{"x": [1,')),
    ("text that is not UTF-8", "get", edited(body=b'"\xff\xfe"')),
    ("NaN", "get", edited(body=b'{"x": NaN}')),
    ("list in place of a transaction", "transaction", edited(body=b"[1]"))))
@case("a {} is not Latchkey's", 4, only=PACKAGES, each=(
    ("transaction without results", "transaction", edited(body=b'{"succeeded": true}')),
    ("count that is a text", "count", edited(body=b'{"count": "many"}')),
    ("sum that is a text", "increment", edited(body=b'"5"'))))
def foreign(t, value):
    _, call, reaction = value
    arguments, kind = CALLS[call]
    t.open({kind: [reaction, ...]})
    t.store.put("a", 1)
    t.fails("NotLatchkey", call, **arguments)
    t.count(kind, 1)


@case("an integer of 5000 digits is a value or an error of the client", 11)
def digits(t):
    number = int("9" * 5000)
    t.open({"get": [edited(body=b"9" * 5000)]})
    t.store.put("a", 1)
    pending = t.start("get", name="a")
    try:
        found = pending.result()["value"]
    except Exception as error:  # noqa: BLE001
        if getattr(error, "error", "") not in ("NotLatchkey", "Unreachable", "Problem"):
            raise
    else:
        if found not in (number, str(number)):
            raise AssertionError("it is rounded")


@case("infinity is refused before it is sent", 11, only=PACKAGES)
def infinity(t):
    t.open()
    pending = t.start("put", name="a", value=float("inf"))
    if getattr(outcome(pending), "error", None) is None:
        raise AssertionError("it was taken")
    t.count("put", 0)


@case("an integer above 2**53 is exact or refused", 11)
def large_integer(t):
    t.open()
    large = 2**53 + 1
    if getattr(outcome(t.start("put", name="a", value=large)), "error", None) is None \
            and t.store.value("a") != large:
        raise AssertionError(f"{t.store.value('a')} is kept")
    t.store.put("n", large)
    t.gives(lambda found: found["value"] in (large, str(large)), "get", name="n")
    t.gives(lambda found: found in (large + 1, str(large + 1)), "increment", name="n", by=1)
    t.gives(lambda found: found["n"] in (large + 1, str(large + 1)), "get_many", names=["n"])


def outcome(pending):
    """The result of the call, or its error."""
    try:
        return pending.result()
    except Exception as error:  # noqa: BLE001
        return error
