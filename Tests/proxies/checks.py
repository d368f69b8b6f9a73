"""Properties of the service that a proxy before it must preserve."""

import contextlib
import http.client
import json
import socket
import urllib.parse

from process import PATIENCE_SECONDS, Failure, Latchkey, await_true, create_token
from proxy import HOST

# A browser cannot send the last two in a path, but a proxy's client can.
NAMES = ("a/b", "a//b", "/", "%2F", "a b?c#d", "ü/%", "..", ".")
LARGE_LINES = 20_000
REREADS = 200
VALUE = '"' + "x" * 1000 + '"'


@contextlib.contextmanager
def request(proxy, method, path, body=None, headers=None):
    """An answer whose body is still to be read."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_SECONDS)
    try:
        host = {} if "Host" in (headers or {}) else {"Host": f"{HOST}:{proxy.port}"}
        connection.request(method, path, body, {**host, **(headers or {})})
        yield connection.getresponse()
    except http.client.HTTPException as error:
        raise Failure(f"{method} {path}: {error!r}") from error
    finally:
        connection.close()


def ask(proxy, method, path, body=None, headers=None, expect=None):
    """Status, headers and body."""
    with request(proxy, method, path, body, headers) as answer:
        found = answer.status, answer.headers, answer.read()
    if expect is not None and found[0] != expect:
        raise Failure(f"{method} {path} is answered {found[0]} instead of {expect}: {found[2]!r}")
    return found


def same(found, wanted, what):
    if found != wanted:
        raise Failure(f"{what}: {found!r} instead of {wanted!r}")


def path_of(name):
    return "/v1/properties/" + urllib.parse.quote(name, safe="")


def asked_with(options):
    """Marks a check whose service has options: a function of its program and a folder."""
    def mark(check):
        check.options = options
        return check
    return mark


def names(service, proxy):
    for name in NAMES:
        ask(proxy, "PUT", path_of(name), json.dumps(name), expect=201)
        same(json.loads(ask(proxy, "GET", path_of(name), expect=200)[2]), name, f"GET of {name}")
    stored = [row["name"] for row in service.ask_json("/v1/properties")["properties"]]
    same(stored, sorted(NAMES, key=str.encode), "the names that are stored")
    ask(proxy, "GET", "/v1/properties?prefix=a%2F%2F&values=false", expect=200)


def host(_, proxy):
    """The service sees the host and the port that the client named."""
    ask(proxy, "GET", "/v1/properties", headers={"Host": HOST}, expect=200)
    page = {"Origin": f"http://{HOST}:{proxy.port}"}
    ask(proxy, "PUT", "/v1/properties/a", "1", page, expect=201)
    for origin in ("http://evil.example", f"http://{HOST}", "null"):
        ask(proxy, "PUT", "/v1/properties/a", "2", {"Origin": origin}, expect=403)


def other_host(_, proxy):
    """A host name that is not allowed changes nothing, whether proxy or service refuses it."""
    answer = ask(proxy, "GET", "/healthz", headers={"Host": "evil.example"})
    if answer[0] == 200 and answer[2]:
        raise Failure(f"another host is answered {answer[2]!r}")


def tags(_, proxy):
    """Strong entity tags stay strong, also for a client that takes compressed answers."""
    etag = ask(proxy, "PUT", "/v1/properties/a", VALUE, expect=201)[1]["ETag"]
    for headers in ({}, {"Accept-Encoding": "gzip, br"}):
        found = ask(proxy, "GET", "/v1/properties/a", headers=headers, expect=200)
        same(found[1]["ETag"], etag, "the entity tag")
        same(found[2], VALUE.encode(), "the value")
    ask(proxy, "GET", "/v1/properties/a", headers={"If-None-Match": etag}, expect=304)
    ask(proxy, "PUT", "/v1/properties/a", "2", {"If-None-Match": "*"}, expect=412)
    ask(proxy, "PUT", "/v1/properties/a", "2", {"If-Match": etag}, expect=204)
    ask(proxy, "PUT", "/v1/properties/a", "3", {"If-Match": etag}, expect=412)
    ask(proxy, "DELETE", "/v1/properties/a", headers={"If-Match": etag}, expect=412)
    patch = {"Content-Type": "application/merge-patch+json"}
    ask(proxy, "PATCH", "/v1/properties/a", '{"b":1}', patch, expect=200)
    problem = ask(proxy, "GET", "/v1/properties/none", expect=404)
    same(json.loads(problem[2])["type"], "/problems/not-found", "a problem")


def watches(service, proxy):
    """Events arrive at once, and a watch whose client has gone ends."""
    with request(proxy, "GET", "/v1/watch?prefix=w") as answer:
        same(answer.status, 200, "the status of a watch")
        same(answer.headers.get_content_type(), "text/event-stream", "its type")
        answer.fp.raw._sock.settimeout(PATIENCE_SECONDS)
        for number in range(3):
            service.ask("PUT", f"/v1/properties/w{number}", "1")
            text = b""
            try:
                while f'"w{number}"'.encode() not in text or not text.endswith(b"\n\n"):
                    text += answer.read1(65536) or b"the end"
                    if text.endswith(b"the end"):
                        raise Failure("the watch has ended")
            except TimeoutError as error:
                raise Failure(f"event {number} is held back after {text!r}") from error
        same(watchers(service), 1, "watches while the client is there")
    await_true("the watch ends", lambda: watchers(service) == 0)


def watchers(service):
    """The number of watches and long polls."""
    return sum(value for series, value in service.metrics().items()
               if series.startswith("latchkey_watchers"))


def polls(service, proxy):
    etag = service.ask("PUT", "/v1/properties/p", "1")[1]["ETag"]
    target = "/v1/properties/p?after=" + etag.strip('"')
    for condition in ({}, {"If-None-Match": etag}):
        ask(proxy, "GET", f"{target}&wait=0.5", headers=condition, expect=304)
    with request_sent(proxy, f"{target}&wait=20") as connection:
        await_true("a poll waits", lambda: watchers(service) == 1)
        service.ask("PUT", "/v1/properties/p", "2")
        answer = connection.getresponse()
        same((answer.status, answer.read()), (200, b"2"), "a long poll")


@contextlib.contextmanager
def request_sent(proxy, target):
    """A connection on which a GET was sent."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", target, headers={"Host": f"{HOST}:{proxy.port}"})
        yield connection
    finally:
        connection.close()


