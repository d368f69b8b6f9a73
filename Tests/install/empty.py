"""An empty Debian in a folder, and checks of the packages in it.

The only programs that run in it are apt, dpkg and the service, which listens on a free port of the
loopback address.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

from pages import output
import process
from process import Failure, Refused, Server, await_true, expect

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
# The releases of Debian that the package is for, oldest first.
SUITES = ("bookworm", "trixie")
# Any number that is no user of Debian: the unit's user has a number only while it runs.
USER = 61_999
UNIT = "usr/lib/systemd/system/latchkey.service"
DATA = "var/lib/latchkey"
SETTINGS = "etc/default/latchkey"
EARLIER = "0.1.0~202001010000.00000000"
# The place in the first page of SQLite's files: `pragma user_version`.
FORMAT_OFFSET = 60


def suites():
    """This machine's release and later ones: a package that is built on one runs on later ones."""
    release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
    if found is None or found[1] not in SUITES or not shutil.which("mmdebstrap"):
        raise Failure("this is none of the releases of Debian here, or mmdebstrap is missing")
    return SUITES[SUITES.index(found[1]):]


def run(*command, **options):
    """Runs a command that must succeed, and returns its output with standard error."""
    return process.run(*command, stderr=subprocess.STDOUT, **options)


class Root:
    """A Debian of a release, with `apt` and its requirements."""

    def __init__(self, path, suite):
        self.path, self.suite = path, suite

    def make(self):
        """Makes it. Returns the seconds that it took."""
        began = time.monotonic()
        if os.geteuid() != 0:
            raise Failure("only root can")
        mirror = run(TOP / "scripts" / "debian-mirror").strip()
        # This machine's access to its packages: proxies, and whether a list may be old.
        kept = "".join(line + "\n" for line in output("apt-config", "dump").splitlines()
                       if re.match(r"Acquire::(Check-|https?::Proxy)", line))
        options = self.path.with_name("apt.conf")
        options.write_text(kept, encoding="utf-8")
        run("mmdebstrap", "--variant=apt", "--mode=root", f"--aptopt={options}", self.suite,
            self.path, f"deb {mirror} {self.suite} main")
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        # No package may start a program, as in a container.
        policy = self.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        policy.chmod(0o755)
        self.run("apt-get", "-q", "update")
        return time.monotonic() - began

    def inside(self, *command):
        """The words that run a command in it, with a /proc that ends with the command."""
        script = 'mount -t proc proc "$0/proc" && exec chroot "$@"'
        return ("unshare", "--mount", "sh", "-c", script, self.path, *command)

    def run(self, *command):
        return run(*self.inside(self.path, *command),
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                        "DEBIAN_FRONTEND": "noninteractive"})

    def apt(self, *arguments):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", *arguments)

    def files(self):
        """All paths except those of package managers, logs and caches."""
        names = set()
        for folder, folders, files in os.walk(self.path):
            inside = pathlib.Path(folder).relative_to(self.path)
            left = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "proc", "run", "tmp",
                    "opt")
            if any(str(inside / name) in left for name in folders):
                folders[:] = [name for name in folders if str(inside / name) not in left]
            names.update(str(inside / name) for name in (*folders, *files))
        return names - {"etc/ld.so.cache"}


class Service(Server):
    """`latchkey serve` in an empty Debian, as a user without rights."""

    def __init__(self, root, program, variables):
        super().__init__(*inside(root, variables, program, "serve", "--port", "0"),
                         log=root.path.with_name("log"))

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def put(self, token=None):
        """The status of a write."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.ask("PUT", "/v1/properties/first", "1", headers, expect=None)[0]


def inside(root, variables, *command):
    """The words that run a command in it as the unit's user, with only these variables."""
    words = [f"{name}={value}" for name, value in variables.items()]
    return root.inside(f"--userspec={USER}:{USER}", root.path, "env", "-i", *words, *command)


def settings_of_unit(root):
    """The variables of the installed unit, read as systemd reads them."""
    lines = unit_lines(root)
    if lines["ExecStart"] != "/usr/bin/latchkey serve":
        raise Failure(f"the unit starts {lines['ExecStart']}")
    text = (root.path / lines["EnvironmentFile"].lstrip("/")).read_text(encoding="utf-8")
    variables = dict(line.split("=", 1) for line in text.splitlines()
                     if line and not line.startswith("#"))
    if not {"LATCHKEY_TOKEN_FILE", "LATCHKEY_FIRST_TOKEN"} <= variables.keys():
        raise Failure("everybody may write: the settings name no tokens")
    return variables


def unit_lines(root):
    unit = (root.path / UNIT).read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)


def check_unit(root):
    """Checks the unit with that Debian's systemd; only the packages that it needs are there."""
    said = root.run("systemd-analyze", "verify", "--recursive-errors=no", f"/{UNIT}")
    if said.strip():
        raise Failure(f"systemd-analyze verify: {said.strip()}")
    wanted = root.path / "etc/systemd/system/multi-user.target.wants/latchkey.service"
    if not wanted.is_symlink():
        raise Failure("the unit is not enabled")


def first_put(root):
    """Serves as the unit does, and writes with the first token."""
    variables = settings_of_unit(root)
    # systemd does this for StateDirectory= of the unit.
    data = root.path / DATA
    data.mkdir(mode=0o700, exist_ok=True)
    os.chown(data, USER, USER)
    said = run(*inside(root, variables, "/usr/bin/latchkey", "check-config"))
    if not said.startswith("OK"):
        raise Failure(f"check-config: {said}")
    with Service(root, "/usr/bin/latchkey", variables) as service:
        service.ask("GET", "/healthz", expect=(200,))
        token = root.path / variables["LATCHKEY_FIRST_TOKEN"].lstrip("/")
        if token.stat().st_mode & 0o077:
            raise Failure("others can read the first token")
        expect("the first put", service.put(token.read_text(encoding="utf-8").strip()), 201)
        reached = time.monotonic()
        expect("a write without a token", service.put(), 401)
    return reached


