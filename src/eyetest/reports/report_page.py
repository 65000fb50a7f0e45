"""A report as one HTML file: what was asked of whom, what came of it, and how to do it again."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.printed import csv_text, is_text, told
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_links import Query
from eyetest.pages.item_view import Album
from eyetest.pages.page import clip, write_page
from eyetest.records import ModelEntry, RunStep
from eyetest.reports.answer import answer, lacks
from eyetest.reports.gallery import Reason
from eyetest.reports.headlines import cautions, headline_counts, scored_by_others, tiles, usual
from eyetest.reports.material import Material
from eyetest.reports.report import DrawnFigure, Report
from eyetest.reports.report_items import Counts, ReportItems
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import counted, listed

_MOST_ROWS = 120
_LONGEST_CELL = 80
_HEAVIEST_CSV = 500_000


@dataclass(frozen=True)
class ReportDetails:
    """What the page has to know beside the results: where they are from, and how they were made."""

    title: str
    benchmarks: Sequence[Benchmark] = ()
    steps: Sequence[tuple[str, str]] = ()
    """What was done, in order, each with its settings."""
    method: Sequence[tuple[str, str]] = ()
    """Names and values: rules, seeds, versions."""
    command: str = ""
    fallen: Sequence[Reason] = ()
    album: Album = field(default_factory=Album)
    at: ItemsAt = NOWHERE
    """Where its numbers lead."""
    left: Benchmark | None = None
    """Of the benchmarks the one that a refinement left, where the one that it was made of is there as well."""


def write_report_page(report: Report, about: ReportDetails, to: Path, *, overwrite: bool = False) -> None:
    """Write the page."""
    material, asked = report.material, report.asked
    items = ReportItems(material, [one for one in about.benchmarks if one is not about.left], about.at)
    one_benchmark = asked.get_column("benchmark").n_unique() < 2
    contents = {
        "at": about.at,
        "fallen": [(reason, items.fallen(reason)) for reason in about.fallen],
        "benchmarks": [(one.manifest, _counts(one, items, is_left=one is about.left)) for one in about.benchmarks],
        "drawn": [_drawn(one, items) for one in report.drawn],
        "head": None if report.headline is None else laid_out(report.headline, headline_counts(report, items)),
        "notes": material.notes(),  # what figures say, not what tiles do
        "about": about,
        "report": report,
        "answer": answer(report, items),
        "lacks": lacks(report),
        "every": items.count(len(material.results.items)),
        "cautions": cautions(report),
        "given": scored_by_others(material.results)[0] if material.is_answered else 0,
        "tiles": tiles(report, items),
        "models": _models(report) if material.is_answered else [],
        "asked": laid_out(
            asked.drop("benchmark") if one_benchmark else asked,
            {"items": [items.asked(row) for row in asked.iter_rows(named=True)]},
        ),
        "usual": usual(report) if material.is_answered else "",
        "album": about.album.pictures,
        "csv": csv_link,
    }
    write_page("report.html.j2", contents, to, overwrite=overwrite)


def _drawn(one: DrawnFigure, items: ReportItems) -> dict[str, Any]:
    """A figure and its table, with links where they stand for items."""
    shown = one.numbers.head(_MOST_ROWS)
    counts = one.figure.counts(shown, items) if one.figure.counts and items.at.before else {}
    return {
        "figure": one.figure,
        "numbers": one.numbers,
        "drawing": one.on_page(items),
        "table": laid_out(one.numbers, counts),
    }


def _counts(benchmark: Benchmark, items: ReportItems, *, is_left: bool) -> dict[str, ItemCount]:
    """How many items a benchmark has, with options and without; what a refinement left are those that it kept."""
    spans = {"items": None, "choice_items": (1, inf), "text_items": (0, 0)}
    counts = {kind: getattr(benchmark.manifest.counts, kind) for kind in spans}
    if is_left:
        return {
            kind: items.at.count(counts[kind], Query(verdict="kept", options=span)) for kind, span in spans.items()
        }
    name = benchmark.manifest.name if len(items.benchmarks) > 1 else None
    return {kind: items.count(counts[kind], name, options=span) for kind, span in spans.items()}


def laid_out(table: pl.DataFrame, counts: Counts = MappingProxyType({})) -> dict[str, Any]:
    """A table as the page lays it out: which columns hold words, and no more rows than one can bear.

    ``counts``: columns that count items, and where their numbers lead.
    """
    words: dict[str, Sequence[str | ItemCount]] = {
        name: [clip(cell, _LONGEST_CELL) for cell in cells] for name, cells in told(table, _MOST_ROWS).items()
    }
    for name, column in counts.items():
        if name in words:
            words[name] = [count if count.href else cell for count, cell in zip(column, words[name], strict=False)]
    rows = list(zip(*words.values(), strict=True))
    heads = [(clip(column, _LONGEST_CELL), is_text(table, column)) for column in words]
    return {"heads": heads, "rows": rows, "more": max(0, len(table) - _MOST_ROWS)}


def csv_link(table: pl.DataFrame) -> str:
    """The table to be taken away, unless it would make the page too heavy."""
    text = csv_text(table).encode("utf-8", "replace")
    return "data:text/csv;base64," + base64.b64encode(text).decode() if len(text) <= _HEAVIEST_CSV else ""


def _models(report: Report) -> list[tuple[str, str]]:
    """Who was asked, and what is known of them; not where they were reached, which is nobody's business."""
    known = report.material.results
    names = known.scores.select(pl.col("model").cast(pl.String).unique().sort()).collect().to_series()
    return [(name, _known(known.models[name]) if name in known.models else "") for name in names]


def _known(entry: ModelEntry) -> str:
    known = {"language model": entry.base, "billions": entry.size_b, "series": entry.series}
    known |= {"encoder": entry.encoder, "trained on": listed(entry.trained_on)}
    return "; ".join(f"{name} {value}" for name, value in known.items() if value)


def run_steps(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """What was done to the runs, in order, each with its settings."""
    return [(_what(run, step), "; ".join(_how(step))) for run in runs for step in run.manifest.steps]


def report_settings(
    material: Material, reading: tuple[Scorer, str] | None, benchmarks: Sequence[Benchmark], external: str
) -> list[tuple[str, str]]:
    """The names and values that decide what comes out; ``reading`` is by what and in what clusters, if known."""
    told = []
    if reading is not None:
        scorer, cluster = reading
        told += [("rules", scorer.rules.version), ("metric", scorer.metric or "by the item"), ("clusters", cluster)]
    told += [("level", f"{material.settings.level:g}")]
    told += [("resamples", f"{material.settings.resamples:,}"), ("seed", str(material.settings.seed))]
    if external:
        told.append(("scores from elsewhere", external))
    told.append(("measures", ", ".join(material.measures())))
    return told + [(f"fingerprint of {one.manifest.name}", one.manifest.fingerprint) for one in benchmarks]


def _what(run: Run, step: RunStep) -> str:
    return f"{run.path.resolve().name}: {step.what}" + (f", {step.time}" if step.time else "")


def _how(step: RunStep) -> Iterator[str]:
    if step.planned:
        different = f", {step.requests:,} of them different" if step.requests < step.planned else ""
        yield f"{counted(step.planned, 'call')} planned{different}"
    if step.saved:
        yield f"{step.saved:,} not needed"
    yield from (f"{name} {value}" for name, value in step.options.items())
    yield from (f"likelihoods of {model}: {way}" for model, way in step.ways.items())
    yield f"seed {step.seed}"
    if step.eyetest:
        yield f"eyetest {step.eyetest}"
