"""Opened places (benchmarks, runs, refinements, audits), and the tables of items and judgements in them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark, ReadOptions, is_benchmark, open_benchmark
from eyetest.benchmarks.opening import is_readable, known_benchmark, refuse_one_above
from eyetest.errors import InputError, naming_benchmark
from eyetest.measures.results import TAG
from eyetest.measures.stats.sets import set_labels
from eyetest.probes.audit import Audit
from eyetest.records import MAX_CHOICES, letter, tag_words
from eyetest.records.recipe import ABOUT, BENCHMARK, RUN, VERDICTS
from eyetest.results.scores import benchmark_of, chosen_benchmark, read_repairs
from eyetest.runs import Run, is_run
from eyetest.runs.stored import PLAN
from eyetest.store import read_json
from eyetest.store.files import read_regular
from eyetest.tabular.record_files import read_parquet

_UNCHANGED = ReadOptions(gold_required=False, images_required=False)
_NEEDED = ("item", "stage", "verdict", "reason", "evidence")
_MOST_JSON = 256 * 2**20
_FINDING = dict.fromkeys(("item", "kind", "title", "evidence", "severity"), pl.String)
LETTERS = {index: letter(index) for index in range(MAX_CHOICES)}
_read_tags = msgspec.json.Decoder(dict[str, Any]).decode
Tell = Callable[[str], None]


class Judged(NamedTuple):
    """Verdicts of a refinement or findings of an audit; fingerprint and path of their benchmark, if known."""

    fingerprint: str
    verdicts: pl.DataFrame = pl.DataFrame(schema=dict.fromkeys(("item", "stage", "verdict"), pl.String))
    findings: pl.DataFrame = pl.DataFrame(schema=_FINDING)
    path: str = ""


class _Refined(msgspec.Struct, frozen=True):
    fingerprint: str = ""
    path: str = ""


class _Refinement(msgspec.Struct, frozen=True):
    benchmark: _Refined = _Refined()


class Sources(NamedTuple):
    """All opened places: benchmarks, runs with theirs, and judgements."""

    benchmarks: list[Benchmark]
    runs: list[tuple[Run, Benchmark]]
    judged: list[Judged]


def open_places(places: Sequence[Path], tell: Tell = lambda line: None) -> Sources:
    """Open each place by its kind. A benchmark that several refer to is opened once."""
    if not places:
        raise InputError("nothing to open: name a benchmark, a run, a refinement or an audit")
    named, judged, runs, refined = list[Benchmark](), list[Judged](), list[Run](), list[tuple[str, Path]]()
    without_plan = list[Run]()  # their calls wrote options, for example: the answers are about no item
    for place in places:
        if is_run(place):
            runs.append(Run(place))
        elif (place / ABOUT).is_file():
            judged.append(_refinement(place))
            if is_run(place / RUN):
                (runs if (place / RUN / PLAN).is_file() else without_plan).append(Run(place / RUN))
            elif is_benchmark(place / BENCHMARK):
                refined.append((judged[-1].fingerprint, place / BENCHMARK))
        elif place.suffix == ".json" and (audited := _audit(place)):
            judged.append(audited)
        else:
            named.append(_open_benchmark(place, tell))
    asked = [(run, _about(run, named)) for run in runs]
    others = [_about(run, named) for run in without_plan]
    opened = {one.manifest.fingerprint: one for one in (*named, *(benchmark for _, benchmark in asked), *others)}
    for source in judged:
        if source.path and source.fingerprint not in opened:
            benchmark = known_benchmark(source.path, source.fingerprint)
            if benchmark is not None and benchmark.manifest.fingerprint == source.fingerprint:
                opened[source.fingerprint] = benchmark
    left = [Benchmark(path) for fingerprint, path in refined if fingerprint not in opened]
    return Sources([*opened.values(), *left], asked, judged)


def _open_benchmark(place: Path, tell: Tell) -> Benchmark:
    if not is_benchmark(place):
        refuse_one_above(place)
        if not is_readable(place):
            raise InputError(f"{place} is no benchmark that eyetest recognises, no run, no refinement and no audit")
        tell(f"reading {place.name}")
    return open_benchmark(place, _UNCHANGED)


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
    return benchmark_of(run, revised[-1] if revised and not same else None, naming_benchmark(run.path))


def _refinement(place: Path) -> Judged:
    about = read_json(place / ABOUT, _Refinement, "run eyetest refine again").benchmark
    if not (place / VERDICTS).is_file():
        raise InputError(f"{place} is a refinement without its {VERDICTS}; run eyetest refine again")
    return Judged(about.fingerprint, read_verdict_table(place / VERDICTS), path=about.path)


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
    return Judged(audit.fingerprint, findings=pl.DataFrame(rows, _FINDING, orient="row"))


def read_verdict_table(path: Path) -> pl.DataFrame:
    """Verdicts as a table: a large refinement has too many for one object each."""
    frame = pl.from_arrow(read_parquet(path))
    assert isinstance(frame, pl.DataFrame)
    odd = [name for name in _NEEDED if frame.schema.get(name) != pl.String]
    if odd or frame.select(pl.col(_NEEDED[:3]).has_nulls()).row(0) != (False,) * 3:
        raise InputError(f"{path} is not a table of verdicts: {odd[0] if odd else 'a value'} is missing")
    return frame


def judgement_tables(
    judged: Sequence[Judged], items: pl.DataFrame, names: Mapping[str, str]
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """All verdicts and findings with their ``position`` in ``items``, and how many are about no item of them.

    ``names``: of benchmarks by fingerprint.
    """
    texts = dict.fromkeys(("stage", "verdict", "reason", "evidence"), pl.String)
    tables = [[pl.DataFrame(schema={"position": pl.Int64, **types})] for types in (texts, _FINDING)]
    unknown = 0
    for source in judged:
        own = items.filter(pl.col("benchmark") == names.get(source.fingerprint, source.fingerprint))
        places = (own if len(own) else items).select("item", "position")
        for table, placed in zip((source.verdicts, source.findings), tables, strict=True):
            placed.append(table.join(places, on="item", maintain_order="left"))
            unknown += table.select("item").unique().join(places, on="item", how="anti").height
    verdicts, findings = (
        pl.concat(some, how="diagonal_relaxed").sort("position", maintain_order=True) for some in tables
    )
    return verdicts, findings, unknown


def named_benchmarks(benchmarks: Sequence[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks by name; two versions of one are distinguished by their folders."""
    names = Counter(benchmark.manifest.name for benchmark in benchmarks)
    return {
        name if names[name] == 1 else f"{name} ({benchmark.path.resolve()})": benchmark
        for benchmark in benchmarks
        for name in [benchmark.manifest.name]
    }


