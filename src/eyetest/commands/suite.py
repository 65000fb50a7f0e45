"""The command ``suite``: ask models about many benchmarks and measure all answers together."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands import gathering
from eyetest.commands.base import model_entries, new_path, observer, open_bench
from eyetest.commands.lazy import layout, msgspec, parts, pl, printed, selection
from eyetest.commands.options import AnyPath, Words, panel
from eyetest.commands.results import Result, estimates
from eyetest.errors import InputError, counted, heading, listed, param, spelled, typed

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.measures import Results
    from eyetest.records import Condition, ModelEntry
    from eyetest.records.recipe import Suite, SuiteBenchmark
    from eyetest.reports.report import Material
    from eyetest.results.gather import SuitePart
    from eyetest.running import Asking, Budget, Limits, Progress, Session

    AnySuite = Suite | Mapping[str, Any] | str | Path
else:
    AnySuite = Path

_ASKING = panel("Asking", 1)
_BOUNDS = ("_low", "_high")
_SHOWN = {"accuracy-by-dimension": "accuracy", "instability-by-dimension": "instability"}
RUNS, TABLES = "runs", "tables"
_PAPER = "reform-eval"  # whose tables a suite writes
_NO_FOLDER = re.compile(r"[^\w.()-]+")


def suite(
    suite: AnySuite,
    /,
    *,
    to: AnyPath,
    dry_run: Annotated[bool, _ASKING] = False,
    retry_failed: Annotated[bool, _ASKING] = False,
    concurrency: Annotated[int, _ASKING] = 64,
    budget: Annotated[Words, _ASKING] = (),
) -> "SuiteResult | Any":
    """Ask models about many benchmarks and measure all answers together.

    A YAML file names benchmarks, models and conditions (docs/suite.md). The folder gets runs/ with the answers,
    tables/ with ReForm-Eval's tables as CSV, and the page report.html. Interrupt it at any moment and run the same
    again. Nothing is asked twice, also after a change of the file.

    Args:
        suite: A YAML file with benchmarks, models and conditions.
        to: The folder for answers, tables and the page; an existing one is continued.
        dry_run: Print the plan of calls and ask nothing.
        retry_failed: Ask again what failed before.
        concurrency: The most calls in flight to a model.
        budget: Stop when this much is spent: calls=100, cost=5, or both.

    Examples:
        $ eyetest suite suite.yaml --to results

        >>> conditions = {"perturb": "order", "tests": 2}
        >>> two = {"benchmarks": ["world/benchmark"], "models": ["scripted:right=0.8"], "conditions": conditions}
        >>> found = et.suite(two, to="suite")
        >>> "accuracy-by-dimension" in found.tables
        True

    """
    from eyetest.commands.asking import exit_code_of, notes_on
    from eyetest.commands.run import PlanResult
    from eyetest.running.limits import INTERRUPTED, limits_of

    folder, limits = new_path(to, "to"), limits_of(budget, concurrency)
    prepared = prepare(suite, folder, limits=limits, retry_failed=retry_failed)
    if dry_run:
        return PlanResult({entry.name: asked.estimate(entry.runs[0]) for entry, asked in prepared.sessions()})
    failed, stopped = ask(prepared)
    if stopped is not None:
        notes = notes_on(stopped, folder)
        observer().ended(notes, interrupted=stopped.stopped == INTERRUPTED)
        return SuiteResult(notes=notes, exit_code=exit_code_of(stopped) or 130)
    found = measure_suite(prepared)
    command = typed("eyetest", "suite", suite, "--to", to) if isinstance(suite, str | Path) else ""
    page = write_suite(prepared, found, command)
    again = f"count as missing; {param('retry_failed', True)} asks them again"
    missing = [f"{counted(failed, 'call')} failed and {again}"] if failed else []
    observer().ended(missing)
    written = f"{counted(len(found.tables), 'table')} → {folder / TABLES}; page → {page}"
    return replace(found, notes=[*found.notes, *missing, written])


@dataclass(frozen=True, repr=False)
class SuiteResult(Result):
    """ReForm-Eval's tables by name, and the scores behind them; without tables where calls are left."""

    tables: "dict[str, pl.DataFrame]" = field(default_factory=dict)
    material: "Material | None" = None
    notes: Sequence[str] = ()
    exit_code: int = 0

    @property
    def results(self) -> "Results":
        """The scores, which every measure takes."""
        assert self.material is not None, "calls are left"
        return self.material.results

    @property
    def frame(self) -> "pl.DataFrame":
        """Accuracy by dimension."""
        return self.tables.get(next(iter(_SHOWN)), pl.DataFrame())

    def as_json(self) -> Any:
        """Every table."""
        tables = {name: printed.plain(table).to_dicts() for name, table in self.tables.items()}
        return {"tables": tables, "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        """Accuracy and instability by dimension; intervals are in the files."""
        import polars.selectors as cs

        parts: list[RenderableType] = []
        for name, title in _SHOWN.items():
            if name in self.tables:
                parts += [Text(title, "bold"), estimates(self.tables[name].select(~cs.ends_with(*_BOUNDS))), ""]
        return Group(*parts)


class SuiteEntry(NamedTuple):
    """One benchmark of a suite, opened: asked into a run of its own, or answered in runs that are there."""

    name: str
    about: "SuiteBenchmark"
    benchmark: "Benchmark | None"
    runs: Sequence[Path]
    asking: "Asking | None"


class PreparedSuite(NamedTuple):
    """A suite that can be looked at before it is carried out."""

    suite: "Suite"
    to: Path
    entries: Sequence[SuiteEntry]
    models: "dict[str, ModelEntry]"
    conditions: "Sequence[Condition]"
    budget: "Budget"

    @property
    def title(self) -> str:
        """What the suite is called: as it says, or by its benchmarks."""
        return self.suite.title or listed([entry.about.name for entry in self.entries])

    def sessions(self) -> "Iterator[tuple[SuiteEntry, Session]]":
        """What is to be asked, entry by entry; one budget is for all of them."""
        from eyetest.running import Session
        from eyetest.scoring import is_hit

        for entry in self.entries:
            if entry.asking and entry.benchmark is not None:
                yield entry, Session(entry.benchmark, self.models, entry.asking, hit=is_hit, budget=self.budget)


def read_suite(suite: AnySuite) -> "tuple[Suite, Path]":
    """A suite by value or file, and where its paths begin."""
    from eyetest.store.handwritten import convert, read_yaml
    from eyetest.store.urls import local_path

    if isinstance(suite, layout.Suite):
        return suite, Path()
    if isinstance(suite, Mapping):
        return convert(layout.spelled_out(dict(suite)), layout.Suite, "suite"), Path()
    path = local_path(suite)
    return convert(layout.spelled_out(read_yaml(path) or {}), layout.Suite, str(path)), path.parent


def prepare(
    suite: AnySuite, to: Path, *, limits: "Limits | None" = None, retry_failed: bool = False
) -> PreparedSuite:
    """Open all that a suite names, before anything is asked."""
    from eyetest.prompts.conditions import read_conditions
    from eyetest.prompts.sets import under
    from eyetest.running import Asking, Budget, Limits
    from eyetest.running.limits import refuse_unpriced

    read, base = read_suite(suite)
    if to.exists() and not to.is_dir():
        raise InputError(f"{to} is a file; a suite's answers and tables go into a folder")
    inside, ours = [entry.name for entry in to.iterdir()] if to.exists() else [], (RUNS, TABLES, layout.REPORT)
    if foreign := [name for name in inside if name not in ours and not name.startswith(".")]:
        raise InputError(f'{to} holds "{foreign[0]}", which is not part of a suite; choose another place')
    with spelled(lambda name, value, at_head: name if at_head or value is None else f"{name}: {value}"):
        beside = base / read.prompts
        texts = beside if read.prompts and beside.is_file() else read.prompts
        conditions = under(read_conditions(read.conditions, read.seed), texts)
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
    return PreparedSuite(read, to, entries, models, conditions, Budget(limits))


def ask(prepared: PreparedSuite) -> "tuple[int, Progress | None]":
    """Ask everything that has no answer yet; how many calls failed, and how it stopped where some are left."""
    from eyetest.running import Progress
    from eyetest.scoring import looks_refused

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


def _opened(about: "SuiteBenchmark", base: Path, to: Path, asking: "Asking") -> SuiteEntry:
    from eyetest.runs import Run

    runs = [base / path for path in about.runs]
    benchmark = open_bench(base / about.bench) if about.bench else None
    known = benchmark.manifest if benchmark is not None else Run(runs[0]).manifest.benchmark
    called = about.name or (known.name if known else runs[0].resolve().name)
    name = _NO_FOLDER.sub("-", called).strip("-.") or "benchmark"
    named = msgspec.structs.replace(about, name=called)
    how = msgspec.structs.replace(asking, limit=about.limit or asking.limit)
    return SuiteEntry(name, named, benchmark, runs or [to / RUNS / name], None if runs else how)


def measure_suite(prepared: PreparedSuite) -> SuiteResult:
    """Score and measure the answers. Nothing is asked."""
    from eyetest.reports.papers import plain_tables, read_paper
    from eyetest.reports.report import Material

    suite = prepared.suite
    settings = gathering.settings((), 0.95, suite.seed)
    with observer().steps("measuring") as step:
        found = [_part(entry, prepared) for entry in prepared.entries]
        step("measuring", 0.4)
        kept, notes = _kept(parts.united(found, prepared.title), suite)
        material = Material(kept, replace(settings, by=layout.SUITE_TAGS[:2]))
        tables = plain_tables(read_paper(_PAPER), material, suite.by)
        if (corpora := _corpora(prepared.entries, kept)) is not None and len(corpora):
            tables["corpus"] = corpora
    if "correlation" not in tables:
        notes = (*notes, "correlation between dimensions: not measured (it takes three models and two dimensions)")
    return SuiteResult(tables, material, (*printed.caveats(kept), *notes))


def write_suite(prepared: PreparedSuite, found: SuiteResult, command: str = "") -> Path:
    """Write the tables and the page; returns the page's path."""
    from eyetest.reports import report_page
    from eyetest.reports.papers import write_tables
    from eyetest.reports.report import Material, tell
    from eyetest.runs import Run

    page, material, suite = prepared.to / layout.REPORT, found.material, prepared.suite
    assert material is not None
    about = {
        "ways of asking": str(len(prepared.conditions)) if prepared.models else "",
        "prompts": listed(dict.fromkeys(condition.prompts for condition in prepared.conditions)),
        "only": "unseen" if suite.unseen else "",
        "seed of the suite": str(suite.seed),
    }
    runs = [Run(path) for entry in prepared.entries for path in entry.runs]
    benchmarks = [entry.benchmark for entry in prepared.entries if entry.benchmark]
    method = [(name, value) for name, value in about.items() if value]
    method += report_page.report_settings(material, (gathering.Scoring().scorer, "auto"), benchmarks, "")
    details = report_page.ReportDetails(prepared.title, benchmarks, report_page.run_steps(runs), method, command)
    with observer().steps("drawing") as step:
        write_tables(found.tables, prepared.to / TABLES)
        report = replace(tell(material), material=Material(parts.parted(material.results), material.settings))
        step("drawing", 0.3)
        report_page.write_report_page(report, details, page, overwrite=True)
    return page


def _part(entry: SuiteEntry, prepared: PreparedSuite) -> "SuitePart":
    """The scores of one entry, of what the suite asks for now; its benchmark's golds where answers were there."""
    from eyetest.records import Condition

    golds = None if entry.asking else entry.benchmark
    scoring = gathering.Scoring(metric=entry.about.metric, bench=golds, models=prepared.models or None)
    results = gathering.gather(entry.runs, scoring)
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
            results = parts.keep_items(
                results, [item.id for item in islice(entry.benchmark or [], entry.asking.limit)]
            )
    return parts.SuitePart(entry.name, entry.about, results)


def _kept(results: "Results", suite: "Suite") -> "tuple[Results, Sequence[str]]":
    """The answers to what no compared model was trained on, where the suite asks for that, and notes."""
    from eyetest.measures.results import TAG

    if not suite.unseen:
        return results, ()
    tags = {TAG + tag: tag for tag in results.tags}
    rows = results.items.select("item", *tags).rename(tags).iter_rows(named=True)
    items = [
        selection.Candidate(id=row.pop("item"), tags={tag: value for tag, value in row.items() if value is not None})
        for row in rows
    ]
    asked = results.scores.select(pl.col("model").unique()).collect().to_series()
    compared = {model: results.models[model] for model in sorted(asked) if model in results.models}
    items, notes = selection.unseen(items, compared, "dataset")
    if not items:
        raise InputError(f"{heading('unseen')}: nothing is left that no model was trained on")
    return parts.keep_items(results, [item.id for item in items]), notes


def _corpora(entries: Sequence[SuiteEntry], kept: "Results") -> "pl.DataFrame | None":
    """The score of whole corpora, by benchmark, model and protocol, over all tests of what counts."""
    from eyetest.measures.results import PROTOCOL
    from eyetest.results.scores import answers_of, benchmark_of
    from eyetest.runs import Run
    from eyetest.scoring.scorer import corpus_table

    tables, keys = [], ["benchmark", "metric", "model", *PROTOCOL]
    for entry in entries:
        scores = parts.own_scores(kept, entry.name)
        for run in map(Run, entry.runs):
            if run.manifest.benchmark is None and entry.benchmark is None:
                continue
            golds = benchmark_of(run, None if entry.asking else entry.benchmark)
            pooled = corpus_table(answers_of(run, golds), golds, scores)
            named = pooled.with_columns(pl.lit(entry.name).alias("benchmark"))
            tables.append(named.group_by(keys).agg(pl.col("overall").mean(), pl.len().alias("tests")).sort(keys))
    return pl.concat(tables) if tables else None
