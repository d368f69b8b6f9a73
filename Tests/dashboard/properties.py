"""The part of the dashboard for properties: list, editor, conflicts, live updates."""

import json
import urllib.parse

from browser import DELETE, ENTER
from process import Failure, await_true, expect

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
HOSTILE_VALUE = {"<script>document.title='owned'</script>": "</script><img src=x onerror=alert(1)>"}
# Not a double: 2^53 + 1.
LARGE = "9007199254740993"


# Confirms the question whether a change may be discarded.
DISCARD = """
    if (document.getElementById("confirm").open) document.getElementById("confirm-yes").click();
"""


def path(name):
    return "/v1/properties/" + urllib.parse.quote(name, safe="")


def put(service, name, text, query=""):
    headers = service.ask("PUT", path(name) + query, text, {"Content-Type": "application/json"})[1]
    return int(headers["ETag"].strip('"'))


def get(service, name):
    return service.ask("GET", path(name))[2].decode()


def prepare(service):
    put(service, HOSTILE, json.dumps(HOSTILE_VALUE))
    put(service, "number", LARGE)
    put(service, "a/b c?%ü", '{"b": 1.0, "a": [1, {}, []], "b": "twice, 1 : 2"}')
    put(service, "large", json.dumps(["x" * 100] * 3000))
    for index in range(60):
        put(service, f"page/{index:03}", str(index))


def row(browser, name):
    """The text of a row in the list, or None."""
    return browser.run("""
        const found = [...document.querySelectorAll("#rows a")]
          .find(row => row.querySelector(".name").textContent === arguments[0]);
        return found && found.textContent""", name)


def search(browser, prefix):
    browser.type("#prefix", prefix)
    browser.press(ENTER)


def open_property(browser, name):
    search(browser, name)
    browser.wait_for(f"a row for {name}", """
        const found = [...document.querySelectorAll("#rows a")]
          .find(row => row.querySelector(".name").textContent === arguments[0]);
        if (found) found.click();
        return found !== undefined""", name)
    browser.wait_for(f"{name} in the editor", DISCARD +
                     "return document.getElementById('editor-title').textContent "
                     "=== arguments[0] && "
                     "document.getElementById('editor-facts').textContent !== ''", name)


def value(browser):
    return browser.run("return document.getElementById('value').value")


def await_value(browser, text):
    await_true(f"{text} in the editor", lambda: value(browser) == text)


def save(browser, text=None):
    """Saves the text in the editor, or another one."""
    if text is not None:
        browser.type("#value", text)
    browser.click("#save")
    browser.wait_for_text("#editor-note", "Saved at")


def keep_mine(service, browser, name):
    """Saves a change although another one came before."""
    browser.type("#value", '"mine"')
    put(service, name, '"theirs"')
    browser.click("#save")
    wait_for_conflict(browser, "Changed meanwhile")
    expect("what the user of the editor had not seen", get(service, name), '"theirs"')
    browser.click("#keep-mine")
    browser.wait_for_text("#editor-note", "Saved at")
    expect("the value that was kept", get(service, name), '"mine"')


def create(browser):
    browser.click("#create")
    browser.wait_for("an empty editor", "return !document.getElementById('name-field').hidden")


def check_hostile(service, browser):
    browser.click("a[href='#properties']")
    browser.wait_for_text("#rows .name", HOSTILE)
    open_property(browser, HOSTILE)
    expect("what the editor has", value(browser), json.dumps(HOSTILE_VALUE))
    browser.click("#delete")
    browser.wait_for_text("#confirm-text", HOSTILE)
    browser.click("#confirm button[value=no]")
    if browser.run("return document.querySelector('main img, main script, dialog img') !== null"):
        raise Failure("a name or a value became markup")
    if "owned" in browser.run("return document.title"):
        raise Failure("a name or a value ran as a script")


