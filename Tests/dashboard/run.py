#!/usr/bin/env python3
"""Tests the dashboard of a running service, and the page of a report, in headless Chromium.

    Tests/dashboard/run.py --binary .build-release/bin/latchkey [--screenshots FOLDER]

Needs what `scripts/require dashboard` installs.
"""

import argparse
import base64
import hashlib
import pathlib
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from process import Failure, Latchkey, await_true, expect  # noqa: E402
from steps import status_of_steps, step  # noqa: E402

import accessibility  # noqa: E402
import cluster  # noqa: E402
import folders  # noqa: E402
import operations  # noqa: E402
import overview  # noqa: E402
import properties  # noqa: E402
import report  # noqa: E402
import revisions  # noqa: E402
import switching  # noqa: E402
import tokens  # noqa: E402
from browser import Browser  # noqa: E402


DRAWN = """
    return ["rate", "ratio", "wait"].every(chart =>
      [...document.querySelectorAll(`#chart-${chart} g`)]
        .filter(line => line.querySelector(".mark")).length === arguments[0])"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the latchkey to run")
    parser.add_argument("--screenshots", type=pathlib.Path, help="write pictures into this folder")
    arguments = parser.parse_args()
    return status_of_steps(lambda log: run_all(arguments.binary, arguments.screenshots, log))


def run_all(binary, screenshots, log):
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryDirectory() as folder, \
            Latchkey(binary, "--metering", "full", log=log) as service, \
            Browser(profile) as browser:
        folder = pathlib.Path(folder)
        run(service, browser, screenshots)
        step("a service that asks for tokens gets one from the reader", tokens.check, binary,
             folder, browser, log, screenshots)
        step("the overview shows what is near its bound", overview.check_bounds, binary, browser,
             log)
        step("a replica says whom it follows", cluster.check_following, binary, browser, log,
             screenshots)
        step("the replicas of a cluster are listed", cluster.check_cluster, binary, folder,
             browser, log, screenshots)
        step("the page of a report fits narrow screens and paper", report.check, binary, profile,
             browser, screenshots)


def run(service, browser, screenshots):
    step("the policy of the page is strict, and works without scripts", check_policy, service)
    properties.prepare(service)
    browser.look_like(1280, 900)
    browser.open(service.url + "/")
    for name, check in overview.CHECKS:
        step(name, check, service, browser)
    step("a service alone shows no replicas", cluster.check_alone, service, browser)
    step("contention is drawn for each strategy", check_contention, service, browser)
    step("the strategy is switched", switching.check, service, browser)
    for part in (properties, folders, revisions, operations, accessibility):
        for name, check in part.CHECKS:
            step(name, check, service, browser)
    if screenshots:
        take(browser, service, screenshots)
    browser.look_like(1280, 800)
    step("no error on the console, no request to elsewhere", check_traffic, service, browser)


def check_policy(service):
    _, headers, body = service.ask("GET", "/")
    policy = headers["Content-Security-Policy"].split(";")
    rules = dict(rule.strip().split(" ", 1) for rule in policy)
    for name, expected in (("default-src", "'none'"), ("connect-src", "'self'"),
                           ("base-uri", "'none'"), ("frame-ancestors", "'none'"),
                           ("form-action", "'none'"), ("img-src", "data:")):
        expect(name, rules.get(name), expected)
    text = body.decode()
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        content = text.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        expect(name, rules[name], f"'sha256-{digest}'")
    outside = text.split("<noscript>")[1].split("</noscript>")[0]
    if "/openapi.yaml" not in outside or "/v1/properties" not in outside:
        raise Failure("without scripts there are no links")
    if "{" in text.split("<body>")[1].split("<script>")[0]:
        raise Failure("the page has a gap that was not filled")


def check_contention(service, browser):
    browser.click("a[href='#contention']")
    for _ in range(40):
        service.ask("POST", "/v1/properties/load/increment")
    rows = await_true("a row for each strategy", lambda: browser.texts("#strategies tr"))
    count = len(service.ask_json("/v1/contention")["rows"])
    expect("the number of rows", len(rows), count)

    def is_drawn():
        """The charts show differences between two polls, so the load continues until then."""
        for _ in range(10):
            service.ask("POST", "/v1/properties/load/increment")
        return browser.run(DRAWN, count)

    await_true("a line for each strategy in the charts", is_drawn)
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
                                    ("medium", 768, "light"), ("narrow", 390, "light"),
                                    ("narrow-dark", 390, "dark")):
            browser.look_like(width, 844 if width == 390 else 800, scheme)
            if name == "light":
                accessibility.show(service, browser, part)
                if part == "properties":
                    revisions.show(browser)
            browser.run("document.activeElement.blur(); scrollTo(0, 0)")
            browser.screenshot(folder / f"{part}-{name}.png", width)


def check_traffic(service, browser):
    elsewhere = [url for url in browser.requests()
                 if not url.startswith((service.url + "/", "data:", "chrome:", "about:"))]
    if elsewhere:
        raise Failure(f"requests to elsewhere: {elsewhere[:5]}")
    # The browser also logs each answer above 399, and the conflicts are made on purpose.
    expected = ("status of 412", "status of 404", "status of 410", "status of 400",
                "status of 422")
    wrong = [each for each in browser.messages() if not any(part in each for part in expected)]
    if wrong:
        raise Failure("on the console:\n" + "\n".join(wrong[:10]))


if __name__ == "__main__":
    sys.exit(main())
