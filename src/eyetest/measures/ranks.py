"""Places of models, how they shift, and whether a benchmark tells models apart at all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, short
from eyetest.measures.aligned import SideBySide, side_by_side
from eyetest.measures.results import Measure, Measured, NotMeasurable, Own, Results, Settings, refuse_tags
from eyetest.measures.stats.intervals import Estimate
from eyetest.measures.stats.ranking import MeanRank, Placed, mean_rank_standings, shift_standings, standings
from eyetest.measures.stats.spread import separable_pairs, spread
from eyetest.records import ModelEntry


class Ranks(Measure):
    """Ranks by mean score, and with tags the rank of mean ranks over their values (ReForm-Eval)."""

    name = "ranks"
    summary = "rank of each model, its interval and ties; with tags also the rank of mean ranks over their values"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a model, benchmark and protocol, best first. Models with the same ``tie`` cannot be told apart."""
        tags = results.by_tags(settings.by)
        around = results.families()
        over_tags = _mean_ranks(results, around, tags, settings) if tags else {}
        there = Counter(results.every_item().get_column("benchmark"))
        rows: list[dict[str, Any]] = []
        for found in side_by_side(results, around):
            models = [str(model) for (model,) in found.columns]
            counts = (~np.isnan(found.scores)).sum(axis=0).tolist()
            places = standings(found.scores, found.clusters, settings.level, settings.resamples, settings.seed)
            here = []
            for model, (rank, tie, score), n in zip(models, places, counts, strict=True):
                row = {**found.key, "model": model, **_told("rank", rank), "tie": tie, "score": score}
                if tags:
                    by_tag = over_tags.get((*found.key.values(), model), MeanRank(_UNKNOWN, _UNKNOWN))
                    row |= _told("mean_rank", by_tag.mean) | _told("rank_of_mean_ranks", by_tag.rank)
                items = there[found.key["benchmark"]] if "benchmark" in found.key else there.total()
                here.append(row | {"n": n, "missing": items - n})
            rows += sorted(here, key=lambda row: row["rank"])
        if len({row["model"] for row in rows}) < 2:
            raise NotMeasurable("ranks: fewer than two models have scores; models are ranked against each other")
        return Measured(_table(rows), _uneven(rows, around))


