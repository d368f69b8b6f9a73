"""What recording costs the service, how exactly a trace is replayed, and the client of replays."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading

import driver
from process import Failure, Latchkey
from table import progress, ratios, row

VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
CONNECTIONS = 32
REPLAY_SECONDS_MAX = 300
START_DELAY_TARGET = 100


def measure_recording(arguments, interleave):
    """The rows; `interleave` loads services in turn."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        rows = recording_cost(arguments, interleave, trace)
        return rows + [replay_row(arguments, pathlib.Path(folder)), *client_rows(arguments)]


def recording_cost(arguments, interleave, trace):
    threads = str(os.cpu_count())
    with Latchkey(arguments.binary, "--http-threads", threads) as plain, \
            Latchkey(arguments.binary, "--http-threads", threads, "--record", trace) as recording:
        for service in (plain, recording):
            service.ask("PUT", "/v1/properties/get", VALUE)
        loads = interleave(arguments, {
            f"{method} {name}": (service, method, method, ())
            for method in ("get", "put")
            for name, service in (("plain", plain), ("recording", recording))})
    return [line for method in ("get", "put")
            for line in ratios(f"{method.upper()} with --record at 1/16 ÷ without", loads,
                               f"{method} recording", f"{method} plain", 0.98)]


def replay_row(arguments, folder):
    """Records some thousand requests a second, and replays them in process."""
    trace = folder / "replayed"
    with Latchkey(arguments.binary, "--record", trace) as service:
        service.ask("PUT", "/v1/properties/get", VALUE)
        loads = [threading.Thread(target=driver.drive, args=(
            f"{service.url}/v1/properties/{method}", method, 3, 4)) for method in ("get", "put")]
        for load in loads:
            load.start()
        for load in loads:
            load.join()
    report = folder / "replay.json"
    progress("replaying a trace")
    subprocess.run(
        [arguments.binary, "compare", "--trace", trace, "--strategies", "lock", "--threads", "2",
         "--repeats", "5", "--force", "--json", report],
        stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=REPLAY_SECONDS_MAX)
    case, = json.loads(report.read_text())["cases"]
    delays = [each["startDelay"]["p99Nanoseconds"] / 1000 for each in case["repeats"]]
    rate = case["workload"]["arrival"].partition(":")[2]
    middle = sorted(delays)[len(delays) // 2]
    return row("trace at its recorded rate: intended to real start, p99", delays, "µs",
               f"< {START_DELAY_TARGET}", middle < START_DELAY_TARGET,
               f"lock, 2 threads, {float(rate):,.0f} operations/s")


def client_rows(arguments):
    """Our client against wrk: GETs of one property in a closed loop, in turn.

    On processors of its own the service is what limits both, so both have to measure the same. On
    shared ones the client that needs less processor time leaves more of it to the service.
    """
    free = os.sched_getaffinity(0)
    shared = client_row(arguments, "shared processors", None)
    if len(free) < 2:
        return [shared]
    first, *others = sorted(free)
    try:
        alone = client_row(arguments, "service alone on a processor", ({first}, set(others)))
    finally:
        os.sched_setaffinity(0, free)
    return [alone, shared]


def client_row(arguments, place, processors):
    """`processors` are those of the service and those of the clients, which inherit ours."""
    values, rates = [], []
    threads = 1 if processors else os.cpu_count()
    if processors:
        os.sched_setaffinity(0, processors[0])
    with Latchkey(arguments.binary, "--http-threads", str(threads)) as service:
        if processors:
            os.sched_setaffinity(0, processors[1])
        service.ask("PUT", "/v1/properties/get", VALUE)
        for turn in range(2 * arguments.rounds):
            progress(f"client and wrk, round {turn + 1} of {2 * arguments.rounds}")
            found = {}
            for which in ("own", "wrk") if turn % 2 else ("wrk", "own"):
                found[which] = own_rate(arguments, service) if which == "own" else driver.rate(
                    driver.drive(f"{service.url}/v1/properties/get", "get", 1))
            values.append(found["own"] / found["wrk"])
            rates.append(found)
    middle = sorted(values)[len(values) // 2]
    note = " ÷ ".join(f"{sorted(each[which] for each in rates)[len(rates) // 2]:,.0f}/s"
                      for which in ("own", "wrk"))
    return row(f"client of replays ÷ wrk, closed loop, {place}", values, "",
               "0.9 to 1.1" if processors else "", 0.9 <= middle <= 1.1 if processors else None,
               note)


def own_rate(arguments, service):
    output = subprocess.run(
        [arguments.clients / "closed", "--port", str(service.address[1]), "--path",
         "/v1/properties/get", "--connections", str(CONNECTIONS), "--seconds", "1"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60).stdout
    found = json.loads(output)
    if found["lost"]:
        raise Failure(f"the client lost requests: {found}")
    return driver.rate(found)
