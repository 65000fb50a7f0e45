"""The pages under a person's fingers, in Chromium: keys, selection, zoom, and accessible pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.studio.app.bundle import write_bundle
from eyetest.studio.collection import Collection
from tests.studio.app.conftest import DRAWN, served
from tests.studio.collection.test_opening import FINDING, write_audit
from tests.support.accessibility import check_accessible
from tests.support.browser import Browser, BrowserWindow

AT = "document.querySelector('.card.at')?.dataset.id"
OPEN = "document.querySelector('.whole')?.dataset.id"


@pytest.fixture(params=["served", "copied"])
def ann(
    request: pytest.FixtureRequest, collection: Collection, tmp_path: Path, browser: Browser
) -> Iterator[BrowserWindow]:
    """A person at the list, on a server and without one."""
    ann = browser.visitor()
    with served(collection) as address:
        if request.param == "served":
            ann.goto(f"{address}/?benchmark=zoo")
        else:
            write_bundle(collection, tmp_path / "copy")
            ann.goto((tmp_path / "copy" / "index.html").as_uri() + "#benchmark=zoo")
        ann.wait("document.querySelector('.card')")
        yield ann
    ann.close()


def test_keys_alone_suffice(ann: BrowserWindow) -> None:
    """Walk through the items, open two of them, select one, zoom, search; no mouse is touched."""
    ann.press("j", "j", "k", "j")
    assert ann.evaluate(AT) == "q1"
    ann.press("x")
    assert ann.evaluate("document.getElementById('chosen').textContent") == "1 selected"
    ann.evaluate("document.activeElement.blur()")
    ann.press("Enter")
    ann.wait(f"{OPEN} === 'q1'")
    ann.wait("document.getElementById('choose-this').getAttribute('aria-pressed') === 'true'")
    ann.press("j")
    ann.wait(f"{OPEN} === 'q2'")
    assert ann.evaluate("location.href").endswith("benchmark=zoo&item=q2")
    ann.wait("document.querySelector('.stage img').style.width")
    for key, larger in (("+", True), ("0", False)):
        ann.press(key)
        assert ann.evaluate("view.scale > 1") is larger
    ann.press("Escape")
    ann.wait(f"{AT} === 'q2'")
    ann.press("/", "g")
    assert ann.evaluate("[document.activeElement.name, document.activeElement.value]") == ["text", "g"]
    ann.press("Escape", "?")
    assert ann.evaluate("document.getElementById('help').open")
    assert (ann.clicks, ann.errors) == (0, [])


def test_two_models_side_by_side(ann: BrowserWindow) -> None:
    """Choose two models, and read an item side by side."""
    for name in ("a", "b"):
        ann.evaluate(f"document.querySelector('.pair[data-value={name}]').click()")
        ann.wait(f"location.href.includes('compare={name}')")
    ann.wait("!document.getElementById('versus').hidden")
    assert ann.evaluate("[...document.querySelectorAll('#versus td a')].map((one) => Number(one.textContent))") == [
        *(2, 3, 0, 1),
        *(0, 2, 2, 1),
    ]
    ann.evaluate("document.querySelector('.card .to').click()")
    ann.wait(f"{OPEN} === 'q0'")
    columns = "[...document.querySelectorAll('.versus tr[data-model]')].map((one) => one.getBoundingClientRect().x)"
    left, right = ann.evaluate(columns)
    assert left < right
    assert ann.errors == []


@pytest.fixture(scope="module")
def everything(zoo: Path, refined: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Items with answers, verdicts and findings: all that a page can show."""
    audit = write_audit(tmp_path_factory.mktemp("audit") / "audit.json", Benchmark(zoo / "bench"), FINDING)
    return Collection([zoo / "run", refined, audit])


def test_served_pages_are_accessible(everything: Collection, browser: Browser) -> None:
    views = (
        "",
        "?compare=a&compare=b",
        "?compare=a&compare=b&item=q0",
        "?verdict=drop&answer=wrong:a@image",
        "?tag.task=none",
        "?item=q0",
        "?item=q9",
    )
    with served(everything) as address:
        check_accessible(browser, *(f"{address}/{view}" for view in views))


def test_a_copy_is_accessible(everything: Collection, tmp_path: Path, browser: Browser) -> None:
    for golds, views in ((True, ("#tag.task=birds", "#item=q0")), (False, ("#item=q0",))):
        write_bundle(everything, tmp_path / f"{golds}", golds=golds)
        home = (tmp_path / f"{golds}" / "index.html").as_uri()
        check_accessible(browser, *(f"{home}{view}" for view in views), ready=DRAWN)
