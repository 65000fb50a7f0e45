"""Many benchmarks put to the same models in the same ways, measured together: asked, resumed, scored and told."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.curate.selection import Candidate
from eyetest.errors import InputError, heading, nearest, spelled
from eyetest.jobs.measure import Scoring, gather, settings
from eyetest.jobs.opening import AnyPath, model_entries, observer, open_bench, several
from eyetest.jobs.run import conditions, perturbed, read_perturbation, refuse_unpriced
from eyetest.jobs.subset import only_with, subset, unseen
from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.printed import caveats
from eyetest.measures.results import PROTOCOL, TAG
from eyetest.recipes.sources import StoppedEarly
from eyetest.records import Condition, ModelEntry
from eyetest.records.recipe import BENCHMARK, REPORT, SUITE_TAGS, Suite, SuiteBenchmark, spelled_out
from eyetest.reports.material import Material
from eyetest.reports.report import tell
from eyetest.reports.report_page import ReportDetails, report_settings, run_steps, write_report_page
from eyetest.reports.suite_tables import suite_tables, write_suite_tables
from eyetest.results.gather import SuitePart, keep_items, own_scores, parted, united
from eyetest.results.scores import answers_of, benchmark_of
from eyetest.running import Asking, Budget, Estimate, Limits, Progress, Session
from eyetest.runs import Run
from eyetest.scoring import is_hit, looks_refused
from eyetest.scoring.scorer import corpus_table
from eyetest.store.handwritten import convert, read_yaml
from eyetest.store.urls import local_path
from eyetest.wording import listed

RUNS, BENCHMARKS, TABLES = "runs", "benchmarks", "tables"
_OURS = (RUNS, BENCHMARKS, TABLES, REPORT)
_NO_FOLDER = re.compile(r"[^\w.()-]+")
AnySuite = Suite | Mapping[str, Any] | AnyPath


class SuiteEntry(NamedTuple):
    """One benchmark of a suite, opened: asked into a run of its own, or answered in runs that are there."""

    name: str
    about: SuiteBenchmark
    benchmark: Benchmark | None
    runs: Sequence[Path]
    options: int | None = None
    """With so many options, derived from another entry's benchmark; it counts in no other table."""

    @property
    def is_asked(self) -> bool:
        """Whether models are asked about it."""
        return not self.about.runs


@dataclass(frozen=True)
class PreparedSuite:
    """A suite that can be looked at before it is carried out."""

    suite: Suite
    to: Path
    entries: Sequence[SuiteEntry]
    models: Mapping[str, ModelEntry]
    conditions: Sequence[Condition]
    limits: Limits
    retry_failed: bool = False

    def limit(self, entry: SuiteEntry) -> int | None:
        """Only so many of an entry's items."""
        return entry.about.limit or self.suite.limit

    def sessions(self) -> Iterator[tuple[SuiteEntry, Session]]:
        """What is to be asked, entry by entry; one budget is for all of them."""
        budget = Budget(self.limits)
        for entry in self.entries:
            if entry.is_asked:
                assert entry.benchmark is not None
                asking = Asking(
                    conditions=tuple(self.conditions),
                    trials=self.suite.trials,
                    seed=self.suite.seed,
                    limit=self.limit(entry),
                    limits=self.limits,
                    retry_failed=self.retry_failed,
                )
                yield entry, Session(entry.benchmark, dict(self.models), asking, hit=is_hit, budget=budget)

    def estimates(self) -> Iterator[tuple[str, Estimate]]:
        """What would be asked about each benchmark."""
        return ((entry.name, session.estimate(entry.runs[0])) for entry, session in self.sessions())


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
    _refuse_foreign(to)
    with spelled(_as_key):
        ways = _conditions(read)
        models = _models(read, base)
    if not models and any(not entry.runs for entry in read.benchmarks):
        raise InputError("the suite names no models: who is to be asked about its benchmarks?")
    limits = limits or Limits()
    refuse_unpriced(limits, models)
    entries = [_opened(entry, base, to) for entry in read.benchmarks]
    names = [entry.name for entry in entries]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f'two benchmarks of the suite are called "{twice[0]}"; give one of them a name (name: …)')
    if derive:
        entries += [more for entry in entries for more in _with_fewer_options(entry, to, read.seed)]
    return PreparedSuite(read, to, entries, models, ways, limits, retry_failed)


def ask(prepared: PreparedSuite) -> int:
    """Ask everything that has no answer yet; how many calls failed. `StoppedEarly` where some are left to be made."""
    failed = 0
    for entry, session in prepared.sessions():
        progress = session.run(
            entry.runs[0],
            progress=Progress(looks_refused),
            watch=observer().watch,
            planned=partial(observer().planned, entry.name),
        )
        if progress.abandoned or (progress.left and progress.stopped):
            raise StoppedEarly(progress)
        failed += progress.outcomes["failed"]
    return failed


