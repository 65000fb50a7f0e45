"""Many benchmarks put to the same models in the same ways, measured together: asked, resumed, scored and told."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.curate.selection import Candidate
from eyetest.errors import InputError, heading, nearest, spelled
from eyetest.jobs.measure import Scoring, gather
from eyetest.jobs.opening import SILENT, Observer, Place, model_entries, open_bench
from eyetest.jobs.perturbation import perturbed, read_perturbation
from eyetest.jobs.run import conditions, refuse_unpriced
from eyetest.jobs.subset import Selection, only_with, subset, unseen
from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.results import PROTOCOL, TAG
from eyetest.recipes.refining import BENCHMARK, REPORT
from eyetest.recipes.sources import StoppedEarly
from eyetest.records import Condition, ModelEntry
from eyetest.records.suite import SUITE_TAGS, Suite, SuiteBenchmark, spelled_out
from eyetest.reports.material import Material
from eyetest.reports.report import tell
from eyetest.reports.report_page import ReportDetails, report_settings, run_steps, write_report_page
from eyetest.reports.suite_tables import suite_tables, write_suite_tables
from eyetest.results.scores import answers_of, benchmark_of, scores_of
from eyetest.results.union import SuitePart, keep_items, united
from eyetest.running import Asking, Budget, Estimate, Limits, Progress, Session
from eyetest.runs import Run
from eyetest.scoring import is_hit, looks_refused
from eyetest.scoring.scorer import corpus_table
from eyetest.store.handwritten import convert, read_yaml
from eyetest.wording import counted, listed

RUNS, BENCHMARKS, TABLES = "runs", "benchmarks", "tables"
_OURS = (RUNS, BENCHMARKS, TABLES, REPORT)
_NO_FOLDER = re.compile(r"[^\w.()-]+")
AnySuite = Suite | Mapping[str, Any] | Place


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
                    limit=entry.about.limit or self.suite.limit,
                    limits=self.limits,
                    retry_failed=self.retry_failed,
                )
                yield entry, Session(entry.benchmark, dict(self.models), asking, hit=is_hit, budget=budget)

    def estimates(self) -> Iterator[tuple[str, Estimate]]:
        """What would be asked about each benchmark."""
        return ((entry.name, session.estimate(entry.runs[0])) for entry, session in self.sessions())


@dataclass(frozen=True)
class ToldSuite:
    """What a suite came to."""

    tables: dict[str, pl.DataFrame]
    results: Results
    page: Path
    notes: Sequence[str]


def read_suite(suite: AnySuite) -> tuple[Suite, Path]:
    """A suite by value or file, and where its paths begin."""
    if isinstance(suite, Suite):
        return suite, Path()
    if isinstance(suite, Mapping):
        return convert(spelled_out(dict(suite)), Suite, "suite"), Path()
    path = Path(suite)
    return convert(spelled_out(read_yaml(path) or {}), Suite, str(path)), path.parent


def prepare(
    suite: AnySuite,
    to: Path,
    *,
    limits: Limits | None = None,
    retry_failed: bool = False,
    derive: bool = True,
    observer: Observer = SILENT,
) -> PreparedSuite:
    """Open all that a suite names, before anything is asked; ``derive`` writes benchmarks with fewer options."""
    read, base = read_suite(suite)
    _refuse_foreign(to)
    with spelled(_as_key):
        ways = _conditions(read, observer)
        models = _models(read, base)
    if not models and any(not entry.runs for entry in read.benchmarks):
        raise InputError("the suite names no models: who is to be asked about its benchmarks?")
    limits = limits or Limits()
    refuse_unpriced(limits, models)
    entries = [_opened(entry, base, to, observer) for entry in read.benchmarks]
    _refuse_twice([entry.name for entry in entries])
    if derive:
        entries += [more for entry in entries for more in _with_fewer_options(entry, to, read.seed, observer)]
    return PreparedSuite(read, to, entries, models, ways, limits, retry_failed)


def ask(prepared: PreparedSuite, observer: Observer = SILENT) -> int:
    """Ask everything that has no answer yet; how many calls failed. `StoppedEarly` where some are left to be made."""
    failed = 0
    for entry, session in prepared.sessions():
        progress = session.run(
            entry.runs[0],
            progress=Progress(looks_refused),
            watch=observer.watch,
            planned=partial(observer.planned, entry.name),
        )
        if progress.abandoned or (progress.left and progress.stopped):
            raise StoppedEarly(progress)
        failed += progress.outcomes["failed"]
    return failed


def tell_suite(
    prepared: PreparedSuite,
    settings: Settings,
    only: Sequence[str] = (),
    *,
    unseen_only: bool = False,
    command: str = "",
    observer: Observer = SILENT,
) -> ToldSuite:
    """Score what was answered, write the tables and the page; nothing is asked."""
    suite, notes = prepared.suite, list[str]()
    with observer.steps("reading answers") as step:
        parts = [(entry, _part(entry, prepared, observer)) for entry in prepared.entries]
        title = suite.title or _title(prepared)
        whole = united([part for entry, part in parts if entry.options is None], title)
        words = [*suite.only.words, *only]
        kept = _kept(whole, words, Noting(notes), unseen_only=unseen_only or suite.unseen)
        step("measuring", 0.3)
        fewer = _fewer_options([part for entry, part in parts if entry.options is not None], kept, settings)
        material = Material(
            kept,
            replace(settings, by=SUITE_TAGS[:2]),
            fewer_options=fewer,
            corpora=_corpora(prepared.entries),
        )
        tables = suite_tables(material)
        write_suite_tables(tables, prepared.to / TABLES)
        step("drawing", 0.6)
        page = prepared.to / REPORT
        write_report_page(tell(material), _details(prepared, title, material, words, command), page, overwrite=True)
    return ToldSuite(tables, kept, page, (*notes, *_few_models(tables)))


class Noting(Observer):
    """Keeps what it is told."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def note(self, line: str) -> None:
        """Keep it."""
        self._notes.append(line)


