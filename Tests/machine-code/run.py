#!/usr/bin/env python3
"""Checks the machine code of a write under some strategies, so that a slower write is noticed.

    Tests/machine-code/run.py --build .build-release/release

Where a write is compiled for its strategy, its code is the lock's fast path, the body, and a call
for the slow path. Otherwise it calls other functions: through a table, to count references, to
allocate. The comparison does not depend on the compiler's choice of registers: the functions that
are called, the number of places of the calls, and roughly the number of instructions.

Besides, store and service are compiled once, not once for each strategy: the size of their
functions that are compiled for one strategy is limited.
"""

import argparse
import collections
import pathlib
import platform
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
INDIRECT = "a function by its address"

# For each function of outside.swift: its number of instructions, and its calls by the type of the
# called functions, each with the number of places.
RECORDED = {
    # The lock and the unlock of NSLock, which is a class that others can inherit from.
    "writeUnderLock": (14, {INDIRECT: 2}),
    "writeUnderSpin": (17, {"SpinLock": 1}),
    "writeUnderAdaptive": (33, {"AdaptiveLock": 3}),
    "withLockUnderAdaptive": (33, {"AdaptiveLock": 3}),
    # The toolchain's own lock: the thread's number, which is read once, and the slow paths.
    "writeUnderMutex": (39, {"__tls_get_addr": 1, "syscall": 2, "_MutexHandle": 2}),
}
# Room for another compiler's choices without a further call. Only counts of this processor compare.
TOLERANCE = 1.25
RECORDED_ON = "x86_64"
CONTROL = "writeUnderAny"

COMPILED_ONCE = ["LatchkeyStore", "LatchkeyFrame", "LatchkeyService"]
SPECIALISED_BYTES_MAX = 150_000
# Its measured loops are compiled for each strategy.
SPECIALISED_CONTROL = "LatchkeyComparison"
STRATEGY = re.compile(r"\bLatchkey(?:Sync|Strategies)\.\w*(?:Lock|Monitor|Strategy|Style)\b")

CALL = re.compile(r"(?:call|callq|bl|blr)\s+(.+)$")
# A jump out of the function is its last call.
JUMP = re.compile(r"(?:jmp|jmpq|b|br)\s+(?!\.L)(.+)$")
SYMBOL = re.compile(r'\*?\(?"?([$\w.]*[A-Za-z_$][$\w.]*)"?(?:@PLT|@GOTPCREL\(%rip\))?\)?$')
REGISTER = re.compile(r"x\d+$")


def assembly(build: pathlib.Path) -> list[str]:
    """The lines of assembly of outside.swift, which is compiled as in a release build."""
    module = build / "CLatchkeySystem.build" / "module.modulemap"
    command = ["swiftc", "-O", "-wmo", "-parse-as-library", "-swift-version", "6",
               "-module-name", "Outside", "-I", str(build / "Modules"),
               "-Xcc", f"-fmodule-map-file={module}", "-emit-assembly", "-o", "-",
               str(HERE / "outside.swift")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def instructions(lines: list[str], function: str) -> list[str]:
    """The instructions of one function, without labels, directives and comments."""
    label = re.compile(rf'"?\$s7Outside{len(function)}{function}.*F"?:')
    start = next(i for i, line in enumerate(lines) if label.match(line))
    body = []
    for line in lines[start + 1:]:
        if line.startswith((".Lfunc_end", "\t.size")):
            return body
        text = re.split(r"#|//", line)[0].strip()
        if text and not text.startswith(".") and not text.endswith(":"):
            body.append(text)
    sys.exit(f"The end of {function} is not in the assembly.")


def demangled(names: list[str], *options: str) -> list[str]:
    return subprocess.run(
        ["swift", "demangle", "--compact", *options], input="\n".join(names) + "\n",
        capture_output=True, text=True, check=True).stdout.splitlines()


def specialised_bytes(build: pathlib.Path, module: str) -> int:
    """The size of the functions of a module that are compiled for one strategy."""
    objects = sorted((build / f"{module}.build").glob("*.o"))
    listed = subprocess.run(["nm", "--print-size", "--defined-only", *objects],
                            capture_output=True, text=True, check=True).stdout
    symbols = [fields for line in listed.splitlines() if len(fields := line.split()) == 4]
    functions = [(int(size, 16), name) for _, size, kind, name in symbols if kind in "tTwW"]
    names = demangled([name for _, name in functions])
    return sum(size for (size, _), name in zip(functions, names)
               if "specialization" in name and STRATEGY.search(name))


def callee(target: str) -> str:
    """The called symbol, or INDIRECT."""
    match = SYMBOL.match(target)
    is_symbol = match and not REGISTER.match(match[1]) and not target.startswith("*%")
    return match[1] if is_symbol else INDIRECT


def calls(body: list[str]) -> collections.Counter:
    """The types of the called functions, and C functions, each with the number of places."""
    found = [match[1].strip() for text in body if (match := CALL.match(text) or JUMP.match(text))]
    names = [callee(target) for target in found]
    readable = demangled(names, "--simplified")
    # "SpinLock.lockSlowly()" is one of SpinLock's.
    return collections.Counter(name.split("(")[0].rsplit(".", 1)[0] for name in readable)


def failures(function: str, body: list[str]) -> list[str]:
    """The differences for the worse from the record."""
    count, allowed = RECORDED[function]
    found = [f"{function}: calls {name} at {places} places, recorded: {allowed.get(name, 0)}"
             for name, places in calls(body).items() if places > allowed.get(name, 0)]
    if platform.machine() == RECORDED_ON and len(body) > count * TOLERANCE:
        found.append(f"{function}: has {len(body)} instructions, recorded: {count}")
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--build", type=pathlib.Path, required=True, help="a release build")
    build = arguments.parse_args().build
    lines = assembly(build)
    found = []
    for function in RECORDED:
        body = instructions(lines, function)
        made = ", ".join(f"{places} × {name}" for name, places in calls(body).items())
        print(f"{function}: {len(body)} instructions; calls {made or 'nothing'}")
        found += failures(function, body)
    if not calls(instructions(lines, CONTROL)):
        found.append(f"{CONTROL}: is not specialised, but no call of it is seen")
    sizes = {module: specialised_bytes(build, module)
             for module in [*COMPILED_ONCE, SPECIALISED_CONTROL]}
    for module, size in sizes.items():
        print(f"{module}: {size / 1e3:.0f} kB of code are compiled for one strategy")
    if sum(sizes[module] for module in COMPILED_ONCE) > SPECIALISED_BYTES_MAX:
        found.append(f"{' and '.join(COMPILED_ONCE)}: more than "
                     f"{SPECIALISED_BYTES_MAX / 1e3:.0f} kB are compiled for one strategy")
    if sizes[SPECIALISED_CONTROL] == 0:
        found.append(f"{SPECIALISED_CONTROL}: no code for one strategy is seen")
    for failure in found:
        print(f"FAIL {failure}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
