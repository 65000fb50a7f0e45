from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.measures.ranks import size_class
from eyetest.measures.stats.ranking import gini, separable_pairs, standard_deviation
from eyetest.records import ModelEntry
from tests.measures.tables import grid, results

FEW = Settings(resamples=50)
MODELS = {
    "a": ModelEntry(spec="x", series="one", size_b=7),
    "b": ModelEntry(spec="x", series="one", size_b=6.7),
    "c": ModelEntry(spec="x", series="two", size_b=13),
    "d": ModelEntry(spec="x"),
}
SCORES = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [1, 1, 0, 0], "d": [1, 1, 1, 1]}


def _rows(found: pl.DataFrame) -> dict[tuple[str, str], dict[str, object]]:
    return {(row["grouping"], row["group"]): row for row in found.iter_rows(named=True)}


def test_models_are_compared_altogether_and_within_series_and_sizes_that_have_two() -> None:
    answers = results(
        ({"model": m, "item": str(i), "score": s} for m in SCORES for i, s in enumerate(SCORES[m])), models=MODELS
    )
    rows = _rows(MEASURES["spread"].measure(answers, FEW).table)
    assert list(rows) == [("all", "all models"), ("series", "one"), ("size", "7B")]
    whole, series = rows["all", "all models"], rows["series", "one"]
    assert whole["gini"] == pytest.approx(gini([0.75, 0.25, 0.5, 1]))
    assert whole["sd"] == pytest.approx(standard_deviation([0.75, 0.25, 0.5, 1]))
    assert (whole["n"], whole["pairs"], whole["separable"]) == (4, 6, 0)
    assert series["gini"] == pytest.approx(0.25)
    assert series["n"] == 2


@pytest.mark.parametrize(("size", "expected"), [(7, "7B"), (6.7, "7B"), (0.5, "0.5B"), (1.4, "1.4B"), (72, "72B")])
def test_size_classes(size: float, expected: str) -> None:
    assert size_class(size) == expected


def test_benchmarks_protocols_and_tags_are_kept_apart() -> None:
    rows = [
        {"benchmark": benchmark, "modality": modality, "model": m, "item": str(i), "score": s}
        for benchmark in ("x", "y")
        for modality in ("image", "no-image")
        for m in "ab"
        for i, s in enumerate(SCORES[m])
    ]
    items = [{"benchmark": b, "item": str(i), "tag.half": "low" if i < 2 else "high"} for b in "xy" for i in range(4)]
    found = MEASURES["spread"].measure(results(rows, items), Settings(by=("half",), resamples=20)).table
    assert found.columns[:5] == ["benchmark", "modality", "tag.half", "grouping", "group"]
    assert len(found) == 8
    assert found.filter(pl.col("tag.half") == "low").get_column("gini").n_unique() == 1


def test_separable_pairs_are_those_of_the_clusters_that_items_name() -> None:
    rng = np.random.default_rng(0)
    table = np.repeat((rng.random((30, 6)) < np.linspace(0.2, 0.8, 6)).astype(float), 8, axis=0)
    scores: dict[str, list[float | None]] = {f"m{i}": [float(s) for s in table[:, i]] for i in range(6)}
    items = [{"item": str(i), "cluster": f"image {i // 8}"} for i in range(240)]
    clustered = MEASURES["spread"].measure(grid(scores, items), FEW).table.row(0, named=True)
    alone = MEASURES["spread"].measure(grid(scores), FEW).table.row(0, named=True)
    assert clustered["separable"] == separable_pairs(table, np.arange(240) // 8).value
    assert clustered["separable"] < alone["separable"]
    assert clustered["sd_high"] - clustered["sd_low"] > alone["sd_high"] - alone["sd_low"]


def test_one_model_has_no_spread() -> None:
    with pytest.raises(NotMeasurable, match="add another"):
        MEASURES["spread"].measure(grid({"a": [1, 0]}), Settings())


def test_half_of_real_items_spread_models_as_far_and_tell_fewer_of_them_apart(shared: Path) -> None:
    """Which is why Gini and standard deviation alone do not say whether a smaller benchmark still does its work."""
    answers = pl.read_csv(shared / "data/vlm_matrices/aj_AI2D_TEST.csv").drop("model_sha").to_numpy().astype(float)
    half = np.random.default_rng(0).permutation(len(answers))[: len(answers) // 2]
    some = answers[half]
    whole_pairs, half_pairs = (separable_pairs(table, np.arange(len(table))) for table in (answers, some))
    assert whole_pairs.n == 14_196
    assert whole_pairs.value == pytest.approx(0.8322, abs=1e-4)
    assert half_pairs.value is not None
    assert half_pairs.value < 0.80
    alone = separable_pairs(answers, np.arange(len(answers)), adjusted=False)
    assert alone.value == pytest.approx(0.9195, abs=1e-4)
    assert gini(some.mean(axis=0)) == pytest.approx(gini(answers.mean(axis=0)), rel=0.03)


def test_one_cluster_has_no_interval_and_other_items_are_told() -> None:
    items = [{"item": str(i), "cluster": "c"} for i in range(2)]
    alone = MEASURES["spread"].measure(grid({"a": [1, 0], "b": [1, 1]}, items), FEW)
    assert alone.table.select("gini_low", "sd_low").row(0) == (None, None)
    uneven = MEASURES["spread"].measure(grid({"a": [1, 0], "b": [1, None]}), FEW)
    assert [len(found.notes) for found in (alone, uneven)] == [1, 2]
    assert "different items" in uneven.notes[1]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_pairs_told_apart_are_those_of_the_comparison(binary: bool, gaps: float) -> None:
    """One number for one question, in spread, in differences and in the report: Holm's, over all pairs."""
    rng = np.random.default_rng(7)
    table = (rng.random((150, 9)) < np.linspace(0.35, 0.65, 9)).astype(float)
    table = table if binary else table * rng.uniform(0.5, 1, table.shape)
    table[rng.random(table.shape) < gaps] = np.nan
    scores: dict[str, list[float | None]] = {
        f"m{i}": [None if np.isnan(s) else float(s) for s in table[:, i]] for i in range(9)
    }
    items = [{"item": str(i), "cluster": f"image {i // 2}"} for i in range(150)]
    told = MEASURES["spread"].measure(grid(scores, items), FEW).table.row(0, named=True)
    pairs = MEASURES["differences"].measure(grid(scores, items), Settings(own={"power": 0.8})).table
    surely, alone = (pairs.filter(pl.col(name) < 0.05).height for name in ("p_adjusted", "p"))
    assert told["separable"] * told["pairs"] == pytest.approx(surely)
    assert told["apart"] == surely < alone
