"""One member of etcd, whose revisions are written down, or made again in another one."""

import base64
import http.client
import json
import pathlib
import socket
import subprocess

from changes import await_true
from process import Failure

PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / ".build-tools/bin/etcd"
ANSWER_SECONDS_MAX = 30
# All keys.
EVERYTHING = base64.b64encode(b"\0").decode()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A context manager."""

    def __init__(self, folder, log):
        self.folder, self.log, self.process = folder, log, None
        self.port, self.peer = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        peer = f"http://127.0.0.1:{self.peer}"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "--data-dir", self.folder, "--listen-client-urls", self.url,
                 "--advertise-client-urls", self.url, "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
                 "--log-level", "error"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        await_true("etcd is there", self.is_healthy)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def is_healthy(self):
        if self.process.poll() is not None:
            raise Failure(f"etcd has ended: {pathlib.Path(self.log).read_text()[-500:]}")
        try:
            return self.ask("/v3/kv/range", {"key": EVERYTHING}) is not None
        except (OSError, http.client.HTTPException, Failure):
            return False

    def ask(self, target, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=ANSWER_SECONDS_MAX)
        try:
            connection.request("POST", target, json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Failure(f"etcd answers {target} with {answer.status}: {text[:300]!r}")
        return json.loads(text)

    def revision(self):
        return int(self.ask("/v3/kv/range", {"key": EVERYTHING})["header"]["revision"])

    def revisions(self):
        """All changes since the start: for each revision its puts, (key, value), and deletes."""
        last, found = self.revision(), {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=ANSWER_SECONDS_MAX)
        connection.request("POST", "/v3/watch", json.dumps({"create_request": {
            "key": EVERYTHING, "range_end": EVERYTHING, "start_revision": 1}}))
        for line in connection.getresponse():
            for event in json.loads(line)["result"].get("events", ()):
                kv = event["kv"]
                change = found.setdefault(int(kv["mod_revision"]), {"puts": [], "deletes": []})
                if event.get("type") == "DELETE":
                    change["deletes"].append(kv["key"])
                else:
                    change["puts"].append([kv["key"], kv.get("value", "")])
            if last in found:
                break
        connection.close()
        if sorted(found) != list(range(2, last + 1)):
            raise Failure("etcd has forgotten some of its revisions")
        return [found[number] for number in sorted(found)]

    def make(self, revisions):
        """Makes the same revisions."""
        for number, change in enumerate(revisions, 2):
            steps = [{"request_put": {"key": key, "value": value}}
                     for key, value in change["puts"]]
            steps += [{"request_delete_range": {"key": key}} for key in change["deletes"]]
            answer = self.ask("/v3/kv/txn", {"success": steps})
            if int(answer["header"]["revision"]) != number:
                raise Failure(f"etcd makes revision {answer['header']['revision']}, not {number}")
