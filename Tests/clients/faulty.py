"""A proxy on the loopback address that misbehaves: by a seeded plan, or as a test tells it.

It understands HTTP as far as it must: where a request and an answer end. So it can lose an answer,
or answer for itself, before and after it has passed the request on.
"""

import asyncio
import collections
import contextlib
import dataclasses
import math
import random
import re
import socket
import struct
import threading

PIECE_BYTES = 65536
DRIPPED_BYTES = 150
PAGE = b"<html><body>This page is not of the service.</body></html>"
# The faults of a request, with their frequency in percent.
RATES = {
    "cut before it is passed on": 4, "cut after it is passed on": 4, "cut within the answer": 4,
    "own answer before it is passed on": 3, "own answer after it is passed on": 4,
    "drips": 3, "never answered": 1,
}


@dataclasses.dataclass
class Fault:
    """The fault of one request, with the delays `there` and `back` in seconds."""

    kind: str = ""
    there: float = 0
    back: float = 0
    status: int = 502
    # The number of bytes of the answer that get through.
    at: int = 0
    # A cut connection ends with a reset.
    with_reset: bool = False
    # The number of bytes that drip, with a pause after each.
    dripping: int = 0
    pace: float = 0


class Plan:
    """The faults of all requests, in order, from a seed. `counts` has the faults so far."""

    def __init__(self, seed, rates=None, delays=(0.001, 0.5)):
        self.random = random.Random(f"faults {seed}")
        self.rates = RATES if rates is None else rates
        self.delays = delays
        self.is_calm = False
        self.counts = collections.Counter()

    def __call__(self):
        draw, rest = self.random, self.random.uniform(0, 100)
        kind = ""
        for name, rate in self.rates.items():
            if 0 <= rest < rate:
                kind = name
            rest -= rate
        # Delays are spread evenly over their orders of magnitude.
        there, back = (math.exp(draw.uniform(*map(math.log, self.delays))) for _ in range(2))
        fault = Fault(kind, there, back, draw.choice((502, 503, 504)), draw.randrange(400),
                      draw.random() < 0.5, DRIPPED_BYTES if kind == "drips" else 0,
                      draw.uniform(0.001, 0.03))
        if self.is_calm:
            return Fault()
        if kind:
            self.counts[kind] += 1
        return fault


class _Cut(Exception):
    """The connection to the client ends here."""


class _Protocol(asyncio.StreamReaderProtocol):
    """Tells when the client has left, also while its request is answered."""

    def __init__(self, serve):
        super().__init__(asyncio.StreamReader(), serve)
        self.left = asyncio.Event()

    def eof_received(self):
        super().eof_received()
        return False

    def connection_lost(self, error):
        super().connection_lost(error)
        self.left.set()


class FaultyProxy:
    """Passes requests on to a service, which may be replaced by another one. A context manager.

    `plan()` returns the fault of the next request. `cut_after()` returns the number of bytes of
    answers after which the next connection is cut, or None. `cut_count` is the number of cuts.
    """

    def __init__(self, target, cut_after=lambda: None, *, plan=Fault):
        self.target = target
        self.plan = plan
        self.cut_after = cut_after
        self.cut_count = 0
        self.url = None
        self._open = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._thread.start()
        self._do(self._loop.create_server(lambda: _Protocol(self._start), sock=listener))
        return self

    def __exit__(self, *_):
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self):
        """Cuts all connections, with a reset."""
        self._do(self._cut())

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _cut(self):
        for link in [*self._open]:
            link.close(with_reset=True)

    async def _end(self):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, reader, writer):
        link = _Link(self, reader, writer)
        # Kept, as the loop itself does not keep tasks.
        self._open[link] = asyncio.ensure_future(self._serve(link))

    async def _serve(self, link):
        work = asyncio.ensure_future(link.run())
        left = asyncio.ensure_future(link.writer.transport.get_protocol().left.wait())
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.pop(link, None)
            left.cancel()
            work.cancel()
            link.close()
            with contextlib.suppress(asyncio.CancelledError, *_LOST):
                await work


_LOST = (OSError, asyncio.IncompleteReadError, _Cut)


