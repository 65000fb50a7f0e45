"""A report as one HTML file: what was asked of whom, what came of it, and how to do it again."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from eyetest.benchmarks import Benchmark
from eyetest.measures import NotMeasurable
from eyetest.measures.caveats import caveats
from eyetest.measures.printed import is_text, plain, told
from eyetest.probes.subject import percent
from eyetest.records import ModelEntry
from eyetest.reports import palette
from eyetest.reports.album import Album
from eyetest.reports.drawing import for_page
from eyetest.reports.gallery import Reason
from eyetest.reports.material import NEARLY_ALL
from eyetest.reports.pages import write_page
from eyetest.reports.telling import Drawn, Report
from eyetest.reports.wording import clip
from eyetest.version import __version__
from eyetest.wording import counted, listed

_MOST_ROWS = 120
_LONGEST_CELL = 80
_HEAVIEST_CSV = 500_000
_MOST_BENCHMARKS = 3
_ONE_EACH = (
    ("guessing scores", "baselines", "random", "on {n:,} items with options"),
    ("pairs told apart", "spread", "separable", "of {pairs:,} pairs of models"),
)
"""Tiles of which each benchmark would have its own: their measure, its value, and what that is of."""


@dataclass(frozen=True)
class About:
    """What the page has to know beside the results: where they are from, and how they were made."""

    title: str
    benchmarks: Sequence[Benchmark] = ()
    steps: Sequence[tuple[str, str]] = ()
    """What was done, in order, each with its settings."""
    method: Sequence[tuple[str, str]] = ()
    """Names and values: rules, seeds, versions."""
    command: str = ""
    notes: Sequence[str] = ()
    fallen: Sequence[Reason] = ()
    album: Album = field(default_factory=Album)


def write_report_page(report: Report, about: About, to: Path, *, overwrite: bool = False) -> None:
    """Write the page."""
    known = report.material.results
    notes = [*about.notes, *report.material.notes(), *(caveats(known) if report.material.is_answered else ())]
    contents = {
        "about": about,
        "verdict": _verdict(report),
        "tiles": _tiles(report),
        "benchmarks": [(one.manifest, one.manifest.counts) for one in about.benchmarks],
        "models": _models(known.models, report),
        "asked": _table(report.asked.drop("benchmark") if _single(report.asked) else report.asked),
        "usual": _usual(report) if report.material.is_answered else "",
        "headline": None if report.headline is None else _table(report.headline),
        "headline_csv": None if report.headline is None else _csv(report.headline),
        "figures": [_figure(one) for one in report.drawn],
        "missing": report.missing,
        "notes": list(dict.fromkeys(notes)),
        "album": about.album.pictures,
        "dark": Markup(palette.dark_rules()),  # noqa: S704 (constants of ours)
        "level": report.material.settings.level,
        "version": __version__,
    }
    write_page("report.html.j2", contents, to, overwrite=overwrite)


def _usual(report: Report) -> str:
    return "; ".join(report.material.usual_protocols)


def _figure(drawn: Drawn) -> dict[str, Any]:
    figure = drawn.figure
    return {
        "name": figure.name,
        "title": figure.title,
        "reading": figure.reading,
        "svg": for_page(drawn.svg, figure.title),
        "table": _table(drawn.numbers),
        "csv": _csv(drawn.numbers),
        "rows": len(drawn.numbers),
    }


def _table(table: pl.DataFrame) -> dict[str, Any]:
    """A table as the page lays it out: which columns hold words, and no more rows than one can bear."""
    words = told(table, _MOST_ROWS)
    rows = [[clip(cell, _LONGEST_CELL) for cell in row] for row in zip(*words.values(), strict=True)]
    heads = [(clip(column, _LONGEST_CELL), is_text(table, column)) for column in words]
    return {"heads": heads, "rows": rows, "more": max(0, len(table) - _MOST_ROWS)}


def _csv(table: pl.DataFrame) -> str:
    """The table to be taken away, unless it would make the page too heavy."""
    text = plain(table).write_csv().encode("utf-8", "replace")
    return "data:text/csv;base64," + base64.b64encode(text).decode() if len(text) <= _HEAVIEST_CSV else ""


def _single(table: pl.DataFrame) -> bool:
    return table.get_column("benchmark").n_unique() < 2


def _verdict(report: Report) -> str:
    """The story in a few sentences."""
    items = len(report.material.results.items)
    if report.headline is None:
        asked = "no answer has a score" if report.material.is_answered else "nobody was asked yet"
        return f"{counted(items, 'item')}; {asked}."
    best = _best(report.headline)
    sentence = counted(report.headline.get_column("model").n_unique(), "model")
    sentence += f" on {counted(items, 'item')}" if items else ""
    sentence += f" of {counted(len(best), 'benchmark')}" if len(best) > 1 else ""
    sentence += f", asked as {_usual(report)}" if len(report.asked) > len(best) else ""
    told_ = [f"the best{where}, {clip(row['model'], 60)}, scores {_share(row, 'accuracy')}" for where, row in best]
    sentence += f": {'; '.join(told_[:_MOST_BENCHMARKS])}."
    mean = _mean_gain(report)
    return sentence + (f" Seeing the picture adds {_points(mean, 'gain')} on average." if mean else "")


def _best(head: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """The best model, or that of each benchmark and where it is the best; who answered few items is no candidate."""
    if "benchmark" not in head.columns:
        return [("", head.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max()).row(0, named=True))]
    most = pl.col("n").max().over("benchmark")
    first = head.filter(pl.col("n") >= NEARLY_ALL * most).unique("benchmark", keep="first", maintain_order=True)
    return [(f" on {clip(row['benchmark'], 40)}", row) for row in first.iter_rows(named=True)]


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures to remember: a name, a value, its interval or whose it is."""
    if report.headline is None:
        return []
    best = _best(report.headline)
    tiles = [
        (f"best accuracy{where}", percent(row["accuracy"]), f"{_bounds(row, 'accuracy')} {row['model']}")
        for where, row in best[:_MOST_BENCHMARKS]
    ]
    mean = _mean_gain(report)
    for name in ("gain", "leakage"):
        if mean and mean[name] is not None:
            tiles.append((f"mean {name}", f"{100 * mean[name]:.1f}", f"points {_bounds(mean, name)}"))
    for name, measure, value, unit in _ONE_EACH if len(best) == 1 else ():
        with suppress(NotMeasurable):
            row = report.material.measured(measure).row(0, named=True)
            if row[value] is not None:
                tiles.append((name, percent(row[value]), unit.format(**row)))
    return [(name, figure, clip(unit, 60)) for name, figure, unit in tiles]


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


def _models(entries: Mapping[str, ModelEntry], report: Report) -> list[tuple[str, str]]:
    """Who was asked, and what is known of them; not where they were reached, which is nobody's business."""
    if not report.material.is_answered:
        return []
    names = report.material.results.scores.select(pl.col("model").cast(pl.String).unique().sort()).collect()
    return [(name, _known(entries.get(name))) for name in names.to_series()]


def _known(entry: ModelEntry | None) -> str:
    if entry is None:
        return ""
    told_: Iterable[tuple[str, Any]] = (
        ("language model", entry.base),
        ("billions", entry.size_b),
        ("series", entry.series),
        ("encoder", entry.encoder),
        ("trained on", listed(entry.trained_on)),
    )
    return "; ".join(f"{name} {value}" for name, value in told_ if value)
