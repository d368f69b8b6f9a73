#!/usr/bin/env python3
"""Tries all clients against a service that misbehaves by script; see clients/behaviour.md.

    Tests/clients/conformance/run.py --binary .build-release/bin/latchkey [--client C] [CASE ...]

CASE is a part of a case's title, or the number of a row of the issue, as in `row=4`. A line is
printed for each case that fails. -v shows the output of the drivers.
"""

import argparse
import os
import pathlib
import queue
import sys
import tempfile
import threading
import traceback

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent.parent
DRIVERS = HERE.parent / "drivers"
for place in (HERE.parent, TOP / "Tests" / "dashboard", TOP / "Tests" / "contract",
              TOP / "scripts"):
    sys.path.append(str(place))
sys.set_int_max_str_digits(0)

import calls  # noqa: E402, F401
import driving  # noqa: E402
import faults  # noqa: E402, F401
import leases  # noqa: E402, F401
import typescript_package  # noqa: E402
import watches  # noqa: E402, F401
from cases import CASES  # noqa: E402
from driving import Driver, Failed, NotSupported, Try  # noqa: E402
from process import Failure  # noqa: E402

CLIENTS = ("python", "asyncio", "typescript", "command-line")
# The number of cases of a client that run at once; most of them wait.
WIDTH = 4
PYTHON = TOP / ".build-tools" / "python" / "bin" / "python"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the command line to run")
    parser.add_argument("--client", choices=CLIENTS, action="append")
    parser.add_argument("--patience", type=float, default=driving.patience)
    parser.add_argument("-v", action="store_true")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    driving.patience = arguments.patience
    binary = os.path.abspath(arguments.binary)
    with tempfile.TemporaryDirectory() as folder:
        drivers = {client: driver_of(client, binary, folder)
                   for client in arguments.client or CLIENTS}
        return try_all(drivers, binary, arguments.case)


def driver_of(client, binary, folder):
    """The command of the driver, and its environment."""
    if client == "command-line":
        return [sys.executable, DRIVERS / "command_line_driver.py"], {"LATCHKEY_BINARY": binary}
    if client == "typescript":
        return typescript_package.build_driver(folder), {}
    return [PYTHON, DRIVERS / "python_driver.py", *["--asyncio"] * (client == "asyncio")], {}


def try_all(drivers, binary, words):
    cases = [case for case in CASES if not words or any(
        word in case.title or word == f"row={case.row}" for word in words)]
    lines, threads = {client: [] for client in drivers}, []
    for client in drivers:
        jobs = queue.SimpleQueue()
        for case in cases:
            if client in case.only:
                jobs.put(case)
        threads += [threading.Thread(target=work, args=(
            client, Driver(*drivers[client]), binary, jobs, lines[client])) for _ in range(WIDTH)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client, words_of in lines.items():
        print(f"{client}: {len(words_of)} cases, {words_of.count(None)} passed")
    return int(any(word for ended in lines.values() for word in ended))


def work(client, driver, binary, jobs, words):
    """Runs one case after the other with one driver."""
    while True:
        try:
            case = jobs.get_nowait()
        except queue.Empty:
            break
        words.append(try_case(Try(client, driver, binary), case))
        if words[-1] is not None:
            print(f"FAILED {client}: {case.title} (row {case.row}): {words[-1]}", flush=True)
    driver.end()


def try_case(attempt, case):
    """None, or the reason why it failed."""
    try:
        case.act(attempt)
        attempt.finish()
        attempt.call("close")
        return None
    except NotSupported:
        word = "not supported"
    except (Failure, Failed, AssertionError) as failure:
        word = str(failure)
    except Exception:  # noqa: BLE001
        word = traceback.format_exc()
    finally:
        attempt.close()
    # Ends its remaining work, which must not disturb the next case.
    attempt.driver.end()
    return word


if __name__ == "__main__":
    sys.exit(main())
