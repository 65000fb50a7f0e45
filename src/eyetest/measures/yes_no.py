"""Questions to be answered with yes or no: what a score hides there, since always agreeing may score half.

POPE's four numbers. Yes is what is looked for: precision is the share of yeses that are right, recall the share of
true yeses that were said. POPE's own script takes whatever says neither for a yes; here that is wrong, is no yes, and
is counted apart.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import param
from eyetest.measures.results import Measure, Measured, NotMeasurable, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import (
    IntervalEstimate,
    cluster_sums,
    effective_clusters,
    mean,
    percentiles,
    weights,
)
from eyetest.wording import counted

_RATES = ("accuracy", "precision", "recall", "f1", "yes_rate")


class YesNo(Measure):
    """Precision, recall, F1 and how often a model says yes."""

    name = "yes-no"
    summary = "questions to be answered yes or no (POPE): precision, recall, F1 and the share of yes"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; ``gold_yes`` is how often yes is right, ``unread`` counts neither."""
        keys = results.keys(settings.by)
        rows = []
        for key, part in split(_said(results, settings, keys), keys):
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
            unread = int(part.get_column("unread").sum())
            rows.append(row | {"gold_yes": float(gold.mean()), "unread": unread, "n": len(part)})
        if not rows:
            raise NotMeasurable(
                "yes-no: no answer in words to an item whose gold is yes or no; "
                f"where the golds are not known, name the benchmark with {param('bench')}"
            )
        table = table_of(rows)
        return Measured(table, _notes(results, table))


def _said(results: Results, settings: Settings, keys: list[str]) -> pl.DataFrame:
    """A row an answer to such an item: whether yes is right, whether it was said, whether that is right."""
    right = pl.col("score") >= 1
    other = pl.col("says") == pl.when("yes").then(pl.lit("no")).otherwise(pl.lit("yes"))
    read = right | pl.when(pl.col("options").is_null()).then(other).otherwise(pl.col("reading") == "chosen")
    unread = ~read.fill_null(value=False)
    return (
        results.with_items("cluster", "yes", "options", by=settings.by)
        .filter(pl.col("yes").is_not_null() & pl.col("score").is_not_null())
        .join(results.replies.select("benchmark", "request", "says"), on=("benchmark", "request"), how="left")
        .with_columns(unread.alias("unread"), right.alias("right"))
        .with_columns((~pl.col("unread") & (pl.col("right") == pl.col("yes"))).alias("said_yes"))
        .sort(*keys, "item", "template", "order", "marks", "trial")
        .collect(engine="streaming")
    )


def f1(
    gold: NDArray[np.bool_], said: NDArray[np.bool_], clusters: NDArray[Any], settings: Settings
) -> IntervalEstimate:
    """The harmonic mean of precision and recall, 2·hits / (yeses said + yeses true), its interval by resampling."""
    parts = np.column_stack([2.0 * (gold & said), said.astype(float) + gold])
    hits, yeses = parts.sum(axis=0)
    if not yeses:
        return IntervalEstimate(None, None, None, len(gold))
    sums = cluster_sums(parts, clusters)
    sizes = cluster_sums(np.ones((len(gold), 1)), clusters)
    worth = float(effective_clusters(sizes.T)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = [again @ sums for again in weights(len(sums), settings.resamples, settings.seed)]
        replicates = np.concatenate([part[:, 0] / part[:, 1] for part in drawn])
    low, high = percentiles(replicates, settings.level, worth)
    return IntervalEstimate(float(hits / yeses), low, high, len(gold))


def _notes(results: Results, table: pl.DataFrame) -> tuple[str, ...]:
    others = int(results.items.get_column("yes").is_null().sum())
    notes = [f"left out: {counted(others, 'item')} whose gold is neither yes nor no"] if others else []
    if table.get_column("unread").sum():
        notes.append("an answer that says neither is wrong and no yes; POPE's own script takes it for a yes")
    return tuple(notes)


MEASURES = (YesNo(),)
