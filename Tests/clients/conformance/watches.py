"""Cases: streams of events."""

from cases import PACKAGES, case
from driving import await_true
from faults import is_denied, stranger
from process import expect
from service import EARLY_SECONDS, cut, gated, page, problem, stream

FIRST = 'event: put\nid: 7.1\ndata: {"name":"a","revision":7,"created":7,"value":1}\n\n'
SECOND = 'event: put\nid: 7\ndata: {"name":"b","revision":7,"created":7,"value":"two"}\n\n'


def watch(t, **arguments):
    """A watch, after the service has got it."""
    count = len(t.service.of("watch"))
    found = t.call("watch", **arguments)["watch"]
    return found, t.start("next", watch=found), t.seen("watch", count + 1)


def values(t, found, count, pending=None):
    """The values of the next events, in their order."""
    events = [(pending if number == 0 and pending else t.start("next", watch=found)).result()
              for number in range(count)]
    return [(each["type"], each.get("name") or None, each.get("value")) for each in events]


def write(t, count):
    for number in range(count):
        t.store.put("a", number)


@case("events come in their order, with their ids", 0)
def plain(t):
    t.open()
    revision = t.store.put("a", 1)
    found, pending, _ = watch(t, prefixes=["a"], initial=True)
    expect("the state", values(t, found, 2, pending),
           [("put", "a", 1), ("ready", None, None)])
    later = t.store.put("a", 2)
    event = t.call("next", watch=found)
    expect("an event", (event["id"], event["revision"], event["value"]), (str(later), later, 2))
    t.store.delete("a")
    expect("a deletion", t.call("next", watch=found)["type"], "delete")
    t.call("close_watch", watch=found)
    if later <= revision:
        raise AssertionError("revisions go back")


@case("a stream that is cut {} goes on behind the last event", 0, each=(
    ("behind an event", stream(events=3)), ("within an event", stream(events=2, within=25)),
    ("within the name of a field", stream(events=1, within=3)),
    ("before an empty line", stream(events=2, within=-1))))
def cut_streams(t, value):
    t.open({"watch": [value[1]] * 3})
    after = t.store.put("a", "before")
    found = t.call("watch", prefixes=["a"], after=after)["watch"]
    write(t, 9)
    expect("the events", values(t, found, 9), [("put", "a", number) for number in range(9)])
    expect("the streams", len({request.connection for request in t.service.of("watch")}) > 2, True)
    if any("last-event-id" not in request.headers and "after" not in request.query
           for request in t.service.of("watch")):
        raise AssertionError("a stream began at another place")


@case("events with {}", 15, each=(
    ("CRLF", (FIRST + SECOND).replace("\n", "\r\n")), ("CR", (FIRST + SECOND).replace("\n", "\r")),
    ("a BOM", "\ufeff" + FIRST + SECOND), ("comments", ": a\n\n:b\n" + FIRST + ":\n\n" + SECOND),
    ("unknown fields", "else: 1\nelse\n" + FIRST + SECOND),
    ("unknown events", FIRST + "event: else\ndata: x\n\n" + SECOND),
    ("no space behind a colon", (FIRST + SECOND).replace(": {", ":{").replace(": put", ":put")),
    ("data of two lines", FIRST.replace(',"value"', ',\ndata: "value"') + SECOND)))
def spelled(t, value):
    t.open({"watch": [stream(text=value[1].encode())]})
    found = t.call("watch", after=5)["watch"]
    first, second = t.call("next", watch=found), t.call("next", watch=found)
    expect("the first", (first["name"], first["value"], first["id"]), ("a", 1, "7.1"))
    expect("the second", (second["name"], second["value"], second["id"]), ("b", "two", "7"))


