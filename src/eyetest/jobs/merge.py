"""Runs of several people or sites become one run."""

from collections.abc import Sequence

import msgspec

from eyetest.benchmarks import Benchmark, copy_without_pictures, is_benchmark
from eyetest.errors import InputError, heading, nearest, short
from eyetest.jobs.opening import SILENT, AnyPath, AnyRun, Observer, open_runs, path_of
from eyetest.records import RunBenchmark
from eyetest.results.provenance import Mend, read_mends, write_mends
from eyetest.runs import BENCHMARK, Run, is_run
from eyetest.runs.merging import PREFERENCES, MergedRuns, merge_runs
from eyetest.store.urls import known_path


def merge(
    runs: AnyRun | Sequence[AnyRun], to: AnyPath, prefer: str | None = None, observer: Observer = SILENT
) -> MergedRuns:
    """Put runs together in a folder, which may be a run already: what it holds stands first.

    Scores are not among what is put together; they are made anew when they are next asked for.
    """
    known = next((word for word in PREFERENCES if word == prefer), None)
    if prefer is not None and known is None:
        raise InputError(f"{heading('prefer')}: no such thing as {short(prefer)}; {nearest(prefer, PREFERENCES)}")
    target = path_of(to, "to")
    places = {run.path.resolve(): run for run in open_runs(runs)}
    places.pop(target.resolve(), None)
    if not places:
        raise InputError("nothing to merge: name runs that are to be put together")
    every = [*([Run(target)] if is_run(target) else ()), *places.values()]
    if len(every) < 2:
        raise InputError(f"nothing to merge: only {every[0].path} was named; name another run, or one that is there")
    about = _same_benchmark(every, observer)
    mends = _same_mends(every)
    for run in every:
        if run.writer and run.path != target:
            observer.note(f"{run.path} is being written by process {run.writer}; what comes later is not in it")

    def complete() -> None:
        kept = next((run.path / BENCHMARK for run in every if is_benchmark(run.path / BENCHMARK)), None)
        if kept is not None:
            copy_without_pictures(Benchmark(kept), target / BENCHMARK)
        if mends:
            write_mends(target, mends)

    return merge_runs(list(places.values()), target, about, known, observer.note, complete)


def _same_benchmark(runs: Sequence[Run], observer: Observer) -> RunBenchmark | None:
    """The benchmark that all runs are about, at a place where it is found from here, if there is one."""
    known = [(run, about) for run in runs if (about := run.manifest.benchmark) and about.fingerprint]
    if not known:
        return next((run.manifest.benchmark for run in runs if run.manifest.benchmark), None)
    first, about = known[0]
    for run, other in known[1:]:
        if other.fingerprint != about.fingerprint:
            raise InputError(_other_benchmark((first, about), (run, other)))
    for run in runs:
        if all(run is not one for one, _ in known):
            observer.note(
                f"{run.path} does not say what benchmark it is about; taken to be about {short(about.name)}"
            )
    return next((one for _, one in known if one.path and is_benchmark(known_path(one.path))), about)


def _other_benchmark(a: tuple[Run, RunBenchmark], b: tuple[Run, RunBenchmark]) -> str:
    for older, newer in ((a, b), (b, a)):
        if older[1].fingerprint in _revisions(newer[0]):
            why = f"{_told(*older)} asked an older revision of the benchmark that {_told(*newer)} asked"
            return f"{why}; they cannot become one run, but measure and report take several"
    return (
        f"{_told(*a)} and {_told(*b)} are about different benchmarks, or versions of one, and cannot become one run"
    )


def _told(run: Run, about: RunBenchmark) -> str:
    return f"{run.path} ({short(about.name, 40)}, {about.items:,} items)"


def _revisions(run: Run) -> set[str]:
    """What the benchmark of a run was before."""
    kept = run.path / BENCHMARK
    return {one.fingerprint for one in Benchmark(kept).manifest.revisions} if is_benchmark(kept) else set()


def _same_mends(runs: Sequence[Run]) -> list[Mend]:
    """What people mended of the items, in whichever run."""
    mends: dict[str, Mend] = {}
    for run in runs:
        for name, mend in read_mends(run.path).items():
            mine = mends.setdefault(name, mend)
            if mine.item != mend.item:
                raise InputError(f"{run.path}: item {short(name)} was mended otherwise in another of the runs")
            if mine.requests is not None and mend.requests is not None:
                requests = tuple(sorted({*mine.requests, *mend.requests}))
                mends[name] = msgspec.structs.replace(mine, requests=requests)
    return list(mends.values())
