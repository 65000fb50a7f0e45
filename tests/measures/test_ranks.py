from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable, Results
from eyetest.measures.stats.ranking import gini, standings
from eyetest.measures.tables import side_by_side
from eyetest.records import ModelEntry
from tests.measures.tables import asked, by_model, grid, measure, results, weighted_mean
from tests.support.tables import read_csv


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
    assert np.isnan(found.table([("unknown",)])).all()


def test_ranks_are_those_of_the_formula_best_first() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((80, 4)) < [0.2, 0.9, 0.5, 0.5]).astype(float)
    names = ["worst", "best", "near", "nearer"]
    scores: dict[str, list[float | None]] = {m: [float(s) for s in table[:, i]] for i, m in enumerate(names)}
    found = measure("ranks", grid(scores), resamples=50)
    assert found.table.columns == ["model", "rank", "rank_low", "rank_high", "tie", "score", "unread", "n", "missing"]
    assert found.table.get_column("model").to_list()[0::3] == ["best", "worst"]
    order = np.argsort([str(i) for i in range(80)])
    expected = dict(zip(names, standings(table[order], np.sort(np.arange(80).astype(str))), strict=True))
    rows = by_model(found.table)
    for model, row in rows.items():
        assert (row["rank"], row["tie"]) == (expected[model].rank.value, expected[model].tie)
        assert row["score"] == pytest.approx(expected[model].score)
    assert rows["near"]["tie"] == rows["nearer"]["tie"] == 2
    assert found.notes == ()


def _tasks(hits: Mapping[str, Sequence[int]], benchmarks: bool = False) -> Results:
    """Models a, b, … that have so many of ten items of each task right; tasks are tag values or benchmarks."""
    rows, items = [], []
    for task, counts in hits.items():
        known = [{"item": f"{task}{i}", "benchmark": task if benchmarks else "bench"} for i in range(10)]
        items += [item | {"tag.task": task} for item in known]
        for model, count in zip("abcde", counts, strict=False):
            rows += [item | {"model": model, "score": int(i < count)} for i, item in enumerate(known)]
    return results(rows, items)


def test_with_tags_the_rank_of_mean_ranks_stands_beside_the_rank_of_the_mean() -> None:
    """A model far ahead in one task and just behind in two others has the best mean and not the best mean rank."""
    answers = _tasks({"x": (10, 1, 0), "y": (4, 5, 4), "z": (4, 5, 1)})
    rows = by_model(measure("ranks", answers, ("task",), 50).table)
    assert [rows[m]["rank"] for m in "abc"] == [1, 2, 3]
    assert [rows[m]["mean_rank"] for m in "abc"] == pytest.approx([5.5 / 3, 4 / 3, 8.5 / 3])
    assert [rows[m]["rank_of_mean_ranks"] for m in "abc"] == [2, 1, 3]


MODELS = {
    "a": ModelEntry(spec="x", series="one", size_b=7),
    "b": ModelEntry(spec="x", series="one", size_b=6.7),
    "c": ModelEntry(spec="x", series="two", size_b=13),
    "d": ModelEntry(spec="x"),
}
SCORES = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [1, 1, 0, 0], "d": [1, 1, 1, 1]}


def test_models_are_compared_altogether_and_within_groups_that_have_two() -> None:
    answers = replace(grid(SCORES), models=MODELS)
    (whole,) = measure("spread", answers, resamples=50).table.to_dicts()
    assert whole["gini"] == pytest.approx(gini([0.75, 0.25, 0.5, 1]))
    assert whole["sd"] == pytest.approx(stdev([0.75, 0.25, 0.5, 1]))
    assert (whole["n"], whole["pairs"], whole["separable"]) == (4, 6, 0)
    for by, group in (("model.series", "one"), ("model.size_b", "7B")):
        found = measure("spread", answers, (by,), 50)
        (row,) = found.table.to_dicts()
        assert (row[by], row["gini"], row["n"]) == (group, pytest.approx(0.25), 2)
        assert found.notes[0] == f"1 model without {by} left out: d"


TASKS: dict[str, list[float]] = {"qa": [1, 1, 1, 0], "ocr": [0, 0], "caption": [1.5, 0.5]}
DOMAINS = {"qa": "words", "ocr": "words", "caption": "captions"}
METRICS = {"qa": "accuracy", "ocr": "accuracy", "caption": "cider"}


def table(**own: Any) -> dict[str, dict[str, Any]]:
    rows, items = [], []
    for task, scores in TASKS.items():
        for i, score in enumerate(scores):
            rows.append({"item": f"{task}{i}", "score": score, "metric": METRICS[task]})
            items.append({"item": f"{task}{i}", "tag.task": task, "tag.domain": DOMAINS[task]})
    found = measure("overall", results(rows, items), **own).table
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
    with pytest.raises(InputError, match="domain: 'task' names the tasks"):
        table(task="task", domain="task")


def test_benchmarks_are_tasks_and_one_alone_has_none() -> None:
    rows = asked("m", [1.0, 1.0], benchmark="x") + asked("m", [0.0], benchmark="y")
    found = measure("overall", results(rows)).table
    assert found.select("over", "weighted", "plain").rows() == [("all tasks", pytest.approx(2 / 3), 0.5)]
    with pytest.raises(NotMeasurable, match="--set task=TAG"):
        measure("overall", grid({"a": [1]}))