@case("a stream that is cut within a transaction goes on within it", 0)
def dotted(t):
    t.open({"watch": [stream(text=FIRST.encode(), events=0), stream(text=SECOND.encode())]})
    found = t.call("watch", after=5)["watch"]
    expect("both", values(t, found, 2), [("put", "a", 1), ("put", "b", "two")])
    expect("the place", t.seen("watch", 2).headers.get("last-event-id"), "7.1")


@case("`retry` is kept", 15)
def retry(t):
    t.open({"watch": [stream(text=b"retry: 700\n" + FIRST.encode(), events=0)]})
    found = t.call("watch", after=5)["watch"]
    t.call("next", watch=found)
    t.start("next", watch=found)
    first, second = t.seen("watch"), t.seen("watch", 2)
    if second.seconds - first.seconds < 0.7 - EARLY_SECONDS:
        raise AssertionError("it connected again before that")


@case("Retry-After of a refused watch is kept", 15)
def refused(t):
    t.open({"watch": [problem(503, "draining", headers={"Retry-After": "1"})]})
    found = t.call("watch")["watch"]
    t.start("next", watch=found)
    first, second = t.seen("watch"), t.seen("watch", 2)
    if second.seconds - first.seconds < 1 - EARLY_SECONDS:
        raise AssertionError("it connected again before that")


@case("a watch goes on after {}", 2, each=(
    ("502", page(502)), ("429 of a proxy", page(429)), ("504", page(504)),
    ("a cut", cut(made=False)),
    ("503 of the service", problem(503, "draining")), ("503", page(503)), ("408", page(408))))
def passes(t, value):
    t.open({"watch": [value[1], value[1]]})
    after = t.store.put("a", 0)
    found = t.call("watch", after=after)["watch"]
    t.store.put("a", 1)
    expect("the event", values(t, found, 1), [("put", "a", 1)])


@case("a watch ends at once with {}", 4, each=(
    ("a page in place of a stream", page(), "NotLatchkey"),
    ("a 404 page", page(404), "NotLatchkey"),
    ("a redirect", "elsewhere", "NotLatchkey"), ("JSON", page(
        200, body=b"{}", content_type="application/json"), "NotLatchkey"),
    ("401", problem(401, "unauthorized"), "Unauthorized"),
    ("403", problem(403, "forbidden"), "Forbidden")))
def ends(t, value):
    _, reaction, error = value
    if reaction == "elsewhere":
        reaction = page(302, Location=t.elsewhere.url)
    t.open({"watch": [reaction, ...]})
    t.fails(error, "next", watch=t.call("watch")["watch"])
    t.count("watch", 1)


@case("a watch of {} ends at once", 10, each=("no such name", "an unknown certificate"))
def wrong(t, what):
    t.service = t.serve(secure=stranger() if what != "no such name" else None)
    t.open(urls=[t.service.url if what != "no such name" else "http://nonexistent.invalid:8080"])
    if what == "no such name" and not is_denied():
        return  # The resolver gives another error: it is repeated without end.
    t.fails("Unreachable", "next", watch=t.call("watch")["watch"])


@case("events that are none of Latchkey's: {}", 15, each=(
    ("no JSON", b"event: put\ndata: {\n\n"), ("no text", b"event: put\ndata: \xff\xfe\n\n"),
    ("a list", b"event: put\ndata: [1]\n\n"), ("NaN", FIRST.replace(":1}", ":NaN}").encode())))
def no_events(t, value):
    t.open({"watch": [stream(text=value[1]), ...]})
    t.fails("NotLatchkey", "next", watch=t.call("watch", after=5)["watch"])


@case("an event with an integer of 5000 digits does not end the reader", 11)
def digits(t):
    text = FIRST.replace(":1}", ":" + "9" * 5000 + "}") + SECOND
    t.open({"watch": [stream(text=text.encode())]})
    found = t.call("watch", after=5)["watch"]
    first = t.start("next", watch=found)
    try:
        value = first.result()["value"]
    except Exception as error:  # noqa: BLE001
        if getattr(error, "error", "") != "NotLatchkey":
            raise
    else:
        expect("the value", str(value), "9" * 5000)
        expect("the next", values(t, found, 1), [("put", "b", "two")])


