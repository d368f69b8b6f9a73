"""Every head gets one status or a close, and applied changes are answered.

Each variant is sent alone and with a valid request after it in the same bytes. If the variant is
accepted, the second one must be answered; if it is refused and closed, it must not.
"""

from answers import parse
from clients import Asker, Loop
from process import PATIENCE_SECONDS, Failure
from service import MODES, Service, is_encrypted, say_status
from variants import ARRIVING, CHUNKED, CLOSED, head, table

# The clients listen this much longer for bytes that must not come.
QUIET_SECONDS = 0.05
# For requests that do not arrive completely, and for the others: there a limit would hide silence.
REQUEST_SECONDS, LONG_SECONDS = 2, 600
BATCH = 64
SHOWN_MAX = 12
# Statuses sent without the library; under TLS the service closes instead (decision 0005).
PAST_LIBRARY = {408, 413}
BEHIND = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Sender(Asker):
    """Sends a variant, and the bytes after it."""

    def __init__(self, loop, address, text, follower):
        super().__init__(loop, address, text + follower)
        self.follower = follower

    def answers(self):
        return parse(self.data, first_is_head=self.text.startswith(b"HEAD "))

    def is_done(self):
        if self.end is not None:
            return True
        found = self.answers()[0]
        return bool(found) and (not self.follower or found[0].closes or len(found) > 1)


def ask_all(service, texts, follower):
    """The peers of some variants, after all are done."""
    with Loop() as loop:
        peers = loop.connect(Sender(loop, service.address, text, follower) for text in texts)
        loop.run(PATIENCE_SECONDS, lambda: all(peer.is_done() for peer in peers))
        loop.run(QUIET_SECONDS)
    return peers


def ask_rows(service, rows, follower):
    """Every row with its peer."""
    for i in range(0, len(rows), BATCH):
        part = rows[i:i + BATCH]
        yield from zip(part, ask_all(service, [row[1] for row in part], follower))


def mistake(peer, statuses):
    """The mistake in the answer to a variant, or None."""
    found, rest = peer.answers()
    said = [answer.status for answer in found]
    if not found:
        if peer.end is None:
            return "silence" + (f" after {rest[:40]!r}" if rest else "")
        return None if CLOSED in statuses else "closed without an answer"
    if said[0] not in statuses:
        return f"{said[0]} where {sorted(statuses)} is right"
    goes_on = peer.follower and peer.end is None and not found[0].closes
    if goes_on and said[1:] != [200]:
        return f"{said[0]}, and what follows gets {said[1:] or 'silence'}"
    if not goes_on and (len(said) > 1 or rest):
        return f"{said[0]}, then {said[1:] or rest[:40]!r} on a connection that is over"
    if peer.follower and not goes_on and not found[0].closes and said[0] < 400:
        return f"{said[0]}, then closed without saying so"
    return None


def rows_of(mode):
    """The table. Under TLS a connection may be closed instead of a refusal without the library
    (decision 0005)."""
    for name, text, statuses in table():
        if is_encrypted(mode):
            statuses = statuses | ({CLOSED} if statuses & PAST_LIBRARY else set())
        yield name, text, statuses


def variants(run, mode):
    """The whole table, and a service that still stops after it."""
    rows, wrong = list(rows_of(mode)), []
    for seconds, part in (
            (LONG_SECONDS, [row for row in rows if not ARRIVING <= row[2]]),
            (REQUEST_SECONDS, [row for row in rows if ARRIVING <= row[2]])):
        with Service(run.binary, "--max-connections", 4 * BATCH, "--drain-seconds", 1,
                     "--request-timeout-seconds", seconds, "--idle-timeout-seconds", LONG_SECONDS,
                     *MODES[mode]) as service:
            for follower, how in ((b"", "alone"), (BEHIND, "with a request after it")):
                for (name, _, statuses), peer in ask_rows(service, part, follower):
                    if complaint := mistake(peer, statuses):
                        wrong.append(f"{name}, {how}: {complaint}")
            if service.ask("GET", "/healthz")[0] != 200:
                wrong.append("the service does not answer any more")
            service.terminate()
            status = service.wait()
            if status != 0:
                wrong.append(f"after SIGTERM: {say_status(status)}")
    silent = sum(": silence" in text for text in wrong)
    figures = f"{len(rows)} variants, {len(wrong)} wrong answers, {silent} of them silence"
    if wrong:
        shown = wrong if run.verbose else wrong[:SHOWN_MAX]
        raise Failure("\n    ".join([figures, *shown] + ["…"] * (len(shown) < len(wrong))))
    return figures


def increments():
    """Increments whose heads and trailers need much of a connection's memory."""
    def increment(name, *lines, body=""):
        return head(f"POST /v1/properties/{name}/increment HTTP/1.1", *lines,
                    body=body).encode("latin-1")
    for count in (*range(60, 260), 300, 400):
        name = f"lines{count}"
        yield name, increment(name, *(f"a{i}: b" for i in range(count - 1)))
        name = f"short{count}"
        yield name, increment(name, *["a:"] * (count - 1))
    for count in range(20, 110, 10):
        name = f"cookies{count}"
        yield name, increment(name, "Cookie: " + "; ".join(["c=" + "v" * 46] * count))
    for count in range(6000, 9000, 100):
        name = f"value{count}"
        yield name, increment(name, "A: " + "x" * count)
    for count in (10, 100, 1000, 4000, 8000, 12000, 16000, 20000, 32000, 64000):
        name = f"trailer{count}"
        yield name, increment(name, CHUNKED, body=f"0\r\nA: {'x' * count}\r\n\r\n")
        name = f"trailers{count}"
        yield name, increment(name, CHUNKED, body="0\r\n" + "A: b\r\n" * (count // 6) + "\r\n")
        name = f"after{count}"
        yield name, increment(name, CHUNKED, *["a:"] * 80, body=f"0\r\nA: {'x' * count}\r\n\r\n")


def applied(run, mode):
    """An increment is applied and answered, or refused and not applied."""
    rows = list(increments())
    unanswered, refused_and_applied, refused_small = [], [], []
    with Service(run.binary, "--max-connections", 4 * BATCH, *MODES[mode]) as service:
        for (name, text), peer in ask_rows(service, rows, b""):
            found = peer.answers()[0]
            status = found[0].status if found and found[0].whole else None
            happened = service.ask("GET", f"/v1/properties/{name}")[0] == 200
            if status != 200 and happened:
                (unanswered if status is None else refused_and_applied).append(name)
            lines = text.count(b"\r\n")
            if status == 431 and lines < 100 and len(text) < 8000:
                refused_small.append(name)
    figures = (f"{len(rows)} increments; applied without an answer: {shorten(unanswered)}; refused "
               f"and applied: {shorten(refused_and_applied)}; 431 far below the bounds: "
               f"{shorten(refused_small)}")
    if unanswered or refused_and_applied or refused_small:
        raise Failure(figures)
    return figures


def shorten(names):
    return f"{len(names)} ({', '.join(names[:6])}{'…' if len(names) > 6 else ''})" if names else 0


CASES = {"heads-table": variants, "heads-applied": applied}
