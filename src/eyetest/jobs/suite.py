"""Many benchmarks put to the same models in the same ways, measured together: asked, resumed, scored and told."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.errors import InputError, nearest, spelled
from eyetest.jobs.opening import SILENT, AnyPath, Observer, model_entries, open_bench
from eyetest.jobs.perturbation import perturbed, read_perturbation
from eyetest.jobs.run import conditions, refuse_unpriced
from eyetest.jobs.subset import Selection, subset
from eyetest.recipes.sources import StoppedEarly
from eyetest.records import Condition, ModelEntry
from eyetest.records.recipe import BENCHMARK, REPORT
from eyetest.records.suite import Suite, SuiteBenchmark, spelled_out
from eyetest.running import Asking, Budget, Estimate, Limits, Progress, Session
from eyetest.runs import Run
from eyetest.scoring import is_hit, looks_refused
from eyetest.store.handwritten import convert, read_yaml
from eyetest.store.urls import local_path

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
            subset(source, folder, Selection(option_count=count, seed=seed), overwrite=True, observer=observer)
        source = Benchmark(folder / BENCHMARK)
        yield SuiteEntry(name, about, source, [to / RUNS / name], count)


def _is_derived(path: Path, source: Benchmark) -> bool:
    """Whether a benchmark that is there was made of this one, as it is now."""
    if not is_benchmark(path):
        return False
    made = Benchmark(path).manifest
    return source.manifest.fingerprint in (made.fingerprint, *(earlier.fingerprint for earlier in made.revisions))
