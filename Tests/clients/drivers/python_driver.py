#!/usr/bin/env python3
"""Drives the Python package: reads calls as lines of JSON, and writes their results.

    python_driver.py [--asyncio]

Each call has a thread of its own, or with `--asyncio` a task. `fork` answers with a socket on which
a child of this process continues with the same client, leases and watches.
"""

import asyncio
import atexit
import dataclasses
import functools
import inspect
import itertools
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(TOP / "clients" / "python" / "src"))

import latchkey  # noqa: E402

# Calls of the client whose arguments have the same names.
PLAIN = ("put", "delete", "increment", "merge", "touch", "count", "delete_prefix", "wait", "get",
         "find", "pop", "transaction", "get_many", "list")
EVENT = ("type", "name", "revision", "value", "id")


def valued(found):
    return {"value": found.value, "revision": found.revision}


def shown(call, result):
    if call in ("get", "find", "wait"):
        return result and valued(result)
    if call == "pop":
        return result and {"name": result.name, "value": result.value}
    if call == "get_many":
        return {name: each.value for name, each in result.items()}
    if call == "list":
        return [each.name for each in result]
    return dataclasses.asdict(result) if dataclasses.is_dataclass(result) else result


class Objects:
    """The client and the objects that it has returned, by number. A fork copies them."""

    def __init__(self):
        self.client, self.by_number, self.numbers = None, {}, itertools.count(1)

    def keep(self, value):
        number = next(self.numbers)
        self.by_number[number] = value
        return number


async def call_of(name, arguments, objects, settle):
    """The result of a call. `settle` waits for a result of the client, of either kind."""
    client = objects.client
    if name == "open":
        if client is not None:
            await settle(client.close())
        objects.client = objects.kind(**arguments)
        return None
    if name == "close":
        return await settle(client.close())
    if name in PLAIN:
        if name == "list":
            return shown(name, await settle(client.list(**arguments), is_list=True))
        return shown(name, await settle(getattr(client, name)(**arguments)))
    if name == "claim":
        claim = await settle(client.claim(arguments.pop("jobs"), **arguments))
        return claim and {"lease": objects.keep(claim), "name": claim.job.name,
                          "value": claim.value}
    if name == "acquire":
        lease = await settle(client.acquire(**arguments))
        return {"lease": objects.keep(lease), "token": lease.token}
    if name == "watch":
        prefixes = arguments.pop("prefixes", ())
        return {"watch": objects.keep(client.watch(*prefixes, **arguments))}
    if "lease" in arguments:
        lease = objects.by_number[arguments["lease"]]
        if name == "remaining":
            return lease.remaining
        if name == "lost":
            return await settle(lease.lost.wait())
        if name == "finish":
            return await settle(lease.finish(*arguments.get("steps", ())))
        if name in ("release", "abandon"):
            return await settle(getattr(lease, name)())
    if "watch" in arguments:
        watch = objects.by_number[arguments["watch"]]
        if name == "close_watch":
            return await settle(watch.close())
        if name == "next":
            event = await settle(watch, is_next=True)
            return event and {each: getattr(event, each) for each in EVENT}
    raise NotSupported(name)


class NotSupported(Exception):
    pass


def answer_to(number, result=None, error=None):
    answer = {"ok": result}
    if error is not None:
        kind = "Cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
        answer = {"error": kind, "text": str(error)}
    return json.dumps({"id": number, **answer}, default=str) + "\n"


class Threads:
    """Runs each call in a thread, which its coroutine never leaves."""

    def __init__(self, source, sink, objects=None):
        self.source, self.sink, self.output = source, sink, threading.Lock()
        self.objects = objects or Objects()
        self.objects.kind = latchkey.Latchkey
        self.cancels = {}

    def run(self):
        for line in self.source:
            request = json.loads(line)
            number, arguments = request["id"], request.get("args", {})
            if request["call"] == "fork":
                self.fork(number)
            elif request["call"] == "cancel":
                self.cancels[arguments["call"]].cancel()
                self.write(answer_to(number))
            else:
                self.cancels[number] = latchkey.Cancel()
                threading.Thread(target=self.answer, daemon=True, args=(
                    number, request["call"], arguments, self.cancels[number])).start()

    def answer(self, number, name, arguments, cancel):
        try:
            with cancel:
                call_of(name, arguments, self.objects, self.settle).send(None)
        except StopIteration as end:
            self.write(answer_to(number, end.value))
        except BaseException as error:  # noqa: BLE001
            self.write(answer_to(number, error=error))

    async def settle(self, result, is_list=False, is_next=False):
        if is_next:
            return next(result, None)
        return list(result) if is_list else result

    def write(self, text):
        with self.output:
            self.sink.write(text)
            self.sink.flush()

    def fork(self, number):
        path = os.path.join(tempfile.mkdtemp(), "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            child = os.fork()
            if child != 0:
                self.write(answer_to(number, {"socket": path, "pid": child}))
                return
            connection, _ = listener.accept()
        with connection, connection.makefile("r") as source, connection.makefile("w") as sink:
            Threads(source, sink, self.objects).run()
        # Ends like a program, but without the parent's loop, of which this process has a copy.
        atexit._run_exitfuncs()
        os._exit(0)


class Tasks:
    """Runs each call in a task."""

    def __init__(self):
        self.objects, self.tasks = Objects(), {}
        self.objects.kind = latchkey.AsyncLatchkey

    async def run(self):
        loop, lines = asyncio.get_running_loop(), asyncio.Queue()

        def read():
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, json.loads(line))
            loop.call_soon_threadsafe(lines.put_nowait, None)

        threading.Thread(target=read, daemon=True).start()
        while (request := await lines.get()) is not None:
            number, arguments = request["id"], request.get("args", {})
            if request["call"] == "cancel":
                self.tasks[arguments["call"]].cancel()
                self.write(answer_to(number))
            else:
                self.tasks[number] = asyncio.create_task(
                    self.answer(number, request["call"], arguments))
                self.tasks[number].add_done_callback(functools.partial(self.ended, number))
        if self.objects.client is not None:
            await self.objects.client.close()

    async def answer(self, number, name, arguments):
        try:
            self.write(answer_to(
                number, await call_of(name, arguments, self.objects, self.settle)))
        except BaseException as error:  # noqa: BLE001
            self.write(answer_to(number, error=error))

    def ended(self, number, task):
        """Answers for a task that was cancelled before it began."""
        if task.cancelled():
            self.write(answer_to(number, error=asyncio.CancelledError()))

    async def settle(self, result, is_list=False, is_next=False):
        if is_next:
            return await anext(result, None)
        if is_list:
            return [each async for each in result]
        return await result if inspect.isawaitable(result) else result

    def write(self, text):
        sys.stdout.write(text)
        sys.stdout.flush()


def main():
    if sys.argv[1:] == ["--asyncio"]:
        asyncio.run(Tasks().run())
    else:
        Threads(sys.stdin, sys.stdout).run()


if __name__ == "__main__":
    main()
