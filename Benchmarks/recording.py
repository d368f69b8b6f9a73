"""The cost of recording for the service, and how exactly a trace is replayed."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading

import driver
from process import Latchkey
from table import progress, ratios, row

VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
REPLAY_SECONDS_MAX = 300
START_DELAY_TARGET = 100


def measure_recording(arguments, interleave):
    """The rows; `interleave` loads services in turn."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        rows = recording_cost(arguments, interleave, trace)
        return rows + [replay_row(arguments, pathlib.Path(folder))]


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
    """Records some thousands of requests a second, and replays them in process."""
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
