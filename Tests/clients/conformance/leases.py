"""Cases: locks, claims, and when they are given back."""

import socket

from cases import PACKAGES, case
from driving import Driver
from faults import shrinking
from process import expect
from service import (
    NEVER, cut, drip, edited, gated, hang, late, once, page, problem, redirect, right,
)
from store import ABSENT

LOCK = {"name": "lock", "ttl": 60}
CLAIM = {"jobs": "jobs/", "claims": "claims/", "ttl": 60, "wait": 60}
WAITS = {"acquire": LOCK | {"wait": 60}, "claim": CLAIM, "pop": {"prefix": "jobs/", "wait": 60},
         "wait": {"name": "none", "after": 0, "wait": 60},
         "transaction": {"then": [], "when": [{"name": "none", "exists": True}], "wait": 60}}
FULL = problem(503, "too-many-idempotency-keys")
TAKEN = (412, "precondition-failed")


def tagged(t, requests, token):
    found = [request.headers.get("if-match") for request in requests]
    if set(found) != {f'"{token}"'}:
        raise AssertionError(f"{found} instead of {token}")


@case("a lock that is free is given, and released with its token", 1)
def plain(t):
    t.open()
    found = t.gives(lambda found: found["lease"] and found["token"], "acquire", **LOCK)
    if t.store.value("lock") == ABSENT:
        raise AssertionError("it is not held")
    t.gives(True, "release", lease=found["lease"])
    t.becomes("lock", ABSENT)
    tagged(t, t.service.of("delete"), found["token"])


@case("a lock that is held for the whole wait is not given", 1)
def held(t):
    t.open()
    t.store.put("lock", "another")
    t.at_last("NotAcquired", "acquire", **LOCK, wait=0)
    t.at_last("NotAcquired", "acquire", **LOCK, wait=1)


@case("no job within the wait", 1, only=PACKAGES)
def no_job(t):
    t.open()
    t.gives(None, "claim", **CLAIM | {"wait": 0})


def granted_late(t, call, name):
    """The grant comes after more than its time to live."""
    t.open({"transaction": [late(15)], "touch": [gated("renewed")]})
    t.store.put("jobs/1", "job")
    pending = t.start(call, **WAITS[call] | {"ttl": 15})
    renewal = t.seen("touch")
    if t.client != "command-line":
        # An answer that was sent before this one also arrives before it.
        t.call("find", name="else")
    if pending.is_over():
        raise AssertionError("it was given before its renewal was answered")
    t.let("renewed")
    found = pending.result()
    tagged(t, t.service.of("touch"), renewal.headers["if-match"].strip('"'))
    if "token" in found and f'"{found["token"]}"' != renewal.headers["if-match"]:
        raise AssertionError(f"{found} is not what was renewed")
    if t.store.value(name) == ABSENT or t.service.of("delete"):
        raise AssertionError("it was given back")
    return found["lease"]


@case("a lock that is granted after longer than its ttl is renewed at once, and given", 1)
def late_lock(t):
    t.gives(True, "release", lease=granted_late(t, "acquire", "lock"))
    t.becomes("lock", ABSENT)


@case("a claim that is granted after longer than its ttl is renewed at once, and given", 1,
      only=PACKAGES)
def late_claim(t):
    t.call("finish", lease=granted_late(t, "claim", "claims/1"))
    t.becomes("jobs/1", ABSENT)
    t.becomes("claims/1", ABSENT)


@case("acquire: a late grant whose renewal {} is given back", 1, each=(
    ("is refused", problem(*TAKEN)), ("is not answered", hang(made=False)),
    ("drips", drip(made=False)), ("is a page", page()), ("is redirected", "elsewhere")))
