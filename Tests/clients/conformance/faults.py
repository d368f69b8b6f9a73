"""Cases: connections that fail, limits, addresses and tokens."""

import functools
import pathlib
import socket
import ssl
import subprocess
import tempfile

from calls import PUT, is_revision
from cases import PACKAGES, case
from driving import TOKEN, await_true
from process import expect
from service import NEVER, cut, drip, hang, page, problem

# A port that is bound but does not listen: no other program gets it.
CLOSED = socket.socket()
CLOSED.bind(("127.0.0.1", 0))
NOWHERE = f"http://127.0.0.1:{CLOSED.getsockname()[1]}"
FOLLOWER = (421, "not-leader")


@functools.lru_cache
def stranger():
    """A TLS context with a certificate that no client knows."""
    with tempfile.TemporaryDirectory() as folder:
        key, chain = pathlib.Path(folder) / "key", pathlib.Path(folder) / "chain"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-keyout", key, "-out", chain, "-days", "2", "-subj", "/CN=stranger"],
            check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        return context


@case("{}: an answer that is cut off is asked for again, and the write is made once", 3, each=(
    ("before its head", cut()), ("with a reset", cut(reset=True)), ("within its head", cut(30)),
    ("within its body", cut(-1))))
def cut_off(t, value):
    t.open({"*": [value[1]] * 2})
    t.gives(5, "increment", name="n", by=5)
    t.one_key("increment")


@case("an answer that drips without end in its {}: the call ends", 7, each=("body", "head"))
def dripping(t, part):
    ends_in_doubt(t, drip(head=part == "head"))


@case("no answer at all: a read is Unreachable, a write OutcomeUnknown", 7)
def hanging(t):
    ends_in_doubt(t, hang())


def ends_in_doubt(t, reaction):
    """The call ends although the answer does not, and leaves no connection."""
    t.open({"*": [reaction, ...]}, short=True)
    t.store.put("a", 1)
    t.fails("Unreachable", "get", name="a")
    t.doubtful("put", **PUT)
    for request in t.service.of("*"):
        t.over(request)


@case("an attempt ends with its timeout, and the next one is answered", 7)
def second_attempt(t):
    t.open({"increment": [hang()]}, timeout=2)
    t.gives(1, "increment", name="n", by=1)
    t.one_key("increment")


def is_denied(name="nonexistent.invalid"):
    """Whether the resolver of this machine says that there is no such name."""
    try:
        socket.getaddrinfo(name, 80)
    except socket.gaierror as error:
        return error.errno == socket.EAI_NONAME
    return False


def unanswered(*calls):
    return [(f"a {call} whose answer {'drips' if reaction is drip else 'never comes'}", call,
             reaction) for call in calls for reaction in (drip, hang)]


@case("{}: it ends, and asks for what is left", 7, each=unanswered("wait"), only=PACKAGES)
@case("{}: it ends, and asks for what is left", 7, each=unanswered("transaction", "pop"))
def waits_end(t, value):
    _, call, reaction = value
    arguments = {"wait": {"name": "none", "after": 0, "wait": 1}, "pop": {
        "prefix": "none/", "wait": 1}, "transaction": {
            "then": [{"put": "a", "value": 1}], "wait": 1,
            "when": [{"name": "none", "exists": True}]}}[call]
    t.open({"*": [reaction(made=False), ...]}, short=True)
    if call == "wait":
        t.fails("Unreachable", call, **arguments)
    else:
        t.doubtful(call, **arguments)
    shrinking(t, "*", 0)
    for request in t.service.of("*"):
        t.over(request)


def shrinking(t, kind, least=1):
    """Each request waits for less than the one before, or not at all."""
    waits = [request.number("wait") for request in t.service.of(kind)]
    if len(waits) < least or any(map(lambda early, late: late >= early > 0, waits, waits[1:])):
        raise AssertionError(f"{kind} waits for {waits}")


@case("a {} that is cut while it waits asks for what is left", 7, each=("pop", "transaction"))
def cut_wait(t, call):
    t.open({"transaction": [cut(made=False)] * 2})
    pending = t.start("pop", prefix="jobs/", wait=60) if call == "pop" else t.start(
        call, then=[{"put": "a", "value": 1}], when=[{"name": "jobs/1", "exists": True}], wait=60)
    t.seen("transaction", 3)
    shrinking(t, "transaction", 3)
    t.store.put("jobs/1", 5)
    found = pending.result()
    if found["value"] != 5 if call == "pop" else not found["succeeded"]:
        raise AssertionError(f"it gives {found}")


@case("a long poll that ends early is asked again, for what is left", 7, only=PACKAGES)
def early_polls(t):
    t.open({"get": [problem(404, "not-found"), page(304, body=b"", ETag='"0"')]})
    pending = t.start("wait", name="none", after=0, wait=60)
    t.seen("get", 3)
    shrinking(t, "get", 3)
    revision = t.store.put("none", 1)
    expect("what it gives", pending.result(), {"value": 1, "revision": revision})


@case("a long poll gives the change", 7, only=PACKAGES)
def polls(t):
    t.open()
    after = t.store.put("a", 1)
    pending = t.start("wait", name="a", after=after, wait=60)
    t.seen("get")
    revision = t.store.put("a", 2)
    if pending.result() != {"value": 2, "revision": revision}:
        raise AssertionError("another value")


@case("no service: Unreachable", 10)
def no_service(t):
    t.open(urls=[NOWHERE], timeout=5, patience=2)
    t.at_last("Unreachable", "put", **PUT)
    t.fails("Unreachable", "get", name="a")


