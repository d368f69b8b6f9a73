"""The cost of small questions: processor time of the service for a request, by one client.

The requests are pipelined, and the client sleeps until all answers of a batch are there: a thread
that sleeps between two requests is charged for its wake-ups, and one that answers for those of the
client, 10 to 15 µs each, which hide the cost of the question.
"""

import socket
import statistics

import loader
from clients import turns
from process import Failure, Latchkey
from table import progress, row

VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
ROUNDS = 5
REQUESTS = 2000
BATCH = 40
# Less than a socket takes while its client does not read.
BATCH_BYTES = 60_000
ANSWER_SECONDS_MAX = 60
NAMES = "/v1/properties?name=key%2F17&name=key%2F99"
# A prefix with this many names.
SOME = 1000
# The most microseconds, with 50,000 properties and with a million.
QUESTIONS = {
    "GET": ("GET", "/v1/properties/key%2F17", None, None),
    "list, limit=1": ("GET", "/v1/properties?limit=1&after=a2V5LzU", 30, 110),
    "list, limit=100": ("GET", "/v1/properties?limit=100&after=a2V5LzU", 80, 170),
    "two by name": ("GET", NAMES, 25, None),
    "pop of an empty prefix": ("POST", "/v1/pop?prefix=none%2F", 25, None),
    "export of nothing": ("GET", "/v1/export?prefix=none%2F", 25, None),
    "count of all": ("GET", "/v1/count", 20, 20),
    "count of 1,000": ("GET", "/v1/count?prefix=some%2F", 500, None),
}


def measure_questions(arguments):
    rows = []
    with Latchkey(arguments.binary) as service:
        fill(service, SOME, b"some%%2F%d")
        for place, count in ((2, 50_000), (3, 1_000_000)):
            fill(service, count, b"key%%2F%d")
            found = costs(service)
            for name, values in found.items():
                most = QUESTIONS[name][place]
                rows.append(row(
                    f"{name}, of {count:,}", values, "µs", "" if most is None else f"≤ {most}",
                    None if most is None else statistics.median(values) <= most,
                    "processor time, one client"))
    return rows


def fill(service, count, name):
    loader.fill(service.address, count, lambda index: name % index, VALUE,
                lambda done: progress(f"loading properties: {done:,} of {count:,}"))


def costs(service):
    """By question the microseconds of each round."""
    found = {name: [] for name in QUESTIONS}
    with socket.create_connection(service.address, timeout=ANSWER_SECONDS_MAX) as client:
        for name in turns(QUESTIONS, ROUNDS, "questions, "):
            method, path = QUESTIONS[name][:2]
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
            status = b"HTTP/1.1 404" if "pop" in path else b"HTTP/1.1 200"
            byte_count = length(client, head.encode())
            ask(client, head.encode(), status, byte_count, REQUESTS // 10)
            before = service.cpu_seconds()
            asked = ask(client, head.encode(), status, byte_count, REQUESTS)
            found[name].append(1e6 * (service.cpu_seconds() - before) / asked)
    return found


def length(client, message):
    """The length of an answer."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    client.sendall(message)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += client.recv(1 << 16)
    head, body = answer.split(b"\r\n\r\n", 1)
    body_length = int(head.lower().split(b"content-length:")[1].split()[0])
    while len(body) < body_length:
        body += client.recv(1 << 16)
    return len(head) + 4 + body_length


def ask(client, message, status, byte_count, count):
    """Asks about `count` times, and returns how often."""
    batch = min(BATCH, BATCH_BYTES // byte_count)
    for _ in range(count // batch):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, batch * byte_count)
        client.sendall(message * batch)
        answers = b""
        while len(answers) < batch * byte_count:
            answers += client.recv(batch * byte_count)
        if answers.count(status) != batch:
            raise Failure(f"not all are {status.decode()}: {answers[:400]!r}")
    return count // batch * batch