def _as_key(name: str, value: object, at_head: bool) -> str:
    """A parameter as a suite writes it."""
    return name if at_head or value is None else f"{name}: {str(value).lower() if value is True else value}"


def _refuse_foreign(to: Path) -> None:
    if to.exists() and not to.is_dir():
        raise InputError(f"{to} is a file; a suite's answers and tables go into a folder")
    names = [entry.name for entry in to.iterdir()] if to.exists() else []
    if foreign := [name for name in names if name not in _OURS and not name.startswith(".")]:
        raise InputError(f'{to} holds "{foreign[0]}", which is not part of a suite; choose another place')


def _conditions(suite: Suite, observer: Observer) -> tuple[Condition, ...]:
    known = Condition.__struct_fields__
    for axis in suite.conditions:
        if axis not in known:
            raise InputError(f'conditions: no axis "{axis}"; {nearest(axis, known)}')
    words = {axis: _words(said) for axis, said in suite.conditions.items()}
    how = read_perturbation(suite.perturb, suite.tests, suite.seed, one_at_a_time=suite.one_at_a_time)
    return perturbed(conditions(**words), how, observer)


def _words(said: Any) -> list[str]:
    return [str(one) for one in said] if isinstance(said, list | tuple) else [str(said)]


def _models(suite: Suite, base: Path) -> dict[str, ModelEntry]:
    if not suite.models:
        return {}
    return model_entries(base / suite.models if isinstance(suite.models, str) else suite.models)


def _opened(about: SuiteBenchmark, base: Path, to: Path, observer: Observer) -> SuiteEntry:
    benchmark = open_bench(base / about.bench, None, observer) if about.bench else None
    runs = [base / path for path in about.runs]
    called = about.name or (benchmark.manifest.name if benchmark else _run_name(runs[0]))
    name = _NO_FOLDER.sub("-", called).strip("-.") or "benchmark"
    named = msgspec.structs.replace(about, name=called)
    return SuiteEntry(name, named, benchmark, runs or [to / RUNS / name])


def _run_name(path: Path) -> str:
    about = Run(path).manifest.benchmark
    return about.name if about else path.resolve().name


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f'two benchmarks of the suite are called "{twice[0]}"; give one of them a name (name: …)')


