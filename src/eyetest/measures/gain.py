"""Multi-modal gain (score with the image less without) and leakage (without it less the language model's; MMStar),
also unclipped, as clipping at 0 biases it upwards. Tests of the best series without the image are Holm-adjusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from eyetest.errors import counted, listed, param
from eyetest.measures.hits import strictest
from eyetest.measures.results import (
    MEMBER,
    PROTOCOL,
    Measured,
    NotMeasurable,
    Results,
    Settings,
    measure,
    read_axes,
)
from eyetest.measures.stats.intervals import (
    Floats,
    IntervalEstimate,
    column_means,
    effective_clusters,
    mean,
    percentiles,
    resampled_means,
)
from eyetest.measures.stats.paired import against, holm, paired
from eyetest.measures.tables import Protocol, SideBySide, like, protocol_label, side_by_side
from eyetest.records import BLIND_MODALITIES, ModelEntry

_SCORES = ("with_image", "no_image", "base")
_VALUES = ("gain", "leakage", "unclipped")
_VARYING = (0, 2, 2)  # which value has to vary for an interval: clipped leakage may be 0 in every resample
_BLIND = f"{listed(BLIND_MODALITIES[:-1])} or {BLIND_MODALITIES[-1]}"
Stratum = tuple[str | None, ...]  # a benchmark and tag values; None where items lack the tag
_Trio = tuple[str, str, tuple[Protocol | None, ...]]


@measure(
    "gain",
    "multi-modal gain and leakage, paired, per model and benchmark and averaged both ways",
    {"base": ("", "how the base language model was asked, if not as the model: shots=two")},
    pools=True,
)
def gain(results: Results, settings: Settings) -> Measured:
    """One row a model, then the averages over benchmarks, over models, and over both."""
    results = _with_bases(results)
    strata, notes = ["benchmark", *results.by_tags(settings.by)], dict[str, None]()
    base = read_axes(settings.own["base"], "base", PROTOCOL)
    asked = {PROTOCOL.index(axis): str(value) for axis, value in base.items()}
    rows: list[_Row] = []
    for index, part in enumerate(side_by_side(results, strata, ("model", *PROTOCOL))):
        stratum = tuple(part.key[name] for name in strata)
        rows += _rows(stratum, part, list(_trios(part, results, asked, notes)), settings, index)
    if not rows:
        raise NotMeasurable(f"gain: no model answered both image and {_BLIND} under one protocol")
    if not any(row.leak_n for row in rows) and not notes:
        notes[f"Leakage: not measured (no base language model named); see base: and {param('models')}"] = None
    table = [row.columns(strata, settings.level) for row in (*rows, *_averages(rows))]
    spared = [] if len({row.stratum for row in rows}) > 1 else list(strata)
    if all(row.leak_n in (0, row.n) for row in rows):
        spared.append("leakage_n")
    frame = pl.DataFrame(table, infer_schema_length=None).drop(spared)
    return Measured(frame.with_columns(cs.float().fill_nan(None)), tuple(notes))


class _Row(NamedTuple):
    """A model's means, and those of each resample; nan where undefined."""

    stratum: Stratum
    model: str
    protocols: tuple[Protocol | None, ...]
    scores: Floats
    values: Floats
    drawn: Floats  # values × resamples
    n: int  # items with both scores of the gain
    leak_n: int  # items with both scores of the leakage
    effective: float  # the effective number of clusters

    def columns(self, strata: Sequence[str], level: float) -> dict[str, Any]:
        row: dict[str, Any] = dict(zip(strata, self.stratum, strict=True)) | {"model": self.model}
        for name, value, drawn, judge in zip(_VALUES, self.values.tolist(), self.drawn, _VARYING, strict=True):
            known = self.drawn[judge][~np.isnan(self.drawn[judge])]
            bounds: tuple[float | None, float | None] = (None, None)
            if len(known) and np.ptp(known) > 0:  # without differing items resampling shows no spread
                bounds = percentiles(drawn, level, self.effective)
            row |= IntervalEstimate(value, *bounds).named(name)
        row |= {"n": self.n, "leakage_n": self.leak_n} | dict(zip(_SCORES, self.scores.tolist(), strict=True))
        return row | {f"{name}_by": protocol_label(how) for name, how in zip(_SCORES, self.protocols, strict=True)}


