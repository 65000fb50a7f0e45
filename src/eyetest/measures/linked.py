"""Linked settings: what changes from one way of asking, or one benchmark, to another, for scores, ranks and items."""

from collections.abc import Iterator, Sequence
from math import hypot, isnan
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import InputError, param, short
from eyetest.measures.aligned import FROM_TO, Sides, side_by_side, sides
from eyetest.measures.compare import RIGHT, flips_between, pairs_of
from eyetest.measures.means import with_adjusted
from eyetest.measures.results import Measure, Measured, NotMeasurable, Own, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, mean
from eyetest.measures.stats.paired import paired

_NOT_PAIRED = "other items on either side: differences are not paired"


class MmmuPro(NamedTuple):
    """MMMU-Pro's differences. ``original`` is the source benchmark's score, not that of its four-option setting.

    Δ1 is ten options − original, Δ2 vision − original; ``overall`` is the mean of ten options and vision, and
    ``difference``, Δ3, overall − original.
    """

    ten_options: float
    vision: float
    overall: float
    difference: float


def mmmu_pro(original: float, ten_options: float, vision: float) -> MmmuPro:
    """What a model's three scores come to."""
    overall = (ten_options + vision) / 2
    return MmmuPro(ten_options - original, vision - original, overall, overall - original)


def ranks(before: Sequence[float], after: Sequence[float]) -> tuple[list[int], list[int]]:
    """The ranks of some models in two settings, 1 the best. Equals stand as they do in the other setting."""
    return _ranks(before, after), _ranks(after, before)


def _ranks(scores: Sequence[float], ties: Sequence[float]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], -ties[i]))
    return [rank for rank, _ in sorted(enumerate(order, 1), key=lambda placed: placed[1])]


def unpaired(before: IntervalEstimate, after: IntervalEstimate) -> IntervalEstimate:
    """How far two means over different items lie apart; the interval is from either mean's own (Newcombe's way)."""
    if before.value is None or after.value is None:
        return NOTHING
    (a, a_low, a_high), (b, b_low, b_high) = (np.array(side[:3], float).tolist() for side in (before, after))
    ends = b - a - hypot(b - b_low, a_high - a), b - a + hypot(b_high - b, a - a_low)
    low, high = (None if isnan(end) else end for end in ends)
    return IntervalEstimate(b - a, low, high, before.n + after.n)