def refused_renewal(t, value):
    reaction = redirect(307, t.elsewhere.url) if value[1] == "elsewhere" else value[1]
    t.open({"transaction": [late(3)], "touch": [reaction, ...]})
    pending = t.start("acquire", name="lock", ttl=9, wait=60)
    first = t.seen("touch")
    deletion = t.seen("delete")
    tagged(t, [first, deletion], first.headers["if-match"].strip('"'))
    # The call goes on for its whole wait; then it has the lock, or not.
    try:
        found = pending.result()
        if f'"{found["token"]}"' == first.headers["if-match"]:
            raise AssertionError("it was given all the same")
    except Exception as error:  # noqa: BLE001
        if getattr(error, "error", "") not in ("NotAcquired", "Unreachable"):
            raise


@case("claim: a late grant whose renewal is refused is given back, and the job comes again", 1,
      only=PACKAGES)
def refused_claim(t):
    t.open({"transaction": [late(3)], "touch": [problem(*TAKEN)]})
    t.store.put("jobs/1", "job")
    found = t.gives(lambda found: found["value"] == "job", "claim", **CLAIM | {"ttl": 9})
    t.seen("transaction", 2)
    t.call("abandon", lease=found["lease"])
    t.becomes("claims/1", ABSENT)


@case("a job whose end has a lost answer is finished once", 3, only=PACKAGES)
def finished(t):
    t.open({"transaction": [right, cut(), page(502)]})
    t.store.put("jobs/1", "job")
    lease = t.call("claim", **CLAIM)["lease"]
    t.call("finish", lease=lease, steps=[{"increment": "done"}])
    expect("what it did", [t.store.value(name) for name in ("jobs/1", "claims/1", "done")],
           [ABSENT, ABSENT, 1])


@case("a job whose claim was lost is not finished", 6, only=PACKAGES)
def lost_job(t):
    t.open()
    t.store.put("jobs/1", "job")
    lease = t.call("claim", **CLAIM)["lease"]
    t.store.put("claims/1", "another")
    t.fails("LeaseLost", "finish", lease=lease, steps=[{"increment": "done"}])
    expect("what is left", [t.store.value(name) for name in ("jobs/1", "claims/1", "done")],
           ["job", "another", ABSENT])


@case("acquire ends with its wait: {}", 7, each=(
    ("no answer", [hang(made=False), ...]), ("drips", [drip(made=False), ...]),
    ("502", [page(502), ...])))
def acquire_ends(t, value):
    t.open({"transaction": value[1]}, short=True)
    t.store.put("lock", "another")
    t.fails("NotAcquired|Unreachable|OutcomeUnknown", "acquire", **LOCK, wait=2)
    shrinking(t, "transaction", 0)
    for request in t.service.of("transaction"):
        t.over(request)


@case("acquire: what is cut while it waits asks for what is left", 7)
def acquire_cut(t):
    t.open({"transaction": [cut(made=False)] * 2})
    t.store.put("lock", "another")
    pending = t.start("acquire", **LOCK, wait=60)
    t.seen("transaction", 3)
    shrinking(t, "transaction", 3)
    t.store.delete("lock")
    t.gives(True, "release", lease=pending.result()["lease"])


@case("`lost` is set although the renewal {}", 6, each=(
    ("hangs", hang(made=False)), ("drips", drip(made=False)), ("drips in its head", drip(
        made=False, head=True))))
def lost_by_clock(t, value):
    t.open({"touch": [once("held", value[1]), ...]})
    found = t.call("acquire", **LOCK | {"ttl": 3})
    t.let("held")
    t.gives(True, "lost", lease=found["lease"])


@case("a renewal that {} is none: `lost` is set", 4, each=(
    ("is a page", page()), ("is a page with 204", page(204, body=b"")),
    ("is redirected", "elsewhere"), ("has another tag", edited(ETag='"5"')),
    ("cannot be decoded", page(200, body=b"\xff\x00", Content_Encoding="gzip"))))
def no_renewal(t, value):
    reaction = redirect(307, t.elsewhere.url) if value[1] == "elsewhere" else value[1]
    t.open({"touch": [once("held", reaction), ...]})
    found = t.call("acquire", **LOCK | {"ttl": 3})
    t.let("held")
    t.gives(True, "lost", lease=found["lease"])


