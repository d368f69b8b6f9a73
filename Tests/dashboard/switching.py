"""The control of the dashboard that switches the strategy."""

from accessibility import focus
from browser import ENTER
from process import expect


def check(service, browser):
    """Only with keys: the page shows the service's answer, and the head names the new strategy."""
    browser.open(service.url + "/#contention")
    names = [row["name"] for row in service.ask_json("/v1/strategies")["strategies"]]
    browser.wait_for("the names", "return document.getElementById('switch-to').length > 0")
    expect("the names", browser.texts("#switch-to option"), names)
    browser.wait_for_text("#strategy", "lock")
    choose(browser, "adaptive")
    browser.wait_for_text("#switch-note", "Switched from lock to adaptive in ")
    expect("the head", browser.texts("#strategy"), ["adaptive"])
    expect("the strategy", service.ask_json("/v1/strategy")["strategy"], "adaptive")
    check_served(service, browser)
    choose(browser, "adaptive")
    browser.wait_for_text("#switch-note", "adaptive serves already.")
    choose(browser, "actor")
    browser.wait_for_text("#switch-note.bad", "--stripes 1")
    expect("the head", browser.texts("#strategy"), ["adaptive"])
    # Another client switches: the page shows it.
    service.ask("PUT", "/v1/strategy", '{"strategy":"lock"}')
    browser.wait_for_text("#strategy", "lock")
    browser.open(service.url + "/#overview")
    browser.wait_for_text("#strategy", "lock")


def check_served(service, browser):
    """The present and former strategies, with start and duration."""
    browser.wait_for("since when", """
        const since = new Date(arguments[0]).toLocaleTimeString();
        return document.getElementById("serving").textContent
          === `adaptive serves since ${since}. A restart begins with lock.`""",
                     service.ask_json("/v1/strategy")["since"])
    browser.wait_for("how long", """
        const rows = [...document.querySelectorAll("#strategies tr")]
          .map(row => [...row.children].slice(0, 2).map(({textContent}) => textContent).join(": "));
        return /^adaptive: \\d+ s, now$/.test(rows[0]) && /^lock: (\\d+ min )?\\d+ s$/.test(rows[1])
          && rows.length === 2""")


def choose(browser, name):
    browser.run("""
        const choice = document.getElementById("switch-to");
        choice.focus();
        choice.value = arguments[0];""", name)
    focus(browser, "#switch-now")
    browser.press(ENTER)
