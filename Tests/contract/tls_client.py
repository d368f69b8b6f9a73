"""The messages of `latchkey get` about an invalid certificate, or a file without one."""

import os
import subprocess

import tls
from process import Failure


def mistakes(binary, folder):
    """`latchkey get` names the mistake of a certificate, or of its file."""
    ended = tls.Bench(binary, folder)
    (folder / "extensions").write_text("subjectAltName=DNS:localhost\n")
    tls.sh(folder, *tls.REQUEST, "-subj", "/CN=localhost", "-keyout", "key", "-out", "request")
    tls.sh(folder, "openssl", "x509", "-req", "-in", "request", "-signkey", "key", "-extfile",
           "extensions", *tls.validity(True), "-out", "certificate")
    with ended.serve() as service:
        say(ended, service.url, folder / "certificate", 1, "expired")
    bench = tls.Bench(binary, folder)
    (folder / "text").write_text("no certificate\n")
    with bench.serve() as service:
        local = service.url.replace("127.0.0.1", "localhost")
        say(bench, local, folder / "certificate", 3, "`a`")
        say(bench, service.url, folder / "certificate", 1, "127.0.0.1")
        say(bench, local, folder / "authorities", 1, "--ca")
        say(bench, local, folder / "text", 2, "--ca", "PEM")


def say(bench, url, authority, status, *words):
    """Checks the status and the words of a `get` with an authority's certificate."""
    done = subprocess.run(
        [bench.binary, "get", "a", "--url", url, "--ca", authority],
        capture_output=True, text=True, timeout=tls.COMMAND_SECONDS_MAX, check=False,
        env={**os.environ, "LATCHKEY_TOKEN": bench.tokens["ann"]})
    if done.returncode != status or any(word not in done.stderr for word in words):
        raise Failure(f"{authority.name} at {url}: {done.returncode}, {done.stderr!r}")


CHECKS = {"the client says what is wrong with a certificate": mistakes}
