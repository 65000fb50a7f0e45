"""Multi-modal gain (score with the image less without) and leakage (without it less the language model's; MMStar),
also unclipped, as clipping at 0 biases it upwards. Tests of the best series without the image are Holm-adjusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, counted, heading, listed, param
from eyetest.measures.results import (
    PROTOCOL,
    Measured,
    NotMeasurable,
    Results,
    Settings,
    measure,
    read_axes,
    refuse_absent,
)
from eyetest.measures.stats.intervals import DECIMALS, NOTHING, Floats, IntervalEstimate, column_means, mean, plain
from eyetest.measures.stats.paired import against, holm, paired
from eyetest.measures.tables import (
    Protocol,
    SideBySide,
    distinct_benchmarks,
    like,
    protocol_label,
    side_by_side,
    strictest,
)
from eyetest.records import BLIND_MODALITIES, WITH_MEDIUM

_SCORES = ("with_image", "no_image", "base")
_VALUES = ("gain", "leakage", "unclipped")
_BLIND = f"{listed(BLIND_MODALITIES[:-1])} or {BLIND_MODALITIES[-1]}"
Stratum = tuple[str | None, ...]  # a benchmark and tag values; None where items lack the tag


@measure(
    "gain",
    "multi-modal gain and leakage, paired, per model and benchmark and averaged both ways",
    {"base": ("", "how the base language model was asked, if not as the model: shots=two")},
)
def gain(results: Results, settings: Settings) -> Measured:
    """One row a model, then the averages over benchmarks, over models, and over both."""
    strata, notes = ["benchmark", *results.by_tags(settings.by)], dict[str, None]()
    base = read_axes(settings.own["base"], "base", PROTOCOL)
    refuse_absent(results, base, "base")
    other = {PROTOCOL.index(axis): str(value) for axis, value in base.items()}
    rows, means = list[_Row](), list[_Row]()
    for part in side_by_side(results, strata, ("model", *PROTOCOL)):
        here = list(_rows(part, tuple(part.key[name] for name in strata), (results, other), settings.level, notes))
        rows += here
        means += [_over_models(here, part.clusters, settings.level)] if here else []
        notes |= dict.fromkeys(_about_text_items(results, part) if not settings.by else ())
    if not rows:
        why = "".join(f"; {note}" for note in notes)
        raise NotMeasurable(f"gain: no model answered both image and {_BLIND} under one protocol{why}")
    if not any(row.leak_n for row in rows) and not any("eakage" in note for note in notes):
        notes[f"Leakage: not measured (no base language model named); see base: and {param('models')}"] = None
    if base and not any(row.leak_n for row in rows):
        lacking = f"no score of a base language model is under it; name these models with {param('models')}"
        raise InputError(f"{heading('own', 'base')}: {lacking}")
    together = distinct_benchmarks(results)
    averages = _averages(rows, means, together.names)
    table = [row.columns(strata) for row in [*rows, *averages]]
    spared = [] if len({row.stratum for row in rows}) > 1 else list(strata)
    if all(row.leak_n in (0, row.n) for row in rows):
        spared.append("leakage_n")
    return Measured(
        pl.DataFrame(table, infer_schema_length=None, schema_overrides=_TYPES).drop(spared), (*together.notes, *notes)
    )


_TYPES = dict.fromkeys((*_SCORES, *(name + end for name in _VALUES for end in ("", "_low", "_high"))), pl.Float64)


def _about_text_items(results: Results, part: SideBySide) -> Iterator[str]:
    """How many items of a part have no image to gain from, because they show nothing beside their text."""
    shown = [at for at, (_, modality, *_) in enumerate(part.columns) if modality in WITH_MEDIUM]
    seen = (~np.isnan(part.scores[:, shown])).sum(axis=1).tolist()
    names = [item for item, answers in zip(part.items, seen, strict=True) if not answers]
    about = results.items.filter((pl.col("medium") == "") & pl.col("item").is_in(names))
    if "benchmark" in part.key:
        about = about.filter(pl.col("benchmark") == part.key["benchmark"])
    if number := about.get_column("item").n_unique():
        where = f" of {part.key['benchmark']}" if "benchmark" in part.key else ""
        have = "has" if number == 1 else "have"
        yield f"{number:,} of {counted(len(part.items), 'item')}{where} {have} no image, and so no gain"


class _Row(NamedTuple):
    """A model's estimates on one benchmark, or averages of some."""

    stratum: Stratum
    model: str
    estimates: tuple[IntervalEstimate, ...]  # of `_VALUES`
    scores: tuple[float | None, ...]
    n: int  # items with both scores of the gain
    leak_n: int  # items with both scores of the leakage
    protocols: tuple[Protocol | None, ...] = (None, None, None)
    gaps: tuple[Floats, ...] = ()  # of each item: with the image less without it, and that less the language model's

    def columns(self, strata: Sequence[str]) -> dict[str, Any]:
        row: dict[str, Any] = dict(zip(strata, self.stratum, strict=True)) | {"model": self.model}
        for name, estimate in zip(_VALUES, self.estimates, strict=True):
            row |= estimate.named(name)
        row |= {"n": self.n, "leakage_n": self.leak_n} | dict(zip(_SCORES, self.scores, strict=True))
        return row | {f"{name}_by": protocol_label(how) for name, how in zip(_SCORES, self.protocols, strict=True)}


