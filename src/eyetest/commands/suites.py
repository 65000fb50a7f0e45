"""Suites: many benchmarks put to the same models under the same conditions, asked, resumed, scored and measured."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.commands.base import model_entries, observer, open_bench
from eyetest.commands.gathering import Scoring, gather
from eyetest.commands.gathering import settings as measure_settings
from eyetest.commands.subset import subset
from eyetest.commands.suite import AnySuite, SuiteResult
from eyetest.curate.selection import Candidate, only_with, unseen
from eyetest.errors import InputError, heading, listed, spelled
from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.printed import caveats
from eyetest.measures.results import PROTOCOL, TAG
from eyetest.prompts.conditions import read_conditions
from eyetest.records import Condition, ModelEntry
from eyetest.records.recipe import BENCHMARK, REPORT, SUITE_TAGS, Suite, SuiteBenchmark, spelled_out
from eyetest.reports.report import Material, tell
from eyetest.reports.report_page import ReportDetails, report_settings, run_steps, write_report_page
from eyetest.reports.sections import suite_tables, write_suite_tables
from eyetest.results.gather import SuitePart, keep_items, own_scores, parted, united
from eyetest.results.scores import answers_of, benchmark_of
from eyetest.running import Asking, Budget, Limits, Progress, Session
from eyetest.running.limits import refuse_unpriced
from eyetest.runs import Run
from eyetest.scoring import is_hit, looks_refused
from eyetest.scoring.scorer import corpus_table
from eyetest.store.handwritten import convert, read_yaml
from eyetest.store.urls import local_path

RUNS, BENCHMARKS, TABLES = "runs", "benchmarks", "tables"
_OURS = (RUNS, BENCHMARKS, TABLES, REPORT)
_NO_FOLDER = re.compile(r"[^\w.()-]+")


class SuiteEntry(NamedTuple):
    """One benchmark of a suite, opened: asked into a run of its own, or answered in runs that are there."""

    name: str
    about: SuiteBenchmark
    benchmark: Benchmark | None
    runs: Sequence[Path]
    asking: Asking | None
    options: int | None = None
    """With so many options, derived from another entry's benchmark; it counts in no other table."""


class PreparedSuite(NamedTuple):
    """A suite that can be looked at before it is carried out."""

    suite: Suite
    to: Path
    entries: Sequence[SuiteEntry]
    models: dict[str, ModelEntry]
    conditions: Sequence[Condition]
    budget: Budget

    @property
    def title(self) -> str:
        """What the suite is called: as it says, or by its benchmarks."""
        return self.suite.title or listed([entry.about.name for entry in self.entries if entry.options is None])

    def sessions(self) -> Iterator[tuple[SuiteEntry, Session]]:
        """What is to be asked, entry by entry; one budget is for all of them."""
        for entry in self.entries:
            if entry.asking and entry.benchmark is not None:
                yield entry, Session(entry.benchmark, self.models, entry.asking, hit=is_hit, budget=self.budget)


def read_suite(suite: AnySuite) -> tuple[Suite, Path]:
    """A suite by value or file, and where its paths begin."""
    if isinstance(suite, Suite):
        return suite, Path()
    if isinstance(suite, Mapping):
        return convert(spelled_out(dict(suite)), Suite, "suite"), Path()
    path = local_path(suite)
    return convert(spelled_out(read_yaml(path) or {}), Suite, str(path)), path.parent


def prepare(
    suite: AnySuite, to: Path, *, limits: Limits | None = None, retry_failed: bool = False, derive: bool = True
) -> PreparedSuite:
    """Open all that a suite names, before anything is asked; ``derive`` writes benchmarks with fewer options."""
    read, base = read_suite(suite)
    if to.exists() and not to.is_dir():
        raise InputError(f"{to} is a file; a suite's answers and tables go into a folder")
    inside = [entry.name for entry in to.iterdir()] if to.exists() else []
    if foreign := [name for name in inside if name not in _OURS and not name.startswith(".")]:
        raise InputError(f'{to} holds "{foreign[0]}", which is not part of a suite; choose another place')
    perturbation = {"perturb": read.perturb, "tests": read.tests, "one_at_a_time": read.one_at_a_time}
    also = {name: value for name, value in perturbation.items() if value}
    with spelled(lambda name, value, at_head: name if at_head or value is None else f"{name}: {value}"):
        conditions = read_conditions(read.conditions, read.seed, also=also)
        named = base / read.models if read.models and isinstance(read.models, str) else read.models
        models = model_entries(named) if named else {}
    if not models and any(not entry.runs for entry in read.benchmarks):
        raise InputError("the suite names no models to ask about its benchmarks")
    limits = limits or Limits()
    refuse_unpriced(limits, models)
    asking = Asking(
        conditions=conditions,
        samples=read.samples,
        seed=read.seed,
        limit=read.limit,
        limits=limits,
        retry_failed=retry_failed,
    )
    entries = [_opened(entry, base, to, asking) for entry in read.benchmarks]
    names = [entry.name for entry in entries]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f'two benchmarks of the suite are called "{twice[0]}"; give one of them a name (name: …)')
    if derive:
        entries += [more for entry in entries for more in _with_fewer_options(entry, to, read.seed)]
    return PreparedSuite(read, to, entries, models, conditions, Budget(limits))