def check_pages(service, browser):
    search(browser, "page/")
    browser.wait_for_text("#page-facts", "Page 1, 50 shown")
    browser.click("#next")
    browser.wait_for_text("#page-facts", "Page 2, 10 shown")
    browser.wait_for_text("#rows .name", "page/059")
    browser.click("#previous")
    browser.wait_for_text("#page-facts", "Page 1, 50 shown")
    search(browser, "page/05")
    browser.wait_for_text("#page-facts", "Page 1, 10 shown")
    search(browser, "no such")
    browser.wait_for("no rows", "return !document.getElementById('no-rows').hidden")


def check_edit(service, browser):
    open_property(browser, "a/b c?%ü")
    browser.click("#format")
    save(browser)
    expect("what was formatted and saved", get(service, "a/b c?%ü"),
           '{\n  "b": 1.0,\n  "a": [\n    1,\n    {},\n    []\n  ],\n  "b": "twice, 1 : 2"\n}')
    open_property(browser, "number")
    if LARGE not in row(browser, "number") or value(browser) != LARGE:
        raise Failure("a large number lost digits")


def check_mistake(service, browser):
    before = get(service, "number")
    browser.type("#value", "{1")
    browser.click("#save")
    browser.wait_for_text("#editor-note", "This is not JSON")
    expect("the focus", browser.run("return document.activeElement.id"), "value")
    expect("what is saved", get(service, "number"), before)


def wait_for_conflict(browser, text):
    """Waits for the answer, too: the watch can show the conflict before the button is pressed."""
    browser.wait_for("a conflict", "return !editor.isSaving && !document.getElementById('conflict')"
                     ".hidden && document.getElementById('conflict-text').textContent"
                     ".includes(arguments[0])", text)


def check_conflict(service, browser):
    put(service, "shared", '"first"')
    open_property(browser, "shared")
    keep_mine(service, browser, "shared")

    browser.type("#value", '"mine again"')
    put(service, "shared", '"theirs again"')
    browser.click("#save")
    wait_for_conflict(browser, "Changed meanwhile")
    browser.click("#take-theirs")
    await_value(browser, '"theirs again"')

    browser.type("#value", '"mine"')
    service.ask("DELETE", path("shared"))
    browser.click("#save")
    wait_for_conflict(browser, "Deleted meanwhile")
    browser.click("#keep-mine")
    browser.wait_for_text("#editor-note", "Saved at")
    expect("the value that was created again", get(service, "shared"), '"mine"')


def check_follow(service, browser):
    open_property(browser, "shared")
    put(service, "shared", '"followed"')
    await_value(browser, '"followed"')


def check_create(service, browser):
    browser.type("#value", "unsaved")
    browser.click("#create")
    browser.wait_for_text("#confirm-text", "not saved")
    browser.click("#confirm button[value=no]")
    expect("a change that was not discarded", value(browser), "unsaved")
    browser.click("#create")
    browser.click("#confirm-yes")
    browser.wait_for("an empty editor", "return !document.getElementById('name-field').hidden")
    browser.type("#name", "shared")
    browser.type("#value", "1")
    browser.click("#save")
    browser.wait_for_text("#conflict-text", "exists already")
    browser.click("#take-theirs")
    browser.wait_for_text("#editor-title", "shared")
    create(browser)
    browser.type("#name", DELETE)
    browser.type("#value", "1")
    browser.click("#save")
    browser.wait_for_text("#editor-note", "Give the property a name")
    browser.type("#name", "sharedé/new")
    save(browser)
    browser.wait_for_text("#rows .name", "sharedé/new")
    expect("the new property", get(service, "sharedé/new"), "1")
    browser.click("#delete")
    browser.click("#confirm-yes")
    await_true("the row is gone", lambda: "sharedé/new" not in browser.texts("#rows .name"))
    service.ask("GET", path("sharedé/new"), expect=(404,))


