"""Has a model memorized a test? It is asked each question about twins, images with other answers. The statistic is
how often a gold is given on itself, times the square of how often on the others; the leak is that of the original
above its twins.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import counted
from eyetest.measures.results import TAG, Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.intervals import mean
from eyetest.measures.stats.paired import with_imaginary_items
from eyetest.measures.tables import paired_columns, with_adjusted
from eyetest.records import EDITION, FRESH, ORIGINAL, TWIN

_TAG = TAG + EDITION
_EDITION = pl.col(_TAG)
_ROUNDING = 1e-9
_CELLS_AT_ONCE = 2**20


@measure(
    "leak-by-twin", "originals against answer-changing twins (harden renew --twins): drop, old golds on twins, leak"
)
def leak_by_twin(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value, over originals with an answer to themselves and to a twin. ``old_gold``: share
    of twins answered with the original's gold; ``new_gold``: of originals with a twin's; ``memorized`` and
    ``by_chance``: the leak statistic of originals and of twins; ``leak``: their difference.
    """
    if _TAG not in results.items.columns or not (results.items.get_column(_TAG) == TWIN).any():
        raise NotMeasurable(
            "leak-by-twin: no item is a twin; eyetest harden renew --twins 1 makes a benchmark that has some"
        )
    keys = results.keys(settings.by)
    originals = _originals(results, keys, settings.by)
    rows = list(_rows(originals, keys, settings))
    if not rows:
        raise NotMeasurable("leak-by-twin: no model answered an original and its twin")
    table = table_of(rows, p=pl.Float64).sort(keys)
    families = [key for key in keys if key != "model"]
    unknown = originals.filter(pl.col("kept").is_null()).get_column("of").n_unique()
    why = "no words are known that could be compared with another gold, or their metric needs all answers together"
    note = f"{counted(unknown, 'original')} count for the drop, not for old golds: {why}"
    return Measured(with_adjusted(table, families), (note,) if unknown else ())


def _originals(results: Results, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row per series and original: scores on original, twins and fresh item, and the columns of `_golds`."""
    series = [*dict.fromkeys((*keys, "benchmark")), "of"]
    of = pl.when(_EDITION == ORIGINAL).then("item").otherwise("group").alias("of")
    answers = results.with_items("cluster", "group", "gold", _TAG, by=by).with_columns(of)
    answers = answers.filter(_EDITION.is_not_null(), pl.col("score").is_not_null())
    scores = answers.group_by(*series, _TAG, "item").agg(pl.col("score").mean(), pl.col("cluster").first())
    scores = scores.group_by(*series, _TAG).agg(pl.col("score").mean(), pl.col("cluster").first(), pl.len())
    original, twin, fresh = (scores.filter(edition == _EDITION).drop(_TAG) for edition in (ORIGINAL, TWIN, FRESH))
    both = original.drop("len").join(twin.drop("cluster").rename({"len": "twins"}), on=series, suffix="_twin")
    both = both.join(fresh.select(*series, pl.col("score").alias("score_fresh")), on=series, how="left")
    return (
        both.join(_golds(answers, results.exchanged, series), on=series, how="left")
        .sort(series)
        .collect(engine="streaming")
    )


def _golds(answers: pl.LazyFrame, exchanged: pl.LazyFrame, series: Sequence[str]) -> pl.LazyFrame:
    """For each original which gold was given where; ``kept``: the leak statistic of the original, then its twins."""
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
            pl.col("kept").list.first().alias("memorized"),
            pl.col("kept").list.slice(1).list.mean().alias("by_chance"),
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
    written = (
        family.filter(pl.col("gold").is_null())
        .join(exchanged.rename({"worth": "given"}), on=("benchmark", "request"))
        .join(golds.filter(pl.col("gold").is_null()).drop("gold"), on=[*series, "whose"])
    )
    columns = [*series, "item", "whose", "first", "on_first", "given"]
    return pl.concat([chosen.select(columns), written.select(columns)])


def _rows(originals: pl.DataFrame, keys: Sequence[str], settings: Settings) -> Iterator[dict[str, Any]]:
    level = settings.level
    with_fresh = originals.get_column("score_fresh").is_not_null().any()
    for key, part in split(originals, keys):
        drop = paired_columns(part, "score", "score_twin", level)
        choice = part.filter(pl.col("kept").is_not_null())
        leak = with_imaginary_items(paired_columns(choice, "memorized", "by_chance", level), level)
        old = mean(choice.get_column("old_gold"), choice.get_column("cluster"), level)
        row = key | {ORIGINAL: drop.a, TWIN: drop.b} | drop.gap("drop")
        row |= old.named("old_gold") | {"new_gold": choice.get_column("new_gold").mean()}
        row |= {"memorized": leak.a, "by_chance": leak.b} | leak.gap("leak") | {"p": _chance(choice, settings)}
        if with_fresh:
            fresh = paired_columns(part, "score", "score_fresh", level)
            row |= {FRESH: fresh.b} | fresh.gap("fresh_drop")
        yield row | {"n": drop.n, "twins": int(part.get_column("twins").sum())}


def _chance(originals: pl.DataFrame, settings: Settings) -> float | None:
    """Probability of a leak as large, either way, if each original is drawn at random among its family."""
    lists = originals.get_column("kept").to_list()
    if not lists:
        return None
    sizes = np.array([len(kept) for kept in lists])
    leaks = np.zeros((len(lists), sizes.max()))
    for row, kept in zip(leaks, lists, strict=True):
        values = np.array(kept)
        row[: len(kept)] = (values * len(kept) - values.sum()) / (len(kept) - 1)
    varying = np.abs(leaks).max(axis=1) > _ROUNDING
    varied, sizes, rng = leaks[varying], sizes[varying], np.random.default_rng(settings.seed)
    at_once, larger = max(1, _CELLS_AT_ONCE // max(1, len(varied))), 0
    for start in range(0, settings.resamples, at_once):
        count = min(at_once, settings.resamples - start)
        drawn = (rng.random((count, len(varied))) * sizes).astype(int)
        sums = varied[np.arange(len(varied)), drawn].sum(axis=1)
        larger += int((np.abs(sums) > abs(leaks[:, 0].sum()) - _ROUNDING).sum())
    return (1 + larger) / (1 + settings.resamples)


MEASURES = (leak_by_twin,)
