"""One page about runs, refinements and benchmarks, and figures for a paper."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.formats import is_readable
from eyetest.benchmarks.opening import refuse_one_above
from eyetest.errors import InputError, heading
from eyetest.jobs.audit import Audited, page_places, write_page
from eyetest.jobs.measure import AS_USUAL, Measurable, Scoring, gather
from eyetest.jobs.measure import settings as measured_by
from eyetest.jobs.open import write_items
from eyetest.jobs.opening import Bench, Models, path_of, several
from eyetest.jobs.refine import RefinedFolder
from eyetest.reports import FIGURES
from eyetest.reports import chart as draw

if TYPE_CHECKING:
    from altair.typing import ChartType
from eyetest.jobs.opening import AnyPath, observer, open_bench
from eyetest.measures import NotMeasurable, Results, Settings
from eyetest.measures.results import ITEM_TYPES, narrowed, read_external, read_where
from eyetest.pages.item_counts import NOWHERE, ItemsAt, items_at
from eyetest.pages.item_view import Album
from eyetest.probes import Subject
from eyetest.recipes.refining import KINDS
from eyetest.recipes.sources import read_verdicts
from eyetest.records import Verdict
from eyetest.records.recipe import ABOUT, BENCHMARK, FUNNEL, RUN
from eyetest.reports import linked
from eyetest.reports.material import Material, cheap_duplicates, unanswered
from eyetest.reports.report import refuse_to_lose_files, tell, write_figures, write_tables
from eyetest.reports.report_items import fallen_items
from eyetest.reports.report_page import ReportDetails, report_settings, run_steps, write_report_page
from eyetest.results.gather import items_table
from eyetest.results.scores import benchmark_of
from eyetest.runs import Run, is_run
from eyetest.runs.stored import one_line_if_damaged
from eyetest.store import refuse_to_lose
from eyetest.store.urls import local_path
from eyetest.tabular.sheets import restored
from eyetest.wording import listed

SHOWN, LOST_SHOWN = 24, 6
"""Removed items, and items of each list of linked settings, to show by default."""
_TEXTS = dict.fromkeys(("stage", "tag", "value"), pl.String)


@dataclass
class ReportSources:
    """What a report is made from."""

    runs: list[Run] = field(default_factory=list)
    benchmarks: list[Benchmark] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    funnel: pl.DataFrame | None = None
    results: Results | None = None
    """In the place of runs, where they were scored already."""
    left: Benchmark | None = None
    """What a refinement left."""


@dataclass(frozen=True)
class Wanted:
    """How it is told: by which settings, with what from elsewhere, under what title."""

    settings: Settings = field(default_factory=Settings)
    external: AnyPath | Mapping[str, float] | None = None
    verdicts: AnyPath | None = None
    gallery: int = SHOWN
    title: str = ""
    command: str = ""
    links: str | None = None
    """Where the page's numbers lead: an address, or the folder of a bundle."""
    where: Sequence[str] = ()
    """Which answers are told of, as in a measure: ``sight=image,blind``."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """By linked setting (original, four, ten, vision) its benchmark, where it is not to be recognised."""


def write_report(
    things: Results | Iterable[Path | Run | Benchmark],
    to: Path,
    wanted: Wanted,
    scoring: Scoring = AS_USUAL,
    *,
    figures: Path | None = None,
    tables: Path | None = None,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write the page, and figures and tables where they are wanted; how many there were of each."""
    wishes = (("figure", figures, write_figures), ("table", tables, write_tables))
    papers = [(what, folder, write) for what, folder, write in wishes if folder]
    if wanted.gallery < 0:
        raise InputError(f"{heading('gallery')}: found {wanted.gallery}, expected 0 or more")
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    for _, folder, _ in papers:
        refuse_to_lose_files(folder, linked.LINKED_FIGURES, overwrite=overwrite)
    things = things if isinstance(things, Results) else list(things)
    at = _items_at(things, to, wanted, scoring)
    golds = None if scoring.bench is None else open_bench(scoring.bench)
    external = wanted.external
    scores = (
        external or {} if external is None or isinstance(external, Mapping) else read_external(local_path(external))
    )
    sources = find_sources(things, wanted.verdicts)
    with observer().steps("reading answers") as step:
        results = sources.results or _results(sources, replace(scoring, bench=golds), lambda line: step(line, 0.05))
        results = narrowed(results, read_where(wanted.where)) if wanted.where else results
        benchmarks = _benchmarks(sources, golds)
        step("measuring", 0.3)
        twice = [one for about in benchmarks for one in cheap_duplicates(Subject(about, seed=wanted.settings.seed))]
        own = {role: f"benchmark={name}" for role, name in wanted.roles.items()}
        material = Material(results, wanted.settings, scores, sources.funnel, twice if benchmarks else None, own=own)
        is_linked = _has_settings(material, benchmarks, wanted)
        told = tell(material, [*FIGURES.values(), *linked.LINKED_FIGURES] if is_linked else None)
        step("drawing", 0.6)
        album = Album(*benchmarks, side=linked.IMAGE_SIDE) if is_linked else Album(*benchmarks)
        verdicts = sources.verdicts if wanted.gallery else ()
        fallen = fallen_items(verdicts, benchmarks, sources.runs, results.scores, wanted.gallery, album)
        reading = None if sources.results else (scoring.scorer, scoring.cluster)
        name = "" if external is None or isinstance(external, Mapping) else local_path(external).name
        method = report_settings(told.material, reading, benchmarks, name)
        method += [("only", "; ".join(wanted.where))] if wanted.where else []
        title = wanted.title or _title(sources, benchmarks)
        done = run_steps(sources.runs)
        left = sources.left if len(benchmarks) > 1 else None
        about = ReportDetails(title, benchmarks, done, method, wanted.command, fallen, album, at, left)
        if is_linked:
            about = replace(
                about,
                verdict=linked.verdict(material),
                tiles=list(linked.tiles(material)),
                cautions=list(linked.cautions(material)),
                sections=list(linked.sections(material, benchmarks, album, min(LOST_SHOWN, wanted.gallery))),
            )
        write_report_page(told, about, to, overwrite=overwrite)
    return {what: write(told, folder, overwrite=overwrite) for what, folder, write in papers}