def _with_fewer_options(entry: SuiteEntry, to: Path, seed: int, observer: Observer) -> Iterator[SuiteEntry]:
    """The entry's benchmark with fewer options, the most first: what can have the most can have all of them."""
    source, about = entry.benchmark, msgspec.structs.replace(entry.about, options=())
    for count in sorted(set(entry.about.options), reverse=True):
        assert source is not None
        name = f"{entry.name}-{count}-options"
        folder = to / BENCHMARKS / name
        if not _is_derived(folder / BENCHMARK, source):
            subset(source, folder, Selection(options=count, seed=seed), overwrite=True, observer=observer)
        source = Benchmark(folder / BENCHMARK)
        yield SuiteEntry(name, about, source, [to / RUNS / name], count)


def _is_derived(path: Path, source: Benchmark) -> bool:
    """Whether a benchmark that is there was made of this one, as it is now."""
    if not is_benchmark(path):
        return False
    made = Benchmark(path).manifest
    return source.manifest.fingerprint in (made.fingerprint, *(earlier.fingerprint for earlier in made.revisions))


def _part(entry: SuiteEntry, prepared: PreparedSuite, observer: Observer) -> SuitePart:
    """The scores of one entry; golds are the named benchmark's where answers were there before."""
    golds = None if entry.is_asked else entry.benchmark
    scoring = Scoring(metric=entry.about.metric, bench=golds, models=dict(prepared.models))
    return SuitePart(entry.name, entry.about, gather([Run(path) for path in entry.runs], scoring, observer))


def _title(prepared: PreparedSuite) -> str:
    return listed([entry.about.name for entry in prepared.entries if entry.options is None])


def _kept(results: Results, only: Sequence[str], observer: Observer, *, unseen_only: bool) -> Results:
    """The part of the answers that the user cares about, or that no compared model was trained on."""
    if not only and not unseen_only:
        return results
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
        items = unseen(items, compared, "dataset", observer)
        if not items:
            raise InputError(f"{heading('unseen')}: nothing is left that no model was trained on")
    return keep_items(results, [item.id for item in items])


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


def _corpora(entries: Sequence[SuiteEntry]) -> pl.DataFrame | None:
    """The score of whole corpora, by benchmark, model and protocol, over all tests."""
    tables = []
    for entry in entries:
        scorer = Scoring(metric=entry.about.metric).scorer
        for run in map(Run, entry.runs):
            if run.manifest.benchmark is None and entry.benchmark is None:
                continue
            golds = benchmark_of(run, None if entry.is_asked else entry.benchmark)
            scores, _ = scores_of(run, golds, scorer)
            pooled = corpus_table(answers_of(run, golds), golds, scores)
            if len(pooled):
                keys = ["benchmark", "metric", "model", *PROTOCOL]
                named = pooled.with_columns(pl.lit(entry.name).alias("benchmark"))
                tables.append(named.group_by(keys).agg(pl.col("overall").mean(), pl.len().alias("tests")).sort(keys))
    return pl.concat(tables) if tables else None


def _details(
    prepared: PreparedSuite, title: str, material: Material, only: Sequence[str], command: str
) -> ReportDetails:
    suite = prepared.suite
    told = {
        "tests of an item": str(len(prepared.conditions) * suite.trials) if prepared.models else "",
        "perturbed": ", ".join([suite.perturb] if isinstance(suite.perturb, str) else suite.perturb),
        "only": "; ".join(only),
        "seed of the suite": str(suite.seed),
    }
    runs = [Run(path) for entry in prepared.entries for path in entry.runs]
    benchmarks = [entry.benchmark for entry in prepared.entries if entry.benchmark and entry.options is None]
    method = [(name, value) for name, value in told.items() if value]
    method += report_settings(material, (Scoring().scorer, "auto"), benchmarks, "")
    return ReportDetails(title, benchmarks, run_steps(runs), method, command)


def _few_models(tables: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    """What has to be said of a correlation over few models."""
    if "correlation" not in tables:
        yield "no correlation between dimensions: it takes three models and two dimensions"
        return
    most: int = tables["correlation"].get_column("n").max()  # type: ignore[assignment]
    if most < _ENOUGH_MODELS:
        yield f"correlation between dimensions rests on {counted(most, 'model')}: see its intervals"


_ENOUGH_MODELS = 10
