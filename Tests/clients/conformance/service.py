"""A service that misbehaves by script, on the loopback address.

Right answers come from a Latchkey that the service forwards to. A script has a list of reactions
for each kind of request; each request takes the next one, and requests after the end of the list
get the right answer. A list that ends with `...` repeats its last reaction. A reaction is a
function of an `Exchange`; it returns whether the connection stays open.
"""

import contextlib
import json
import select
import socket
import struct
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

from store import Gone, Store

PAGE = b"<!doctype html><html><body>Please sign in.</body></html>"
DRIP_SECONDS = 0.05
LOOK_SECONDS = 0.02
# A `Retry-After` that is longer than any patience: the call ends with this answer.
NEVER = "1000000"
# A timer of milliseconds may fire early by this much.
EARLY_SECONDS = 0.01
REASONS = {200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified"}


@dataclass
class Answer:
    status: int
    headers: dict = field(default_factory=dict)
    body: bytes = b""


@dataclass
class Request:
    method: str
    target: str
    headers: dict
    body: bytes
    connection: int
    seconds: float
    is_over: bool = False

    def __post_init__(self):
        path, _, query = self.target.partition("?")
        self.path = path
        self.query = urllib.parse.parse_qs(query, keep_blank_values=True)
        self.key = self.headers.get("idempotency-key")
        parts = path.split("/")[2:]
        self.name = urllib.parse.unquote(parts[1]) if len(parts) > 1 else None
        if self.name is None:
            kinds = {"transactions": "transaction", "pop": "transaction", "properties": "list"}
            self.kind = kinds.get(parts[0], parts[0]) if parts else path
            if self.method == "DELETE":
                self.kind = "delete_prefix"
        elif len(parts) > 2:
            self.kind = parts[2]
        else:
            self.kind = {"PATCH": "merge"}.get(self.method, self.method.lower())

    def number(self, parameter):
        return float(self.query.get(parameter, [0])[0])

    def json(self):
        return json.loads(self.body) if self.body else None


class Exchange:
    """A request, and the connection that its answer goes to."""

    def __init__(self, service, connection, request):
        self.service, self.connection, self.request = service, connection, request
        self.is_cut = False

    def forward(self):
        """The bytes of the right answer, piece by piece, until it ends or the client leaves."""
        request = self.request
        head = [f"{request.method} {request.target} HTTP/1.0",
                f"Content-Length: {len(request.body)}"]
        head += [f"{name}: {value}" for name, value in request.headers.items()
                 if name not in ("host", "content-length", "connection", "authorization")]
        with socket.create_connection(self.service.store.address()) as behind:
            behind.sendall("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + request.body)
            while not self.is_gone():
                if select.select([behind], [], [], LOOK_SECONDS)[0]:
                    if not (piece := behind.recv(65536)):
                        return
                    yield piece
        raise Gone

    def make(self):
        """The right answer, after the request was carried out."""
        head, _, body = b"".join(self.forward()).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        for name in ("Connection", "Content-Length"):
            headers.pop(name, None)
        return Answer(int(first.split(" ")[1]), headers, body)

    def is_gone(self):
        """Whether the client has closed the connection, or the case is over."""
        if self.service.is_closed:
            return True
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def await_gone(self, is_enough=lambda: False):
        while not self.is_gone() and not is_enough():
            time.sleep(LOOK_SECONDS)
        return not self.is_gone()

    def text(self, answer):
        lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Else')}"]
        headers = dict(answer.headers)
        if answer.status not in (204, 304) and "Transfer-Encoding" not in headers:
            headers.setdefault("Content-Length", str(len(answer.body)))
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body

    def send(self, answer):
        self.connection.sendall(self.text(answer))
        return True


class Service:
    """Listens until it is closed. `requests` has all requests, in their order."""

    def __init__(self, binary, script=None, secure=None):
        self.script = script or {}
        self.store = Store(binary)
        self.requests, self.gates = [], set()
        self.is_closed = False
        self.counts = {}
        self.lock = threading.Lock()
        self.secure = secure
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http{'s' if secure else ''}://127.0.0.1:{self.port}"
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.is_closed = True
        self.stop_listening()
        self.store.end(is_closed=True)

    def stop_listening(self):
        """Also ends each connection."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for each in self.connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def of(self, kind):
        """The requests of a kind, in their order."""
        with self.lock:
            return [request for request in self.requests if kind in (request.kind, "*")]

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            number = len(self.connections)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection, number):
        with contextlib.suppress(OSError, ValueError):
            if self.secure:
                connection = self.secure.wrap_socket(connection, server_side=True)
            with connection.makefile("rb") as file:
                while self._exchange(connection, file, number):
                    pass
        connection.close()

    def _exchange(self, connection, file, number):
        if (begin := file.peek(1)[:1]) in (b"", b"\x16"):
            # The end of the connection, or a TLS handshake with a plain service.
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" if begin else b"")
            return False
        first = file.readline()
        method, target, _ = first.decode().split(" ", 2)
        headers = {}
        while (line := file.readline().strip()):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = file.read(int(headers.get("content-length", 0)))
        request = Request(method, target, headers, body, number, time.monotonic())
        with self.lock:
            self.requests.append(request)
            reaction = self._reaction(request.kind)
        try:
            return reaction(Exchange(self, connection, request))
        finally:
            request.is_over = True

    def _reaction(self, kind):
        reactions = self.script.get(kind, self.script.get("*", []))
        index = self.counts.get(kind, 0)
        self.counts[kind] = index + 1
        if reactions and reactions[-1] is ... and index >= len(reactions) - 1:
            return reactions[-2]
        return reactions[index] if index < len(reactions) else right


def right(exchange):
    """Answers as Latchkey does."""
    if exchange.request.kind == "watch":
        return stream()(exchange)
    return exchange.send(exchange.make())


def answered(answer, made=False):
    def react(exchange):
        return (not made or exchange.make()) and exchange.send(answer)
    return react


def page(status=200, made=False, body=PAGE, content_type="text/html", **headers):
    """An answer of a proxy or of another service. `made`: Latchkey has carried out the request."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return answered(Answer(status, {"Content-Type": content_type, **headers}, body), made)


def problem(status, kind, made=False, headers=None, **fields):
    """A refusal as Latchkey sends it."""
    body = {"type": f"/problems/{kind}", "title": "Refused.", "status": status,
            "detail": "By script.", **fields}
    again = {"Retry-After": "0"} if status in (429, 503) else {}
    return answered(Answer(status, {"Content-Type": "application/problem+json", **again,
                                    **(headers or {})}, json.dumps(body).encode()), made)


def redirect(status, to):
    return answered(Answer(status, {"Location": to + "/v1/properties/a"}, b""))


def edited(without=(), status=None, body=None, **headers):
    """The right answer, changed."""
    def react(exchange):
        answer = exchange.make()
        kept = {name: answer.headers[name] for name in answer.headers if name not in without}
        return exchange.send(Answer(
            status or answer.status,
            {**kept, **{name.replace("_", "-"): value for name, value in headers.items()}},
            answer.body if body is None else body))
    return react


def cut(count=0, made=True, reset=False):
    """Closes the connection after `count` bytes of the right answer (negative: before its end)."""
    def react(exchange):
        if made:
            answer = exchange.make()
            exchange.connection.sendall(exchange.text(answer)[:count])
        if reset:
            exchange.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False
    return react


def drip(made=True, head=False):
    """Sends one byte after the other, without end: of the body, or of a field of the head."""
    def react(exchange):
        answer = exchange.make() if made else Answer(200)
        if head:
            begin, byte = b"HTTP/1.1 200 OK\r\nServer: ", b"x"
        else:
            kept = {**answer.headers, "Content-Type": "application/json",
                    "Content-Length": "1000000"}
            begin, byte = exchange.text(Answer(200, kept)), b" "
        exchange.connection.sendall(begin)
        while not exchange.is_gone():
            exchange.connection.sendall(byte)
            time.sleep(DRIP_SECONDS)
        return False
    return react


def hang(made=True):
    """No answer at all."""
    def react(exchange):
        if made:
            exchange.make()
        exchange.await_gone()
        return False
    return react


def gated(gate, then=right):
    """Waits until the case opens the gate."""
    def react(exchange):
        return exchange.await_gone(lambda: gate in exchange.service.gates) and then(exchange)
    return react


def once(gate, *reactions):
    """The right answer until the case opens the gate; then these, one after the other."""
    left = list(reactions)

    def react(exchange):
        if gate not in exchange.service.gates:
            return right(exchange)
        return (left.pop(0) if len(left) > 1 else left[0])(exchange)
    return react


def late(seconds):
    """Carries the request out and answers after this time."""
    def react(exchange):
        end = time.monotonic() + seconds
        return exchange.await_gone(lambda: time.monotonic() >= end) and right(exchange)
    return react


def stream(line="\n", begin="", events=None, within=None, text=None):
    """A watch. It is cut after `events` events, or after `within` bytes of the next event.

    `text` is sent in place of the events.
    """
    def react(exchange):
        def send(raw):
            if raw:
                exchange.connection.sendall(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

        exchange.connection.sendall(exchange.text(Answer(
            200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})))
        send(begin.encode())
        if text is not None:
            send(text)
            return exchange.await_gone(lambda: events == 0) and False
        for count, event in enumerate(followed(exchange)):
            raw = event.replace("\n", line).encode()
            if count == events:
                send(raw[:within])
                return False
            send(raw)
            if count + 1 == events and not within:
                return False
        return False
    return react


def followed(exchange):
    """The events of the right answer, as text, without `retry` and comments."""
    rest = ""
    for piece in exchange.forward():
        *whole, rest = (rest + piece.decode()).split("\n\n")
        for event in whole:
            lines = [line for line in event.rpartition("\r\n")[2].split("\n")
                     if line and not line.startswith(("retry:", ":"))]
            if lines:
                yield "\n".join([*lines, "", ""])
