"""Accuracy: the mean score of a model, over all items or by tag, and over groups that count only as a whole."""

from collections.abc import Sequence

import polars as pl

from eyetest.measures.means import mean_table
from eyetest.measures.results import Measure, Measured, NotMeasurable, Results, Settings, split
from eyetest.measures.stats.paired import is_verdict
from eyetest.wording import counted

_FEW_CLUSTERS = 20


class Accuracy(Measure):
    """The mean score, tests of an item averaged."""

    name = "accuracy"
    summary = "mean score with its interval, by model, protocol and tag"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; ``n`` counts items with a score, ``missing`` the benchmark's others.

        ``answers`` counts tests where items had several, ``unscored`` answers that failed or have no known gold.
        """
        tags = results.by_tags(settings.by)
        keys, score = results.keys(settings.by), pl.col("score")
        of_item = (
            results.with_items("cluster", *tags)
            .group_by(*keys, "item", "cluster")
            .agg(
                score.mean().alias("accuracy"),
                is_verdict(score).all().alias("accuracy binary"),
                score.count().cast(pl.Int64).alias("answers"),
                score.null_count().cast(pl.Int64).alias("unscored"),
            )
        )
        means = mean_table(of_item, keys, ["accuracy"], settings.level, sums=("answers", "unscored"))
        table = _with_missing(means, results.every_item(*tags), keys)
        same = (table.get_column("answers") == table.get_column("n")).all()
        spared = [*(["answers"] if same else []), *([] if table.get_column("unscored").sum() else ["unscored"])]
        return Measured(table.drop(spared), _notes(table, [k for k in keys if k != "model"]))


class GroupAccuracy(Measure):
    """The share of groups in which every item is right: pairs, rotations, rephrasings."""

    name = "group-accuracy"
    summary = "share of groups (pairs, rotations) in which every answer is right"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; groups are what an item and its variations make together.

        A wrong answer settles a group whatever else is missing; otherwise it takes all of its items, and a group of
        which one failed or was never asked is missing.
        """
        if not results.items.get_column("group").is_not_null().any():
            raise NotMeasurable("group-accuracy: no item says what group it belongs to")
        tags = results.by_tags(settings.by)
        keys, score = results.keys(settings.by), pl.col("score")
        about = ["benchmark", "group", *tags]
        members = results.every_item("group", *tags).drop_nulls("group").group_by(about).len("members")
        complete = (score.null_count() == 0) & (pl.col("item").n_unique() == pl.col("members").first())
        whole = (
            results.with_items("cluster", "group", *tags)
            .join(members.lazy(), on=about, how="inner", nulls_equal=True)
            .group_by(*dict.fromkeys((*keys, "benchmark")), "group")
            .agg(
                pl.col("cluster").min(),
                pl.when((score.min() < 1) | complete).then((score.min() == 1).cast(pl.Float64)).alias("accuracy"),
            )
        )
        return Measured(_with_missing(mean_table(whole, keys, ["accuracy"], settings.level), members, keys))


def _with_missing(table: pl.DataFrame, every: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Beside ``n``, how many more there are: of the benchmark, or of that part of it that has a tag's value."""
    around = [key for key in keys if key in every.columns]
    there = every.group_by(around).len("there") if around else every.select(pl.len().alias("there"))
    as_there = [pl.col(key).cast(table.schema[key]) for key in around]
    joined = (
        table.join(there.with_columns(as_there), on=around, how="left", nulls_equal=True, maintain_order="left")
        if around
        else table.join(there, how="cross")
    )
    return joined.with_columns((pl.col("there").cast(pl.Int64) - pl.col("n")).alias("missing")).drop("there")


def _notes(table: pl.DataFrame, around: Sequence[str]) -> tuple[str, ...]:
    """What one may not read out of the table: models compared on other items, intervals trusted of few clusters."""
    notes, n, clusters = [], pl.col("n"), pl.col("clusters")
    known = table.filter(n > 0)
    spans = [part.select(n.min().alias("least"), n.max()).row(0) for _, part in split(known, around)]
    if uneven := [(least, most) for least, most in spans if least < most]:
        span = "n from {:,} to {:,}".format(*uneven[0])
        notes.append(f"models rest on different items ({span}): see differences, which pairs")
    if few := len(known.filter((clusters < _FEW_CLUSTERS) & (clusters < n))):
        notes.append(f"{counted(few, 'row')} of fewer than {_FEW_CLUSTERS} clusters: intervals may be too narrow")
    return tuple(notes)


MEASURES = (Accuracy(), GroupAccuracy())
