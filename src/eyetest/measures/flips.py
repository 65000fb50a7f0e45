"""Flips: items that are right in one setting, or for one model, and wrong in another, as a list to read."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, param, short
from eyetest.measures.comparison import pairs_of
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings
from eyetest.measures.side_by_side import SideBySide, side_by_side
from eyetest.measures.sides import OWN, sides

RIGHT = 0.5
"""The mean score over its tests from which on an item counts as right."""
_BETWEEN_MODELS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("a", "b", "only", "item"), pl.String),
    **dict.fromkeys(("a_score", "b_score"), pl.Float64),
    **dict.fromkeys(("flips", "n"), pl.Int64),
}


class Flips:
    """Items right under ``from`` and wrong under ``to`` (lost), the reverse (won), or right for one model only."""

    name = "flips"
    summary = "items right in one setting and wrong in another (from, to), or for one of two models (models), to read"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        **OWN,
        "models": ("", "list instead the items that only one of these has right: A,B"),
        "right": (RIGHT, "the mean score over its tests from which on an item counts as right"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and flipped item; ``flips`` counts its like, ``n`` the items that have both scores."""
        cut = _cut(settings.own.get("right", self.own["right"][0]))
        if settings.own.get("models"):
            return _between_models(results, settings, cut)
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


def _between_models(results: Results, settings: Settings, cut: float) -> Measured:
    """Every pair of the models: one row an item that ``only`` one of them has right, under the same protocol."""
    if settings.own.get("from") or settings.own.get("to"):
        raise InputError(f"flips: either from and to, or models; keep to one setting with {param('where')}")
    families = [*results.varied(("benchmark", *PROTOCOL)), *results.by_tags(settings.by)]
    parts = side_by_side(results, families)
    wanted = pairs_of(sorted({model for part in parts for (model,) in part.columns}), settings.own)
    return Measured(flips_between(parts, wanted, cut))


def flips_between(parts: Sequence[SideBySide], wanted: Sequence[tuple[str, str]], cut: float = RIGHT) -> pl.DataFrame:
    """For each pair of models, the items that only one of them has right: those of the first, then of the second."""
    rows = [row for part in parts for a, b in wanted for row in _only_one(part, a, b, cut)]
    around = dict.fromkeys(parts[0].key if parts else (), pl.String)
    schema: dict[str, type[pl.DataType]] = {**around, **_BETWEEN_MODELS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _only_one(part: SideBySide, a: str, b: str, cut: float) -> Sequence[tuple[Any, ...]]:
    scores = part.table([(a,), (b,)])
    shared = int((~np.isnan(scores)).all(axis=1).sum())
    found = []
    for model, mine, other in ((a, 0, 1), (b, 1, 0)):
        alone = ((scores[:, mine] >= cut) & (scores[:, other] < cut)).nonzero()[0].tolist()
        found += [
            (*part.key.values(), a, b, model, part.items[row], *scores[row].tolist(), len(alone), shared)
            for row in alone
        ]
    return found


def _cut(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"right: {short(value)} is not a number") from None


MEASURES = (Flips(),)