@case("a renewal that finds the lock gone sets `lost` at once", 6)
def gone(t):
    t.open()
    found = t.call("acquire", **LOCK | {"ttl": 9})
    t.store.put("lock", "another")
    before = len(t.service.of("touch"))
    t.gives(True, "lost", lease=found["lease"])
    if len(t.service.of("touch")) > before + 1:
        raise AssertionError("it was renewed once more")
    t.gives(False, "release", lease=found["lease"])
    t.becomes("lock", "another")


@case("a renewal goes on after {}", 6, each=(("502", page(502)), ("a cut", cut())))
def renewal_goes_on(t, value):
    t.open({"touch": [once("held", value[1], value[1], gated("go")), ...]})
    found = t.call("acquire", **LOCK | {"ttl": 18})
    count = len(t.service.of("touch"))
    t.let("held")
    t.seen("touch", count + 3)
    t.let("go")
    t.gives(True, "release", lease=found["lease"])


@case("release twice is allowed", 15)
def twice(t):
    t.open()
    lease = t.call("acquire", **LOCK)["lease"]
    t.gives(True, "release", lease=lease)
    t.call("release", lease=lease)
    t.becomes("lock", ABSENT)


@case("a release whose answer is lost is repeated", 3)
def lost_release(t):
    t.open({"delete": [cut(), page(502)]})
    lease = t.call("acquire", **LOCK)["lease"]
    t.gives(True, "release", lease=lease)
    t.one_key("delete", 3)


@case("no room for keys: a lock is got and released without one", 3)
def keyless(t):
    def react(exchange):
        return (FULL if exchange.request.key else right)(exchange)

    t.open({"transaction": [react, ...], "delete": [react, ...]})
    t.gives(True, "release", lease=t.call("acquire", **LOCK, wait=60)["lease"])
    t.becomes("lock", ABSENT)
    for kind in ("transaction", "delete"):
        if len(t.service.of(kind)) > 2:
            raise AssertionError(f"{len(t.service.of(kind))} requests of the kind {kind}")


@case("acquire: Retry-After of {} is kept", 2, each=(
    ("the service", problem(503, "draining", headers={"Retry-After": NEVER})),
    ("the service, with 429", problem(429, "rate-limited", headers={"Retry-After": NEVER})),
    ("a proxy, with 429", page(429, Retry_After=NEVER))))
def acquire_later(t, value):
    t.open({"transaction": [value[1], ...]})
    t.fails("Busy|Unreachable|NotAcquired", "acquire", **LOCK, wait=2)
    # No write is in doubt, so the client gives nothing back either.
    t.count("transaction", 1)
    t.count("delete", 0)


@case("a lease counts nine tenths of its ttl", 6, only=PACKAGES)
def remaining(t):
    t.open()
    lease = t.call("acquire", **LOCK)["lease"]
    t.gives(lambda found: 0 < found <= 54, "remaining", lease=lease)
    t.call("release", lease=lease)
    t.gives(0, "remaining", lease=lease)


@case("a client that is closed sets `lost`", 6, only=PACKAGES)
def closed(t):
    t.open()
    lease = t.call("acquire", **LOCK)["lease"]
    pending = t.start("lost", lease=lease)
    t.call("close")
    if pending.result() is not True:
        raise AssertionError("it is not set")


@case("cancel: {} that waits ends, and gets nothing later", 8, each=("claim",), only=PACKAGES)
@case("cancel: {} that waits ends, and gets nothing later", 8, each=("acquire", "pop"))
def cancelled(t, call):
    t.open()
    t.store.put("lock", "another")
    pending = t.start(call, **WAITS[call])
    request = t.seen("transaction")
    t.cancel(pending)
    t.over(request)
    t.store.put("jobs/1", "job"), t.store.delete("lock")
    # To give it back, the client may ask for it once more.
    t.becomes("lock", ABSENT), t.becomes("claims/1", ABSENT), t.becomes("jobs/1", "job")


