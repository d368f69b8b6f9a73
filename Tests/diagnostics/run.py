#!/usr/bin/env python3
"""Checks the compiler's messages for wrong uses of LatchkeySync: a helpful sentence at the wrong
line, and nothing elsewhere."""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WRONG = HERE / "wrong.swift"
EXPECTED = re.compile(r"// (error|warning): (.+)$")
FOUND = re.compile(r"^[^ ]*wrong\.swift:(\d+):\d+: (error|warning): (.+)$")


def compiled(build: pathlib.Path) -> str:
    """The output of the compiler, which only checks the types."""
    command = ["swiftc", "-typecheck", "-swift-version", "6", "-strict-memory-safety"]
    command += ["-I", str(build / "Modules")]
    module = build / "CLatchkeySystem.build" / "module.modulemap"
    command += ["-Xcc", f"-fmodule-map-file={module}", str(WRONG)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--build", type=pathlib.Path, required=True, help="a debug build")
    output = compiled(arguments.parse_args().build)

    found: dict[int, list[str]] = {}
    for line in output.splitlines():
        if match := FOUND.match(line):
            found.setdefault(int(match[1]), []).append(f"{match[2]}: {match[3]}")

    failures = []
    lines = WRONG.read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        said = found.get(number, [])
        match = EXPECTED.search(line)
        if match and not any(s.startswith(match[1]) and match[2] in s for s in said):
            failures.append(f"wrong.swift:{number}: not said: {match[1]}: {match[2]}; but {said}")
        if not match and said:
            failures.append(f"wrong.swift:{number}: said of a right line: {said}")
        failures += [f"wrong.swift:{number}: {s}" for s in said if "failed to produce" in s]
    if not found:
        failures.append(f"The compiler said nothing about wrong.swift:\n{output}")
    for failure in failures:
        print(f"FAIL {failure}")
    count = sum(bool(EXPECTED.search(line)) for line in lines)
    print(f"{count} wrong lines, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
