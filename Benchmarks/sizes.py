"""Rows of `make bench`: the size of a program that uses one lock of LatchkeySync.

`Sizes` has the same program twice: with `Synchronized` and `adaptive`, and with the standard
library's `Mutex`. Both contain the Swift libraries, and are stripped.
"""

import pathlib
import subprocess
import tempfile

from table import progress, row

TOP = pathlib.Path(__file__).resolve().parent.parent
TARGET = 1.5


def measure_sizes(_):
    sizes = {name: stripped_size(name) for name in ("WithAdaptive", "WithMutex")}
    ratio = sizes["WithAdaptive"] / sizes["WithMutex"]
    note = " ÷ ".join(f"{size / 1e6:.1f} MB" for size in sizes.values())
    return [row("static binary with Synchronized<_, AdaptiveStrategy> ÷ with Mutex", [ratio], "",
                f"≤ {TARGET}", ratio <= TARGET, f"{note}, stripped")]


def stripped_size(name):
    progress(f"building {name}")
    build = ["swift", "build", "--package-path", TOP / "Benchmarks/Sizes", "--scratch-path",
             TOP / ".build-sizes", "--configuration", "release", "--static-swift-stdlib",
             "--product", name]
    subprocess.run(build, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    folder = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True,
                            text=True).stdout.strip()
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, pathlib.Path(folder) / name], check=True)
        return pathlib.Path(stripped.name).stat().st_size
