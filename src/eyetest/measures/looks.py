"""What the look of a screenshot does to scores: its font, its frame, the angle of its photograph …

Items got their levels by lot (a factorial design), so levels are compared as they are; how hard an item is, where it
was asked in other settings too, takes part of the noise out. Factors are compared within a look: a photograph has
some that a screen has not.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.measures.results import (
    PROTOCOL,
    TAG,
    Measure,
    Measured,
    NotMeasurable,
    Own,
    Results,
    Settings,
    refuse_tags,
    split,
    table_of,
)
from eyetest.measures.stats.factorial import Design, level_effects
from eyetest.measures.stats.paired import holm
from eyetest.measures.three_settings import EVERYBODY

LOOK = "look"
_LOOK, _HARDNESS, _SCREENSHOT = TAG + LOOK, "hardness", "screenshot"
_ALONE = "few items: each factor is fitted by itself, as if the others did nothing"
_LEAST = 8
"""Items of a look; with fewer nothing is said about its factors."""


class Looks(Measure):
    """The effect of each level of each factor of a look."""

    name = "looks"
    summary = "what each level of a screenshot's look does to the score, with its interval and a test for each factor"
    own: ClassVar[Own] = {"models": (False, "yes: each model by itself as well, not only all of them together")}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a level: ``effect`` is its score less the mean over its factor's levels, all else being equal.

        ``p`` is of the whole factor, ``p_adjusted`` by Holm's rule over the factors of a series.
        """
        refuse_tags(self.name, settings)
        if LOOK not in results.tags:
            raise NotMeasurable(f"{self.name}: no item has a look; `eyetest harden screenshot` gives items one")
        shown, others = _apart(results)
        keys = _varied(shown, ("benchmark", *PROTOCOL))
        hardness = _hardness(others)
        rows: list[dict[str, Any]] = []
        notes: dict[str, None] = {}
        for key, part in split(shown.sort(*keys, "model", "item"), keys):
            models: list[str] = sorted(part["model"].unique()) if settings.own.get("models") else []
            for model in (EVERYBODY, *models):
                of_model = part if model == EVERYBODY else part.filter(pl.col("model") == model)
                items = _by_item(of_model).join(hardness, on="item", how="left")
                rows += ({**key, "model": model, **row} for row in _rows(items, settings.level, notes))
        if not rows:
            raise NotMeasurable(f"{self.name}: no factor has two levels with two items each")
        if len(hardness):
            shared = len(hardness.join(shown, on="item", how="semi"))
            told = f"adjusted for how hard items are in other settings ({shared:,} items asked there too)"
            notes = {told: None, **notes}
        return Measured(table_of(rows, p=pl.Float64, p_adjusted=pl.Float64), tuple(notes))


def _apart(results: Results) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The scores of screenshots, with the levels of their looks, and those of the same items shown in other ways."""
    looks = [TAG + tag for tag in results.tags if tag == LOOK or tag.startswith(f"{LOOK}_")]
    plain = pl.col("benchmark", "model", *PROTOCOL).cast(pl.String)
    scores = results.with_items("cluster", *looks).drop_nulls("score").with_columns(plain).collect(engine="streaming")
    has_look = pl.col(_LOOK).is_not_null()
    if not len(scores.filter(has_look)):
        raise NotMeasurable("looks: no item with a look has a score")
    is_shown = has_look & (pl.col("sight") == _SCREENSHOT)
    if not len(scores.filter(is_shown)):
        is_shown = has_look
    return scores.filter(is_shown), scores.filter(~is_shown)


def _varied(rows: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    return [column for column in columns if rows[column].n_unique() > 1]


def _hardness(others: pl.DataFrame) -> pl.DataFrame:
    """How much better than its model's mean each item was answered in other settings: ``item, hardness``."""
    series = ("benchmark", "model", *PROTOCOL)
    above = pl.col("score") - pl.col("score").mean().over(series)
    return others.with_columns(above).group_by("item").agg(pl.col("score").mean().alias(_HARDNESS)).sort("item")


def _by_item(rows: pl.DataFrame) -> pl.DataFrame:
    """One row an item: its score and how far it is above its models' means, over all who answered it."""
    looks = [name for name in rows.columns if name.startswith(_LOOK)]
    above = (pl.col("score") - pl.col("score").mean().over("model")).alias("above")
    return (
        rows.with_columns(above)
        .group_by("item", "cluster", *looks)
        .agg(pl.col("score").mean(), pl.col("above").mean())
        .sort("item")
    )


def _rows(items: pl.DataFrame, level: float, notes: dict[str, None]) -> Iterator[dict[str, Any]]:
    """The look itself if there are several, then the factors of each."""
    tests: list[tuple[str, str, pl.DataFrame]] = [("", LOOK, items)]
    found: list[tuple[float | None, list[dict[str, Any]]]] = []
    for look, part in sorted(((str(key[0]), rows) for key, rows in items.group_by(_LOOK))):
        tests += [
            (look, name.removeprefix(TAG), part)
            for name in items.columns
            if name.startswith(f"{_LOOK}_") and len(part) >= _LEAST
        ]
    for look in dict.fromkeys(look for look, _, _ in tests):
        own = [(name, part) for one, name, part in tests if one == look]
        found += _fitted(look, own[0][1], [name for name, _ in own], level, notes)
    for adjusted, (p, rows) in zip(holm([p for p, _ in found]), found, strict=True):
        yield from (row | {"p": p, "p_adjusted": adjusted} for row in rows)


def _fitted(
    look: str, items: pl.DataFrame, factors: Sequence[str], level: float, notes: dict[str, None]
) -> Iterator[tuple[float | None, list[dict[str, Any]]]]:
    """Of each factor that varies its p and the rows of its levels."""
    kept = {name: levels for name in factors if len(levels := _levels(items, TAG + name)) > 1}
    codes = [
        items[TAG + name].replace_strict(levels, range(len(levels)), default=-1, return_dtype=pl.Int64).to_numpy()
        for name, levels in kept.items()
    ]
    if not codes:
        return
    known = (
        items[_HARDNESS].fill_null(0.0).to_numpy()[:, None] if items[_HARDNESS].count() else np.zeros((len(items), 0))
    )
    design = Design(codes, known, items["cluster"].to_numpy())
    fitted, together = level_effects(items["above"].to_numpy(), design, level)
    if not together:
        notes[_ALONE] = None
    for (name, levels), (effects, p) in zip(kept.items(), fitted, strict=True):
        about = [items.filter(pl.col(TAG + name) == value) for value in levels]
        yield (
            p,
            [
                {"look": look or "all", "factor": name, "level": value}
                | effect.named("effect")
                | {"score": part["score"].mean(), "n": len(part)}
                for value, effect, part in zip(levels, effects, about, strict=True)
            ],
        )


def _levels(items: pl.DataFrame, column: str) -> list[str]:
    """The levels that enough items have."""
    counts = items[column].drop_nulls().value_counts(sort=False)
    return sorted(counts.filter(pl.col("count") >= 2)[column].to_list())


MEASURES = (Looks(),)
