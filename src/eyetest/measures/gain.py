"""Multi-modal gain and leakage (MMStar): what a model gets from its eyes, and what it has read before the test.

Gain is the score with the picture minus the score without it. Leakage is the score without it minus that of the
language model it was built on, which saw no pictures in training. The published measure cuts leakage off at 0, which
biases it upwards; the plain difference stands beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import param
from eyetest.measures.aligned import Protocol, Series, like, protocol_label, side_by_side
from eyetest.measures.hits import BLIND_SETTING, blind_sights, strictest, told_choice
from eyetest.measures.results import PROTOCOL, Measure, Measured, NotMeasurable, Own, Results, Settings
from eyetest.measures.stats.intervals import (
    Floats,
    IntervalEstimate,
    effective_clusters,
    percentiles,
    resampled_means,
)
from eyetest.wording import counted

_SCORES = ("sighted", "blind", "base")
UNCLIPPED = "unclipped"
Stratum = tuple[str | None, ...]
"""A benchmark, and the tag values that make a part of it; None where items lack the tag."""


def gain(sighted: float | None, blind: float | None) -> float | None:
    """What sight adds to a score."""
    return None if sighted is None or blind is None else sighted - blind


def leakage(blind: float | None, base: float | None, clipped: bool = True) -> float | None:
    """What a blind model scores above its language model; by the published definition never below 0."""
    if blind is None or base is None:
        return None
    return max(0.0, blind - base) if clipped else blind - base


class Gain(Measure):
    """Gain and leakage of every model that answered with its eyes open and shut."""

    name = "gain"
    summary = "multi-modal gain and leakage, paired, per model and benchmark and averaged both ways"
    own: ClassVar[Own] = {"sighted": ("image", "the sight that counts as seeing"), "blind": BLIND_SETTING}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a model, then the averages over benchmarks, over models, and over both."""
        strata = ["benchmark", *results.by_tags(settings.by)]
        asked = _Asked(results, settings)
        rows: list[_Row] = []
        for index, part in enumerate(side_by_side(results, strata, ("model", *PROTOCOL))):
            rows += _rows(tuple(part.key[name] for name in strata), Series(part), asked, index)
        if not rows:
            sights = f"{settings.own['sighted']} and {_or(asked.no_sights)}"
            raise NotMeasurable(f"gain: no model answered both {sights} under one protocol")
        if all(row.leak is None for row in rows) and not asked.notes:
            known = f"base: in models.yaml, with {param('models')}"
            asked.notes[f"no leakage: no model names its language model ({known})"] = None
        told = [row.told(strata, settings.level) for row in (*rows, *_averages(rows))]
        spared = [] if len({row.stratum for row in rows}) > 1 else list(strata)
        if all(row.leak is None or row.leak_n == row.n for row in rows):
            spared.append("leakage_n")
        notes = (*told_choice(asked.ways, asked.taken), *asked.notes)
        return Measured(pl.DataFrame(told, infer_schema_length=None).drop(spared), notes)


@dataclass(frozen=True)
class _Asked:
    """What was asked of the measure, and what has to be said beside the table."""

    results: Results
    settings: Settings
    notes: dict[str, None] = field(default_factory=dict)
    ways: list[tuple[str, ...]] = field(default_factory=list)
    """The sights under which each row could have been blind."""
    taken: list[str] = field(default_factory=list)
    """And the one that was taken."""

    @property
    def no_sights(self) -> tuple[str, ...]:
        return blind_sights(self.settings.own["blind"])

    def base(self, model: str) -> str | None:
        entry = self.results.models.get(model)
        return entry.base if entry else None


@dataclass(frozen=True)
class _Row:
    """A model's means, and what each resample made of them."""

    stratum: Stratum
    model: str
    protocols: tuple[Protocol | None, ...]
    scores: tuple[float | None, ...]
    values: Mapping[str, tuple[float, Floats]]
    """Gain, leakage and unclipped leakage, each with its resamples; what is not known is not there."""
    n: int
    """Items with both scores of the gain."""
    leak_n: int
    """Items with both scores of the leakage."""
    effective: float
    """The effective number of clusters."""

    @property
    def leak(self) -> float | None:
        return self.values[UNCLIPPED][0] if UNCLIPPED in self.values else None

    def told(self, strata: Sequence[str], level: float) -> dict[str, Any]:
        """The row of the table. Leakage has an interval where the unclipped one varies."""
        row: dict[str, Any] = dict(zip(strata, self.stratum, strict=True)) | {"model": self.model}
        for name, judge in (("gain", "gain"), ("leakage", UNCLIPPED), (UNCLIPPED, UNCLIPPED)):
            value, drawn = self.values.get(name, (None, None))
            bounds: tuple[float | None, float | None] = (None, None)
            if drawn is not None and _varied(self.values[judge][1]):
                bounds = percentiles(drawn, level, self.effective)
            row |= IntervalEstimate(value, *bounds, self.n).named(name)
        row |= {"n": self.n, "leakage_n": self.leak_n} | dict(zip(_SCORES, self.scores, strict=True))
        return row | {f"{name}_by": protocol_label(how) for name, how in zip(_SCORES, self.protocols, strict=True)}


