"""The demo on a small world: everything it promises is there, and what it leaves can be used by hand."""

import re
from pathlib import Path

import polars as pl
import pytest
from eyetest_world import read_truth
from eyetest_world.demo import folder

from eyetest.runs import Run
from tests.reports.pages import Tags
from tests.support.command import call

pytestmark = pytest.mark.journey

ITEMS = 36


@pytest.fixture
def place(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folder, "SMALL", ITEMS)
    return workdir


def check_combination(tried: Path) -> None:
    """The combined recipe flags whatever a filter flags alone."""
    flagged = {}
    for name in ("chance-aware", "leaks", "golds", "everything"):
        verdicts = pl.read_parquet(tried / name / "verdicts.parquet")
        flagged[name] = set(verdicts.filter(pl.col("verdict").is_in(["drop", "review"])).get_column("item"))
    assert flagged["chance-aware"] | flagged["leaks"] | flagged["golds"] <= flagged["everything"]


def test_three_minutes_of_a_newcomer(place: Path) -> None:
    told = call("demo").fine()
    truths = read_truth(place / "demo/world")
    assert ITEMS <= len(truths) < ITEMS + 10, "with the items that are repeated"
    planted = sum(bool(truth.flaws) for truth in truths)
    assert f"drew {len(truths)} items and corrupted {planted} of them" in told
    assert re.search(rf"planted +{planted} items", told)
    found, missed = (int(re.search(rf"{word} +(\d+)", told)[1]) for word in ("found", "missed"))  # type: ignore[index]
    assert found + missed == planted
    assert found > planted / 5
    assert "demo/recipes\n" in told
    assert not any(truth.flaws for truth in read_truth(place / "demo/flawless"))

    page = " ".join("".join(Tags((place / "demo/report.html").read_text()).words).split())
    assert f"{planted} of {len(truths)} items were corrupted on purpose" in page
    assert f"found {found} of them, missed {missed}" in page
    check_combination(place / "demo/tried")
    models = {name for run in ("run", "flawless-run") for name in Run(place / "demo" / run).manifest.models}
    assert len(models) == 10

    by_hand = ("--answers", "demo/run", "--models", "demo/models.yaml", "--to", "mine")
    call("refine", "demo/world/benchmark", "--recipe", "demo/recipes/leaks.yaml", *by_hand).fine()
    assert "leaked-to-lvlms" in call("world", "grade", "demo/world", "mine").fine()
    assert "--overwrite" in call("demo").refused()


def test_nothing_of_others_is_replaced(place: Path) -> None:
    (place / "demo").mkdir()
    (place / "demo/thesis.tex").write_text("mine")
    assert "thesis.tex" in call("demo", "--overwrite").refused()
    assert [path.name for path in (place / "demo").iterdir()] == ["thesis.tex"]
