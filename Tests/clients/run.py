#!/usr/bin/env python3
"""Tests a running service with clients: those of `clients/`, and some by others.

    Tests/clients/run.py --binary .build-release/bin/latchkey

The others are curl, a client library from PyPI, and the EventSource of headless Chromium.
Connections are cut, the service is restarted, and a reader is slow. The recipes of docs/recipes.md
are run. `go tool pprof` reads a profile. Needs what `scripts/require` installs for `test`,
`dashboard`, `pprof` and `clients`.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))
sys.path.insert(0, str(TOP / "Tests" / "dashboard"))
sys.path.insert(0, str(TOP / "Tests" / "contract"))

from process import PATIENCE_SECONDS, Failure, Latchkey, await_true, expect, run  # noqa: E402
from steps import status_of_steps, step  # noqa: E402

from browser import Browser  # noqa: E402
from faulty import FaultyProxy  # noqa: E402
import pages  # noqa: E402
import profiles  # noqa: E402
import typescript_package  # noqa: E402

PYTHON = TOP / ".build-tools" / "python" / "bin" / "python"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    random.seed(arguments.seed)
    return status_of_steps(lambda log: run_all(arguments.binary, log))


def run_all(binary, log):
    step("go tool pprof blames the planted holder of a hot lock", profiles.hot, binary, log,
         profiles.check_with_go)
    step("curl -N shows each event when it happens, and the last one at the end", try_curl, binary,
         log)
    step("a client library misses nothing when it is cut, and starts anew after a restart",
         try_library, binary, log)
    step("clients/python does what it says", in_environment, "python_package.py", binary)
    step("docs/recipes.md keeps its promises", in_environment, "recipes.py", binary)
    with tempfile.TemporaryDirectory() as profile, Latchkey(binary, log=log) as service, \
            Latchkey(binary, "--history-bytes", "2KiB", log=log) as forgetful, \
            Browser(profile) as browser:
        step("an EventSource misses nothing when it is cut", try_event_source, service, browser)
        step("an EventSource that was slow has the state after the gap", try_slow_event_source,
             forgetful, browser)
        step("a page of another origin finds out nothing and ends no watch", pages.try_pages,
             binary, browser, log)
        step("the package clients/typescript does what it says, in Node and in a page",
             typescript_package.try_typescript, binary, browser, log)


def in_environment(script, binary):
    """Runs a script of this folder in the virtual environment."""
    run(PYTHON, pathlib.Path(__file__).parent / script, binary, stdout=None, stderr=None)


def put(service, name, value):
    service.ask("PUT", f"/v1/properties/{name}", json.dumps(value))


def state(service):
    """The value of each property, by name."""
    rows = service.ask_json("/v1/properties?limit=1000")["properties"]
    return {row["name"]: row["value"] for row in rows}


def changes(service):
    """The effects in the history, in the form of the events' data."""
    found = []
    for change in service.ask_json("/v1/changes?after=0&limit=1000")["changes"]:
        for effect in change["effects"]:
            found.append((effect["type"], effect["name"], change["revision"], effect.get("value")))
    return found