@case("a history that is lost is a gap, and then the state", 0)
def gap(t):
    t.open({"watch": [stream(events=1), gated("new life")]})
    after = t.store.put("a", 1)
    found = t.call("watch", after=after)["watch"]
    t.store.put("a", 2)
    first = t.call("next", watch=found)
    t.store.end()
    t.store.put("b", 3)
    t.let("new life")
    expect("the first", first["value"], 2)
    expect("the rest", values(t, found, 3),
           [("gap", None, None), ("put", "b", 3), ("ready", None, None)])


@case("a stream that is cut within the first state begins with a gap, and once more", 0)
def half_state(t):
    t.open({"watch": [stream(events=1), stream(events=2, within=9)]})
    t.store.put("a", 1), t.store.put("b", 2), t.store.put("c", 3)
    found = t.call("watch", initial=True)["watch"]
    seen = []
    while seen[-1:] != [("ready", None, None)]:
        seen += values(t, found, 1)
    last = len(seen) - 1 - seen[::-1].index(("gap", None, None))
    expect("the state after the last gap", seen[last + 1:],
           [("put", "a", 1), ("put", "b", 2), ("put", "c", 3), ("ready", None, None)])


@case("a watch that another one replaces ends, and is not repeated", 0, only=PACKAGES)
def replaced(t):
    t.open({"watch": [stream(text=b"event: replaced\ndata: {}\n\n", events=0)]})
    found = t.call("watch", observer="me")["watch"]
    t.fails("Replaced", "next", watch=found)
    t.count("watch", 1)


@case("watches of one client share a stream: {}", 12, each=("after a revision", "of the state"),
      only=PACKAGES)
def shared(t, how):
    t.open()
    begin = {"after": t.store.put("x", 0)} if how == "after a revision" else {"initial": True}
    watches = [t.call("watch", prefixes=[f"{number}/"], **begin)["watch"] for number in range(8)]
    if how == "of the state":
        for each in watches:
            expect("the state", values(t, each, 1), [("ready", None, None)])
    pending = [t.start("next", watch=each) for each in watches]
    for number, each in enumerate(pending):
        t.store.put(f"{number}/x", number)
        expect("its own event", each.result()["value"], number)

    def count():
        return sum(not request.is_over for request in t.service.of("watch"))

    await_true(lambda: f"one stream, not {count()}", lambda: count() == 1)
    for each in watches[:7]:
        t.call("close_watch", watch=each)
    t.store.put("7/y", "last")
    expect("the last one goes on", values(t, watches[7], 1), [("put", "7/y", "last")])


@case("a watch with an observer has a stream of its own", 12, only=PACKAGES)
def observed(t):
    t.open()
    first, _, _ = watch(t, prefixes=["a"])
    second, _, request = watch(t, prefixes=["b"], observer="me")
    expect("its observer", request.query.get("observer"), ["me"])
    expect("what it asks for", request.query.get("prefix"), ["b"])
    expect("two watches", first != second, True)


@case("a watch that is {} ends, and its connection is closed", 15, each=("closed",))
@case("a watch that is {} ends, and its connection is closed", 15, each=("cancelled",),
      only=PACKAGES)
def closes(t, how):
    t.open()
    found, pending, request = watch(t, prefixes=["a"])
    if how == "closed":
        t.call("close_watch", watch=found)
        await_true("the call ends", pending.is_over)
        t.over(request)
    else:
        t.cancel(pending)
        t.call("close_watch", watch=found)
        t.over(request)


@case("a client that is closed ends its watches", 15)
def closed_client(t):
    t.open()
    _, pending, request = watch(t, prefixes=["a"])
    t.call("close")
    await_true("the call ends", pending.is_over)
    t.over(request)