class Linked(Measure):
    """The difference that a setting makes, by model, and how ranks move."""

    name = "linked"
    summary = "differences between two linked settings (from, to): scores, intervals, ranks"
    own: ClassVar[Own] = FROM_TO

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value that has both sides; ``risen`` says by how many ranks a model got better.

        Where the sides share items, only these count and differences are paired.
        """
        two = sides(results, settings, self.name)
        shared = two.shared
        rows = list(_paired(shared, two.keys, settings.level) if len(shared) else _apart(two, settings.level))
        table = table_of(rows, p=pl.Float64).cast({key: two.before.schema[key] for key in two.keys}).sort(two.keys)
        others = [key for key in two.keys if key != "model"]
        ranked = pl.concat([_ranked(part) for _, part in split(table, others)]).sort(two.keys)
        return Measured(with_adjusted(ranked, others), () if len(shared) else (_NOT_PAIRED,))


def _paired(shared: pl.DataFrame, keys: Sequence[str], level: float) -> Iterator[dict[str, Any]]:
    for key, part in split(shared, keys):
        before, after, clusters = (part.get_column(name).to_numpy() for name in ("score", "score_after", "cluster"))
        pair = paired(after, before, clusters, level)
        gap = {"difference": pair.difference, "difference_low": pair.low, "difference_high": pair.high, "p": pair.p}
        yield (
            key
            | {"from_score": pair.b, "to_score": pair.a}
            | gap
            | {"from_n": pair.n, "to_n": pair.n, "paired": True}
        )


def _apart(two: Sides, level: float) -> Iterator[dict[str, Any]]:
    after = {tuple(key.values()): part for key, part in split(two.after, two.keys)}
    for key, part in split(two.before, two.keys):
        if tuple(key.values()) in after:
            frames = (part, after[tuple(key.values())])
            one, other = (mean(frame.get_column("score"), frame.get_column("cluster"), level) for frame in frames)
            gap = unpaired(one, other).named("difference") | {"p": None}
            counts = {"from_n": one.n, "to_n": other.n, "paired": False}
            yield key | {"from_score": one.value, "to_score": other.value} | gap | counts


def _ranked(table: pl.DataFrame) -> pl.DataFrame:
    before, after = ranks(table.get_column("from_score").to_list(), table.get_column("to_score").to_list())
    columns = table.with_columns(pl.Series("from_rank", before), pl.Series("to_rank", after))
    return columns.with_columns((pl.col("from_rank") - pl.col("to_rank")).alias("risen"))


class Flips(Measure):
    """Items right under ``from`` and wrong under ``to`` (lost), the reverse (won), or right for one model only."""

    name = "flips"
    summary = "items right in one setting and wrong in another (from, to), or for one of two models (models), to read"
    own: ClassVar[Own] = {
        **FROM_TO,
        "models": ("", "list instead the items that only one of these has right: A,B"),
        "right": (RIGHT, "the mean score over its tests from which on an item counts as right"),
        "over": ("", "models: one row an item, with how many models lost and won it"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and flipped item; ``flips`` counts its like, ``n`` the items that have both scores."""
        right = settings.own.get("right", RIGHT)
        try:
            cut = float(right)
        except (TypeError, ValueError):
            raise InputError(f"right: {short(right)} is not a number") from None
        if settings.own.get("models"):
            return _between_models(results, settings, cut)
        two = sides(results, settings, self.name)
        shared = two.shared
        if not len(shared):
            raise NotMeasurable("flips: the two settings have no item in common")
        first, then = pl.col("score") >= cut, pl.col("score_after") >= cut
        flip = pl.when(first & ~then).then(pl.lit("lost")).when(~first & then).then(pl.lit("won"))
        over = str(settings.own.get("over", ""))
        if over not in ("", "models"):
            raise InputError(f"over: found {short(over)}, expected models")
        if over:
            return _over_models(shared.with_columns(flip.alias("flip")), [key for key in two.keys if key != "model"])
        counted = shared.with_columns(flip.alias("flip"), pl.len().over(two.keys).cast(pl.Int64).alias("n"))
        flipped = counted.filter(pl.col("flip").is_not_null())
        table = flipped.select(
            *two.keys,
            *("flip", "item"),
            pl.col("score").alias("from_score"),
            pl.col("score_after").alias("to_score"),
            pl.len().over(*two.keys, "flip").cast(pl.Int64).alias("flips"),
            "n",
        )
        series = shared.select(two.keys).n_unique()
        lost = int((table.get_column("flip") == "lost").sum())
        note = f"{lost:,} lost and {len(table) - lost:,} won of {len(shared):,} pairs in {series} series"
        return Measured(table.sort(*two.keys, "flip", "item"), (note,))


def _over_models(flipped: pl.DataFrame, keys: Sequence[str]) -> Measured:
    """By item: how many models lost it, how many won it, and who of how many; those that most lost come first."""
    flip = pl.col("flip")
    table = flipped.group_by(*keys, "item").agg(
        (flip == "lost").sum().cast(pl.Int64).alias("lost"),
        (flip == "won").sum().cast(pl.Int64).alias("won"),
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("model").cast(pl.String).filter(flip == "lost").sort().str.join(", ").alias("lost_by"),
    )
    kept = table.filter((pl.col("lost") > 0) | (pl.col("won") > 0))
    order = [*(False for _ in keys), True, False, False]
    return Measured(kept.sort(*keys, "lost", "won", "item", descending=order))


def _between_models(results: Results, settings: Settings, cut: float) -> Measured:
    """Every pair of the models: one row an item that ``only`` one of them has right, under the same protocol."""
    if settings.own.get("from") or settings.own.get("to"):
        raise InputError(f"flips: either from and to, or models; keep to one setting with {param('where')}")
    parts = side_by_side(results, results.families(settings.by))
    wanted = pairs_of(sorted({model for part in parts for (model,) in part.columns}), settings.own)
    return Measured(flips_between(parts, wanted, cut))


MEASURES = (Linked(), Flips())
