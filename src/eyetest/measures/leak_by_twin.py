"""Does a model know a test by heart? It is asked each question again about a twin, a picture with another answer.

Original and twin differ only in which option is right, and which of the two came first was drawn by lot. Whoever has
not met the original gives the old gold on twins as often as the twin's gold on originals, whether it sees well,
badly or not at all. Whoever remembers the original gives the old gold more often: the difference is the leak.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from eyetest.measures.means import with_adjusted
from eyetest.measures.results import TAG, Measure, Measured, NotMeasurable, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import mean
from eyetest.measures.stats.paired import Paired, paired
from eyetest.records import EDITION, FRESH, ORIGINAL, TWIN
from eyetest.wording import counted

_TAG = TAG + EDITION


class LeakByTwin(Measure):
    """Old golds on twins, against the twins' golds on originals, and what scores lose from original to twin."""

    name = "leak-by-twin"
    summary = "originals against answer-changing twins (harden twins): drop, old golds on twins, leak"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value, over the originals that have an answer to both.

        ``old_gold`` is the share of twins answered with the original's gold, ``new_gold`` that of originals answered
        with the twin's; ``leak`` is the first less the second. Where fresh items lie beside the twins, ``fresh_drop``
        is what the score loses from the originals to them.
        """
        if _TAG not in results.items.columns or not (results.items.get_column(_TAG) == TWIN).any():
            raise NotMeasurable(
                f"{self.name}: no item is a twin; eyetest harden twins makes a benchmark that has some"
            )
        keys = results.keys(settings.by)
        pairs = _pairs(results, keys, settings.by)
        rows = list(_rows(pairs, keys, settings.level))
        if not rows:
            raise NotMeasurable(f"{self.name}: nobody answered an original and its twin")
        table = table_of(rows, p=pl.Float64).sort(keys)
        families = [key for key in keys if key != "model"]
        return Measured(with_adjusted(table, families), tuple(_notes(pairs)))


def _pairs(results: Results, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row a series and original: the scores on original, twin and fresh item, and how often the other's gold came.

    The last is null for items answered in words.
    """
    edition, choice = pl.col(_TAG), pl.col("choice")
    of = pl.when(edition == ORIGINAL).then("item").otherwise("group").alias("of")
    known = results.items.select("benchmark", of, "gold", _TAG)
    golds = known.filter(edition == ORIGINAL).join(known.filter(edition == TWIN), on=("benchmark", "of"))
    golds = golds.select("benchmark", "of", pl.col("gold").alias("old"), pl.col("gold_right").alias("new"))
    other = pl.when(edition == TWIN).then("old").when(edition == ORIGINAL).then("new")
    series = [*dict.fromkeys((*keys, "benchmark")), "of"]
    scores = (
        results.with_items("cluster", "group", _TAG, by=by)
        .with_columns(of)
        .join(golds.lazy().unique(("benchmark", "of")), on=("benchmark", "of"))
        .filter(pl.col("score").is_not_null())
        .with_columns(pl.when(other.is_not_null()).then(choice.eq_missing(other).cast(pl.Float64)).alias("others"))
        .group_by(*series, _TAG)
        .agg(pl.col("score", "others").mean(), pl.col("cluster").first())
    )
    original, twin, fresh = (scores.filter(edition == one).drop(_TAG) for one in (ORIGINAL, TWIN, FRESH))
    both = original.join(twin.drop("cluster"), on=series, suffix="_twin")
    both = both.join(fresh.select(*series, pl.col("score").alias("score_fresh")), on=series, how="left")
    return both.sort(series).collect(engine="streaming")


def _rows(pairs: pl.DataFrame, keys: Sequence[str], level: float) -> Iterator[dict[str, Any]]:
    with_fresh = pairs.get_column("score_fresh").is_not_null().any()
    for key, part in split(pairs, keys):
        drop = _paired(part, "score", "score_twin", level)
        choice = part.filter(pl.col("others_twin").is_not_null())
        leak = _paired(choice, "others_twin", "others", level)
        old = mean(choice.get_column("others_twin"), choice.get_column("cluster"), level)
        row = key | {ORIGINAL: drop.a, TWIN: drop.b} | _named("drop", drop)
        row |= old.named("old_gold") | {"new_gold": leak.b} | _named("leak", leak) | {"p": leak.p}
        if with_fresh:
            fresh = _paired(part, "score", "score_fresh", level)
            row |= {FRESH: fresh.b} | _named("fresh_drop", fresh)
        yield row | {"n": drop.n}


def _paired(part: pl.DataFrame, a: str, b: str, level: float) -> Paired:
    one, other, clusters = (part.get_column(name).to_numpy() for name in (a, b, "cluster"))
    return paired(one, other, clusters, level)


def _named(name: str, pair: Paired) -> dict[str, float | None]:
    return {name: pair.difference, f"{name}_low": pair.low, f"{name}_high": pair.high}


def _notes(pairs: pl.DataFrame) -> Iterator[str]:
    words = pairs.filter(pl.col("others_twin").is_null()).get_column("of").n_unique()
    if words:
        yield f"{counted(words, 'original')} answered in words: they count for the drop, not for old golds"


MEASURES = (LeakByTwin(),)
