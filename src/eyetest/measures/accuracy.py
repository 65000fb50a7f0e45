"""Accuracy: the mean score of a model, over all items or by tag, and over groups that count only as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings


class Accuracy:
    """The mean score, tests of an item averaged."""

    name = "accuracy"
    summary = "mean score with its interval, by model, protocol and tag"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value."""
        tags = results.by_tags(settings.by)
        return Measured(_means(results.with_items("cluster", *tags), [*results.keys(), *tags], settings.level))


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
        return Measured(_means(whole, keys, settings.level))


def _means(scores: pl.LazyFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    """Mean, interval and counts by some keys, from rows with ``cluster`` and ``score``."""
    rows = scores.with_columns(pl.col("score").alias("accuracy"), pl.col("score").is_null().alias("missing"))
    found = mean_columns(rows, keys, ["accuracy"], ["missing"], level=level)
    return found.select(
        *keys,
        *(f"accuracy{end}" for end in ("", "_low", "_high")),
        pl.col("accuracy_n").alias("n"),
        pl.col("accuracy_clusters").alias("clusters"),
        "missing",
    )


MEASURES = (Accuracy(), GroupAccuracy())
