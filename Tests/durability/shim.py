"""Builds powerloss.c and preloads it into a program. See there for its features."""

import mmap
import os
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent / "powerloss.c"
CALLS = ("none", "open", "write", "truncate", "sync", "allocate", "unlink")
ACTIONS = ("none", "no-space", "io-error", "short", "short-then-no-space", "slow",
           "synced-io-error", "held")
ALWAYS = 1 << 40
PLACES = ("anywhere", "log", "elsewhere")
# struct fault: call, action, place, unused, skip, count, fired; two of them in struct control,
# followed by slow_ns and clock_shift_ns.
FAULT = struct.Struct("=IIIIqqq")
SLOTS = 2
SLOW, SHIFT = SLOTS * FAULT.size, SLOTS * FAULT.size + 8
SIZE = SHIFT + 8


def build(folder):
    """Returns the path of the library."""
    library = pathlib.Path(folder) / "powerloss.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
                    "-pthread", "-o", library, SOURCE], check=True)
    return library


def environment(library, folder, record=None, control=None, without=None):
    """The environment variables by which the library watches a program."""
    values = {"LD_PRELOAD": library, "POWERLOSS_FOLDER": pathlib.Path(folder).resolve(),
              "POWERLOSS_RECORD": record, "POWERLOSS_CONTROL": control,
              "POWERLOSS_WITHOUT": without}
    return {name: str(value) for name, value in values.items() if value is not None}


class Control:
    """Makes calls fail, at any time."""

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(SIZE)
            self.memory = mmap.mmap(file.fileno(), SIZE)

    def arm(self, call, action, skip=0, count=1, place="anywhere", slot=0, slow_seconds=2.0):
        """After `skip` calls that succeed, `count` fail."""
        struct.pack_into("=I", self.memory, slot * FAULT.size, 0)
        struct.pack_into("=q", self.memory, SLOW, int(slow_seconds * 1e9))
        FAULT.pack_into(self.memory, slot * FAULT.size, 0, ACTIONS.index(action),
                        PLACES.index(place), 0, skip, count, 0)
        # Last: this makes the fault active.
        struct.pack_into("=I", self.memory, slot * FAULT.size, CALLS.index(call))

    def disarm(self):
        for slot in range(SLOTS):
            struct.pack_into("=I", self.memory, slot * FAULT.size, 0)

    def shift_clock(self, seconds):
        struct.pack_into("=q", self.memory, SHIFT, int(seconds * 1e9))

    @property
    def held(self):
        """The number of calls that are held now, if syncs are held."""
        call, action, *_, fired = FAULT.unpack_from(self.memory)
        return fired if CALLS[call] != "none" and ACTIONS[action] == "held" else 0

    @property
    def fired(self):
        return FAULT.unpack_from(self.memory)[-1]