def _rows(
    part: SideBySide,
    stratum: Stratum,
    known: tuple[Results, Mapping[int, str]],
    level: float,
    notes: dict[str, None],
) -> Iterator[_Row]:
    """Each model with its language model: with the image, without it, and the language model's score. ``known``: the
    results, and the axes on which the language model was asked in another way.
    """
    results, other = known
    asked: dict[str, list[Protocol]] = {}
    for who, *how in part.columns:
        asked.setdefault(who, []).append(tuple(how))
    without = {model: [how for how in protocols if how[0] in BLIND_MODALITIES] for model, protocols in asked.items()}
    for model in sorted(asked):
        base = (entry := results.models.get(model)) and entry.base
        for seen in asked[model]:
            ways = like(without[model], seen)
            if seen[0] not in WITH_MEDIUM or not ways:
                continue
            unseen, text = _strictest(part, model, ways), None
            if base:
                wanted = tuple(other.get(number, value) for number, value in enumerate(unseen))
                asked_so = [
                    how for how in without.get(base, []) if all(how[n] == value for n, value in other.items())
                ]
                texts = like(asked_so, wanted)
                text = wanted if wanted in texts else _strictest(part, base, texts) if texts else None
                if text is None:
                    way = " ".join((_BLIND, *other.values()))
                    notes[f"Leakage of {model}: not measured (base model {base} was not asked {way})"] = None
                elif text[0] != unseen[0]:
                    notes[f"leakage of {model}: asked {unseen[0]}, its language model {base} {text[0]}"] = None
            with_image, blind, of_base = part.table([(model, *seen), (model, *unseen), (base or "", *(text or ()))]).T
            gained = paired(with_image, blind, part.clusters, level)
            leaked = paired(blind, of_base, part.clusters, level)
            value, low, high = (None if end is None else max(end, 0.0) for end in leaked.gap[:3])
            clipped = IntervalEstimate(value, low, high)
            yield _Row(
                *(stratum, model, (gained.gap, clipped, leaked.gap), (gained.a, gained.b, leaked.b)),
                *(gained.n, leaked.n, (seen, unseen, text), (with_image - blind, blind - of_base)),
            )


def _strictest(part: SideBySide, model: str, ways: Sequence[Protocol]) -> Protocol:
    """Of protocols that differ in modality alone, that with the most right answers."""
    columns = part.table([(model, *way) for way in ways]).T
    best = strictest({way[0]: column for way, column in zip(ways, columns, strict=True)})
    return next(way for way in ways if way[0] == best)


