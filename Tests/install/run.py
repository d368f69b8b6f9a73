#!/usr/bin/env python3
"""Tests the installed files: manual pages, completions of shells, and all files of a release.

    Tests/install/run.py --binary .build-release/bin/latchkey

Needs root, for an empty Debian of each release in a temporary folder; what
`scripts/require install package test clients` installs; and Debian's packages from this machine's
source. Uses only the standard library.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

import empty  # noqa: E402
import pages  # noqa: E402
import process  # noqa: E402
import release  # noqa: E402
import shells  # noqa: E402
from process import Failure  # noqa: E402


def check_late(binary):
    """Runs in a network of its own."""
    return process.run("unshare", "--net", TOP / "Tests" / "install" / "late.py", binary,
                       TOP / "deploy" / "latchkey.service").strip()


class Checks:
    """Runs checks one after the other, and counts them."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def run(self, title, check, *arguments):
        began = time.monotonic()
        try:
            notes = check(*arguments) or ""
        except (Failure, subprocess.SubprocessError, OSError) as error:
            self.failed += 1
            print(f"FAIL {title}: {error}", flush=True)
            return
        self.passed += 1
        seconds = time.monotonic() - began
        print(f"ok   {title} ({seconds:.1f} s){': ' if notes else ''}{notes}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    options = parser.parse_args()
    binary = options.binary.resolve()

    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="latchkey-release-") as folder:
        run_all(checks, binary, pathlib.Path(folder))
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


def run_all(checks, binary, folder):
    checks.run("man and mandoc find nothing in the pages", pages.check, binary)
    checks.run("a mistake in a page is found", pages.check_that_mistakes_are_found, binary)
    for shell in shells.ALL:
        checks.run(f"{shell.__name__} offers every command and flag", shells.check, shell, binary)
    checks.run("an address or a port that comes late is waited for", check_late, binary)
    checks.run("a build says what it does and how long it takes", release.check_build, binary,
               folder)
    made = folder / "made"
    checks.run("a release that is made twice has the same bytes", release.check_same, binary, made,
               folder / "again")
    checks.run("only the commit of a release makes one", release.check_strict, binary,
               folder / "strict")
    checks.run("its checksums hold", release.check_sums, made)
    checks.run("its notes say what an operator does, and what has changed", release.check_notes,
               made)
    checks.run("its list of what is inside is SPDX and whole", release.check_spdx, made)
    checks.run("the wheel is installed and imported", release.check_python, made,
               folder / "python")
    checks.run("the package of npm is unpacked and imported", release.check_typescript, made,
               folder / "typescript")
    checks.run("the image serves in its own files alone", release.check_image, made, folder)
    package = release.only(made, "latchkey_*.deb")
    archive = release.only(made, "latchkey-*.tar.xz")
    checks.run("versions sort", empty.check_versions, package)
    for suite in empty.suites():
        with tempfile.TemporaryDirectory(prefix="latchkey-debian-") as scratch:
            root = empty.Root(pathlib.Path(scratch) / "root", suite)
            try:
                print(f"     an empty Debian, {suite}: {root.make():.1f} s", flush=True)
            except Failure as error:
                print(f"FAIL this machine cannot make an empty Debian, {suite}: {error}")
                checks.failed += 1
                continue
            checks.run(f"{suite}: the package is installed, upgraded, removed and purged",
                       empty.check_package, root, package)
            checks.run(f"{suite}: the archive serves with the packages that it names",
                       empty.check_archive, root, archive)
            if suite == empty.SUITES[-1]:
                checks.run(f"{suite}: the Python client keeps its promises",
                           empty.check_python_client, root)
                checks.run("lintian finds no error", empty.check_with_lintian, root, package)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        sys.exit(f"FAIL {error}")
