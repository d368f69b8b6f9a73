"""Accessibility of the page of `latchkey compare --html`: narrow screens, and paper."""

import base64
import pathlib
import re
import subprocess

import axe
from process import Failure

RUN_SECONDS_MAX = 120
# Two phones; and a letter's longer side without its margins, at 96 pixels an inch.
NARROW = (320, 390)
PAPER = 964
# The verdict's plot must be visible without scrolling.
FOLDS = ((1280, 800), (390, 800))
PAGES_MAX = 2


def check(binary, folder, browser, screenshots=None):
    look(binary, folder, browser, screenshots)
    # The table of this report has more columns.
    look(binary, folder, browser, None, "--arrival", "open:50000")


def look(binary, folder, browser, screenshots, *words):
    page = pathlib.Path(folder) / "report.html"
    done = subprocess.run(
        [binary, "compare", "--threads", "1,2,4,8", "--repeats", "3", "--duration", "10ms",
         "--force", "--html", page, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        timeout=RUN_SECONDS_MAX)
    if done.returncode != 0:
        raise Failure(f"compare ended with status {done.returncode}: {done.stderr}")
    # The dashboard polls its service until the page is left.
    browser.open("about:blank")
    browser.messages()
    browser.requests()
    browser.look_like(NARROW[0], 740)
    browser.open(page.as_uri())
    browser.wait_for("the answer", "return document.querySelector('.answer, .warning')")
    if browser.run("return document.querySelectorAll('details[open]').length"):
        raise Failure("the table of all figures is not folded")
    for width in NARROW:
        browser.look_like(width, 740)
        browser.check_width(f"the report at {width} pixels")
        browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
        browser.check_width(f"the report at {width} pixels with all figures")
        browser.run("for (const each of document.querySelectorAll('details')) each.open = false")
        if screenshots:
            browser.screenshot(screenshots / f"report-{width}.png", width)
    check_fold(browser)
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    axe.check(browser, "the report")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = false")
    check_paper(browser)
    wrong = browser.messages()
    if wrong:
        raise Failure("on the console:\n" + "\n".join(wrong[:10]))
    elsewhere = [url for url in browser.requests() if not url.startswith((page.as_uri(), "data:"))]
    if elsewhere:
        raise Failure(f"requests to elsewhere: {elsewhere[:5]}")


def check_fold(browser):
    for width, height in FOLDS:
        browser.look_like(width, height)
        bottom = browser.run("return document.querySelector('.top .plot svg')"
                             ".getBoundingClientRect().bottom")
        if bottom > height:
            raise Failure(f"the plot ends at {bottom:.0f} of {height} pixels at a width of {width}")


def check_paper(browser):
    printed = base64.b64decode(
        browser.developer("Page.printToPDF", preferCSSPageSize=True)["data"])
    count = len(re.findall(rb"/Type\s*/Page\b", printed))
    if not 1 <= count <= PAGES_MAX:
        raise Failure(f"the report prints on {count} pages, not {PAGES_MAX} at most")
    browser.look_like(PAPER, 1000, media="print")
    if browser.run("return [...document.querySelectorAll('details')]"
                   ".some(each => each.getClientRects().length > 0)"):
        raise Failure("on paper there is what folds")
    # Paper does not scroll, so a table that is too wide would lose its columns.
    right = browser.run("return Math.max(...[...document.querySelectorAll('table')].map(each => "
                        "each.getBoundingClientRect().right))")
    if right > PAPER:
        raise Failure(f"on paper a table ends at {right:.0f} of {PAPER} pixels")
    browser.check_width("the report on paper")
    browser.look_like(1280, 900)
