"""The part of the dashboard for properties: folders."""

from browser import DELETE
from process import Failure, await_true, expect
from properties import path, put, search, value


def names(browser):
    """The names in the rows, of a folder with its slash."""
    return browser.texts("#rows .name")


def path_of(browser):
    """The steps to the folder that is shown."""
    return browser.texts("#path a")


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
    browser.click("#rows a")
    browser.wait_for_text("#editor-title", "tree/branch/leaf")
    browser.wait_for("the value", "return document.getElementById('value').value === '\"green\"'")
    browser.click("#path a:nth-child(2)")
    browser.wait_for_text("#rows .name", "trunk")
    open_folder(browser, "branch/")
    browser.wait_for_text("#rows .name", "leaf")
    browser.click("#path a:first-child")
    open_folder(browser, "page/")
    browser.wait_for_text("#page-facts", "Page 1, 50 shown")
    browser.click("#next")
    browser.wait_for_text("#page-facts", "Page 2,")
    shown = names(browser)
    browser.run("history.back()")
    browser.wait_for_text("#page-facts", "Page 1,")
    browser.run("history.forward()")
    browser.wait_for_text("#page-facts", "Page 2,")
    browser.run("location.reload()")
    browser.wait_for("the same page", "return document.readyState === 'complete' && "
                     "document.getElementById('page-facts').textContent.startsWith('Page 2,')")
    browser.wait_for("its rows", "return [...document.querySelectorAll('#rows .name')]"
                     ".map(each => each.textContent).join() === arguments[0]", ",".join(shown))
    browser.click("#previous")
    browser.wait_for_text("#page-facts", "Page 1,")
    browser.click("#next")
    browser.wait_for_text("#page-facts", "Page 2,")
    browser.click("#path a:first-child")
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
    browser.click("#path a:first-child")
    browser.wait_for_text("#rows .name", "tree/")
    if "fresh/" in names(browser):
        raise Failure("a folder without properties is shown")


def check_address(service, browser):
    """Folder, search and property are in the address: links, Back and a reload show the same."""
    def address():
        return browser.run("return location.hash")

    def back(what, title, steps):
        browser.run("history.back()")
        browser.wait_for(what, "return arguments[0] === (document.getElementById('editor').hidden "
                         "? '' : document.getElementById('editor-title').textContent)", title)
        await_true(f"the path of {what}", lambda: path_of(browser) == steps)

    put(service, "way/a/one&?#%", "1")
    put(service, "way/a/two", "2")
    browser.open(service.url + "/#overview")
    browser.run("location.reload()")
    browser.wait_for_text("#overview-state", "Live")
    browser.click("a[href='#properties']")
    await_true("the path", lambda: path_of(browser) == ["All"])
    open_folder(browser, "way/")
    # While the old list is shown, a folder of the same name must not be taken.
    await_true("what is in way/", lambda: names(browser) == ["a/"])
    open_folder(browser, "a/")
    for name in ("way/a/one&?#%", "way/a/two"):
        browser.wait_for_text("#rows .name", name[6:])
        browser.run("[...document.querySelectorAll('#rows a')].find(row => row.querySelector("
                    "'.name').textContent === arguments[0]).click()", name[6:])
        browser.wait_for_text("#editor-title", name)
    expect("the address", address(), "#properties?folder=way%2Fa%2F&name=way%2Fa%2Ftwo")
    back("the property before", "way/a/one&?#%", ["All", "way/", "a/"])
    # A page without history opens the same by its address.
    browser.run("window.isOld = true; location.reload()")
    browser.wait_for("the page again", "return document.readyState === 'complete' && !window.isOld")
    browser.wait_for_text("#editor-title", "way/a/one&?#%")
    await_true("its value", lambda: value(browser) == "1")
    expect("the path", path_of(browser), ["All", "way/", "a/"])
    back("no property", "", ["All", "way/", "a/"])
    back("the folder before", "", ["All", "way/"])
    search(browser, "way/a/o")
    browser.wait_for_text("#rows .name", "way/a/one&?#%")
    expect("the address", address(), "#properties?folder=way%2F&prefix=way%2Fa%2Fo")
    # An unsaved value stays until the user decides otherwise, and so does the address.
    browser.click("#rows a")
    browser.wait_for_text("#editor-title", "way/a/one&?#%")
    await_true("its value", lambda: value(browser) == "1")
    before = address()
    browser.type("#value", "unsaved")
    browser.run("history.back()")
    browser.wait_for_text("#confirm-text", "not saved")
    browser.click("#confirm button[value=no]")
    await_true("the address of what is shown", lambda: address() == before)
    expect("what is not saved", value(browser), "unsaved")
    # Another part and back.
    browser.click("a[href='#contention']")
    browser.click("a[href='#properties']")
    await_true("the address of before", lambda: address() == before)
    browser.click("#delete")
    browser.click("#confirm-yes")
    await_true("no name in the address", lambda: "name=" not in address())


CHECKS = (
    ("names with slashes are in folders", check_folders),
    ("folders follow the service", check_live_folders),
    ("the address says what is shown", check_address),
)