def _averages(rows: Sequence[_Row], means: Sequence[_Row], together: Sequence[str]) -> Iterator[_Row]:
    """Over benchmarks (or their parts) for each model, over models for each of them (``means``), and over both.

    Only the benchmarks in ``together`` are averaged: the others have items of these.
    """
    averaged = [row for row in rows if row.stratum[0] in together]
    strata = list(dict.fromkeys(row.stratum for row in averaged))
    models = list(dict.fromkeys(row.model for row in rows))
    if len(strata) > 1:
        for model in models:
            mine = [row for row in averaged if row.model == model]
            if len({row.stratum for row in mine}) == len(strata):
                yield _over_strata(mine, model)
    if len(models) > 1:
        yield from means
        if len(strata) > 1:
            of_strata = [row for row in means if row.stratum[0] in together]
            yield _over_strata(of_strata, f"mean of {counted(len(averaged), 'row')}")


def _over_strata(rows: Sequence[_Row], model: str) -> _Row:
    """Benchmarks are independent, so the squares of the reaches of their intervals are added."""
    estimates = []
    for at in range(len(_VALUES)):
        known = [row.estimates[at] for row in rows if row.estimates[at].value is not None] or [NOTHING]
        value, low, high = np.array([estimate[:3] for estimate in known], float).T
        below, above = (hypot(*side) / len(side) for side in (value - low, high - value))
        estimates.append(_numbers(value.mean(), value.mean() - below, value.mean() + above))
    strata = (f"mean of {len({row.stratum for row in rows})}", *("" for _ in rows[0].stratum[1:]))
    return _averaged(rows, strata, model, estimates)


def _over_models(rows: Sequence[_Row], clusters: NDArray[np.str_], level: float) -> _Row:
    """Models on the same items: the interval is that of the mean over models of each item's deviations."""
    estimates = []
    for at, name in enumerate(_VALUES):
        known = [row for row in rows if row.estimates[at].value is not None]
        value = float(np.mean([row.estimates[at].value for row in known])) if known else np.nan
        gaps = np.array([row.gaps[min(at, 1)] for row in known]).reshape(len(known), len(clusters))
        there = ~np.isnan(gaps)
        asked, means = there.any(axis=0), column_means(gaps.T)
        moves = np.where(there, gaps - means[:, None], 0.0) * (asked.sum() / there.sum(axis=1))[:, None]
        if name == "leakage":  # a model whose language model scores more stays at 0
            moves = moves[means > 0]
        column = np.round(value + moves[:, asked].sum(axis=0) / max(len(known), 1), DECIMALS)
        pair = paired(column, np.zeros(len(column)), clusters[asked], level)
        low, high = (np.nan if end is None else end for end in (pair.low, pair.high))
        estimates.append(_numbers(value, max(low, 0.0) if name == "leakage" else low, high))
    return _averaged(rows, rows[0].stratum, f"mean of {counted(len(rows), 'row')}", estimates)


def _averaged(rows: Sequence[_Row], stratum: Stratum, model: str, estimates: Sequence[IntervalEstimate]) -> _Row:
    scores = column_means(np.array([row.scores for row in rows], float))
    counts = sum(row.n for row in rows), sum(row.leak_n for row in rows)
    return _Row(stratum, model, tuple(estimates), tuple(plain(scores)), *counts)


def _numbers(value: float, low: float, high: float) -> IntervalEstimate:
    ends = (None, None) if np.isnan(low + high) else (float(low), float(high))
    return IntervalEstimate(None if np.isnan(value) else float(value), *ends)


WITH_IMAGE = (*WITH_MEDIUM, "screenshot")  # the modalities that show the image, or another medium
_NEARLY_ALL = 0.9  # a series with fewer items than this share of the largest number is not called the best
_COLUMNS: dict[str, type[pl.DataType]] = {
    **{"model": pl.String, "with_image": pl.Float64},
    **dict.fromkeys(("no_image", "no_image_low", "no_image_high"), pl.Float64),
    **dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64),
    **dict.fromkeys(("with_options", "guessing", "above", "above_low", "above_high"), pl.Float64),
    **{"p": pl.Float64, "p_adjusted": pl.Float64, "n": pl.Int64, "options_n": pl.Int64, "series": pl.Int64},
    **dict.fromkeys(("rival", "with_image_by", "no_image_by"), pl.String),
}


