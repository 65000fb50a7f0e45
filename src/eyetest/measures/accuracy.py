"""Accuracy: the mean score of a model, over all items or by tag, and over groups that count only as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.intervals import Tally, bounds


class Accuracy:
    """The mean score, tests of an item averaged."""

    name = "accuracy"
    summary = "mean score with its interval, by model, protocol and tag"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value."""
        keys = [*results.keys(), *results.by_tags(settings.by)]
        scored = results.with_items("cluster", *results.by_tags(settings.by))
        return Measured(mean_table(scored, keys, settings.level))


class GroupAccuracy:
    """The share of groups in which every item is right: pairs, rotations, rephrasings."""

    name = "group-accuracy"
    summary = "share of groups (pairs, rotations) in which every answer is right"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; groups are what an item and its variations make together."""
        if not results.items.get_column("group").is_not_null().any():
            raise NotMeasurable("group-accuracy: no item says what group it belongs to")
        tags = results.by_tags(settings.by)
        keys = [*results.keys(), *tags]
        whole = (
            results.with_items("cluster", "group", *tags)
            .filter(pl.col("group").is_not_null())
            .group_by(*keys, "cluster", "group")
            .agg((pl.col("score").min() == 1).cast(pl.Float64).alias("score"))
        )
        return Measured(mean_table(whole, keys, settings.level))


def mean_table(scores: pl.LazyFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    """Mean, interval and counts by some keys, from rows with ``cluster`` and ``score``."""
    of_cluster = scores.group_by(*keys, "cluster").agg(
        pl.col("score").sum().alias("s"),
        pl.col("score").count().cast(pl.Float64).alias("m"),
        pl.col("score").null_count().alias("missing"),
        ((pl.col("score") == 0) | (pl.col("score") == 1)).all().alias("binary"),
    )
    s, m = pl.col("s"), pl.col("m")
    tally = (
        of_cluster.group_by(*keys)
        .agg(
            s.sum().alias("total"),
            m.sum().alias("n"),
            (m > 0).sum().cast(pl.Float64).alias("clusters"),
            (s * s).sum().alias("squares"),
            (s * m).sum().alias("cross"),
            (m * m).sum().alias("sizes"),
            pl.col("binary").all(),
            pl.col("missing").sum(),
        )
        .sort(*keys)
        .collect(engine="streaming")
    )
    low, high = bounds(Tally(*(tally.get_column(name).to_numpy() for name in Tally._fields)), level)
    table = tally.select(
        *keys,
        (pl.col("total") / pl.col("n")).alias("accuracy"),
        pl.Series("accuracy_low", low).fill_nan(None),
        pl.Series("accuracy_high", high).fill_nan(None),
        pl.col("n").cast(pl.Int64),
        pl.col("clusters").cast(pl.Int64),
        "missing",
    )
    empty = pl.col("n") == 0
    return table.with_columns(
        pl.when(empty).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("accuracy", "accuracy_low", "accuracy_high")
    )


MEASURES = (Accuracy(), GroupAccuracy())
