"""Runs each query of deploy/ on a real Prometheus, and counts the series of a service."""

import contextlib
import itertools
import json
import math
import pathlib
import re
import signal
import sys
import tempfile
import threading
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Server, await_true  # noqa: E402

SCRAPE_SECONDS = 1
SCRAPE_COUNT_MIN = 4
# Only a service with TLS has it; tls.py checks it there.
ENCRYPTED = {"latchkey_tls_certificate_expiry_seconds"}
# Only a replica of a cluster has the first ones, only a follower the others.
REPLICATED = {"latchkey_cluster_state", "latchkey_cluster_age_seconds",
              "latchkey_cluster_etcd_failures_total",
              "latchkey_follow_connected", "latchkey_follow_age_seconds"}
# The number of series of a service before its first request, and after requests for all routes.
FRESH_SERIES_MAX, SERIES_MAX = 400, 1000
# The values that Grafana puts in the place of its variables.
VARIABLES = {"$__rate_interval": "30s", "$instance": ".*", "$job": ".*"}


class Prometheus(Server):
    """A Prometheus that scrapes one address with the rules of deploy/, on a free port."""

    listening = re.compile(r'msg="Listening on" address=(\S+)')

    def __init__(self, program, folder, deploy, target):
        configuration = (deploy / "prometheus.yaml").read_text(encoding="utf-8")
        for old, new in (("scrape_interval: 5s", f"scrape_interval: {SCRAPE_SECONDS}s"),
                         ("alerts.yaml", str(deploy / "alerts.yaml")),
                         ("latchkey:8080", target)):
            if old not in configuration:
                raise Failure(f"deploy/prometheus.yaml has no {old}")
            configuration = configuration.replace(old, new)
        path = pathlib.Path(folder) / "prometheus.yaml"
        path.write_text(configuration, encoding="utf-8")
        # Its log, which has the address, is on standard error.
        super().__init__(
            "sh", "-c", 'exec "$@" 2>&1', "sh", program, f"--config.file={path}",
            f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:0")

    @property
    def address(self):
        return tuple(self.url.rsplit(":", 1))

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def query(self, expression):
        """The series that a query returns now. An invalid query is a failure."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        status, _, text = self.ask("GET", path, expect=(200, 400, 422))
        answer = json.loads(text)
        if status != 200:
            raise Failure(f"{answer['error']}: {expression}")
        return answer["data"]["result"]

    def await_scrapes(self):
        def has_samples():
            found = self.query('count_over_time(up{job="latchkey"}[5m]) and up == 1')
            return found and float(found[0]["value"][1]) >= SCRAPE_COUNT_MIN

        await_true("Prometheus is ready",
                   lambda: self.ask("GET", "/-/ready", expect=None)[0] == 200)
        await_true("Prometheus scrapes the service", has_samples)


def dashboard_queries(deploy):
    """The title and the expression of each query of the dashboard, variables filled in."""
    board = json.loads((deploy / "grafana-dashboard.json").read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


def unknown_metrics(text, service):
    """The metrics in a text that the service does not have."""
    scraped = {series.split("{")[0] for series in service.metrics()}
    named = set(re.findall(r"\b(?:latchkey|process)_\w+", text))
    return sorted(named - scraped - ENCRYPTED - REPLICATED)


def expect_few_series(service, count_max=FRESH_SERIES_MAX, headers=None):
    text = service.ask("GET", "/metrics", headers=headers)[2].decode()
    count = sum(not line.startswith("#") for line in text.splitlines())
    if count > count_max:
        raise Failure(f"{count} series, not at most {count_max}")


def ask_all_routes(service, headers):
    """Sends each method of each path of openapi.yaml once, and reads the head of the answer."""
    methods = {}
    for line in (TOP / "openapi.yaml").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"  (/\S*):$", line):
            path = found[1]
        elif found := re.match(r"    (get|head|put|post|patch|delete):$", line):
            methods.setdefault(path, []).append(found[1].upper())
    if len(methods) < 20:
        raise Failure("openapi.yaml is not understood")
    pairs = {(method, path) for path, each in methods.items()
             for method in [*each, *(["HEAD"] if "GET" in each else [])]}
    for method, path in sorted(pairs):
        # A stream has no end.
        with contextlib.closing(service.connect()) as connection:
            connection.request(method, re.sub(r"{\w+}", "a", path), headers=headers)
            connection.getresponse()
    text = service.ask("GET", "/metrics", headers=headers)[2].decode()
    counted = set(re.findall(r'requests_total{method="(\w+)",route="([^"]+)".* [1-9]', text))
    if pairs - counted:
        raise Failure(f"requests that are not counted: {sorted(pairs - counted)}")


@contextlib.contextmanager
def load(service):
    """Writes and reads by two clients at once, until the end of the block."""
    is_over, failures = threading.Event(), []

    def client():
        try:
            for number in itertools.count():
                if is_over.is_set():
                    return
                path = f"/v1/properties/monitored-{number % 7}"
                service.ask("PUT", path, str(number))
                service.ask("GET", path, expect=(200,))
        except (Failure, OSError) as failure:
            failures.append(failure)

    clients = [threading.Thread(target=client) for _ in range(2)]
    for each in clients:
        each.start()
    try:
        yield
    finally:
        is_over.set()
        for each in clients:
            each.join()
    if failures:
        raise Failure(f"the load fails: {failures[0]}")


def mistakes(service, program, deploy):
    """The mistakes, as sentences."""
    found = []
    for name in ("alerts.yaml", "grafana-dashboard.json"):
        text = (deploy / name).read_text(encoding="utf-8")
        found += [f"{name}: there is no {metric}" for metric in unknown_metrics(text, service)]
    host, port = service.address
    with tempfile.TemporaryDirectory() as folder, \
            Prometheus(program, folder, deploy, f"{host}:{port}") as prometheus:
        with load(service):
            prometheus.await_scrapes()
            for title, expression in dashboard_queries(deploy):
                series = prometheus.query(expression)
                if not any(math.isfinite(float(each["value"][1])) for each in series):
                    found.append(f"{title} has no numbers: {expression}")
        rules = json.loads(prometheus.ask("GET", "/api/v1/rules")[2])["data"]["groups"]
        for rule in (rule for group in rules for rule in group["rules"]):
            prometheus.query(rule["query"])
            if rule.get("lastError"):
                found.append(f"{rule['name']}: {rule['lastError']}")
        if not rules:
            found.append("Prometheus has no rules")
    return found


def finds_planted(service):
    """Whether a metric that does not exist is found."""
    return unknown_metrics("rate(latchkey_lock_owner_changes_total[5m])", service) == [
        "latchkey_lock_owner_changes_total"]
