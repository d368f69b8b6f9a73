"""Accessibility of the dashboard: keyboard, narrow screens, contrast, names of controls."""

import itertools

import axe
import properties
import revisions
from browser import ENTER, ESCAPE, SHIFT, TAB
from process import Failure, expect

PARTS = ("overview", "properties", "contention", "operations")
STOPS_MAX = 150

VISIBLE = """
  const visible = [...document.querySelectorAll(
      "a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter(each => !each.disabled && each.checkVisibility());
"""
# In a group of radio buttons, the Tab key stops only at the chosen one.
STOPS = VISIBLE + """
  return visible.filter(each => each.type !== "radio" || each.checked)
    .map(each => each.id || each.getAttribute("href") || each.textContent || each.value)"""
# The least contrast of a text with its background (WCAG 2.2, section 1.4.3).
CONTRAST = """
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(each => each / 255)
    .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const found = channels(getComputedStyle(element).backgroundColor);
      if (found[3] === undefined || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility()) continue;
    if (element.closest(":disabled, title, option")) continue;
    const style = getComputedStyle(element);
    const color = element.ownerSVGElement ? style.fill : style.color;
    const [a, b] = [luminance(channels(color)), luminance(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return found"""


def show(service, browser, part):
    browser.open(f"{service.url}/#{part}")
    browser.run("location.reload()")
    browser.wait_for(f"the part {part}", "return document.readyState === 'complete' && "
                     "document.querySelector(`nav a[href='#${arguments[0]}'][aria-current]`)", part)
    if part == "contention":
        browser.wait_for("figures", "return document.querySelector('#strategies tr')")
    elif part in ("overview", "operations"):
        browser.wait_for("a state", "return document.querySelector(`#${arguments[0]}-state`)"
                         ".textContent !== ''", part)
    else:
        browser.wait_for("rows", "return document.querySelector('#rows li')")
        browser.click("#rows a:not(.folder)")
        browser.wait_for("the editor", "return !document.getElementById('editor').hidden")


def check_keyboard(service, browser):
    browser.look_like(1280, 900)
    for part in PARTS:
        show(service, browser, part)
        # The Tab key starts from here.
        browser.run("document.body.tabIndex = -1; document.body.focus()")
        expected = browser.run(STOPS)
        reached = []
        for _ in range(STOPS_MAX):
            browser.press(TAB)
            at = browser.run("""
                const each = document.activeElement;
                if (each === document.body || each === document.documentElement) return null;
                const style = getComputedStyle(each);
                return [each.id || each.getAttribute("href") || each.textContent || each.value,
                  style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2]""")
            if at is None:
                break
            if not at[1]:
                raise Failure(f"{part}: the focus cannot be seen on {at[0]}")
            reached.append(at[0])
        missing = [each for each in expected if each not in reached]
        if missing:
            raise Failure(f"{part}: the Tab key does not reach {missing}")
        if reached != [each for each in expected if each in reached]:
            raise Failure(f"{part}: the order is {reached}, not {expected}")


def check_enter(service, browser):
    """From the top of the page to a saved value, only with keys."""
    show(service, browser, "contention")
    focus(browser, "a[href='#properties']")
    browser.press(ENTER)
    browser.wait_for("rows", "return document.querySelector('#rows li')")
    focus(browser, "#rows a:not(.folder)")
    browser.press(ENTER)
    browser.wait_for("the editor has the focus",
                     "return document.activeElement.id === 'editor-title'")
    focus(browser, "#save")
    browser.press(ENTER)
    browser.wait_for_text("#editor-note", "Saved at")
    focus(browser, "#close")
    browser.press(ENTER)
    browser.wait_for("the focus is kept in sight",
                     "return document.activeElement.id === 'create'")
    browser.press(TAB, SHIFT)


def check_defaults(service, browser):
    """The Enter key in a field presses the first button of its form that submits."""
    show(service, browser, "overview")
    wrong = browser.run("""
        return [...document.forms].filter(form => form.querySelector("input, select, textarea"))
          .filter(form => {
            const [first, ...others] = [...form.elements].filter(each => each.type === "submit");
            return !first || first.formNoValidate || others.length > 0;
          }).map(form => form.id || form.parentElement.id)""")
    if wrong:
        raise Failure(f"the Enter key can do something else than confirm in {wrong}")
    # In a question without fields it presses the button that has the focus: at first the harmless
    # one.
    show(service, browser, "properties")
    browser.run("document.getElementById('delete').click()")
    browser.wait_for("the question", "return document.getElementById('confirm').open")
    browser.press(ENTER)
    browser.wait_for("no question", "return !document.getElementById('confirm').open")
    expect("what was pressed", browser.run(
        "return document.getElementById('confirm').returnValue"), "no")


