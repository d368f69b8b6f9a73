"""The files of `make release`: the same bytes each time, and each file works."""

import gzip
import hashlib
import json
import os
import pathlib
import re
import signal

from process import Failure, Server, expect, run

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = TOP / ".build-tools/python/bin/python"
# The members that SPDX 2.3 requires of a document, a package, a file and a relationship.
REQUIRED = {
    "documents": ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace",
                  "creationInfo"),
    "packages": ("SPDXID", "name", "downloadLocation"),
    "files": ("SPDXID", "fileName", "checksums"),
    "relationships": ("spdxElementId", "relationshipType", "relatedSpdxElement")}
# The paths of the program in the list of contents.
PROGRAMS = {"./usr/bin/latchkey", "./usr/local/bin/latchkey"}


def only(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Failure(f"{folder} has {len(found)} files {pattern}")
    return found[0]


def make(binary, folder, umask):
    """Makes a release in a folder, with other settings for another user."""
    folder.mkdir()
    run(TOP / "scripts/release", binary, folder, umask=umask,
        env={**os.environ, "TZ": "Pacific/Kiritimati" if umask else "UTC"})
    return folder


def sums(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.iterdir()}


def check_build(binary, folder):
    """`make run` begins so. It prints nothing if there is nothing to build."""
    def said(program):
        return run("sh", "-c", 'exec "$0" "$1" sh -c "echo builds >&2" 2>&1',
                   TOP / "scripts/build", program).splitlines()

    new = said(folder / "none/latchkey")
    first = re.sub("about [0-9]+ minutes on .* ?processors?", "T", new[0])
    expect("what it says", (new[1:], first), (
        ["builds"], "latchkey: builds the program: T; [M/N] is step M of N"))
    expect("what it says when all is built", said(binary), ["builds"])


def check_same(binary, one, other):
    """A second build by a user with other settings has the same bytes in all files."""
    make(binary, one, 0o022)
    # Files of an earlier build do not disturb it.
    found, again = sums(one), sums(make(binary, other, 0o077))
    differing = sorted(name for name in found.keys() | again if found.get(name) != again.get(name))
    if differing:
        raise Failure(f"they differ: {differing}")
    return f"{len(found)} files, {sum(path.stat().st_size for path in one.iterdir()) >> 20} MiB"


def check_strict(binary, folder):
    """With --strict, a commit that is not a release makes nothing."""
    if "~" not in run(TOP / "scripts/version"):
        return "this is one"
    run(TOP / "scripts/release", "--strict", binary, folder, statuses=(1,))
    expect("what was made", list(folder.iterdir()), [])
    return "this is none"


def check_sums(folder):
    run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=folder)
    named = {line.split("  ")[1] for line in
             (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()}
    expect("the files that have a checksum", named, set(sums(folder)) - {"SHA256SUMS"})


def check_notes(folder):
    """They begin with an operator's steps, and have the changes."""
    text = only(folder, "latchkey-*-notes.md").read_text(encoding="utf-8")
    version = run(TOP / "scripts/version").strip()
    for part in (f"# Latchkey {version}\n", "check-config", "### Added\n", "### Fixed\n"):
        if part not in text:
            raise Failure(f"the notes have no {part!r}")
    if re.search("^## ", text, re.MULTILINE) or text.index("check-config") > text.index("###"):
        raise Failure("the notes are not one section, or do not begin with what an operator does")


def check_spdx(folder):
    document = json.loads(only(folder, "latchkey-*.spdx.json").read_text(encoding="utf-8"))
    for kind, names in REQUIRED.items():
        for each in [document] if kind == "documents" else document[kind]:
            if missing := [name for name in names if not each.get(name)]:
                raise Failure(f"{kind}: {each.get('SPDXID')} has no {missing}")
    elements = [document, *document["packages"], *document["files"]]
    names = [each["SPDXID"] for each in elements]
    expect("names that come twice", {name for name in names if names.count(name) > 1}, set())
    for name in names:
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name):
            raise Failure(f"{name} is no name of SPDX")
    for each in document["relationships"]:
        if not {each["spdxElementId"], each["relatedSpdxElement"]} <= set(names):
            raise Failure(f"a relationship to nothing: {each}")
    packed = {each["packageFileName"]: each["checksums"][1]["checksumValue"]
              for each in document["packages"] if "packageFileName" in each}
    expect("the files of the release", packed,
           {name: found for name, found in sums(folder).items() if name in packed})
    programs = {each["checksums"][1]["checksumValue"] for each in document["files"]
                if each["fileName"] in PROGRAMS or each["fileName"].endswith("/bin/latchkey")}
    expect("different programs", len(programs), 1)
    found = {each["name"] for each in document["packages"]}
    missing = {"latchkey", "swift", "swift-foundation", "libc6", "libmicrohttpd12", "libsqlite3-0",
               "ca-certificates"} - {name.removesuffix("t64") for name in found}
    # No library has it.
    expect("what is not named", missing - {"ca-certificates"}, set())
    return f"{len(found)} packages, {len(document['files'])} files"


