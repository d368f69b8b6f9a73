"""The first part of the dashboard."""

import re

import axe
import revisions
from accessibility import PARTS, show
from process import Failure, Latchkey, await_true, expect

CHARTS = ("requests", "errors", "contended", "watchers", "memory", "properties")
# For each chart: the distance of its first line from its left edge, the label of that time, and the
# commands of its lines.
DRAWN = """
    return arguments[0].map(chart => {
      const svg = document.querySelector(`${chart} svg`);
      const paths = [...svg.querySelectorAll(".line")].map(line => line.getAttribute("d"));
      const xs = paths.filter(Boolean).map(path => Number(path.match(/[\\d.]+/)[0]));
      return {left: Math.min(...xs) - Number(svg.querySelector(".grid").getAttribute("d")
          .match(/[\\d.]+/)[0]),
        begin: svg.querySelector("text[text-anchor=start]").textContent,
        commands: [...new Set(paths.join("").match(/[a-z]/gi))].join("")};
    })"""


def metric(service, name, labels=""):
    """The sum of the samples of a metric whose labels have this text."""
    return sum(value for series, value in service.metrics().items()
               if series.partition("{")[0] == name and labels in series)


def text(browser, selector):
    return browser.texts(selector)[0]


def open_anew(service, browser):
    """Opens the page, so that its first figures come from one answer."""
    browser.open(service.url + "/#overview")
    browser.run("location.reload()")
    browser.wait_for("the overview", "return document.readyState === 'complete' && "
                     "document.querySelector('#overview-state.good')")


def wait_for_points(service, count):
    """Waits until the service has `count` points, and returns its overview."""
    def overview():
        found = service.ask_json("/v1/overview")
        return found if len(found["points"]) >= count else None

    return await_true(f"{count} points", overview)


def check_figures(service, browser):
    browser.wait_for("the overview comes first", "return document.querySelector("
                     "'#overview-state.good') && document.querySelector("
                     "'nav a[href=\"#overview\"][aria-current]')")
    open_anew(service, browser)
    errors = metric(service, "latchkey_http_requests_total", 'status="4')
    service.ask("GET", "/v1/properties/missing", expect=(404,))
    browser.wait_for("the new error is counted", "return document.getElementById('sum-errors')"
                     ".textContent.includes(`and ${arguments[0]} (4xx)`)", int(errors) + 1)
    for selector, name in (("#fact-properties", "latchkey_store_properties"),
                           ("#now-watchers", "latchkey_watchers"),
                           ("#now-properties", "latchkey_store_properties")):
        expect(selector, text(browser, selector).replace(",", ""), f"{metric(service, name):.0f}")
    check_change(service, browser)
    stored = metric(service, "latchkey_store_bytes")
    expect("the bytes", text(browser, "#fact-bytes"), f"{stored / 1e3:.0f} kB")
    memory = metric(service, "process_resident_memory_bytes") / 1e6
    shown = float(text(browser, "#now-memory").removesuffix(" MB"))
    if abs(shown - memory) > memory / 4:
        raise Failure(f"{memory} MB are shown as {shown} MB")
    if not re.fullmatch(r"(\d+ min )?\d+ s", text(browser, "#fact-uptime")):
        raise Failure(f"the service is up for {text(browser, '#fact-uptime')}")


def check_traffic(service, browser):
    """The most requested name is shown, with its share of all requests."""
    connection = service.connect()
    # One in 64 requests is counted, chosen by their identifiers.
    for _ in range(1000):
        connection.request("GET", "/v1/properties/folder%2Fhot")
        connection.getresponse().read()
    connection.close()
    open_anew(service, browser)
    for kind, name in (("names", "folder/hot"), ("prefixes", "folder/")):
        browser.wait_for(f"{name} has the most requests", "return document.querySelector("
                         f"'#traffic:not([hidden]) #traffic-{kind} li code').textContent "
                         "=== arguments[0]", name)
        expect(kind, re.fullmatch(r"[\d.]+k? a second · [\d.]+ %",
                                  text(browser, f"#traffic-{kind} li span")) is not None, True)