def try_curl(binary, log):
    with Latchkey(binary, log=log) as service:
        put(service, "a", {"x": 1})
        with subprocess.Popen(["curl", "-sSN", "-i", f"{service.url}/v1/watch?initial=true"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as curl:
            lines = []
            reader = threading.Thread(target=read_lines, args=(curl.stdout, lines), daemon=True)
            reader.start()
            await_true("the state comes", lambda: "event: ready" in lines)
            put(service, "b", "two\nlines")
            await_true("a put comes while the stream is open",
                       lambda: any('"name":"b"' in line for line in lines))
            service.ask("DELETE", "/v1/properties/a")
            await_true("a deletion comes", lambda: "event: delete" in lines)
            service.ask_to_end()
            # A second signal would not let the streams end.
            service.process.wait(PATIENCE_SECONDS)
            reader.join(PATIENCE_SECONDS)
            if curl.wait(PATIENCE_SECONDS) != 0:
                raise Failure(f"curl ended with {curl.returncode}: {curl.stderr.read()}")
    text = "\n".join(lines)
    for part in (r"^HTTP/1\.1 200 ", r"^Content-Type: text/event-stream$",
                 r"^Cache-Control: no-store$", r"^X-Accel-Buffering: no$",
                 r'^event: put\ndata: \{"name":"a","revision":\d+,"created":\d+,'
                 r'"value":\{"x": 1\}\}$',
                 r'^data: \{"name":"b","revision":\d+,"created":\d+,"value":"two\\nlines"\}$',
                 r"^event: close\ndata: \{\}$"):
        if not re.search(part, text, re.MULTILINE):
            raise Failure(f"curl did not show {part}:\n{text}")


def read_lines(stream, lines):
    for line in stream:
        lines.append(line.rstrip("\r\n"))


def try_library(binary, log):
    """Runs in the virtual environment, where the library is."""
    script = pathlib.Path(__file__).parent / "follow.py"
    with Latchkey(binary, log=log) as service, \
            FaultyProxy(service.address, cut_after_some(2)) as proxy:
        with subprocess.Popen([PYTHON, script, f"{proxy.url}/v1/watch?after=0"],
                              stdout=subprocess.PIPE, text=True) as follower:
            events = []
            threading.Thread(target=lambda: [events.append(json.loads(line))
                                             for line in follower.stdout], daemon=True).start()
            write(service, 120)
            expected = changes(service)
            await_true("all changes come", lambda: len(events) >= len(expected))
            found = [(each["type"], each["data"]["name"], each["data"]["revision"],
                      each["data"].get("value")) for each in events]
            expect("what the library got", found, expected)
            if proxy.cut_count < 2:
                raise Failure("the connection was not cut")
            del events[:]
            with Latchkey(binary, log=log) as another:
                # More changes than before: their revisions must not look like a continuation.
                for number in range(200):
                    put(another, "after", number)
                put(another, "after", "restart")
                proxy.target = another.address
                proxy.cut()
                await_true("the new state comes",
                           lambda: [each["type"] for each in events[-2:]] == ["put", "ready"])
                if [each["type"] for each in events if each["type"] != "close"] \
                        != ["gap", "put", "ready"]:
                    raise Failure(f"after a restart came {events}")
                put(another, "more", 1)
                await_true("changes go on", lambda: events[-1]["data"].get("name") == "more")
            follower.terminate()


def write(service, count):
    for number in range(count):
        name = random.choice("abcd")
        kind = random.randrange(4)
        if kind == 0:
            service.ask("DELETE", f"/v1/properties/{name}", expect=(204, 404))
        elif kind == 1:
            service.ask("POST", "/v1/transactions", json.dumps({"then": [
                {"put": name, "value": number}, {"put": "e", "value": [number]},
                {"delete": random.choice("abcd")}]}))
        else:
            put(service, name, number)


def cut_after_some(count):
    """Limits for `count` connections; later ones have no limit."""
    bounds = [random.randint(300, 1500) for _ in range(count)]
    return lambda: bounds.pop() if bounds else None


FOLLOW = """
    window.state = {}; window.events = []; window.counts = {};
    const source = window.source = new EventSource(arguments[0]);
    for (const type of ["put", "delete", "expire", "gap", "ready"]) {
      source.addEventListener(type, event => {
        const data = JSON.parse(event.data);
        window.counts[type] = (window.counts[type] || 0) + 1;
        if (type === "gap") window.state = {};
        if (type === "put") window.state[data.name] = data.value;
        if (type === "delete" || type === "expire") delete window.state[data.name];
        if (data.name && data.name !== "large")
          window.events.push([type, data.name, data.revision, data.value ?? null]);
      });
    }
    source.addEventListener("error", () =>
      window.counts.error = (window.counts.error || 0) + 1);
    source.addEventListener("open", () => window.counts.open = (window.counts.open || 0) + 1);
"""


# Runs until a property exists; meanwhile no event gets to the page.
BUSY = """
    const ask = new XMLHttpRequest();
    do {
      ask.open("GET", "/v1/properties/written", false);
      ask.send();
    } while (ask.status !== 200);"""


def try_event_source(service, browser):
    with FaultyProxy(service.address) as proxy:
        browser.open(proxy.url + "/healthz")
        # The page must not reuse its connection: only new ones are cut.
        proxy.cut_after = cut_after_some(3)
        proxy.cut()
        browser.run(FOLLOW, "/v1/watch?after=0")
        write(service, 100)
        expected = [list(each) for each in changes(service)]
        browser.wait_for("all changes", "return events.length >= arguments[0]", len(expected))
        found = browser.run("return events")
        expect("what the browser got", found, expected)
        counts = browser.run("return counts")
        if counts.get("open", 0) < 3 or proxy.cut_count < 2:
            raise Failure(f"the connection was not cut: {counts}")
        browser.run("source.close()")


def try_slow_event_source(service, browser):
    browser.open(service.url + "/healthz")
    browser.run(FOLLOW, "/v1/watch?initial=true")
    browser.wait_for("the state", "return counts.ready === 1")
    # The page reads nothing while its thread is busy, and the writes exceed the buffers.
    busy = threading.Thread(target=browser.run, args=(BUSY,), daemon=True)
    busy.start()
    connection = service.connect()
    for number in range(150):
        connection.request("PUT", "/v1/properties/large", json.dumps(f"{number}" + "x" * 500_000))
        connection.getresponse().read()
    connection.close()
    put(service, "written", 1)
    put(service, "large", "small again")
    put(service, "last", "one")
    busy.join(PATIENCE_SECONDS)
    expected = state(service)
    browser.wait_for("the state after the gap",
                     "return counts.gap > 0 && counts.ready === 1 + counts.gap && "
                     "state.last === 'one'")
    found = browser.run("return state")
    expect("what the browser holds after the gap", found, expected)
    put(service, "afterwards", True)
    browser.wait_for("changes after the gap", "return state.afterwards === true")
    browser.run("source.close()")


if __name__ == "__main__":
    sys.exit(main())
