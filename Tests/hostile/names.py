"""On the loopback address only local names are served, so that a page whose own name
points there (DNS rebinding) reads and writes nothing.
"""

from service import MODES, Failure, Service

LOCAL = ("127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8080")
FOREIGN = ("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
           "evil-localhost", "192.0.2.1", "[2001:db8::1]", "localhost@evil.example")
MISDIRECTED = {400, 421}


def names(run, mode):
    wrong = []
    with Service(run.binary, *MODES[mode]) as service:
        for host in LOCAL:
            expect(service, host, {200, 201, 204}, wrong)
        for host in FOREIGN:
            expect(service, host, MISDIRECTED, wrong)
        target = "http://evil.example/v1/properties/a"
        status = service.ask("PUT", target, b"1")[0]
        if status not in MISDIRECTED:
            wrong.append(f"PUT {target}: {status}")
        if service.ask("GET", "/v1/properties/stolen")[0] != 404:
            wrong.append("a refused write was applied")
    try:
        with Service(run.binary, "--allowed-host", "state.example", *MODES[mode]) as service:
            expect(service, "state.example", {200, 201, 204}, wrong)
            expect(service, "localhost", {200, 201, 204}, wrong)
            expect(service, "evil.example", MISDIRECTED, wrong)
    except Exception as refused:  # noqa: BLE001
        wrong.append(f"--allowed-host: {refused}")
    figures = f"{len(LOCAL)} local names, {len(FOREIGN)} foreign ones, {len(wrong)} wrong"
    if wrong:
        raise Failure("\n    ".join([figures, *wrong]))
    return figures


def expect(service, host, statuses, wrong):
    """PUT and GET under a name, with the Origin that a page of that name has."""
    fields = {"Host": host, "Origin": f"http://{host}"}
    path = "/v1/properties/" + ("mine" if 200 in statuses else "stolen")
    for method, body in (("PUT", b"1"), ("GET", None)):
        status, headers, _ = service.ask(method, path, body, fields)
        if status not in statuses or "Access-Control-Allow-Origin" in headers:
            wrong.append(f"{method} with Host: {host}: {status}")


CASES = {"names": names}