def _as_key(name: str, value: object, at_head: bool) -> str:
    """A parameter as a suite writes it."""
    return name if at_head or value is None else f"{name}: {str(value).lower() if value is True else value}"


def _refuse_foreign(to: Path) -> None:
    if to.exists() and not to.is_dir():
        raise InputError(f"{to} is a file; a suite's answers and tables go into a folder")
    names = [entry.name for entry in to.iterdir()] if to.exists() else []
    if foreign := [name for name in names if name not in _OURS and not name.startswith(".")]:
        raise InputError(f'{to} holds "{foreign[0]}", which is not part of a suite; choose another place')


def _conditions(suite: Suite) -> tuple[Condition, ...]:
    known = Condition.__struct_fields__
    for axis in suite.conditions:
        if axis not in known:
            raise InputError(f'conditions: no axis "{axis}"; {nearest(axis, known)}')
    words = {
        axis: [str(value) for value in (said if isinstance(said, list | tuple) else [said])]
        for axis, said in suite.conditions.items()
    }
    how = read_perturbation(suite.perturb, suite.tests, suite.seed, one_at_a_time=suite.one_at_a_time)
    return perturbed(conditions(**words), how)


def _models(suite: Suite, base: Path) -> dict[str, ModelEntry]:
    if not suite.models:
        return {}
    return model_entries(base / suite.models if isinstance(suite.models, str) else suite.models)


def _opened(about: SuiteBenchmark, base: Path, to: Path) -> SuiteEntry:
    benchmark = open_bench(base / about.bench) if about.bench else None
    runs = [base / path for path in about.runs]
    called = about.name or (benchmark.manifest.name if benchmark else _run_name(runs[0]))
    name = _NO_FOLDER.sub("-", called).strip("-.") or "benchmark"
    named = msgspec.structs.replace(about, name=called)
    return SuiteEntry(name, named, benchmark, runs or [to / RUNS / name])


def _run_name(path: Path) -> str:
    about = Run(path).manifest.benchmark
    return about.name if about else path.resolve().name


def _with_fewer_options(entry: SuiteEntry, to: Path, seed: int) -> Iterator[SuiteEntry]:
    """The entry's benchmark with fewer options, the most first: what can have the most can have all of them."""
    source, about = entry.benchmark, msgspec.structs.replace(entry.about, options=())
    for count in sorted(set(entry.about.options), reverse=True):
        assert source is not None
        name = f"{entry.name}-{count}-options"
        folder = to / BENCHMARKS / name
        if not _is_derived(folder / BENCHMARK, source):
            part = subset(source, to=folder, option_count=count, seed=seed, overwrite=True)
            for line in part.notes:
                observer().note(line)
        source = Benchmark(folder / BENCHMARK)
        yield SuiteEntry(name, about, source, [to / RUNS / name], count)


def _is_derived(path: Path, source: Benchmark) -> bool:
    """Whether a benchmark that is there was made of this one, as it is now."""
    if not is_benchmark(path):
        return False
    made = Benchmark(path).manifest
    return source.manifest.fingerprint in (made.fingerprint, *(earlier.fingerprint for earlier in made.revisions))


@dataclass(frozen=True)
class ToldSuite:
    """What a suite came to: its tables by name, the scores they rest on, what has to be said beside them."""

    tables: dict[str, pl.DataFrame]
    material: Material
    only: Sequence[str]
    notes: Sequence[str]

    @property
    def results(self) -> Results:
        """The scores, which every measure takes."""
        return self.material.results


def measure_suite(
    prepared: PreparedSuite, settings: Settings, only: Sequence[str] = (), *, unseen_only: bool = False
) -> ToldSuite:
    """Score and measure what was answered. Nothing is asked."""
    suite = prepared.suite
    with observer().steps("measuring") as step:
        parts = [(entry, _part(entry, prepared)) for entry in prepared.entries]
        step("measuring", 0.4)
        whole = united([part for entry, part in parts if entry.options is None], suite_title(prepared))
        words = [*suite.only.words, *only]
        kept, notes = _kept(whole, words, unseen_only=unseen_only or suite.unseen)
        fewer = _fewer_options([part for entry, part in parts if entry.options is not None], kept, settings)
        how = replace(settings, by=SUITE_TAGS[:2])
        material = Material(kept, how, fewer_options=fewer, corpora=_corpora(prepared.entries, kept))
        tables = suite_tables(material)
    words += ["unseen"] if unseen_only or suite.unseen else []
    if "correlation" not in tables:
        notes = (*notes, "correlation between dimensions: not measured (it takes three models and two dimensions)")
    return ToldSuite(tables, material, words, (*caveats(kept), *notes))