def check_same_data(root, when):
    """The service still has the first property, for the first token; its reload works."""
    variables = settings_of_unit(root) | {"LATCHKEY_AUDIT_LOG": f"/{DATA}/audit"}
    token = (root.path / variables["LATCHKEY_FIRST_TOKEN"].lstrip("/")).read_text("utf-8").strip()
    audit = root.path / DATA / "audit"
    with Service(root, "/usr/bin/latchkey", variables) as service:
        headers = {"Authorization": f"Bearer {token}"}
        status, _, value = service.ask("GET", "/v1/properties/first", headers=headers, expect=None)
        expect(f"the first property {when}", (status, value), (200, b"1"))
        audit.unlink()
        # SIGHUP makes it open the file again. systemd sets this variable.
        root.run("env", f"MAINPID={service.process.pid}",
                 *shlex.split(unit_lines(root)["ExecReload"]))
        await_true("ExecReload of the unit", audit.exists)


def earlier(package, folder):
    """Makes the same package with an earlier version, like that of an earlier commit."""
    content = folder / "content"
    run("dpkg-deb", "--raw-extract", package, content)
    control = content / "DEBIAN/control"
    text = re.sub("^Version: .*$", f"Version: {EARLIER}", control.read_text("utf-8"), flags=re.M)
    control.write_text(text, encoding="utf-8")
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", content, folder / "earlier.deb")


def check_versions(package):
    """An earlier commit, this one and the release sort in this order."""
    version = run("dpkg-deb", "--field", package, "Version").strip()
    for one, other in ((EARLIER, version), (version, version.split("~")[0] + "-1")):
        run("dpkg", "--compare-versions", one, "lt", other)


def check_other_format(root):
    """A folder of a later format is refused, with advice."""
    with (root.path / DATA / "latchkey.db").open("r+b", buffering=0) as file:
        file.seek(FORMAT_OFFSET)
        number = int.from_bytes(file.read(4), "big")

        def write(number):
            file.seek(FORMAT_OFFSET)
            file.write(number.to_bytes(4, "big"))

        write(number + 1)
        try:
            with Service(root, "/usr/bin/latchkey", settings_of_unit(root)):
                raise Failure("a folder of a later format is served")
        except Refused as refusal:
            if refusal.status != 1 or "latchkey export" not in refusal.log:
                raise
        write(number)


def check_package(root, package):
    """Installs, serves, upgrades, downgrades, removes, installs again and purges."""
    root.apt("install", "systemd")
    before = root.files()
    shutil.copy(package, root.path / "tmp/latchkey.deb")
    earlier(package, root.path / "tmp")
    began = time.monotonic()
    root.apt("install", "--download-only", "/tmp/earlier.deb")
    fetched = time.monotonic()
    root.apt("install", "/tmp/earlier.deb")
    installed = time.monotonic()
    seconds = first_put(root) - fetched
    settings = root.path / SETTINGS
    with settings.open("a", encoding="utf-8") as file:
        file.write("# mine\n")

    root.apt("install", "/tmp/latchkey.deb")
    version = root.run("dpkg-query", "-W", "-f", "${Version}", "latchkey")
    if not root.run("latchkey", "--version").startswith(f"latchkey {version}\n"):
        raise Failure("the program says another version than the package")
    if root.run("dpkg", "--verify", "latchkey").strip() not in ("", f"??5?????? c /{SETTINGS}"):
        raise Failure("the installed files are not those of the package")
    check_unit(root)
    check_same_data(root, "after an upgrade")
    root.apt("install", "--allow-downgrades", "/tmp/earlier.deb")
    check_same_data(root, "after a downgrade")
    check_other_format(root)
    root.apt("remove", "latchkey")
    if not settings.is_file() or not (root.path / DATA / "latchkey.db").is_file():
        raise Failure("removing the package takes settings or data away")
    root.apt("install", "/tmp/latchkey.deb")
    check_same_data(root, "when the package is installed again")
    if not settings.read_text(encoding="utf-8").endswith("# mine\n"):
        raise Failure("an upgrade replaces settings")
    # Also packages that others suggest: systemd suggests libraries of ours.
    root.apt("-o", "APT::AutoRemove::RecommendsImportant=false", "-o",
             "APT::AutoRemove::SuggestsImportant=false", "purge", "--autoremove", "latchkey")
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


def check_with_lintian(root, package):
    """Checks the package by the rules of that Debian."""
    root.apt("install", "lintian")
    shutil.copy(package, root.path / "tmp/latchkey.deb")
    # The version is that of a commit, and no bug report asked for this package.
    said = root.run("lintian", "--fail-on", "error", "--suppress-tags",
                    "initial-upload-closes-no-bugs", "/tmp/latchkey.deb")
    return f"{said.count('W: ')} warnings"


def check_python_client(root):
    """The Python client, with that Debian's Python and httpx, and the archive's program."""
    root.apt("install", "python3-httpx")
    folder = root.path / "opt/clients"
    for name in ("clients/python", "Tests/clients", "scripts"):
        shutil.copytree(TOP / name, folder / name)
    program = next((root.path / "opt").glob("latchkey-*/bin/latchkey")).relative_to(root.path)
    root.run("python3", "/opt/clients/Tests/clients/python_package.py", f"/{program}",
             "--without-types")
    return root.run("python3", "--version").strip()
