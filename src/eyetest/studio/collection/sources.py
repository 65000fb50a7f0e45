"""Opened places (benchmarks, runs, refinements, audits), and their verdicts and findings by position."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark, ReadOptions, is_benchmark, open_benchmark
from eyetest.benchmarks.formats import is_readable
from eyetest.benchmarks.opening import refuse_one_above
from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Bools
from eyetest.pages.item_links import VERDICTS_TOGETHER, reason_kind
from eyetest.probes.audit import GRAVITY, Audit
from eyetest.records import Finding, Severity, Verdict, VerdictKind, columns
from eyetest.records.recipe import ABOUT, BENCHMARK, RUN, VERDICTS
from eyetest.results.gather import benchmark_if_needed
from eyetest.results.scores import read_mends
from eyetest.runs import Run, is_run
from eyetest.runs.plan import PLAN
from eyetest.store.files import read_regular
from eyetest.store.urls import known_path
from eyetest.tabular.record_files import read_parquet

_AS_IT_IS = ReadOptions(gold_required=False, images_required=False)
_NEEDED = ("item", "stage", "verdict", "reason", "evidence")
_MOST_JSON = 256 * 2**20
Tell = Callable[[str], None]


class RunSource(NamedTuple):
    """A run and its benchmark; None where it holds nothing but verdicts of others."""

    run: Run
    benchmark: Benchmark | None


class Judged(NamedTuple):
    """Verdicts of a refinement or an audit on items; fingerprint and path of the benchmark are empty if unknown."""

    benchmark: str
    fingerprint: str
    verdicts: pl.DataFrame | None = None
    findings: Sequence[Finding] = ()
    suggested: Mapping[str, VerdictKind] | None = None  # by an audit; keep for all other items
    path: str = ""

    @property
    def items(self) -> list[str]:
        """The items with a verdict."""
        judged = self.verdicts.get_column("item").to_list() if self.verdicts is not None else []
        return list(dict.fromkeys([*judged, *(item for finding in self.findings for item in finding.items)]))


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
    sources, runs, kept = CollectionSources(), list[Run](), list[tuple[str, Path]]()
    asked_otherwise = list[Run]()  # to write options, say: their answers are about no item
    for place in places:
        if is_run(place):
            runs.append(Run(place))
        elif (place / ABOUT).is_file():
            judged = _refinement(place)
            sources.judged.append(judged)
            if is_run(place / RUN) and not (place / RUN / PLAN).is_file():
                asked_otherwise.append(Run(place / RUN))
            elif is_run(place / RUN):
                runs.append(Run(place / RUN))
            elif is_benchmark(place / BENCHMARK):
                kept.append((judged.fingerprint, place / BENCHMARK))
        elif judged_file := _audit(place):
            sources.judged.append(judged_file)
        else:
            sources.benchmarks.append(_open_benchmark(place, tell))
    for run in runs:
        sources.runs.append(RunSource(run, _about(run, sources.benchmarks)))
    known = [one.benchmark for one in sources.runs if one.benchmark]
    known += [one for run in asked_otherwise if (one := _about(run, sources.benchmarks))]
    sources.benchmarks = list({one.manifest.fingerprint: one for one in (*sources.benchmarks, *known)}.values())
    there = {one.manifest.fingerprint for one in sources.benchmarks}
    refined = [_where_it_was(one) for one in sources.judged if one.path and one.fingerprint not in there]
    sources.benchmarks += {one.manifest.fingerprint: one for one in refined if one}.values()
    there |= {one.manifest.fingerprint for one in sources.benchmarks}
    sources.benchmarks += [Benchmark(path) for fingerprint, path in kept if fingerprint not in there]
    return sources


def _open_benchmark(place: Path, tell: Tell) -> Benchmark:
    refuse_one_above(place)
    if is_benchmark(place):
        return Benchmark(place)
    if not is_readable(place):
        raise InputError(f"{place} is no benchmark that eyetest recognises, no run, no refinement and no audit")
    tell(f"reading {place.name}")
    return open_benchmark(place, _AS_IT_IS)


def _where_it_was(judged: Judged) -> Benchmark | None:
    place = known_path(judged.path)
    if not is_benchmark(place):
        return None
    benchmark = Benchmark(place)
    return benchmark if benchmark.manifest.fingerprint == judged.fingerprint else None


def _about(run: Run, opened: Sequence[Benchmark]) -> Benchmark | None:
    """The benchmark of a run: the opened one, if it is the same and unrepaired, or a revision of it."""
    said = run.manifest.benchmark
    if said is None and len(opened) == 1:
        return opened[0]
    same = [one for one in opened if said and said.fingerprint == one.manifest.fingerprint]
    if same and not read_mends(run.path):
        return same[0]
    revised = [one for one in opened if said and not same and one.manifest.is_mended(said.fingerprint)]
    return benchmark_if_needed(run, revised[-1] if revised else None, rescore=False)


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
    """An audit from its JSON or its table of verdicts; None where a file is neither."""
    if not place.is_file():
        return None
    if place.suffix == ".json":
        try:
            audit = msgspec.json.decode(read_regular(place, place.parent, _MOST_JSON), type=Audit)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        findings = [one for one in audit.findings if one.items]
        return Judged(audit.benchmark, audit.fingerprint, None, findings, audit.suggested)
    if place.suffix == ".parquet" and _has_verdicts(place):
        return Judged(place.stem, "", read_verdict_table(place))
    return None


def read_verdict_table(path: Path) -> pl.DataFrame:
    """Verdicts as a table: a large refinement has too many for one object each."""
    frame = pl.from_arrow(read_parquet(path))
    assert isinstance(frame, pl.DataFrame)
    odd = [name for name in _NEEDED if frame.schema.get(name) != pl.String]
    if odd or frame.select(pl.col(_NEEDED[:3]).has_nulls()).row(0) != (False,) * 3:
        raise InputError(f"{path} is not a table of verdicts: {odd[0] if odd else 'a value'} is missing")
    return frame


def _has_verdicts(table: Path) -> bool:
    """Whether a table has the columns of verdicts; any other may be a dataset of any size."""
    try:
        return set(_NEEDED) <= set(pq.read_schema(table).names)
    except (OSError, pa.ArrowException):
        return False


_AUDIT = pl.col("stage").str.contains(r"^audit(:|$)")
_POSITION = {"position": pl.Int64}
_VERDICTS = _POSITION | dict.fromkeys(("stage", "verdict", "reason", "evidence"), pl.String)
_FOUND = dict.fromkeys(("item", "kind", "title", "evidence", "severity"), pl.String)
_FINDINGS = _POSITION | dict.fromkeys(("kind", "title", "evidence", "severity"), pl.String)
_SUGGESTED = _POSITION | {"suggested": pl.String}


class ItemFinding(NamedTuple):
    """A finding of an audit about one item."""

    kind: str
    title: str
    evidence: str
    severity: Severity | None = None


class Judgements:
    """Tables of verdicts, findings and suggested verdicts, sorted by position."""

    def __init__(
        self,
        judged: Sequence[Judged],
        places: Mapping[str, pl.DataFrame],
        names_by_fingerprint: Mapping[str, str],
        size: int,
    ) -> None:
        """``places``: ``item, position`` by the name of a benchmark; and these names by fingerprint."""
        self._size = size
        verdicts, findings, suggested = ([pl.DataFrame(schema=s)] for s in (_VERDICTS, _FINDINGS, _SUGGESTED))
        for one in judged:
            name = names_by_fingerprint.get(one.fingerprint, one.fingerprint)
            for place in [places[name]] if name in places else places.values():
                if one.suggested is not None:
                    kept = pl.col("item").replace_strict(one.suggested, default="keep", return_dtype=pl.String)
                    suggested.append(place.select("position", suggested=kept))
                found = pl.DataFrame(_found(one), schema=_FOUND, orient="row")
                findings.append(found.join(place, on="item", maintain_order="left").select(*_FINDINGS))
                if one.verdicts is not None:
                    rows = one.verdicts.join(place, on="item", maintain_order="left")
                    verdicts.append(rows.filter(~_AUDIT))
                    audited = rows.filter(_AUDIT)
                    suggested.append(audited.select("position", suggested="verdict"))
                    texts = pl.col("reason", "evidence").fill_null("")
                    named = audited.filter(pl.col("verdict") != "keep").with_columns(texts)
                    unknown = pl.lit(None, pl.String).alias("severity")
                    findings.append(named.with_columns(unknown, kind="reason", title="evidence").select(*_FINDINGS))
        self._verdicts = pl.concat(verdicts, how="diagonal_relaxed").sort("position", maintain_order=True)
        self._findings = pl.concat(findings).sort("position", maintain_order=True)
        gravity = pl.col("suggested").replace_strict(GRAVITY, return_dtype=pl.Int64)
        self._suggested = pl.concat(suggested).group_by("position").agg(pl.col("suggested").sort_by(gravity).first())
        self._starts, self._found = (
            np.searchsorted(table.get_column("position").to_numpy(), np.arange(size + 1))
            for table in (self._verdicts, self._findings)
        )

    def verdicts(self, position: int) -> list[Verdict]:
        """The verdicts of stages on an item, in their order."""
        rows = self._verdicts[self._starts[position] : self._starts[position + 1]].to_dicts()
        names = columns(Verdict)
        values = ({name: row[name] for name in names if row.get(name) is not None} for row in rows)
        return [msgspec.convert(value, Verdict) for value in values]

    def findings(self, position: int) -> list[ItemFinding]:
        """The findings of audits about an item."""
        rows = self._findings[self._found[position] : self._found[position + 1]]
        return [ItemFinding(*row) for row in rows.select(ItemFinding._fields).iter_rows()]

    def columns(self) -> pl.DataFrame:
        """The last verdict, the kinds of findings and the suggested verdict, a row for each item."""
        last = self._verdicts.group_by("position", maintain_order=True).last().select("position", "verdict", "stage")
        kinds = self._findings.group_by("position").agg(pl.col("kind").unique().sort().alias("findings"))
        rows = pl.DataFrame({"position": np.arange(self._size)}, schema=_POSITION)
        for table in (last, kinds, self._suggested):
            rows = rows.join(table, on="position", how="left", maintain_order="left")
        return rows.drop("position")

    def judged(self, verdict: str, stage: str, reason: str = "") -> Bools:
        """Items with a verdict of a stage; without a stage, those whose last verdict it is."""
        rows = self._verdicts
        if not stage:
            rows = rows.group_by("position", maintain_order=True).last()
        wanted = [pl.col("stage") == stage] if stage else []
        wanted += [_is(verdict)] if verdict else []
        rows = rows.filter(*wanted)
        if reason:
            kinds = [reason_kind(text or "") == reason for text in rows.get_column("reason")]
            rows = rows.filter(pl.Series(kinds, dtype=pl.Boolean))
        return self._mask(rows)

    def counts(self, positions: NDArray[np.int64], verdict: str, stage: str) -> dict[str, dict[str, int]]:
        """The number of items for each ``stage`` and each ``verdict``, beside the other of the two."""
        rows = self._verdicts.filter(pl.col("position").is_in(pl.Series(positions).implode()))
        last = rows.group_by("position", maintain_order=True).last()
        shown = {
            "stage": rows.filter(_is(verdict)) if verdict else rows,
            "verdict": rows.filter(pl.col("stage") == stage) if stage else last,
        }
        return {
            name: dict(some.group_by(name).agg(pl.col("position").n_unique()).iter_rows())
            for name, some in shown.items()
        }

    def with_finding(self, kinds: Sequence[str]) -> Bools:
        """Items that have one of some findings."""
        return self._mask(self._findings.filter(pl.col("kind").is_in(list(kinds))))

    def _mask(self, rows: pl.DataFrame) -> Bools:
        mask = np.zeros(self._size, bool)
        mask[rows.get_column("position").to_numpy()] = True
        return mask

    @property
    def stages(self) -> dict[str, int]:
        """Stages in the order in which items reach them, and the number of items with a verdict of each."""
        within = pl.int_range(pl.len()).over("position")
        rows = self._verdicts.select("position", "stage", turn=within).group_by("stage", maintain_order=True)
        counts = rows.agg(pl.col("turn").max(), pl.col("position").n_unique()).sort("turn", maintain_order=True)
        return dict(counts.select("stage", "position").iter_rows())


def _found(judged: Judged) -> Iterator[tuple[Any, ...]]:
    for finding in judged.findings:
        for item in finding.items:
            yield item, finding.kind, finding.title, finding.evidence.get(item, ""), finding.severity


def _is(verdict: str) -> pl.Expr:
    """Whether a verdict is this one, or one of those that a name stands for."""
    return pl.col("verdict").is_in(VERDICTS_TOGETHER.get(verdict, (verdict,)))
