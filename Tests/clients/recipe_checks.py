"""Checks the promises of each recipe of docs/recipes.md."""

import collections
import itertools
import json
import os
import re
import signal
import threading

from expecting import expect
from faulty import FaultyProxy
from latchkey import Latchkey
import process
from process import PATIENCE_SECONDS, Failure, await_true
from recipes import kill

JOBS, WORKERS, JOB_REQUESTS_MAX = 200, 8, 450
LOCKERS, SECTIONS, LOCK_REQUESTS_MAX = 10, 50, 150


def feature_flags(recipe):
    recipe.run_curls()
    program = recipe.load(0)
    await_true("the flags come", lambda: program["flags"])
    users = [f"user {number}" for number in range(1000)]
    on = {user for user in users if program["is_on"]("checkout", user)}
    expect((150 < len(on) < 250, program["is_on"]("none", "ada")), (True, False))
    recipe.client.merge("flags/checkout", {"percent": 40})
    await_true("the change comes", lambda: program["flags"]["flags/checkout"]["percent"] == 40)
    expect(on - {user for user in users if program["is_on"]("checkout", user)}, set())
    recipe.client.put("flags/checkout", {"on": False})
    await_true("it goes off", lambda: not program["is_on"]("checkout", next(iter(on))))


def configuration(recipe):
    """The program starts with an empty service."""
    program = recipe.start(0, "def connect(host, port):\n    record(host, port)\n")
    await_true("it watches", lambda: recipe.service.metrics()["latchkey_watchers"] == 1)
    recipe.run_curls()
    recipe.wait_for_records(1)
    expect(program.poll(), None)
    for number in range(200):
        recipe.client.transaction([{"put": "config/db/host", "value": f"db{number}"},
                                   {"put": "config/db/port", "value": number}])
    await_true("the last one comes", lambda: recipe.recorded()[-1][2:] == ["db199", 199])
    seen = [row[2:] for row in recipe.recorded()]
    expect(seen[0], ["db1", 5432])
    expect([row for row in seen[1:] if row[0] != f"db{row[1]}"], [])


def leader_election(recipe):
    """Leaders are killed and stopped; their writes are in the order of their terms."""
    client = recipe.client
    shop = "def make_report():\n    time.sleep(0.01)\n    return 'all well'\n"
    by_name = {}
    for _ in range(3):
        candidate = recipe.start(0, shop)
        by_name[candidate.pid] = candidate

    def leader():
        found = client.find("leader")
        return found and by_name.get(int(found.value.split()[-1]))

    first = await_true("one leads", leader)
    await_true("it reports", lambda: client.find("report"))
    recipe.run_curls()
    kill(first)
    second = await_true("another one leads", lambda: (new := leader()) != first and new)
    await_true("it reports", lambda: str(second.pid) in client.get("report").value["by"])
    # Its time ends while it does not run. Then it continues without knowing that.
    kill(second, signal.SIGSTOP)
    third = await_true("the third one leads", lambda: (new := leader()) != second and new)
    await_true("it reports", lambda: str(third.pid) in client.get("report").value["by"])
    stopped_at = client.get("report").revision
    kill(second, signal.SIGCONT)
    await_true("the third one goes on",
               lambda: client.get("report").revision > stopped_at + 50)
    writers = [effect["value"]["by"].split()[-1] for change in changes(recipe)
               for effect in change["effects"]
               if effect["type"] == "put" and effect["name"] == "report"]
    terms = [name for name, _ in itertools.groupby(writers)]
    expect(terms, [str(each.pid) for each in (first, second, third)])


def changes(recipe):
    after, found = 0, []
    while True:
        page = recipe.service.ask_json(f"/v1/changes?after={after}&limit=1000")
        found += page["changes"]
        if not page["hasMore"]:
            return found
        after = page["next"]


