#!/usr/bin/env python3
"""Tests nginx, Caddy, Varnish and squid before a service or a cluster, with deploy/'s examples.

    Tests/proxies/run.py --binary .build-release/bin/latchkey --tools .build-tools/bin

Needs what `scripts/require proxies` puts into .build-tools. Needs only the standard library.
"""

import argparse
import pathlib
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(TOP / "scripts"), str(TOP / "Tests" / "cluster")]

import balancer  # noqa: E402
import checks  # noqa: E402
from caches import Squid, Varnish  # noqa: E402
from process import Failure, Latchkey, create_certificate  # noqa: E402
from proxy import HOST, Caddy, Nginx  # noqa: E402


# Mistakes in the examples, each with the check that must find it.
PLANTED = (
    (Nginx, checks.names, "proxy_pass http://latchkey;", "proxy_pass http://latchkey/;"),
    (Nginx, checks.host, "proxy_set_header Host $http_host;", "proxy_set_header Host $host;"),
    (Nginx, checks.tags, "gzip off;", "gzip on; gzip_min_length 1; gzip_types application/json;"),
    (Nginx, checks.polls, "proxy_read_timeout 90s;", "proxy_read_timeout 300ms;"),
    (Nginx, checks.addresses, "X-Forwarded-For $proxy_add_x_forwarded_for", "X-Other a"),
    (Nginx, checks.host, "proxy_ssl_name state.example.com;", "proxy_ssl_name other.example;"),
    (Caddy, checks.host, "tls_server_name state.example.com", "tls_server_name other.example"),
    (Nginx, checks.transfers, "client_max_body_size 0;", ""),
    (Caddy, checks.host, "reverse_proxy 127.0.0.1:8080",
     "reverse_proxy 127.0.0.1:8080 {\n\t\theader_up Host localhost\n\t}"),
    (Caddy, checks.tags, "reverse_proxy",
     "encode {\n\t\tgzip\n\t\tminimum_length 1\n\t}\n\treverse_proxy"),
    (Varnish, checks.polls, "return (pass);", "return (hash);"),
    (Squid, checks.tokens, " login=PASSTHRU", ""),
)
# The two that can keep answers, with settings that do so.
KEEPING = (
    (Varnish, "return (pass);", "return (hash);"),
    (Squid, "cache deny all", "cache allow all"),
)


# Checks with TLS to the service; they need no answer from the service itself.
ENCRYPTED = tuple((kind, check) for kind in (Nginx, Caddy)
                  for check in (checks.host, checks.tags))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--tools", required=True, type=pathlib.Path, help="where the proxies are")
    arguments = parser.parse_args()
    failed = 0
    for kind in (Nginx, Caddy, Varnish, Squid):
        for name, check in checks.CHECKS:
            failed += not holds(name, arguments, kind, check)
    for kind, check in ENCRYPTED:
        failed += not holds("TLS to the service", arguments, kind, check, is_encrypted=True)
    for kind, *change in KEEPING:
        for check in (checks.rereads, checks.absent):
            failed += not holds(f"a cache: {check.__name__}", arguments, kind, check, change)
    for kind, check, *mistake in PLANTED:
        is_encrypted = any(word in mistake[0] for word in ("proxy_ssl_name", "tls_server_name"))
        if not attempt(arguments, kind, check, mistake, is_encrypted):
            print(f"FAILED {kind.name}: {mistake[1].strip()!r} is overlooked", flush=True)
            failed += 1
    for mistake in (None, balancer.MISTAKE):
        complaint = attempt_balancer(arguments, mistake)
        if bool(complaint) == bool(mistake):
            print("ok the balancer of a cluster" + (f" without {mistake[0]}" if mistake else ""))
        else:
            print(f"FAILED the balancer of a cluster: {complaint or f'{mistake} is overlooked'}")
            failed += 1
    return 1 if failed else 0


def holds(name, arguments, kind, check, *more, **others):
    """Makes an attempt, and prints its result."""
    complaint = attempt(arguments, kind, check, *more, **others)
    print(f"FAILED {kind.name}: {name}: {complaint}" if complaint else f"ok {kind.name}: {name}",
          flush=True)
    return complaint is None


def attempt_balancer(arguments, mistake):
    """The reason why the check fails, or None."""
    try:
        return balancer.check(arguments, mistake)
    except (Failure, OSError) as failure:
        return failure


def attempt(arguments, kind, check, mistake=None, is_encrypted=False):
    """The reason why the check fails, or None."""
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            options = list(check.options(arguments.binary, folder)
                           if hasattr(check, "options") else ())
            if is_encrypted:
                certificate, key = create_certificate(folder, HOST)
                options += ["--tls-certificate", certificate, "--tls-key", key]
            with Latchkey(arguments.binary, "--allowed-host", HOST, *options) as service:
                service.folder = folder
                with kind(arguments.tools / kind.name, service, mistake, is_encrypted) as proxy:
                    check(service, proxy)
                    return None
    except (Failure, OSError) as failure:
        return failure or type(failure).__name__


if __name__ == "__main__":
    sys.exit(main())
