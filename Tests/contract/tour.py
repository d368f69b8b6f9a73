"""Runs the requests of the README, of its first screen and its tour, and compares their output.

In its `sh` blocks, each command that begins with `curl` is run. A comment above a command is for
people; comments below it, up to an empty line or the next command, say what it prints. "…" stands
for anything.
"""

import pathlib
import re
import subprocess

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
        done = subprocess.run(
            ["sh", "-c", command.replace(PRINTED_THERE, url)], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=COMMAND_SECONDS_MAX, check=False)
        if done.returncode != 0:
            found.append(f"status {done.returncode} of: {command}")
        for line in expected:
            if not appears(line, done.stdout):
                found.append(f"{command}\n  prints no {line!r}, but\n{done.stdout}")
    return found


def commands(block):
    """Each command with the lines that are expected of it."""
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
