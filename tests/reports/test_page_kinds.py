"""Every kind of page in a browser: accessible at both widths and dark, light to load, and nothing moves on it."""

from pathlib import Path

import pytest

from tests.support.accessibility import check_light_and_still
from tests.support.browser import Browser
from tests.support.command import call
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.journey

MOST_BYTES = {"report": 1_500_000, "leaderboard": 300_000, "audit": 1_500_000, "refinement": 1_500_000}
"""Weight limits of pages about 40 items and nine models."""
RECIPE = """
panels: {inspectors: {size: 9, modality: no-image-guess}}
stages: [{filter: chance-aware, panel: inspectors, rate: 0.3}]
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, about the same drawn benchmark and run."""
    place = tmp_path_factory.mktemp("kinds")
    bench, run, refined = place / "bench", place / "run", place / "refined"
    draw_benchmark(bench, items=40, seed=5)
    lines = [f'm{n}: {{spec: "scripted:right=0.{n},blind=0.4,seed={n}", size_b: {n}}}' for n in range(1, 10)]
    (place / "models.yaml").write_text("\n".join(lines))
    (place / "recipe.yaml").write_text(RECIPE)
    models = ("--models", place / "models.yaml")
    call("run", bench, *models, "--condition", "image,no-image-guess", "--to", run).fine()
    call("refine", bench, "--recipe", place / "recipe.yaml", "--answers", run, "--to", refined).fine()
    made = {kind: place / f"{kind}.html" for kind in MOST_BYTES}
    call("report", run, refined, "--page", made["report"]).fine()
    call("leaderboard", run, "--page", made["leaderboard"]).fine()
    call("audit", bench, "--page", made["audit"]).fine()
    return made | {"refinement": refined / "report.html"}


@pytest.mark.parametrize("kind", MOST_BYTES)
def test_a_page_is_accessible_light_and_still(kind: str, pages: dict[str, Path], browser: Browser) -> None:
    check_light_and_still(browser, pages[kind], MOST_BYTES[kind])


def test_a_long_table_is_filtered_and_sorted(pages: dict[str, Path], browser: Browser) -> None:
    visitor = browser.visitor(1440, 900)
    visitor.goto(pages["report"])
    visitor.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    table = "document.querySelector('#capabilities .sheet')"
    rows = f"[...{table}.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.textContent.toLowerCase())"
    every = visitor.evaluate(rows)
    assert len(every) > 10
    word = visitor.evaluate(f"{table}.tBodies[0].rows[7].cells[0].textContent.toLowerCase()")
    visitor.type("#capabilities [data-filters]", word)
    found = visitor.evaluate(rows)
    assert found == [row for row in every if word in row]
    status = visitor.evaluate("document.querySelector('#capabilities [data-counts]').textContent")
    assert status == ("" if len(found) == len(every) else f"{len(found)} of {len(every)}")
    visitor.evaluate(f"{table}.tHead.querySelector('[role=button]').click()")
    assert visitor.evaluate(f"{table}.tHead.rows[0].cells[0].ariaSort") in ("ascending", "descending")
    visitor.close()
