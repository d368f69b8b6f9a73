"""Whether recorder and images find losses where they are: on writer.py, without the service."""

import bisect
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import random

import images
import shim
import writer
from process import Failure

COMMITS = 120


def run(arguments, scratch):
    figures = []
    for level in ("full", "normal", "off"):
        found = count_faults(level, arguments, pathlib.Path(scratch) / level)
        faults = sum(found.values())
        figures.append(f"{level}: {dict(found) or 'nothing lost'}")
        if (level == "full") != (faults == 0):
            raise Failure(f"of {arguments.images} images, {', '.join(figures)}")
        if level == "off" and not found["damaged"]:
            raise Failure(f"no image of synchronous = OFF is damaged: {figures}")
    return f"{arguments.images} images each; {'; '.join(figures)}"


def count_faults(level, arguments, folder):
    (folder / "disk").mkdir(parents=True)
    environment = shim.environment(arguments.library, folder / "disk", folder / "record")
    output = subprocess.run(
        [sys.executable, writer.__file__, folder / "disk", level, str(COMMITS)], check=True,
        stdout=subprocess.PIPE, text=True, env=os.environ | environment).stdout
    times = [int(line.split()[1]) for line in output.splitlines()]
    entries = images.read_record(folder / "record")
    disk = images.Disk(folder / "disk")
    points = images.choose_points(entries, arguments.images, random.Random(arguments.seed))
    found = collections.Counter()
    for _, path, time, how in images.each_image(entries, disk, points, folder / "images",
                                                arguments.seed, None):
        fault = writer.check(path, bisect.bisect_left(times, time))
        if fault:
            found[fault.split(":")[0]] += 1
            if arguments.verbose:
                print(f"{level}, {how}: {fault}")
        shutil.rmtree(path)
    if disk.differences():
        raise Failure(f"changes of these files were not recorded: {disk.differences()}")
    return found
