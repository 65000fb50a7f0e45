from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.contingency_tables import SquareTable

from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.choices import homogeneity
from tests.measures.tables import results

MEASURE = MEASURES["positions"]


def answered(golds: str, picks: str, clusters: int | None = None, **more: Any) -> Results:
    """Items with these golds, and which choice was picked of each; ``?`` was not read."""

    def rows() -> Iterator[dict[str, Any]]:
        for i, (gold, pick) in enumerate(zip(golds, picks, strict=True)):
            yield {"item": str(i), "choice": None if pick == "?" else pick, "score": float(gold == pick), **more}

    items: list[dict[str, Any]] = [{"item": str(i), "options": 4, "gold": gold} for i, gold in enumerate(golds)]
    for i, item in enumerate(items):
        item["cluster"] = None if clusters is None else f"c{i % clusters}"
    return results(rows(), items)


def test_shares_and_differences() -> None:
    table = MEASURE.measure(answered("AABBCD", "AAAABC"), Settings()).table
    assert table.select("place", "picked", "gold", "difference", "n").rows() == [
        ("A", pytest.approx(4 / 6), pytest.approx(2 / 6), pytest.approx(2 / 6), 6),
        ("B", pytest.approx(1 / 6), pytest.approx(2 / 6), pytest.approx(-1 / 6), 6),
        ("C", pytest.approx(1 / 6), pytest.approx(1 / 6), pytest.approx(0), 6),
        ("D", 0, pytest.approx(1 / 6), pytest.approx(-1 / 6), 6),
    ]
    assert table.get_column("total_variation").to_list() == pytest.approx([2 / 6] * 4)
    for low, difference, high in table.select("difference_low", "difference", "difference_high").rows():
        assert low < difference < high


def test_only_the_order_as_written_says_where_a_choice_was() -> None:
    both = answered("AB", "AB")
    turned = both.scores.with_columns(pl.lit(3, pl.Int64).alias("order"), pl.lit("B").alias("choice"))
    measured = MEASURE.measure(Results(pl.concat([both.scores, turned]), both.items), Settings())
    assert measured.table.get_column("difference").to_list() == [0, 0]
    assert "order as written" in measured.notes[0]
    with pytest.raises(NotMeasurable, match=r"positions: .*order 0"):
        MEASURE.measure(Results(turned, both.items), Settings())


def test_answers_that_were_not_read_have_no_place() -> None:
    table = MEASURE.measure(answered("ABC", "A?B"), Settings()).table
    assert table.get_column("n").to_list() == [2, 2, 2]


def test_likelihoods_are_of_choices_that_were_not_shown() -> None:
    with pytest.raises(NotMeasurable):
        MEASURE.measure(answered("AB", "AB", method="likelihood"), Settings())


def test_without_items_there_are_no_golds() -> None:
    with pytest.raises(NotMeasurable, match="positions: no right choice is known"):
        MEASURE.measure(results([{"item": "1", "choice": "A", "score": 1.0}]), Settings())


@pytest.mark.parametrize("seed", range(4))
def test_the_test_is_stuart_and_maxwells(seed: int) -> None:
    draw = np.random.default_rng(seed)
    golds = draw.choice(list("ABCD"), 200)
    picks = np.where(draw.random(200) < 0.5, golds, draw.choice(list("ABCD"), 200, p=[0.4, 0.2, 0.2, 0.2]))
    counts = [[int(((golds == g) & (picks == p)).sum()) for p in "ABCD"] for g in "ABCD"]
    theirs = SquareTable(np.array(counts), shift_zeros=False).homogeneity(method="stuart_maxwell").pvalue
    table = MEASURE.measure(answered("".join(golds), "".join(picks)), Settings()).table
    assert table.get_column("p").to_list() == pytest.approx([theirs] * 4)


def test_items_that_depend_on_each_other_say_less() -> None:
    """The same answers ten times over are no better evidence once that is known."""
    golds, picks = "ABCDABCD", "AACDABAD"
    alone = MEASURE.measure(answered(golds, picks), Settings()).table
    as_if = MEASURE.measure(answered(golds * 10, picks * 10), Settings()).table
    known = MEASURE.measure(answered(golds * 10, picks * 10, clusters=8), Settings()).table
    assert known.get_column("p").to_list() == pytest.approx(alone.get_column("p").to_list())
    assert (as_if.get_column("p") < known.get_column("p")).all()
    assert (as_if.get_column("difference_high") <= known.get_column("difference_high") + 1e-12).all()


def test_a_model_that_is_always_right_prefers_nothing() -> None:
    table = MEASURE.measure(answered("AABC", "AABC"), Settings()).table
    assert table.get_column("total_variation").to_list() == [0, 0, 0]
    assert table.get_column("p").to_list() == [None] * 3
    assert homogeneity(np.zeros((3, 4))) is None


def test_by_model() -> None:
    one, other = answered("AB", "AA", model="x"), answered("AB", "BB", model="y")
    table = MEASURE.measure(Results(pl.concat([one.scores, other.scores]), one.items), Settings()).table
    assert table.select("model", "place", "picked").rows() == [
        ("x", "A", 1),
        ("x", "B", 0),
        ("y", "A", 0),
        ("y", "B", 1),
    ]
