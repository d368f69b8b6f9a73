"""A proxy on the loopback address that cuts connections where it is told."""

import socket
import threading


class CuttingProxy:
    """Passes bytes on to a service, which may be replaced by another one. A context manager.

    A connection is cut after as many bytes of the answer as `cut_after()` says, or never.
    """

    def __init__(self, target, cut_after=lambda: None):
        self.target = target
        self.cut_after = cut_after
        self.cut_count = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:{}".format(self.listener.getsockname()[1])
        self.open = set()
        self.lock = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()

    def cut(self):
        """Cuts all connections, with a reset."""
        with self.lock:
            sockets, self.open = self.open, set()
        for each in sockets:
            try:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                service = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.open |= {client, service}
            bound = self.cut_after()
            threading.Thread(target=self._pass, args=(client, service, None), daemon=True).start()
            threading.Thread(target=self._pass, args=(service, client, bound), daemon=True).start()

    def _pass(self, source, sink, bound):
        try:
            while bound is None or bound > 0:
                piece = source.recv(65536 if bound is None else min(bound, 65536))
                if not piece:
                    break
                sink.sendall(piece)
                if bound is not None:
                    bound -= len(piece)
                    if bound == 0:
                        self.cut_count += 1
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            with self.lock:
                self.open.discard(each)
            each.close()
