#!/usr/bin/env python3
"""Builds the Swift snippets of the documentation as outside packages.

The snippets are those of README, of docs/lab.md, of all articles of the DocC catalogues and of the
comments (///) in the sources. README's first one is a program and its second the manifest of that
package, as a reader would type them; that package is run. Each of the others
becomes a file of one package: its imports, and the rest in a function. A snippet that extends a
type or is a test stays outside of functions. One in a comment has all imports besides its own.

A snippet may name the types of the examples CacheLab and OwnLock, and MyLock for a lock.

The builds suppress warnings, because a snippet leaves values unused. So they also show that a
consumer can suppress those of this package.
"""

import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "Examples" / ".build"
PRODUCTS = ["LatchkeyLab", "LatchkeyMetering", "LatchkeyStrategies", "LatchkeySync",
            "LatchkeySyncTesting"]
PATH = 'path: "../latchkey"'

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "snippets",
    dependencies: [.package(%s)],
    targets: [.target(name: "Snippets", dependencies: [%s])]
)
"""


def snippets(text):
    return re.findall(r"^```swift\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commented(source):
    """The text of the source's comments."""
    return "\n".join(re.findall(r"^ */// ?(.*)$", source, re.MULTILINE)) + "\n"


def here(manifest):
    """The manifest, with this checkout as the package that it depends on."""
    assert PATH in manifest, f"the manifest does not have {PATH}"
    return manifest.replace(PATH, f'name: "latchkey", path: "{TOP}"')


def source(name, snippet):
    """The snippet as a file of a target."""
    lines = snippet.splitlines()
    imports = [line for line in lines if line.startswith("import ")]
    rest = [line for line in lines if not line.startswith("import ")]
    if not any(line.startswith(("extension ", "@Test ")) for line in rest):
        rest = [f"func {name}() async throws {{", *rest, "}"]
    return "\n".join([*imports, *rest]) + "\n"


def write(package, files):
    """Writes the package, and leaves what was built of it before."""
    shutil.rmtree(package / "Sources", ignore_errors=True)
    for path, text in files.items():
        file = package / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def swift(command, package, *more):
    print(f"{command} {package.name}", flush=True)
    done = subprocess.run(
        ["swift", command, "--package-path", package, "--scratch-path", BUILD / "debug",
         "--quiet", "-Xswiftc", "-suppress-warnings", *more],
        check=False,
    )
    if done.returncode != 0:
        sys.exit(done.returncode)


def main():
    readme = (TOP / "README.md").read_text()
    program, manifest, *more = snippets(readme)
    scores = BUILD / "scores"
    write(scores, {
        "Package.swift": here(manifest),
        "Sources/Scores/main.swift": program + 'precondition(best == 1, "README is wrong.")\n',
    })

    pages = {"README": more, "lab": snippets((TOP / "docs" / "lab.md").read_text())}
    for page in sorted(TOP.glob("Sources/**/*.docc/*.md")):
        pages[page.stem] = snippets(page.read_text())
    imports = "".join(f"import {module}\n" for module in ["Foundation", *PRODUCTS])
    for file in sorted(TOP.glob("Sources/**/*.swift")):
        name = re.sub(r"\W", "_", f"{file.parent.name}_{file.stem}_")
        pages[name] = [imports + found for found in snippets(commented(file.read_text()))]
    files = {"Package.swift": here(MANIFEST % (PATH, ", ".join(
        f'.product(name: "{product}", package: "latchkey")' for product in PRODUCTS
    )))}
    for page, found in pages.items():
        for index, snippet in enumerate(found, 1):
            name = f"{page}{index}"
            files[f"Sources/Snippets/{name}.swift"] = source(name, snippet)
    count = len(files) - 1
    for example in [*TOP.glob("Examples/CacheLab/Sources/*/*.swift"),
                    *TOP.glob("Examples/OwnLock/Sources/*/*.swift")]:
        if example.name != "main.swift":
            files[f"Sources/Snippets/{example.name}"] = example.read_text()
    files["Sources/Snippets/MyLock.swift"] = "typealias MyLock = BackoffLock\n"
    write(BUILD / "snippets", files)

    swift("build", BUILD / "snippets")
    swift("run", scores, "Scores")
    print(f"snippets: {count} compiled, and README's program is right")


if __name__ == "__main__":
    main()
