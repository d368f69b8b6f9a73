"""Many clients in one thread: an epoll loop, and connections whose behaviour a case defines.

A case subclasses `Peer` and defines what is sent when the connection is open, when bytes have come
and when it is over. Nothing here reads HTTP; `answers.py` does, from the bytes that a peer has
kept.

A peer speaks TLS if the address of the service has a context (service.py). Then it is open after
the handshake; otherwise cases need not distinguish this.
"""

import errno
import os
import select
import socket
import ssl
import struct
import time

READ_BYTES = 1 << 16
# Of <linux/in.h>.
IP_BIND_ADDRESS_NO_PORT = 24
# The errors of a socket without bytes, or without room.
LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Peer:
    """One connection of a client."""

    receive_bytes = None

    def __init__(self, loop, address, source=None):
        """`source` is the address of the client; with None the kernel chooses it."""
        self.loop, self.address, self.source = loop, address, source
        self.context = getattr(address, "context", None)
        self.socket, self.unsent, self.is_open = None, b"", False

    def connect(self):
        family = socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        if self.receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_bytes)
        if self.source:
            # So the kernel chooses the port at connect(), and there is one for each pair.
            self.socket.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            self.socket.bind((self.source, 0))
        self.is_open = False
        result = self.socket.connect_ex(self.address)
        if result not in (0, errno.EINPROGRESS):
            self.finish("refused" if result == errno.ECONNREFUSED else os.strerror(result))
            return
        self.loop.watch(self, select.EPOLLIN | select.EPOLLOUT)

    def send(self, data):
        """Sends now as much as the kernel takes and keeps the rest. Nothing after the end."""
        if self.socket is None:
            return
        self.unsent += data
        if self.is_open:
            self._flush()

    def _flush(self):
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except LATER:
            pass
        except OSError:
            # The reading side finds the end, after the bytes that are still to be read.
            self.unsent = b""
        self.loop.change(self, select.EPOLLIN | (select.EPOLLOUT if self.unsent else 0))

    def handle(self, events):
        if not self.is_open:
            error = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self.finish("refused" if error == errno.ECONNREFUSED else "reset")
                return
            if not self._shake():
                return
            self.is_open = True
            self.opened()
            if self.socket is not None:
                self._flush()
        elif events & select.EPOLLOUT:
            self._flush()
        if self.socket is not None and events & ~select.EPOLLOUT:
            self._read()

    def _shake(self):
        """Continues the handshake of TLS, if there is one. Returns whether it is complete."""
        if self.context is None:
            return True
        try:
            if not isinstance(self.socket, ssl.SSLSocket):
                # The descriptor stays the same, and is watched.
                self.socket = self.context.wrap_socket(self.socket, do_handshake_on_connect=False)
            self.socket.do_handshake()
            return True
        except ssl.SSLWantReadError:
            self.loop.change(self, select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self.loop.change(self, select.EPOLLOUT)
        except OSError:
            self.finish("reset")
        return False

    def _read(self):
        try:
            data = self.socket.recv(READ_BYTES)
        except LATER:
            return
        except OSError:
            self.finish("reset")
            return
        if data:
            self.received(data)
        else:
            self.finish("closed")

    def finish(self, why):
        """Closes, and tells the subclass unless `why` is None."""
        if self.socket is None:
            return
        self.loop.forget(self)
        self.socket.close()
        self.socket, self.unsent, self.is_open = None, b"", False
        if why is not None:
            self.ended(why)

    def reset(self):
        """Ends the connection with RST instead of FIN."""
        if self.socket is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.finish(None)

    def opened(self):
        """Called when the connection is open."""

    def received(self, data):
        """Called with each received piece."""

    def ended(self, why):
        """Called at the end: `closed`, `reset` or `refused`."""


class Asker(Peer):
    """Sends a text, and keeps the received bytes and the kind of the end."""

    def __init__(self, loop, address, text):
        super().__init__(loop, address)
        self.text, self.data, self.end = text, bytearray(), None

    def opened(self):
        self.send(self.text)

    def received(self, data):
        self.data += data

    def ended(self, why):
        self.end = why


class Loop:
    """The open connections, with their events."""

    def __init__(self):
        self.epoll, self.peers = select.epoll(), {}

    def connect(self, peers):
        peers = list(peers)
        for peer in peers:
            peer.connect()
        return peers

    def watch(self, peer, events):
        self.peers[peer.socket.fileno()] = peer
        self.epoll.register(peer.socket, events)

    def change(self, peer, events):
        if peer.socket is not None:
            self.epoll.modify(peer.socket, events)

    def forget(self, peer):
        if self.peers.pop(peer.socket.fileno(), None) is not None:
            self.epoll.unregister(peer.socket)

    def run(self, seconds, until=lambda: False):
        """Serves events until the condition holds or the time is up. Returns whether it held."""
        end = time.monotonic() + seconds
        while not until():
            rest = end - time.monotonic()
            if rest <= 0:
                return False
            for descriptor, events in self.epoll.poll(min(rest, 0.02)):
                peer = self.peers.get(descriptor)
                if peer is not None:
                    peer.handle(events)
        return True

    def close(self):
        for peer in list(self.peers.values()):
            peer.finish(None)
        self.epoll.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