def _rows(stratum: Stratum, part: SideBySide, trios: Sequence[_Trio], settings: Settings, index: int) -> list[_Row]:
    """The models of one benchmark, or of a part of it, all on the same resamples."""
    columns = [
        part.table([(name, *(how or ())) for name, how in zip((model, model, base), protocols, strict=True)]).T
        for model, base, protocols in trios
    ]
    if not columns:
        return []
    pairs = np.column_stack([pair for seen, unseen, base in columns for pair in (seen - unseen, unseen - base)])
    drawn = resampled_means(pairs, part.clusters, settings.resamples, (settings.seed, index))
    means, there = column_means(pairs), ~np.isnan(pairs)
    rows = []
    for i, ((model, _, protocols), table) in enumerate(zip(trios, columns, strict=True)):
        (gained, leaked), (gains, leaks) = means[2 * i : 2 * i + 2], drawn[:, 2 * i : 2 * i + 2].T
        both, known = there[:, 2 * i : 2 * i + 2].T
        scores = column_means(np.where((both, both, known), table, np.nan).T)
        values = np.array([gained, np.maximum(leaked, 0.0), leaked])
        effective = float(effective_clusters(np.unique(part.clusters[both], return_counts=True)[1]))
        again, counts = np.stack([gains, np.maximum(leaks, 0.0), leaks]), (int(both.sum()), int(known.sum()))
        rows.append(_Row(stratum, model, protocols, scores, values, again, *counts, effective))
    return rows


def _with_bases(results: Results) -> Results:
    """Groups without models that were not shown images, each with the language models of its members as its base."""
    if results.ungrouped is None:
        return results
    model, shown = pl.col("model").cast(pl.String), pl.col("modality").cast(pl.String) == "image"
    scores = results.scores.join(results.scores.filter(shown).select(MEMBER).unique(), on=MEMBER, how="semi")
    members = scores.select(MEMBER, group=model).unique().collect(engine="streaming")
    entries = [results.models.get(member) for member in members[MEMBER]]
    members = members.with_columns(pl.Series("base", [entry.base if entry else None for entry in entries], pl.String))
    named = members.filter(pl.col("base").is_not_null().all().over("group"))
    own = named.with_columns(pl.format("language models of {}", "group").alias("name"))
    bases = results.ungrouped.with_columns(model.alias("base")).join(own.lazy(), on="base")
    bases = bases.with_columns(pl.col("name").alias("model")).select(scores.collect_schema().names())
    groups = {group: ModelEntry(spec="", base=name) for group, name in own.select("group", "name").iter_rows()}
    return replace(results, scores=pl.concat([scores, bases], how="vertical_relaxed"), models=groups)


def _trios(part: SideBySide, results: Results, other: Mapping[int, str], notes: dict[str, None]) -> Iterator[_Trio]:
    """Each model, its language model, and the protocols of their three scores."""
    asked: dict[str, list[Protocol]] = {}
    for who, *how in part.columns:
        asked.setdefault(who, []).append(tuple(how))
    without = {model: [how for how in protocols if how[0] in BLIND_MODALITIES] for model, protocols in asked.items()}
    for model in sorted(asked):
        base = (entry := results.models.get(model)) and entry.base
        for seen in asked[model]:
            ways = like(without[model], seen)
            if seen[0] != "image" or not ways:
                continue
            unseen = _strictest(part, model, ways)
            text = None
            if base:
                wanted = tuple(other.get(number, value) for number, value in enumerate(unseen))
                ways = [how for how in without.get(base, []) if all(how[n] == value for n, value in other.items())]
                texts = like(ways, wanted)
                text = wanted if wanted in texts else _strictest(part, base, texts) if texts else None
                if text is None:
                    way = " ".join((_BLIND, *other.values()))
                    notes[f"Leakage of {model}: not measured (base model {base} was not asked {way})"] = None
                elif text[0] != unseen[0]:
                    notes[f"leakage of {model}: asked {unseen[0]}, its language model {base} {text[0]}"] = None
            yield model, base or "", (seen, unseen, text)


