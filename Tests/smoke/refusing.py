"""Processes whose environment lacks something: refused system calls, no /proc, no parent.

A filter of system calls needs no rights (seccomp(2)). A case that needs a namespace says so if the
machine does not allow one.
"""

import ctypes
import os
import platform
import struct
import subprocess

from process import Failure

# Numbers of system calls on both supported processors.
CALLS = {
    "x86_64": {"clone": 56, "sysinfo": 99, "setpriority": 141, "clone3": 435},
    "aarch64": {"clone": 220, "sysinfo": 179, "setpriority": 140, "clone3": 435},
}[platform.machine()]
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
KILL, ERROR, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
LOAD, IS_EQUAL, HAS_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
ARGUMENT = 16  # the offset of the first one in struct seccomp_data
CLONE_THREAD = 0x10000


class Refusal:
    """Runs before the program begins: some system calls then get an answer and do nothing.

    `answers` are pairs of a call and an errno, or None: then the process is killed. A call named
    `thread` is a clone() that makes one.
    """

    def __init__(self, *answers):
        code = [(LOAD, 0, 0, 0)]
        for name, error in answers:
            answer = (RETURN, 0, 0, KILL if error is None else ERROR | error)
            if name == "thread":
                code += [(IS_EQUAL, 0, 4, CALLS["clone"]), (LOAD, 0, 0, ARGUMENT),
                         (HAS_BITS, 0, 1, CLONE_THREAD), answer, (LOAD, 0, 0, 0)]
            else:
                code += [(IS_EQUAL, 0, 1, CALLS[name]), answer]
        code.append((RETURN, 0, 0, ALLOW))
        # Made here, because code in the child must not allocate memory.
        self.library = ctypes.CDLL(None, use_errno=True)
        self.code = ctypes.create_string_buffer(
            b"".join(struct.pack("HBBI", *line) for line in code))
        self.filter = ctypes.create_string_buffer(
            struct.pack("HxxxxxxP", len(code), ctypes.addressof(self.code)))

    def __call__(self):
        if (self.library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                or self.library.prctl(PR_SET_SECCOMP, FILTER, self.filter, 0, 0) != 0):
            raise OSError(ctypes.get_errno(), "seccomp")


class Absent(Exception):
    """The machine lacks something that a case needs."""


def apart(*options):
    """Words that run a program in namespaces of its own; only root surely has the right."""
    words = ["unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), *options]
    try:
        done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Absent(str(error)) from error
    if done.returncode != 0:
        raise Absent(done.stderr.strip())
    return words


def preloaded(folder, source, library):
    """The variables by which a program loads a library that is made from C source."""
    path, file = folder / library, folder / f"{library}.c"
    file.write_text(source)
    done = subprocess.run(["cc", "-shared", "-fPIC", "-o", path, file], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"cc: {done.stderr}")
    return {"LD_PRELOAD": str(path)}