class _Link:
    """A connection of a client, and its connection to the service."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.bound = proxy.cut_after()
        self.service = None

    async def run(self):
        while True:
            head = await self.reader.readuntil(b"\r\n\r\n")
            body = [piece async for piece in _body(self.reader, head, is_request=True)]
            fault = self.proxy.plan()
            try:
                await self._answer(b"".join([head, *body]), fault)
            except _LOST:
                self.close(with_reset=fault.with_reset)
                return

    def close(self, with_reset=False):
        for writer in (self.writer, self.service and self.service[1]):
            if writer is None or writer.transport.is_closing():
                continue
            if with_reset:
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            else:
                writer.close()

    async def _answer(self, request, fault):
        await asyncio.sleep(fault.there)
        if fault.kind == "cut before it is passed on":
            raise _Cut
        if fault.kind == "own answer before it is passed on":
            await self._send(_page(fault.status), fault)
            return
        try:
            head = await self._pass_on(request)
        except (OSError, asyncio.IncompleteReadError):
            # The service has ended or does not run. A proxy then answers itself, or cuts.
            self.service = None
            if fault.with_reset:
                raise
            await self._send(_page(502), fault)
            return
        await asyncio.sleep(fault.back)
        if fault.kind == "cut after it is passed on":
            raise _Cut
        if fault.kind == "never answered":
            # Waits until the client leaves.
            await asyncio.Event().wait()
        if fault.kind == "own answer after it is passed on":
            self.service[1].close()
            self.service = None
            await self._send(_page(fault.status), fault)
            return
        left = fault.at if fault.kind == "cut within the answer" else None
        left = await self._send(head, fault, left)
        is_first = True
        has_body = not request.startswith(b"HEAD ")
        async for piece in _body(self.service[0], head, is_request=False, has_body=has_body):
            if not is_first:
                await asyncio.sleep(fault.back)
            is_first = False
            left = await self._send(piece, fault, left)
        if _field(head, b"connection") == b"close":
            raise _Cut

    async def _pass_on(self, request):
        """Passes the request on. Returns the head of the answer."""
        if self.service is None or self.service[0].at_eof():
            self.service = await asyncio.open_connection(*self.proxy.target)
        reader, writer = self.service
        writer.write(request)
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 100"):
                return head

    async def _send(self, data, fault, left=None):
        """Sends data. Returns how many bytes of an answer may still be sent before it is cut."""
        bounds = [each for each in (left, self.bound) if each is not None]
        data = data[:min(bounds)] if bounds else data
        dripped = min(len(data), fault.dripping)
        fault.dripping -= dripped
        for index in range(dripped):
            self.writer.write(data[index:index + 1])
            await asyncio.sleep(fault.pace)
        self.writer.write(data[dripped:])
        await self.writer.drain()
        if self.bound is not None:
            self.bound -= len(data)
        if bounds and len(data) == min(bounds):
            self.proxy.cut_count += 1
            raise _Cut
        return left if left is None else left - len(data)


def _page(status):
    return (f"HTTP/1.1 {status} Own\r\nContent-Type: text/html\r\n"
            f"Content-Length: {len(PAGE)}\r\n\r\n").encode() + PAGE


def _field(head, name):
    found = re.search(rb"\r\n" + name + rb":[ \t]*([^\r]*)", head, re.IGNORECASE)
    return found and found[1].lower()


async def _body(reader, head, is_request, has_body=True):
    """The pieces of a body, as they arrive."""
    length = _field(head, b"content-length")
    if not has_body or re.match(rb"HTTP/1\.1 (204|304)", head):
        return
    if _field(head, b"transfer-encoding") == b"chunked":
        size = None
        while size != 0:
            line = await reader.readuntil(b"\n")
            size = int(line.split(b";")[0], 16)
            # After the last chunk come trailers, and an empty line.
            rest = await reader.readexactly(size + 2) if size else await _trailers(reader)
            yield line + rest
    elif length is not None:
        left = int(length)
        while left > 0:
            piece = await reader.read(min(left, PIECE_BYTES))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield piece
    elif not is_request:
        while piece := await reader.read(PIECE_BYTES):
            yield piece


async def _trailers(reader):
    lines = [await reader.readuntil(b"\n")]
    while lines[-1].strip():
        lines.append(await reader.readuntil(b"\n"))
    return b"".join(lines)