def test_fewer_tasks_one_cluster_and_no_score_are_said() -> None:
    items = [{"item": str(i), "tag.task": "xxyy"[i], "cluster": "aabc"[i]} for i in range(4)]
    rows = asked("a", [1.0] * 4)
    found = measure("overall", results([*rows, {"item": "2", "model": "b", "score": 1.0}], items))
    assert found.notes == (
        "1 row over fewer tasks than others: these are other overall scores",
        "2 rows without an interval: a task rests on one cluster",
    )
    assert found.table.get_column("plain_low").null_count() == 2
    with pytest.raises(NotMeasurable, match="no answer has a score"):
        measure("overall", results([row | {"score": None} for row in rows], items))


def test_a_benchmark_and_its_refinement_are_rows_of_their_own_and_never_averaged() -> None:
    """Two of four items are in the refinement as well, where another run answered them otherwise. Another benchmark
    with the same ids has other items: with it, the whole benchmark is averaged.
    """
    rows = [{"benchmark": "whole", "item": str(i), "score": float(i < 2)} for i in range(4)]
    rows += [{"benchmark": "refined", "item": str(i), "score": 0.0} for i in (0, 1)]
    rows += [{"benchmark": "other", "item": str(i), "score": 0.0} for i in range(2)]
    items = [{"benchmark": row["benchmark"], "item": row["item"], "content": f"q{row['item']}"} for row in rows]
    items[-2:] = [{**item, "content": "else"} for item in items[-2:]]
    found = measure("overall", results(rows, items))
    shown = ("benchmark", "weighted", "n", "tasks")
    assert found.table.select(shown).rows() == [
        ("2 benchmarks", pytest.approx(2 / 6), 6, 2),
        ("refined", 0.0, 2, 1),
        ("whole", 0.5, 4, 1),
    ]
    assert found.notes[0] == "refined has items of whole, and is in no mean over benchmarks"
    pair = measure("overall", results(rows[:6], items[:6]))
    assert pair.table.select(shown).rows() == [("refined", 0.0, 2, 1), ("whole", 0.5, 4, 1)]


LIME_TASKS = ("POPE", "TVQA", "OKVQA", "ChQA", "IVQA", "AI2D", "SciQA", "OCRBen")
LIME = (421, 1_200, 1_200, 1_200, 1_200, 1_000, 300, 460)
ORIGINAL = (9_000, 5_000, 5_046, 2_500, 2_801, 3_088, 2_097, 1_000)


@pytest.mark.parametrize(
    ("name", "weights", "within", "wrong"),
    [
        ("LIME", LIME, 0.005, []),
        ("ORIG", ORIGINAL, 0.01, ["Qwen2-VL 7B", "Qwen2-VL 2B", "MiniCPM 1.0"]),
        ("LIME", (443, *LIME[1:]), 0.005, None),
    ],
    ids=["POPE has 421 items", "the original benchmarks and three misprints", "not the 443 that table 1 prints"],
)
def test_overall_scores_of_table_2(
    shared: Path, name: str, weights: tuple[int, ...], within: float, wrong: list[str] | None
) -> None:
    """The models whose printed overall score is another than that of their tasks. Scores of the original benchmarks
    are of cells rounded themselves, and with the 2,097 items that table 1 prints for ScienceQA.
    """
    rows = read_csv(shared / f"oracles/paper_tables/lime_T2_{name}.csv")
    means = [weighted_mean([float(row[task]) for task in LIME_TASKS], weights) for row in rows]
    pairs = zip(rows, means, strict=True)
    found = [
        f"{row['model']} {row['size']}" for row, mean in pairs if abs(mean - float(row["overall"])) > within + 1e-9
    ]
    assert len(rows) == 31
    assert found == wrong if wrong is not None else len(found) > 15


HITS = {"x": [1, 2, 3, 4, 5], "y": [2, 1, 4, 3, 5], "z": [5, 4, 3, 2, 1]}
ELO = {"a": 900.0, "b": 950.0, "c": 1010.0, "d": 990.0, "elsewhere": 1200.0}


def _value(table: pl.DataFrame, one: str, other: str, method: str) -> dict[str, Any]:
    rows = table.filter(one=one, other=other, method=method)
    assert len(rows) == 1
    return rows.row(0, named=True)


def test_tag_values_are_correlated_over_models_by_three_methods() -> None:
    table = measure("correlation", _tasks(HITS), by=("task",)).table
    assert len(table) == 3 * 3
    assert _value(table, "x", "z", "pearson")["correlation"] == pytest.approx(-1)
    rho = stats.spearmanr(HITS["x"], HITS["y"])[0]
    assert _value(table, "x", "y", "spearman")["correlation"] == pytest.approx(rho)
    row = _value(table, "x", "y", "kendall")
    assert row["correlation"] == pytest.approx(stats.kendalltau(HITS["x"], HITS["y"])[0])
    assert row["correlation_low"] < row["correlation"] < row["correlation_high"]
    assert (row["n"], row["across"]) == (5, "task")


def test_benchmarks_are_correlated_where_there_are_several() -> None:
    table = measure("correlation", _tasks(HITS, benchmarks=True)).table
    pairs = {("benchmark", *pair) for pair in combinations("xyz", 2)}
    assert set(table.select("across", "one", "other").rows()) == pairs
    assert table.get_column("benchmark").is_null().all()


def test_an_external_score_goes_with_all_items_and_with_each_tag_value() -> None:
    found = measure("correlation", _tasks(HITS), by=("task",), external=ELO)
    whole, part = (_value(found.table, one, "external", "pearson") for one in ("all items", "y"))
    elo = [ELO[m] for m in "abcd"]
    sums = np.sum(list(HITS.values()), axis=0)[:4]
    assert whole["correlation"] == pytest.approx(stats.pearsonr(sums, elo)[0])
    assert whole["n"] == 4
    assert part["correlation"] == pytest.approx(stats.pearsonr(HITS["y"][:4], elo)[0])
    assert any("1 model without an external score: e" in note for note in found.notes)
