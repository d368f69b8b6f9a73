"""The manual pages, as man and mandoc read them."""

import os
import pathlib
import subprocess
import tempfile

from process import Failure

COMMAND_SECONDS_MAX = 60


def output(*command, text=None, environment=None):
    """What a command prints, on standard output and standard error; its status is not looked at."""
    done = subprocess.run([str(word) for word in command], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=COMMAND_SECONDS_MAX, env=environment)
    return done.stdout


def mistakes(page):
    """What man and mandoc say about the file of a page."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""}
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                              stdin=subprocess.DEVNULL, stdout=nowhere, stderr=subprocess.PIPE,
                              text=True, env=environment, timeout=COMMAND_SECONDS_MAX, check=False)
    yield from done.stderr.splitlines()
    yield from output("mandoc", "-T", "lint", "-W", "warning", page).splitlines()


def write(binary, folder):
    said = output(binary, "manual", "--folder", folder)
    pages = sorted(pathlib.Path(folder).glob("*.1"))
    if said or not pages:
        raise Failure(f"the pages were not written: {said}")
    return pages


def check(binary):
    with tempfile.TemporaryDirectory() as folder:
        pages = write(binary, folder)
        for page in pages:
            for mistake in mistakes(page):
                raise Failure(f"{page.name}: {mistake}")
            shown = output("man", "-l", page, environment={**os.environ, "LC_ALL": "C.UTF-8"})
            if "SEE ALSO" not in shown:
                raise Failure(f"man does not show {page.name}")
        return f"{len(pages)} pages"


def check_that_mistakes_are_found(binary):
    with tempfile.TemporaryDirectory() as folder:
        page = write(binary, folder)[0]
        known = len(list(mistakes(page)))
        page.write_text(page.read_text(encoding="utf-8").replace(".PP", ".PX", 1),
                        encoding="utf-8")
        if len(list(mistakes(page))) <= known:
            raise Failure("an unknown macro is not found")
