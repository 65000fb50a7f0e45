"""The measurement of screens on fresh worlds: what it counts, and that it runs from end to end."""

from pathlib import Path

import polars as pl

from eyetest.world import Truth
from tools.screening import KNOWN, WORLDS, graded, measure


def truth(item: str, *flaws: str) -> Truth:
    return Truth(item=item, flaws=flaws, kind="k", axis="a", options=4, gold="A", gold_before="A")


def test_what_is_counted() -> None:
    rows = [truth("a", "leaked-to-llms"), truth("b"), truth("c", "wrong-gold"), truth("d", "answer-in-question")]
    verdicts = pl.DataFrame({"item": ["a", "b", "c"], "verdict": ["drop", "review", "drop"]})
    seen = graded(("default", 1, "chance-aware"), verdicts, {one.item: one for one in rows}, KNOWN)
    assert (seen.flagged, seen.for_people, seen.right, seen.other, seen.there) == (3, 1, 1, 1, 2)


def test_a_small_world_is_drawn_asked_about_and_graded(tmp_path: Path) -> None:
    (seen,) = measure(tmp_path, "tastes", 3, 60, moles=True)
    assert (seen.world, seen.recipe, seen.there) == ("tastes", "chance-aware", 10)
    assert seen.right <= seen.flagged <= 15
    assert "belief" in (tmp_path / "tastes-3/models.yaml").read_text()
    assert set(WORLDS) == {"default", "no leaks", "rare", "two options", "tastes", "flawless"}
