"""Tokens that do not count, as fast as they can be sent, from few and from many addresses.

Design: `wrk` sends them, each another one. What the service must keep meanwhile is what a client
with a token gets, its memory, and its silence about what was sent.
"""

import pathlib
import subprocess
import tempfile

from service import MODES, Failure, Service

SCRIPT = pathlib.Path(__file__).parent / "tokens.lua"
QUICK_SECONDS, SECONDS = 1, 10
# Each case of a request that has no token that counts, as tokens.lua makes them.
KINDS = ("whole", "short", "cookie", "none")
# What thousands of refused requests may leave behind: buffers of the connections.
GROWTH_BYTES_MAX = 8 << 20


def create(binary, folder):
    """A file of tokens, and the one that counts."""
    lines = pathlib.Path(folder) / "tokens"
    made = subprocess.run(
        [binary, "token", "create", "owner", "--grant", "read,write", "--token-file", lines],
        capture_output=True, text=True, timeout=30, check=True)
    return lines, {"Authorization": f"Bearer {made.stdout.strip()}"}


def resident_bytes(service):
    with open(f"/proc/{service.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def wrong(run, mode):
    """Wrong tokens change nothing, take no memory, and keep no one out."""
    seconds = QUICK_SECONDS if run.quick else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        lines, owner = create(run.binary, folder)
        with Service(run.binary, "--token-file", lines, *MODES[mode]) as service:
            service.ask("PUT", "/v1/properties/n", "1", owner)
            rates, before = [], None
            url = "http://{}:{}/v1/properties/n".format(*service.address)
            for kind in KINDS:
                load = subprocess.Popen(
                    ["wrk", "-t1", "-c32", f"-d{seconds}s", "-s", SCRIPT, url, "--", kind],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                served = 0
                while load.poll() is None:
                    status, _, body = service.ask("GET", "/v1/properties/n", headers=owner)
                    if (status, body) != (200, b"1"):
                        raise Failure(f"{kind}: the owner gets {status} {body!r}")
                    served += 1
                count, refused = map(int, load.stdout.read().rsplit("answers ", 1)[1].split())
                if count == 0 or refused != count:
                    raise Failure(f"{kind}: {count - refused} of {count} were not refused")
                rates.append(f"{kind} {count // seconds}/s")
                before = before or resident_bytes(service)
            growth = resident_bytes(service) - before
            if growth > GROWTH_BYTES_MAX:
                raise Failure(f"{growth} bytes more are resident")
            service.terminate()
            status = service.wait(15)
            if status != 0 or b"lk_" in service.log.kept:
                raise Failure(f"status {status}, or a token in the log")
            return ", ".join(rates) + f", {growth >> 10} KiB more"


CASES = {"wrong-tokens": wrong}
