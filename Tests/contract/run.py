#!/usr/bin/env python3
"""Checks the running service against openapi.yaml, and its metrics with Prometheus' own tools.

    Tests/contract/run.py --binary .build-release/bin/latchkey [--part NAME]

Needs what `scripts/require test` installs. Everything is random with a fixed seed, and limited. The
parts share only the clients that are made first, so some run at once: one more than there are
processors, as each of them sometimes waits. The output of a part is shown when it ends.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import curls
import fresh
import generated
import mistakes
import monitoring
import profiles
import tls
import tls_client
import tour

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = TOP / ".build-tools"
sys.path += [str(TOP / "scripts"), str(TOP / "Tests" / "cluster")]

from as_service import ClusterAsService  # noqa: E402
import process  # noqa: E402
from process import Failure, Latchkey, create_token, expect  # noqa: E402
from steps import status_of_steps, step  # noqa: E402

CONTRACT = TOP / "openapi.yaml"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
RIGHTS = ("read,write", "operations,fetch,compare,export,import,admin,backup")
# A cluster has the routes of one service, so it refuses the same. Only the outcomes of changes may
# differ, which few requests show.
CLUSTER_OPTIONS = (3, "--phases", "examples,fuzzing,stateful")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--examples", type=int, default=25, help="random ones for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one")
    parser.add_argument("--clients", type=pathlib.Path, help="where they were generated")
    arguments = parser.parse_args()
    # Some commands run in another folder.
    arguments.binary = os.path.abspath(arguments.binary)
    # A part in a process of its own, as below.
    if arguments.clients:
        (part,) = arguments.part
        return status_of_steps(lambda log: PARTS[part](arguments, log))
    return status_of_steps(lambda _: run_parts(arguments))


def run_parts(arguments):
    with tempfile.TemporaryDirectory() as clients:
        step("openapi.yaml is valid YAML, and a valid description", validate)
        step("clients are generated from openapi.yaml, whole, and compile", generate_clients,
             pathlib.Path(clients))
        command = [sys.executable, __file__, "--binary", arguments.binary, "--clients", clients,
                   "--examples", str(arguments.examples), "--seed", str(arguments.seed), "--part"]
        with concurrent.futures.ThreadPoolExecutor(1 + os.cpu_count()) as pool:
            parts = [pool.submit(subprocess.run, [*command, name], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, check=False)
                     for name in arguments.part or PARTS]
            failed = 0
            for part in concurrent.futures.as_completed(parts):
                print(part.result().stdout, end="", flush=True)
                failed += part.result().returncode != 0
    if failed:
        raise Failure(f"{failed} parts of {len(parts)}")


def check_pages(arguments, log):
    with Latchkey(arguments.binary, log=log) as service:
        step("the service runs with the library that was chosen", loads_library, service)
        step("docs/http-api.md is true: each command gets its status", run_page, service)
        step("that check finds mistakes", run_broken_pages, service)
        step("OpenFeature's client reads flags", run, tool("python"),
             TOP / "Tests" / "contract" / "flags.py", service.url)
        step(f"{len(mistakes.REQUESTS)} wrong requests: the answers name the mistake",
             name_mistakes, mistakes.wrong_requests(service.url))
        step(f"{len(mistakes.COMMANDS)} wrong command lines: so does what they say",
             name_mistakes, mistakes.wrong_commands(arguments.binary, service.url))
        step("the generated clients call it", call_generated, service, arguments.clients)


def check_files(arguments, _):
    step("Swift OpenAPI Generator can take openapi.yaml whole", check_swift_rules)
    step("promtool accepts the configuration", check_configuration)
    step("what the compose files start is bounded", check_compose)
    step("the unit file and the manifests of deploy/ are right", check_deploy, arguments.binary)
    step("the alerts fire when they should", test_alerts)
    step("the dashboard is one by Grafana's schema", check_dashboard)


def check_service(arguments, log):
    # All clients have one address.
    with tempfile.TemporaryDirectory() as folder, \
            Latchkey(arguments.binary, "--client-share", "1/1", "--data", f"{folder}/data",
                     "--audit-log", f"{folder}/audit", log=log) as service:
        step("a fresh service has few series", monitoring.expect_few_series, service)
        step("the README's tour comes out as printed", take_tour, service)
        step("what h11 refuses is refused", judge_framing, service)
        step("each answer has an identifier, and the log names that of a failure",
             identifies_requests, arguments.binary)
        step("the service serves that description", serves_contract, service)
        step("promtool accepts the metrics", check_with_promtool, service)
        step("a Prometheus has data for each query", check_queries, service)
        step("OpenMetrics and text parse, and agree", check_formats, service)
        step("the service is still up", still_up, service)
    step("a profile of contention blames the planted holder",
         profiles.hot, arguments.binary, log, profiles.check_file)


def run(*command, **options):
    """Runs a command that must succeed and writes to the same output."""
    process.run(*command, stdout=None, stderr=None, **options)


def tool(name):
    """A tool that scripts/require has installed, or one on the path."""
    for place in (TOOLS / "python" / "bin" / name, TOOLS / "bin" / name):
        if place.exists():
            return place
    return name


def validate():
    run(tool("python"), TOP / "Tests" / "contract" / "strict.py", CONTRACT)
    run(tool("openapi-spec-validator"), CONTRACT)


def generate_clients(clients):
    mistakes = generated.generate(clients)
    if mistakes:
        raise Failure("no clients are generated:\n" + "\n".join(mistakes))
    if not generated.planted(clients):
        raise Failure("a member that no language can name is overlooked")


def call_generated(service, clients):
    mistakes = generated.call(clients, service.url)
    if mistakes:
        raise Failure("a generated client goes wrong:\n" + "\n".join(mistakes))


def check_swift_rules():
    run(tool("python"), TOP / "Tests" / "contract" / "swift_rules.py", CONTRACT)


def judge_framing(service):
    run(tool("python"), TOP / "Tests" / "contract" / "framing.py", service.url)


def identifies_requests(binary):
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder, "log")
        with Latchkey(binary, "--max-properties", "1", log=lines) as service:
            seen = set()
            for method, target, status in (("PUT", "a", 201), ("GET", "a", 200), ("GET", "b", 404),
                                           ("PUT", "b", 507)):
                connection = service.connect()
                connection.request(method, f"/v1/properties/{target}",
                                   b"1" if method == "PUT" else None)
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                expect(f"{method} {target}", answer.status, status)
                identifier = answer.headers["Latchkey-Request-Id"]
                seen.add(identifier)
                if status >= 400:
                    expect("request", json.loads(body)["request"], identifier)
            expect("identifiers", len(seen), 4)
        # The lines still in its queue are written at the end.
        failed = [line for line in lines.read_text(encoding="utf-8").splitlines()
                  if "request failed" in line]
        expect("lines of failures", len(failed), 1)
        for text in (f"request={identifier}", "status=507", "problem=store-full",
                     'route="PUT /v1/properties/{name}"', "address=127.0.0.1"):
            if text not in failed[0]:
                raise Failure(f"{failed[0]} lacks {text}")


def check_access(binary, log):
    script = TOP / "Tests" / "contract" / "access.py"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lines = folder / "lines"
        tokens = {}
        for index, rights in enumerate(process.run(tool("python"), script, "--list").split()):
            tokens[rights] = create_token(binary, lines, f"t{index}", rights)
        (folder / "tokens.json").write_text(json.dumps(tokens), encoding="utf-8")
        with Latchkey(binary, "--token-file", lines, "--profile", log=log) as service:
            run(tool("python"), script, service.url, folder / "tokens.json")


def take_tour(service):
    found = tour.mistakes(service.url)
    if found:
        raise Failure("the tour goes wrong:\n" + "\n".join(found))


def name_mistakes(differences):
    found = list(differences)
    if found:
        raise Failure("\n".join(found))


def loads_library(service):
    """Checks that the first libmicrohttpd in LD_LIBRARY_PATH, if any, is the loaded one."""
    name = "libmicrohttpd.so.12"
    chosen = [path.resolve() for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":")
              if folder and (path := pathlib.Path(folder, name)).exists()]
    maps = pathlib.Path(f"/proc/{service.process.pid}/maps").read_text(encoding="utf-8")
    if chosen and str(chosen[0]) not in maps:
        raise Failure(f"{chosen[0]} is not loaded")


def run_page(service, has_data=False):
    mistakes = curls.mistakes(service.url, has_data=has_data)
    if mistakes:
        raise Failure("docs/http-api.md goes wrong:\n" + "\n".join(mistakes))


def run_broken_pages(service):
    missed = curls.planted(service.url)
    if missed:
        raise Failure("mistakes are overlooked:\n" + "\n".join(missed))


def serves_contract(service):
    _, headers, body = service.ask("GET", "/openapi.yaml")
    expect("/openapi.yaml", body, CONTRACT.read_bytes())
    expect("its type", headers.get_content_type(), "application/yaml")


def check_tls(arguments, _):
    for name, check in {**tls.CHECKS, **tls_client.CHECKS}.items():
        with tempfile.TemporaryDirectory() as folder:
            step(f"TLS: {name}", check, arguments.binary, pathlib.Path(folder))


def check_rules(arguments, log):
    step("the service keeps to it, tokens included", keep_rules, arguments, log)


def check_rights(arguments, log):
    step("each route asks for its rights", check_access, arguments.binary, log)


def check_alerts(arguments, _):
    step("each alert of a fresh service comes with its first event",
         fresh.check, arguments.binary, tool("promtool"))


def keep_rules(arguments, log):
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "lines"
        token = create_token(arguments.binary, lines, "all", *RIGHTS)
        with Latchkey(arguments.binary, "--token-file", lines, "--client-share", "1/1",
                      log=log) as service:
            headers = {"Authorization": f"Bearer {token}"}
            monitoring.expect_few_series(service, headers=headers)
            drive(service, token, arguments.seed, arguments.examples)
            monitoring.ask_all_routes(service, headers)
            monitoring.expect_few_series(service, monitoring.SERIES_MAX, headers)
            service.ask("GET", "/healthz", expect=(200,))


def check_clusters(arguments, _):
    for count in (1, 3):
        check_cluster(arguments, count, arguments.clients)


def check_cluster(arguments, count, clients):
    """Runs the checks for one service with the first replica of a cluster of `count`."""
    name = f"a cluster of {count}"

    @contextlib.contextmanager
    def cluster(*options, **others):
        with tempfile.TemporaryDirectory() as folder, ClusterAsService(
                arguments.binary, pathlib.Path(folder), count, *options, **others) as service:
            yield service

    with cluster() as service:
        step(f"{name}: docs/http-api.md is true", run_page, service, True)
        step(f"{name}: the generated clients call it", call_generated, service, clients)
    with cluster() as service:
        step(f"{name}: the README's tour comes out as printed", take_tour, service)
        step(f"{name}: promtool accepts the metrics", check_with_promtool, service)
        step(f"{name}: OpenMetrics and text parse, and agree", check_formats, service)
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "lines"
        token = create_token(arguments.binary, lines, "all", *RIGHTS)
        with cluster("--token-file", lines, token=token) as service:
            step(f"{name}: it keeps to openapi.yaml, tokens included",
                 drive, service, token, arguments.seed, *CLUSTER_OPTIONS)


def drive(service, token, seed, examples, *more):
    here = pathlib.Path(__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        # The working folder is a scratch one because Hypothesis keeps its examples there. Streams
        # do not end. The steps that an operation can have are only in the text, not in the schema.
        # The tool does not know lines of JSON. All of these have integration tests.
        left_out = ("watch", "headWatch", "watchOperation", "submitOperations", "importProperties")
        options = [f"--exclude-operation-id={name}" for name in left_out]
        run(tool("schemathesis"), "--config-file", here / "schemathesis.toml", "run", CONTRACT,
            *options, "--url", service.url, "--header", f"Authorization: Bearer {token}",
            "--seed", seed, "--max-examples", examples, *more, cwd=scratch,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(here),
                 "PYTHONDONTWRITEBYTECODE": "1"})


def check_configuration():
    run(tool("promtool"), "check", "config", str(TOP / "deploy" / "prometheus.yaml"))
    run(tool("promtool"), "check", "config", "--syntax-only",
        str(TOP / "deploy" / "prometheus-tls.yaml"))


def check_deploy(binary):
    run(tool("python"), TOP / "Tests" / "contract" / "deploy.py", binary)


def check_compose():
    run(tool("python"), TOP / "Tests" / "contract" / "compose.py", TOP / "compose.yaml",
        TOP / "compose.cluster.yaml")


def test_alerts():
    tests = TOP / "Tests" / "contract" / "alerts.yaml"
    run(tool("promtool"), "test", "rules", tests)
    names = re.findall(r"- alert: (\w+)", (TOP / "deploy" / "alerts.yaml").read_text("utf-8"))
    text = tests.read_text("utf-8")
    untested = [name for name in names if not re.search(rf"\b{name}\b", text)]
    if untested or not names:
        raise Failure(f"no test has the alerts {untested}")


def check_dashboard():
    run(tool("python"), TOP / "Tests" / "contract" / "grafana.py",
        TOP / "deploy" / "grafana-dashboard.json")


def check_queries(service):
    mistakes = monitoring.mistakes(service, tool("prometheus"), TOP / "deploy")
    if mistakes:
        raise Failure("deploy/ does not fit the metrics:\n" + "\n".join(mistakes))
    if not monitoring.finds_planted(service):
        raise Failure("a metric that does not exist is overlooked")


def check_with_promtool(service):
    run(tool("promtool"), "check", "metrics", input=service.ask("GET", "/metrics")[2].decode())


def check_formats(service):
    """Parses both formats with Prometheus' own Python client, which is strict about OpenMetrics."""
    script = "import sys; from prometheus_client.{0} import text_string_to_metric_families as f; " \
             "print('\\n'.join(sorted(s.name for m in f(sys.stdin.read()) for s in m.samples)))"
    names = {}
    for module, accept, kind in (("parser", "text/plain", "text/plain"),
                                 ("openmetrics.parser", OPENMETRICS, OPENMETRICS.split(";")[0])):
        _, headers, body = service.ask("GET", "/metrics", headers={"Accept": accept})
        expect(f"the type for Accept: {accept}", headers.get_content_type(), kind)
        names[kind] = set(process.run(tool("python"), "-c", script.format(module),
                                      input=body.decode()).split())
    missing = set.symmetric_difference(*names.values())
    if missing or not any(name.startswith("latchkey_") for name in names["text/plain"]):
        raise Failure(f"the two formats do not have the same series: {sorted(missing)}")


def still_up(service):
    service.ask("GET", "/healthz")
    service.ask("GET", "/readyz?verbose")


# The longest first.
PARTS = {"rules": check_rules, "clusters": check_clusters, "TLS": check_tls,
         "alerts": check_alerts, "service": check_service, "rights": check_rights,
         "files": check_files, "pages": check_pages}


if __name__ == "__main__":
    sys.exit(main())