def read_items(benchmarks: Mapping[str, Benchmark]) -> pl.DataFrame:
    """The items of all benchmarks, one after the other; ``group`` and ``hashes`` make items dependent.

    ``source`` and ``row`` say where an item is stored.
    """
    hashes = pl.col("images").list.eval(pl.element().struct.field("sha256"))
    right = pl.col("choices").list.eval(pl.element().struct.field("correct").arg_true())
    letters = right.list.eval(pl.element().replace_strict(LETTERS, return_dtype=pl.String))
    texts = dict.fromkeys(("benchmark", "item", "question", "gold", "image", "group"), pl.String)
    numbers = dict.fromkeys(("images", "options", "source"), pl.Int64) | {"row": pl.UInt32}
    tables = [pl.DataFrame(schema={**texts, **numbers, "hashes": pl.List(pl.String)})]
    for source, (name, benchmark) in enumerate(benchmarks.items()):
        stored = benchmark.scan(("id", "question", "group", "tags", "choices", "images")).select(
            pl.lit(name).alias("benchmark"),
            pl.lit(source, pl.Int64).alias("source"),
            pl.col("id").alias("item"),
            *("question", "group", "tags"),
            pl.when(right.list.len() > 0).then(letters.list.join(", ")).alias("gold"),
            hashes.list.first().alias("image"),
            hashes.list.len().fill_null(0).cast(pl.Int64).alias("images"),
            pl.col("choices").list.len().fill_null(0).cast(pl.Int64).alias("options"),
            hashes.alias("hashes"),
        )
        table = stored.collect(engine="streaming").with_row_index("row")
        tables.append(table.with_columns(_tag_columns(table.drop_in_place("tags"))))
    items = pl.concat(tables, how="diagonal_relaxed").with_columns(asked_gold="gold")
    single = [name for name in items.columns if name.startswith(TAG) and (items[name].list.len() <= 1).all()]
    return items.with_columns(pl.col(single).list.first())


def _tag_columns(texts: pl.Series) -> list[pl.Series]:
    """The values of tags as lists of words. Most items share their tags, so each text is parsed once."""
    distinct = texts.unique(maintain_order=True).drop_nulls()
    values: dict[str, list[tuple[str, ...] | None]] = {}
    for row, text in enumerate(distinct):
        for tag, value in _read_tags(text).items() if text else ():
            if words := tag_words(value):
                values.setdefault(TAG + tag, [None] * len(distinct))[row] = words
    rows = pl.DataFrame([distinct, pl.int_range(len(distinct), eager=True).alias("row")])
    alike = texts.to_frame().join(rows, on=texts.name, how="left", maintain_order="left").get_column("row")
    return [pl.Series(tag, words, pl.List(pl.String)).gather(alike) for tag, words in values.items()]


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
