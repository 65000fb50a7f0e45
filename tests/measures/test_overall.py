"""Overall scores of several tasks."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, Measured, NotMeasurable, Settings
from tests.measures.tables import grid, results

TASKS: dict[str, list[float]] = {"qa": [1, 1, 1, 0], "ocr": [0, 0], "caption": [1.5, 0.5]}
DOMAINS = {"qa": "words", "ocr": "words", "caption": "captions"}
METRICS = {"qa": "accuracy", "ocr": "accuracy", "caption": "cider"}


def table(**own: Any) -> dict[str, dict[str, Any]]:
    rows, items = [], []
    for task, scores in TASKS.items():
        for i, score in enumerate(scores):
            rows.append({"item": f"{task}{i}", "score": score, "metric": METRICS[task]})
            items.append({"item": f"{task}{i}", "tag.task": task, "tag.domain": DOMAINS[task]})
    settings = Settings(own={"task": "", "domain": "", **own})
    found = MEASURES["overall"].measure(results(rows, items), settings).table
    return {row["over"]: row for row in found.to_dicts()}


def test_weighted_and_plain_with_and_without_captions() -> None:
    found = table()
    assert (found["without captions"]["weighted"], found["without captions"]["plain"]) == (0.5, 0.375)
    assert found["with captions"]["weighted"] == pytest.approx(5 / 8)
    assert found["with captions"]["plain"] == pytest.approx((0.75 + 0 + 1) / 3)
    assert [found[over]["n"] for over in found] == [6, 8]
    assert found["without captions"]["weighted_low"] <= 0.5 <= found["without captions"]["weighted_high"]


def test_domains_join_tasks() -> None:
    found = table(domain="domain")
    assert (found["words"]["weighted"], found["words"]["tasks"]) == (0.5, 2)
    assert found["captions"]["plain"] == 1.0


def test_benchmarks_are_tasks_and_one_alone_has_none() -> None:
    rows = [{"item": "0", "benchmark": b, "score": float(b == "x")} for b in "xy"] + [
        {"item": "1", "benchmark": "x", "score": 1.0}
    ]
    found = MEASURES["overall"].measure(results(rows), Settings(own={"task": "", "domain": ""})).table
    assert found.select("over", "weighted", "plain").rows() == [("all tasks", pytest.approx(2 / 3), 0.5)]
    with pytest.raises(NotMeasurable, match="--set task=TAG"):
        MEASURES["overall"].measure(grid({"a": [1]}), Settings(own={"task": "", "domain": ""}))


def measured(rows: list[dict[str, Any]], items: list[dict[str, Any]], **own: Any) -> Measured:
    return MEASURES["overall"].measure(results(rows, items), Settings(own={"task": "", "domain": "", **own}))


def test_all_series_at_once_are_what_each_is_alone() -> None:
    rng = np.random.default_rng(1)
    items = [{"item": str(i), "tag.task": "xyz"[i % 3], "cluster": str(i // 2)} for i in range(60)]
    rows = [{"item": str(i), "model": m, "score": float(rng.random() < 0.6)} for i in range(60) for m in "ab"]
    both = measured(rows, items).table.filter(pl.col("model") == "b")
    alone = measured([row for row in rows if row["model"] == "b"], items).table
    assert both.equals(alone)
    by_task = pl.DataFrame(rows).filter(pl.col("model") == "b").group_by(pl.col("item").cast(int) % 3)
    means = by_task.agg(pl.col("score").mean()).get_column("score")
    assert alone.get_column("plain").item() == pytest.approx(means.mean())


def test_a_domain_holds_its_own_items_and_may_be_the_tasks() -> None:
    items = [{"item": str(i), "tag.task": "xxyy"[i], "tag.half": "pqpq"[i]} for i in range(4)]
    rows = [{"item": str(i), "score": score} for i, score in enumerate((1.0, 0.0, 1.0, 0.5))]
    halves = measured(rows, items, domain="half").table
    assert halves.select("over", "weighted", "tasks", "n").rows()[1:] == [("p", 1.0, 2, 2), ("q", 0.25, 2, 2)]
    tasks = measured(rows, items, domain="task").table
    assert tasks.select("over", "weighted").rows()[1:] == [("x", 0.5), ("y", 0.75)]


def test_fewer_tasks_one_cluster_and_no_score_are_said() -> None:
    items = [{"item": str(i), "tag.task": "xxyy"[i], "cluster": "aabc"[i]} for i in range(4)]
    rows: list[dict[str, Any]] = [{"item": str(i), "model": "a", "score": 1.0} for i in range(4)]
    found = measured([*rows, {"item": "2", "model": "b", "score": 1.0}], items)
    assert found.notes == (
        "1 row over fewer tasks than others: these are other overall scores",
        "1 row without an interval: a task rests on one cluster",
    )
    assert found.table.get_column("plain_low").to_list() == [None, 1.0]
    with pytest.raises(NotMeasurable, match="no answer has a score"):
        measured([row | {"score": None} for row in rows], items)


def test_an_item_of_a_benchmark_and_its_refinement_counts_once() -> None:
    """Two of four items are in the refinement as well. Another benchmark with the same ids has other items."""
    rows = [{"benchmark": "whole", "item": str(i), "score": float(i < 2)} for i in range(4)]
    rows += [{"benchmark": "refined", "item": str(i), "score": float(i < 2)} for i in (0, 1)]
    rows += [{"benchmark": "other", "item": str(i), "score": 0.0} for i in range(2)]
    items = [{"benchmark": row["benchmark"], "item": row["item"], "content": f"q{row['item']}"} for row in rows]
    items[-2:] = [{**item, "content": "else"} for item in items[-2:]]
    found = MEASURES["overall"].measure(results(rows, items), Settings(resamples=100))
    row = found.table.row(0, named=True)
    assert (row["n"], row["tasks"]) == (6, 2)
    assert row["weighted"] == pytest.approx(2 / 6)
    assert found.notes[0] == "2 items of refined are in a larger task as well: each counts once, there"


def test_what_a_model_answered_only_in_the_refinement_counts_there() -> None:
    rows = [{"benchmark": "whole", "item": str(i), "model": "a", "score": 1.0} for i in range(4)]
    rows += [{"benchmark": "refined", "item": str(i), "model": "b", "score": 1.0} for i in (0, 1)]
    items = [
        {"benchmark": name, "item": str(i), "content": str(i)}
        for name, n in (("whole", 4), ("refined", 2))
        for i in range(n)
    ]
    table = MEASURES["overall"].measure(results(rows, items), Settings(resamples=100)).table
    assert dict(table.select("model", "n").iter_rows()) == {"a": 4, "b": 2}
