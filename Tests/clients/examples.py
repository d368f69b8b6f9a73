#!/usr/bin/env python3
"""Runs the programs of Examples/clients, in both languages, through a proxy that misbehaves.

    Tests/clients/examples.py --binary .build-release/bin/latchkey

Programs are killed and stopped. Each check is written once, for both languages. Needs what
`scripts/require` installs for `test` and `clients`.
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from faulty import RATES, FaultyProxy, Plan  # noqa: E402
from process import PATIENCE_SECONDS, Failure, Latchkey, await_true, expect, run  # noqa: E402
from steps import status_of_steps, step  # noqa: E402

EXAMPLES = TOP / "Examples" / "clients"
CLIENTS = TOP / "clients"
PYTHON = TOP / ".build-tools" / "python" / "bin" / "python"
STRICT = ("--strict", "--noUnusedLocals", "--noUncheckedIndexedAccess")
# The programs have a client's usual limits, so that one silence would use up a call.
FAULTS = {kind: rate for kind, rate in RATES.items() if kind != "never answered"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    return status_of_steps(lambda log: run_all(arguments, log))


def run_all(arguments, log):
    with tempfile.TemporaryDirectory() as folder:
        made = compile_into(pathlib.Path(folder))
        for language, command in (
                ("python", lambda name: [PYTHON, EXAMPLES / "python" / f"{name}.py"]),
                ("typescript", lambda name: ["node", made / f"{name}.js"])):
            names = {path.stem for path in (EXAMPLES / language).glob("*.[pt][ys]")} - {"settings"}
            expect("the programs", names, set(CHECKS))
            for name, check in CHECKS.items():
                step(f"{name}, in {language}", try_one, arguments, log, name, check, command)


def compile_into(folder):
    """Puts the package where Node looks for it, with the programs next to it."""
    package = folder / "node_modules" / "latchkey"
    package.mkdir(parents=True)
    (package / "package.json").write_bytes(
        (CLIENTS / "typescript" / "package.json").read_bytes())
    run("tsc", "-p", CLIENTS / "typescript", "--outDir", package / "dist")
    (folder / "package.json").write_text('{"type": "module"}')
    for path in (EXAMPLES / "typescript").glob("*.ts"):
        (folder / path.name).write_bytes(path.read_bytes())
    run("tsc", *STRICT, "--target", "es2022", "--module", "es2022", "--moduleResolution", "node",
        "--lib", "es2022,dom", "--typeRoots", folder / "none", *folder.glob("*.ts"))
    return folder


def try_one(arguments, log, name, check, command):
    plan = Plan(arguments.seed, FAULTS, delays=(0.001, 0.1))
    with tempfile.TemporaryDirectory() as folder, \
            Latchkey(arguments.binary, "--data", folder, log=log) as service, \
            FaultyProxy(service.address, plan=plan) as proxy:
        programs = Programs(command(name), service, proxy.url)
        try:
            check(programs)
        finally:
            programs.end()


class Programs:
    """The processes of one program, and the service that they use."""

    def __init__(self, command, service, url):
        self.command, self.service, self.started = [*map(str, command)], service, []
        self.environment = {**os.environ, "LATCHKEY_URL": url, "PYTHONDONTWRITEBYTECODE": "1",
                            "PYTHONPATH": str(CLIENTS / "python" / "src")}

    def start(self, *words):
        self.started.append(Program([*self.command, *words], self.environment))
        return self.started[-1]

    def end(self):
        for program in self.started:
            program.end()

    def value(self, name):
        """The value of a property; None if it does not exist."""
        status, _, text = self.service.ask(
            "GET", f"/v1/properties/{name.replace('/', '%2F')}", expect=(200, 404))
        return json.loads(text) if status == 200 else None

    def effects(self):
        page = self.service.ask_json("/v1/changes?after=0&limit=1000")
        expect("the rest of the history", page["hasMore"], False)
        return [effect for change in page["changes"] for effect in change["effects"]]


class Program:
    """A process, and the lines that it prints."""

    def __init__(self, command, environment):
        self.lines = []
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def await_line(self, pattern):
        """The first line that matches."""
        def found():
            lines = [*self.lines]
            match = next(filter(None, (re.fullmatch(pattern, line) for line in lines)), None)
            if match is None and self.process.poll() is not None and not self.reader.is_alive() \
                    and len(lines) == len(self.lines):
                raise Failure(f"no line {pattern}, and the program has ended: {lines}")
            return match

        return await_true(lambda: f"{pattern} in {self.lines}", found)

    def finish(self):
        """Its lines, after it has ended by itself."""
        expect("the status", self.process.wait(PATIENCE_SECONDS), 0)
        self.reader.join(PATIENCE_SECONDS)
        return self.lines

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE_SECONDS)


def configuration(programs):
    """The program starts before there is a configuration, and never sees half of a change."""
    program = programs.start()
    for number in range(20):
        programs.service.ask("POST", "/v1/transactions", json.dumps({"then": [
            {"put": "config/host", "value": f"db{number}"},
            {"put": "config/port", "value": number}]}))
    program.await_line("connected to db19:19")
    for line in program.lines:
        host, port = re.fullmatch(r"connected to db(\d+):(\d+)", line).groups()
        expect("the port", port, host)


def worker(programs):
    """A worker is killed during a job, and another one does it."""
    victim = programs.start("work", "3600")
    programs.start("add", "first").finish()
    victim.await_line("begins first")
    victim.end()
    texts = ["first", "second", "third"]
    for text in texts[1:]:
        programs.start("add", text).finish()
    for _ in range(2):
        programs.start("work")
    await_true("all jobs are done", lambda: programs.service.ask_json(
        "/v1/count?prefix=jobs/")["count"] == 0)
    expect("how often they were sent", [programs.value(f"sent/{text}") for text in texts], [1] * 3)


def limiter(programs):
    """Three programs at once get as many calls as one would."""
    # The last program ends within this time.
    started = [programs.start("ada", "4", "3600") for _ in range(3)]
    lines = [line for program in started for line in program.finish()]
    expect("the calls", (lines.count("allowed"), len(lines)), (5, 12))
    expect("another user's", programs.start("bob", "1", "3600").finish(), ["allowed"])


def fencing(programs):
    """A holder that was stopped continues without knowing it, and is refused."""
    stopped = programs.start()
    first = int(stopped.await_line(r"wrote (\d+)")[1])
    stopped.signal(signal.SIGSTOP)
    second = int(programs.start().await_line(r"wrote (\d+)")[1])
    stopped.signal(signal.SIGCONT)
    stopped.await_line(f"refused {first}|lost")
    stopped.finish()
    expect("the second token is greater", second > first, True)
    tokens = [effect["value"]["token"] for effect in programs.effects()
              if effect["name"] == "report"]
    expect("the tokens of the writes", tokens, sorted(tokens))


def election(programs):
    """The leader is killed, and another one takes over. Only the current leader writes."""
    names = ("ada", "bob", "eve")
    started = {name: programs.start(name) for name in names}
    first = await_true("one leads", lambda: programs.value("leader"))
    await_true("it reports", lambda: programs.value("report") == first)
    started[first].end()
    await_true("another one reports", lambda: programs.value("report") not in (None, first))
    leader = None
    for effect in programs.effects():
        if effect["name"] == "leader":
            leader = effect.get("value")
        elif effect["name"] == "report":
            expect("the one that reports", effect["value"], leader)


def cache(programs):
    """Concurrent programs compute a value once, and once more when it has expired."""
    def compute(*keys):
        started = [programs.start(*keys) for _ in range(3)]
        lines = [line for program in started for line in program.finish()]
        expect("the answers", sum(line.startswith("has") for line in lines), 3 * len(keys))
        return [line.split()[1] for line in lines if line.startswith("computed")]

    computed = compute("a", "bb", "a")
    await_true("it expires", lambda: programs.value("cache/a") is None)
    computed += compute("a")
    kinds = {name: [effect["type"] for effect in programs.effects() if effect["name"] == name]
             for name in ("cache/a", "cache/bb")}
    for name, found in kinds.items():
        # The steps alternate, however slow the machine is.
        expect(name, found[:3], ["put", "expire", "put"][:len(found[:3])])
        expect(f"{name} was computed", computed.count(name.removeprefix("cache/")),
               found.count("put"))
    expect("it is computed once more", kinds["cache/a"].count("put") > 1, True)


CHECKS = {"configuration": configuration, "worker": worker, "limiter": limiter,
          "fencing": fencing, "election": election, "cache": cache}


if __name__ == "__main__":
    sys.exit(main())