def _strictest(part: SideBySide, model: str, ways: Sequence[Protocol]) -> Protocol:
    """Of protocols that differ in modality alone, that with the most right answers."""
    columns = part.table([(model, *way) for way in ways]).T
    best = strictest({way[0]: column for way, column in zip(ways, columns, strict=True)})
    return next(way for way in ways if way[0] == best)


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
    values, scores = (np.stack([getattr(row, name) for row in rows]) for name in ("values", "scores"))
    drawn = np.stack([row.drawn for row in rows])
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        again = np.where(known[..., None], drawn, 0.0).sum(axis=0) / known.sum(axis=0)[:, None]
    counts = sum(row.n for row in rows), sum(row.leak_n for row in rows), max(row.effective for row in rows)
    return _Row(stratum, model, (None,) * 3, column_means(scores), column_means(values), again, *counts)


WITH_IMAGE = ("image", "screenshot")  # the modalities that show the image
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
        without = _with_modality(part, BLIND_MODALITIES)
        known = {column: int((~np.isnan(part.scores[:, column])).sum()) for column in without}
        rivals = [column for column, n in known.items() if n >= _NEARLY_ALL * max(known.values())]
        if rivals:
            best = max(rivals, key=lambda at: float(np.nanmean(part.scores[:, at])))
            rows.append(_beside_guessing(part, rivals, best, _guess(results, part), settings.level))
            seen = _with_modality(part, WITH_IMAGE)
            rows += _beside_best(part, rivals, best, seen, settings.level)
    if not rows:
        raise NotMeasurable("best-no-image: no model was asked without the image")
    return Measured(pl.DataFrame(rows, schema={**dict.fromkeys(around, pl.String), **_COLUMNS}))


def _series(part: SideBySide, column: int) -> tuple[str, str | None]:
    model, *protocol = map(str, part.columns[column])
    return model, protocol_label(tuple(protocol))


def _beside_guessing(
    part: SideBySide, rivals: Sequence[int], best: int, guess: Floats, level: float
) -> dict[str, Any]:
    """The best series beside guessing; ``p_adjusted`` and the intervals account for its choice among all series."""
    level = 1 - (1 - level) / len(rivals)
    pairs = [paired(part.scores[:, column], guess, part.clusters, level) for column in rivals]
    place, adjusted = rivals.index(best), holm([pair.p for pair in pairs])
    pair, known = pairs[place], ~np.isnan(part.scores[:, best])
    row = {**part.key, **dict(zip(("model", "no_image_by"), _series(part, best), strict=True))}
    row |= mean(part.scores[known, best], part.clusters[known], level).named("no_image")
    row |= {"with_options": pair.a, "guessing": pair.b} | pair.gap("above")
    row |= {"p": pair.p, "p_adjusted": adjusted[place], "n": int(known.sum())}
    return row | {"options_n": pair.n, "series": len(rivals)}


def _beside_best(
    part: SideBySide, rivals: Sequence[int], best: int, seen: Sequence[int], level: float
) -> Iterator[dict[str, Any]]:
    """Every series with the image less the best one without; ``p_adjusted`` is over all pairs of both kinds."""
    if not seen:
        return
    pairs = {column: against(part.scores[:, column], part.scores[:, seen], part.clusters, level) for column in rivals}
    every = holm([pair.p for column in rivals for pair in pairs[column]])
    first = rivals.index(best) * len(seen)
    rival, rival_by = _series(part, best)
    for place, (column, pair) in enumerate(zip(seen, pairs[best], strict=True)):
        if pair.n:
            model, by = _series(part, column)
            row = {**part.key, "model": model, "with_image": pair.b, "rival": rival, "no_image": pair.a}
            ends = (None if value is None else 0.0 - value for value in (pair.difference, pair.high, pair.low))
            row |= dict(zip(("difference", "difference_low", "difference_high"), ends, strict=True))
            row |= {"p": pair.p, "p_adjusted": every[first + place], "n": pair.n}
            yield row | {"with_image_by": by, "no_image_by": rival_by}


def _with_modality(part: SideBySide, modalities: Sequence[str]) -> list[int]:
    return [index for index, (_, modality, *_) in enumerate(part.columns) if modality in modalities]


def _guess(results: Results, part: SideBySide) -> Floats:
    """Score of guessing on each item of a part; nan without options."""
    known = results.items.filter(pl.col("options") > 0)
    if "benchmark" in part.key:
        known = known.filter(pl.col("benchmark") == part.key["benchmark"])
    options: Mapping[str, int] = dict(known.select("item", "options").iter_rows())
    return np.array([1 / options[item] if item in options else np.nan for item in part.items], float)


MEASURES = (gain, best_no_image)
