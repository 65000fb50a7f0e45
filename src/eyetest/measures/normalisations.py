"""What log-probabilities are held against each other by: their sums, or sums made comparable in some way.

A sum favours short choices. Divided by tokens or bytes it favours long ones; PMI asks how much likelier a choice is
for the question than without one, image-PMI how much likelier for the picture than without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, param
from eyetest.measures.means import compared, mean_table
from eyetest.measures.results import Measure, Measured, NotMeasurable, Own, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.likelihoods import gained
from eyetest.measures.weighed import WeighedAnswers, weighed

SUM, TOKEN, BYTE, PMI, IMAGE_PMI = "sum", "per token", "per byte", "PMI", "image-PMI"
NORMALISATIONS = (SUM, TOKEN, BYTE, PMI, IMAGE_PMI)
LIKELIHOOD = "likelihood"
BLIND_REFERENCE = ("blind", "the sight that image-PMI is held against: blind, grey or blind-guess")
_UNASKED = {"image": "no-question", "blind": "nothing"}
"""What a sight is without its question."""
References = Mapping[str, str | None]
"""The sight that a normalisation is held against; None where the sight that is told has none."""


class Normalisations(Measure):
    """Accuracy under likelihood, by what the log-probabilities of choices are held against each other by."""

    name = "normalisations"
    summary = (
        "accuracy under likelihood by normalisation: sum, per token, per byte, PMI, image-PMI, and what they change"
    )
    own: ClassVar[Own] = {
        "sight": ("image", "the sight whose accuracy is told: image or blind"),
        "blind": BLIND_REFERENCE,
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series, tag value and normalisation; ``difference`` is paired, from the sum.

        A tie is no answer, an impossible choice is never chosen: as scoring has it.
        """
        every = weighed(results, self.name, (LIKELIHOOD,), settings.by)
        sight = str(settings.own.get("sight", "image"))
        answers = every.where(sight=sight)
        if answers.rows.is_empty():
            known = nearest(sight, every.rows.get_column("sight").unique())
            raise InputError(f"sight: no choice was weighed under {sight}; {known}")
        answers = answers.take(answers.rows.get_column("score").is_not_null().to_numpy())
        blind = str(settings.own.get("blind", BLIND_REFERENCE[0]))
        references = {PMI: _UNASKED.get(sight), IMAGE_PMI: blind if sight == "image" else None}
        weights = _weights(every, answers, references)
        if not weights:
            raise NotMeasurable(f"{self.name}: no weighed item has a right choice")
        keys = [key for key in results.keys(settings.by) if key not in ("sight", "method")]
        of_item = _by_item(answers, {name: answers.right(values) for name, values in weights.items()}, keys)
        return Measured(_table(of_item, keys, settings.level), tuple(_notes(answers, weights, references)))


def _weights(every: WeighedAnswers, answers: WeighedAnswers, references: References) -> dict[str, Floats]:
    """What choices are held against each other by, for each normalisation that the answers allow."""
    if answers.rows.is_empty():
        return {}
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = {SUM: answers.logs, TOKEN: answers.logs / answers.tokens, BYTE: answers.logs / answers.bytes}
    for name, sight in references.items():
        weights[name] = np.full(answers.logs.shape, np.nan)
        if sight is not None:
            others = every.where(sight=sight)
            mine, theirs = answers.matches(others)
            weights[name][mine] = gained(answers.logs[mine], others.logs[theirs])
    return {name: values for name, values in weights.items() if name == SUM or not np.isnan(values).all()}


def _by_item(answers: WeighedAnswers, right: dict[str, Floats], keys: Sequence[str]) -> pl.DataFrame:
    """The share of an item's tests that are right: ``*keys, normalisation, item, cluster, accuracy``."""
    parts = [
        answers.rows.select(*dict.fromkeys((*keys, "item", "cluster")))
        .with_columns(pl.lit(name).alias("normalisation"), pl.Series("accuracy", values, nan_to_null=True))
        .drop_nulls("accuracy")
        for name, values in right.items()
    ]
    of_item = pl.concat(parts).group_by(*keys, "normalisation", "item", "cluster").agg(pl.col("accuracy").mean())
    return of_item.with_columns(pl.lit(True).alias("accuracy binary")).sort(*keys, "normalisation", "item")


def _table(of_item: pl.DataFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    series = [*keys, "normalisation"]
    means = mean_table(of_item.lazy(), series, ["accuracy"], level)
    gaps = table_of(list(_differences(of_item, keys, level)), **dict.fromkeys(series, pl.String))
    order = pl.col("normalisation").replace_strict({name: number for number, name in enumerate(NORMALISATIONS)})
    joined = means.join(gaps, on=series, how="left", nulls_equal=True).sort(*keys, order)
    told = ["accuracy", "accuracy_low", "accuracy_high", "difference", "difference_low", "difference_high"]
    return joined.select(*series, *told, "n", "clusters")


def _differences(of_item: pl.DataFrame, keys: Sequence[str], level: float) -> Iterator[dict[str, Any]]:
    for key, part in split(of_item, keys):
        plain = part.filter(pl.col("normalisation") == SUM).select("item", pl.col("accuracy").alias("plain"))
        for about, rows in split(part, ["normalisation"]):
            both = rows.join(plain, on="item", how="inner", maintain_order="left")
            gap = compared(both, "accuracy", "plain", level).gap
            yield key | about | (dict.fromkeys(gap) if about["normalisation"] == SUM else gap)


def _notes(answers: WeighedAnswers, weights: dict[str, Floats], references: References) -> Iterator[str]:
    for name, sight in references.items():
        if sight and name not in weights:
            yield f"no {name}: nobody was asked the same with {param('sight', sight)}"
    for name, why in ((TOKEN, "tokens"), (BYTE, "bytes")):
        if name not in weights:
            yield f"no sum {name}: how many {why} choices have was not stored"
    for name, values in weights.items():
        lacks = int((np.isnan(values) & ~np.isnan(answers.logs)).any(axis=1).sum())
        if lacks:
            yield f"{name}: {lacks:,} of {len(values):,} answers lack what it takes, and are left out"


MEASURES = (Normalisations(),)
