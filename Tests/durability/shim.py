"""Builds powerloss.c and puts it in front of a program. See there for what it does."""

import mmap
import os
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent / "powerloss.c"
CALLS = ("none", "open", "write", "truncate", "sync", "allocate", "unlink")
ACTIONS = ("none", "no-space", "io-error", "short", "short-then-no-space", "slow",
           "synced-io-error")
ALWAYS = 1 << 40
# struct control: call, action, skip, count, fired, slow_ns, clock_shift_ns, seen[]
HEAD = struct.Struct("=IIqqqqq")
SEEN = struct.Struct(f"={len(CALLS)}q")


def build(folder):
    """Returns the path of the library."""
    library = pathlib.Path(folder) / "powerloss.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
                    "-pthread", "-o", library, SOURCE], check=True)
    return library


def environment(library, folder, record=None, control=None, without=None):
    """What a program gets so that the library watches it."""
    values = {"LD_PRELOAD": library, "LATCHKEY_POWERLOSS_FOLDER": pathlib.Path(folder).resolve(),
              "LATCHKEY_POWERLOSS_RECORD": record, "LATCHKEY_POWERLOSS_CONTROL": control,
              "LATCHKEY_POWERLOSS_WITHOUT": without}
    return {name: str(value) for name, value in values.items() if value is not None}


class Control:
    """Makes calls fail, at any time."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(HEAD.size + SEEN.size)
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), HEAD.size + SEEN.size)

    def arm(self, call, action, skip=0, count=1, slow_seconds=0.0):
        """After `skip` calls that succeed, `count` fail."""
        self.disarm()
        struct.pack_into("=Iqqqq", self.memory, 4, 0, 0, 0, 0, 0)
        struct.pack_into("=I", self.memory, 4, ACTIONS.index(action))
        struct.pack_into("=qqqq", self.memory, 8, skip, count, 0, int(slow_seconds * 1e9))
        struct.pack_into("=I", self.memory, 0, CALLS.index(call))

    def disarm(self):
        struct.pack_into("=I", self.memory, 0, 0)

    def shift_clock(self, seconds):
        struct.pack_into("=q", self.memory, HEAD.size - 8, int(seconds * 1e9))

    @property
    def fired(self):
        return HEAD.unpack_from(self.memory)[4]

    @property
    def seen(self):
        """How many calls of each kind there were."""
        return dict(zip(CALLS, SEEN.unpack_from(self.memory, HEAD.size)))
