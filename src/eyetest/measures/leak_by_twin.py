"""Does a model know a test by heart? It is asked each question again about twins, pictures with other answers.

Original and twins differ only in which option is right, and which of them came first was drawn by lot. Whoever
remembers the original gives its gold whatever the picture shows. So every one of them is taken for the original in
turn: how far does its gold come on itself, and how far on all the others together? One slip may look like memory,
the same slip on every twin hardly ever: hence the square. Whoever has met none of them treats all alike, whether it
sees well, badly or not at all; what the true original has above its twins is the leak.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.measures.means import with_adjusted
from eyetest.measures.results import TAG, Measure, Measured, NotMeasurable, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import Floats, Ints, mean
from eyetest.measures.stats.paired import Paired, paired, with_imaginary_items
from eyetest.records import EDITION, FRESH, ORIGINAL, TWIN
from eyetest.wording import counted

_TAG = TAG + EDITION
_EDITION = pl.col(_TAG)
_ROUNDING = 1e-9
_CELLS_AT_ONCE = 2**20


class LeakByTwin(Measure):
    """How far the original's gold comes whatever the picture shows, against that of its twins; and the drop."""

    name = "leak-by-twin"
    summary = "originals against answer-changing twins (harden twins): drop, old golds on twins, leak"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value, over the originals that have an answer to themselves and to a twin.

        ``old_gold`` is the share of twins answered with the original's gold, ``new_gold`` that of originals answered
        with a twin's. ``by_heart`` is the share of originals answered with their gold, times the square of the share
        of their twins answered so; ``by_luck`` the same with a twin in the original's place; ``leak`` the first less
        the second. Where fresh items lie beside the twins, ``fresh_drop`` is what the score loses from the originals
        to them.
        """
        if _TAG not in results.items.columns or not (results.items.get_column(_TAG) == TWIN).any():
            raise NotMeasurable(
                f"{self.name}: no item is a twin; eyetest harden twins makes a benchmark that has some"
            )
        keys = results.keys(settings.by)
        originals = _originals(results, keys, settings.by)
        rows = list(_rows(originals, keys, settings))
        if not rows:
            raise NotMeasurable(f"{self.name}: nobody answered an original and its twin")
        table = table_of(rows, p=pl.Float64).sort(keys)
        families = [key for key in keys if key != "model"]
        return Measured(with_adjusted(table, families), tuple(_notes(originals)))


def _originals(results: Results, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row a series and original: the scores on original, twins and fresh item, and what `_golds` says of it."""
    series = [*dict.fromkeys((*keys, "benchmark")), "of"]
    of = pl.when(_EDITION == ORIGINAL).then("item").otherwise("group").alias("of")
    answers = results.with_items("cluster", "group", "gold", _TAG, by=by).with_columns(of)
    answers = answers.filter(_EDITION.is_not_null(), pl.col("score").is_not_null())
    scores = answers.group_by(*series, _TAG, "item").agg(pl.col("score").mean(), pl.col("cluster").first())
    scores = scores.group_by(*series, _TAG).agg(pl.col("score").mean(), pl.col("cluster").first(), pl.len())
    original, twin, fresh = (scores.filter(pl.col(_TAG) == one).drop(_TAG) for one in (ORIGINAL, TWIN, FRESH))
    both = original.drop("len").join(twin.drop("cluster").rename({"len": "twins"}), on=series, suffix="_twin")
    both = both.join(fresh.select(*series, pl.col("score").alias("score_fresh")), on=series, how="left")
    return (
        both.join(_golds(answers, results.exchanged, series), on=series, how="left")
        .sort(series)
        .collect(engine="streaming")
    )


def _golds(answers: pl.LazyFrame, exchanged: pl.LazyFrame, series: Sequence[str]) -> pl.LazyFrame:
    """Of each original: whose gold came where.

    ``kept`` is a list over the original, which comes first, and its twins: how far the gold of each came on itself,
    times the square of how far it came on the others.
    """
    own = pl.col("item") == pl.col("whose")
    came = (
        _given(answers, exchanged, series)
        .group_by(*series, "item", "whose", "first", "on_first")
        .agg(pl.col("given").mean().alias("share"))
        .group_by(*series, "whose", "first")
        .agg(
            pl.col("share").filter(own).first().alias("own"),
            pl.col("share").filter(~own).mean().alias("others"),
            pl.col("share").filter(~own & pl.col("on_first")).first().alias("original"),
        )
        .sort(*series, pl.col("first").not_(), "whose")
    )
    return (
        came.group_by(series, maintain_order=True)
        .agg(
            pl.col("others").filter("first").first().alias("old_gold"),
            pl.col("original").filter(pl.col("first").not_()).mean().alias("new_gold"),
            (pl.col("own") * pl.col("others") ** 2).alias("kept"),
            pl.col("first").first(),
        )
        .filter(pl.col("first") & (pl.col("kept").list.len() > 1))
        .drop("first")
        .with_columns(
            pl.col("kept").list.first().alias("by_heart"),
            pl.col("kept").list.slice(1).list.mean().alias("by_luck"),
        )
    )


