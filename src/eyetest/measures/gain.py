"""Multi-modal gain (score with the image less without) and leakage (without it less the language model's; MMStar),
also unclipped, as clipping at 0 biases it upwards. Best blind series get Holm-adjusted tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import param
from eyetest.measures.aligned import Protocol, SideBySide, like, protocol_label, side_by_side
from eyetest.measures.hits import BLIND_SETTING, blind_modalities, strictest
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings, measure, table_of
from eyetest.measures.stats.intervals import (
    Floats,
    IntervalEstimate,
    effective_clusters,
    mean,
    percentiles,
    resampled_means,
)
from eyetest.measures.stats.paired import against, holm, paired
from eyetest.wording import counted

_SCORES = ("sighted", "blind", "base")
UNCLIPPED = "unclipped"
Stratum = tuple[str | None, ...]  # a benchmark and tag values; None where items lack the tag
_Trio = tuple[str, str, tuple[Protocol | None, ...]]


@measure(
    "gain",
    "multi-modal gain and leakage, paired, per model and benchmark and averaged both ways",
    {"sighted": ("image", "the modality that counts as seeing"), "blind": BLIND_SETTING},
)
def gain(results: Results, settings: Settings) -> Measured:
    """One row a model, then the averages over benchmarks, over models, and over both."""
    strata, notes = ["benchmark", *results.by_tags(settings.by)], dict[str, None]()
    rows: list[_Row] = []
    for index, part in enumerate(side_by_side(results, strata, ("model", *PROTOCOL))):
        stratum = tuple(part.key[name] for name in strata)
        rows += _rows(stratum, part, list(_trios(part, results, settings, notes)), settings, index)
    if not rows:
        modalities = f"{settings.own['sighted']} and {_or(blind_modalities(settings.own['blind']))}"
        raise NotMeasurable(f"gain: no model answered both {modalities} under one protocol")
    if all(row.leak is None for row in rows) and not notes:
        notes[f"Leakage: not measured (no base language model named); see base: and {param('models')}"] = None
    table = [row.told(strata, settings.level) for row in (*rows, *_averages(rows))]
    spared = [] if len({row.stratum for row in rows}) > 1 else list(strata)
    if all(row.leak is None or row.leak_n == row.n for row in rows):
        spared.append("leakage_n")
    return Measured(pl.DataFrame(table, infer_schema_length=None).drop(spared), tuple(notes))


@dataclass(frozen=True)
class _Row:
    """A model's means, and those of each resample."""

    stratum: Stratum
    model: str
    protocols: tuple[Protocol | None, ...]
    scores: tuple[float | None, ...]
    values: Mapping[str, tuple[float, Floats]]  # of gain, leakage and unclipped leakage, as far as known
    n: int  # items with both scores of the gain
    leak_n: int  # items with both scores of the leakage
    effective: float  # the effective number of clusters

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


def _rows(stratum: Stratum, part: SideBySide, trios: Sequence[_Trio], settings: Settings, index: int) -> list[_Row]:
    """The models of one benchmark, or of a part of it, all on the same resamples."""
    columns = [
        part.table([(name, *(how or ())) for name, how in zip((model, model, base), protocols, strict=True)]).T
        for model, base, protocols in trios
    ]
    if not columns:
        return []
    pairs = np.column_stack([pair for sighted, blind, base in columns for pair in (sighted - blind, blind - base)])
    drawn = resampled_means(pairs, part.clusters, settings.resamples, (settings.seed, index))
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
        effective = float(effective_clusters(np.unique(part.clusters[both], return_counts=True)[1]))
        rows.append(_Row(stratum, model, protocols, scores, values, int(both.sum()), int(known.sum()), effective))
    return rows


def _trios(part: SideBySide, results: Results, settings: Settings, notes: dict[str, None]) -> Iterator[_Trio]:
    """Each model, its language model, and the protocols of their three scores."""
    no_modalities = blind_modalities(settings.own["blind"])
    asked: dict[str, list[Protocol]] = {}
    for who, *how in part.columns:
        asked.setdefault(who, []).append(tuple(how))
    unseen = {model: [how for how in protocols if how[0] in no_modalities] for model, protocols in asked.items()}
    for model in sorted(asked):
        base = (entry := results.models.get(model)) and entry.base
        for sighted in asked[model]:
            ways = like(unseen[model], sighted)
            if sighted[0] != settings.own["sighted"] or not ways:
                continue
            blind = _strictest(part, model, ways)
            text = None
            if base:
                texts = like(unseen.get(base, []), blind)
                text = blind if blind in texts else _strictest(part, base, texts) if texts else None
                if text is None:
                    note = f"Leakage of {model}: not measured (base model {base} was not asked {_or(no_modalities)})"
                    notes[note] = None
                elif text[0] != blind[0]:
                    notes[f"leakage of {model}: asked {blind[0]}, its language model {base} {text[0]}"] = None
            yield model, base or "", (sighted, blind, text)


def _strictest(part: SideBySide, model: str, ways: Sequence[Protocol]) -> Protocol:
    """Of protocols that differ in modality alone, that with the most right answers."""
    columns = part.table([(model, *way) for way in ways]).T
    best = strictest({way[0]: column for way, column in zip(ways, columns, strict=True)})
    return next(way for way in ways if way[0] == best)


def _or(modalities: Sequence[str]) -> str:
    *others, last = modalities
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
    """Whether resamples differ: without differing items resampling shows no spread."""
    known = drawn[~np.isnan(drawn)]
    return bool(len(known)) and bool(np.ptp(known) > 0)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


