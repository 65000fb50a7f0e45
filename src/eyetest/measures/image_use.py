"""How much of a model's choice comes from the picture: its log-probabilities with the picture against those without.

Image-PMI is log P(choice | picture, question) − log P(choice | question). A picture also makes any answer more or
less likely than no picture does, so what it does to choices is asked of the probability that lies among them.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, heading, param, short
from eyetest.measures.generation_likelihood import WEIGHED
from eyetest.measures.means import mean_columns, mean_table
from eyetest.measures.normalisations import BLIND_REFERENCE
from eyetest.measures.results import Measure, Measured, NotMeasurable, Own, Results, Settings
from eyetest.measures.stats.intervals import Bools, Floats
from eyetest.measures.stats.likelihoods import among_choices, gained, likeliest, moved
from eyetest.measures.weighed import WeighedAnswers, weighed
from eyetest.wording import counted

_PMI = ("gold_lead", "gold_pmi", "chosen_pmi")
_SHARES = ("helped", "hurt", "left_alone")
_LEAST = 0.05
_OWN: Own = {
    "sighted": (
        "image",
        "the sight that counts as seeing; grey instead shows what the mere presence of a picture does",
    ),
    "blind": BLIND_REFERENCE,
    "least": (_LEAST, "how far the probability of the right choice has to move for the picture to help or hurt"),
}


class ImageUse(Measure):
    """What pictures do to the probabilities of choices, by model."""

    name = "image-use"
    summary = (
        "image-PMI of right and chosen options, probability that the picture moves, items that it helps or hurts"
    )
    own: ClassVar[Own] = _OWN

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value. PMI is in nats, ``moved`` a share of probability: 0 is a picture unused.

        Whoever sees a picture may find every choice likelier, so a gold PMI above 0 shows no use of it. ``gold_lead``
        does: by how much more the picture raises the right choice than the wrong ones, 0 for whoever knows nothing.
        The picture helps where it brings the right choice more of the probability among choices, hurts where it takes
        some away, and leaves alone what it changes by less than ``least``. Any picture moves something, for no good
        reason: ``moved_by_grey`` says how much, where grey ones were shown too.
        """
        rows, notes = _by_item(self.name, results, settings)
        keys = [key for key in results.keys(settings.by) if key != "sight"]
        values = (*_PMI, "moved", *_SHARES)
        table = mean_table(rows.lazy(), keys, values, settings.level, signed=(*_PMI, "moved"))
        try:
            grey, _ = _by_item(self.name, results, replace(settings, own={**settings.own, "sighted": "grey"}))
        except NotMeasurable:
            return Measured(table, notes)
        moved_too = mean_table(grey.lazy(), keys, ["moved"], settings.level, signed=["moved"])
        floor = moved_too.select(*keys, pl.col("^moved.*$").name.replace("^moved", "moved_by_grey"))
        counts = ("n", "clusters")
        joined = table.join(floor, on=keys, how="left", maintain_order="left", nulls_equal=True)
        return Measured(joined.select(pl.exclude(counts), *counts), notes)