def _rows(stratum: Stratum, series: Series, asked: _Asked, index: int) -> list[_Row]:
    """The models of one benchmark, or of one part of it, all on the same resamples."""
    trios = list(_trios(series, asked))
    columns = [
        [series.column(name, protocol) for name, protocol in ((model, sighted), (model, blind), (base, text))]
        for model, base, (sighted, blind, text) in trios
    ]
    if not columns:
        return []
    pairs = np.column_stack([pair for sighted, blind, base in columns for pair in (sighted - blind, blind - base)])
    drawn = resampled_means(pairs, series.clusters, asked.settings.resamples, (asked.settings.seed, index))
    rows = []
    for i, ((model, _, protocols), (sighted, blind, base)) in enumerate(zip(trios, columns, strict=True)):
        gains, leaks = pairs[:, 2 * i], pairs[:, 2 * i + 1]
        both, known = ~np.isnan(gains), ~np.isnan(leaks)
        values: dict[str, tuple[float, Floats]] = {}
        if both.any():
            values["gain"] = float(gains[both].mean()), drawn[:, 2 * i]
        if known.any():
            leak, again = float(leaks[known].mean()), drawn[:, 2 * i + 1]
            values |= {"leakage": (max(0.0, leak), np.maximum(again, 0.0)), UNCLIPPED: (leak, again)}
        scores = (_mean(sighted[both]), _mean(blind[both]), _mean(base[known]))
        effective = float(effective_clusters(np.unique(series.clusters[both], return_counts=True)[1]))
        rows.append(_Row(stratum, model, protocols, scores, values, int(both.sum()), int(known.sum()), effective))
    return rows


def _trios(series: Series, asked: _Asked) -> Iterator[tuple[str, str, tuple[Protocol | None, ...]]]:
    """Each model, its language model, and the protocols of the three scores that belong together."""
    no_sights = asked.no_sights
    for model in series.models:
        base = asked.base(model)
        for sighted in series.protocols(model, (asked.settings.own["sighted"],)):
            ways = like(series.protocols(model, no_sights), sighted)
            if not ways:
                continue
            blind = _strictest(series, model, ways)
            asked.ways.append(tuple(way[0] for way in ways))
            asked.taken.append(blind[0])
            text = None
            if base:
                texts = like(series.protocols(base, no_sights), blind)
                text = blind if blind in texts else _strictest(series, base, texts) if texts else None
                if text is None:
                    note = f"no leakage of {model}: its language model {base} was not asked {_or(no_sights)}"
                    asked.notes[note] = None
                elif text[0] != blind[0]:
                    asked.notes[f"leakage of {model}: asked {blind[0]}, its language model {base} {text[0]}"] = None
            yield model, base or "", (sighted, blind, text)


def _strictest(series: Series, model: str, ways: Sequence[Protocol]) -> Protocol:
    """Of protocols that differ in sight alone, that under which the model answers most."""
    by_sight = {way[0]: way for way in ways}
    return by_sight[strictest({sight: series.column(model, way) for sight, way in by_sight.items()})]


def _or(sights: Sequence[str]) -> str:
    *others, last = sights
    return f"{', '.join(others)} or {last}" if others else last


def _averages(rows: Sequence[_Row]) -> Iterator[_Row]:
    """Over benchmarks (or their parts) for each model, over models for each of them, and over all."""
    strata = list(dict.fromkeys(row.stratum for row in rows))
    models = list(dict.fromkeys(row.model for row in rows))
    everywhere = (f"mean of {len(strata)}", *("" for _ in strata[0][1:]))
    if len(strata) > 1:
        for model in models:
            mine = [row for row in rows if row.model == model]
            if len({row.stratum for row in mine}) == len(strata):
                yield _average(mine, everywhere, model)
    if len(models) > 1:
        for stratum in strata:
            here = [row for row in rows if row.stratum == stratum]
            yield _average(here, stratum, f"mean of {counted(len(here), 'row')}")
    if len(strata) > 1 and len(models) > 1:
        yield _average(rows, everywhere, f"mean of {counted(len(rows), 'row')}")


def _average(rows: Sequence[_Row], stratum: Stratum, model: str) -> _Row:
    values: dict[str, tuple[float, Floats]] = {}
    for name in ("gain", "leakage", UNCLIPPED):
        if known := [row.values[name] for row in rows if name in row.values]:
            means, drawn = zip(*known, strict=True)
            values[name] = float(np.mean(means)), np.mean(drawn, axis=0)
    columns = zip(*(row.scores for row in rows), strict=True)
    scores = tuple(_mean(np.array([score for score in column if score is not None])) for column in columns)
    counts = sum(row.n for row in rows), sum(row.leak_n for row in rows), max(row.effective for row in rows)
    return _Row(stratum, model, (None, None, None), scores, values, *counts)


def _varied(drawn: Floats) -> bool:
    """Whether resamples differ: where no item does, drawing again cannot show what was never seen."""
    known = drawn[~np.isnan(drawn)]
    return bool(len(known)) and bool(np.ptp(known) > 0)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


MEASURES = (Gain(),)