def ask(prepared: PreparedSuite) -> tuple[int, Progress | None]:
    """Ask everything that has no answer yet; how many calls failed, and how it stopped where some are left."""
    failed = 0
    for entry, session in prepared.sessions():
        progress = session.run(
            entry.runs[0],
            progress=Progress(looks_refused),
            watch=observer().watch,
            planned=partial(observer().planned, entry.name),
        )
        if progress.abandoned or (progress.left and progress.stopped):
            return failed, progress
        failed += progress.outcomes["failed"]
    return failed, None


def _opened(about: SuiteBenchmark, base: Path, to: Path, asking: Asking) -> SuiteEntry:
    runs = [base / path for path in about.runs]
    benchmark = open_bench(base / about.bench) if about.bench else None
    known = benchmark.manifest if benchmark is not None else Run(runs[0]).manifest.benchmark
    called = about.name or (known.name if known else runs[0].resolve().name)
    name = _NO_FOLDER.sub("-", called).strip("-.") or "benchmark"
    named = msgspec.structs.replace(about, name=called)
    how = msgspec.structs.replace(asking, limit=about.limit or asking.limit)
    return SuiteEntry(name, named, benchmark, runs or [to / RUNS / name], None if runs else how)


def _with_fewer_options(entry: SuiteEntry, to: Path, seed: int) -> Iterator[SuiteEntry]:
    """The entry's benchmark with fewer options, the most first: what can have the most can have all of them."""
    source, about = entry.benchmark, msgspec.structs.replace(entry.about, options=())
    for count in sorted(set(entry.about.options), reverse=True):
        assert source is not None
        name = f"{entry.name}-{count}-options"
        folder, now = to / BENCHMARKS / name, source.manifest.fingerprint
        made = Benchmark(folder / BENCHMARK).manifest if is_benchmark(folder / BENCHMARK) else None
        if made is None or now not in (made.fingerprint, *(earlier.fingerprint for earlier in made.revisions)):
            for line in subset(source, to=folder, option_count=count, seed=seed, overwrite=True).notes:
                observer().note(line)
        source = Benchmark(folder / BENCHMARK)
        yield SuiteEntry(name, about, source, [to / RUNS / name], entry.asking, count)


def measure_suite(prepared: PreparedSuite, only: Sequence[str] = (), *, unseen_only: bool = False) -> SuiteResult:
    """Score and measure the answers. Nothing is asked."""
    suite = prepared.suite
    settings = measure_settings((), suite.level, suite.seed, suite.resamples)
    with observer().steps("measuring") as step:
        parts = [(entry, _part(entry, prepared)) for entry in prepared.entries]
        step("measuring", 0.4)
        whole = united([part for entry, part in parts if entry.options is None], prepared.title)
        words = [*suite.only.words, *only]
        kept, notes = _kept(whole, words, unseen_only=unseen_only or suite.unseen)
        fewer = _fewer_options([part for entry, part in parts if entry.options is not None], kept, settings)
        how = replace(settings, by=SUITE_TAGS[:2])
        material = Material(kept, how, fewer_options=fewer, corpora=_corpora(prepared.entries, kept))
        tables = suite_tables(material)
    words += ["unseen"] if unseen_only or suite.unseen else []
    if "correlation" not in tables:
        notes = (*notes, "correlation between dimensions: not measured (it takes three models and two dimensions)")
    return SuiteResult(tables, material, words, (*caveats(kept), *notes))


def write_suite(prepared: PreparedSuite, found: SuiteResult, command: str = "") -> Path:
    """Write the tables and the page; returns the page's path."""
    page, material, suite = prepared.to / REPORT, found.material, prepared.suite
    assert material is not None
    about = {
        "ways of asking": str(len(prepared.conditions)) if prepared.models else "",
        "perturbed": ", ".join([suite.perturb] if isinstance(suite.perturb, str) else suite.perturb),
        "only": "; ".join(found.only),
        "seed of the suite": str(suite.seed),
    }
    runs = [Run(path) for entry in prepared.entries for path in entry.runs]
    benchmarks = [entry.benchmark for entry in prepared.entries if entry.benchmark and entry.options is None]
    method = [(name, value) for name, value in about.items() if value]
    method += report_settings(material, (Scoring().scorer, "auto"), benchmarks, "")
    details = ReportDetails(prepared.title, benchmarks, run_steps(runs), method, command)
    with observer().steps("drawing") as step:
        write_suite_tables(found.tables, prepared.to / TABLES)
        report = replace(tell(material), material=Material(parted(material.results), material.settings))
        step("drawing", 0.3)
        write_report_page(report, details, page, overwrite=True)
    return page


