"""Delays TCP: bytes that come in go out later, in both directions."""

import contextlib
import queue
import socket
import threading
import time

PIECE_BYTES = 65_536


class Way:
    """Listens on a port of the loopback address for one target. All connections have one delay."""

    def __init__(self, host, target):
        self.target, self.seconds, self.accepted = target, 0.0, 0
        self.listener = socket.create_server((host, 0))
        self.host, self.port = self.listener.getsockname()
        self.sockets, self.lock = [], threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                self.accepted += 1
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        try:
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        with self.lock:
            self.sockets += [near, far]
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pieces = queue.SimpleQueue()
            threading.Thread(target=self._read, args=(one, pieces), daemon=True).start()
            threading.Thread(target=self._write, args=(other, pieces), daemon=True).start()

    def _read(self, source, pieces):
        """An empty piece is the end."""
        piece = b"."
        while piece:
            try:
                piece = source.recv(PIECE_BYTES)
            except OSError:
                piece = b""
            pieces.put((time.monotonic() + self.seconds, piece))

    @staticmethod
    def _write(target, pieces):
        with contextlib.suppress(OSError):
            while True:
                due, piece = pieces.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not piece:
                    break
                target.sendall(piece)
        with contextlib.suppress(OSError):
            # Also ends the reads and the writes of the other side.
            target.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for each in self.sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
