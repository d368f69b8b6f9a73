#!/usr/bin/env python3
"""Tests the dashboard of a running service, and the page of a report, in headless Chromium.

    Tests/dashboard/run.py --binary .build-release/bin/latchkey [--screenshots FOLDER]

Needs what `scripts/require dashboard` installs. Parts of the page whose routes the service does not
have are tested to say so.
"""

import argparse
import base64
import hashlib
import pathlib
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey, Server  # noqa: E402

import accessibility  # noqa: E402
import cluster  # noqa: E402
import folders  # noqa: E402
import operations  # noqa: E402
import overview  # noqa: E402
import properties  # noqa: E402
import report  # noqa: E402
import revisions  # noqa: E402
import tokens  # noqa: E402
from browser import WAIT_SECONDS_MAX, Browser  # noqa: E402


ETCD = TOP / ".build-tools/bin/etcd"
DRAWN = """
    return ["rate", "ratio", "wait"].every(chart =>
      [...document.querySelectorAll(`#chart-${chart} g`)]
        .filter(line => line.querySelector(".mark")).length === arguments[0])"""


class Running(Server):
    """A service that somebody else started."""

    def __init__(self, url):
        super().__init__()
        self.url = url.rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", help="the latchkey to run")
    parser.add_argument("--url", help="or the address of a service that is running")
    parser.add_argument("--screenshots", type=pathlib.Path, help="write pictures into this folder")
    arguments = parser.parse_args()
    if (arguments.binary is None) == (arguments.url is None):
        parser.error("give either --binary or --url")

    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile("w+") as log:
        started = Running(arguments.url) if arguments.url else Latchkey(
            arguments.binary, "--metering", "full", log=log)
        try:
            with started as service, Browser(profile) as browser:
                run(service, browser, arguments.screenshots)
                if arguments.binary:
                    with tempfile.TemporaryDirectory() as folder:
                        step("a service that asks for tokens gets one from the reader",
                             tokens.check, arguments.binary, pathlib.Path(folder), browser, log,
                             arguments.screenshots)
                    step("the overview shows what is near its bound", overview.check_bounds,
                         arguments.binary, browser, log)
                    step("a replica says whom it follows", cluster.check_following,
                         arguments.binary, browser, log, arguments.screenshots)
                    with tempfile.TemporaryDirectory() as folder:
                        step("the replicas of a cluster are listed", cluster.check_cluster, ETCD,
                             arguments.binary, pathlib.Path(folder), browser, log,
                             arguments.screenshots)
                    step("the page of a report fits narrow screens and paper", report.check,
                         arguments.binary, profile, browser, arguments.screenshots)
        except Failure as failure:
            print(f"FAILED: {failure}\n\nThe end of the service's log:")
            log.seek(0)
            print("".join(log.readlines()[-20:]))
            return 1
    return 0


def run(service, browser, screenshots):
    contract = service.ask("GET", "/openapi.yaml")[2].decode()
    has_watch = "\n  /v1/watch:\n" in contract
    has_operations = "\n  /v1/operations:\n" in contract
    has_expiry = "Latchkey-TTL" in contract

    step("the policy of the page is strict, and works without scripts", check_policy, service)
    properties.prepare(service)
    browser.look_like(1280, 900)
    browser.open(service.url + "/")
    for name, check in overview.CHECKS:
        step(name, check, service, browser)
    step("a service alone shows no replicas", cluster.check_alone, service, browser)
    step("contention is drawn for each strategy", check_contention, service, browser)
    for name, check in properties.checks(has_watch, has_expiry):
        step(name, check, service, browser)
    for name, check in (*folders.CHECKS, *revisions.CHECKS):
        step(name, check, service, browser)
    for name, check in operations.checks(has_operations):
        step(name, check, service, browser)
    for name, check in accessibility.CHECKS:
        step(name, check, service, browser)
    if screenshots:
        take(browser, service, screenshots)
    step("no error on the console, no request to elsewhere", check_traffic, service, browser)


def step(name, action, *arguments):
    print(f"-- {name}", flush=True)
    start = time.monotonic()
    action(*arguments)
    if time.monotonic() - start > 5:
        print(f"   took {time.monotonic() - start:.1f} s", flush=True)


def check_policy(service):
    _, headers, body = service.ask("GET", "/")
    policy = headers["Content-Security-Policy"].split(";")
    rules = dict(rule.strip().split(" ", 1) for rule in policy)
    for name, expected in (("default-src", "'none'"), ("connect-src", "'self'"),
                           ("base-uri", "'none'"), ("frame-ancestors", "'none'"),
                           ("form-action", "'none'"), ("img-src", "data:")):
        if rules.get(name) != expected:
            raise Failure(f"{name} is {rules.get(name)}")
    text = body.decode()
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        content = text.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        if rules[name] != f"'sha256-{digest}'":
            raise Failure(f"{name} is {rules[name]}")
    outside = text.split("<noscript>")[1].split("</noscript>")[0]
    if "/openapi.yaml" not in outside or "/v1/properties" not in outside:
        raise Failure("without scripts there are no links")
    if "{" in text.split("<body>")[1].split("<script>")[0]:
        raise Failure("the page has a gap that was not filled")


def check_contention(service, browser):
    browser.click("a[href='#contention']")
    for _ in range(40):
        service.ask("POST", "/v1/properties/load/increment")
    rows = browser.wait_for("a row for each strategy",
        "return [...document.querySelectorAll('#strategies tr')].map(row => row.textContent)")
    expected = {row["strategy"] for row in service.ask_json("/v1/contention")["rows"]}
    if len(rows) != len(expected):
        raise Failure(f"rows: {rows}")
    # What is drawn is between two polls, so the load goes on until it is.
    end = time.monotonic() + WAIT_SECONDS_MAX
    while not browser.run(DRAWN, len(expected)):
        if time.monotonic() > end:
            raise Failure("the charts do not have a line for each strategy")
        for _ in range(10):
            service.ask("POST", "/v1/properties/load/increment")
    labels = browser.run("return [...document.querySelectorAll('#view-contention svg[role=img]')]"
                         ".map(chart => chart.getAttribute('aria-label'))")
    if len(labels) != 3 or not all("now:" in label for label in labels):
        raise Failure(f"the charts are described as {labels}")
    browser.click("#pause")
    browser.wait_for_text("#contention-state", "Paused")
    browser.click("#pause")
    browser.wait_for_text("#contention-state", "Live")


def take(browser, service, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for part in accessibility.PARTS:
        for name, width, scheme in (("light", 1280, "light"), ("dark", 1280, "dark"),
                                    ("medium", 768, "light"), ("narrow", 360, "light")):
            browser.look_like(width, 900, scheme)
            browser.open(f"{service.url}/#{part}")
            browser.run("document.activeElement.blur(); scrollTo(0, 0)")
            browser.wait_for("a part", "return document.readyState === 'complete'")
            browser.screenshot(folder / f"{part}-{name}.png", width)


def check_traffic(service, browser):
    elsewhere = [url for url in browser.requests()
                 if not url.startswith((service.url + "/", "data:", "chrome:", "about:"))]
    if elsewhere:
        raise Failure(f"requests to elsewhere: {elsewhere[:5]}")
    # The browser also logs each answer above 399, and the conflicts are made on purpose.
    expected = ("status of 412", "status of 404", "status of 410", "status of 400")
    wrong = [each for each in browser.messages() if not any(part in each for part in expected)]
    if wrong:
        raise Failure("on the console:\n" + "\n".join(wrong[:10]))


if __name__ == "__main__":
    sys.exit(main())
