"""The part of the dashboard for properties: revisions and their differences."""

import re

from process import Failure, expect
from properties import compare, get, open_property, put, shown


def check_history(service, browser):
    values = ['{"color": "red", "size": [1, 2]}', '{"size": [1, 2], "color": "red"}',
              '{"color": "dark blue", "size": [1, 2]}', '{"color": "dark red", "size": [1, 2]}',
              '{"color":"dark red","size":[1,2]}']
    for each in values:
        put(service, "past", each)
    open_property(browser, "past")
    browser.click("#earlier")
    browser.wait_for_text("#history-note", "did not exist before")
    items = browser.texts("#history li")
    if len(items) != 5 or "other white space" not in items[0]:
        raise Failure(f"the revisions are {items}")
    expect("the difference", shown(browser)[0].split("\n")[:4], [
        "  {", '−   "color": "dark blue",', '+   "color": "dark red",', '    "size": ['])
    expect("the words that differ", browser.texts("#history mark")[:2], ["blue", "red"])
    first = shown(browser)[-1]
    if any(line and line[0] != "+" for line in first.split("\n")):
        raise Failure(f"the first revision is {first}")
    times = browser.texts("#history strong")
    if not all(re.search(r"\d:\d\d:\d\d", each) for each in times):
        raise Failure(f"the times are {times}")
    expect("the differences", browser.texts("#history .bar > .soft"), ["+1"] * 4 + ["created"])
    compare(browser, "now")
    first = shown(browser)[0]
    if '−   "color": "dark blue"' not in first or '+   "color": "dark red"' not in first:
        raise Failure(f"compared with the value of now: {shown(browser)}")
    compare(browser, "none")
    expect("the revisions", shown(browser), values[::-1])
    browser.click("#history li:last-child button")
    browser.click("#save")
    browser.wait_for_text("#editor-note", "Saved at")
    expect("the value after the earlier one is put back", get(service, "past"), values[0])
    compare(browser, "before")
    browser.click("#close")


def show(browser):
    """Shows the revisions of the open property."""
    browser.click("#earlier")
    browser.wait_for("revisions", "return document.querySelector('#history li')")


CHECKS = (("revisions and their differences", check_history),)
