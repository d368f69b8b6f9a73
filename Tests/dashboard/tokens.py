"""The dashboard of a service that asks for tokens."""

import axe
from browser import ENTER, ESCAPE
from process import Failure, Latchkey, create_token, expect

SECRET_START = "lk_"


def check(binary, folder, browser, log, pictures):
    """A wrong token is refused, a right one is asked for once, and streams work with its cookie."""
    lines = folder / "tokens"
    token = create_token(binary, lines, "page", "read,write", "operations")
    with Latchkey(binary, "--token-file", lines, log=log) as service:
        browser.open(service.url + "/")
        browser.wait_for("the question for a token", "return document.getElementById('token').open")
        if pictures:
            browser.screenshot(pictures / "token.png", 1280)
        axe.check(browser, "the question for a token")
        browser.type("#token-text", SECRET_START + "0" * 72)
        browser.click("#token .main-button")
        browser.wait_for_text("#token-note", "no valid token")
        check_declined(browser)
        browser.type("#token-text", token)
        browser.press(ENTER)
        browser.wait_for("no question", "return !document.getElementById('token').open")
        browser.wait_for_text("#overview-state", "Live")
        expect("the button", browser.texts("#session"), ["Sign out"])
        expect("what is said of a token", browser.texts("#no-token > *"), [])
        browser.wait_for_text("#watches-note", "needs the right admin")
        browser.click("a[href='#properties']")
        browser.wait_for_text("#watch-state", "Live")
        service.ask("PUT", "/v1/properties/seen", "1", {"Authorization": f"Bearer {token}"})
        browser.wait_for("the property", "return document.body.textContent.includes('seen')")
        kept = browser.run("""
            return [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage),
                    location.href, document.getElementById('token-text').value].join(' ')""")
        if SECRET_START in kept or "latchkey-session" in kept:
            raise Failure(f"a script can read the token or its cookie: {kept}")
        # The cookie is there when the page is opened again.
        browser.open(service.url + "/#properties")
        browser.wait_for_text("#watch-state", "Live")
        if browser.run("return document.getElementById('token').open"):
            raise Failure("the token is asked for a second time")
        browser.wait_for_text("#session", "Sign out")
        browser.click("#session")
        browser.wait_for("the question for a token", "return document.readyState === 'complete' && "
                         "document.getElementById('token').open")
        browser.press(ESCAPE)
        browser.wait_for_text("#session", "Sign in")
        axe.check(browser, "a page without a token")
        expect("what is left of the properties", browser.texts("#rows li"), [])
        expect("the status", browser.run(
            "return fetch('/v1/properties').then(({status}) => status)"), 401)


def check_declined(browser):
    """The Enter key confirms; without a token the page says so, and asks again on request."""
    browser.press(ENTER)
    browser.wait_for("the question stays without a token", """
        return document.getElementById("token").open
          && document.activeElement.matches("#token-text:invalid")""")
    for cancel in (lambda: browser.press(ESCAPE), lambda: browser.click("#token-cancel")):
        cancel()
        browser.wait_for_text("#no-token", "asks for a token")
        browser.wait_for_text("#session", "Sign in")
        if browser.run("return document.getElementById('token').open"):
            raise Failure("the question stays")
        browser.click("#no-token button")
        browser.wait_for("the question", "return document.getElementById('token').open")
        expect("what is said meanwhile", browser.texts("#no-token > *"), [])
    browser.type("#token-text", SECRET_START + "1" * 72)
    browser.press(ENTER)
    browser.wait_for_text("#token-note", "no valid token")
