"""Places of models, how they shift, and whether a benchmark tells models apart at all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, short
from eyetest.measures.aligned import SideBySide, side_by_side
from eyetest.measures.results import Measure, Measured, NotMeasurable, Own, Results, Settings, refuse_tags, table_of
from eyetest.measures.stats.intervals import NOTHING
from eyetest.measures.stats.ranking import MeanRank, mean_rank_standings, shift_standings, standings
from eyetest.measures.stats.spread import separable_pairs, spread
from eyetest.records import ModelEntry

_UNEVEN = "models rest on different items: gini and sd mix who is better with which items are easier"
_NOTE = "gini rises when scores fall: separable pairs say whether models are told apart"


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
        for part in side_by_side(results, around):
            models = [str(model) for (model,) in part.columns]
            counts = (~np.isnan(part.scores)).sum(axis=0).tolist()
            places = standings(part.scores, part.clusters, settings.level, settings.resamples, settings.seed)
            here = []
            for model, (rank, tie, score), n in zip(models, places, counts, strict=True):
                row = {**part.key, "model": model, **rank.named("rank"), "tie": tie, "score": score}
                if tags:
                    by_tag = over_tags.get((*part.key.values(), model), MeanRank(NOTHING, NOTHING))
                    row |= by_tag.mean.named("mean_rank") | by_tag.rank.named("rank_of_mean_ranks")
                items = there[part.key["benchmark"]] if "benchmark" in part.key else there.total()
                here.append(row | {"n": n, "missing": items - n})
            rows += sorted(here, key=lambda row: row["rank"])
        if len({row["model"] for row in rows}) < 2:
            raise NotMeasurable("ranks: fewer than two models have scores; models are ranked against each other")
        return Measured(table_of(rows, score=pl.Float64, tie=pl.Int64), _uneven(rows, around))


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
        frames = {axis: results.scores.select(pl.col(axis).unique(maintain_order=True)) for axis in axes}
        order = {axis: frame.collect().to_series().to_list() for axis, frame in frames.items()}
        start = settings.own.get("from")
        every = [value for values in order.values() for value in values]
        if start and start not in every:
            raise InputError(f"rank-shifts: nothing is named {short(start)}; {nearest(str(start), every)}")
        rows = []
        for axis in axes:
            values = sorted(order[axis], key=lambda value: value != start)
            others = [name for name in axes if name != axis]
            for part in side_by_side(results, others, (axis, "model")):
                here = [value for value in values if value in {column[0] for column in part.columns}]
                for value in here[1:]:
                    about = dict.fromkeys(axes) if others else {}
                    about |= {**part.key, "axis": axis, "from": here[0], "to": value}
                    rows += [about | row for row in _shifts(part, here[0], value, settings)]
        if not rows:
            raise NotMeasurable("rank-shifts: no two models have scores on both sides of any comparison")
        return Measured(table_of(rows, rank_from=pl.Float64, rank_to=pl.Float64))


def _shifts(part: SideBySide, start: str, end: str, settings: Settings) -> list[dict[str, Any]]:
    of = {value: {str(model) for at, model in part.columns if at == value} for value in (start, end)}
    models = sorted(of[start] & of[end])
    if len(models) < 2:
        return []
    before, after = (part.table([(value, model) for model in models]) for value in (start, end))
    shifts = shift_standings((before, after), part.clusters, settings.level, settings.resamples, settings.seed)
    rows = [
        {"model": model, "rank_from": at.before, "rank_to": at.after, **at.climbed.named("shift"), "n": len(models)}
        for model, at in zip(models, shifts, strict=True)
    ]
    return sorted(rows, key=lambda row: row["rank_to"])


def _mean_ranks(
    results: Results, around: list[str], tags: list[str], settings: Settings
) -> dict[tuple[Any, ...], MeanRank]:
    """By benchmark, protocol and model. Each value of the tags, or combination of them, is one column of ranks."""
    by_model: dict[tuple[Any, ...], MeanRank] = {}
    for part in side_by_side(results, around, (*tags, "model")):
        values = list(dict.fromkeys(column[:-1] for column in part.columns))
        models = sorted({column[-1] for column in part.columns})
        tables = [part.table([(*value, model) for model in models]) for value in values]
        ranked = mean_rank_standings(tables, part.clusters, settings.level, settings.resamples, settings.seed)
        by_model |= {(*part.key.values(), model): rank for model, rank in zip(models, ranked, strict=True)}
    return by_model


def _uneven(rows: list[dict[str, Any]], around: Sequence[str]) -> tuple[str, ...]:
    counts: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        counts.setdefault(tuple(row[axis] for axis in around), []).append(row["n"])
    uneven = next((n for n in counts.values() if min(n) < max(n)), None)
    if uneven is None:
        return ()
    span = f"n from {min(uneven):,} to {max(uneven):,}"
    return (f"models rest on different items ({span}): see differences, which pairs",)


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
        for part in side_by_side(results, around):
            uneven |= bool(np.isnan(part.scores).any())
            models = [str(model) for (model,) in part.columns]
            for grouping, group, members in _groups(models, results.models, cuts):
                table = part.table([(model,) for model in members])
                gini, sd = spread(table, part.clusters, settings.level, settings.resamples, settings.seed)
                pairs = separable_pairs(table, part.clusters, settings.level)
                told = gini.named("gini") | sd.named("sd") | {"separable": pairs.value}
                counts = {"apart": round((pairs.value or 0.0) * pairs.n), "pairs": pairs.n, "n": len(members)}
                rows.append({**part.key, "grouping": grouping, "group": group, **told, **counts})
        if not rows:
            raise NotMeasurable(
                "spread: only one model has scores; models are compared with each other, so add another"
            )
        notes = (_NOTE, _UNEVEN) if uneven else (_NOTE,)
        return Measured(table_of(rows, separable=pl.Float64), notes)


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
    groups: dict[tuple[str, str], list[str]] = {("all", "all models"): list(models)}
    entries = [(model, known[model]) for model in models if model in known]
    for model, entry in sorted(entries, key=lambda pair: pair[1].series or ""):
        if entry.series is not None:
            groups.setdefault(("series", entry.series), []).append(model)
    for model, entry in sorted(entries, key=lambda pair: pair[1].size_b or 0.0):
        if entry.size_b is not None:
            groups.setdefault(("size", size_class(entry.size_b, cuts)), []).append(model)
    return ((*name, members) for name, members in groups.items() if len(members) > 1)


def _cuts(given: str | Sequence[float]) -> list[float]:
    parts = given.split(",") if isinstance(given, str) else given
    try:
        return sorted(float(part) for part in parts)
    except ValueError:
        raise InputError(f"spread: sizes: found {short(given)}, expected numbers such as 3,10,30") from None


MEASURES = (Ranks(), RankShifts(), Spread())
