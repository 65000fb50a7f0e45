from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from tests.measures.tables import grid, results

MODELS = ["a", "b", "c", "d", "e"]
TASKS = {"x": [1, 2, 3, 4, 5], "y": [2, 1, 4, 3, 5], "z": [5, 4, 3, 2, 1]}
ELO = {"a": 900.0, "b": 950.0, "c": 1010.0, "d": 990.0, "elsewhere": 1200.0}


def _rows(hits: dict[str, list[int]], axis: str | None = None) -> list[dict[str, Any]]:
    return [
        {"model": m, "item": f"{name}{i}", "score": int(i < count), **({axis: name} if axis else {})}
        for name, of_model in hits.items()
        for m, count in zip(MODELS, of_model, strict=True)
        for i in range(6)
    ]


def _tagged() -> Results:
    return results(_rows(TASKS), [{"item": f"{task}{i}", "tag.task": task} for task in TASKS for i in range(6)])


def _value(table: pl.DataFrame, one: str, other: str, method: str) -> dict[str, Any]:
    rows = table.filter(one=one, other=other, method=method)
    assert len(rows) == 1
    return rows.row(0, named=True)


def test_tag_values_are_correlated_over_models_by_three_methods() -> None:
    table = MEASURES["correlation"].measure(_tagged(), Settings(by=("task",))).table
    assert len(table) == 3 * 3
    assert _value(table, "x", "z", "pearson")["correlation"] == pytest.approx(-1)
    assert _value(table, "x", "y", "spearman")["correlation"] == pytest.approx(
        stats.spearmanr(TASKS["x"], TASKS["y"])[0]
    )
    row = _value(table, "x", "y", "kendall")
    assert row["correlation"] == pytest.approx(stats.kendalltau(TASKS["x"], TASKS["y"])[0])
    assert row["correlation_low"] < row["correlation"] < row["correlation_high"]
    assert (row["n"], row["across"]) == (5, "task")


def test_benchmarks_are_correlated_where_there_are_several() -> None:
    table = MEASURES["correlation"].measure(results(_rows(TASKS, "benchmark")), Settings()).table
    assert set(table.select("across", "one", "other").rows()) == {
        ("benchmark", "x", "y"),
        ("benchmark", "x", "z"),
        ("benchmark", "y", "z"),
    }
    assert table.get_column("benchmark").is_null().all()


def test_an_external_score_goes_with_all_items_and_with_each_tag_value() -> None:
    found = MEASURES["correlation"].measure(_tagged(), Settings(by=("task",), own={"external": ELO}))
    whole, part = (_value(found.table, one, "external", "pearson") for one in ("all items", "y"))
    elo = [ELO[m] for m in "abcd"]
    sums = np.sum(list(TASKS.values()), axis=0)[:4]
    assert whole["correlation"] == pytest.approx(stats.pearsonr(sums, elo)[0])
    assert whole["n"] == 4
    assert part["correlation"] == pytest.approx(stats.pearsonr(TASKS["y"][:4], elo)[0])
    assert any("1 model without an external score: e" in note for note in found.notes)


def test_protocols_are_kept_apart() -> None:
    rows = [row | {"modality": modality} for row in _rows(TASKS) for modality in ("image", "no-image")]
    items = [{"item": f"{task}{i}", "tag.task": task} for task in TASKS for i in range(6)]
    table = MEASURES["correlation"].measure(results(rows, items), Settings(by=("task",))).table
    assert len(table) == 2 * 9
    assert set(table.get_column("modality")) == {"image", "no-image"}


def test_each_benchmark_goes_with_the_external_score() -> None:
    table = MEASURES["correlation"].measure(results(_rows(TASKS, "benchmark")), Settings(own={"external": ELO})).table
    assert _value(table, "x", "external", "pearson")["n"] == 4


def test_tests_of_an_item_are_averaged_before_items_are() -> None:
    rows = _rows({"x": [1, 2, 3, 4, 5]})
    rows += [row | {"sample": 1} for row in rows if row["item"] == "x0" and row["model"] in "ab"] * 5
    elo = {m: float(i) for i, m in enumerate(MODELS)}
    table = MEASURES["correlation"].measure(results(rows), Settings(own={"external": elo})).table
    assert _value(table, "all items", "external", "pearson")["correlation"] == pytest.approx(1)


def test_what_cannot_be_correlated_says_why() -> None:
    with pytest.raises(NotMeasurable, match="name a tag"):
        MEASURES["correlation"].measure(grid({"a": [1], "b": [0], "c": [1]}), Settings())
    with pytest.raises(NotMeasurable, match="2 models"):
        MEASURES["correlation"].measure(
            grid({"a": [1], "b": [0]}), Settings(own={"external": {"a": 1.0, "b": 2.0, "c": 3.0}})
        )


def test_a_task_that_all_models_get_right_has_no_correlation() -> None:
    hits = {"x": [1, 2, 3, 4, 5], "y": [6, 6, 6, 6, 6]}
    items = [{"item": f"{task}{i}", "tag.task": task} for task in hits for i in range(6)]
    table = MEASURES["correlation"].measure(results(_rows(hits), items), Settings(by=("task",))).table
    assert table.get_column("correlation").null_count() == 3
    assert table.get_column("n").to_list() == [5, 5, 5]


def test_benchmarks_that_share_no_model_have_no_row() -> None:
    rows = [row | {"benchmark": "new"} for row in _rows({"x": TASKS["x"]})]
    rows += [row | {"benchmark": "old", "model": row["model"].upper()} for row in _rows({"y": TASKS["y"]})]
    table = MEASURES["correlation"].measure(results(rows), Settings(own={"external": ELO})).table
    assert set(table.select("one", "other").rows()) == {("new", "external")}