def check_dots(service, browser):
    """A browser takes both names for steps through folders, also percent-encoded."""
    for name in (".", ".."):
        # The spelling of numbers and the line feed stay as they were written.
        text = '{"b": 1.0,\n "a": 9007199254740993, "value":"}]}"}'
        put(service, "..." if name == ".." else ".a", "0")
        create(browser)
        browser.type("#name", name)
        save(browser, "1")
        expect(f"{name}, created", get(service, name), "1")

        put(service, name, text, "?ttl=1000")
        open_property(browser, name)
        await_value(browser, text)
        browser.wait_for_text("#ttl-note", "Expires in")
        browser.type("#ttl", "500")
        save(browser, "[2]")
        headers = service.ask("GET", path(name))[1]
        if get(service, name) != "[2]" or not 400 < float(headers["Latchkey-TTL"]) <= 500:
            raise Failure(f"{name} was saved as {get(service, name)}, {headers['Latchkey-TTL']}")

        keep_mine(service, browser, name)
        compare(browser, "none")
        browser.click("#earlier")
        browser.wait_for_text("#history-note", "did not exist before")
        # The history shows line feeds as spaces.
        expect("the revisions", shown(browser),
               ['"mine"', '"theirs"', "[2]", text.replace("\n", " "), "1"])
        compare(browser, "before")

        browser.click("#delete")
        browser.click("#confirm-yes")
        browser.wait_for("the editor is closed", "return document.getElementById('editor').hidden")
        service.ask("GET", path(name), expect=(404,))


def check_large(service, browser):
    open_property(browser, "large")
    browser.wait_for_text("#editor-note", "too large to edit")
    if not browser.run("return document.getElementById('save').disabled"):
        raise Failure("a value that is not whole can be saved")
    if len(row(browser, "large")) > 300:
        raise Failure("the list shows a large value")
    browser.click("#close")


def check_live(service, browser):
    search(browser, "live/")
    browser.wait_for_text("#watch-state", "Live")
    check_changes(service, browser)
    # A new name that belongs on page 1 does not appear on page 2.
    search(browser, "page/")
    browser.wait_for_text("#page-facts", "Page 1, 50 shown")
    browser.click("#next")
    browser.wait_for_text("#page-facts", "Page 2, 10 shown")
    put(service, "page/0000", "1")
    put(service, "page/055", '"seen"')
    browser.wait_for_text("#rows .value", '"seen"')
    if row(browser, "page/0000"):
        raise Failure("a page shows a property of another page")
    requests = [url for url in browser.requests() if "/v1/properties?" in url
                and "prefix=live" in url]
    if len(requests) > 1:
        raise Failure("the list was read again although it is watched")


def check_changes(service, browser):
    put(service, "live/b", '"one"')
    browser.wait_for_text("#rows .value", '"one"')
    put(service, "live/a", "1")
    put(service, "live/b", '"two"')
    put(service, "dead/a", "1")
    browser.wait_for_text("#rows .value", '"two"')
    await_true("both names", lambda: len(browser.texts("#rows .name")) == 2)
    expect("the names", browser.texts("#rows .name"), ["live/a", "live/b"])
    service.ask("DELETE", path("live/b"))
    browser.wait_for("one row", "return document.querySelectorAll('#rows li').length === 1")


def check_expiry(service, browser):
    open_property(browser, "live/a")
    browser.type("#ttl", "1.5")
    save(browser)
    browser.wait_for_text("#ttl-note", "Expires in")
    browser.wait_for_text("#rows .expiry", "expires in")
    browser.wait_for("it expires", "return document.querySelectorAll('#rows li').length === 0")
    browser.wait_for_text("#conflict-text", "Deleted meanwhile")
    browser.click("#take-theirs")


def shown(browser):
    """The texts of the revisions, the newest first."""
    return browser.texts("#history pre")


def compare(browser, way):
    browser.run("""
        document.getElementById("compared").value = arguments[0];
        document.getElementById("compared").dispatchEvent(new Event("change"))""", way)


CHECKS = (
    ("names and values with markup are text", check_hostile),
    ("search and pages", check_pages),
    ("an edit is saved, and numbers keep their spelling", check_edit),
    ("JSON with a mistake is not sent", check_mistake),
    ("a change meanwhile is told, and either value can be kept", check_conflict),
    ("what is open and untouched follows the service", check_follow),
    ("create and delete", check_create),
    ("names that a browser takes for folders", check_dots),
    ("a large value is cut", check_large),
    ("live update by watch", check_live),
    ("expiry is set and shown", check_expiry),
)
