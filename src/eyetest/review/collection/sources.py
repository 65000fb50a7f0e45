"""What a person points at, opened for looking: benchmarks, runs, refinements, audits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks import Benchmark, ReadOptions, is_benchmark, open_benchmark
from eyetest.benchmarks.formats import is_readable
from eyetest.benchmarks.opening import refuse_one_above
from eyetest.errors import InputError
from eyetest.probes.audit import Audit
from eyetest.records import Finding, VerdictKind
from eyetest.records.recipe import ABOUT, BENCHMARK, RUN, VERDICTS
from eyetest.results.gather import benchmark_if_needed
from eyetest.results.provenance import read_mends
from eyetest.runs import Run, is_run
from eyetest.runs.plan import PLAN
from eyetest.store.files import read_regular
from eyetest.store.urls import known_path
from eyetest.tabular.record_files import read_parquet

_AS_IT_IS = ReadOptions(gold_required=False, pictures_required=False)
_NEEDED = ("item", "stage", "verdict", "reason", "evidence")
_MOST_JSON = 256 * 2**20
Tell = Callable[[str], None]


class RunSource(NamedTuple):
    """A run, and the benchmark that it is about; None where it holds nothing but verdicts of others."""

    run: Run
    benchmark: Benchmark | None


class Judged(NamedTuple):
    """What a refinement or an audit said of items; ``fingerprint`` says of which benchmark, empty if nobody knows."""

    benchmark: str
    fingerprint: str
    verdicts: pl.DataFrame | None = None
    findings: Sequence[Finding] = ()
    suggested: Mapping[str, VerdictKind] | None = None
    """What an audit suggests for items; for all others that they stay. None where there was no audit."""
    path: str = ""
    """Where the benchmark was, if that is known."""

    @property
    def items(self) -> list[str]:
        """Of which items it says something."""
        judged = self.verdicts.get_column("item").to_list() if self.verdicts is not None else []
        return list(dict.fromkeys([*judged, *(item for finding in self.findings for item in finding.items)]))


class _RefinedBenchmark(msgspec.Struct, frozen=True):
    name: str = ""
    fingerprint: str = ""
    path: str = ""


class _RefinementHead(msgspec.Struct, frozen=True):
    """Of ``refine.json`` only what says which items it is about."""

    benchmark: _RefinedBenchmark = _RefinedBenchmark()


@dataclass
class CollectionSources:
    """Everything that was opened."""

    benchmarks: list[Benchmark] = field(default_factory=list)
    runs: list[RunSource] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)


def open_places(places: Sequence[Path], tell: Tell = lambda line: None) -> CollectionSources:
    """Open whatever each place is. A benchmark that several speak of is opened once."""
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
    """The benchmark that was refined, where it still lies as it was."""
    place = known_path(judged.path)
    if not is_benchmark(place):
        return None
    benchmark = Benchmark(place)
    return benchmark if benchmark.manifest.fingerprint == judged.fingerprint else None


def _about(run: Run, opened: Sequence[Benchmark]) -> Benchmark | None:
    """The benchmark of a run: the one that was opened, where it is the same and people have mended nothing since.

    One that is a revision of it goes before the one that was asked, which nobody opened.
    """
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
    """An audit by its JSON or its table of verdicts; None where a file is neither."""
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
    """Verdicts as a table: of a large refinement there are too many to make a value of each."""
    frame = pl.from_arrow(read_parquet(path))
    assert isinstance(frame, pl.DataFrame)
    odd = [name for name in _NEEDED if frame.schema.get(name) != pl.String]
    if odd or frame.select(pl.col(_NEEDED[:3]).has_nulls()).row(0) != (False,) * 3:
        raise InputError(f"{path} is not a table of verdicts: {odd[0] if odd else 'a value'} is missing")
    return frame


def _has_verdicts(table: Path) -> bool:
    """Whether a table has the columns of verdicts; another one may be a dataset of any size."""
    try:
        return set(_NEEDED) <= set(pq.read_schema(table).names)
    except (OSError, pa.ArrowException):
        return False
