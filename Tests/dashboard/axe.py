"""Checks a state of the page with the rules of axe-core."""

import pathlib

from process import Failure

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SIZES = ((1280, 800), (390, 844))
SCHEMES = ("light", "dark")
# Violations of rules without doubt, and of good practice.
FINDINGS = """
  axe.run().then(({violations}) => violations.map(({id, help, nodes}) =>
    `${id}: ${help}: ${nodes.map(({html}) => html.slice(0, 120)).slice(0, 3).join(", ")}`))"""


def source():
    [path] = TOP.glob(".build-tools/axe/lib/*/site-packages/axe_playwright_python/axe.min.js")
    return path.read_text()


def check(browser, what):
    """Checks wide and narrow, light and dark. Afterwards the window is wide and light."""
    try:
        for width, height in SIZES:
            for scheme in SCHEMES:
                browser.look_like(width, height, scheme)
                look(browser, f"{what} at {width} x {height}, {scheme}")
    finally:
        browser.look_like(1280, 900)


def look(browser, what):
    # The policy of the page forbids other scripts, but not those of the DevTools protocol.
    if not browser.run("return 'axe' in window"):
        browser.developer("Runtime.evaluate", expression=source())
    done = browser.developer("Runtime.evaluate", expression=FINDINGS, awaitPromise=True,
                             returnByValue=True)
    if "exceptionDetails" in done:
        raise Failure(f"axe stopped at {what}: {done['exceptionDetails']}")
    if done["result"]["value"]:
        raise Failure(f"{what}:\n" + "\n".join(done["result"]["value"]))
