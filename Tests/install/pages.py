"""The manual pages, as man and mandoc read them."""

import os
import pathlib
import re
import subprocess
import tempfile

from process import Failure

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND_SECONDS_MAX = 60
SHOWN = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""}


def output(*command, text=None, environment=None):
    """The output of a command, with standard error; its status is ignored."""
    done = subprocess.run([str(word) for word in command], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=COMMAND_SECONDS_MAX, env=environment)
    return done.stdout


def mistakes(page):
    """The findings of man and mandoc for the file of a page."""
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                              stdin=subprocess.DEVNULL, stdout=nowhere, stderr=subprocess.PIPE,
                              text=True, env=SHOWN, timeout=COMMAND_SECONDS_MAX, check=False)
    yield from done.stderr.splitlines()
    yield from output("mandoc", "-T", "lint", "-W", "warning", page).splitlines()


def write(binary, folder):
    said = output(TOP / "scripts" / "manual", binary, folder)
    pages = sorted(pathlib.Path(folder).glob("*.1"))
    if said or not pages:
        raise Failure(f"the pages were not written: {said}")
    return pages


def plain(text):
    """The words of a page or a help, without marks, line breaks and parts that differ anyway."""
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", text)
    return re.sub(r"[\s\\$]+", " ", text.replace("\u2010\n", "-"))


def lost(binary, page):
    """Sentences of the help that its page lacks."""
    command = page.stem.removeprefix("latchkey").lstrip("-").split()
    shown = plain(output("man", "-l", page, environment=SHOWN)).replace(" ", "")
    for paragraph in output(binary, *command, "--help", *["all"][:len(command)]).split("\n\n")[1:]:
        for sentence in re.split(r"(?<=[.:]) |\n(?=  -)", paragraph):
            words = re.sub(r"^(Usage|Status|Rights|Commands|Examples?):", "", sentence)
            for part in re.split(r"\s{2,}|\n", words):
                if plain(part).replace(" ", "") not in shown:
                    yield part


def check(binary):
    with tempfile.TemporaryDirectory() as folder:
        pages = write(binary, folder)
        for page in pages:
            for mistake in mistakes(page):
                raise Failure(f"{page.name}: {mistake}")
            for text in lost(binary, page):
                raise Failure(f"{page.name} does not say '{text}'")
        return f"{len(pages)} pages"


def check_that_mistakes_are_found(binary):
    with tempfile.TemporaryDirectory() as folder:
        page = write(binary, folder)[0]
        known = len(list(mistakes(page)))
        page.write_text(page.read_text(encoding="utf-8").replace(".PP", ".PX", 1),
                        encoding="utf-8")
        if len(list(mistakes(page))) <= known:
            raise Failure("an unknown macro is not found")
        page.write_text(page.read_text(encoding="utf-8").replace("measures", "measured"),
                        encoding="utf-8")
        if len(list(lost(binary, page))) != 1:
            raise Failure("a lost sentence is not found")