@case("a lost answer, then no service: OutcomeUnknown", 3)
def doubt_then_nothing(t):
    t.open({"put": [hang(), ...]}, short=True)
    pending = t.start("put", **PUT)
    await_true("a request, or the end", lambda: t.service.of("put") or pending.is_over())
    t.service.stop_listening()
    t.doubtful(pending)


@case("{}: Unreachable at once, with the reason", 10, each=(
    "no such name", "an unknown certificate", "TLS where there is none"))
def wrong_address(t, what):
    t.service = t.serve(secure=stranger() if what == "an unknown certificate" else None)
    url = {"no such name": "http://nonexistent.invalid:8080",
           "an unknown certificate": t.service.url}.get(
        what, t.service.url.replace("http:", "https:"))
    if what == "no such name" and not is_denied():
        # The resolver gives another error here: it may pass, so the call is repeated.
        t.open(urls=[url], patience=2)
        t.fails("Unreachable", "get", name="a")
        return
    t.open(urls=[url])
    said = t.fails("Unreachable", "put", **PUT).lower()
    t.fails("Unreachable", "get", name="a")
    reasons = {"no such name": ("resol", "name", "enotfound"),
               "an unknown certificate": ("certificate", "self-signed", "self signed")}
    if not any(reason in said for reason in reasons.get(what, ("ssl", "tls", "packet"))):
        raise AssertionError(f"no reason is in {said!r}")


@case("an address that is none is refused, by an error of the client: {}", 15,
      each=("ftp://127.0.0.1/", "http://", "127.0.0.1", "http://127.0.0.1:99999"), only=PACKAGES)
def no_address(t, url):
    try:
        t.open(urls=[url])
    except Exception as error:  # noqa: BLE001
        # The language's own error for a wrong argument is fine too; no request is sent.
        if getattr(error, "error", "") not in ("ValueError", "TypeError", "Unreachable"):
            raise
    else:
        t.fails("Unreachable", "put", **PUT)


@case("of several addresses, one without a connection is passed over", 16, only=PACKAGES)
def next_address(t):
    service = t.serve()
    t.open(urls=[NOWHERE, service.url])
    t.gives(is_revision, "put", **PUT)
    t.gives(lambda found: found["value"] == 1, "get", name="a")


@case("a write in doubt is repeated at the address that it went to", 16, only=PACKAGES)
def same_address(t):
    first, second = t.serve({"increment": [cut(), cut()]}), t.serve()
    t.open(urls=[first.url, second.url])
    t.gives(1, "increment", name="n", by=1)
    if len(first.of("increment")) != 3 or second.of("increment"):
        raise AssertionError("another address was asked")


@case("a follower's refusal goes to the leader, if it is one of the addresses", 16, only=PACKAGES)
def leader(t):
    service = t.serve()
    follower = t.serve({"*": [problem(*FOLLOWER, leader=service.url), ...]})
    t.open(urls=[follower.url, service.url], token=TOKEN)
    t.gives(is_revision, "put", **PUT)
    t.gives(3, "increment", name="n", by=3)
    if service.requests[0].headers.get("authorization") != f"Bearer {TOKEN}":
        raise AssertionError("the leader got no token")


@case("a leader that is none of the addresses is named, and not asked", 16)
def unknown_leader(t):
    t.open({"*": [problem(*FOLLOWER, leader=t.elsewhere.url), ...]}, token=TOKEN)
    said = t.fails("Problem|NotLeader", "put", **PUT)
    if t.elsewhere.url not in said:
        raise AssertionError(f"{said!r} does not name it")
    # `fetch` itself repeats a request that got 421, on another connection, as its standard says.
    t.count("put", 2 if t.client == "typescript" else 1)
    t.one_key("put", 1)


@case("white space at the end of a token is removed: {}", 9, each=(
    ("LF", "\n"), ("CRLF", "\r\n"), ("a tab", " \t")))
def stripped(t, value):
    t.open(token=TOKEN + value[1])
    t.gives(is_revision, "put", **PUT)
    if t.service.requests[0].headers.get("authorization") != f"Bearer {TOKEN}":
        raise AssertionError("another token was sent")


@case("no error has the token: {}", 9, each=(
    ("401", [problem(401, "unauthorized"), ...]), ("a page", [page(), ...]),
    ("cut", [cut(), page(500, Retry_After=NEVER)]),
    ("a foreign 500", [page(500), page(500, Retry_After=NEVER)])))
def secret(t, value):
    t.open({"put": value[1], "get": value[1]}, token=TOKEN)
    t.fails("Unauthorized|NotLatchkey|OutcomeUnknown", "put", **PUT)
    t.fails("Unauthorized|NotLatchkey|Unreachable", "get", name="a")


@case("a token with {} is refused, and not shown", 9, each=(
    ("a line feed within", f"{TOKEN}\nX-Else: 1"), ("a letter that no header can have",
                                                    f"{TOKEN}\u20ac")), only=PACKAGES)
def bad_token(t, value):
    try:
        t.open(token=value[1])
        t.call("put", **PUT)
    except Exception as error:  # noqa: BLE001
        if getattr(error, "error", None) is None:
            raise
        t.texts.append(error.text)
    else:
        raise AssertionError("it was taken")
    if t.service.requests if hasattr(t, "service") else ():
        raise AssertionError("it was sent")


@case("128 names of 40 bytes are read, however long an address may be", 14)
def many_names(t):
    names = [f"{number:03}".ljust(40, "x") for number in range(128)]
    t.open()
    t.store.put(names[0], 1), t.store.put(names[127], 2)
    t.gives({names[0]: 1, names[127]: 2}, "get_many", names=names)