class ImageUseItems(Measure):
    """What pictures do to the probabilities of choices, by item; those that move no model's choice come first."""

    name = "image-use-items"
    summary = "how far each item's picture moves the choices of models, least first: pictures that nobody uses"
    own: ClassVar[Own] = _OWN

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item: means over models, ``most_moved`` of the model that it moves most; ``n`` counts models.

        ``sighted`` and ``blind`` are shares of models whose likeliest choice is right with and without the picture.
        """
        rows, notes = _by_item(self.name, results, settings)
        keys = [key for key in results.keys(settings.by) if key not in ("sight", "model")]
        about = [*keys, "item"]
        models = rows.with_columns(pl.col("model").alias("cluster")).lazy()
        means = mean_columns(models, about, ("gold_pmi", "moved"), signed=("gold_pmi", "moved"), level=settings.level)
        most = rows.group_by(about).agg(
            pl.col("moved").max().alias("most_moved"), pl.col("helped", "hurt", "sighted", "blind").mean()
        )
        told = ("gold_pmi", "gold_pmi_low", "gold_pmi_high", "helped", "hurt", "sighted", "blind")
        table = means.join(most, on=about, nulls_equal=True)
        ordered = table.select(*about, "most_moved", "moved", *told, pl.col("moved_n").alias("n"))
        return Measured(ordered.sort(*keys, "most_moved", "moved", "item", nulls_last=True), notes)


def _by_item(name: str, results: Results, settings: Settings) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A row a series and item: means over its tests of what the picture does, and what has to be said beside."""
    own = {key: settings.own.get(key, default) for key, (default, _) in _OWN.items()}
    least = float(own["least"])
    if not 0 <= least < 1:
        raise InputError(f"{heading('own', 'least')}: found {short(least)}, expected a share from 0 to 1")
    every = weighed(results, name, WEIGHED, settings.by)
    sighted, blind = (every.where(sight=str(own[side])) for side in ("sighted", "blind"))
    mine, theirs = sighted.matches(blind)
    if not len(mine):
        asked = param("sight", f"{own['sighted']},{own['blind']}")
        raise NotMeasurable(f"{name}: no choice was weighed both with and without the picture; ask with {asked}")
    before, after = blind.take(theirs), sighted.take(mine)
    shown = (after.rows.get_column("request") != before.rows.get_column("request")).to_numpy()
    if not shown.any():
        raise NotMeasurable(f"{name}: no item has a picture")
    values = _changes(after.take(shown), before.take(shown), least)
    keys = [key for key in results.keys(settings.by) if key != "sight"]
    about = [*dict.fromkeys((*keys, "model", "item", "cluster"))]
    rows = after.take(shown).rows.select(about).hstack(values)
    of_item = rows.group_by(about, maintain_order=True).agg(pl.col(values.columns).mean())
    binary = [pl.lit(True).alias(f"{share} binary") for share in _SHARES]
    return of_item.with_columns(binary), _notes(shown, values)


def _changes(after: WeighedAnswers, before: WeighedAnswers, least: float) -> pl.DataFrame:
    """Of each answer what the picture did; null where it has no number, as where a choice was impossible before."""
    pmi = gained(after.logs, before.logs)
    chances, without = among_choices(after.logs), among_choices(before.logs)
    chosen, number = likeliest(after.logs), np.arange(len(pmi))
    has_gold = after.golds.any(axis=1)
    held, held_before = (np.where(after.golds, side, 0.0).sum(axis=1) for side in (chances, without))
    rise = np.where(has_gold, held - held_before, np.nan)
    columns: dict[str, Floats] = {
        "gold_lead": _of_golds(after) - _of_golds(before) - _mean_of_others(pmi, after.golds),
        "gold_pmi": _of_golds(after) - _of_golds(before),
        "chosen_pmi": np.where(chosen >= 0, pmi[number, chosen], np.nan),
        "moved": moved(chances, without),
        "helped": np.where(np.isnan(rise), np.nan, rise > least),
        "hurt": np.where(np.isnan(rise), np.nan, rise < -least),
        "left_alone": np.where(np.isnan(rise), np.nan, np.abs(rise) <= least),
        "sighted": np.where(has_gold, after.right(after.logs), np.nan),
        "blind": np.where(has_gold, before.right(before.logs), np.nan),
    }
    finite = {name: np.where(np.isfinite(values), values, np.nan) for name, values in columns.items()}
    return pl.DataFrame(finite, nan_to_null=True)


def _of_golds(answers: WeighedAnswers) -> Floats:
    """The log-probability of the right choice, of any of them where there are several; nan where none is known."""
    logs = np.logaddexp.reduce(np.where(answers.golds, answers.logs, -np.inf), axis=1)
    return np.where(answers.golds.any(axis=1), logs, np.nan)


def _mean_of_others(pmi: Floats, golds: Bools) -> Floats:
    """The mean PMI of the wrong choices; nan where there are none."""
    others = ~golds & ~np.isnan(pmi)
    counts = np.where(others.any(axis=1), others.sum(axis=1), np.nan)
    return np.asarray(np.where(others, pmi, 0.0).sum(axis=1) / counts)


def _notes(shown: Bools, values: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    if plain := int((~shown).sum()):
        notes.append(f"{counted(plain, 'answer')} about no picture left out")
    if undefined := int(values.select("gold_pmi").null_count().item() - values.select("sighted").null_count().item()):
        notes.append(f"{counted(undefined, 'answer')} without a PMI: the right choice was impossible on one side")
    return tuple(notes)


MEASURES = (ImageUse(), ImageUseItems())
