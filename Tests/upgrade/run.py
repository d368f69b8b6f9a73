#!/usr/bin/env python3
"""Reads the files of earlier versions with the present program, and checks their content.

    Tests/upgrade/run.py --binary .build-release/bin/latchkey [--only NAME]

README.md describes the files. The clock of a program that opens data or a log is set to a minute
after these were written: then keys of repeated requests are still kept, and a property has expired
whose time ended meanwhile. Needs what `scripts/require load cluster` installs.
"""

import argparse
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path += [str(TOP / "scripts"), str(TOP / "Tests/durability")]

import etcd  # noqa: E402
import shim  # noqa: E402
from changes import LATER_SECONDS, Talker, path, told  # noqa: E402
from process import Failure, create_certificate, events, expect, run  # noqa: E402
from record import Service  # noqa: E402

COMMAND_SECONDS_MAX = 300
# `latchkey restore` continues this many revisions later: no service gives a folder as many.
RESTORED = 1 << 32
MORE_REPORTS = sorted((TOP / "Tests/LatchkeyReportTests/Recorded").glob("*.json"))
# They are compared with the first one of all.
DIFFERENT = ("beside-load-1.json", "beside-load-2.json", "quiet-adaptive.json")
GONE = re.compile(r"(LATCHKEY_[A-Z_]+) was re\w+ in [\d.]+:(?: use (LATCHKEY_[A-Z_]+))?")


class Case:
    """The files of a version, the program that reads them, and a folder for its output."""

    def __init__(self, binary, files, scratch):
        self.binary, self.files, self.scratch = binary, files, scratch
        scratch.mkdir()
        self.tokens = self.read_json("tokens.json")
        self.log = scratch / "log"
        self.library = shim.build(scratch)

    def read(self, name):
        data = (self.files / name).read_bytes()
        return gzip.decompress(data) if name.endswith(".gz") else data

    def read_json(self, name):
        return json.loads(self.read(name))

    def unpacked(self, name):
        folder = self.scratch / name.removesuffix(".tar.gz")
        with tarfile.open(fileobj=io.BytesIO(self.read(name))) as archive:
            archive.extractall(folder, filter="data")
        return folder

    def serve(self, *options, at=None):
        """A service. `at` is its time of day in milliseconds; None: the present."""
        variables = None
        if at is not None:
            control = shim.Control(self.scratch / "clock")
            control.shift_clock(at / 1000 - time.time())
            variables = shim.environment(self.library, self.scratch / "nothing",
                                         control=control.path)
        return Service(self.binary, *options, log=self.log, variables=variables)

    def run(self, *words, **options):
        return run(self.binary, *words, **options)


def expect_rows(what, found, wanted):
    """Each row has at least the recorded members."""
    expect(f"the number of {what}", len(found), len(wanted))
    for one, other in zip(found, wanted):
        expect(f"one of {what}", {name: one.get(name) for name in other}, other)


def check_state(talker, then, shown=lambda answer: answer):
    """All that was there is there, except what has expired, and continues. Returns some counts.

    Of kept answers, the results of `shown` are compared; by default the whole answers.
    """
    now = then["milliseconds"] + 1000 * LATER_SECONDS
    rows = [row for row in then["export"][:-1] if row.get("expires", now + 1) > now]
    over = {row["name"] for row in then["export"][:-1]} - {row["name"] for row in rows}
    expect("what is over by now", over, {"lives/short"})
    expect_rows("the properties", talker.rows("/v1/export?replica=true")[:-1], rows)
    for row in then["values"]:
        if row["name"] not in over:
            answer = talker.ask("GET", path(row["name"]))
            expect(f"the bytes of {row['name']}", (answer["body"], answer["tag"]),
                   (row["body"], row["tag"]))
    for name in over:
        expect(f"{name}, which is over", talker.ask("GET", path(name))["status"], 404)
    changes = talker.changes()
    count = len(then["changes"])
    expect_rows("the changes", changes[:count], then["changes"])
    expect("what has changed since", {(effect["type"], effect["name"]) for change in
                                      changes[count:] for effect in change["effects"]},
           {("expire", name) for name in over})
    for each in then["past"]:
        expect(f"a past value, {each['target']}",
               talker.send(200, "GET", each["target"])["body"], json.dumps(each["body"]))
    check_watch(talker, then)
    check_repeats(talker, then, changes, shown)
    return f"{len(rows)} properties, {count} changes, {len(then['kept'])} kept answers"


