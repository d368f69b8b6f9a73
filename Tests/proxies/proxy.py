"""Starts nginx and Caddy on the loopback address, with the examples of deploy/.

Each example is used as it is, except for the addresses and the places that only root may use. A
test as root starts the proxy as `nobody`.
"""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

from process import PATIENCE_SECONDS, Failure, await_true, free_port

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = TOP / "deploy"
HOST = "state.example.com"
NOBODY = 65534
# Another program can take a port that was free a moment ago.
ATTEMPTS = 5


class Proxy:
    """A proxy before a service. A context manager."""

    # Whether it is started as `nobody`; otherwise its command does that.
    drops_rights = True

    def __init__(self, program, service, mistake=None, is_encrypted=False):
        """`mistake` is a text of the example and its replacement.

        With `is_encrypted`, TLS goes to the service, as the comments of the example describe.
        """
        self.program, self.service, self.mistake = program, service, mistake
        self.is_encrypted = is_encrypted
        self.process = self.port = None

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        try:
            self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
            binary = self.folder / self.name
            # A copy, because other users may not read the folder of the original.
            shutil.copy(self.program, binary)
            for _ in range(ATTEMPTS):
                self.port = free_port()
                if self.is_encrypted:
                    shutil.copy(self.service.folder / "certificate.pem", self.folder)
                config = self.folder / self.example.name
                text = self.example.read_text(encoding="utf-8")
                if self.mistake:
                    text = replaced(text, re.escape(self.mistake[0]), self.mistake[1])
                config.write_text(self.configured(text), encoding="utf-8")
                if os.getuid() == 0:
                    for path in (self.folder, *self.folder.rglob("*")):
                        os.chown(path, NOBODY, NOBODY)
                if self.started(self.command(binary, config)):
                    return self
            raise Failure(f"{self.name} does not start: {self.log()}")
        except BaseException:
            self.stack.close()
            raise

    def started(self, command):
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
                **(as_nobody if self.drops_rights and os.getuid() == 0 else {}))
        await_true(f"{self.name} listens, or ends",
                   lambda: self.process.poll() is not None or self.listens())
        return self.process.poll() is None

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __exit__(self, *_):
        self.stop()
        self.stack.close()

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:]


class Nginx(Proxy):
    name = "nginx"
    example = DEPLOY / "nginx.conf"

    def configured(self, text):
        places = "".join(f"    {kind}_temp_path temp;\n" for kind in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = replaced(text, r"listen 80;", f"listen 127.0.0.1:{self.port};")
        if self.is_encrypted:
            text = replaced(text, "proxy_pass http:", "proxy_pass https:")
            text = re.sub(r"# (proxy_ssl_)", lambda found: found[1], text)
            text = replaced(text, "/etc/latchkey/certificate.pem",
                            str(self.folder / "certificate.pem"))
        text = replaced(text, r"server 127\.0\.0\.1:8080;",
                        "server {}:{};".format(*self.service.address))
        return replaced(text, r"^http \{\n", "http {\n    access_log off;\n" + places)

    def command(self, binary, config):
        return [binary, "-p", self.folder, "-c", config, "-e", "stderr", "-g",
                "daemon off; pid pid; worker_processes 1; error_log stderr warn;"]


class Caddy(Proxy):
    name = "caddy"
    example = DEPLOY / "Caddyfile"

    def configured(self, text):
        text = replaced(text, r"^state\.example\.com \{\n",
                        f"http://{HOST}:{self.port} {{\n\tbind 127.0.0.1\n")
        block = ""
        if self.is_encrypted:
            block = re.search(r"#   transport http \{\n.*?#   \}\n", text, re.DOTALL)[0]
            block = " {\n" + block.replace("#", "").replace(
                "/etc/latchkey/certificate.pem", str(self.folder / "certificate.pem")) + "}"
        text = replaced(text, r"reverse_proxy 127\.0\.0\.1:8080",
                        "reverse_proxy {}{}:{}{}".format(
                            "https://" if block else "", *self.service.address, block))
        return "{\n\tadmin off\n\tauto_https off\n}\n" + text

    def command(self, binary, config):
        return [binary, "run", "--adapter", "caddyfile", "--config", config]


def replaced(text, pattern, by):
    text, count = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE)
    if count != 1:
        raise Failure(f"the example has {count} places like {pattern}")
    return text
