"""Accuracy: mean scores, groups that count only as a whole, and yes/no questions (POPE)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import param
from eyetest.measures.means import mean_table, uneven_items
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.intervals import Bools, IntervalEstimate, mean, resampled
from eyetest.measures.stats.paired import is_verdict
from eyetest.wording import counted

_FEW_CLUSTERS = 20


@measure("accuracy", "mean score with its interval, by model, protocol and tag", unread="accuracy")
def accuracy(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; counts: ``n`` items with a score, ``missing`` others, ``answers`` (tests).
    Answers that were not read count as wrong; failed calls have no score and are left out.
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


@measure("group-accuracy", "share of groups (pairs, rotations) in which every answer is right", unread="accuracy")
def group_accuracy(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value. A wrong answer settles a group; else all of its items need a score."""
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
    """Add beside ``n`` the number of missing items: of the benchmark, or of its part with a tag's value."""
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
    """Notes on the table's limits: models compared on other items, intervals from few clusters."""
    n, clusters = pl.col("n"), pl.col("clusters")
    known = table.filter(n > 0)
    notes = uneven_items(known, around)
    if few := len(known.filter((clusters < _FEW_CLUSTERS) & (clusters < n))):
        notes.append(f"{counted(few, 'row')} of fewer than {_FEW_CLUSTERS} clusters: intervals may be too narrow")
    return tuple(notes)


_RATES = ("accuracy", "precision", "recall", "f1", "yes_rate")


@measure("yes-no", "questions to be answered yes or no (POPE): precision, recall, F1 and the share of yes")
def yes_no(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; ``gold_yes`` is how often yes is right, ``unread`` the share of answers that
    say neither, and of failed calls.
    """
    keys = results.keys(settings.by)
    rows = []
    for key, asked in split(_said(results, settings, keys), keys):
        part = asked.drop_nulls("score")
        if part.is_empty():
            continue
        gold, said = (part.get_column(name).to_numpy().astype(bool) for name in ("yes", "said_yes"))
        right, clusters = part.get_column("right").to_numpy().astype(bool), part.get_column("cluster").to_numpy()
        estimates = (
            mean(right, clusters, settings.level),
            mean(gold[said], clusters[said], settings.level),
            mean(said[gold], clusters[gold], settings.level),
            f1(gold, said, clusters, settings),
            mean(said, clusters, settings.level),
        )
        row: dict[str, Any] = dict(key)
        for name, estimate in zip(_RATES, estimates, strict=True):
            row |= estimate.named(name)
            if name == "accuracy":
                row["unread"] = asked.get_column("unread").mean()
        rows.append(row | {"gold_yes": float(gold.mean()), "n": len(part)})
    if not rows:
        raise NotMeasurable(
            "yes-no: no answer in words to an item whose gold is yes or no; "
            f"where the golds are not known, name the benchmark with {param('bench')}"
        )
    others = int(results.items.get_column("yes").is_null().sum())
    notes = [f"left out: {counted(others, 'item')} whose gold is neither yes nor no"] if others else []
    if any(row["unread"] for row in rows):
        notes.append("an answer that says neither is wrong and no yes; POPE's own script takes it for a yes")
    return Measured(table_of(rows), tuple(notes))


def _said(results: Results, settings: Settings, keys: list[str]) -> pl.DataFrame:
    """A row per answer to such an item: whether yes is right, whether it was answered, whether that is right."""
    right = pl.col("score") >= 1
    other = pl.col("says") == pl.when("yes").then(pl.lit("no")).otherwise(pl.lit("yes"))
    read = right | pl.when(pl.col("options").is_null()).then(other).otherwise(pl.col("reading") == "chosen")
    unread = ~read.fill_null(value=False)
    return (
        results.with_items("cluster", "yes", "options", by=settings.by)
        .filter(pl.col("yes").is_not_null())
        .join(results.replies.select("benchmark", "request", "says"), on=("benchmark", "request"), how="left")
        .with_columns(unread.alias("unread"), right.fill_null(value=False).alias("right"))
        .with_columns((~pl.col("unread") & (pl.col("right") == pl.col("yes"))).alias("said_yes"))
        .sort(*keys, "item", "template", "order", "letters", "sample")
        .collect(engine="streaming")
    )


def f1(gold: Bools, said: Bools, clusters: NDArray[Any], settings: Settings) -> IntervalEstimate:
    """Harmonic mean of precision and recall, 2·hits / (yes answers + yes golds), its interval by resampling."""
    parts = np.column_stack([2.0 * (gold & said), said.astype(float) + gold])
    resampling = (settings.level, settings.resamples, settings.seed)
    return resampled(parts, clusters, lambda sums: sums[:, 0] / sums[:, 1], *resampling)


MEASURES = (accuracy, group_accuracy, yes_no)
