"""Runs the requests of the README's first screen and tour, and compares their output.

In its `sh` blocks, each command that begins with `curl` is run. A comment above a command is for
people; comments below it, up to an empty line or the next command, are its output. "…" stands for
any text. A watch (`curl -N`) is ended once it has printed that.
"""

import pathlib
import re
import subprocess
import threading

README = pathlib.Path(__file__).resolve().parent.parent.parent / "README.md"
PRINTED_THERE = "http://127.0.0.1:8080"
COMMAND_SECONDS_MAX = 120
# One on the first screen, and those of the tour.
PROMISES_MIN = 10


def mistakes(url):
    """The differences from the README, as sentences."""
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    steps = [step for block in blocks for step in commands(block) if step[0].startswith("curl")]
    promises = sum(1 for _, expected in steps if expected)
    found = [] if promises >= PROMISES_MIN else [f"README.md has {promises} results of requests"]
    for command, expected in steps:
        words = ["sh", "-c", "exec " + command.replace(PRINTED_THERE, url)]
        if " -N " in command:
            output, status = followed(words, expected), 0
        else:
            done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  timeout=COMMAND_SECONDS_MAX, check=False)
            output, status = done.stdout, done.returncode
        if status != 0:
            found.append(f"status {status} of: {command}")
        for line in expected:
            if not appears(line, output):
                found.append(f"{command}\n  prints no {line!r}, but\n{output}")
    return found


def followed(words, expected):
    """The output of a command that does not end, up to the expected text."""
    output = ""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          stdin=subprocess.DEVNULL) as process:
        timer = threading.Timer(COMMAND_SECONDS_MAX, process.kill)
        timer.start()
        for line in process.stdout:
            output += line
            if all(appears(each, output) for each in expected):
                break
        timer.cancel()
        process.kill()
    return output


def commands(block):
    """Each command with its expected lines."""
    command, expected = "", []
    for line in block.splitlines() + [""]:
        if command and not command.endswith("\\"):
            if line.startswith("# "):
                expected.append(line[2:])
                continue
            yield command, expected
            command, expected = "", []
        if line and not line.startswith("#"):
            command = command.removesuffix("\\") + line.strip()


def appears(line, output):
    """Whether the parts of the line between the dots are in the output, in this order."""
    position = 0
    for part in line.split("…"):
        position = output.lower().find(part.strip().lower(), position)
        if position < 0:
            return False
        position += len(part.strip())
    return True
