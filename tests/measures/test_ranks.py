from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.stats.ranking import standings
from eyetest.measures.tables import side_by_side
from tests.measures.tables import grid, results

FEW = Settings(resamples=50)


def _by_model(found: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in found.iter_rows(named=True)}


def test_models_stand_side_by_side_on_items_with_their_tests_averaged() -> None:
    rows: list[dict[str, Any]] = [
        {"model": "a", "item": "1", "sample": 0, "score": 1},
        {"model": "a", "item": "1", "sample": 1, "score": 0},
        {"model": "a", "item": "2", "score": None},
        {"model": "b", "item": "2", "score": 1},
    ]
    (found,) = side_by_side(results(rows, [{"item": "2", "cluster": "c"}]), ())
    assert found.columns == [("a",), ("b",)]
    assert np.array_equal(found.scores, [[0.5, np.nan], [np.nan, 1]], equal_nan=True)
    assert found.clusters.tolist() == ["1", "c"]
    assert np.isnan(found.table([("nobody",)])).all()


def test_nothing_scored_stands_nowhere() -> None:
    assert side_by_side(grid({"a": [None]}), ()) == []


def test_ranks_are_those_of_the_formula_best_first() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((80, 4)) < [0.2, 0.9, 0.5, 0.5]).astype(float)
    names = ["worst", "best", "near", "nearer"]
    scores: dict[str, list[float | None]] = {m: [float(s) for s in table[:, i]] for i, m in enumerate(names)}
    found = MEASURES["ranks"].measure(grid(scores), FEW)
    assert found.table.columns == ["model", "rank", "rank_low", "rank_high", "tie", "score", "unread", "n", "missing"]
    assert found.table.get_column("model").to_list()[0::3] == ["best", "worst"]
    order = np.argsort([str(i) for i in range(80)])
    expected = dict(zip(names, standings(table[order], np.sort(np.arange(80).astype(str))), strict=True))
    for model, row in _by_model(found.table).items():
        assert (row["rank"], row["tie"]) == (expected[model].rank.value, expected[model].tie)
        assert row["score"] == pytest.approx(expected[model].score)
    assert _by_model(found.table)["near"]["tie"] == _by_model(found.table)["nearer"]["tie"] == 2
    assert found.notes == ()


def test_items_that_a_model_lacks_are_counted_and_told() -> None:
    found = MEASURES["ranks"].measure(grid({"a": [1, None, 1], "b": [1, 0, 0]}), FEW)
    row = _by_model(found.table)["a"]
    assert (row["score"], row["n"], row["missing"]) == (1.0, 2, 1)
    assert found.notes == ("models rest on different items (n from 2 to 3): see differences, which pairs",)


def test_missing_counts_the_benchmark_not_what_others_answered() -> None:
    known = [{"item": str(i)} for i in range(10)]
    found = MEASURES["ranks"].measure(grid({"a": [1, None, 1], "b": [1, 0, 0]}, known), FEW)
    assert {model: row["missing"] for model, row in _by_model(found.table).items()} == {"a": 8, "b": 7}


def _tagged(by_task: dict[str, dict[str, float]]) -> Results:
    """Models that have a share of ten items right in each task."""
    rows, items = [], []
    for task, of_model in by_task.items():
        items += [{"item": f"{task}{i}", "tag.task": task} for i in range(10)]
        rows += [
            {"model": m, "item": f"{task}{i}", "score": int(i < 10 * share)}
            for m, share in of_model.items()
            for i in range(10)
        ]
    return results(rows, items)


def test_with_tags_the_rank_of_mean_ranks_stands_beside_the_rank_of_the_mean() -> None:
    """A model far ahead in one task and just behind in two others has the best mean and not the best mean rank."""
    answers = _tagged(
        {
            "x": {"a": 1.0, "b": 0.1, "c": 0.0},
            "y": {"a": 0.4, "b": 0.5, "c": 0.4},
            "z": {"a": 0.4, "b": 0.5, "c": 0.1},
        }
    )
    rows = _by_model(MEASURES["ranks"].measure(answers, Settings(by=("task",), resamples=50)).table)
    assert [rows[m]["rank"] for m in "abc"] == [1, 2, 3]
    assert [rows[m]["mean_rank"] for m in "abc"] == pytest.approx([5.5 / 3, 4 / 3, 8.5 / 3])
    assert [rows[m]["rank_of_mean_ranks"] for m in "abc"] == [2, 1, 3]
    assert rows["a"]["rank_of_mean_ranks_low"] <= 2 <= rows["a"]["rank_of_mean_ranks_high"]


def test_a_model_that_lacks_a_tag_value_has_no_mean_rank() -> None:
    answers = _tagged({"x": {"a": 1.0, "b": 0.1, "c": 0.2}, "y": {"a": 0.4, "b": 0.5}})
    rows = _by_model(MEASURES["ranks"].measure(answers, Settings(by=("task",), resamples=20)).table)
    assert rows["c"]["mean_rank"] is None
    assert rows["c"]["rank"] is not None
    assert rows["a"]["mean_rank"] == rows["b"]["mean_rank"] == 1.5


def test_one_model_has_no_rank() -> None:
    with pytest.raises(NotMeasurable, match="against each other"):
        MEASURES["ranks"].measure(grid({"a": [1, 0]}), FEW)


def test_one_cluster_tells_nobody_apart() -> None:
    items = [{"item": str(i), "cluster": "c"} for i in range(3)]
    found = MEASURES["ranks"].measure(grid({"a": [1, 1, 1], "b": [0, 0, 0]}, items), Settings(resamples=50)).table
    assert found.select("model", "rank", "rank_low", "tie").rows() == [("a", 1, None, 1), ("b", 2, None, 1)]
