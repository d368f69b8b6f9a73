"""The part of the dashboard for properties: folders."""

from browser import DELETE
from process import Failure, expect
from properties import path, put, search


def names(browser):
    """What the rows say, of a folder with its slash."""
    return browser.texts("#rows .name")


def path_of(browser):
    """The steps to the folder that is shown."""
    return browser.texts("#path button")


def open_folder(browser, name):
    browser.wait_for(f"the folder {name}", """
        const found = [...document.querySelectorAll("#rows .folder")]
          .find(row => row.querySelector(".name").textContent === arguments[0]);
        if (found) found.click();
        return found !== undefined""", name)


def check_folders(service, browser):
    put(service, "tree/branch/leaf", '"green"')
    put(service, "tree/trunk", '"brown"', "?ttl=1000")
    search(browser, DELETE)
    browser.wait_for_text("#rows .name", "tree/")
    if "page/000" in names(browser) or names(browser).count("page/") != 1:
        raise Failure(f"the root shows {names(browser)}")
    open_folder(browser, "tree/")
    browser.wait_for_text("#rows .expiry", "expires in")
    expect("the folder and what it shows", (path_of(browser), names(browser)),
           (["All", "tree/"], ["branch/", "trunk"]))
    before = browser.run("return document.querySelector('#rows .expiry').textContent")
    browser.wait_for("the time to live counts down", "return document.querySelector("
                     "'#rows .expiry').textContent !== arguments[0]"
                     if "min" not in before else "return true", before)
    open_folder(browser, "branch/")
    browser.wait_for_text("#rows .name", "leaf")
    expect("the folder", path_of(browser), ["All", "tree/", "branch/"])
    browser.wait_for("the focus in the folder",
                     "return document.activeElement.closest('#rows li') !== null")
    browser.click("#rows button")
    browser.wait_for_text("#editor-title", "tree/branch/leaf")
    browser.wait_for("the value", "return document.getElementById('value').value === '\"green\"'")
    browser.click("#path button:nth-child(2)")
    browser.wait_for_text("#rows .name", "trunk")
    open_folder(browser, "branch/")
    browser.wait_for_text("#rows .name", "leaf")
    browser.click("#path button:first-child")
    open_folder(browser, "page/")
    browser.wait_for_text("#page-facts", "Page 1, 50 shown")
    browser.click("#next")
    browser.wait_for_text("#page-facts", "Page 2,")
    browser.click("#path button:first-child")
    browser.wait_for_text("#rows .name", "tree/")


def check_live_folders(service, browser):
    search(browser, DELETE)
    browser.wait_for_text("#watch-state", "Live")
    put(service, "fresh/one", "1")
    put(service, "fresh/two/three", "1")
    browser.wait_for_text("#rows .folder .name", "fresh/")
    open_folder(browser, "fresh/")
    browser.wait_for_text("#rows .folder .name", "two/")
    service.ask("DELETE", path("fresh/two/three"))
    browser.wait_for("one row", "return document.querySelectorAll('#rows li').length === 1")
    expect("what the folder shows", names(browser), ["one"])
    service.ask("DELETE", path("fresh/one"))
    browser.wait_for("no row", "return !document.getElementById('no-rows').hidden")
    browser.click("#path button:first-child")
    browser.wait_for_text("#rows .name", "tree/")
    if "fresh/" in names(browser):
        raise Failure("a folder without properties is shown")


CHECKS = (
    ("names with slashes are in folders", check_folders),
    ("folders follow the service", check_live_folders),
)
