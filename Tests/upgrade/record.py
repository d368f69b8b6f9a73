#!/usr/bin/env python3
"""Makes the files of a version, with the program of that version.

    Tests/upgrade/record.py --binary .build-release/bin/latchkey --reports FOLDER \\
        --settings FOLDER Tests/upgrade/0.1

README.md describes the files. Those of 0.1 were made once, before 0.2, and stay as they are.
"""

import argparse
import contextlib
import gzip
import json
import pathlib
import shutil
import sqlite3
import sys
import tarfile
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

import etcd  # noqa: E402
from process import Latchkey, await_true, create_token, run  # noqa: E402
from changes import Talker, path, send_all, state  # noqa: E402

ALL = ("read,write", "operations,export,import,admin,backup")
# Kinds of reports that are not among the recorded ones: over HTTP, in an open loop, and of a trace.
RUNS = {
    "http": ("--transport", "http", "--threads", "2", "--strategies", "lock,actor"),
    "open-loop": ("--arrival", "open:20000", "--threads", "2", "--strategies", "lock,spin"),
    "small": ("--threads", "1,2", "--strategies", "lock,mutex,snapshot", "--read-ratio", "0,0.9"),
}
PLACE = "/var/lib/latchkey"


class Service(Latchkey):
    """A service, or a replica, that is ready."""

    def __enter__(self):
        return super().__enter__().await_ready()


def write_json(place, value):
    compress(place, json.dumps(value, ensure_ascii=False, sort_keys=True).encode())


def compress(place, data):
    place.write_bytes(gzip.compress(data, mtime=0))


def pack(place, folder):
    """Packs a data folder as it is."""
    with gzip.GzipFile(place, "wb", mtime=0) as file, \
            tarfile.open(fileobj=file, mode="w") as archive:
        for each in sorted(folder.iterdir()):
            # It is shared memory, not a file of the data.
            if not each.name.endswith("-shm"):
                archive.add(each, each.name)


def count(folder, table):
    with contextlib.closing(sqlite3.connect(folder / "latchkey.db")) as database:
        return database.execute(f"select count(*) from {table}").fetchone()[0]


def data(arguments, out, scratch, token):
    """A folder with compacted state, and later changes in its log, after a kill -9."""
    folder, options = scratch / "data", ("--token-file", out / "tokens")
    with Service(arguments.binary, "--data", folder, "--compact-after", 100,
                 "--history-bytes", "8KiB", *options) as service:
        talker = Talker(token, service)
        for number in range(150):
            talker.send(201, "PUT", path(f"old/{number:03}"), str(number))
        await_true("the state is brought forward", lambda: talker.ask(
            "PUT", path("old/again"), "1") and count(folder, "stored") >= 100)
    with Service(arguments.binary, "--data", folder, *options) as service:
        talker = Talker(token, service)
        send_all(talker)
        run(arguments.binary, "backup", folder, scratch / "backup")
        compress(out / "state.backup.gz", (scratch / "backup").read_bytes())
        (out / "export.ndjson").write_text(
            talker.send(200, "GET", "/v1/export")["body"], encoding="utf-8")
        write_json(out / "data.json.gz", state(talker, token))
        service.kill()
    pack(out / "data.tar.gz", folder)


