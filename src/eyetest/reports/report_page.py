"""A report as one HTML file: protocols, models, results, and how to repeat it."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.printed import csv_text, is_text, score_counts, told
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_links import Query
from eyetest.pages.item_view import Album, ItemView
from eyetest.pages.page import clip, write_page
from eyetest.records import GIVEN, ModelEntry, RunStep
from eyetest.reports.answer import answer, cautions, headline_counts, lacks, tiles, usual
from eyetest.reports.material import Material
from eyetest.reports.report import DrawnFigure, Report
from eyetest.reports.report_items import Counts, Reason, ReportItems
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import counted, listed

_MOST_ROWS = 120
_LONGEST_CELL = 80
_HEAVIEST_CSV = 500_000


@dataclass(frozen=True)
class Section:
    """A further section of the page: a table, items, or items with a remark and their view in each setting."""

    title: str
    table: pl.DataFrame | None = None
    items: Sequence[tuple[str, str, Sequence[tuple[str, ItemView]]]] = ()
    views: Sequence[ItemView] = ()


@dataclass(frozen=True)
class ReportDetails:
    """Origin and making of the results, for the page."""

    title: str
    benchmarks: Sequence[Benchmark] = ()
    steps: Sequence[tuple[str, str]] = ()
    method: Sequence[tuple[str, str]] = ()
    command: str = ""
    fallen: Sequence[Reason] = ()
    album: Album = field(default_factory=Album)
    at: ItemsAt = NOWHERE
    left: Benchmark | None = None
    """The benchmark that a refinement left, where the one that it was made of is there as well."""
    verdict: str = ""  # first sentences, instead of those about blind and sighted scores
    tiles: Sequence[tuple[str, str, str]] = ()
    cautions: Sequence[str] = ()
    sections: Sequence[Section] = ()


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
        "notes": list(dict.fromkeys([*report.notes, *material.notes()])),  # of figures and headline, not of tiles
        "about": about,
        "report": report,
        "answer": [about.verdict] if about.verdict else answer(report, items),
        "lacks": [] if about.verdict else lacks(report),
        "every": items.count(len(material.results.items)),
        "cautions": [*about.cautions, *cautions(report)],
        "given": score_counts(material.results.scores).filter(metric=GIVEN).get_column("score").sum(),
        "tiles": about.tiles or list(tiles(report, items)),
        "models": list(_models(report)) if material.is_answered else [],
        "asked": laid_out(
            asked.drop("benchmark") if one_benchmark else asked,
            {"items": [items.asked(row) for row in asked.iter_rows(named=True)]},
        ),
        "usual": usual(report) if material.is_answered else "",
        "album": about.album.images,
        "csv": csv_link,
        "table": laid_out,
    }
    write_page("report.html.j2", contents, to, overwrite=overwrite)


def _drawn(one: DrawnFigure, items: ReportItems) -> dict[str, Any]:
    shown = one.numbers.head(_MOST_ROWS)
    counts = one.figure.counts(shown, items) if one.figure.counts and items.at.before else {}
    return {
        "figure": one.figure,
        "numbers": one.numbers,
        "drawing": one.on_page(items),
        "table": laid_out(one.numbers, counts),
    }


def _counts(benchmark: Benchmark, items: ReportItems, *, is_left: bool) -> dict[str, ItemCount]:
    """Number of items of a benchmark, with options and without; of a refinement, those kept."""
    spans = {"items": None, "choice_items": (1, inf), "text_items": (0, 0)}
    counts = {kind: getattr(benchmark.manifest.counts, kind) for kind in spans}
    name = benchmark.manifest.name if len(items.benchmarks) > 1 else None
    return {
        kind: items.at.count(counts[kind], Query(verdict="kept", options=span))
        if is_left
        else items.count(counts[kind], name, options=span)
        for kind, span in spans.items()
    }


def laid_out(table: pl.DataFrame, counts: Counts = MappingProxyType({})) -> dict[str, Any]:
    """A table for the page, cut to a length; ``counts``: columns that count items, and their links."""
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
    """Download link of the table, unless it would make the page too large."""
    text = csv_text(table).encode("utf-8", "replace")
    return "data:text/csv;base64," + base64.b64encode(text).decode() if len(text) <= _HEAVIEST_CSV else ""


def _models(report: Report) -> Iterator[tuple[str, str]]:
    """The models asked and their known properties, without their addresses."""
    known = report.material.results
    for name in known.scores.select(pl.col("model").cast(pl.String).unique().sort()).collect().to_series():
        entry = known.models.get(name, ModelEntry(spec=""))
        facts = {"language model": entry.base, "billions": entry.size_b, "series": entry.series}
        facts |= {"encoder": entry.encoder, "trained on": listed(entry.trained_on)}
        yield name, "; ".join(f"{fact} {value}" for fact, value in facts.items() if value)


def run_steps(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Processing steps of the runs, in order, each with its settings."""
    return [
        (f"{run.path.resolve().name}: {step.what}" + (f", {step.time}" if step.time else ""), "; ".join(_how(step)))
        for run in runs
        for step in run.manifest.steps
    ]


def report_settings(
    material: Material, reading: tuple[Scorer, str] | None, benchmarks: Sequence[Benchmark], external: str
) -> list[tuple[str, str]]:
    """Names and values that decide the result; ``reading``: tags and clusters, if known."""
    values: dict[str, str] = {}
    if reading is not None:
        scorer, cluster = reading
        values = {"rules": scorer.rules.version, "metric": scorer.metric or "by the item", "clusters": cluster}
    values |= {"level": f"{material.settings.level:g}", "resamples": f"{material.settings.resamples:,}"}
    values |= {"seed": str(material.settings.seed)} | ({"scores from elsewhere": external} if external else {})
    values["measures"] = ", ".join(material.measures())
    fingerprints = [(f"fingerprint of {one.manifest.name}", one.manifest.fingerprint) for one in benchmarks]
    return [*values.items(), *fingerprints]


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
