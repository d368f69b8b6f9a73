"""The cost of TLS, the effect of handshakes and greedy clients on others, and connection memory.

Clients and service share the processors. So a load beside busy clients slows them down in any case,
even if it is another program's. Each such row has a second one, for the same load against the
floor: there the busy clients lose processor time only. For handshakes a third row has the quotient,
which is the cost of the service itself.

Event loops serve connections in turn, so a greedy client's part is that of its connections, and the
limit of these is the service's defence.
"""

import contextlib
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import driver
from clients import Clients, turns
from process import Failure, Latchkey
from table import progress, ratios, row

TOP = pathlib.Path(__file__).resolve().parent.parent
VALUE = b'"abcdefghijklmnopqrstuvwxyz0123"'
PATH = "/v1/properties/get"
BUSY = 32
# Loads of a second: the handshakes of wrk's own connections are in each one.
SHORTER = 2
IDLE = 10_000
LEAD_SECONDS = 0.2
# The first address of the busy clients, each of which has one, and that of the others.
BUSY_ADDRESS = 2
OTHER_ADDRESS = 100
# Handshakes: how many connections and how many a second, 0 for as many as possible.
HANDSHAKES = {"4 connections": (4, 0), "200/s": (16, 200)}
# The flags, how many connections the greedy client gets, and the target.
GREEDY = {
    "defaults": ((), 256, 0.9),
    "--rate 1000": (("--rate", "1000"), 256, 0.9),
    "--max-connections-per-address 8": (("--max-connections-per-address", "8"), 8, None),
    "--max-connections-per-address 3": (("--max-connections-per-address", "3"), 3, 0.9),
}


def measure_tls(arguments, interleave, floor_program):
    """The rows; `interleave` loads servers in turn, `floor_program` makes a floor."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_certificate(pathlib.Path(folder))
        flags = ("--tls-certificate", certificate, "--tls-key", key)
        floor = ("--certificate", certificate, "--key", key, "--priorities", priorities())
        with floor_program(arguments, "per-request", *floor) as elsewhere:
            return [
                *measure_rates(arguments, interleave, flags, elsewhere),
                *measure_handshakes(arguments, flags, elsewhere),
                *measure_greed(arguments, flags, elsewhere),
                *measure_idle(arguments, flags)]


def make_certificate(folder):
    """A certificate that signs itself, with a key on P-256. Returns the two files."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", certificate],
        stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
    return certificate, key


def priorities():
    """The versions and ciphers of the service, out of its source, for the floor."""
    source = (TOP / "Sources/service/CLatchkeyHTTP/tls/tls.c").read_text(encoding="utf-8")
    found = re.search(r'priorities\[\] =((?:\s*"[^"]*")+);', source)
    if not found:
        raise Failure("tls.c has no priorities")
    return "".join(re.findall(r'"([^"]*)"', found[1]))


@contextlib.contextmanager
def service_with_value(arguments, *flags):
    with Latchkey(arguments.binary, *map(str, flags)) as service:
        service.ask("PUT", PATH, VALUE)
        yield service


def measure_rates(arguments, interleave, flags, floor):
    with service_with_value(arguments) as plain, \
            service_with_value(arguments, *flags) as encrypted:
        loads = interleave(arguments, {
            "plain": (plain, "get", "get", ()),
            "tls": (encrypted, "get", "get", ()),
            "floor": (floor, "get", "get", ()),
        }, shorter=SHORTER)
    return [
        *ratios("GET over TLS ÷ plain", loads, "tls", "plain", 0.5),
        *ratios("GET over TLS ÷ floor over TLS", loads, "tls", "floor", 0.95)]


class Sessions(Clients):
    """The process of many clients of one server. A context manager."""

    def __init__(self, arguments, server, **options):
        words = [word for flag, value in options.items() for word in (f"--{flag}", value)]
        holds = "hold" in options
        super().__init__(
            arguments.clients / "sessions", "--port", server.address[1],
            "--tls", int(server.url.startswith("https:")), "--path", PATH, *words,
            is_awaited=holds, reports=not holds)


def take_turns(arguments, what, cases):
    """Calls the cases in turn. Returns lists by case."""
    found = {name: [] for name in cases}
    for name in turns(cases, arguments.rounds * SHORTER, f"{what}, "):
        found[name].append(cases[name]())
    return found


def measure_handshakes(arguments, flags, floor):
    """Busy clients, with handshakes beside them: to the same service, to the floor, and without."""
    with service_with_value(arguments, *flags) as service:
        cases = {"quiet": lambda: busy_beside(arguments, service, None, 0, 0)}
        for name, (connections, rate) in HANDSHAKES.items():
            for place, server in (("beside", service), ("elsewhere", floor)):
                cases[f"{place} {name}"] = lambda server=server, connections=connections, \
                    rate=rate: busy_beside(arguments, service, server, connections, rate)
        found = take_turns(arguments, "handshakes", cases)
        alone = take_turns(arguments, "handshakes alone", {
            "service": lambda: handshake_microseconds(arguments, service),
            "floor": lambda: handshake_microseconds(arguments, floor)})
    rows = []
    for name in HANDSHAKES:
        rows += handshake_rows(name, found)
    values = [one / other for one, other in zip(alone["service"], alone["floor"])]
    middles = [statistics.median(alone[each]) for each in ("service", "floor")]
    return [*rows, row("processor time of a full handshake with one GET ÷ floor", values, "", "",
                       None, f"{middles[0]:,.0f} µs ÷ {middles[1]:,.0f} µs")]


