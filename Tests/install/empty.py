"""An empty Debian in a folder, and what becomes of the packages in there.

No program of it is started but apt, dpkg and the service, which listens on a free port of the
loopback address.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from pages import output
import process
from process import Failure, Server

# Any number that is no user of Debian: the unit's user has a number only while it runs.
USER = 61_999
UNIT = "lib/systemd/system/latchkey.service"


def run(*command, **options):
    """Runs a command that must succeed, and returns what it prints, also to standard error."""
    return process.run(*command, stderr=subprocess.STDOUT, **options)


class Root:
    """A Debian of the release of this machine, with `apt` and what it cannot be without."""

    def __init__(self, path):
        self.path = path

    def make(self):
        """Returns the seconds that it took."""
        began = time.monotonic()
        if os.geteuid() != 0:
            raise Failure("only root can")
        release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
        suite = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
        if suite is None or not shutil.which("mmdebstrap"):
            raise Failure("this is not Debian, or mmdebstrap is missing")
        sources = [path for path in (*pathlib.Path("/etc/apt/sources.list.d").glob("*.sources"),
                                     pathlib.Path("/etc/apt/sources.list")) if path.is_file()]
        # How this machine reaches its packages: proxies, and whether a list may be old.
        kept = "".join(line + "\n" for line in output("apt-config", "dump").splitlines()
                       if re.match(r"Acquire::(Check-|https?::Proxy)", line))
        options = self.path.with_name("apt.conf")
        options.write_text(kept, encoding="utf-8")
        run("mmdebstrap", "--variant=apt", "--mode=root", f"--aptopt={options}", suite[1],
            self.path, *sources[:1])
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        # No package may start anything, as in a container.
        policy = self.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        policy.chmod(0o755)
        self.run("apt-get", "-q", "update")
        return time.monotonic() - began

    def inside(self, *command):
        """The words that run a command in there, with a /proc that goes away with it."""
        script = 'mount -t proc proc "$0/proc" && exec chroot "$@"'
        return ("unshare", "--mount", "sh", "-c", script, self.path, *command)

    def run(self, *command):
        return run(*self.inside(self.path, *command),
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                        "DEBIAN_FRONTEND": "noninteractive"})

    def apt(self, *arguments):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", *arguments)

    def files(self):
        """All paths but those of package managers, logs and caches."""
        names = set()
        for folder, folders, files in os.walk(self.path):
            inside = pathlib.Path(folder).relative_to(self.path)
            left = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "proc", "tmp", "opt")
            if any(str(inside / name) in left for name in folders):
                folders[:] = [name for name in folders if str(inside / name) not in left]
            names.update(str(inside / name) for name in (*folders, *files))
        return names - {"etc/ld.so.cache"}


class Service(Server):
    """`latchkey serve` in an empty Debian, as a user without rights."""

    def __init__(self, root, program, variables):
        words = [f"{name}={value}" for name, value in variables.items()]
        super().__init__(*root.inside(f"--userspec={USER}:{USER}", root.path, "env", "-i", *words,
                                      program, "serve", "--port", "0"))

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def put(self, token=None):
        """The status of a write."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.ask("PUT", "/v1/properties/first", "1", headers, expect=None)[0]


def settings_of_unit(root):
    """The command and the variables of the installed unit, read as systemd reads them."""
    unit = (root.path / UNIT).read_text(encoding="utf-8")
    lines = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
    if lines["ExecStart"] != "/usr/bin/latchkey serve":
        raise Failure(f"the unit starts {lines['ExecStart']}")
    text = (root.path / lines["EnvironmentFile"].lstrip("/")).read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines()
                if line and not line.startswith("#"))


def check_unit(root, binary):
    """What systemd says about the installed unit; the program stands elsewhere here."""
    unit = root.path.with_name("latchkey.service")
    text = (root.path / UNIT).read_text(encoding="utf-8")
    unit.write_text(text.replace("/usr/bin/latchkey", str(binary)), encoding="utf-8")
    said = run("systemd-analyze", "verify", "--recursive-errors=no", unit)
    if said.strip():
        raise Failure(f"systemd-analyze verify: {said.strip()}")
    wanted = root.path / "etc/systemd/system/multi-user.target.wants/latchkey.service"
    if not wanted.is_symlink():
        raise Failure("the unit is not enabled")


