"""What keeps people from using a page, as axe-core finds it: in the light, in the dark and on a phone."""

from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.reports.pages import Tags
from tests.support.browser import Browser, BrowserWindow

_AXE = "axe_playwright_python"
"""The wheel that axe-core lies in (tests/support/requirements.txt)."""
PHONE = 390
_CONTRAST = "color-contrast"
_LOOKS = {
    "light": (1440, False, "rules: {}"),
    "dark": (1440, True, f'runOnly: ["{_CONTRAST}"]'),
    "phone": (PHONE, False, f'rules: {{ "{_CONTRAST}": {{ enabled: false }} }}'),
}
"""How wide and how dark a page is looked at, and with which rules: colours and sizes do not depend on each other."""
_FIND = """
(async () => {
  const said = await axe.run({ exclude: ["svg > *"] }, { preload: false, resultTypes: ["violations"], RULES });
  const bad = said.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  const told = (rule, node) => `${rule.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`;
  return bad.flatMap((rule) => rule.nodes.map((node) => told(rule, node)));
})()
"""
_WIDE = """
[...document.querySelectorAll("body *")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && box.right + scrollX > WIDTH + 1 && !one.closest(".scroll, .hidden, .skip");
}).map((one) => one.outerHTML.slice(0, 120))
"""

_FIGURES = """
[...document.querySelectorAll("svg, img")].filter((one) => one.getBoundingClientRect().width > WIDTH)
  .map((one) => one.outerHTML.slice(0, 120))
"""
"""Also what could be scrolled to: on a phone nobody scrolls a figure sideways."""


_SHIFT = """
new Promise((done) => {
  let sum = 0;
  const add = (list) => list.getEntries().forEach((entry) => { sum += entry.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => setTimeout(() => done(sum), 50));
})
"""
"""How far contents moved after they were first painted: the sum of all layout shifts."""


@cache
def axe_core() -> str:
    """The script; a test that needs it is skipped where nobody has installed it."""
    if find_spec(_AXE) is None:
        pytest.skip("axe-core is not installed; `make check` does it")
    return files(_AXE).joinpath("axe.min.js").read_text("utf-8")


def barriers(visitor: BrowserWindow, rules: str = "rules: {}") -> list[str]:
    """What is serious or critical on the page that somebody has open, and what makes it wider than their screen."""
    if not visitor.evaluate("'axe' in window"):
        visitor.evaluate(axe_core() + "\n;0")
    told: list[str] = visitor.evaluate(_FIND.replace("RULES", rules))
    width = visitor.evaluate("document.documentElement.scrollWidth")
    if width > visitor.width:
        wide = visitor.evaluate(_WIDE.replace("WIDTH", str(visitor.width)))
        told.append(f"{width} pixels wide on {visitor.width}: {wide[:3]}")
    figures = visitor.evaluate(_FIGURES.replace("WIDTH", str(visitor.width)))
    return told + [f"a figure wider than {visitor.width} pixels: {one}" for one in figures]


def check_accessible(
    browser: Browser, *pages: str | Path, ready: str = "true", dark: bool = True, visitor: BrowserWindow | None = None
) -> None:
    """Nothing keeps anybody from using some pages: in the light, on a phone, and in the dark where asked.

    ``visitor``: who looks at them, where not everybody may.
    """
    who = visitor or browser.visitor()
    told = []
    for page in pages:
        for look, (width, is_dark, rules) in _LOOKS.items():
            if is_dark and not dark:
                continue
            who.resize(width)
            who.darken(is_dark)
            if not is_dark:  # which only changes colours, of the page that is open
                who.goto("about:blank")
                who.goto(page)
                who.wait(ready)
            told += [f"{look}, {page}: {barrier}" for barrier in barriers(who, rules)]
    if visitor is None:
        who.close()
    assert not told, f"{len(told)} barriers\n" + "\n".join(told[:20])


def check_light_and_still(browser: Browser, page: Path, most_bytes: int) -> None:
    """A page is accessible, weighs at most ``most_bytes``, is inert, asks for nothing, and nothing moves on it."""
    assert page.stat().st_size <= most_bytes
    Tags(page.read_text("utf-8")).check_inert("http://127.0.0.1:8765/")
    check_accessible(browser, page)
    visitor = browser.visitor(1440, 900)
    for width in (1440, PHONE):
        visitor.resize(width)
        visitor.goto("about:blank")
        visitor.goto(page)
        assert visitor.evaluate(_SHIFT) < 0.01, width
    assert visitor.errors == []
    assert [url for url in visitor.requests if not url.startswith(("file:", "data:", "about:"))] == []
    visitor.close()
