"""What a suite came to: the scores of all its benchmarks measured as one, in tables and on a page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import polars as pl

from eyetest.curate.selection import Candidate
from eyetest.errors import InputError, heading
from eyetest.jobs.measure import Scoring, gather
from eyetest.jobs.opening import SILENT, Observer
from eyetest.jobs.subset import only_with, unseen
from eyetest.jobs.suite import TABLES, PreparedSuite, SuiteEntry
from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.results import PROTOCOL, TAG
from eyetest.records import Condition
from eyetest.records.recipe import REPORT
from eyetest.records.suite import SUITE_TAGS
from eyetest.reports.material import Material
from eyetest.reports.report import tell
from eyetest.reports.report_page import ReportDetails, report_settings, run_steps, write_report_page
from eyetest.reports.suite_tables import suite_tables, write_suite_tables
from eyetest.results.scores import answers_of, benchmark_of
from eyetest.results.union import SuitePart, keep_items, own_scores, united
from eyetest.runs import Run
from eyetest.scoring.scorer import corpus_table
from eyetest.wording import counted, listed

_ENOUGH_MODELS = 10


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
    prepared: PreparedSuite,
    settings: Settings,
    only: Sequence[str] = (),
    *,
    unseen_only: bool = False,
    observer: Observer = SILENT,
) -> ToldSuite:
    """Score and measure what was answered. Nothing is asked."""
    suite, said = prepared.suite, _Notes()
    with observer.steps("measuring") as step:
        parts = [(entry, _part(entry, prepared, observer)) for entry in prepared.entries]
        step("measuring", 0.4)
        whole = united([part for entry, part in parts if entry.options is None], suite_title(prepared))
        words = [*suite.only.words, *only]
        kept = _kept(whole, words, said, unseen_only=unseen_only or suite.unseen)
        fewer = _fewer_options([part for entry, part in parts if entry.options is not None], kept, settings)
        how = replace(settings, by=SUITE_TAGS[:2])
        material = Material(kept, how, fewer_options=fewer, corpora=_corpora(prepared.entries, kept))
        tables = suite_tables(material)
    words += ["unseen"] if unseen_only or suite.unseen else []
    return ToldSuite(tables, material, words, (*kept.notes, *said.lines, *_few_models(tables)))


def write_suite(prepared: PreparedSuite, told: ToldSuite, command: str = "", observer: Observer = SILENT) -> Path:
    """Write the tables and the page; gives the page."""
    page = prepared.to / REPORT
    with observer.steps("drawing") as step:
        write_suite_tables(told.tables, prepared.to / TABLES)
        report = tell(told.material)
        step("drawing", 0.3)
        write_report_page(report, _details(prepared, told, command), page, overwrite=True)
    return page


def suite_title(prepared: PreparedSuite) -> str:
    """What the suite is called: as it says, or by its benchmarks."""
    names = [entry.about.name for entry in prepared.entries if entry.options is None]
    return prepared.suite.title or listed(names)


class _Notes(Observer):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


def _part(entry: SuiteEntry, prepared: PreparedSuite, observer: Observer) -> SuitePart:
    """The scores of one entry; golds are the named benchmark's where answers were there before."""
    golds = None if entry.is_asked else entry.benchmark
    scoring = Scoring(metric=entry.about.metric, bench=golds, models=dict(prepared.models) or None)
    results = gather([Run(path) for path in entry.runs], scoring, observer)
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


def _few_models(tables: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    """What has to be said of a correlation over few models."""
    if "correlation" not in tables:
        yield "no correlation between dimensions: it takes three models and two dimensions"
        return
    most: int = tables["correlation"].get_column("n").max()  # type: ignore[assignment]
    if most < _ENOUGH_MODELS:
        yield f"correlation between dimensions rests on {counted(most, 'model')}: see its intervals"
