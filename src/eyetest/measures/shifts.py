"""Rank shifts: where models stand on a benchmark, and where on its refinement, each over all of its items (LIME).

What is estimated: r(source) − r(refinement) of each model, r the rank of its mean score among the models that have
scores on both sides, 1 the best, ties at their mean place. A model that rises has a positive shift.

Interval: from the least rank on the source less the greatest on the refinement, to the greatest less the least. The
ranks are those of `standings`, by paired tests of all pairs of models with Holm's correction, at half the error on
either side (Bonferroni): all intervals of a pair of benchmarks hold at once. A percentile bootstrap would be half as
wide and miss: where models are nearly tied, it has covered as few as a third of true shifts instead of 95 %.

Assumptions: items are a sample; where the refinement was selected by the answers of these very models, its selection
is a part of the shift. Independent check: coverage in simulations, ``tests/measures/test_shifts.py``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import counted, listed
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.linked import Axes
from eyetest.measures.results import CAPTION_METRICS, measure, read_axes, table_of
from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.measures.stats.ranking import Standing, standings
from eyetest.measures.tables import SideBySide, distinct_benchmarks, side_by_side


@measure(
    "rank-shifts",
    "ranks on a benchmark and on its refinement, each over all of its items, and the places gained (LIME), "
    "with intervals by paired tests that hold for all models at once",
    {
        "from": ("", "the source: benchmark=NAME (default: the larger of two benchmarks that share items)"),
        "to": ("", "its refinement: benchmark=NAME"),
    },
    by_tag=False,
)
def rank_shifts(results: Results, settings: Settings) -> Measured:
    """One row a pair of benchmarks, protocol and model. ``risen``: places gained; captions are left out."""
    scores, notes = _without_captions(results)
    protocol = scores.protocol
    rows = list[dict[str, Any]]()
    for source, target in _pairs(scores, settings):
        named = {"from": _words(source), "to": _words(target)}
        parts = {tuple(part.key.values()): part for part in _sides(scores, source, protocol)}
        for after in _sides(scores, target, protocol):
            before = parts.get(tuple(after.key.values()))
            if before is not None:
                rows += _rows(named | dict(after.key), before, after, settings.level)
    if not rows:
        raise NotMeasurable("rank-shifts: fewer than two models have scores on both benchmarks under one protocol")
    table = table_of(rows)
    return Measured(table, (*notes, _certain(table)))


def _without_captions(results: Results) -> tuple[Results, tuple[str, ...]]:
    """The results without scores of captions, which have scales of their own, and a note on them."""
    metric = pl.col("metric").cast(pl.String)
    is_caption = pl.any_horizontal(metric.str.starts_with(name) for name in CAPTION_METRICS)
    is_scored = pl.col("score").is_not_null()
    number = results.scores.filter(is_caption, is_scored).select(pl.len()).collect(engine="streaming").item()
    if not number:
        return results, ()
    rest = replace(results, scores=results.scores.filter(~is_caption.fill_null(value=False)))
    return rest, (f"{counted(number, 'score')} of captions left out, as in the overall score without captions",)


def _pairs(results: Results, settings: Settings) -> list[tuple[Axes, Axes]]:
    """The benchmarks to be compared: those named, or each that shares items with a larger one, and that one."""
    source, target = (read_axes(str(settings.own[side]), side) for side in ("from", "to"))
    if source and target:
        return [(source, target)]
    repeats = distinct_benchmarks(results).repeats
    if source or target or not repeats:
        raise NotMeasurable(
            "rank-shifts: no two benchmarks share items; measure the runs of both together, or name them with "
            "from=benchmark=NAME to=benchmark=NAME"
        )
    return [({"benchmark": larger}, {"benchmark": name}) for name, larger in repeats.items()]


def _words(axes: Axes) -> str:
    """A side as it is named in the table: the benchmark, or the axes that define it."""
    if [*axes] == ["benchmark"]:
        return str(axes["benchmark"])
    return ",".join(f"{axis}={value}" for axis, value in axes.items())


def _sides(results: Results, axes: Axes, protocol: Sequence[str]) -> list[SideBySide]:
    """The scores of one side, an array for each protocol, which is none of the axes that define the side."""
    scores = results.scores.filter(pl.col(axis).cast(pl.String) == str(value) for axis, value in axes.items())
    named = scores.select(pl.col("benchmark").cast(pl.String).unique().sort()).collect(engine="streaming")
    benchmarks = named.to_series().to_list()
    if len(benchmarks) != 1:
        there = listed(benchmarks, 9) if benchmarks else "none"
        raise NotMeasurable(f"rank-shifts: {_words(axes)} is to be one benchmark with scores; found {there}")
    around = [axis for axis in protocol if axis not in axes]
    return side_by_side(replace(results, scores=scores), around)


def _rows(named: dict[str, Any], before: SideBySide, after: SideBySide, level: float) -> Iterator[dict[str, Any]]:
    """The rows of one protocol: the models with scores on both sides, the best on the refinement first."""
    models = sorted({*before.columns} & {*after.columns})
    if len(models) < 2:
        return
    places, counts = [], []
    for side in (before, after):
        scores = side.table(models)
        places.append(standings(scores, side.clusters, (1 + level) / 2))
        counts.append(np.count_nonzero(~np.isnan(scores), axis=0).tolist())
    sides = zip(models, *places, *counts, strict=True)
    for model, first, second, first_n, second_n in sorted(sides, key=lambda side: (side[2].rank.value, side[0])):
        row = named | {"model": str(model[0]), "from_score": first.score, "to_score": second.score}
        row |= {"from_rank": first.rank.value, "to_rank": second.rank.value}
        row |= _shift(first, second).named("risen")
        yield row | {"from_n": first_n, "to_n": second_n}


def _shift(before: Standing, after: Standing) -> IntervalEstimate:
    """The places gained, and how many they are at least and at most."""
    first, second = before.rank, after.rank
    if first.value is None or second.value is None:
        return IntervalEstimate(None, None, None)
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return IntervalEstimate(value, None, None)
    return IntervalEstimate(value, first.low - second.high, first.high - second.low)


def _certain(table: pl.DataFrame) -> str:
    """How many shifts are certain, as most are not where a refinement is small."""
    is_certain = (pl.col("risen_low") > 0) | (pl.col("risen_high") < 0)
    number = table.select(is_certain.sum()).item()
    return f"{number:,} of {counted(len(table), 'shift')} leave out 0; the intervals hold for all models at once"


MEASURES = (rank_shifts,)
