"""Whether a service refuses what h11 refuses: bytes that two servers in a row could read
differently.

    Tests/contract/framing.py URL

h11 is an independent, strict parser. The requests that it takes and that we must refuse are in the
table of Tests/hostile/variants.py; this test checks the other direction.
"""

import pathlib
import socket
import sys
import urllib.parse

import h11

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(TOP / "Tests" / "hostile"), str(TOP / "scripts")]

from answers import parse  # noqa: E402
from process import PATIENCE_SECONDS  # noqa: E402
from variants import ARRIVING, table  # noqa: E402

# Requests that h11 refuses although RFC 9112 allows them: empty lines before a request (2.2), white
# space before an extension (7.1.1), and zeros before a size (7.1).
TAKEN = {*(f"line_ends: {count} empty lines first" for count in (1, 2, 3, 100)),
         "chunks: chunks: spaces and extension", "chunks: chunks: 100 zeros"}


def refuses(text):
    """Whether h11 finds a fault in a request, with its body."""
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    parser.receive_data(text)
    parser.receive_data(b"")
    try:
        while True:
            event = parser.next_event()
            if isinstance(event, h11.EndOfMessage) or event in (h11.NEED_DATA, h11.PAUSED):
                return False
            if isinstance(event, h11.ConnectionClosed):
                return True
    except h11.RemoteProtocolError:
        return True


def status_of(address, text):
    with socket.create_connection(address, PATIENCE_SECONDS) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        data = b""
        try:
            while piece := connection.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
    found = parse(data)[0]
    return found[0].status if found else None


def judge(url):
    """The rows that the service takes although h11 refuses them."""
    wrong, count, url = [], 0, urllib.parse.urlsplit(url)
    for name, text, statuses in table():
        if ARRIVING <= statuses or name in TAKEN or not refuses(text):
            continue
        count += 1
        status = status_of((url.hostname, url.port), text)
        if status is None or status < 400:
            wrong.append(f"{name}: {status}")
    if wrong or count < 100:
        sys.exit(f"{count} refused by h11; taken nevertheless:\n" + "\n".join(wrong))
    print(f"   {count} variants that h11 refuses")


if __name__ == "__main__":
    judge(sys.argv[1])
