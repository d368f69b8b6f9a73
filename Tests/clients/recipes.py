"""Runs the recipes of docs/recipes.md: the tested code is that of the page.

    recipes.py BINARY

Runs with the Python of .build-tools, which has httpx. Each recipe has a section there and a check
here; one without the other fails. The commands with `curl` are run as those of docs/http-api.md;
the blocks of Python become scripts, which processes run. Some of these are killed or stopped.

The module `shop` of a block is the reader's own; here the check writes it.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
CLIENT = TOP / "clients" / "python" / "src"
sys.path[:0] = [str(TOP / "scripts"), str(CLIENT), str(HERE.parent / "contract")]

import curls  # noqa: E402
import process  # noqa: E402
from expecting import timed  # noqa: E402
from latchkey import Latchkey  # noqa: E402
from process import Failure, await_true  # noqa: E402

PAGE = TOP / "docs" / "recipes.md"
PRINTED_THERE = "http://127.0.0.1:8080"
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Appends a line to a file in one write, because several processes do.
RECORD = """
import json, os, time
def record(*values):
    with open(os.environ["RECORD"], "ab", buffering=0) as file:
        file.write((json.dumps([os.getpid(), time.monotonic(), *values]) + "\\n").encode())
"""


class Recipe:
    """A section of the page, with a service and a folder for its scripts. A context manager."""

    def __init__(self, text, binary):
        self.text = text
        self.binary = binary
        self.blocks = BLOCK.findall(text)
        self.stack = contextlib.ExitStack()
        self.processes = []

    def __enter__(self):
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.service = self.stack.enter_context(process.Latchkey(self.binary, *self.options()))
        self.client = self.stack.enter_context(Latchkey(self.service.url))
        self.record_path = self.folder / "record"
        self.record_path.touch()
        return self

    def __exit__(self, *details):
        for each in self.processes:
            each.kill()
            each.wait()
        self.stack.__exit__(*details)

    def options(self):
        """The options of `latchkey serve` in a block."""
        found = re.search(r"^latchkey serve (.*)$", self.text, re.MULTILINE)
        return found[1].split() if found else ()

    def python(self, index=0):
        """A block of Python, for this service."""
        blocks = [text for kind, text in self.blocks if kind == "python"]
        return blocks[index].replace(PRINTED_THERE, self.service.url)

    def load(self, *indices):
        """Runs blocks here, and returns the names that they define."""
        names = {}
        exec("\n".join(self.python(index) for index in indices), names)
        return names

    def start(self, index, shop="", times=1):
        """Runs a block `times` times, each in a process of its own, with a module `shop`."""
        # A folder of its own: another process may be reading its files.
        folder = self.folder / str(len(self.processes))
        folder.mkdir()
        script = folder / "recipe.py"
        text = self.python(index)
        if times > 1:
            text = f"for _ in range({times}):\n" + textwrap.indent(text, "    ")
        script.write_text(text, encoding="utf-8")
        (folder / "shop.py").write_text(RECORD + shop, encoding="utf-8")
        started = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(CLIENT), "RECORD": str(self.record_path),
                 "PYTHONDONTWRITEBYTECODE": "1"})
        self.processes.append(started)
        return started

    def recorded(self):
        """The records of the processes: process, time, and values."""
        lines = self.record_path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def run_curls(self):
        """Runs the commands of the blocks, and checks the status after each."""
        environment = {**os.environ, "L": self.service.url}
        for kind, block in self.blocks:
            for command in curls.commands(f"```\n{block}```\n") if kind == "sh" else ():
                promise = curls.PROMISE.match(command)
                if promise is None:
                    raise Failure(f"no status after: {command}")
                status, _, problem = curls.run(promise["command"], environment)
                if problem or status != promise["status"]:
                    raise Failure(f"{status}, {problem}: {command}")

    def wait_for_records(self, count):
        await_true(f"{count} records", lambda: len(self.recorded()) >= count)


def kill(started, how=signal.SIGKILL):
    os.kill(started.pid, how)


def main():
    # The checks import this module.
    sys.modules.setdefault("recipes", sys.modules["__main__"])
    import recipe_checks
    sections = dict(SECTION.findall(PAGE.read_text(encoding="utf-8")))
    if sections.keys() != recipe_checks.CHECKS.keys():
        raise Failure(f"the page has {list(sections)}, and there are checks of "
                      f"{list(recipe_checks.CHECKS)}")
    only = sys.argv[2:]
    for title, check in recipe_checks.CHECKS.items():
        if only and title not in only:
            continue
        with Recipe(sections[title], sys.argv[1]) as recipe:
            timed(title, check, recipe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
