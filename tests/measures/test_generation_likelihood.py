"""What models write against what they find likely: the gap, and whether both ways choose alike."""

from collections.abc import Sequence
from typing import Any

import pytest

from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.agreement import cohen
from eyetest.measures.stats.paired import paired
from eyetest.records import ModelEntry
from tests.measures.tables import results

NAME = "generation-likelihood"
GOLD = "A"
BASES = {"a": ModelEntry(spec="x:a", base="lm"), "b": ModelEntry(spec="x:b", base="lm"), "c": ModelEntry(spec="x:c")}


def measured(of: Results, by: tuple[str, ...] = ()) -> Measured:
    return MEASURES[NAME].measure(of, Settings(by=by))


def said(model: str, method: str, choices: Sequence[str | None], **more: Any) -> list[dict[str, Any]]:
    """Answers to items 0, 1, 2 …, whose gold is A."""
    return [
        {"item": str(i), "model": model, "method": method, "choice": choice, "score": float(choice == GOLD), **more}
        for i, choice in enumerate(choices)
    ]


ROWS = [
    *said("a", "generate", ["A", "B", "A", None]),
    *said("a", "likelihood", ["A", "A", "C", "A"]),
    *said("b", "generate", ["B", "B", "B", "B"]),
    *said("b", "likelihood", ["B", "A", "A", "B"]),
    *said("c", "generate", ["A", "A", "A", "A"]),
    *said("c", "first-token", ["A", "A", "A", "B"]),
]


def test_the_gap_of_each_model_its_backbone_and_all() -> None:
    table = measured(results(ROWS, models=BASES)).table
    told = ["weighed_by", "base", "model", "generated", "weighed", "difference", "n"]
    assert table.select(told).rows() == [
        ("likelihood", "lm", "a", 0.5, 0.75, -0.25, 4),
        ("likelihood", "lm", "b", 0.0, 0.5, -0.5, 4),
        ("likelihood", "lm", "2 models", 0.25, 0.625, -0.375, 8),
        ("likelihood", None, "all models", 0.25, 0.625, -0.375, 8),
        ("first-token", None, "c", 1.0, 0.75, 0.25, 4),
    ]
    first, both = paired([1, 0, 1, 0], [1, 1, 0, 1]), table.row(2, named=True)
    assert table.row(0, named=True)["difference_low"] == pytest.approx(first.low)
    stacked = paired([1, 0, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 0, 1, 1, 0], list("01230123"))
    assert (both["difference_low"], both["difference_high"]) == pytest.approx((stacked.low, stacked.high))
    assert both["clusters"] == 4, "two models about one item are no two items"


def test_who_chooses_alike_and_who_is_right() -> None:
    row = measured(results(ROWS, models=BASES)).table.row(0, named=True)
    assert row["same"] == pytest.approx(1 / 3)
    assert row["unread"] == 0.25
    kappa = cohen([("A", "A"), ("B", "A"), ("A", "C")])
    assert row["kappa"] == pytest.approx(kappa.value)
    cells = [row[name] for name in ("both", "only_generated", "only_weighed", "neither")]
    assert cells == [0.25, 0.25, 0.5, 0.0]
    assert sum(cells) == 1
    assert row["generated"] - row["weighed"] == cells[1] - cells[2]


def test_like_goes_with_like() -> None:
    """Five templates weighed, one generated: only that template; orders, which weighing lacks, are all compared."""
    rows = [
        *(row for t in range(5) for row in said("a", "likelihood", ["A" if t == 2 else "B"], template=t)),
        *(row for order in (0, 7) for row in said("a", "generate", ["A"], template=2, order=order)),
        *said("a", "generate", ["B"], template=2, order=9),
    ]
    row = measured(results(rows)).table.row(0, named=True)
    assert (row["weighed"], row["n"]) == (1.0, 1)
    assert (row["generated"], row["same"], row["both"], row["neither"]) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 0))


def test_modalities_and_tags_have_rows_of_their_own_and_failed_calls_have_none() -> None:
    failed = {"item": "0", "model": "a", "modality": "no-image", "outcome": "failed", "score": None}
    rows = [*ROWS[:8], *said("a", "likelihood", ["A", "A"], modality="no-image"), failed]
    rows += said("a", "generate", ["C", "A"], modality="no-image")[1:]
    items = [{"item": str(i), "cluster": "1", "tag.half": str(i // 2)} for i in range(4)]
    table = measured(results(rows, items), by=("half",)).table
    assert table.select("modality", "tag.half", "difference", "n").rows() == [
        ("image", "0", -0.5, 2),
        ("image", "1", 0.0, 2),
        ("no-image", "0", 0.0, 1),
    ]


def test_what_to_ask_where_one_way_lacks() -> None:
    with pytest.raises(NotMeasurable, match=r"both generated and weighed.*likelihood,generate"):
        measured(results(ROWS[:4]))
    told = measured(results(ROWS[:8]))
    assert "base" in told.notes[0]
    assert measured(results(ROWS, models=BASES)).notes == ()
