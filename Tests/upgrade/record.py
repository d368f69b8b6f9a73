#!/usr/bin/env python3
"""Makes the files of a version, with the program of that version.

    Tests/upgrade/record.py --binary .build-release/bin/latchkey --reports FOLDER Tests/upgrade/0.1

README.md says what is in each file. Those of 0.1 were made once, before 0.2, and stay as they are.
"""

import argparse
import contextlib
import gzip
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

import etcd  # noqa: E402
from process import Failure, Latchkey, await_true, create_token  # noqa: E402
from changes import Talker, path, send_all, state  # noqa: E402

ALL = ("read,write", "operations,export,import,admin,backup")
COMMAND_SECONDS_MAX = 300
# Kinds of reports that no recorded one has: over HTTP, in an open loop, and of a trace.
RUNS = {
    "http": ("--transport", "http", "--threads", "2", "--strategies", "lock,actor"),
    "open-loop": ("--arrival", "open:20000", "--threads", "2", "--strategies", "lock,spin"),
    "small": ("--threads", "1,2", "--strategies", "lock,mutex,snapshot", "--read-ratio", "0,0.9"),
}
PLACE = "/var/lib/latchkey"
SETTINGS = {"default.all": """\
# One of each that a single service can have.
LATCHKEY_DATA=/var/lib/latchkey
LATCHKEY_TOKEN_FILE=/var/lib/latchkey/tokens
LATCHKEY_FIRST_TOKEN=/var/lib/latchkey/token
LATCHKEY_AUDIT_LOG=/var/lib/latchkey/audit
LATCHKEY_RECORD=/var/lib/latchkey/live.trace
LATCHKEY_RECORD_SAMPLE=1/8
LATCHKEY_RECORD_BYTES=1MiB
LATCHKEY_STRATEGY=snapshot
LATCHKEY_STRIPES=64
LATCHKEY_BACKLOG=2048
LATCHKEY_METERING=full
LATCHKEY_PROFILE=true
LATCHKEY_SHADOW=spin,mutex
LATCHKEY_SHADOW_SAMPLE=1/32
LATCHKEY_DURABILITY=interval
LATCHKEY_SYNC_INTERVAL=2
LATCHKEY_MAX_WAL_BYTES=512MiB
LATCHKEY_COMPACT_AFTER=50000
LATCHKEY_MAX_PROPERTIES=1000
LATCHKEY_MAX_BYTES=64MiB
LATCHKEY_EVICTION=lru
LATCHKEY_QUOTA=app/=8MiB
LATCHKEY_MAX_TRANSACTION_BYTES=1MiB
LATCHKEY_MAX_JSON_DEPTH=32
LATCHKEY_HISTORY=500
LATCHKEY_HISTORY_BYTES=1MiB
LATCHKEY_MAX_OPERATIONS=10
LATCHKEY_OPERATION_HISTORY=10
LATCHKEY_MAX_OPERATION_BYTES=1MiB
LATCHKEY_OPERATION_THREADS=1
LATCHKEY_ALLOW_FETCH=example.org
LATCHKEY_FETCH_TIMEOUT_SECONDS=5
LATCHKEY_FETCH_MAX_BYTES=1KiB
LATCHKEY_IDEMPOTENCY_SECONDS=1h
LATCHKEY_MAX_IDEMPOTENCY_KEYS=100
LATCHKEY_IDEMPOTENCY_BYTES=1MiB
LATCHKEY_MAX_WATCHERS=50
LATCHKEY_WATCH_BUFFER_BYTES=4KiB
LATCHKEY_KEEP_ALIVE_SECONDS=5
LATCHKEY_OPEN=metrics,readyz
LATCHKEY_SESSION_SECONDS=10m
LATCHKEY_RATE=1000
LATCHKEY_RATE_BURST=2000
LATCHKEY_RATE_MODE=count
LATCHKEY_HOST=127.0.0.2
LATCHKEY_PORT=0
LATCHKEY_HTTP_THREADS=3
LATCHKEY_THREAD_PER_CONNECTION=true
LATCHKEY_MAX_CONNECTIONS=64
LATCHKEY_CLIENT_SHARE=1/2
LATCHKEY_MAX_CONNECTIONS_PER_ADDRESS=10
LATCHKEY_TRUSTED_PROXY=10.0.0.0/8
LATCHKEY_MAX_TARGET_BYTES=2KiB
LATCHKEY_MAX_HEADER_BYTES=4KiB
LATCHKEY_MAX_BODY_BYTES=64KiB
LATCHKEY_REQUEST_TIMEOUT_SECONDS=10
LATCHKEY_ANSWER_TIMEOUT_SECONDS=20
LATCHKEY_IDLE_TIMEOUT_SECONDS=30
LATCHKEY_ADMIN_PORT=0
LATCHKEY_MAX_EXPORTS=2
LATCHKEY_ANSWER_BYTES=16MiB
LATCHKEY_ALLOWED_HOST=state.example
LATCHKEY_ALLOW_ORIGIN=https://app.example
LATCHKEY_SHUTDOWN_DELAY=1
LATCHKEY_DRAIN_SECONDS=5
LATCHKEY_SERVER_TIMING=true
LATCHKEY_LOG_FORMAT=json
LATCHKEY_LOG_LEVEL=warning
""", "default.follower": """\
LATCHKEY_PORT=0
LATCHKEY_FOLLOW=https://leader.example:8080
LATCHKEY_FOLLOW_TOKEN_FROM=/var/lib/latchkey/token
LATCHKEY_FOLLOW_CA=/var/lib/latchkey/ca
LATCHKEY_FORWARD=true
""", "default.replica": """\
LATCHKEY_PORT=0
LATCHKEY_DATA=/var/lib/latchkey
LATCHKEY_CLUSTER=https://e1:2379,https://e2:2379,https://e3:2379
LATCHKEY_CLUSTER_NAME=orders
LATCHKEY_CLUSTER_CA=/var/lib/latchkey/etcd-ca
LATCHKEY_CLUSTER_CERTIFICATE=/var/lib/latchkey/etcd-certificate
LATCHKEY_CLUSTER_KEY=/var/lib/latchkey/etcd-key
LATCHKEY_CLUSTER_URL=https://r1.example:8080
LATCHKEY_CLUSTER_TOKEN_FROM=/var/lib/latchkey/token
LATCHKEY_CLUSTER_PEER_CA=/var/lib/latchkey/ca
"""}