def _has_settings(material: Material, benchmarks: Sequence[Benchmark], wanted: Wanted) -> bool:
    """Whether the runs are over linked settings: as the user names them, or as the benchmarks were hardened."""
    try:
        return bool((wanted.roles or linked.are_linked(benchmarks)) and linked.settings_of(material))
    except NotMeasurable as reason:
        if wanted.roles:
            raise InputError(str(reason)) from None
        return False


def _items_at(
    things: Results | Sequence[Path | Run | Benchmark], to: Path, wanted: Wanted, scoring: Scoring
) -> ItemsAt:
    """Where numbers lead; nowhere, where results are all that is known. Of verdicts only Parquet can be opened."""
    if isinstance(things, Results):
        return NOWHERE
    more = [scoring.bench, wanted.verdicts if str(wanted.verdicts).endswith(".parquet") else None]
    places = [one.path if isinstance(one, Run | Benchmark) else local_path(one) for one in (*things, *more) if one]
    return items_at(wanted.links, to, places)


def find_sources(things: Results | Iterable[Path | Run | Benchmark], verdicts: AnyPath | None) -> ReportSources:
    """Open whatever each thing is: a run, a refinement, a benchmark."""
    if isinstance(things, Results):
        return ReportSources(results=things)
    sources = ReportSources()
    for thing in things:
        if isinstance(thing, Run):
            sources.runs.append(thing)
        elif isinstance(thing, Benchmark):
            sources.benchmarks.append(thing)
        elif is_run(thing):
            sources.runs.append(Run(thing))
        elif (thing / ABOUT).is_file():
            _add_refinement(thing, sources)
        else:
            refuse_one_above(thing)
            if not is_benchmark(thing) and not is_readable(thing):
                raise InputError(f"{thing} is no run, no refinement, and no benchmark that eyetest recognises")
            sources.benchmarks.append(open_bench(thing))
    if verdicts is not None:
        sources.verdicts += read_verdicts(local_path(verdicts))
    return sources


def _add_refinement(path: Path, sources: ReportSources) -> None:
    if sources.funnel is not None:
        raise InputError(f"{path}: a report tells of one refinement; make another for this one")
    if not (path / FUNNEL).is_file():
        raise InputError(f"{path} is a refinement without its {FUNNEL}; run eyetest refine again")
    with one_line_if_damaged(path / FUNNEL):
        counts = pl.read_csv(path / FUNNEL, schema_overrides=_TEXTS)
        counts = counts.filter(pl.col("tag").fill_null("") == "").select("stage", "into", *KINDS)
        sources.funnel = counts.with_columns(stage=pl.Series(map(restored, counts["stage"]), dtype=pl.String))
    sources.verdicts += read_verdicts(path)
    if is_run(path / RUN):
        sources.runs.append(Run(path / RUN))
    elif is_benchmark(path / BENCHMARK):
        sources.left = Benchmark(path / BENCHMARK)
        sources.benchmarks.append(sources.left)


def _title(sources: ReportSources, benchmarks: list[Benchmark]) -> str:
    names = [one.manifest.name for one in benchmarks] or [run.path.resolve().name for run in sources.runs]
    return listed(dict.fromkeys(names)) or "Results"


