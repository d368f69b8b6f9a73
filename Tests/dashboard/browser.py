"""Drives headless Chromium through chromedriver: WebDriver is JSON over HTTP."""

import base64
import json
import os
import re

from process import Failure, Server, await_true

# The keys of WebDriver.
TAB, ENTER, SHIFT, CONTROL = "\ue004", "\ue007", "\ue008", "\ue009"
DELETE, ESCAPE = "\ue017", "\ue00c"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
WIDE = """
  return [...document.querySelectorAll("body *")].filter(each =>
      each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".wide"))
    .map(each => each.outerHTML.slice(0, 80))"""


class Browser(Server):
    """One window of headless Chromium. It leaves nothing behind."""

    listening = re.compile(r"started successfully on port (\d+)")

    def __init__(self, profile, **options):
        super().__init__("chromedriver", "--port=0", **options)
        self.profile = profile
        self.session = None

    def __enter__(self):
        super().__enter__()
        self.url = f"http://127.0.0.1:{self.url}"
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--window-size=1280,900",
                     f"--user-data-dir={self.profile}"]
        if os.geteuid() == 0:
            # Chromium's sandbox does not run as root, as in a container.
            arguments.append("--no-sandbox")
        try:
            self.session = self.tell("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": {"args": arguments},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }}})["sessionId"]
        except Exception:
            self.__exit__(Failure)
            raise
        return self

    def ask_to_end(self):
        if self.session:
            self.here("DELETE", "")
        self.ask("GET", "/shutdown")

    def tell(self, method, path, body=None):
        text = json.dumps(body or {}) if method == "POST" else None
        status, _, text = self.ask(
            method, path, text, {"Content-Type": "application/json"}, expect=None)
        value = json.loads(text)["value"]
        if status != 200:
            raise Failure(f"{path.rsplit('/', 1)[-1]}: {value['error']}: {value['message'][:300]}")
        return value

    def here(self, method, path, body=None):
        return self.tell(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.here("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that `script` returns."""
        return self.here("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, what, script, *arguments):
        """Runs `script` until it returns something true, and returns that."""
        return await_true(f"on the page, {what}", lambda: self.run(script, *arguments))

    def texts(self, selector):
        """The texts of all elements that match."""
        return self.run("return [...document.querySelectorAll(arguments[0])]"
                        ".map(each => each.textContent)", selector)

    def wait_for_text(self, selector, text):
        self.wait_for(f"{selector} says '{text}'", "return [...document.querySelectorAll("
                      "arguments[0])].some(each => each.textContent.includes(arguments[1]))",
                      selector, text)

    def element(self, selector):
        return self.here("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.here("POST", f"/element/{self.element(selector)}/click")

    def type(self, selector, text):
        """Replaces the text of a field, as a person would: select all, type."""
        element = self.element(selector)
        keys = CONTROL + "a" + CONTROL + text
        self.here("POST", f"/element/{element}/value", {"text": keys})

    def press(self, key, *held):
        """Presses a key at the present focus."""
        down = [{"type": "keyDown", "value": each} for each in (*held, key)]
        up = [{"type": "keyUp", "value": each} for each in (key, *held)]
        self.here("POST", "/actions", {"actions": [
            {"type": "key", "id": "keys", "actions": down + up}]})

    def developer(self, name, **parameters):
        """A command of the DevTools protocol."""
        return self.here("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def look_like(self, width, height, scheme="light", media=""):
        self.developer("Emulation.setDeviceMetricsOverride", width=width, height=height,
                       deviceScaleFactor=1, mobile=False)
        self.developer("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def check_width(self, what):
        """Checks that no element is too wide, unless it can be scrolled to."""
        over = self.run("return document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            raise Failure(f"{what} is {over} pixels too wide: {self.run(WIDE)[:3]}")

    def screenshot(self, path, width):
        """Takes a picture of the whole page, however long it is."""
        height = self.run("return document.documentElement.scrollHeight")
        shot = self.developer("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def messages(self):
        """The console's lines since the last call."""
        return [f"{each['level']} {each['message']}"
                for each in self.here("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """The addresses of all requests since the last call."""
        found = (json.loads(each["message"])["message"]
                 for each in self.here("POST", "/se/log", {"type": "performance"}))
        return [each["params"]["request"]["url"] for each in found
                if each["method"] == "Network.requestWillBeSent"]