class Service(Latchkey):
    """A service, or a replica, that is ready."""

    def __enter__(self):
        return super().__enter__().await_ready()


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=COMMAND_SECONDS_MAX, check=False)
    if done.returncode != 0:
        raise Failure(f"{words}: {done.stderr}")
    return done.stdout


def write_json(place, value):
    compress(place, json.dumps(value, ensure_ascii=False, sort_keys=True).encode())


def compress(place, data):
    place.write_bytes(gzip.compress(data, mtime=0))


def pack(place, folder):
    """A data folder as it is."""
    with gzip.GzipFile(place, "wb", mtime=0) as file, \
            tarfile.open(fileobj=file, mode="w") as archive:
        for each in sorted(folder.iterdir()):
            # It is shared memory, and no file of the data.
            if not each.name.endswith("-shm"):
                archive.add(each, each.name)


def count(folder, table):
    with contextlib.closing(sqlite3.connect(folder / "latchkey.db")) as database:
        return database.execute(f"select count(*) from {table}").fetchone()[0]


def data(arguments, out, scratch, token):
    """A folder whose state was brought forward once, and a log behind that after a kill -9."""
    folder, options = scratch / "data", ("--token-file", out / "tokens")
    with Service(arguments.binary, "--data", folder, "--compact-after", 100,
                 "--history", 50, *options) as service:
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
        # What a replica puts on its disk comes some time after the answers.
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
    """Files of variables, and what the program says of them."""
    shutil.copyfile(TOP / "deploy/debian/default", out / "default")
    for name, text in SETTINGS.items():
        (out / name).write_text(text, encoding="utf-8")
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
