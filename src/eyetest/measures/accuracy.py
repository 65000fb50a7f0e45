"""Accuracy: the mean score of a model, over all items or by tag, and over groups that count only as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from eyetest.measures.means import is_verdict, mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.wording import counted

_FEW_CLUSTERS = 20


class Accuracy:
    """The mean score, tests of an item averaged."""

    name = "accuracy"
    summary = "mean score with its interval, by model, protocol and tag"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; ``n`` counts items, ``answers`` their tests where there are several."""
        tags = results.by_tags(settings.by)
        keys, score = [*results.keys(), *tags], pl.col("score")
        of_item = (
            results.with_items("cluster", *tags)
            .group_by(*keys, "item", "cluster")
            .agg(
                score.mean().alias("accuracy"),
                is_verdict(score).all().alias("accuracy binary"),
                score.count().cast(pl.Int64).alias("answers"),
                score.null_count().alias("missing"),
            )
        )
        table = _means(of_item, keys, ("answers", "missing"), settings.level)
        same = (table.get_column("answers") == table.get_column("n")).all()
        return Measured(table.drop("answers") if same else table, _notes(table, [k for k in keys if k != "model"]))


class GroupAccuracy:
    """The share of groups in which every item is right: pairs, rotations, rephrasings."""

    name = "group-accuracy"
    summary = "share of groups (pairs, rotations) in which every answer is right"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; groups are what an item and its variations make together.

        A wrong answer settles a group even if another call failed; otherwise a failed call leaves it undecided, and
        it is counted as missing.
        """
        if not results.items.get_column("group").is_not_null().any():
            raise NotMeasurable("group-accuracy: no item says what group it belongs to")
        tags = results.by_tags(settings.by)
        keys, score = [*results.keys(), *tags], pl.col("score")
        settled = (score.min() < 1) | (score.null_count() == 0)
        whole = (
            results.with_items("cluster", "group", *tags)
            .filter(pl.col("group").is_not_null())
            .group_by(*keys, "cluster", "group")
            .agg(pl.when(settled).then((score.min() == 1).cast(pl.Float64)).alias("accuracy"))
            .with_columns(pl.col("accuracy").is_null().alias("missing"))
        )
        return Measured(_means(whole, keys, ("missing",), settings.level))


def _means(rows: pl.LazyFrame, keys: Sequence[str], sums: Sequence[str], level: float) -> pl.DataFrame:
    """Mean, interval and counts by some keys, from rows with ``cluster`` and ``accuracy``."""
    found = mean_columns(rows, keys, ["accuracy"], sums, level=level)
    values = [f"accuracy{end}" for end in ("", "_low", "_high")]
    counts = [pl.col("accuracy_n").alias("n"), pl.col("accuracy_clusters").alias("clusters")]
    return found.select(*keys, *values, *counts, *sums)


def _notes(table: pl.DataFrame, around: Sequence[str]) -> tuple[str, ...]:
    """What one may not read out of the table: models compared on other items, intervals trusted of few clusters."""
    notes, n, clusters = [], pl.col("n"), pl.col("clusters")
    known = table.filter(n > 0)
    for part in known.partition_by(around) if around else [known]:
        least, most = part.select(n.min().alias("least"), n.max()).row(0)
        if len(part) and least < most:
            notes.append(
                f"models rest on different items (n from {least:,} to {most:,}): see differences, which pairs"
            )
            break
    if few := len(known.filter((clusters < _FEW_CLUSTERS) & (clusters < n))):
        notes.append(f"{counted(few, 'row')} of fewer than {_FEW_CLUSTERS} clusters: intervals may be too narrow")
    return tuple(notes)


MEASURES = (Accuracy(), GroupAccuracy())
