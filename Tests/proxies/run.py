#!/usr/bin/env python3
"""Tests nginx and Caddy in front of a running service, with the examples of deploy/.

    Tests/proxies/run.py --binary .build-release/bin/latchkey --tools .build-tools/bin

Needs what `scripts/require proxies` puts into .build-tools. Standard library only.
"""

import argparse
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

import checks  # noqa: E402
from process import Failure, Latchkey  # noqa: E402
from proxy import HOST, Caddy, Nginx  # noqa: E402


class Service(Latchkey):
    """One that a check may kill."""

    is_killed = False

    def kill(self):
        self.is_killed = True
        self.process.kill()
        self.process.wait()

    def __exit__(self, *details):
        if not self.is_killed:
            super().__exit__(*details)


# Mistakes in the examples, each with the check that must find it.
PLANTED = (
    (Nginx, checks.names, "proxy_pass http://latchkey;", "proxy_pass http://latchkey/;"),
    (Nginx, checks.host, "proxy_set_header Host $http_host;", "proxy_set_header Host $host;"),
    (Nginx, checks.tags, "gzip off;", "gzip on; gzip_min_length 1; gzip_types application/json;"),
    (Nginx, checks.polls, "proxy_read_timeout 90s;", "proxy_read_timeout 300ms;"),
    (Nginx, checks.transfers, "client_max_body_size 0;", ""),
    (Caddy, checks.host, "reverse_proxy 127.0.0.1:8080",
     "reverse_proxy 127.0.0.1:8080 {\n\t\theader_up Host localhost\n\t}"),
    (Caddy, checks.tags, "reverse_proxy",
     "encode {\n\t\tgzip\n\t\tminimum_length 1\n\t}\n\treverse_proxy"),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--tools", required=True, type=pathlib.Path, help="where the proxies are")
    arguments = parser.parse_args()
    failed = 0
    for kind in (Nginx, Caddy):
        for name, check in checks.CHECKS:
            complaint = attempt(arguments, kind, check)
            print(f"FAILED {kind.name}: {name}: {complaint}" if complaint
                  else f"ok {kind.name}: {name}", flush=True)
            failed += complaint is not None
    for kind, check, *mistake in PLANTED:
        if not attempt(arguments, kind, check, mistake):
            print(f"FAILED {kind.name}: {mistake[1].strip()!r} is overlooked", flush=True)
            failed += 1
    return 1 if failed else 0


def attempt(arguments, kind, check, mistake=None):
    """Why the check fails, or None."""
    try:
        with Service(arguments.binary, "--allowed-host", HOST) as service, \
                kind(arguments.tools / kind.name, service, mistake) as proxy:
            check(service, proxy)
            return None
    except (Failure, OSError) as failure:
        return failure or type(failure).__name__


if __name__ == "__main__":
    sys.exit(main())