def focus(browser, selector):
    """Presses Tab until the focus is there."""
    for _ in range(STOPS_MAX):
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return
        browser.press(TAB)
    raise Failure(f"the Tab key does not reach {selector}")


def check_widths(service, browser):
    for part, width in itertools.product(PARTS, (320, 360, 768)):
        browser.look_like(width, 740)
        if width == 320:
            show(service, browser, part)
        browser.check_width(f"{part} at {width} pixels")


def check_schemes(service, browser):
    grounds = {}
    for part, scheme in itertools.product(PARTS, ("light", "dark")):
        browser.look_like(1280, 900, scheme)
        if scheme == "light":
            show(service, browser, part)
        grounds[scheme] = browser.run("return getComputedStyle(document.body).backgroundColor")
        poor = browser.run(CONTRAST)
        if poor:
            raise Failure(f"{part}, {scheme}: too little contrast: {poor}")
    if grounds["light"] == grounds["dark"]:
        raise Failure("light and dark look the same")


# Labels and fields that are nearer than 4 pixels to each other.
TOUCHING = """
  const found = [];
  for (const field of document.querySelectorAll("input, select, textarea")) {
    const label = field.labels?.[0];
    if (!label || !field.checkVisibility()) continue;
    const text = document.createRange();
    text.selectNodeContents([...label.childNodes].find(each => each.textContent.trim()));
    const [a, b] = [text.getBoundingClientRect(), field.getBoundingClientRect()];
    const gap = Math.max(b.left - a.right, a.left - b.right, b.top - a.bottom, a.top - b.bottom);
    if (gap < 4) found.push(`${label.textContent.trim()}: ${gap.toFixed(1)}`);
  }
  return found"""


def check_labels(service, browser):
    browser.look_like(1280, 900)
    for part in PARTS:
        show(service, browser, part)
        browser.run("document.getElementById('token').show()")
        touching = browser.run(TOUCHING)
        if touching:
            raise Failure(f"{part}: labels touch their fields: {touching}")


def check_axe(service, browser):
    """Each part, and the forms and questions of properties."""
    for part in PARTS:
        show(service, browser, part)
        if part == "properties":
            revisions.show(browser)
        axe.check(browser, part)
    browser.open(f"{service.url}/#properties")
    browser.wait_for("the list", "return document.querySelector('#rows a:not(.folder)')")
    browser.click("#create")
    browser.wait_for("a form", "return !document.getElementById('name-field').hidden")
    browser.click("#save")
    browser.wait_for_text("#editor-note", "Give the property a name")
    axe.check(browser, "a new property without a name")
    browser.click("#close")
    properties.put(service, "shared", '"first"')
    properties.open_property(browser, "shared")
    browser.type("#value", '"mine"')
    properties.put(service, "shared", '"theirs"')
    browser.click("#save")
    properties.wait_for_conflict(browser, "Changed meanwhile")
    axe.check(browser, "a conflict")
    browser.click("#take-theirs")
    browser.click("#delete")
    axe.check(browser, "a question")
    browser.press(ESCAPE)
    properties.search(browser, "no such")
    browser.wait_for("no rows", "return !document.getElementById('no-rows').hidden")
    axe.check(browser, "an empty list")


def check_order(service, browser):
    expect("the order of the parts", browser.texts("#parts a"),
           ["Overview", "Properties", "Contention", "Operations"])


def check_names(service, browser):
    """Asks Chromium for the name that a screen reader gets for each control."""
    for part in PARTS:
        show(service, browser, part)
        tree = browser.developer("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "image",
                 "progressbar", "region", "form", "navigation"}
        nameless = [node["role"]["value"] for node in tree if not node.get("ignored")
                    and node.get("role", {}).get("value") in roles
                    and not node.get("name", {}).get("value")]
        if nameless:
            raise Failure(f"{part}: without a name: {nameless}")
        headings = browser.run("return [...document.querySelectorAll('h1, h2, h3')].filter(each => "
                               "each.checkVisibility()).map(each => Number(each.tagName[1]))")
        if any(after > before + 1 for before, after in itertools.pairwise(headings)):
            raise Failure(f"{part}: the levels of headings are {headings}")


CHECKS = (
    ("the Tab key reaches everything in order, visibly", check_keyboard),
    ("the Enter key works", check_enter),
    ("the Enter key confirms, and deletes nothing", check_defaults),
    ("nothing is wider than a narrow screen", check_widths),
    ("text has contrast in light and dark", check_schemes),
    ("labels do not touch their fields", check_labels),
    ("properties come before contention", check_order),
    ("axe finds nothing", check_axe),
    ("controls have names, headings have levels", check_names),
)
