"""Tests clients/python against the running service.

    python_package.py BINARY [--without-types]

Runs with the Python of .build-tools, which has httpx, mypy and ruff. A proxy cuts connections, and
the service is restarted.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import httpx

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
PACKAGE = TOP / "clients" / "python"
sys.path[:0] = [str(TOP / "scripts"), str(PACKAGE / "src")]

import process  # noqa: E402
from faulty import FaultyProxy  # noqa: E402
from expecting import ManualClock, at_once, expect, refused, timed  # noqa: E402
import holding  # noqa: E402
import latchkey  # noqa: E402
from latchkey import Latchkey  # noqa: E402
import python_holding  # noqa: E402
import python_processes  # noqa: E402
import python_units  # noqa: E402
import watching  # noqa: E402

# Names that a client must encode, and some that a path would swallow.
NAMES = ("a b/ü?#%&+", "..", ".", "line\u2028separator", "a%2Fb")
COMMAND_SECONDS_MAX = 300


def check_types():
    tools, sources = pathlib.Path(sys.executable).parent, PACKAGE / "src" / "latchkey"
    commands = [
        [tools / "mypy", "--strict", "--no-error-summary", "--cache-dir=/dev/null", sources],
        [tools / "ruff", "check", "--quiet", "--no-cache", "--line-length=100",
         "--select=E,F,W,B,UP,SIM,RET,PIE,C4", "--target-version=py310", sources]]
    if (tools / "basedpyright").exists():
        commands.append([tools / "basedpyright", "--project", PACKAGE, "--pythonpath",
                         sys.executable])
    for command in commands:
        subprocess.run(command, check=True, timeout=COMMAND_SECONDS_MAX)


def check_values(client):
    for name in NAMES:
        expect(client.find(name), None)
        revision = client.put(name, {"of": name})
        found = client.get(name)
        expect((found.value, found.revision, found.created), ({"of": name}, revision, revision))
        expect(client.delete(name), True)
        expect(client.delete(name), False)
    refused(latchkey.NotFound, client.get, "none")
    expect((client.increment("n"), client.increment("n", -5)), (1, -4))
    client.put("text", "x")
    refused(latchkey.NotAnInteger, client.increment, "text")
    expect(client.merge("o", {"a": 1, "b": 2}), {"a": 1, "b": 2})
    expect(client.merge("o", {"a": None}), {"b": 2})
    first = client.get("o").revision
    client.put("o", 2)
    expect(client.get("o", revision=first).value, {"b": 2})


def check_conditions(client):
    first = client.put("c", 1, if_absent=True)
    refused(latchkey.PreconditionFailed, client.put, "c", 2, if_absent=True)
    second = client.put("c", 2, if_revision=first)
    for call in (lambda: client.put("c", 3, if_revision=first),
                 lambda: client.merge("c", 3, if_revision=first),
                 lambda: client.touch("c", 9, if_revision=first),
                 lambda: client.delete("c", if_revision=first)):
        error = refused(latchkey.PreconditionFailed, call)
        expect((error.status, error.type), (412, "precondition-failed"))
    expect(client.get("c").value, 2)
    expect(client.delete("c", if_revision=second), True)


def check_times_to_live(client):
    client.increment("window", ttl_if_new=50)
    client.increment("window", ttl_if_new=500)
    expect(40 < client.get("window").ttl <= 50, True)
    revision = client.get("window").revision
    expect(client.touch("window", 500), revision)
    expect(400 < client.get("window").ttl <= 500, True)
    expect(client.get("window").value, 2)
    client.put("window", 1)
    expect(client.get("window").ttl, None)
    refused(latchkey.NotFound, client.touch, "none", 5)
    expect(client.wait("late", wait=0.1), None)
    with at_once(lambda: client.wait("late", wait=20)) as waiting:
        client.put("late", 1)
    expect(waiting.value.value, 1)


def check_several(client):
    for start in range(0, 1100, 100):
        client.transaction([{"put": f"many/{n:04}", "value": n} for n in range(start, start + 100)])
    expect([row.value for row in client.list("many/")], list(range(1100)))
    expect({row.value for row in client.list("many/", values=False)}, {None})
    expect(client.count("many/"), 1100)
    found = client.get_many(["many/0007", "none", *NAMES])
    expect({name: row.value for name, row in found.items()}, {"many/0007": 7})
    expect(client.get_many([]), {})
    expect(client.delete_prefix("many/"), 1100)
    expect(client.count("many/"), 0)


def check_transactions(client):
    client.put("tx/t", 5)
    done = client.transaction(
        [{"increment": "tx/t"}, {"get": "tx/t"}, {"count": "tx/"}], when=[{"name": "tx/t", "<": 6}],
        otherwise=[{"delete": "tx/t"}])
    expect((done.succeeded, [row.value for row in done.results[:2]], done.results[2].count),
           (True, [6, 6], 1))
    done = client.transaction([], when=[{"name": "tx/t", "!=": 6}], otherwise=[{"delete": "tx/t"}])
    expect((done.succeeded, client.find("tx/t")), (False, None))
    with at_once(lambda: client.transaction(
            [{"delete": "go"}], when=[{"name": "go", "exists": True}], wait=20)) as waiting:
        client.put("go", 1)
    expect((waiting.value.succeeded, client.find("go")), (True, None))
    refused(latchkey.Problem, client.transaction, [{"touch": "none", "ttl": 1}])


def check_queue(client):
    expect(client.pop("q/"), None)
    for number in range(3):
        client.put(f"q/{number}", number)
    expect(client.pop("q/").value, 0)
    first = client.claim("q/", claims="c/", ttl=5, value="me")
    second = client.claim("q/", claims="c/", ttl=5)
    expect((first.value, second.value, client.claim("q/", claims="c/")), (1, 2, None))
    expect(client.get("c/1").value, "me")
    first.abandon()
    again = first.finish_and_claim
    refused(latchkey.LeaseLost, again)
    taken = client.claim("q/", claims="c/", ttl=5)
    expect(taken.job.name, "q/1")
    taken.finish({"increment": "done"})
    second.finish({"increment": "done"})
    expect((client.count("q/"), client.count("c/"), client.get("done").value), (0, 0, 2))
    with at_once(lambda: client.pop("q/", wait=20)) as waiting:
        client.put("q/late", 1)
    expect(waiting.value.name, "q/late")
    check_work(client)


def check_work(client):
    """A job whose handler raises is available again at once; the others are done."""
    for number in range(20):
        client.put(f"w/{number:02}", number)
    done, failed = [], []

    def handle(claim):
        if claim.value == 7 and not failed:
            failed.append(7)
            raise ValueError("planted")
        done.append(claim.value)
        return [{"increment": "worked"}]

    refused(ValueError, client.work, "w/", handle, claims="wc/", ttl=5, wait=0)
    expect(done, list(range(7)))
    expect(client.work("w/", handle, claims="wc/", ttl=5, wait=0), 13)
    expect((done, client.count("w/"), client.count("wc/")), (list(range(20)), 0, 0))
    expect(client.get("worked").value, 20)


def check_polls(_):
    """A poll that ends before its time, as behind a proxy, is repeated."""
    clock, asked = ManualClock(), []

    def answer(request):
        wait = request.url.params.get("wait")
        asked.append((request.method, wait, request.headers.get("If-None-Match")))
        clock.time += min(20, float(wait))
        if request.method == "POST":
            return httpx.Response(200, json={"succeeded": False, "revision": 1, "results": []})
        if "after=7" in str(request.url):
            return httpx.Response(304, headers={"ETag": '"7"'})
        return httpx.Response(404, json={"type": "/problems/not-found"}, headers={
            "Content-Type": "application/problem+json"})

    def waits(*pieces, after=7):
        expect(asked, [("GET", wait, f'"{after}"') for wait in pieces])
        asked.clear()

    with Latchkey("http://service", http=lambda: httpx.AsyncClient(
            transport=httpx.MockTransport(answer))) as client:
        client._client._settings.clock = clock
        expect(client.wait("a", 7, wait=50), None)
        waits("50", "30", "10")
        expect(client.wait("a", 7, wait=100), None)
        waits("60", "60", "60", "40", "20")
        expect(client.wait("a", wait=30), None)
        waits("30", "10", after=0)
        # The shortest wait that a client can ask for is not written with an exponent.
        expect(client.wait("a", 7, wait=0.00005), None)
        waits("0.001")
        expect(client.transaction([], wait=0.00005).succeeded, False)
        expect(asked, [("POST", "0.001", None)])


def check_repeats(binary):
    """Each write is made once, although many answers are cut off."""
    with process.Latchkey(binary) as service:
        bounds = itertools.cycle([40, 400, 90])
        with FaultyProxy(service.address, lambda: next(bounds)) as proxy, \
                Latchkey(proxy.url) as client, Latchkey(proxy.url, keys=False) as unsure:
            sums = [client.increment("n") for _ in range(20)]
            expect(sums, list(range(1, 21)))
            expect(proxy.cut_count > 10, True)
            # Without keys a call whose answer is lost is not repeated.
            refused(latchkey.OutcomeUnknown, lambda: [unsure.increment("m") for _ in range(9)])
            expect([unsure.get("n").value for _ in range(9)], [20] * 9)
    few = {"max-idempotency-keys": 3}
    with process.Latchkey(binary, "--client-share", "1/1", limits=few) as service, \
            Latchkey(service.url) as client:
        expect([client.increment("n") for _ in range(9)], list(range(1, 10)))
    with Latchkey(service.url, patience=0.3) as client:
        refused(latchkey.Unreachable, client.get, "n")
        refused(latchkey.Unreachable, client.put, "n", 1)


def check_access(binary):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        token = process.create_token(binary, folder / "lines", "ann", "read,write:a/")
        certificate, key = process.create_certificate(folder)
        with process.Latchkey(
                binary, "--token-file", folder / "lines", "--tls-certificate", certificate,
                "--tls-key", key) as service:
            # The certificate is for this name.
            url = f"https://localhost:{service.address[1]}"
            with Latchkey(url, token=token, ca=str(certificate)) as client:
                client.put("a/1", 1)
                refused(latchkey.Forbidden, client.put, "b/1", 1)
                refused(latchkey.Forbidden, next, client.watch("b/"))
                with client.watch("a/", initial=True) as watch, at_once(lambda: [*watch]) as reader:
                    process.await_true("the state came", lambda: watch.last_id)
                    watch.close()
                expect([event.type for event in reader.value], ["put", "ready"])
            with Latchkey(url, ca=str(certificate)) as client:
                refused(latchkey.Unauthorized, client.get, "a/1")
            with Latchkey(url, token=token, patience=0.2) as client:
                refused(latchkey.Unreachable, client.get, "a/1")


def main():
    binary = sys.argv[1]
    if sys.argv[2:] != ["--without-types"]:
        check_types()
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        for check in (check_values, check_conditions, check_times_to_live, check_several,
                      check_transactions, check_queue):
            timed(check.__name__, check, client)
    for check in (*python_units.CHECKS, *python_holding.CHECKS,
                  check_polls, check_repeats, check_access, *watching.CHECKS, *holding.CHECKS,
                  *python_processes.CHECKS):
        timed(check.__name__, check, binary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