def busy_beside(arguments, service, server, connections, rate):
    """The 99th percentile of the busy clients in ms, and the handshakes made a second."""
    seconds = arguments.seconds / SHORTER
    handshakes = Sessions(
        arguments, server, connections=connections, fresh=1, rate=rate,
        seconds=seconds + 2 * LEAD_SECONDS, address=OTHER_ADDRESS,
        addresses=connections) if server else None
    with handshakes or contextlib.nullcontext():
        time.sleep(LEAD_SECONDS)
        report = driver.drive(f"{service.url}{PATH}", "get", seconds, connections=BUSY)
    if driver.socket_errors(report) or report["status"]:
        raise Failure(f"not every answer was 2xx: {report}")
    if handshakes and handshakes.report["lost"]:
        raise Failure(f"handshakes have failed: {handshakes.report}")
    return (report["p99Microseconds"] / 1000,
            driver.rate(handshakes.report) if handshakes else 0, driver.rate(report))


def handshake_rows(name, found):
    """The busy clients' p99: of the service, of processors that are shared, and the difference."""
    def middle(case, part=0):
        return statistics.median(each[part] for each in found[case])

    rows = []
    for title, over, under, target in (
            (f"p99 of {BUSY} busy clients, beside full handshakes, {name} ÷ without",
             f"beside {name}", "quiet", 2),
            ("  the same, handshakes made with the floor ÷ without",
             f"elsewhere {name}", "quiet", None),
            ("  the same, handshakes made with the service ÷ with the floor",
             f"beside {name}", f"elsewhere {name}", None)):
        values = [one[0] / other[0] for one, other in zip(found[over], found[under])]
        met = None if target is None else statistics.median(values) <= target
        note = (f"{middle(over):.2f} ms ÷ {middle(under):.2f} ms; "
                f"{middle(over, 1):,.0f} handshakes/s beside {middle(over, 2):,.0f} GETs/s")
        rows.append(row(title, values, "", "" if target is None else f"≤ {target}", met, note))
    return rows


def handshake_microseconds(arguments, server):
    """Processor time of the server for a handshake and one GET, with no other load."""
    before = server.cpu_seconds()
    with Sessions(arguments, server, connections=4, fresh=1, seconds=arguments.seconds / SHORTER,
                  address=OTHER_ADDRESS, addresses=4) as handshakes:
        pass
    return 1e6 * (server.cpu_seconds() - before) / handshakes.report["requests"]


def measure_greed(arguments, flags, floor):
    """Clients with an address and one connection each, and one with all it may have."""
    rows = []
    for name, (further, connections, target) in GREEDY.items():
        with service_with_value(arguments, *flags, *further) as service:
            found = take_turns(arguments, f"greedy client, {name}", {
                "without": lambda: others_beside(arguments, service, None, 0),
                "with": lambda: others_beside(arguments, service, service, connections),
                "elsewhere": lambda: others_beside(arguments, service, floor, connections)})
        rows += greed_rows(name, connections, target, found)
    return rows


def others_beside(arguments, service, server, connections):
    """Answers a second of the busy clients and of the greedy one, and its refusals a second."""
    seconds = arguments.seconds / SHORTER
    # It makes its connections first.
    lead = LEAD_SECONDS + connections / 500
    greedy = Sessions(
        arguments, server, connections=connections, address=OTHER_ADDRESS,
        seconds=seconds + lead + LEAD_SECONDS) if server else None
    with greedy or contextlib.nullcontext():
        time.sleep(lead if greedy else LEAD_SECONDS)
        with Sessions(arguments, service, connections=BUSY, address=BUSY_ADDRESS, addresses=BUSY,
                      seconds=seconds) as others:
            pass
    refusals = greedy.report["refused"] / greedy.report["seconds"] if greedy else 0
    return driver.rate(others.report), driver.rate(greedy.report) if greedy else 0, refusals


def greed_rows(name, connections, target, found):
    def middle(case, part=0):
        return statistics.median(each[part] for each in found[case])

    fair = BUSY / (BUSY + 1)
    rows = []
    for title, over, under, share, bound in (
            (f"{BUSY} clients beside a greedy one ÷ their fair share, {name}", "with", "without",
             fair, target),
            ("  the same, greedy at the floor ÷ their fair share", "elsewhere", "without", fair,
             None)):
        values = [one[0] / (share * other[0]) for one, other in zip(found[over], found[under])]
        met = None if bound is None else statistics.median(values) >= bound
        note = (f"{middle(over):,.0f}/s ÷ {share * middle(under):,.0f}/s; greedy: {connections} "
                f"connections, {middle(over, 1):,.0f}/s, {middle(over, 2):,.0f} refusals/s")
        rows.append(row(title, values, "", "" if bound is None else f"≥ {bound}", met, note))
    return rows


def measure_idle(arguments, flags):
    """Memory of connections that have had one answer and stay."""
    rows = []
    for name, choice in (("over TLS", flags), ("plain", ())):
        progress(f"{IDLE:,} idle connections, {name}")
        with service_with_value(
                arguments, "--max-connections", IDLE + 100, "--client-share", "1/1",
                "--idle-timeout-seconds", "3600", *choice) as service:
            before = service.resident_bytes()
            with Sessions(arguments, service, connections=IDLE, hold=1, address=BUSY_ADDRESS,
                          addresses=BUSY):
                after = service.resident_bytes()
        rows.append(row(f"memory of an idle connection {name}", [(after - before) / IDLE], "B", "",
                        None, f"{IDLE:,} connections after one GET each; the service has "
                              f"{after / 1e6:,.0f} MB"))
    return rows