def cluster(arguments, out, scratch, token):
    """Two replicas that both take changes, and all revisions of etcd."""
    with open(scratch / "etcd.log", "wb") as log, \
            etcd.Server(scratch / "etcd", log) as server, \
            contextlib.ExitStack() as stack:
        replicas = [stack.enter_context(Service(
            arguments.binary, "--data", scratch / f"r{number}", "--cluster", server.url,
            "--token-file", out / "tokens", "--strategy", strategy))
            for number, strategy in enumerate(("lock", "snapshot"))]
        talker = Talker(token, *replicas)
        # A replica writes to its disk some time after the answers.
        talker.send(201, "PUT", path("first"), "1")
        await_true("both have something on their disks", lambda: all(
            count(scratch / f"r{number}", "changes") for number in range(2)))
        send_all(talker)
        # A refusal is kept, too.
        talker.send(412, "PUT", path("last"), "2", {"If-Match": '"1"'}, key="refused")
        first, second = (Talker(token, each) for each in replicas)
        await_true("both are the same", lambda: first.rows("/v1/export?replica=true")
                   == second.rows("/v1/export?replica=true"))
        first.kept = talker.kept
        write_json(out / "cluster.json.gz", state(first, token))
        for each in replicas:
            each.kill()
        write_json(out / "etcd.json.gz", server.revisions())
        pack(out / "replica.tar.gz", scratch / "r1")


def trace(arguments, out):
    with Service(arguments.binary, "--record", out / "live.trace", "--record-sample",
                 "1/1") as service:
        talker = Talker("none", service)
        for number in range(200):
            name = path(f"a/{number % 20}")
            talker.ask("PUT", name, str(number))
            talker.ask("GET", name)
            talker.ask("POST", path(f"sum/{number % 3}") + "/increment")
            talker.ask("PATCH", path(f"object/{number % 5}"), json.dumps({"a": number}))
            if number % 10 == 0:
                talker.ask("GET", "/v1/properties?limit=5")
                talker.ask("DELETE", name)
                talker.ask("POST", "/v1/transactions", json.dumps(
                    {"then": [{"put": "t/1", "value": 1}, {"increment": "t/2"}]}))


def reports(arguments, out):
    folder = out / "reports"
    folder.mkdir()
    for place in sorted(pathlib.Path(arguments.reports).glob("*.json.gz")):
        shutil.copyfile(place, folder / place.name)
        (folder / place.name).chmod(0o644)
    compress(folder / "figures.json.gz", (TOP / "docs/figures/compare.json").read_bytes())
    runs = {**RUNS, "trace": ("--trace", out / "live.trace", "--duration", "500ms", "--threads",
                              "2", "--strategies", "lock,spin")}
    for name, words in runs.items():
        report = run(arguments.binary, "compare", "--repeats", "3", "--force", *words, "--json",
                     "-")
        compress(folder / f"{name}.json.gz", json.dumps(json.loads(report)).encode())


def settings(arguments, out, scratch):
    """Files of variables, and the program's output for them."""
    shutil.copyfile(TOP / "deploy/debian/default", out / "default")
    for place in pathlib.Path(arguments.settings).glob("default.*"):
        shutil.copyfile(place, out / place.name)
    for place in sorted(out.glob("default*")):
        words = [line.replace(PLACE, str(scratch))
                 for line in place.read_text(encoding="utf-8").splitlines()
                 if line and not line.startswith("#")]
        said = run("env", *words, arguments.binary, "check-config").replace(str(scratch), PLACE)
        place.with_name(f"checked-{place.name}").write_text(said, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, type=lambda place: pathlib.Path(place).resolve())
    parser.add_argument("--reports", required=True, help="a folder with NAME.json.gz")
    parser.add_argument("--settings", required=True, help="a folder with files default.NAME")
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lines = out / "tokens"
        lines.write_text("# Tokens of a test. They open nothing else.\n", encoding="utf-8")
        tokens = {name: create_token(arguments.binary, lines, name, *grants)
                  for name, grants in (("all", ALL), ("reader", ("read",)),
                                       ("part", ("read,write:values/",)), ("admin", ("admin",)))}
        (out / "tokens.json").write_text(json.dumps(tokens, indent=1) + "\n", encoding="utf-8")
        settings(arguments, out, scratch)
        data(arguments, out, scratch, tokens["all"])
        cluster(arguments, out, scratch, tokens["all"])
        trace(arguments, out)
        reports(arguments, out)
    (out / "version").write_text(run(arguments.binary, "--version"), encoding="utf-8")


if __name__ == "__main__":
    main()
