import numpy as np
import polars as pl
import pytest

from eyetest.measures.stats.intervals import mean
from eyetest.measures.tables import mean_columns


def test_each_column_as_if_it_were_alone() -> None:
    draw = np.random.default_rng(3)
    rows = pl.DataFrame(
        {
            "model": np.repeat(["a", "b"], 60),
            "cluster": draw.integers(0, 20, 120).astype(str),
            "right": draw.integers(0, 2, 120).astype(float),
            "length": draw.normal(3, 1, 120),
            "calls": draw.integers(1, 4, 120),
        }
    ).with_columns(pl.when(pl.col("length") > 2).then(pl.col("length")))
    found = mean_columns(rows.lazy(), ["model"], ["right", "length"], ["calls"], level=0.9)
    for row in found.rows(named=True):
        part = rows.filter(pl.col("model") == row["model"])
        assert row["calls"] == part.get_column("calls").sum()
        for name in ("right", "length"):
            known = part.drop_nulls(name)
            alone = mean(known.get_column(name), known.get_column("cluster"), 0.9)
            assert [row[name], row[f"{name}_low"], row[f"{name}_high"], row[f"{name}_n"]] == pytest.approx(
                list(alone)
            )


def test_the_order_of_rows_does_not_matter_to_the_last_digit() -> None:
    draw = np.random.default_rng(0)
    models, clusters, right = (draw.integers(0, count, 3_000) for count in (12, 400, 2))
    rows = pl.DataFrame({"model": models.astype(str), "cluster": clusters.astype(str), "x": right.astype(float)})
    shuffled = (rows.sample(fraction=1, shuffle=True, seed=seed).lazy() for seed in range(8))
    first, *others = (mean_columns(table, ["model"], ["x"]) for table in shuffled)
    assert all(table.equals(first) for table in others)


def test_a_mean_of_nothing_is_null() -> None:
    rows = pl.DataFrame(
        {"model": ["a", "b"], "cluster": ["1", "1"], "x": [None, 1.0]}, schema_overrides={"x": pl.Float64}
    )
    found = mean_columns(rows.lazy(), ["model"], ["x"])
    assert found.row(0) == ("a", None, None, None, 0, 0)
    assert found.row(1, named=True)["x"] == 1


def test_what_may_be_negative_is_no_share() -> None:
    rows = pl.DataFrame({"model": ["a"] * 4, "cluster": list("1234"), "x": [0.0, 0, 0, 1], "y": [0.0, 0, 0, 1]})
    found = mean_columns(rows.lazy(), ["model"], ["x", "y"], signed=["y"]).row(0, named=True)
    assert found["x"] == found["y"]
    assert found["x_low"] > 0 > found["y_low"]


def test_one_cluster_leaves_an_interval_open() -> None:
    rows = pl.DataFrame({"model": ["a", "a"], "cluster": ["1", "1"], "x": [0.25, 0.5]})
    assert mean_columns(rows.lazy(), ["model"], ["x"]).row(0) == ("a", 0.375, None, None, 2, 1)
