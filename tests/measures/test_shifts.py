"""Rank shifts between a benchmark and its refinement: over all items of either, with intervals that cover."""

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.stats.ranking import ranks
from tests.measures.tables import asked, by_model, measure, results


def refined(scores: dict[str, list[float]], kept: list[int]) -> Results:
    """A benchmark, and a refinement with some of its items that deterministic models answered alike."""
    rows = [row for model, column in scores.items() for row in asked(model, column, benchmark="original")]
    rows += [row | {"benchmark": "refined"} for row in rows if int(row["item"]) in kept]
    known = {(row["benchmark"], row["item"]) for row in rows}
    items = [{"benchmark": name, "item": item, "content": f"q{item}"} for name, item in sorted(known)]
    return results(rows, items)


def test_deterministic_models_shift_though_they_answer_shared_items_alike() -> None:
    """By hand: the ranks on ten items are a, b, c; on the last four they are c, a, b."""
    scores = {"a": [1.0] * 8 + [0.0] * 2, "b": [1.0] * 7 + [0.0] * 3, "c": [0.0] * 6 + [1.0] * 4}
    found = measure("rank-shifts", refined(scores, [6, 7, 8, 9]))
    rows = by_model(found.table)
    shown = ("from", "to", "from_rank", "to_rank", "risen", "from_n", "to_n")
    assert [tuple(rows[model][name] for name in shown) for model in "abc"] == [
        ("original", "refined", 1, 2, -1, 10, 4),
        ("original", "refined", 2, 3, -1, 10, 4),
        ("original", "refined", 3, 1, 2, 10, 4),
    ]
    assert all(row["risen_low"] <= row["risen"] <= row["risen_high"] for row in rows.values())
    assert found.notes[-1].startswith("0 of 3 shifts leave out 0")


def test_linked_ranks_on_shared_items_alone_and_says_so() -> None:
    found = refined({"a": [1.0] * 8 + [0.0] * 2, "b": [0.0] * 6 + [1.0] * 4}, [6, 7, 8, 9])
    own = {"from": "benchmark=original", "to": "benchmark=refined"}
    measured = MEASURES["linked"].measure(found, Settings(own=own))
    assert measured.table.get_column("risen").to_list() == [0, 0]
    assert measured.notes == (
        "scores and ranks are on the 4 items that both have (10 of original and 4 of refined); rank-shifts takes all",
    )


def test_a_certain_shift_leaves_out_zero() -> None:
    scores = {"a": [1.0] * 300 + [0.0] * 100, "b": [0.0] * 300 + [1.0] * 100}
    rows = by_model(measure("rank-shifts", refined(scores, list(range(300, 400)))).table)
    assert [(rows[m]["risen_low"], rows[m]["risen"], rows[m]["risen_high"]) for m in "ab"] == [
        (-1, -1, -1),
        (1, 1, 1),
    ]


def test_the_sides_may_be_named_and_captions_are_left_out() -> None:
    rows = [row for model in "ab" for row in asked(model, [float(model == "a")] * 4, benchmark="x")]
    rows += [row for model in "ab" for row in asked(model, [float(model == "b")] * 4, benchmark="y")]
    rows += asked("a", [9.0], benchmark="y", metric="cider")
    with pytest.raises(NotMeasurable, match="no two benchmarks share items"):
        measure("rank-shifts", results(rows))
    named = Settings(own={"from": "benchmark=x", "to": "benchmark=y"})
    found = MEASURES["rank-shifts"].measure(results(rows), named)
    assert by_model(found.table)["b"]["risen"] == 1
    assert found.notes[0] == "1 score of captions left out, as in the overall score without captions"


@pytest.mark.science
@pytest.mark.parametrize("gap", [0.0, 0.02, 0.05, 0.12])
def test_all_intervals_hold_at_once_in_95_of_100_refinements(gap: float) -> None:
    """Six models, 250 items, of which a quarter is kept, where the models stand in another order."""
    rng = np.random.default_rng(7)
    easy, hard, trials, misses = 0.9 - gap * np.arange(6), 0.3 + gap * rng.permutation(6), 60, 0
    truth = ranks(0.75 * easy + 0.25 * hard) - ranks(hard)
    for _ in range(trials):
        is_kept = rng.random(250) < 0.25
        right = rng.random((250, 6)) < np.where(is_kept[:, None], hard, easy)
        scores = {f"m{number}": right[:, number].astype(float).tolist() for number in range(6)}
        table = measure("rank-shifts", refined(scores, np.flatnonzero(is_kept).tolist())).table.sort("model")
        within = pl.Series(truth).is_between(table["risen_low"], table["risen_high"])
        misses += not within.all()
    assert misses <= 6
