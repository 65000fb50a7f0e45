"""Opened places (benchmarks, runs, refinements, audits), and the tables of items, answers and judgements in them."""

import atexit
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark, BenchmarkWriter, ReadOptions, is_benchmark, open_benchmark
from eyetest.benchmarks.opening import is_readable, refuse_one_above
from eyetest.errors import InputError
from eyetest.measures.results import TAG
from eyetest.measures.stats.sets import set_labels
from eyetest.probes.audit import Audit
from eyetest.records import MAX_CHOICES, Item, Manifest, letter, tag_word
from eyetest.records.recipe import ABOUT, BENCHMARK, RUN, VERDICTS
from eyetest.results.gather import has_given_scores_only
from eyetest.results.scores import benchmark_of, chosen_benchmark, read_repairs
from eyetest.runs import Run, is_run
from eyetest.runs.stored import PLAN
from eyetest.store.files import read_regular
from eyetest.store.urls import known_path
from eyetest.tabular.record_files import read_parquet

_UNCHANGED = ReadOptions(gold_required=False, images_required=False)
_NEEDED = ("item", "stage", "verdict", "reason", "evidence")
_MOST_JSON = 256 * 2**20
_FINDING = dict.fromkeys(("item", "kind", "title", "evidence", "severity"), pl.String)
LETTERS = {index: letter(index) for index in range(MAX_CHOICES)}
_STORED = ("id", "question", "group", "tags", "choices", "images")
_read_tags = msgspec.json.Decoder(dict[str, Any]).decode
Tell = Callable[[str], None]


class RunSource(NamedTuple):
    """A run and its benchmark; ``only_given``: no benchmark is known, and every score was given."""

    run: Run
    benchmark: Benchmark
    only_given: bool = False


class Judged(NamedTuple):
    """Verdicts of a refinement or an audit on items; fingerprint and path of the benchmark are empty if unknown."""

    benchmark: str
    fingerprint: str
    verdicts: pl.DataFrame = pl.DataFrame(schema=dict.fromkeys(("item", "stage", "verdict"), pl.String))
    findings: pl.DataFrame = pl.DataFrame(schema=_FINDING)
    path: str = ""


class _RefinedBenchmark(msgspec.Struct, frozen=True):
    name: str = ""
    fingerprint: str = ""
    path: str = ""


class _RefinementHead(msgspec.Struct, frozen=True):
    benchmark: _RefinedBenchmark = _RefinedBenchmark()


@dataclass
class CollectionSources:
    """All opened places."""

    benchmarks: list[Benchmark] = field(default_factory=list)
    runs: list[RunSource] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)


def open_places(places: Sequence[Path], tell: Tell = lambda line: None) -> CollectionSources:
    """Open each place by its kind. A benchmark that several refer to is opened once."""
    if not places:
        raise InputError("nothing to open: name a benchmark, a run, a refinement or an audit")
    sources, runs, refined = CollectionSources(), list[Run](), list[tuple[str, Path]]()
    without_plan = list[Run]()  # their calls wrote options, for example: the answers are about no item
    for place in places:
        if is_run(place):
            runs.append(Run(place))
        elif (place / ABOUT).is_file():
            judged = _refinement(place)
            sources.judged.append(judged)
            if is_run(place / RUN):
                (runs if (place / RUN / PLAN).is_file() else without_plan).append(Run(place / RUN))
            elif is_benchmark(place / BENCHMARK):
                refined.append((judged.fingerprint, place / BENCHMARK))
        elif place.suffix == ".json" and (audited := _audit(place)):
            sources.judged.append(audited)
        else:
            sources.benchmarks.append(_open_benchmark(place, tell))
    sources.runs = [_source(run, sources.benchmarks) for run in runs]
    asked = [source.benchmark for source in sources.runs] + [_about(run, sources.benchmarks) for run in without_plan]
    opened = {benchmark.manifest.fingerprint: benchmark for benchmark in (*sources.benchmarks, *asked)}
    for judged in sources.judged:
        if judged.path and judged.fingerprint not in opened and is_benchmark(path := known_path(judged.path)):
            benchmark = Benchmark(path)
            if benchmark.manifest.fingerprint == judged.fingerprint:
                opened[judged.fingerprint] = benchmark
    left = [Benchmark(path) for fingerprint, path in refined if fingerprint not in opened]
    sources.benchmarks = [*opened.values(), *left]
    return sources