def check_change(service, browser):
    """A revision is shown as a time, and as a difference."""
    for _ in range(2):
        service.ask("POST", "/v1/properties/load/increment")
    revision = service.ask_json("/v1/overview")["revision"]
    [change] = service.ask_json(f"/v1/changes?after={revision - 1}")["changes"]
    browser.wait_for("the time of the last change", """
        const shown = document.getElementById("fact-change");
        return shown.textContent === new Date(arguments[0]).toLocaleTimeString()
          && shown.title === `Revision ${arguments[1]}`
          && document.getElementById("fact-changes").textContent.startsWith("+2 ")""",
                     change["time"], revision)


def check_no_revisions(service, browser):
    """No part shows the digits of a revision."""
    first = str(service.ask_json("/v1/overview")["revision"])[:10]
    for part in PARTS:
        show(service, browser, part)
        if part == "properties":
            browser.wait_for("the times of rows", "return [...document.querySelectorAll("
                             "'#rows .row:not(.folder)')].every(row => /:/.test("
                             "row.lastElementChild.textContent))")
            revisions.show(browser)
        if first in browser.run("return document.body.innerText"):
            raise Failure(f"{part} shows a revision, {first}…")


def check_charts(service, browser):
    before = wait_for_points(service, 1)
    for _ in range(300):
        service.ask("POST", "/v1/properties/load/increment")
    found = wait_for_points(service, len(before["points"]) + 3)
    expect("the requests", found["requests"], metric(service, "latchkey_http_requests_total") - 1)
    made = sum(point["requestsPerSecond"] * point["seconds"] for point in found["points"])
    if not 300 <= round(made) <= found["requests"]:
        raise Failure(f"{made} requests are in the points")
    entries = sum(point["acquisitionsPerSecond"] * point["seconds"] for point in found["points"])
    if entries < 300:
        raise Failure(f"{entries} accesses are in the points")
    open_anew(service, browser)
    check_begin(browser, *(f"#overview-{chart}" for chart in CHARTS))
    browser.open(service.url + "/#contention")
    browser.run("location.reload()")
    browser.wait_for("the first figures", "return document.readyState === 'complete' && "
                     "document.querySelector('#chart-rate .line')")
    check_begin(browser, "#chart-rate")
    open_anew(service, browser)


def check_begin(browser, *charts):
    """A chart begins at its first value, at any age; and no line is a curve."""
    for chart, drawn in zip(charts, browser.run(DRAWN, charts)):
        if abs(drawn["left"]) > 0.5 or not re.fullmatch(r"[\d.]+ (s|min) ago", drawn["begin"]):
            raise Failure(f"{chart} does not begin at its first value: {drawn}")
        if not set(drawn["commands"]) <= set("MhL"):
            raise Failure(f"{chart} has curves: {drawn}")


def check_watches(service, browser):
    browser.wait_for_text("#watches-note", "no watch")
    connection = service.connect()
    try:
        connection.request("GET", "/v1/watch?prefix=seen/&observer=eye&initial=true")
        connection.getresponse()
        browser.wait_for_text("#watches th", "seen/… (eye)")
        cells = browser.run("return [...document.querySelectorAll('#watches td')]"
                            ".map(each => `${each.dataset.name} ${each.textContent}`)")
        expect("the watch", [*cells[:2], cells[3], cells[-1]], [
            "Token –", "Address 127.0.0.1",
            "Revision latest", "State live"])
        browser.wait_for_text("#now-watchers", "1")
    finally:
        connection.close()
    browser.wait_for_text("#watches-note", "no watch")


def check_bounds(binary, browser, log):
    with Latchkey(binary, "--max-properties", "4", log=log) as service:
        browser.open(service.url + "/")
        browser.wait_for_text("#bounds-note", "Nothing has reached half")
        for name in ("a", "b", "c"):
            service.ask("PUT", f"/v1/properties/{name}", "1")
        browser.wait_for_text("#bounds-note", "the service refuses")
        expect("the nearest bound", text(browser, "#bounds li"), "max-properties3 of 4 · 75 %")
        if browser.run("return document.querySelector('#bounds progress').value") != 0.75:
            raise Failure("the bar is not that of the bound")
        axe.check(browser, "an overview with a near bound")


CHECKS = (
    ("the overview comes first, and its figures are those of the metrics", check_figures),
    ("charts have the last minutes at once", check_charts),
    ("what is asked for most is named", check_traffic),
    ("who watches is shown", check_watches),
    ("revisions are times and differences", check_no_revisions),
)
