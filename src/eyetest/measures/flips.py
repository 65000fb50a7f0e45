"""Flips: items that a model has right in one setting and wrong in another, as a list to read."""

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from eyetest.errors import InputError, short
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.measures.sides import OWN, sides


class Flips:
    """Items right under ``from`` and wrong under ``to`` (lost), and the reverse (won)."""

    name = "flips"
    summary = "items right in one setting and wrong in another (from, to), to read"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        **OWN,
        "right": (0.5, "the mean score over its tests from which on an item counts as right"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and flipped item; ``flips`` counts its like, ``n`` the items that have both scores."""
        cut = _cut(settings.own.get("right", self.own["right"][0]))
        two = sides(results, settings, self.name)
        shared = two.shared
        if not len(shared):
            raise NotMeasurable("flips: the two settings have no item in common")
        right, then = pl.col("score") >= cut, pl.col("score_after") >= cut
        flip = pl.when(right & ~then).then(pl.lit("lost")).when(~right & then).then(pl.lit("won"))
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


def _cut(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"right: {short(value)} is not a number") from None


MEASURES = (Flips(),)