@case("cancel: what {} got is given back", 8, each=("claim",), only=PACKAGES)
@case("cancel: what {} got is given back", 8, each=("acquire", "pop"))
def given_back(t, call):
    t.open({"transaction": [hang()]})
    t.store.put("jobs/1", "job")
    pending = t.start(call, **WAITS[call])
    t.seen("transaction")
    name, value = {"acquire": ("lock", ABSENT), "claim": ("claims/1", ABSENT),
                   "pop": ("jobs/1", "job")}[call]
    t.changes(name, value)
    t.cancel(pending)
    again = t.seen("transaction", 2)
    if again.number("wait"):
        raise AssertionError("it waits once more")
    expect("its key", again.key, t.service.of("transaction")[0].key)
    t.becomes(name, value)
    t.becomes("jobs/1", "job")


@case("cancel: {} that had no connection gives nothing back", 8, each=("claim",), only=PACKAGES)
@case("cancel: {} that had no connection gives nothing back", 8, each=("acquire", "pop"))
def not_sent(t, call):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        t.open(urls=["http://127.0.0.1:{}".format(listener.getsockname()[1])], patience=2)
        pending = t.start(call, **WAITS[call])
        # After this time the call still has no connection.
        t.fails("Unreachable", "get", name="a")
        t.cancel(pending)
        # A late attempt to give something back would reach this listener.
        listener.listen()
        t.call("close")
        listener.setblocking(False)
        try:
            listener.accept()
        except BlockingIOError:
            return
    raise AssertionError("it gives back what it cannot have got")


@case("cancel: {} that was refused for now gives nothing back", 8, each=("claim",), only=PACKAGES)
@case("cancel: {} that was refused for now gives nothing back", 8, each=("acquire", "pop"))
def refused_for_now(t, call):
    # The same for an answer that is not read yet.
    for _ in range(5):
        t.open({"transaction": [problem(503, "draining", headers={"Retry-After": "30"})]})
        pending = t.start(call, **WAITS[call])
        t.over(t.seen("transaction"))
        t.call("find", name="none")
        t.cancel(pending)
        t.call("close")
        if len(t.service.of("transaction")) == 1:
            return
    t.count("transaction", 1)


@case("cancel: {} ends", 8, each=("wait",), only=PACKAGES)
@case("cancel: {} ends", 8, each=("transaction",))
def other_waits(t, call):
    t.open()
    pending = t.start(call, **WAITS[call])
    request = t.seen("*")
    t.cancel(pending)
    t.over(request)


@case("cancel: a call that repeats ends", 8)
def repeats_end(t):
    t.open({"*": [page(502), ...]})
    pending = t.start("get", name="a")
    t.seen("get", 2)
    t.cancel(pending)


@case("closing a client ends its waits, and gives back", 8, only=PACKAGES)
def close_gives_back(t):
    t.open({"transaction": [hang()]})
    pending = t.start("acquire", **LOCK, wait=60)
    t.seen("transaction")
    t.changes("lock", ABSENT)
    t.call("close")
    t.fails("Cancelled|Closed|Unreachable|OutcomeUnknown|NotAcquired", pending)
    t.becomes("lock", ABSENT)


@case("a client after a fork has connections of its own, and no leases", 5,
      only=("python",))
def forked(t):
    t.open()
    t.store.put("a", 1)
    lease = t.call("acquire", **LOCK)["lease"]
    t.call("get", name="a")
    before = {request.connection for request in t.service.of("get")}
    child = Driver(listening=t.call("fork")["socket"])
    t.gives(lambda found: found["value"] == 1, "get", name="a")
    child.start("get", {"name": "a"}).result()
    if len({request.connection for request in t.service.of("get")} - before) == 0:
        raise AssertionError("the child has the connection of its parent")
    for call in ("lost", "release"):
        child.start(call, {"lease": lease}).result()
    child.end()
    t.count("delete", 0)
    t.gives(True, "release", lease=lease)