def _part(entry: SuiteEntry, prepared: PreparedSuite) -> SuitePart:
    """The scores of one entry, of what the suite asks for now; its benchmark's golds where answers were there."""
    golds = None if entry.asking else entry.benchmark
    scoring = Scoring(metric=entry.about.metric, bench=golds, models=prepared.models or None)
    results = gather([Run(path) for path in entry.runs], scoring)
    if entry.asking:
        types = results.scores.collect_schema()
        axes = [axis for axis in Condition.__struct_fields__ if axis in types]
        ways = [{axis: getattr(condition, axis) for axis in axes} for condition in prepared.conditions]
        wanted = pl.DataFrame(ways, schema={axis: types[axis] for axis in axes}).unique().lazy()
        scores = results.scores.filter(
            pl.col("model").is_in(list(prepared.models)), pl.col("sample") < entry.asking.samples
        ).join(wanted, on=axes, how="semi", maintain_order="left")
        results = replace(results, scores=scores)
        if entry.asking.limit is not None:
            results = keep_items(results, [item.id for item in islice(entry.benchmark or [], entry.asking.limit)])
    return SuitePart(entry.name, entry.about, results)


def _kept(results: Results, only: Sequence[str], *, unseen_only: bool) -> tuple[Results, Sequence[str]]:
    """The part of the answers that the user cares about, or that no compared model was trained on, and notes."""
    if not only and not unseen_only:
        return results, ()
    notes: Sequence[str] = ()
    tags = {TAG + tag: tag for tag in results.tags}
    rows = results.items.select("item", *tags).rename(tags).iter_rows(named=True)
    items = [
        Candidate(id=row.pop("item"), tags={tag: value for tag, value in row.items() if value is not None})
        for row in rows
    ]
    if only:
        items = only_with(items, only)
    if unseen_only:
        asked = results.scores.select(pl.col("model").unique()).collect().to_series()
        compared = {model: results.models[model] for model in sorted(asked) if model in results.models}
        items, notes = unseen(items, compared, "dataset")
        if not items:
            raise InputError(f"{heading('unseen')}: nothing is left that no model was trained on")
    return keep_items(results, [item.id for item in items]), notes


def _fewer_options(parts: Sequence[SuitePart], kept: Results, settings: Settings) -> pl.DataFrame | None:
    """Accuracy against the number of options, on items of the datasets that count."""
    if not parts:
        return None
    together = united(parts, "options")
    tags = [TAG + tag for tag in SUITE_TAGS]
    items = together.items.join(kept.items.select(tags).unique(), on=tags, how="semi", maintain_order="left")
    if items.is_empty():
        return None
    results = keep_items(together, items.get_column("item").to_list())
    tagged = results.items.with_columns(pl.col("options").cast(pl.String).alias(TAG + "options"))
    measured = MEASURES["accuracy"].measure(
        replace(results, items=tagged), replace(settings, by=("dataset", "options"))
    )
    number = pl.col(TAG + "options").cast(pl.Int64).alias("options")
    table = measured.table.with_columns(number, (1 / number).alias("guessing"))
    rest = [name for name in table.columns if name not in (TAG + "dataset", TAG + "options", "options")]
    ordered = table.select(pl.col(TAG + "dataset").alias("dataset"), "options", *rest)
    return ordered.sort("dataset", "options", maintain_order=True)


def _corpora(entries: Sequence[SuiteEntry], kept: Results) -> pl.DataFrame | None:
    """The score of whole corpora, by benchmark, model and protocol, over all tests of what counts."""
    tables, keys = [], ["benchmark", "metric", "model", *PROTOCOL]
    for entry in entries:
        scores = own_scores(kept, entry.name)
        for run in map(Run, entry.runs if entry.options is None else ()):
            if run.manifest.benchmark is None and entry.benchmark is None:
                continue
            golds = benchmark_of(run, None if entry.asking else entry.benchmark)
            pooled = corpus_table(answers_of(run, golds), golds, scores)
            named = pooled.with_columns(pl.lit(entry.name).alias("benchmark"))
            tables.append(named.group_by(keys).agg(pl.col("overall").mean(), pl.len().alias("tests")).sort(keys))
    return pl.concat(tables) if tables else None
