"""Runs wrk and reads its figures."""

import json
import pathlib
import signal
import subprocess

SCRIPT = pathlib.Path(__file__).parent / "load.lua"


def drive(url, kind, seconds, connections=32, arguments=()):
    """Loads `url` for about `seconds`, which need not be whole, and returns the report's line.

    `kind` is the kind of requests of load.lua.


    wrk counts in whole seconds. For less it is interrupted, and still prints its report.
    """
    whole = max(1, round(seconds))
    command = [
        "wrk", "-t1", f"-c{connections}", f"-d{whole}s", "--timeout", "10s",
        "-s", SCRIPT, url, "--", kind, *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)
    try:
        output, _ = process.communicate(timeout=seconds if seconds < whole else whole + 30)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    for line in output.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    raise RuntimeError(f"wrk printed no report: {output}")


def rate(report):
    """Answers a second."""
    return report["requests"] / report["seconds"]


def socket_errors(report):
    return sum(report[kind] for kind in ("connect", "read", "write", "timeout"))
