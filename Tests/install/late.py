#!/usr/bin/env python3
"""Checks by the unit when systemd starts the program again, and whether it gives up.

    unshare --net Tests/install/late.py BINARY UNIT

No systemd runs. The program is started and ends as it does there, and a simulated clock shows which
starts the unit allows. The network has only a loopback interface, whose further address comes late.
Needs only the standard library.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey, Refused, Server, expect, run  # noqa: E402

ADDRESS = "192.0.2.7"
LATE_SECONDS = 120
# For systemd, these ends are successes besides status 0.
CLEAN = {-signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE}
# Without these lines, systemd gives up after five starts in a second.
PATIENT = ("StartLimitIntervalSec=0\n", "RestartSec=5\n")


class Started(Latchkey):
    """`latchkey serve` with all its flags."""

    def __init__(self, binary, log, *options):
        Server.__init__(self, binary, "serve", "--insecure", *options, log=log)


class Unit:
    """The settings of a unit that decide about starts, with the defaults of systemd."""

    def __init__(self, text):
        self.settings = dict(line.split("=", 1) for line in text.splitlines()
                             if "=" in line and not line.startswith("#"))

    def seconds(self, name, default):
        return float(self.settings.get(name, default))

    def starts_again(self, status):
        """Whether it starts after this exit status, or after this signal if it is below 0."""
        name = str(status) if status >= 0 else signal.Signals(-status).name
        if name in self.settings.get("RestartPreventExitStatus", "").split():
            return False
        if name in self.settings.get("RestartForceExitStatus", "").split():
            return True
        return self.settings.get("Restart") == "on-failure" and status != 0 and status not in CLEAN

    def check_start(self, starts):
        """Fails if the last start exceeds the unit's limit."""
        interval = self.seconds("StartLimitIntervalSec", 10)
        recent = [start for start in starts if start > starts[-1] - interval]
        if len(recent) > int(self.settings.get("StartLimitBurst", 5)):
            raise Failure(f"systemd gives up after {starts[-1]:.1f} s")


def await_start(unit, service, come):
    """Starts until the service answers; its condition comes late. Returns the number of starts."""
    now, starts, has_come = 0.0, [], False
    while True:
        starts.append(now)
        unit.check_start(starts)
        if now >= LATE_SECONDS and not has_come:
            has_come = True
            come()
        try:
            with service:
                service.ask("GET", "/healthz", expect=(200,))
            return len(starts)
        except Refused as refusal:
            if has_come or not unit.starts_again(refusal.status):
                raise
        now += unit.seconds("RestartSec", 0.1)


def late_address(binary, unit, log):
    run("ip", "address", "flush", "dev", "lo")
    run("ip", "address", "add", "127.0.0.1/8", "dev", "lo")
    return await_start(unit, Started(binary, log, "--host", ADDRESS, "--port", 0),
                       lambda: run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"))


def late_port(binary, unit, log):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        return await_start(unit, Started(binary, log, "--port", other.getsockname()[1]),
                           other.close)


def check_ends(binary, unit):
    """The ends that the program really has, and those with other causes."""
    wrong = subprocess.run([binary, "serve", "--no-such-flag"], capture_output=True, check=False)
    expect("a start after a wrong flag", unit.starts_again(wrong.returncode), False)
    with Latchkey(binary) as service:
        expect("a start after SIGTERM", unit.starts_again(service.end()), False)
    for killed in (signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP):
        expect(f"a start after {killed.name}", unit.starts_again(-killed), True)


def gives_up(binary, text, log):
    try:
        late_address(binary, Unit(text), log)
    except Failure as failure:
        return "gives up" in str(failure)
    return False


def main():
    binary, text = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text("utf-8")
    unit = Unit(text)
    run("ip", "link", "set", "lo", "up")
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        check_ends(binary, unit)
        counts = late_address(binary, unit, log), late_port(binary, unit, log)
        if not gives_up(binary, text.replace(PATIENT[0], "").replace(PATIENT[1], ""), log):
            raise Failure("a unit that gives up is overlooked")
    print(f"{counts[0]} starts until the address came, {counts[1]} until the port was free")


if __name__ == "__main__":
    try:
        main()
    except Failure as error:
        sys.exit(str(error))