def write_suite(prepared: PreparedSuite, told: ToldSuite, command: str = "") -> Path:
    """Write the tables and the page; gives the page."""
    page = prepared.to / REPORT
    with observer().steps("drawing") as step:
        write_suite_tables(told.tables, prepared.to / TABLES)
        report = replace(tell(told.material), material=Material(parted(told.results), told.material.settings))
        step("drawing", 0.3)
        write_report_page(report, _details(prepared, told, command), page, overwrite=True)
    return page


def suite_title(prepared: PreparedSuite) -> str:
    """What the suite is called: as it says, or by its benchmarks."""
    names = [entry.about.name for entry in prepared.entries if entry.options is None]
    return prepared.suite.title or listed(names)


def _part(entry: SuiteEntry, prepared: PreparedSuite) -> SuitePart:
    """The scores of one entry; golds are the named benchmark's where answers were there before."""
    golds = None if entry.is_asked else entry.benchmark
    scoring = Scoring(metric=entry.about.metric, bench=golds, models=dict(prepared.models) or None)
    results = gather([Run(path) for path in entry.runs], scoring)
    return SuitePart(entry.name, entry.about, _wanted(results, entry, prepared) if entry.is_asked else results)


def _wanted(results: Results, entry: SuiteEntry, prepared: PreparedSuite) -> Results:
    """What the suite asks for now: its run may hold more, of models, tests or items that it named before."""
    types = results.scores.collect_schema()
    axes = [axis for axis in Condition.__struct_fields__ if axis in types]
    ways = [{axis: getattr(condition, axis) for axis in axes} for condition in prepared.conditions]
    wanted = pl.DataFrame(ways, schema={axis: types[axis] for axis in axes}).unique().lazy()
    scores = results.scores.filter(
        pl.col("model").is_in(list(prepared.models)), pl.col("trial") < prepared.suite.trials
    ).join(wanted, on=axes, how="semi", maintain_order="left")
    kept, limit = replace(results, scores=scores), prepared.limit(entry)
    if limit is None:
        return kept
    assert entry.benchmark is not None
    return keep_items(kept, [item.id for item in islice(entry.benchmark, limit)])


def _kept(results: Results, only: Sequence[str], *, unseen_only: bool) -> tuple[Results, Sequence[str]]:
    """The part of the answers that the user cares about, or that no compared model was trained on, and notes."""
    notes: Sequence[str] = ()
    if not only and not unseen_only:
        return results, notes
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
            golds = benchmark_of(run, None if entry.is_asked else entry.benchmark)
            pooled = corpus_table(answers_of(run, golds), golds, scores)
            named = pooled.with_columns(pl.lit(entry.name).alias("benchmark"))
            tables.append(named.group_by(keys).agg(pl.col("overall").mean(), pl.len().alias("tests")).sort(keys))
    return pl.concat(tables) if tables else None


def _details(prepared: PreparedSuite, told: ToldSuite, command: str) -> ReportDetails:
    suite = prepared.suite
    about = {
        "ways of asking": str(len(prepared.conditions)) if prepared.models else "",
        "perturbed": ", ".join([suite.perturb] if isinstance(suite.perturb, str) else suite.perturb),
        "only": "; ".join(told.only),
        "seed of the suite": str(suite.seed),
    }
    runs = [Run(path) for entry in prepared.entries for path in entry.runs]
    benchmarks = [entry.benchmark for entry in prepared.entries if entry.benchmark and entry.options is None]
    method = [(name, value) for name, value in about.items() if value]
    method += report_settings(told.material, (Scoring().scorer, "auto"), benchmarks, "")
    return ReportDetails(suite_title(prepared), benchmarks, run_steps(runs), method, command)


def suite(
    suite: Mapping[str, Any] | AnyPath,
    *,
    to: AnyPath,
    only: str | Sequence[str] = (),
    unseen: bool = False,
    retry_failed: bool = False,
    limits: Limits | None = None,
    level: float = 0.95,
    resamples: int = 2_000,
) -> ToldSuite:
    """Ask about every benchmark of a suite, a YAML file or its contents, and tell what came of it.

    ``tables`` of the result has ReForm-Eval's tables by name, ``notes`` what has to be said beside them; the folder
    ``to`` holds the answers, the same tables as CSV and a page. ``only`` (``"dimension=CG,FG"``) and ``unseen`` (no
    dataset that a compared model was trained on) keep to a part of the answers. Interrupt it whenever you like and
    call it again.

    >>> asked = et.suite(
    ...     {"benchmarks": ["world/benchmark"], "models": ["scripted:right=0.8"], "perturb": "order", "tests": 2},
    ...     to="suite",
    ... )
    >>> "accuracy-by-dimension" in asked.tables
    True
    """
    prepared = prepare(suite, local_path(to), limits=limits, retry_failed=retry_failed)
    ask(prepared)
    how = settings((), level, prepared.suite.seed, resamples)
    told = measure_suite(prepared, how, several(only), unseen_only=unseen)
    write_suite(prepared, told)
    return told
