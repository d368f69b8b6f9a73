#!/usr/bin/env python3
"""Builds, tests and packages the last commit in a clean Debian 13, and serves there.

    Tests/install/whole.py

Runs a person's commands on that Debian: `make build`, `make test`, `make package`, `make run`. Only
the Swift toolchain is from this machine, with the packages that it needs. Needs root and what
`scripts/require install` installs. Takes half an hour, and 10 GB in a temporary folder.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from empty import SUITES, Root, run  # noqa: E402
from process import Failure, Server  # noqa: E402

SOURCES = "latchkey"
# The requirements of the toolchain, and the tools that make a clone and start its tasks.
PACKAGES = ("ca-certificates", "git", "libc6-dev", "libcurl4", "libedit2", "libncurses6",
            "libsqlite3-0", "libxml2", "make", "tzdata")
# This machine's access to Python's packages.
CERTIFICATES, PIP = "etc/ssl/certs/ca-certificates.crt", "etc/pip.conf"


class Whole(Root):
    """A Debian with the toolchain and a clone in it."""

    def __init__(self, path):
        super().__init__(path, SUITES[-1])
        self.toolchain = pathlib.Path(shutil.which("swift")).resolve().parent.parent

    def inside(self, *command):
        """As in `Root`, with the toolchain and devices, which end with the command."""
        there = self.path / str(self.toolchain).lstrip("/")
        there.mkdir(parents=True, exist_ok=True)
        script = ('mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && '
                  'mount --bind "$1" "$0$1" && shift && exec chroot "$@"')
        return ("unshare", "--mount", "sh", "-c", script, self.path, self.toolchain, *command)

    def shell(self, script):
        """The words that run a script in the clone."""
        path = f"{self.toolchain}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return self.inside(self.path, "env", "-i", f"PATH={path}", "HOME=/tmp", "LC_ALL=C.UTF-8",
                           "DEBIAN_FRONTEND=noninteractive", "sh", "-c",
                           f"cd /{SOURCES} && exec {script}")

    def fill(self):
        self.apt("install", *PACKAGES)
        run("git", "clone", "--quiet", TOP, self.path / SOURCES)
        for path in (CERTIFICATES, PIP):
            if pathlib.Path("/", path).exists():
                shutil.copy(pathlib.Path("/", path), self.path / path)

    def make_target(self, *words):
        print(f"-- make {' '.join(words)}", flush=True)
        if subprocess.run([str(word) for word in self.shell("make " + " ".join(words))],
                          stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise Failure(f"make {' '.join(words)}")


class Running(Server):
    """`make run` on a free port."""

    def __init__(self, root):
        super().__init__(*root.shell("make run ARGS='--port 0'"))

    def ask_to_end(self):
        # `make` has a child in the same process group.
        os.killpg(self.process.pid, signal.SIGTERM)


def main():
    with tempfile.TemporaryDirectory(prefix="latchkey-debian-") as folder:
        root = Whole(pathlib.Path(folder) / "root")
        print(f"-- an empty Debian, {root.suite}: {root.make():.1f} s", flush=True)
        root.fill()
        for target in ("build", "test", "package"):
            root.make_target(target)
        print("-- make run", flush=True)
        service = Running(root)
        service.prepare = os.setsid
        with service:
            service.ask("GET", "/healthz", expect=(200,))
            service.ask("PUT", "/v1/properties/first", "1", expect=(201,))
            service.end()


if __name__ == "__main__":
    try:
        main()
    except Failure as error:
        sys.exit(f"FAIL {error}")
