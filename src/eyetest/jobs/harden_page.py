"""One page about a benchmark in linked settings: few options, ten options, everything in one picture."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading
from eyetest.jobs.measure import AS_USUAL, Scoring, gather
from eyetest.jobs.opening import SILENT, AnyRun, Observer
from eyetest.jobs.report import find_sources
from eyetest.measures import NotMeasurable, Settings
from eyetest.measures.three_settings import ROLES
from eyetest.reports.material import Material
from eyetest.reports.report import refuse_to_lose_files, tell, write_figures
from eyetest.reports.report_page import report_settings, run_steps
from eyetest.reports.settings_figures import FIGURES
from eyetest.reports.settings_page import SettingsDetails, title_of, write_settings_page
from eyetest.reports.settings_pictures import HARDENING_FIGURES, hardening_figures
from eyetest.reports.settings_replies import settings_of
from eyetest.results.scores import benchmark_of
from eyetest.runs import Run
from eyetest.store import refuse_to_lose
from eyetest.store.urls import local_path

SHOWN = 6
"""Items of each list, where nobody says how many to show."""


@dataclass(frozen=True)
class PageWishes:
    """How the page is told."""

    roles: Mapping[str, str] = field(default_factory=dict)
    """By setting (original, four, ten, vision) its benchmark, where it is not to be recognised."""
    settings: Settings = field(default_factory=Settings)
    shown: int = SHOWN
    title: str = ""
    command: str = ""


def write_linked(
    things: Iterable[AnyRun],
    to: Path,
    wanted: PageWishes,
    scoring: Scoring = AS_USUAL,
    *,
    figures: Path | None = None,
    overwrite: bool = False,
    observer: Observer = SILENT,
) -> int:
    """Write the page, and each figure with its numbers where that is wanted; how many figures there were."""
    if wanted.shown < 0:
        raise InputError(f"{heading('gallery')}: found {wanted.shown}, expected 0 or more")
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    if figures is not None:
        drawn = [figure.name for figure in FIGURES]
        refuse_to_lose_files(figures, overwrite=overwrite, names=(*drawn, *HARDENING_FIGURES))
    runs = find_sources([one if isinstance(one, Run) else local_path(one) for one in things], None, observer).runs
    own = {role: f"benchmark={name}" for role, name in wanted.roles.items()}
    with observer.steps("reading answers") as step:
        results = gather(runs, scoring, tell=lambda line: step(line, 0.05))
        material = Material(results, wanted.settings, own=own)
        try:
            linked = settings_of(material)
        except NotMeasurable as reason:
            raise InputError(str(reason)) from None
        step("measuring", 0.3)
        names = {role: str(where.get("benchmark", "")) for role, where in linked.where.items()}
        benchmarks = _benchmarks(runs, names)
        made = [benchmarks[role] for role in ("vision", "ten") if role in benchmarks]
        report = tell(material, (*FIGURES, *hardening_figures(made)))
        step("drawing", 0.6)
        method = report_settings(material, (scoring.scorer, scoring.cluster), list(benchmarks.values()), "")
        about = SettingsDetails(wanted.title or title_of(benchmarks), benchmarks, run_steps(runs), method)
        about = replace(about, command=wanted.command, shown=wanted.shown)
        write_settings_page(report, about, to, overwrite=overwrite)
    if figures is not None:
        write_figures(report, figures, overwrite=overwrite)
    return len(report.drawn)


def _benchmarks(runs: Iterable[Run], names: Mapping[str, str]) -> dict[str, Benchmark]:
    """By setting, the benchmark that its run was asked about, as far as it can be opened with its pictures."""
    known = {run.manifest.benchmark.name: benchmark_of(run) for run in runs if run.manifest.benchmark is not None}
    return {role: known[names[role]] for role in ROLES if names.get(role) in known}