def _results(sources: ReportSources, scoring: Scoring, tell_: Callable[[str], None]) -> Results:
    """The scores of all runs; without runs, items and no scores."""
    if sources.runs:
        return gather(sources.runs, scoring, tell=tell_)
    tables = [items_table(one.manifest.name, one, scoring.cluster) for one in sources.benchmarks]
    return unanswered(pl.concat(tables, how="diagonal") if tables else pl.DataFrame(schema=ITEM_TYPES))


def _benchmarks(sources: ReportSources, golds: Benchmark | None) -> list[Benchmark]:
    """Those that were named and those that the runs are about, each once."""
    asked = [run for run in sources.runs if run.manifest.benchmark is not None or golds is not None]
    known: dict[str, Benchmark] = {}
    for one in (*sources.benchmarks, *(benchmark_of(run, golds) for run in asked)):
        known.setdefault(one.manifest.fingerprint, one)
    return list(known.values())


Told = Run | RefinedFolder | Benchmark | AnyPath
"""What a page can tell of: a run, a refinement, a benchmark, or where one of them lies."""


def report(
    what: Audited | Results | Told | Sequence[Told],
    *,
    page: AnyPath,
    figures: AnyPath | None = None,
    tables: AnyPath | None = None,
    gallery: int = SHOWN,
    by: str | Sequence[str] = (),
    external: AnyPath | Mapping[str, float] | None = None,
    verdicts: AnyPath | None = None,
    models: Models | None = None,
    bench: Bench | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
    rescore_given: bool = False,
    cluster: str = "auto",
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
    title: str = "",
    links: str | None = None,
    settings: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a page that opens anywhere, without a network, and give its place.

    Of an audit; or of runs, a refinement and benchmarks together, with ``gallery`` of the items that fell.
    ``figures`` and ``tables`` are folders for those of a paper. ``by`` names the tags that say what items ask for,
    ``external`` is a score of each model from elsewhere, ``verdicts`` a file of those that an audit gave, ``models``
    says what is known of models (language bases, sizes). What cannot be told is left out, and the page says what
    would bring it. Runs over a benchmark with few options, with ten and as screenshots have sections of their own;
    ``settings`` says which benchmark is which (original, four, ten, vision), where lineage does not. ``links`` is
    where its numbers lead: what ``eyetest open`` serves (this machine, if not said), or the folder of a bundle.

    >>> et.report("run", page="report.html").name
    'report.html'
    >>> et.report(et.audit("world/benchmark", probes=["malformed"]), page="audit.html").exists()
    True
    """
    file = local_path(page)
    if isinstance(what, Audited):
        places = page_places(what.benchmark.path, file)
        at = items_at(links, file, places)
        write_page(what.audit, what.benchmark, file, at, overwrite=overwrite)
        return file
    for_paper, for_text = (None if folder is None else local_path(folder) for folder in (figures, tables))
    how, roles = measured_by(by, level, seed, resamples), dict(settings or {})
    wanted = Wanted(how, external, verdicts, gallery, title, links=links, roles=roles)
    scoring = Scoring(rules, bench, metric, rescore_given, cluster, models)
    write_report(_things(what), file, wanted, scoring, figures=for_paper, tables=for_text, overwrite=overwrite)
    return file


def _things(what: Results | Told | Sequence[Told]) -> Results | list[Path | Run | Benchmark]:
    if isinstance(what, Results):
        return what
    named: list[Told] = several(what)
    things = [one.path if isinstance(one, RefinedFolder) else one for one in named]
    expected = "runs, refinements and benchmarks, or their paths"
    return [one if isinstance(one, Run | Benchmark) else path_of(one, "what", expected) for one in things]


def bundle_items(what: Told | Sequence[Told], *, to: AnyPath, golds: bool = True, overwrite: bool = False) -> Path:
    """Write the items of runs, refinements and benchmarks as a folder of pages to look at them; gives its first page.

    It opens from disk and from any web host. Without ``golds`` nothing is written that they follow from. On the
    command line, ``eyetest open`` also serves them.

    >>> et.bundle_items("run", to="browse").name
    'index.html'
    """
    named: list[Told] = several(what)
    places = [one.path if isinstance(one, Run | Benchmark | RefinedFolder) else local_path(one) for one in named]
    _, page = write_items(places, local_path(to), golds=golds, overwrite=overwrite)
    return page


def chart(name: str, runs: Measurable) -> "ChartType":
    """Draw a figure of some runs, or of what `et.results` gave: an Altair chart. `et.charts` names them.

    >>> drawn = et.chart("accuracy", "run")
    >>> "mark" in str(drawn.to_dict())
    True
    """
    return draw(name, gather(runs))


def charts() -> dict[str, str]:
    """The figures that there are, and how to read each.

    >>> "accuracy" in et.charts()
    True
    """
    return {name: FIGURES[name].reading for name in FIGURES}