def check_python(folder, scratch):
    """The wheel is installed into an environment of its own, and imported from there."""
    run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--no-index", "--target", scratch, only(folder, "latchkey-*.whl"))
    said = run(PYTHON, "-I", "-c", f"import sys; sys.path.insert(0, {str(scratch)!r})\n"
               "import importlib.metadata, latchkey\n"
               "latchkey.Latchkey().close()\n"
               "print(latchkey.__file__, importlib.metadata.version('latchkey'))")
    expect("what is imported", said,
           f"{scratch}/latchkey/__init__.py {run(TOP / 'scripts/version', 'python')}")


def check_typescript(folder, scratch):
    """The package is unpacked as npm does, and imported by Node."""
    installed = scratch / "node_modules/latchkey"
    installed.mkdir(parents=True)
    run("tar", "-xzf", only(folder, "latchkey-*.tgz"), "-C", installed, "--strip-components=1")
    (scratch / "a.mjs").write_text('import { Latchkey } from "latchkey";\n'
                                   'await new Latchkey().close();\n'
                                   'console.log("closed");\n', encoding="utf-8")
    expect("what the program prints", run("node", scratch / "a.mjs"), "closed\n")
    version = json.loads((installed / "package.json").read_text(encoding="utf-8"))["version"]
    expect("the version", version + "\n", run(TOP / "scripts/version", "npm"))


class Container(Server):
    """The image's service, as its user, with only its files."""

    def __init__(self, root, config):
        super().__init__("chroot", f"--userspec={config['User']}", root, *config["Entrypoint"],
                         "--port", "0", log=root.with_name("log"))
        variables = [*config["Env"], "LATCHKEY_HOST=127.0.0.1"]
        self.environment = dict(word.split("=", 1) for word in variables)

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)


def check_image(folder, scratch):
    """It has only Debian's files from this machine, and serves without any other."""
    image, root = scratch / "image", scratch / "root"
    run("mkdir", image, root)
    run("tar", "-xf", only(folder, "latchkey-image-*.tar"), "-C", image)
    [listed] = json.loads((image / "manifest.json").read_text(encoding="utf-8"))
    about = json.loads((image / listed["Config"]).read_text(encoding="utf-8"))
    [layer] = listed["Layers"]
    expect("the layer's digest", about["rootfs"]["diff_ids"],
           ["sha256:" + hashlib.sha256(gzip.decompress((image / layer).read_bytes())).hexdigest()])
    run("tar", "--numeric-owner", "-xpzf", image / layer, "-C", root)
    config = about["config"]
    expect("the settings", (config["User"], config["Entrypoint"][-1], list(config["Volumes"]),
                            config["Healthcheck"]["Interval"], config["StopSignal"]),
           ("10001:10001", "serve", ["/data"], 10 * 10**9, "SIGTERM"))
    with Container(root, config) as service:
        service.ask("GET", "/healthz", expect=(200,))
        token = (root / "data/token").read_text(encoding="utf-8").strip()
        service.ask("PUT", "/v1/properties/first", "1",
                    {"Authorization": f"Bearer {token}"}, expect=(201,))
    return f"{(image / layer).stat().st_size >> 20} MiB"