SIGHTED = "image,screenshot"  # the modalities that show the image
_NEARLY_ALL = 0.9  # who answered fewer items than this share of what another did is not called the best
_TESTS: dict[str, type[pl.DataType]] = dict.fromkeys(("p", "p_adjusted"), pl.Float64)


class _BestBlind(NamedTuple):
    """Candidates for the best blind series of one part of the results, and which is."""

    part: SideBySide
    columns: Sequence[int]
    best: int

    def scores(self, column: int) -> Floats:
        return self.part.scores[:, column]

    def who(self, column: int) -> tuple[str, str | None]:
        model, *protocol = map(str, self.part.columns[column])
        return model, protocol_label(tuple(protocol))


def _blind_series(results: Results, settings: Settings) -> Iterator[_BestBlind]:
    """The blind series of each benchmark and tag value with nearly the largest number of items."""
    around = [*results.varied(["benchmark"]), *results.by_tags(settings.by)]
    for part in side_by_side(results, around, ("model", *PROTOCOL)):
        blind = _with_modality(part, blind_modalities(settings.own["blind"]))
        known = {column: int((~np.isnan(part.scores[:, column])).sum()) for column in blind}
        rivals = [column for column, n in known.items() if n >= _NEARLY_ALL * max(known.values())]
        if rivals:
            yield _BestBlind(part, rivals, max(rivals, key=lambda at: float(np.nanmean(part.scores[:, at]))))


@measure(
    "best-blind",
    "the best that any model scores without the image, beside guessing; tested as the best of many",
    {"blind": BLIND_SETTING},
)
def best_blind(results: Results, settings: Settings) -> Measured:
    """One row a benchmark and tag value; guessing is beside it where items have options."""
    rows = []
    for blind in _blind_series(results, settings):
        part = blind.part
        guess = _guess(results, part)
        pairs = [paired(blind.scores(column), guess, part.clusters, settings.level) for column in blind.columns]
        tested = dict(zip(blind.columns, zip(pairs, holm([pair.p for pair in pairs]), strict=True), strict=True))
        (pair, adjusted), scores = tested[blind.best], blind.scores(blind.best)
        known = ~np.isnan(scores)
        row = {**part.key, **dict(zip(("model", "blind_by"), blind.who(blind.best), strict=True))}
        row |= mean(scores[known], part.clusters[known], settings.level).named("blind")
        row |= {"with_options": pair.a, "guessing": pair.b} | pair.gap("above")
        row |= {"p": pair.p, "p_adjusted": adjusted, "n": int(known.sum())}
        rows.append(row | {"options_n": pair.n, "series": len(blind.columns)})
    if not rows:
        raise NotMeasurable("best-blind: no model was asked without the image")
    return Measured(table_of(rows, **_TESTS, with_options=pl.Float64, guessing=pl.Float64))


@measure(
    "against-blind",
    "every sighted model against the best blind one, paired: who needs the image to do better?",
    {"sighted": (SIGHTED, "the modalities that count as seeing"), "blind": BLIND_SETTING},
)
def against_blind(results: Results, settings: Settings) -> Measured:
    """One row a sighted series: its score less that of the best blind one."""
    rows: list[dict[str, Any]] = []
    for blind in _blind_series(results, settings):
        rows += _rivals(blind, _with_modality(blind.part, blind_modalities(settings.own["sighted"])), settings.level)
    if not rows:
        raise NotMeasurable("against-blind: it takes answers with the image and without it to the same items")
    return Measured(table_of(rows, **_TESTS))


def _with_modality(part: SideBySide, modalities: Sequence[str]) -> list[int]:
    return [index for index, (_, modality, *_) in enumerate(part.columns) if modality in modalities]


def _guess(results: Results, part: SideBySide) -> Floats:
    """Score of guessing on each item of a part; nan without options."""
    known = results.items.filter(pl.col("options") > 0)
    if "benchmark" in part.key:
        known = known.filter(pl.col("benchmark") == part.key["benchmark"])
    options: Mapping[str, int] = dict(known.select("item", "options").iter_rows())
    return np.array([1 / options[item] if item in options else np.nan for item in part.items], float)


def _rivals(blind: _BestBlind, sighted: Sequence[int], level: float) -> Iterator[dict[str, Any]]:
    """The rows of one part: all pairs of a blind and a sighted series are tested, those with the best are shown."""
    if not sighted:
        return
    others, clusters = blind.part.scores[:, list(sighted)], blind.part.clusters
    pairs = {column: against(blind.scores(column), others, clusters, level) for column in blind.columns}
    every = holm([pair.p for column in blind.columns for pair in pairs[column]])
    first = blind.columns.index(blind.best) * len(sighted)
    rival, blind_by = blind.who(blind.best)
    for place, (column, pair) in enumerate(zip(sighted, pairs[blind.best], strict=True)):
        if pair.n:
            model, sighted_by = blind.who(column)
            row = {**blind.part.key, "model": model, "sighted": pair.b, "rival": rival, "blind": pair.a}
            ends = (None if value is None else 0.0 - value for value in (pair.difference, pair.high, pair.low))
            row |= dict(zip(("difference", "difference_low", "difference_high"), ends, strict=True))
            row |= {"p": pair.p, "p_adjusted": every[first + place], "n": pair.n}
            yield row | {"sighted_by": sighted_by, "blind_by": blind_by}


MEASURES = (gain, best_blind, against_blind)
