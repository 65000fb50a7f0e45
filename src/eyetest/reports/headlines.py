"""A report in a few sentences and figures to remember."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from eyetest.measures import NotMeasurable
from eyetest.probes.subject import percent
from eyetest.reports.material import NEARLY_ALL
from eyetest.reports.telling import Report
from eyetest.reports.wording import clip
from eyetest.wording import counted

_MOST_BENCHMARKS = 3
_ONE_EACH = (
    ("guessing scores", "baselines", "random", "on {n:,} items with options"),
    ("pairs told apart", "spread", "separable", "of {pairs:,} pairs of models"),
)
"""Tiles of which each benchmark would have its own: their measure, its value, and what that is of."""


def verdict(report: Report) -> str:
    """The story in a few sentences."""
    items = len(report.material.results.items)
    if report.headline is None:
        asked = "no answer has a score" if report.material.is_answered else "nobody was asked yet"
        return f"{counted(items, 'item')}; {asked}."
    best = _best(report.headline)
    sentence = counted(report.headline.get_column("model").n_unique(), "model")
    sentence += f" on {counted(items, 'item')}" if items else ""
    sentence += f" of {counted(len(best), 'benchmark')}" if len(best) > 1 else ""
    sentence += f", asked as {usual(report)}" if len(report.asked) > len(best) else ""
    told_ = [f"{_who(report, where, row)} {_share(row, 'accuracy')}" for where, row in best]
    sentence += f": {'; '.join(told_[:_MOST_BENCHMARKS])}."
    mean = _mean_gain(report)
    return sentence + (f" Seeing the picture adds {_points(mean, 'gain')} on average." if mean else "")


def _who(report: Report, where: str, row: Mapping[str, Any]) -> str:
    """Where there is one model, it is not the best of any."""
    name = clip(row["model"], 60)
    return f"{name} scores{where}" if _alone(report) else f"the best{where}, {name}, scores"


def _alone(report: Report) -> bool:
    return report.headline is not None and report.headline.get_column("model").n_unique() < 2


def _best(head: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """The best model, or that of each benchmark and where it is the best; who answered few items is no candidate."""
    if "benchmark" not in head.columns:
        return [("", head.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max()).row(0, named=True))]
    most = pl.col("n").max().over("benchmark")
    first = head.filter(pl.col("n") >= NEARLY_ALL * most).unique("benchmark", keep="first", maintain_order=True)
    return [(f" on {clip(row['benchmark'], 40)}", row) for row in first.iter_rows(named=True)]


def tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures to remember: a name, a value, its interval or whose it is."""
    if report.headline is None:
        return []
    best = _best(report.headline)
    word = "accuracy" if _alone(report) else "best accuracy"
    found = [
        (f"{word}{where}", f"{100 * row['accuracy']:.1f} %", f"{_bounds(row, 'accuracy')} {row['model']}")
        for where, row in best[:_MOST_BENCHMARKS]
    ]
    mean = _mean_gain(report)
    for name in ("gain", "leakage"):
        if mean and mean[name] is not None:
            found.append((f"mean {name}", f"{100 * mean[name]:.1f}", f"points {_bounds(mean, name)}"))
    for name, measure, value, unit in _ONE_EACH if len(best) == 1 else ():
        with suppress(NotMeasurable):
            row = report.material.measured(measure).row(0, named=True)
            if row[value] is not None:
                found.append((name, percent(row[value]), unit.format(**row)))
    return [(name, figure, clip(unit, 60)) for name, figure, unit in found]


def _mean_gain(report: Report) -> dict[str, Any] | None:
    """The gain measure's own average over all rows; where there is one model only, that model's."""
    try:
        table = report.material.measured("gain", everything=True)
    except NotMeasurable:
        return None
    return table.row(-1, named=True)


def _points(row: Mapping[str, Any], name: str) -> str:
    """A difference of shares, in points of a hundred."""
    return f"{100 * row[name]:.1f} points {_bounds(row, name)}".strip()


def _share(row: Mapping[str, Any], name: str) -> str:
    return f"{100 * row[name]:.1f} % {_bounds(row, name)}".strip()


def _bounds(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def usual(report: Report) -> str:
    """How the questions were put of which most of a report speaks."""
    return "; ".join(report.material.usual_protocols)
