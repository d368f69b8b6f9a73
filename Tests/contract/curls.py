"""Runs the commands of docs/http-api.md against a fresh service.

The rule for that page: in a fenced block, every line that begins with `curl` (or `NAME=$(curl`, for
later lines) is run and ends with `# STATUS`, the status of its answer; `curl -N` reads a stream and
is stopped after its first event; each method of each path in openapi.yaml has such a line.

`$L` is the address of the service. Text after the status is for people, as are all other lines,
except `STATUS if started with --data`. A line that ends with a backslash continues in the next one.
HEAD needs no line of its own.
"""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "docs" / "http-api.md"
CONTRACT = TOP / "openapi.yaml"
COMMAND_SECONDS_MAX = 120

BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:(?P<name>[A-Z]+)=\$\()?curl\s")
PROMISE = re.compile(r"^(?P<command>.*?)\s+#\s+(?P<status>\d{3})\b[^#]*$")
WITH_DATA = re.compile(r"#.*\b(\d{3}) if started with --data")
PATH = re.compile(r"^  (/[^:]*):$")
METHOD = re.compile(r"^    (get|put|post|patch|delete):$")
# The lines of `curl -v` for each request and each answer.
SENT = re.compile(r"^> ([A-Z]+) (\S+) HTTP/", re.MULTILINE)
ANSWERED = re.compile(r"^< HTTP/\S+ (\d+)", re.MULTILINE)

# Broken pages, each with the start of the mistake that must be found in it.
BROKEN = (
    ("```\ncurl $L/healthz\n```\n", "no status"),
    ("```\ncurl $L/healthz  # see 200\n```\n", "no status"),
    ("```\ncurl $L/healthz  # 204\n```\n", "200 instead of 204"),
    ("```\ncurl -X PUT --json 1 \\\n  $L/v1/properties/broken  # 204\n```\n", "201 instead of 204"),
    ("```\ncurl $L/healthz | false  # 200\n```\n", "ends with 1"),
    ("```\ncurl -N $L/healthz  # 200\n```\n", "no event"),
    ("```\ncurl $L/healthz  # 200\n```\n", "no line for GET /metrics"),
    ("", "no line for PUT /v1/properties/{name}"),
)


def mistakes(url, page=None, has_data=False):
    """The mistakes of the page, as sentences."""
    page = PAGE.read_text(encoding="utf-8") if page is None else page
    environment = {**os.environ, "L": url}
    found, asked = [], set()
    for command in commands(page):
        promise = PROMISE.match(command)
        if promise is None:
            found.append(f"no status after: {command}")
            continue
        expected = has_data and WITH_DATA.search(command)
        expected = expected[1] if expected else promise["status"]
        status, requests, problem = run(promise["command"], environment)
        asked |= requests
        if problem:
            found.append(f"{problem}: {command}")
        elif status != expected:
            found.append(f"{status} instead of {expected}: {command}")
    return found + [
        f"no line for {method} {path}" for method, path in endpoints()
        if not any(matches(method, path, request) for request in asked)]


def planted(url):
    """The mistakes of broken pages that are not found, as sentences."""
    return [f"not found in {page!r}: {mistake}" for page, mistake in BROKEN
            if not any(found.startswith(mistake) for found in mistakes(url, page))]


def commands(page):
    for block in BLOCK.findall(page):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            if COMMAND.match(line):
                yield line


def run(command, environment):
    """Runs a command; returns the last status, the requests, and the error, if any.

    A variable that the command sets is put into the environment.
    """
    name = COMMAND.match(command)["name"]
    script = f'curl() {{ command curl -sSv "$@"; }}\n{command}\n'
    if name:
        script += f"status=$?; printf '%s' \"${name}\"; exit $status"
    streams = re.search(r"\s-N\s", command) is not None
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            ["sh", "-c", script], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        # Also ends the shell's children.
        timer = threading.Timer(COMMAND_SECONDS_MAX, end, [process])
        timer.start()
        has_event = streams and reads_event(process.stdout)
        if has_event:
            end(process)
        output = process.stdout.read()
        code = process.wait()
        timer.cancel()
        log.seek(0)
        text = log.read()
    if name:
        environment[name] = output
    statuses = ANSWERED.findall(text)
    problem = None
    if streams and not has_event:
        problem = "no event"
    elif not streams and code != 0:
        problem = f"ends with {code}"
    elif not statuses:
        problem = "no answer"
    return (statuses or [None])[-1], set(SENT.findall(text)), problem


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def reads_event(stream):
    """Reads to the end of the first event that has data or an id."""
    begun = False
    for line in stream:
        if begun and line.strip() == "":
            return True
        begun = begun or line.startswith(("data:", "id:"))
    return False


def endpoints():
    """Each method and path of openapi.yaml."""
    path = None
    for line in CONTRACT.read_text(encoding="utf-8").splitlines():
        if line.startswith("components:"):
            return
        if found := PATH.match(line):
            path = found[1]
        elif found := METHOD.match(line):
            yield found[1].upper(), path


def matches(method, path, request):
    asked, target = request
    pattern = re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path))
    return asked == method and re.fullmatch(pattern, urllib.parse.urlsplit(target).path)
