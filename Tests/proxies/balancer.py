"""The balancer of compose.cluster.yaml, before three replicas that end and are killed."""

import collections
import http.client
import pathlib
import tempfile
import threading

from as_service import ClusterAsService
from process import PATIENCE_SECONDS, Failure
from proxy import DEPLOY, Caddy, replaced
from replicas import await_true

MISTAKE = ("health_uri /readyz", "")
# One request is on its way to a replica that is killed, and one finds that it has gone.
LOST_MAX = 2


class Balancer(Caddy):
    example = DEPLOY / "cluster.Caddyfile"

    def configured(self, text):
        for number, replica in enumerate(self.service.replicas, 1):
            text = replaced(text, rf"replica{number}:8080", f"127.0.0.1:{replica.port}")
        return replaced(text, r"^http://:8080 \{\n", f"http://:{self.port} {{\n\tbind 127.0.0.1\n")


class Writer(threading.Thread):
    """Writes through the balancer until it is stopped, and counts the statuses."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.statuses = port, collections.Counter()
        self.is_stopped = threading.Event()

    def run(self):
        while not self.is_stopped.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                    timeout=PATIENCE_SECONDS)
            try:
                connection.request("POST", "/v1/properties/n/increment")
                self.statuses[connection.getresponse().status] += 1
            except (OSError, http.client.HTTPException) as error:
                self.statuses[type(error).__name__] += 1
            finally:
                connection.close()

    def lost(self):
        return {status: count for status, count in self.statuses.items() if status != 200}

    def await_writes(self, replica):
        """Waits until the replica gets writes."""
        def taken():
            samples = replica.ask("GET", "/metrics")[2].decode()
            return samples.count('route="/v1/properties/{name}/increment",status="200"')
        await_true(f"writes at replica {replica.number}", taken)


def check(arguments, mistake=None):
    with tempfile.TemporaryDirectory() as folder:
        cluster = ClusterAsService(
            arguments.binary, pathlib.Path(folder), 3, "--shutdown-delay", "3s")
        with cluster, Balancer(arguments.tools / "caddy", cluster, mistake) as proxy:
            writer, replica = Writer(proxy.port), cluster.replicas[1]
            writer.start()
            try:
                writer.await_writes(replica)
                replica.end()
                if writer.lost():
                    raise Failure(f"an end costs {writer.lost()}")
                replica.start("lock", skew=0)
                writer.await_writes(replica)
                replica.kill()
                count = writer.statuses[200]
                await_true("writes go on", lambda: writer.statuses[200] > count + 50)
            finally:
                writer.is_stopped.set()
                writer.join()
            replica.start("lock", skew=0)
            if sum(writer.lost().values()) > LOST_MAX:
                raise Failure(f"a kill costs {writer.lost()} of {writer.statuses[200]}")
