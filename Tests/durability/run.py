#!/usr/bin/env python3
"""Loses power, kills the process, fills the disk and damages files, and reports what was kept.

    Tests/durability/run.py quick|all --binary .build-release/bin/latchkey
    Tests/durability/run.py power --images 1000 --binary .build-release/bin/latchkey

Each campaign runs `latchkey serve --data` as a process of its own and prints one line with its
figures. With --plant a fault is planted, and the campaign has to find it. The cases are those of
issue 20. Needs only the standard library.
"""

import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Refused  # noqa: E402

import errors  # noqa: E402
import flips  # noqa: E402
import following  # noqa: E402
import held  # noqa: E402
import kill  # noqa: E402
import places  # noqa: E402
import power  # noqa: E402
import readers  # noqa: E402
import shim  # noqa: E402
import switching  # noqa: E402

CAMPAIGNS = {"power": power, "kill": kill, "errors": errors, "flips": flips,
             "places": places, "readers": readers, "held": held, "switching": switching,
             "following": following}
# With --switch: campaigns whose services switch all the time. Without: the others.
SWITCHED = ("switching", "following", "kill", "readers")
# The options for amounts, in the short form and in the long one.
AMOUNTS = {
    "images": (32, 1000, "disks made from the recorded runs"),
    "runs": (1, 4, "recorded runs, each under another strategy"),
    "run_seconds": (2.0, 12.0, "of load in a recorded run"),
    "rounds": (10, 200, "kills"),
    "seconds": (0.3, 0.8, "of load before a kill, at most"),
    "holds": (6, 60, "times that syncs are held"),
    "faults": (20, 600, "times that calls fail"),
    "flips": (20, 1000, "times that each file is damaged"),
    "terms": (2, 16, "ends by SIGTERM"),
    "switches": (8, 200, "under load, from each strategy"),
    "followers": (2, 8, "that are switched"),
}
# The planted fault that each campaign has to find, as a positive control.
CONTROLS = (("power", "wal"), ("power", "all"), ("kill", "cut"), ("kill", "refused"),
            ("errors", "refused"), ("flips", "other"), ("readers", "lost"), ("readers", "changed"),
            ("readers", "left-out"), ("held", "interval"))
SWITCHED_CONTROLS = (("switching", "refused"), ("following", "older"), ("following", "lost"))
# Enough images for a loss to be found.
PLANTED_IMAGES = 12


def main():
    arguments = parse_arguments()
    print(f"seed {arguments.seed}", flush=True)
    names, controls = [arguments.campaign], ()
    if arguments.campaign not in CAMPAIGNS and arguments.switch:
        names, controls = SWITCHED, SWITCHED_CONTROLS
    elif arguments.campaign not in CAMPAIGNS:
        names, controls = [name for name in CAMPAIGNS
                           if name not in ("switching", "following")], CONTROLS
    plans = [*((name, arguments.plant) for name in names), *controls]
    # The library writes to no file that outlives the test, and memory is faster than a disk.
    fast = pathlib.Path("/dev/shm")
    parent = arguments.scratch or (fast if fast.is_dir() and os.access(fast, os.W_OK) else None)
    failed, images = 0, arguments.images
    for name, plant in plans:
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-", dir=parent))
        arguments.plant = plant
        arguments.images = min(images, PLANTED_IMAGES) if plant else images
        arguments.library = shim.build(scratch)
        holds, line = attempt(name, arguments, scratch / "work")
        print(line, flush=True)
        failed += not holds
        if holds or not arguments.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"\n{len(plans) - failed} passed, {failed} failed")
    return 1 if failed else 0


def attempt(name, arguments, scratch):
    """Runs one campaign. Returns whether it passed, and its line."""
    scratch.mkdir()
    began = time.monotonic()
    try:
        figures, fault = CAMPAIGNS[name].run(arguments, scratch), None
    except (Failure, Refused, OSError) as failure:
        figures, fault = None, failure or type(failure).__name__
    seconds = time.monotonic() - began
    if arguments.plant:
        holds = fault is not None
        word = "ok" if holds else "FAILED: was not found:"
        return holds, f"{word} {name}, planted '{arguments.plant}' ({seconds:.1f} s): {fault}"
    word = "ok" if fault is None else "FAILED:"
    return fault is None, f"{word} {name} ({seconds:.1f} s): {figures or fault}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("campaign", choices=["quick", "all", *CAMPAIGNS],
                        help="quick and all: all of them, and what they have to find")
    parser.add_argument("--binary", required=True, type=lambda path: pathlib.Path(path).resolve(),
                        help="the latchkey to run")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="services at once")
    parser.add_argument("--scratch", type=pathlib.Path, help="where files are made")
    parser.add_argument("--keep", action="store_true", help="keep the files of a failure")
    parser.add_argument("--only", action="append", metavar="CASE", help="of places: only this")
    plants = [f"{name} {plant}" for name, campaign in CAMPAIGNS.items()
              for plant in getattr(campaign, "PLANTS", ())]
    parser.add_argument("--plant", help="what is lost on purpose, and has to be found: "
                        + ", ".join(plants))
    parser.add_argument("--option", action="append", default=[], metavar="WORD",
                        help="one more word for `latchkey serve`, such as --option=--profile")
    parser.add_argument("--switch", action="store_true",
                        help="another strategy every 50 ms: " + ", ".join(SWITCHED))
    parser.add_argument("--disturb", action="store_true",
                        help="power: calls fail while it is recorded, too")
    parser.add_argument("--window-seconds", type=float, default=0.0,
                        help="power: acknowledged writes that may be lost (--durability interval)")
    for name, (_, _, text) in AMOUNTS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=text,
                            type=float if "seconds" in name else int)
    arguments = parser.parse_args()
    for name, (short, long, _) in AMOUNTS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, short if arguments.campaign == "quick" else long)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
