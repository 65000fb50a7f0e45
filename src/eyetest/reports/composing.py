"""A report from its beginning: runs, benchmarks and a refinement's records become figures, a gallery, a method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures import Results, Settings
from eyetest.measures.results import ITEM_TYPES
from eyetest.probes import Subject
from eyetest.records import ModelEntry, Verdict
from eyetest.reports.gallery import fallen_items
from eyetest.reports.material import Material, cheap_duplicates, unanswered
from eyetest.reports.report import Report, tell
from eyetest.reports.report_page import ReportDetails, report_settings, run_steps
from eyetest.results.gather import items_table, results_of
from eyetest.results.scores import benchmark_of
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import listed

SHOWN = 24
"""Items that fell, where nobody says how many to show."""


@dataclass
class Given:
    """What a report is made from."""

    runs: list[Run] = field(default_factory=list)
    benchmarks: list[Benchmark] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    funnel: pl.DataFrame | None = None
    results: Results | None = None
    """In the place of runs, where they were scored already."""


@dataclass(frozen=True)
class Wanted:
    """How it is told: by which rules and settings, with what from elsewhere, under what title."""

    settings: Settings = field(default_factory=Settings)
    scorer: Scorer = field(default_factory=Scorer)
    cluster: str = "auto"
    golds: Benchmark | None = None
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    external: Mapping[str, float] = field(default_factory=dict)
    external_name: str = ""
    gallery: int = SHOWN
    title: str = ""
    command: str = ""


def compose(
    given: Given, wanted: Wanted, progress: Callable[[str, float], None] = lambda what, share: None
) -> tuple[Report, ReportDetails]:
    """Measure all that can be told, and what the page has to know beside it."""
    results = given.results or _results(given, wanted, lambda line: progress(line, 0.05))
    benchmarks = _benchmarks(given, wanted.golds)
    progress("measuring", 0.3)
    found = [one for about in benchmarks for one in cheap_duplicates(Subject(about, seed=wanted.settings.seed))]
    duplicates = found if benchmarks else None
    told = tell(Material(results, wanted.settings, wanted.external, given.funnel, duplicates))
    progress("drawing", 0.6)
    verdicts = given.verdicts if wanted.gallery else ()
    fallen, album = fallen_items(verdicts, benchmarks, given.runs, results.scores, wanted.gallery)
    reading = None if given.results else (wanted.scorer, wanted.cluster)
    method = report_settings(told.material, reading, benchmarks, wanted.external_name)
    about = ReportDetails(
        _title(given, wanted, benchmarks),
        benchmarks,
        run_steps(given.runs),
        method,
        wanted.command,
        fallen=fallen,
        album=album,
    )
    return told, about


def _title(given: Given, wanted: Wanted, benchmarks: list[Benchmark]) -> str:
    names = [one.manifest.name for one in benchmarks] or [run.path.resolve().name for run in given.runs]
    return wanted.title or listed(dict.fromkeys(names)) or "Results"


def _results(given: Given, wanted: Wanted, tell_: Callable[[str], None]) -> Results:
    """The scores of all runs; without runs, items and no scores."""
    if given.runs:
        return results_of(given.runs, wanted.scorer, wanted.cluster, wanted.golds, wanted.models, tell_)
    tables = [items_table(one.manifest.name, one, wanted.cluster) for one in given.benchmarks]
    return unanswered(pl.concat(tables, how="diagonal") if tables else pl.DataFrame(schema=ITEM_TYPES))


def _benchmarks(given: Given, golds: Benchmark | None) -> list[Benchmark]:
    """Those that were named and those that the runs are about, each once."""
    asked = [run for run in given.runs if run.manifest.benchmark is not None or golds is not None]
    found: dict[str, Benchmark] = {}
    for one in (*given.benchmarks, *(benchmark_of(run, golds) for run in asked)):
        found.setdefault(one.manifest.fingerprint, one)
    return list(found.values())
