"""Tokens that do not count, or do not count any more, and cookies of other pages.

Design: `wrk` sends the wrong ones, as fast as it can, each another one. What the service must keep
meanwhile is what a client with a token gets, its memory, and its silence about what was sent.
"""

import pathlib
import signal
import subprocess
import tempfile
import time

from beside import percentile, resident_bytes
from service import MODES, Failure, Service

SCRIPT = pathlib.Path(__file__).parent / "tokens.lua"
QUICK_SECONDS, SECONDS = 1, 10
# Each case of a request that has no token that counts, as tokens.lua makes them.
KINDS = ("whole", "short", "cookie", "none")
# What thousands of refused requests may leave behind: buffers of the connections.
GROWTH_BYTES_MAX = 8 << 20
ANSWER_SECONDS = 20
# 32 requests are always ahead of the owner's; the clients take the same processors.
OWNER_SECONDS_MAX = 1


def create(binary, folder):
    """A file of tokens, and the one that counts."""
    lines = pathlib.Path(folder) / "tokens"
    made = subprocess.run(
        [binary, "token", "create", "owner", "--grant", "read,write", "--token-file", lines],
        capture_output=True, text=True, timeout=30, check=True)
    return lines, {"Authorization": f"Bearer {made.stdout.strip()}"}


def wrong(run, mode):
    """Wrong tokens change nothing, take no memory, and keep no one out."""
    seconds = QUICK_SECONDS if run.quick else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        lines, owner = create(run.binary, folder)
        with Service(run.binary, "--token-file", lines, *MODES[mode]) as service:
            service.ask("PUT", "/v1/properties/n", "1", owner)
            rates, before, times = [], None, []
            for kind in KINDS:
                load = subprocess.Popen(
                    ["wrk", "-t1", "-c32", f"-d{seconds}s", "-s", SCRIPT,
                     service.url("/v1/properties/n"), "--", kind],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                while load.poll() is None:
                    began = time.monotonic()
                    status, _, body = service.ask("GET", "/v1/properties/n", headers=owner)
                    if (status, body) != (200, b"1"):
                        raise Failure(f"{kind}: the owner gets {status} {body!r}")
                    times.append(time.monotonic() - began)
                count, refused = map(int, load.stdout.read().rsplit("answers ", 1)[1].split())
                if count == 0 or refused != count:
                    raise Failure(f"{kind}: {count - refused} of {count} were not refused")
                rates.append(f"{kind} {count // seconds}/s")
                before = before or resident_bytes(service)
            growth = resident_bytes(service) - before
            if growth > GROWTH_BYTES_MAX:
                raise Failure(f"{growth} bytes more are resident")
            slow = percentile(times, 99)
            if slow > OWNER_SECONDS_MAX:
                raise Failure(f"99 % of the owner's requests take {slow:.2f} s")
            service.terminate()
            status = service.wait(15)
            if status != 0 or b"lk_" in service.log.kept:
                raise Failure(f"status {status}, or a token in the log")
            return (", ".join(rates) + f", {growth >> 10} KiB more; the owner, with a connection "
                    f"for each of {len(times)} requests: p50 {1000 * percentile(times, 50):.0f} "
                    f"ms, p99 {1000 * slow:.0f} ms")


def revoked(run, mode):
    """A token that is revoked while its watch runs: the watch ends, and says why."""
    rounds = 1 if run.quick else 10
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        lines, owner = create(run.binary, folder)
        held, without = lines.read_text(), create(run.binary, other)[0].read_text()
        with Service(run.binary, "--token-file", lines, *MODES[mode]) as service:
            for _ in range(rounds):
                await_status(service, owner, 200)
                watch = service.connection(ANSWER_SECONDS)
                watch.request("GET", "/v1/watch", headers=owner)
                answer = watch.getresponse()
                lines.write_text(without)
                service.process.send_signal(signal.SIGHUP)
                text = answer.read()
                watch.close()
                if answer.status != 200 or b"event: close\n" not in text:
                    raise Failure(f"the watch gets {answer.status}, and at last {text[-80:]!r}")
                await_status(service, owner, 401)
                lines.write_text(held)
                service.process.send_signal(signal.SIGHUP)
    return f"{rounds} ended"


def await_status(service, headers, status):
    end = time.monotonic() + ANSWER_SECONDS
    while service.ask("GET", "/v1/properties", headers=headers)[0] != status:
        if time.monotonic() > end:
            raise Failure(f"no {status}")


def foreign(run, mode):
    """A cookie counts for pages of the service, as long as it is whole."""
    with tempfile.TemporaryDirectory() as folder:
        lines, owner = create(run.binary, folder)
        flags = ("--token-file", lines, *MODES[mode])
        with Service(run.binary, *flags) as service, Service(run.binary, *flags) as another:
            cookie = session(service, owner)
            changed = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
            asked = [
                (service, cookie, {}, 200),
                (service, cookie, {"Sec-Fetch-Site": "same-origin"}, 200),
                (service, cookie, {"Sec-Fetch-Site": "cross-site"}, 403),
                (service, cookie, {"Sec-Fetch-Site": "same-site"}, 403),
                (service, cookie, {"Origin": "http://evil.example"}, 403),
                (service, cookie, {"Origin": "null"}, 403),
                (service, changed, {}, 401), (service, cookie[:-64], {}, 401),
                (service, session(another, owner), {}, 401), (another, cookie, {}, 401),
            ]
            for target, sent, headers, status in asked:
                found, _, _ = target.ask("GET", "/v1/properties", None, {"Cookie": sent, **headers})
                if found != status:
                    raise Failure(f"{headers}: {found} instead of {status}")
    return f"{len(asked)} requests"


def session(service, owner):
    """A cookie, as a browser sends it."""
    status, headers, _ = service.ask("POST", "/v1/session", "", owner)
    if status != 204 or not headers["Set-Cookie"]:
        raise Failure(f"no session: {status}")
    return headers["Set-Cookie"].split(";")[0]


CASES = {"wrong-tokens": wrong, "revoked-token": revoked, "foreign-cookie": foreign}