def first_put(root):
    """Serves as the unit does, and writes with the first token."""
    variables = settings_of_unit(root)
    if not {"LATCHKEY_TOKEN_FILE", "LATCHKEY_FIRST_TOKEN"} <= variables.keys():
        raise Failure("everybody may write: the settings name no tokens")
    # What StateDirectory= of the unit does.
    data = root.path / "var/lib/latchkey"
    data.mkdir(mode=0o700, exist_ok=True)
    os.chown(data, USER, USER)
    with Service(root, "/usr/bin/latchkey", variables) as service:
        token = root.path / variables["LATCHKEY_FIRST_TOKEN"].lstrip("/")
        if token.stat().st_mode & 0o077:
            raise Failure("others can read the first token")
        if service.put(token.read_text(encoding="utf-8").strip()) != 201:
            raise Failure("the first put does not create a property")
        reached = time.monotonic()
        if service.put() != 401:
            raise Failure("the service takes a write without a token")
    return reached


def check_package(root, package, binary):
    before = root.files()
    shutil.copy(package, root.path / "tmp/latchkey.deb")
    began = time.monotonic()
    root.apt("install", "--download-only", "/tmp/latchkey.deb")
    fetched = time.monotonic()
    root.apt("install", "/tmp/latchkey.deb")
    installed = time.monotonic()
    seconds = first_put(root) - fetched
    version = root.run("dpkg-query", "-W", "-f", "${Version}", "latchkey")
    if not root.run("latchkey", "--version").startswith(f"latchkey {version}\n"):
        raise Failure("the program says another version than the package")
    if root.run("dpkg", "--verify", "latchkey"):
        raise Failure("the installed files are not those of the package")
    check_unit(root, binary)
    settings = root.path / "etc/default/latchkey"
    with settings.open("a", encoding="utf-8") as file:
        file.write("# mine\n")
    root.run("dpkg", "-i", "/tmp/latchkey.deb")
    if not settings.read_text(encoding="utf-8").endswith("# mine\n"):
        raise Failure("an upgrade replaces settings")
    root.apt("remove", "latchkey")
    if not settings.is_file() or not (root.path / "var/lib/latchkey/latchkey.db").is_file():
        raise Failure("removing the package takes settings or data away")
    root.apt("purge", "--autoremove", "latchkey")
    left = root.files() - before
    if left:
        raise Failure(f"purging the package leaves {sorted(left)[:20]}")
    return (f"{seconds:.1f} s from apt-get install to the first put, of which "
            f"{installed - fetched:.1f} s install; {fetched - began:.1f} s of downloads before")


def check_archive(root, archive):
    folder = root.path / "opt"
    run("tar", "-xJf", archive, "-C", folder)
    top = next(folder.glob("latchkey-*"))
    readme = (top / "README").read_text(encoding="utf-8")
    root.apt("install", *re.search(r"apt-get install (.+)", readme)[1].split())
    program = f"/opt/{top.name}/bin/latchkey"
    version = root.run(program, "--version").split()[1]
    if not top.name.startswith(f"latchkey-{version}-"):
        raise Failure(f"{top.name} has the version {version}")
    with Service(root, program, {}) as service:
        if service.put() != 201:
            raise Failure("the first put does not create a property")
        report = json.loads(service.ask("GET", "/readyz")[2])
        if report != {"status": "ready"}:
            raise Failure(f"/readyz says {report}")
    loaded = root.run("sh", "-c", f"ldd {program}").count("=>")
    return f"{version}, {loaded} libraries of the system"


def check_with_lintian(package):
    if not shutil.which("lintian"):
        return "not here, so not asked"
    # The version is that of a commit, and no bug asked for this package.
    said = run("lintian", "--fail-on", "error", "--suppress-tags", "initial-upload-closes-no-bugs",
               package)
    return f"{said.count('W: ')} warnings"