def rereads(service, proxy):
    """No read has an earlier value, and none is empty, with and without a condition."""
    for number in range(REREADS):
        if number % 7 == 0:
            value = json.dumps({"number": number, "text": "x" * (number % 50)}).encode()
            etag = service.ask("PUT", "/v1/properties/r", value)[1]["ETag"]
        condition = {"If-None-Match": etag} if number % 3 == 2 else {}
        status, headers, body = ask(proxy, "GET", "/v1/properties/r", headers=condition)
        if status != 304 or not condition:
            same((status, headers["ETag"], body), (200, etag, value), f"read {number}")


def absent(service, proxy):
    """The answer that something is missing is not repeated after it was made."""
    revision = int(service.ask("PUT", "/v1/properties/n", "1")[1]["ETag"].strip('"'))
    targets = ("/v1/properties/none", "/v1/operations/none",
               f"/v1/properties/n?revision={revision + 1}")
    for target, status in zip(targets, (404, 404, 410)):
        ask(proxy, "GET", target, expect=status)
    service.ask("PUT", "/v1/properties/n", "2")
    service.ask("PUT", "/v1/properties/none", "1")
    operation = {"id": "none", "after": 600, "steps": [{"get": "n"}]}
    service.ask("POST", "/v1/operations", json.dumps(operation), expect=(202,))
    for target in targets:
        ask(proxy, "GET", target, expect=200)


def transfers(service, proxy):
    """Large bodies pass in both directions, and an export arrives complete."""
    fill(proxy)
    text = ask(proxy, "GET", "/v1/export", expect=200)[2]
    last = json.loads(text.splitlines()[-1])
    same((last["end"], last["count"]), (True, LARGE_LINES), "the last line")
    imported = ask(proxy, "POST", "/v1/import", text, expect=200)[2]
    same(json.loads(imported)["imported"], LARGE_LINES, "lines imported")
    same(service.metrics()["latchkey_store_properties"], LARGE_LINES, "properties")


