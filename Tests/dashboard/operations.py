"""The part of the dashboard for operations."""

import json

from process import Failure, expect


def start(browser, name, steps):
    browser.click("a[href='#operations']")
    browser.type("#operation-name", name)
    browser.type("#steps", json.dumps(steps))
    browser.click("#start .main-button")
    browser.wait_for_text("#start-note", "Started operation")


def state_of(browser, name, state):
    browser.wait_for(f"{name} is {state}", """
        const card = [...document.querySelectorAll(".operation")]
          .find(each => each.querySelector("strong").textContent === arguments[0]);
        return card && card.querySelector(".state").textContent === arguments[1]""", name, state)


def check_start(service, browser):
    name = "<b>count</b>"
    start(browser, name, [{"increment": "operated"}, {"wait": 1}, {"increment": "operated"}])
    state_of(browser, name, "executing")
    browser.wait_for("progress between none and all", "const {value} = "
                     "document.querySelector('.operation progress'); return value > 0 && value < 1")
    state_of(browser, name, "finished")
    expect("what its steps did", service.ask_json("/v1/properties/operated"), 2)
    if browser.run("return document.querySelector('#operations b') !== null"):
        raise Failure("the name of an operation became markup")
    if browser.run("return [...document.querySelectorAll('.operation button')]"
                   ".some(each => !each.hidden)"):
        raise Failure("an operation that has ended can be cancelled")


def check_cancel(service, browser):
    start(browser, "long", [{"wait": 30}])
    state_of(browser, "long", "executing")
    browser.click("[aria-label='Cancel long']")
    state_of(browser, "long", "cancelled")


def check_mistake(service, browser):
    browser.type("#steps", "[1")
    browser.click("#start .main-button")
    browser.wait_for_text("#start-note", "The steps are not JSON")


CHECKS = (
    ("an operation is started, shows its progress, and finishes", check_start),
    ("an operation is cancelled", check_cancel),
    ("steps with a mistake are not sent", check_mistake),
)
