"""Fills a service with many properties quickly: pipelined PUTs on a few connections."""

import socket
import threading

# Small enough that neither side's socket buffers fill up while the other one still writes.
BATCH = 200
CONNECTIONS = 4
ANSWER_SECONDS_MAX = 60


def fill(address, count, path, value, progress=lambda done: None):
    """PUTs `value` to `path(index)` for each index below `count`.

    `path` gives bytes that need no percent-encoding. Raises if an answer is not 201 or 204.
    """
    done = [0] * CONNECTIONS
    failures = []

    def work(number):
        try:
            with socket.create_connection(address, timeout=ANSWER_SECONDS_MAX) as connection:
                indices = range(number, count, CONNECTIONS)
                for start in range(0, len(indices), BATCH):
                    batch = indices[start:start + BATCH]
                    connection.sendall(b"".join(request(path(index), value) for index in batch))
                    receive(connection, len(batch))
                    done[number] += len(batch)
        except Exception as failure:  # shown by the caller: a thread has no caller to raise it to
            failures.append(failure)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(0.5)
            progress(sum(done))
    if failures:
        raise failures[0]


def request(path, value):
    return (b"PUT /v1/properties/%b HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b"
            % (path, len(value), value))


def receive(connection, count):
    """Reads that many answers. They have no body, so that each ends with its header fields."""
    text = b""
    while count:
        piece = connection.recv(1 << 16)
        if not piece:
            raise ConnectionError("the service closed the connection")
        *answers, text = (text + piece).split(b"\r\n\r\n")
        for answer in answers:
            if not answer.startswith((b"HTTP/1.1 201", b"HTTP/1.1 204")):
                raise ConnectionError(f"a PUT was answered {answer.splitlines()[0]!r}")
        count -= len(answers)