def fill(proxy):
    lines = "".join(f'{{"name":"l{number:06}","value":{VALUE}}}\n' for number in
                    range(LARGE_LINES))
    ask(proxy, "POST", "/v1/import?partial=true&batch=1000", lines, expect=200)


def token_options(binary, folder):
    token = create_token(binary, folder / "tokens", "ci", "read,write")
    (folder / "token").write_text(token, encoding="ascii")
    return "--token-file", folder / "tokens"


@asked_with(token_options)
def tokens(service, proxy):
    """A token passes, with requests and streams; without one there is a 401 that asks for it."""
    token = (service.folder / "token").read_text(encoding="ascii")
    right = {"Authorization": f"Bearer {token}"}
    answer = ask(proxy, "GET", "/v1/properties/a", expect=401)
    same(answer[1]["WWW-Authenticate"], 'Bearer realm="latchkey"', "what is asked for")
    ask(proxy, "PUT", "/v1/properties/a", "1", right, expect=201)
    with request(proxy, "GET", "/v1/watch", headers=right) as answer:
        same(answer.status, 200, "the status of a watch")
    cookie = ask(proxy, "POST", "/v1/session", headers=right, expect=204)[1]["Set-Cookie"]
    shown = {"Cookie": cookie.split(";")[0]}
    ask(proxy, "GET", "/v1/properties/a", headers=shown, expect=200)
    ask(proxy, "GET", "/v1/properties/a", headers={"Authorization": "Bearer lk_no"}, expect=401)


@asked_with(lambda *_: ("--trusted-proxy", "127.0.0.1", "--rate", "1"))
def addresses(_, proxy):
    """A client counts by its own address, and not by one that it names."""
    found = []
    for source, named in (("127.0.0.2", None), ("127.0.0.3", None), ("127.0.0.4", "127.0.0.5"),
                          ("127.0.0.5", None), ("127.0.0.4", "127.0.0.6")):
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, PATIENCE_SECONDS,
                                                source_address=(source, 0))
        try:
            fields = {"X-Forwarded-For": named} if named else {}
            connection.request("GET", "/v1/strategies",
                               headers={"Host": f"{HOST}:{proxy.port}", **fields})
            found.append(connection.getresponse().status)
        finally:
            connection.close()
    same(found, [200, 200, 200, 200, 429], "the statuses of four clients, and of one once more")


def cut(service, proxy):
    """Half an export is not imported, whether the proxy reports the cut or not."""
    fill(proxy)
    body = half_export(service, proxy)
    lines = body.count(b"\n")
    if not 0 < lines < LARGE_LINES or b'{"end":true' in body:
        raise Failure(f"{lines} lines of an export were to be a part of it")
    with Latchkey(service.command[0]) as other:
        refused = other.ask("POST", "/v1/import", body, expect=(400,))[2]
        same(json.loads(refused)["type"], "/problems/incomplete-import", "half an export")


def half_export(service, proxy):
    """The part of an export that arrives before the end of the service cuts it.

    Over HTTP/1.0, because without chunks only the end of the connection ends a body.
    """
    with socket.socket() as client:
        # A small buffer, so that the service still has most of the export when it ends.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE_SECONDS)
        client.connect(("127.0.0.1", proxy.port))
        client.sendall(f"GET /v1/export HTTP/1.0\r\nHost: {HOST}:{proxy.port}\r\n\r\n".encode())
        text = b""
        while text.count(b"\n") < 20 and (piece := client.recv(4096)):
            text += piece
        service.kill()
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(1 << 20):
                text += piece
    head, body = text.split(b"\r\n\r\n", 1)
    if b"chunked" in head.lower():
        raise Failure("HTTP/1.0 is answered in chunks")
    return body


CHECKS = (
    ("names with %2F and dots arrive as they were sent", names),
    ("Host arrives as it was sent", host),
    ("another host gets nothing", other_host),
    ("entity tags and conditions are untouched", tags),
    ("events arrive at once, and a watch ends with its client", watches),
    ("a long poll is answered in time", polls),
    ("no read is old or empty", rereads),
    ("what is made now is there", absent),
    ("exports and imports are whole", transfers),
    ("half an export is refused", cut),
    ("tokens and cookies go on", tokens),
    ("a client is its own address", addresses),
)