class RankShifts(Measure):
    """How many places models climb or fall from one benchmark, or one protocol, to another."""

    name = "rank-shifts"
    summary = "how many places each model climbs or falls between benchmarks or protocols"
    own: ClassVar[Own] = {
        "from": ("", "the benchmark or setting that shifts start from (default: the first in the scores)")
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a model and pair of values of one axis, all other axes equal; among the models that have both."""
        refuse_tags(self.name, settings)
        axes = results.families()
        if not axes:
            raise NotMeasurable(
                "rank-shifts: one benchmark under one protocol; add scores on another to compare with"
            )
        order = {axis: _in_order(results, axis) for axis in axes}
        start = settings.own.get("from")
        every = [value for values in order.values() for value in values]
        if start and start not in every:
            raise InputError(f"rank-shifts: nothing is named {short(start)}; {nearest(str(start), every)}")
        rows = []
        for axis in axes:
            values = sorted(order[axis], key=lambda value: value != start)
            others = [name for name in axes if name != axis]
            for found in side_by_side(results, others, (axis, "model")):
                here = [value for value in values if value in {column[0] for column in found.columns}]
                for value in here[1:]:
                    about = dict.fromkeys(axes) if others else {}
                    about |= {**found.key, "axis": axis, "from": here[0], "to": value}
                    rows += [about | row for row in _shifts(found, here[0], value, settings)]
        if not rows:
            raise NotMeasurable("rank-shifts: no two models have scores on both sides of any comparison")
        return Measured(_table(rows))


_UNKNOWN = Placed(None, None, None)
_WHOLE = ("n", "missing", "tie")


def _shifts(found: SideBySide, start: str, end: str, settings: Settings) -> list[dict[str, Any]]:
    of = {value: {str(model) for at, model in found.columns if at == value} for value in (start, end)}
    models = sorted(of[start] & of[end])
    if len(models) < 2:
        return []
    before, after = (found.table([(value, model) for model in models]) for value in (start, end))
    shifts = shift_standings((before, after), found.clusters, settings.level, settings.resamples, settings.seed)
    rows = [
        {"model": model, "rank_from": at.before, "rank_to": at.after, **_told("shift", at.climbed), "n": len(models)}
        for model, at in zip(models, shifts, strict=True)
    ]
    return sorted(rows, key=lambda row: row["rank_to"])


def _mean_ranks(
    results: Results, around: list[str], tags: list[str], settings: Settings
) -> dict[tuple[Any, ...], MeanRank]:
    """By benchmark, protocol and model. Each value of the tags, or combination of them, is one column of ranks."""
    by_model: dict[tuple[Any, ...], MeanRank] = {}
    for found in side_by_side(results, around, (*tags, "model")):
        values = list(dict.fromkeys(column[:-1] for column in found.columns))
        models = sorted({column[-1] for column in found.columns})
        tables = [found.table([(*value, model) for model in models]) for value in values]
        ranked = mean_rank_standings(tables, found.clusters, settings.level, settings.resamples, settings.seed)
        by_model |= {(*found.key.values(), model): rank for model, rank in zip(models, ranked, strict=True)}
    return by_model


def _in_order(results: Results, axis: str) -> list[str]:
    return results.scores.select(pl.col(axis).unique(maintain_order=True)).collect().get_column(axis).to_list()


def _told(name: str, placed: Placed) -> dict[str, Any]:
    return {name: placed.value, f"{name}_low": placed.low, f"{name}_high": placed.high}


def _uneven(rows: list[dict[str, Any]], around: Sequence[str]) -> tuple[str, ...]:
    counts: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        counts.setdefault(tuple(row[axis] for axis in around), []).append(row["n"])
    uneven = next((n for n in counts.values() if min(n) < max(n)), None)
    if uneven is None:
        return ()
    span = f"n from {min(uneven):,} to {max(uneven):,}"
    return (f"models rest on different items ({span}): see differences, which pairs",)


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    types = {
        name: pl.Int64 if name in _WHOLE else pl.Float64 for name in rows[0] if name in _WHOLE or _is_value(name)
    }
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types)


def _is_value(name: str) -> bool:
    return name.startswith(("rank", "mean_rank", "shift", "score"))


_UNEVEN = "models rest on different items: gini and sd mix who is better with which items are easier"
_NOTE = "gini rises when scores fall: separable pairs say whether models are told apart"


class Spread(Measure):
    """Gini and standard deviation of mean scores, and the share of pairs that are told apart, all tested together."""

    name = "spread"
    summary = "how far models lie apart: Gini, standard deviation, separable pairs; by series and size"
    own: ClassVar[Own] = {
        "sizes": (
            "",
            "where size classes begin, in billions, such as 3,10,30 (default: a class for each whole billion)",
        )
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a benchmark, protocol, tag value and group of at least two models."""
        cuts = _cuts(settings.own.get("sizes") or ())
        around = results.families(settings.by)
        rows, uneven = [], False
        for found in side_by_side(results, around):
            uneven |= bool(np.isnan(found.scores).any())
            models = [str(model) for (model,) in found.columns]
            for grouping, group, members in _groups(models, results.models, cuts):
                table = found.table([(model,) for model in members])
                gini, sd = spread(table, found.clusters, settings.level, settings.resamples, settings.seed)
                pairs = separable_pairs(table, found.clusters, settings.level)
                told: dict[str, Any] = {"grouping": grouping, "group": group}
                told |= {"gini": gini.value, "gini_low": gini.low, "gini_high": gini.high}
                told |= {"sd": sd.value, "sd_low": sd.low, "sd_high": sd.high}
                rows.append({**found.key, **told, "separable": pairs.value, **_counts(pairs), "n": len(members)})
        if not rows:
            raise NotMeasurable(
                "spread: only one model has scores; models are compared with each other, so add another"
            )
        floats = ("gini", "gini_low", "gini_high", "sd", "sd_low", "sd_high", "separable")
        types = dict.fromkeys(floats, pl.Float64)
        notes = (_NOTE, _UNEVEN) if uneven else (_NOTE,)
        return Measured(pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types), notes)


def _counts(pairs: Estimate) -> dict[str, int]:
    """Pairs that are told apart, and pairs that could be tested."""
    return {"apart": round((pairs.value or 0.0) * pairs.n), "pairs": pairs.n}


def size_class(size_b: float, cuts: Sequence[float] = ()) -> str:
    """The class of a model's size in billions: between cuts or, without any, the size in whole billions."""
    if not cuts:
        return f"{size_b:.0f}B" if size_b >= 2 else f"{size_b:.1f}B"
    if size_b < cuts[0]:
        return f"under {cuts[0]:g}B"
    for low, high in pairwise(cuts):
        if low <= size_b < high:
            return f"{low:g}B to {high:g}B"
    return f"{cuts[-1]:g}B and over"


def _groups(
    models: Sequence[str], known: Mapping[str, ModelEntry], cuts: Sequence[float]
) -> Iterator[tuple[str, str, list[str]]]:
    """All models, then those of a series and those of a size, where these are known and at least two."""
    found: dict[tuple[str, str], list[str]] = {("all", "all models"): list(models)}
    entries = [(model, known[model]) for model in models if model in known]
    for model, entry in sorted(entries, key=lambda pair: pair[1].series or ""):
        if entry.series is not None:
            found.setdefault(("series", entry.series), []).append(model)
    for model, entry in sorted(entries, key=lambda pair: pair[1].size_b or 0.0):
        if entry.size_b is not None:
            found.setdefault(("size", size_class(entry.size_b, cuts)), []).append(model)
    return ((*name, members) for name, members in found.items() if len(members) > 1)


def _cuts(given: str | Sequence[float]) -> list[float]:
    parts = given.split(",") if isinstance(given, str) else given
    try:
        return sorted(float(part) for part in parts)
    except ValueError:
        raise InputError(f"spread: sizes: found {short(given)}, expected numbers such as 3,10,30") from None


MEASURES = (Ranks(), RankShifts(), Spread())