def _open_benchmark(place: Path, tell: Tell) -> Benchmark:
    if not is_benchmark(place):
        refuse_one_above(place)
        if not is_readable(place):
            raise InputError(f"{place} is no benchmark that eyetest recognises, no run, no refinement and no audit")
        tell(f"reading {place.name}")
    return open_benchmark(place, _UNCHANGED)


def _source(run: Run, opened: Sequence[Benchmark]) -> RunSource:
    is_known = bool(run.manifest.benchmark or opened or chosen_benchmark(run))
    if is_known or not has_given_scores_only(run):
        return RunSource(run, _about(run, opened))
    return RunSource(run, _names_alone(run), only_given=True)


def _names_alone(run: Run) -> Benchmark:
    """The items that a run names, of which nothing else is known, as a benchmark in a temporary folder."""
    folder = Path(mkdtemp(prefix="eyetest-open-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    names = dict.fromkeys(run.plan().column("item").to_pylist())
    manifest = Manifest(name=run.path.resolve().name)
    with BenchmarkWriter(folder / BENCHMARK, manifest, gold_required=False) as writer:
        for name in names:
            writer.add(Item(id=name, question="Only the scores of this item are known."))
    return Benchmark(folder / BENCHMARK)


def _about(run: Run, opened: Sequence[Benchmark]) -> Benchmark:
    """The benchmark of a run: the one it is scored by, the opened one if it is unrepaired, or a revision of it."""
    if chosen := chosen_benchmark(run):
        return chosen
    asked = run.manifest.benchmark
    if asked is None:
        if len(opened) != 1:
            raise InputError(f"{run.path} does not say what benchmark it is about; name the benchmark as well")
        return opened[0]
    same = [benchmark for benchmark in opened if asked.fingerprint == benchmark.manifest.fingerprint]
    if same and not read_repairs(run.path):
        return same[0]
    revised = [benchmark for benchmark in opened if benchmark.manifest.is_repaired(asked.fingerprint)]
    return benchmark_of(run, revised[-1] if revised and not same else None)


def _refinement(place: Path) -> Judged:
    try:
        head = msgspec.json.decode(read_regular(place / ABOUT, place), type=_RefinementHead)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{place / ABOUT} is damaged: {error}; run eyetest refine again") from None
    if not (place / VERDICTS).is_file():
        raise InputError(f"{place} is a refinement without its {VERDICTS}; run eyetest refine again")
    about = head.benchmark
    return Judged(about.name, about.fingerprint, read_verdict_table(place / VERDICTS), path=about.path)


def _audit(place: Path) -> Judged | None:
    """An audit from its JSON; None where the file is something else."""
    try:
        audit = msgspec.json.decode(read_regular(place, place.parent, _MOST_JSON), type=Audit)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    rows = [
        (item, finding.kind, finding.title, finding.evidence.get(item, ""), finding.severity)
        for finding in audit.findings
        for item in finding.items
    ]
    return Judged(audit.benchmark, audit.fingerprint, findings=pl.DataFrame(rows, _FINDING, orient="row"))


def read_verdict_table(path: Path) -> pl.DataFrame:
    """Verdicts as a table: a large refinement has too many for one object each."""
    frame = pl.from_arrow(read_parquet(path))
    assert isinstance(frame, pl.DataFrame)
    odd = [name for name in _NEEDED if frame.schema.get(name) != pl.String]
    if odd or frame.select(pl.col(_NEEDED[:3]).has_nulls()).row(0) != (False,) * 3:
        raise InputError(f"{path} is not a table of verdicts: {odd[0] if odd else 'a value'} is missing")
    return frame


class Judgements(NamedTuple):
    """Verdicts of stages and findings of audits, each with its ``position``; items that no benchmark has."""

    verdicts: pl.DataFrame
    findings: pl.DataFrame
    unknown: int


def judgement_tables(judged: Sequence[Judged], items: pl.DataFrame, names: Mapping[str, str]) -> Judgements:
    """All judgements on ``items`` (``benchmark, item, position``); ``names``: of benchmarks by fingerprint."""
    texts = dict.fromkeys(("stage", "verdict", "reason", "evidence"), pl.String)
    verdicts = [pl.DataFrame(schema={"position": pl.Int64, **texts})]
    findings = [pl.DataFrame(schema={"position": pl.Int64, **_FINDING})]
    unknown = 0
    for source in judged:
        own = items.filter(pl.col("benchmark") == names.get(source.fingerprint, source.fingerprint))
        places = (own if len(own) else items).select("item", "position")
        for table, placed in ((source.verdicts, verdicts), (source.findings, findings)):
            placed.append(table.join(places, on="item", maintain_order="left"))
            unknown += table.select("item").unique().join(places, on="item", how="anti").height
    return Judgements(
        pl.concat(verdicts, how="diagonal_relaxed").sort("position", maintain_order=True),
        pl.concat(findings, how="diagonal_relaxed").sort("position", maintain_order=True),
        unknown,
    )


def named_benchmarks(benchmarks: Sequence[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks by name; two versions of one are distinguished by their folders."""
    names = Counter(benchmark.manifest.name for benchmark in benchmarks)
    return {
        name if names[name] == 1 else f"{name} ({benchmark.path.resolve()})": benchmark
        for benchmark in benchmarks
        for name in [benchmark.manifest.name]
    }


def read_items(benchmarks: Mapping[str, Benchmark]) -> pl.DataFrame:
    """The items of all benchmarks, one benchmark after the other; ``group`` and ``hashes`` make items dependent."""
    hashes = pl.col("images").list.eval(pl.element().struct.field("sha256"))
    right = pl.col("choices").list.eval(pl.element().struct.field("correct").arg_true())
    letters = right.list.eval(pl.element().replace_strict(LETTERS, return_dtype=pl.String))
    texts = dict.fromkeys(("benchmark", "item", "question", "gold", "image", "group"), pl.String)
    numbers = dict.fromkeys(("images", "options"), pl.Int64)
    tables = [pl.DataFrame(schema={**texts, **numbers, "hashes": pl.List(pl.String)})]
    for name, benchmark in benchmarks.items():
        stored = benchmark.scan(_STORED).select(
            pl.lit(name).alias("benchmark"),
            pl.col("id").alias("item"),
            *("question", "group", "tags"),
            pl.when(right.list.len() > 0).then(letters.list.join(", ")).alias("gold"),
            hashes.list.first().alias("image"),
            hashes.list.len().fill_null(0).cast(pl.Int64).alias("images"),
            pl.col("choices").list.len().fill_null(0).cast(pl.Int64).alias("options"),
            hashes.alias("hashes"),
        )
        table = stored.collect(engine="streaming")
        tables.append(table.with_columns(_tag_columns(table.drop_in_place("tags"))))
    return pl.concat(tables, how="diagonal")


def _tag_columns(texts: pl.Series) -> list[pl.Series]:
    """Tags of a single value, as words. Most items share their tags, so each text is parsed once."""
    distinct = texts.unique(maintain_order=True).drop_nulls()
    values: dict[str, list[str | None]] = {}
    for row, text in enumerate(distinct):
        for tag, value in _read_tags(text).items() if text else ():
            if (word := tag_word(value)) is not None:
                values.setdefault(TAG + tag, [None] * len(distinct))[row] = word
    rows = pl.DataFrame([distinct, pl.int_range(len(distinct), eager=True).alias("row")])
    alike = texts.to_frame().join(rows, on=texts.name, how="left", maintain_order="left").get_column("row")
    return [pl.Series(tag, words, pl.String).gather(alike) for tag, words in values.items()]


def item_clusters(items: pl.DataFrame) -> NDArray[np.int64]:
    """The cluster of each position: items that share an image or a group depend on each other."""
    links = items.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), "benchmark", "item", "group", "hashes")
    shown = links.select("row", key="hashes").explode("key").drop_nulls()
    grouped = links.filter(pl.col("group") != "").select("row", key=pl.struct("benchmark", "group"))
    heads = links.select("row", key=pl.struct("benchmark", group="item"))
    grouped = pl.concat([grouped, heads.join(grouped, on="key", how="semi")])
    coded = [table.select("row", pl.col("key").rank("dense").cast(pl.Int64)) for table in (shown, grouped)]
    pairs = ((rows.get_column("row").to_numpy(), rows.get_column("key").to_numpy()) for rows in coded)
    labels = set_labels(len(items), *pairs)
    dense: NDArray[np.int64] = np.unique(labels, return_inverse=True)[1]
    return dense