def lock(recipe):
    """Two are never inside at once, although holders are killed; and waiting needs no polling."""
    shop = """
def clean_up(lease):
    record("in", lease.token)
    time.sleep(0.02)
    record("out", lease.token)
"""
    before = recipe.service.request_count()
    running = [recipe.start(0, shop, times=SECTIONS // LOCKERS) for _ in range(LOCKERS)]
    expect([each.wait(PATIENCE_SECONDS) for each in running], [0] * LOCKERS)
    count = recipe.service.request_count() - before
    check_sections(recipe)
    expect(sum(row[2] == "out" for row in recipe.recorded()), SECTIONS)
    print(f"   {LOCKERS} contenders, {SECTIONS} sections: {count:.0f} requests")
    expect(count <= LOCK_REQUESTS_MAX, True)
    # Now one is killed inside, and another one waits.
    recipe.record_path.write_text("")
    slow = shop.replace("0.02", "3600")
    victim = recipe.start(0, slow)
    recipe.wait_for_records(1)
    other = recipe.start(0, shop)
    kill(victim)
    expect(other.wait(PATIENCE_SECONDS), 0)
    check_sections(recipe)
    expect([row[2] for row in recipe.recorded()], ["in", "in", "out"])
    check_restart_without_data(recipe)


def check_restart_without_data(recipe):
    """The lock is forgotten: another one gets it, and the guard of the former one is refused."""
    with FaultyProxy(recipe.service.address) as proxy, Latchkey(proxy.url) as client:
        former = client.acquire("locks/forgotten", ttl=5)
        with process.Latchkey(recipe.binary) as restarted:
            proxy.target = restarted.address
            proxy.cut()
            lease = client.acquire("locks/forgotten", ttl=5)
            expect(lease.token > former.token, True)
            expect(client.transaction([], when=[former.guard]).succeeded, False)
            expect((former.lost.wait(PATIENCE_SECONDS), lease.release()), (True, True))


def check_sections(recipe):
    """In the order of time, a section begins after the one before has ended or was killed."""
    inside, tokens = None, []
    for pid, _, what, token in sorted(recipe.recorded(), key=lambda row: row[1]):
        if what == "in":
            killed = [each.pid for each in recipe.processes if each.poll() == -signal.SIGKILL]
            if inside is not None and inside not in killed:
                raise Failure(f"{pid} comes in while {inside} is inside")
            inside = pid
            tokens.append(token)
        else:
            expect(inside, pid)
            inside = None
    expect(tokens, sorted(set(tokens)))


def rate_limiter(recipe):
    recipe.run_curls()
    may_call = recipe.load(0)["may_call"]
    allowed = []
    threads = [threading.Thread(
        target=lambda: allowed.extend(may_call("bob", 50, 30) for _ in range(25)))
        for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect((sum(allowed), len(allowed)), (50, 100))
    expect([may_call("eve", 2, 600) for _ in range(3)], [True, True, False])
    # Refused calls do not make the window longer.
    expect(may_call("ann", 1, 0.5), True)
    await_true("the window ends", lambda: may_call("ann", 1, 0.5))


def job_queue(recipe):
    add = recipe.load(0)["add"]
    before = recipe.service.request_count()
    for number in range(JOBS):
        add(number)
    shop = "def send(value, key):\n    record('begin', value)\n" \
           "    time.sleep(0.01)\n    record('end', value)\n"
    # A worker takes a job and is killed during it.
    victim = recipe.start(1, shop.replace("0.01", "3600"))
    recipe.wait_for_records(1)
    kill(victim)
    for _ in range(WORKERS):
        recipe.start(1, shop)
    await_true("no job is left", lambda: len(ended(recipe)) == JOBS)
    await_true("all are finished", lambda: recipe.client.count("jobs/") == 0)
    count = recipe.service.request_count() - before
    done = collections.Counter(row[3] for row in recipe.recorded() if row[2] == "end")
    expect((set(done), set(done.values())), (set(range(JOBS)), {1}))
    print(f"   {JOBS} jobs, {WORKERS} workers, one of them killed: {count:.0f} requests")
    expect(count <= JOB_REQUESTS_MAX, True)
    # Waiting workers get a job that comes later.
    add("later")
    await_true("it is done", lambda: "later" in ended(recipe))


def ended(recipe):
    return {row[3] for row in recipe.recorded() if row[2] == "end"}


def cache(recipe):
    cached = recipe.load(0)["cached"]
    counts = collections.Counter()

    def compute(key):
        counts[key] += 1
        return [key, "x" * 10_000]

    expect([cached("a", 30, lambda: compute("a")) for _ in range(2)], [["a", "x" * 10_000]] * 2)
    expect(counts["a"], 1)
    for number in range(300):
        cached(number, 30, lambda number=number: compute(number))
        cached("a", 30, lambda: compute("a"))
    # Three times as many as there is room for. A used entry stays.
    expect((counts["a"], recipe.client.count("cache/") < 120), (1, True))
    cached("short", 0.1, lambda: compute("short"))
    await_true("it is too old", lambda: cached("short", 0.1, lambda: compute("short")) and
               counts["short"] > 1)


def sequence_numbers(recipe):
    program = recipe.load(0, 1)
    numbers, booked = [], []
    threads = [threading.Thread(target=lambda: [
        (numbers.append(program["next_number"]("n")), booked.append(program["book"]({"x": 1})))
        for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect((sorted(numbers), sorted(booked)), ([*range(1, 101)], [*range(1, 101)]))
    expect([row.name for row in recipe.client.list("invoices/")],
           [f"invoices/{number:08}" for number in range(1, 101)])
    expect((program["next_number"]("n", 10), program["next_number"]("n")), (101, 111))


def migration(recipe):
    """Each command of the table works, from top to bottom; and so does the script."""
    (recipe.folder / "latchkey").symlink_to(os.path.abspath(recipe.binary))
    environment = {**os.environ, "LATCHKEY_URL": recipe.service.url,
                   "PATH": f"{recipe.folder}:{os.environ['PATH']}"}

    def run(command, **options):
        return process.run("sh", "-c", command, env=environment, cwd=recipe.folder, **options)

    rows = re.findall(r"^\|.*\| `([^|]*)` \|$", recipe.text, re.MULTILINE)
    expect(len(rows) > 10, True)
    for command in rows:
        words = command.split()
        # These never end, and work on a folder.
        command = command.replace("curl ", "curl -f ")
        run(command if words[1] not in ("elect", "backup") else f"latchkey {words[1]} --help")
        if "R" not in environment:
            environment["R"] = str(recipe.client.get("a").revision)
    expect([row.name for row in recipe.client.list()], ["b", "d"])
    commands = re.findall(r"^(?:etcdctl|consul)[^|\n]*\| (.*)$", recipe.text, re.MULTILINE)
    exports = ({"header": {}, "kvs": [{"key": "YS9i", "value": "eyJ4IjogMX0="}, {"key": "dA=="}]},
               [{"key": "a/b", "flags": 0, "value": "eyJ4IjogMX0="},
                {"key": "t", "flags": 0, "value": ""}])
    for command, exported in zip(commands, exports, strict=True):
        recipe.client.delete_prefix("a/")
        run(command, input=json.dumps(exported))
        found = recipe.client.get_many(["a/b", "t"])
        expect({name: row.value for name, row in found.items()}, {"a/b": {"x": 1}, "t": ""})
        recipe.client.delete("t")


CHECKS = {
    "Feature flags": feature_flags, "Configuration": configuration,
    "Leader election": leader_election, "A lock": lock, "A rate limiter": rate_limiter,
    "A job queue": job_queue, "A cache": cache, "Sequence numbers": sequence_numbers,
    "From etcd and Consul": migration,
}