def check_watch(talker, then):
    """A watch that has got the first half of the history gets the rest, without a gap."""
    half = then["changes"][len(then["changes"]) // 2]["revision"]
    wanted = [(effect["type"], effect["name"], change["revision"]) for change in then["changes"]
              if change["revision"] > half for effect in change["effects"]
              # A watch does not show a touch.
              if effect["type"] != "touch"]
    connection = talker.services[0].connect()
    connection.request("GET", "/v1/watch",
                       headers={**talker.headers, "Last-Event-ID": str(half)})
    found = []
    for event, data, _ in events(connection.getresponse()):
        found.append((event, data.get("name"), data["revision"]))
        if len(found) == len(wanted):
            break
    connection.close()
    expect("the events of a watch", found, wanted)


def check_repeats(talker, then, changes, shown):
    """Each request with a key gets the kept answer; then another request is executed."""
    for each in then["kept"]:
        answer = talker.ask(each["method"], each["target"], each["body"], each["headers"])
        expect(f"a repeat of {each['method']} {each['target']}", shown(answer),
               shown({**each["answer"], "replayed": True}))
    after = talker.changes()
    expect("changes by repeats", len(after), len(changes))
    tag = talker.send(204, "PUT", path("last"), '"two"')["tag"]
    expect("the next revision", tag, f'"{after[-1]["revision"] + 1}"')
    created = next(row["created"] for row in then["export"][:-1] if row["name"] == "last")
    expect("its creation", [row["created"] for row in talker.rows("/v1/export")[:-1]
                            if row["name"] == "last"], [created])


def data(case):
    """A data folder with changes that are not compacted yet."""
    then, folder = case.read_json("data.json.gz"), case.unpacked("data.tar.gz")
    case.run("check", folder)
    later = then["milliseconds"] + 1000 * LATER_SECONDS
    with case.serve("--data", folder, "--token-file", case.files / "tokens", at=later) as service:
        figures = check_state(Talker(then["token"], service), then)
    database = sqlite3.connect(folder / "latchkey.db")
    authors = {author for author, in database.execute(
        "select author from properties where name = 'last'")}
    database.close()
    expect("who has written `last`", authors, {"all"})
    # Starts again in the present: nothing without an expiry is lost.
    with case.serve("--data", folder, "--token-file", case.files / "tokens") as service:
        talker = Talker(then["token"], service)
        names = {row["name"] for row in talker.rows("/v1/export")[:-1]}
        lost = {row["name"] for row in then["export"][:-1] if "expires" not in row} - names
        expect("what is lost at the next start", lost, set())
    case.run("check", folder)
    return figures


def backup(case):
    then, folder = case.read_json("data.json.gz"), case.scratch / "restored"
    (case.scratch / "state.backup").write_bytes(case.read("state.backup.gz"))
    case.run("restore", case.scratch / "state.backup", folder)
    later = then["milliseconds"] + 1000 * LATER_SECONDS
    with case.serve("--data", folder, "--token-file", case.files / "tokens", at=later) as service:
        talker = Talker(then["token"], service)
        rows = [row for row in then["export"][:-1] if row["name"] != "lives/short"]
        expect_rows("the properties", talker.rows("/v1/export?replica=true")[:-1], rows)
        tag = int(talker.send(204, "PUT", path("last"), "1")["tag"].strip('"'))
        if tag <= then["export"][-1]["revision"] + RESTORED:
            raise Failure(f"a restored folder goes on at {tag}")
    return f"{len(rows)} properties"


def export(case):
    rows = [json.loads(line) for line in case.read("export.ndjson").splitlines()]
    with case.serve() as service:
        case.run("import", "--url", service.url, case.files / "export.ndjson")
        talker = Talker("none", service)
        found = talker.rows("/v1/export")
        expect("the names and values", [(row["name"], row["value"]) for row in found[:-1]],
               [(row["name"], row["value"]) for row in rows[:-1]])
        for one, other in zip(found[:-1], rows[:-1]):
            expect(f"whether {one['name']} expires", "ttl" in one, "ttl" in other)
            if other.get("ttl", 0) > 1e6 and abs(one["ttl"] - other["ttl"]) > 1000:
                raise Failure(f"{one['name']} lives for {one['ttl']} s, not {other['ttl']}")
    return f"{len(rows) - 1} properties"


def cluster(case):
    """A new replica executes the log, and a former one continues with its folder; both the same."""
    then, revisions = case.read_json("cluster.json.gz"), case.read_json("etcd.json.gz")
    later = then["milliseconds"] + 1000 * LATER_SECONDS
    with open(case.scratch / "etcd.log", "wb") as log, \
            etcd.Server(case.scratch / "etcd", log) as server:
        server.make(revisions)
        options = ("--cluster", server.url, "--token-file", case.files / "tokens")
        with case.serve("--data", case.scratch / "new", *options, at=later) as new, \
                case.serve("--data", case.unpacked("replica.tar.gz"), *options, at=later) as old:
            figures = check_state(Talker(then["token"], new), then, told)
            one, other = Talker(then["token"], new), Talker(then["token"], old)
            target = "/v1/export?replica=true&consistency=linearizable"
            expect("the other replica's state", other.rows(target), one.rows(target))
            expect("the other replica's changes", other.changes()[-40:], one.changes()[-40:])
            for each in then["kept"]:
                answer = other.ask(each["method"], each["target"], each["body"], each["headers"])
                expect(f"a repeat of {each['method']} {each['target']}", told(answer),
                       told({**each["answer"], "replayed": True}))
            other.send(204, "PUT", path("last"), '"three"')
            expect("a write of the other one", one.send(
                200, "GET", path("last") + "?consistency=linearizable")["body"], '"three"')
    return f"{figures}, {len(revisions)} revisions of etcd"


def trace(case):
    report = json.loads(case.run(
        "compare", "--trace", case.files / "live.trace", "--duration", "300ms", "--threads", "2",
        "--strategies", "lock", "--repeats", "1", "--force", "--json", "-"))
    size = (case.files / "live.trace").stat().st_size
    expect("the operations of the trace", report["settings"]["trace"]["operations"],
           (size - 64) // 16)
    then = case.read_json("reports/trace.json.gz")
    for name in ("readRatio", "keys"):
        expect(name, report["cases"][0]["workload"][name], then["cases"][0]["workload"][name])
    expect("a replay of nothing", report["cases"][0]["repeats"][0]["operations"] == 0, False)
    return f"{(size - 64) // 16} operations"


def reports(case):
    places = []
    for place in sorted((case.files / "reports").glob("*.json.gz")):
        places.append(case.scratch / place.name.removesuffix(".gz"))
        places[-1].write_bytes(gzip.decompress(place.read_bytes()))
    places += MORE_REPORTS
    for place in places:
        try:
            check_report(case, place)
        except Failure as failure:
            raise Failure(f"{place.name}: {failure}") from None
    pairs = [(places[0], each) for each in places if each.name in DIFFERENT]
    for one, other in pairs:
        # 1: a result is worse.
        said = case.run("compare", "--from", one, "--against", other, "--force", "--markdown", "-",
                        "--html", case.scratch / "difference.html",
                        statuses=(0,) if one == other else (0, 1))
        if len(said) < 100 or (case.scratch / "difference.html").stat().st_size < 1000:
            raise Failure(f"{one.name} against {other.name} says {said!r}")
    return f"{len(places)} reports, {len(pairs)} differences"


def kept(report):
    """0.1 had two ways to serve connections: the cases of the one that is left."""
    return [each for each in report["cases"]
            if each["workload"].get("threadMode") != "thread-per-connection"]


def figures(report):
    """The number of each kind of case, with the counts of its repeats."""
    return collections.Counter((each["strategy"], each["threads"], *(
        repeat["operations"] for repeat in each["repeats"])) for each in kept(report))


def check_report(case, place):
    then, out = json.loads(place.read_bytes()), case.scratch / "out"
    out.mkdir(exist_ok=True)
    kinds = ("json", "html", "csv", "markdown")
    text = case.run("compare", "--from", place, "--force",
                    *(word for kind in kinds for word in (f"--{kind}", out / kind)))
    written = {kind: (out / kind).read_text(encoding="utf-8") for kind in kinds}
    expect("its figures", figures(json.loads(written["json"])), figures(then))
    strategies = {each["strategy"] for each in then["cases"]}
    expect("a strategy in the text", bool(strategies & set(re.findall(r"[a-z-]+", text))), True)
    expect("strategies on the page", all(name in written["html"] for name in strategies), True)
    expect("short Markdown", 5 < len(written["markdown"].splitlines()) < 40, True)
    counted = collections.Counter(
        (each["strategy"], str(each["threads"]), str(repeat["operations"]))
        for each in kept(then) for repeat in each["repeats"])
    found = collections.Counter((row["strategy"], row["threads"], row["operations"])
                                for row in csv.DictReader(io.StringIO(written["csv"])))
    if counted - found:
        raise Failure(f"the table lacks {list((counted - found).items())[:3]}")


def tokens(case):
    """Each token has its rights, and no other."""
    asked = {
        "all": (200, 204, 204, 200, 200), "reader": (200, 403, 403, 403, 403),
        "part": (200, 204, 403, 403, 403), "admin": (403, 403, 403, 403, 200),
        None: (401,) * 5, "wrong": (401,) * 5}
    requests = (("GET", path("values/a"), None), ("PUT", path("values/a"), "1"),
                ("PUT", path("other"), "1"), ("GET", "/v1/export", None),
                ("GET", "/v1/watches", None))
    with case.serve("--token-file", case.files / "tokens") as service:
        owner = Talker(case.tokens["all"], service)
        for name in ("values/a", "other"):
            owner.send(201, "PUT", path(name), "1")
        for name, statuses in asked.items():
            talker = Talker(case.tokens.get(name, "lk_" + "0" * 72), service)
            talker.headers = talker.headers if name else {}
            found = [talker.ask(*request)["status"] for request in requests]
            expect(f"the statuses of {name}", tuple(found), statuses)
    return f"{len(asked)} tokens"


def settings(case):
    """Files of variables: removed ones have a message, and the rest has the same effect."""
    counts = []
    for place in sorted(case.files.glob("default*")):
        variables = dict(line.split("=", 1) for line in case.read(place.name).decode().splitlines()
                         if line and not line.startswith("#"))
        wanted = values(case.read(f"checked-{place.name}").decode())
        expect(f"the variables of {place.name}", len(wanted), len(variables))
        counts.append(check_settings(case, place, variables, wanted))
    return "; ".join(counts)


def values(said):
    """The values that check-config prints, by their variables."""
    found = re.findall(r"^  --\S+ (.*)  \((LATCHKEY_\w+)\)$", said, re.MULTILINE)
    return {variable: value for value, variable in found}


def check_settings(case, place, variables, wanted):
    """Without the removed ones, and by the new names, check-config prints the same."""
    folder, removed = case.scratch / "lib", []
    folder.mkdir(exist_ok=True)
    certificate, key = create_certificate(folder)
    for name in "ca", "etcd-ca", "etcd-certificate", "etcd-key":
        shutil.copy(key if name == "etcd-key" else certificate, folder / name)
    if "LATCHKEY_FOLLOW" in variables:
        (folder / "token").write_text("a-token\n")
    while True:
        done = subprocess.run(
            [case.binary, "check-config"], capture_output=True, text=True, check=False,
            timeout=COMMAND_SECONDS_MAX, env={"PATH": os.environ["PATH"], **{
                name: value.replace("/var/lib/latchkey", str(folder))
                for name, value in variables.items()}})
        if not (gone := {old: new for old, new in GONE.findall(done.stderr) if old in variables}):
            break
        expect(f"the status of {place.name} with {gone}", done.returncode, 2)
        for old, new in gone.items():
            pair = variables.pop(old), wanted.pop(old)
            if new:
                variables[new], wanted[new] = pair
            else:
                removed.append(old)
    expect(f"the status of {place.name}: {done.stderr}", done.returncode, 0)
    said = done.stdout.replace(str(folder), "/var/lib/latchkey")
    expect(f"what {place.name} sets", values(said), wanted)
    return f"{place.name}: {len(variables)} settings, {len(removed)} more were removed since"


CASES = {"data": data, "backup": backup, "export": export, "cluster": cluster, "trace": trace,
         "reports": reports, "tokens": tokens, "settings": settings}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--files", type=pathlib.Path, help="those of one version; or all")
    parser.add_argument("--only", choices=CASES)
    arguments = parser.parse_args()
    failed = passed = 0
    for files in [arguments.files] if arguments.files else sorted(HERE.glob("[0-9]*")):
        for name in [arguments.only] if arguments.only else CASES:
            scratch = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-"))
            began = time.monotonic()
            try:
                case = Case(os.path.abspath(arguments.binary), files.resolve(), scratch / "work")
                words = CASES[name](case)
                word, passed = "ok", passed + 1
            except Exception as failure:  # noqa: BLE001
                word, words, failed = "FAILED:", f"{type(failure).__name__}: {failure}", failed + 1
            print(f"{word} {files.name} {name} ({time.monotonic() - began:.1f} s): {words}",
                  flush=True)
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