@measure(
    "best-no-image",
    "the best series without the image, beside guessing; then every series with the image against it, paired",
)
def best_no_image(results: Results, settings: Settings) -> Measured:
    """By benchmark and tag value the best series without the image, then the series with the image (``with_image``
    and its ``difference`` from the best). As the best is selected from the data, tests are adjusted for all series.
    """
    around = [*results.varied(["benchmark"]), *results.by_tags(settings.by)]
    rows: list[dict[str, Any]] = []
    for part in side_by_side(results, around, ("model", *PROTOCOL)):
        shown = [str(modality) for _, modality, *_ in part.columns]
        without, seen = (
            [at for at, modality in enumerate(shown) if modality in some] for some in (BLIND_MODALITIES, WITH_IMAGE)
        )
        known = {column: int((~np.isnan(part.scores[:, column])).sum()) for column in without}
        rivals = [column for column, n in known.items() if n >= _NEARLY_ALL * max(known.values())]
        if rivals:
            place = int(np.argmax([np.nanmean(part.scores[:, at]) for at in rivals]))
            rows.append(_beside_guessing(part, rivals, place, _guess(results, part), settings.level))
            rows += _beside_best(part, rivals, place, seen, settings.level)
    if not rows:
        raise NotMeasurable("best-no-image: no model was asked without the image")
    return Measured(pl.DataFrame(rows, schema={**dict.fromkeys(around, pl.String), **_COLUMNS}))


def _series(part: SideBySide, column: int) -> tuple[str, str | None]:
    model, *protocol = map(str, part.columns[column])
    return model, protocol_label(tuple(protocol))


def _beside_guessing(
    part: SideBySide, rivals: Sequence[int], place: int, guess: Floats, level: float
) -> dict[str, Any]:
    """The best series beside guessing; ``p_adjusted`` and the intervals account for its choice among all series."""
    level = 1 - (1 - level) / len(rivals)
    pairs = [paired(part.scores[:, column], guess, part.clusters, level) for column in rivals]
    pair, adjusted, best = pairs[place], holm([pair.p for pair in pairs])[place], part.scores[:, rivals[place]]
    known, (model, by) = ~np.isnan(best), _series(part, rivals[place])
    row = {**part.key, "model": model, "no_image_by": by} | pair.gap.named("above")
    row |= mean(best[known], part.clusters[known], level).named("no_image")
    row |= {"with_options": pair.a, "guessing": pair.b, "p": pair.p, "p_adjusted": adjusted}
    return row | {"n": int(known.sum()), "options_n": pair.n, "series": len(rivals)}


def _beside_best(
    part: SideBySide, rivals: Sequence[int], place: int, seen: Sequence[int], level: float
) -> Iterator[dict[str, Any]]:
    """Every series with the image less the best one without; ``p_adjusted`` is over all pairs of both kinds."""
    others = part.scores[:, rivals]
    pairs = [against(part.scores[:, column], others, part.clusters, level) for column in seen]
    every = holm([pair.p for row in pairs for pair in row])
    rival, rival_by = _series(part, rivals[place])
    for number, (column, row) in enumerate(zip(seen, pairs, strict=True)):
        pair, (model, by) = row[place], _series(part, column)
        if pair.n:
            scores = {"with_image": pair.a, "no_image": pair.b, "rival": rival}
            tests = {"p": pair.p, "p_adjusted": every[number * len(rivals) + place], "n": pair.n}
            series = {"with_image_by": by, "no_image_by": rival_by}
            yield {**part.key, "model": model} | scores | pair.gap.named("difference") | tests | series


def _guess(results: Results, part: SideBySide) -> Floats:
    """Score of guessing on each item of a part; nan without options."""
    known = results.items.filter(pl.col("options") > 0)
    if "benchmark" in part.key:
        known = known.filter(pl.col("benchmark") == part.key["benchmark"])
    options: Mapping[str, int] = dict(known.select("item", "options").iter_rows())
    return np.array([1 / options[item] if item in options else np.nan for item in part.items], float)


MEASURES = (gain, best_no_image)