def _given(answers: pl.LazyFrame, exchanged: pl.LazyFrame, series: Sequence[str]) -> pl.LazyFrame:
    """Each answer beside each gold of its family: whether it gives it, by its letter or, in words, by the metric."""
    first = (_EDITION == ORIGINAL).alias("first")
    family = answers.filter(_EDITION.is_in([ORIGINAL, TWIN])).with_columns(first.alias("on_first"))
    golds = family.select(*series, pl.col("item").alias("whose"), "gold", first).unique()
    chosen = (
        family.filter(pl.col("gold").is_not_null())
        .drop("gold")
        .join(golds.filter(pl.col("gold").is_not_null()), on=series)
        .with_columns(pl.col("choice").eq_missing(pl.col("gold")).cast(pl.Float64).alias("given"))
    )
    said = (
        family.filter(pl.col("gold").is_null())
        .join(exchanged.rename({"worth": "given"}), on=("benchmark", "request"))
        .join(golds.filter(pl.col("gold").is_null()).drop("gold"), on=[*series, "whose"])
    )
    columns = [*series, "item", "whose", "first", "on_first", "given"]
    return pl.concat([chosen.select(columns), said.select(columns)])


def _rows(originals: pl.DataFrame, keys: Sequence[str], settings: Settings) -> Iterator[dict[str, Any]]:
    level = settings.level
    with_fresh = originals.get_column("score_fresh").is_not_null().any()
    for key, part in split(originals, keys):
        drop = _paired(part, "score", "score_twin", level)
        choice = part.filter(pl.col("kept").is_not_null())
        leak = with_imaginary_items(_paired(choice, "by_heart", "by_luck", level), level)
        old = mean(choice.get_column("old_gold"), choice.get_column("cluster"), level)
        row = key | {ORIGINAL: drop.a, TWIN: drop.b} | _named("drop", drop)
        row |= old.named("old_gold") | {"new_gold": choice.get_column("new_gold").mean()}
        row |= {"by_heart": leak.a, "by_luck": leak.b} | _named("leak", leak) | {"p": _by_lot(choice, settings)}
        if with_fresh:
            fresh = _paired(part, "score", "score_fresh", level)
            row |= {FRESH: fresh.b} | _named("fresh_drop", fresh)
        yield row | {"n": drop.n, "twins": int(part.get_column("twins").sum())}


def _by_lot(originals: pl.DataFrame, settings: Settings) -> float | None:
    """How often a leak as large, either way, comes out where each original is drawn by lot once more."""
    lists = originals.get_column("kept").to_list()
    if not lists:
        return None
    sizes = np.array([len(kept) for kept in lists])
    leaks = np.zeros((len(lists), sizes.max()))
    for row, kept in zip(leaks, lists, strict=True):
        values = np.array(kept)
        row[: len(kept)] = (values * len(kept) - values.sum()) / (len(kept) - 1)
    told = np.abs(leaks).max(axis=1) > _ROUNDING
    drawn = _sums_by_lot(leaks[told], sizes[told], settings)
    return float((1 + (np.abs(drawn) > abs(leaks[:, 0].sum()) - _ROUNDING).sum()) / (1 + len(drawn)))


def _sums_by_lot(leaks: Floats, sizes: Ints, settings: Settings) -> Floats:
    """The sum of the leaks in each draw, so many draws at once that they stay in memory."""
    rng, rows = np.random.default_rng(settings.seed), np.arange(len(leaks))
    at_once = max(1, _CELLS_AT_ONCE // max(1, len(leaks)))
    sums = []
    for start in range(0, settings.resamples, at_once):
        count = min(at_once, settings.resamples - start)
        lots = (rng.random((count, len(leaks))) * sizes).astype(int)
        sums.append(leaks[rows, lots].sum(axis=1))
    return np.concatenate(sums) if sums else np.empty(0)


def _paired(part: pl.DataFrame, a: str, b: str, level: float) -> Paired:
    one, other, clusters = (part.get_column(name).to_numpy() for name in (a, b, "cluster"))
    return paired(one, other, clusters, level)


def _named(name: str, pair: Paired) -> dict[str, float | None]:
    return {name: pair.difference, f"{name}_low": pair.low, f"{name}_high": pair.high}


def _notes(originals: pl.DataFrame) -> Iterator[str]:
    untold = originals.filter(pl.col("kept").is_null()).get_column("of").n_unique()
    if untold:
        why = "no words are known that could be held to another gold, or their metric needs all answers together"
        yield f"{counted(untold, 'original')} count for the drop, not for old golds: {why}"


MEASURES = (LeakByTwin(),)
