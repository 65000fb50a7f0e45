"""The measurement of screens on fresh worlds: what it counts, and that it runs from end to end."""

from pathlib import Path

import msgspec
from eyetest_world import Truth

from eyetest.records import Verdict
from tools.screening import KNOWN, RECIPES, WORLDS, graded, measure


def truth(item: str, *flaws: str) -> Truth:
    return Truth(item=item, flaws=flaws, kind="k", axis="a", options=4, gold="A", gold_before="A")


def test_what_is_counted() -> None:
    rows = [truth("a", "leaked-to-llms"), truth("b"), truth("c", "wrong-gold"), truth("d", "answer-in-question")]
    copy = msgspec.structs.replace(truth("e", "exact-duplicate"), twin="b")
    verdicts = [
        Verdict(item="a", stage="s", verdict="drop", reason=""),
        Verdict(item="b", stage="s", verdict="review", reason=""),
        Verdict(item="c", stage="s", verdict="drop", reason=""),
        Verdict(item="d", stage="s", verdict="keep", reason=""),
    ]
    known = {one.item: one for one in [*rows, copy]}
    seen = graded(("default", 1, "chance-aware"), verdicts, known, KNOWN)
    assert (seen.flagged, seen.for_people, seen.right, seen.other, seen.there, seen.found) == (3, 1, 1, 2, 2, 1)
    seen = graded(("default", 1, "everything"), verdicts, known, RECIPES["everything"])
    assert (seen.right, seen.other, seen.there, seen.found) == (3, 0, 4, 3)


def test_a_small_world_is_drawn_asked_about_and_graded(tmp_path: Path) -> None:
    first, _, whole, *parts = measure(tmp_path, "tastes", 3, 60)
    assert (first.world, first.recipe, first.there) == ("tastes", "chance-aware", 10)
    assert first.right <= first.flagged <= 15
    assert whole.found == sum(part.found for part in parts)
    assert "belief" in (tmp_path / "tastes-3/models.yaml").read_text()
    assert set(WORLDS) == {"default", "no leaks", "rare", "two options", "tastes", "flawless"}
