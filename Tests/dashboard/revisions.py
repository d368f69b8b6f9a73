"""The part of the dashboard for properties: revisions and their differences."""

from process import Failure
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
    items = browser.run("return [...document.querySelectorAll('#history li')]"
                        ".map(each => each.textContent)")
    if len(items) != 5 or "other white space" not in items[0]:
        raise Failure(f"the revisions are {items}")
    latest = shown(browser)[0].split("\n")
    if latest[:4] != ["  {", '−   "color": "dark blue",', '+   "color": "dark red",',
                      '    "size": [']:
        raise Failure(f"the difference is {latest}")
    words = browser.run("return [...document.querySelectorAll('#history mark')].slice(0, 2)"
                        ".map(each => each.textContent)")
    if words != ["blue", "red"]:
        raise Failure(f"the words that differ are {words}")
    first = shown(browser)[-1]
    if any(line and line[0] != "+" for line in first.split("\n")):
        raise Failure(f"the first revision is {first}")
    browser.wait_for("the times of the revisions", "return [...document.querySelectorAll("
                     "'#history .bar > .soft')].every(each => /\\d/.test(each.textContent))")
    compare(browser, "now")
    first = shown(browser)[0]
    if '−   "color": "dark blue"' not in first or '+   "color": "dark red"' not in first:
        raise Failure(f"compared with the value of now: {shown(browser)}")
    compare(browser, "none")
    if shown(browser) != values[::-1]:
        raise Failure(f"the revisions are {shown(browser)}")
    browser.click("#history li:last-child button")
    browser.click("#save")
    browser.wait_for_text("#editor-note", "Saved as revision")
    if get(service, "past") != values[0]:
        raise Failure("the earlier value was not put back")
    compare(browser, "before")
    browser.click("#close")


CHECKS = (("revisions and their differences", check_history),)
