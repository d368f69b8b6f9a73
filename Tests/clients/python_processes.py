"""The Python package when its process forks, is interrupted or ends."""

import os
import pathlib
import signal
import subprocess
import sys

import process
from expecting import expect
from latchkey import Latchkey
from process import PATIENCE_SECONDS, await_true

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "clients" / "python" / "src"
BEGIN = """
import asyncio, os, signal, socket, sys, threading, time
import latchkey
from latchkey import AsyncLatchkey, Latchkey
# What a shell has started in the background ignores it, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
url = sys.argv[1]
"""
FORK = """
client = Latchkey(url)
with client, client.lock("lock", ttl=30) as lease, client.watch("x", initial=True) as watch:
    client.put("x", 0)
    next(watch), next(watch)
    child = os.fork()
    if child == 0:
        lost = lease.lost
        try:
            next(watch)
        except latchkey.Closed:
            print([lost.is_set(), lost.wait(), lease.release(), client.get("x").value], flush=True)
        for number in range(50):
            client.put("child", number)
            assert client.get("child").value == number
        # It leaves both blocks.
        sys.exit(3)
    for number in range(50):
        client.put("parent", number)
        assert client.get("parent").value == number
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    print([lease.lost.is_set(), client.get("lock").revision == lease.token])
"""
# The lookup of the name does not end; the program must not wait for its thread.
LOOK_UP = """
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
client = Latchkey("http://name.test", timeout=0.2, patience=0.3)
try:
    client.put("a", 1)
except latchkey.Unreachable as error:
    print(["name.test" in str(error)])
"""
INTERRUPTED = """
client = Latchkey(url)
print(["begins"], flush=True)
try:
    client.acquire("lock", ttl=600)
except KeyboardInterrupt:
    print(["interrupted"], flush=True)
"""
INTERRUPTED_TASK = """
async def main():
    async with AsyncLatchkey(url) as client:
        print(["begins"], flush=True)
        await client.acquire("lock", ttl=600)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print(["interrupted"], flush=True)
"""


def run(text, url, **options):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGIN + text, url],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)}, **options)


def printed(program):
    said, errors = program.communicate(timeout=PATIENCE_SECONDS)
    expect((program.returncode, errors), (0, ""))
    return [line for line in said.splitlines() if line]


def forks(binary):
    """A child has its own connections, and its exit does not end the lease."""
    with process.Latchkey(binary) as service:
        expect(printed(run(FORK, service.url)), ["[True, True, False, 0]", "[False, True]"])


def ends_while_a_name_is_looked_up(_):
    expect(printed(run(LOOK_UP, "http://none")), ["[True]"])


def interrupts(binary):
    """A waiting call gives back what it would get, before its program ends."""
    for text in (INTERRUPTED, INTERRUPTED_TASK):
        with process.Latchkey(binary) as service, Latchkey(service.url) as client:
            client.put("lock", "another")
            program = run(text, service.url)
            expect(program.stdout.readline(), "['begins']\n")
            await_true("it waits", lambda service=service: service.ask_json("/v1/watches")["count"])
            program.send_signal(signal.SIGINT)
            expect(printed(program), ["['interrupted']"])
            # The client asks once more in order to give it back, and does not get it now.
            client.delete("lock")
            expect(client.find("lock"), None)


CHECKS = (forks, ends_while_a_name_is_looked_up, interrupts)
