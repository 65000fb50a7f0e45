"""A report as one HTML file: what was asked of whom, what came of it, and how to do it again."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from eyetest.benchmarks import Benchmark
from eyetest.measures.printed import csv_text, is_text, told
from eyetest.pages import palette
from eyetest.pages.album import Album
from eyetest.pages.charts import for_page
from eyetest.pages.page import write_page
from eyetest.pages.texts import clip
from eyetest.records import ModelEntry
from eyetest.reports.gallery import Reason
from eyetest.reports.headlines import cautions, scored_by_others, tiles, usual, verdict
from eyetest.reports.telling import Drawn, Report
from eyetest.version import __version__
from eyetest.wording import listed

_MOST_ROWS = 120
_LONGEST_CELL = 80
_HEAVIEST_CSV = 500_000


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
    notes = [*about.notes, *report.material.notes()]
    contents = {
        "about": about,
        "verdict": verdict(report),
        "cautions": cautions(report),
        "given": scored_by_others(known)[0] if report.material.is_answered else 0,
        "tiles": tiles(report),
        "benchmarks": [(one.manifest, one.manifest.counts) for one in about.benchmarks],
        "models": _models(known.models, report),
        "asked": _table(report.asked.drop("benchmark") if _single(report.asked) else report.asked),
        "usual": usual(report) if report.material.is_answered else "",
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
    text = csv_text(table).encode("utf-8", "replace")
    return "data:text/csv;base64," + base64.b64encode(text).decode() if len(text) <= _HEAVIEST_CSV else ""


def _single(table: pl.DataFrame) -> bool:
    return table.get_column("benchmark").n_unique() < 2


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
