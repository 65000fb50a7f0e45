"""Runs about one benchmark as one run: their benchmark, their repairs of items, and their answers."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, copy_without_images, is_benchmark
from eyetest.errors import InputError, heading, nearest, short
from eyetest.records import RunBenchmark
from eyetest.results.scores import ItemRepair, read_repairs, write_repairs
from eyetest.runs import BENCHMARK, Run, is_run
from eyetest.runs.merging import PREFERENCES, MergedRuns, merge_runs
from eyetest.store.urls import known_path


def merge_into(
    runs: Sequence[Run],
    target: Path,
    prefer: str | None = None,
    least: int = 2,
    tell: Callable[[str], None] = lambda line: None,
) -> MergedRuns:
    """Combine runs in a folder; if that is a run already, it is the first of them."""
    if prefer is not None and prefer not in PREFERENCES:
        raise InputError(f"{heading('prefer')}: found {short(prefer)}; {nearest(prefer, PREFERENCES)}")
    places = {run.path.resolve(): run for run in runs}
    places.pop(target.resolve(), None)
    every = [*([Run(target)] if is_run(target) else ()), *places.values()]
    if len(every) < least:
        named = f": only {every[0].path} was named" if every else ""
        raise InputError(f"nothing to merge{named}; name another run")
    about, repairs = _same_benchmark(every, tell), _same_repairs(every)
    for run in every:
        if run.writer and run.path != target:
            tell(f"{run.path} is being written by process {run.writer}; later answers are not merged")

    def complete() -> None:
        kept = next((run.path / BENCHMARK for run in every if is_benchmark(run.path / BENCHMARK)), None)
        if kept is not None:
            copy_without_images(Benchmark(kept), target / BENCHMARK)
        if repairs:
            write_repairs(target, repairs)

    return merge_runs(list(places.values()), target, about, prefer, tell, complete)


def _same_benchmark(runs: Sequence[Run], tell: Callable[[str], None]) -> RunBenchmark | None:
    """The benchmark of all runs, at a path where it can be opened, if there is one."""
    known = [(run, about) for run in runs if (about := run.manifest.benchmark) and about.fingerprint]
    if not known:
        return next((run.manifest.benchmark for run in runs if run.manifest.benchmark), None)
    about = known[0][1]
    if others := [pair for pair in known if pair[1].fingerprint != about.fingerprint]:
        two = (known[0], others[0])
        names = [f"{run.path} ({short(asked.name, 40)}, {asked.items:,} items)" for run, asked in two]
        why = f"{names[0]} and {names[1]} are about different benchmarks, or versions of one"
        for name, (_, asked), (run, _) in zip(names, two, two[::-1], strict=True):
            later = Benchmark(run.path / BENCHMARK).manifest if is_benchmark(run.path / BENCHMARK) else None
            if later and asked.fingerprint in [revision.fingerprint for revision in later.revisions]:
                why += f": {name} asked an older revision"
        raise InputError(f"{why}; they cannot become one run, but measure and report take several")
    for run in runs:
        if all(run is not one for one, _ in known):
            unknown = f"{run.path} does not say what benchmark it is about"
            tell(f"{unknown}; taken to be about {short(about.name)}")
    return next((asked for _, asked in known if asked.path and is_benchmark(known_path(asked.path))), about)


def _same_repairs(runs: Sequence[Run]) -> list[ItemRepair]:
    """Repairs of the items by people, in any of the runs."""
    repairs: dict[str, ItemRepair] = {}
    for run in runs:
        for name, repair in read_repairs(run.path).items():
            mine = repairs.setdefault(name, repair)
            if mine.item != repair.item:
                raise InputError(f"{run.path}: item {short(name)} was repaired differently in another of the runs")
            if mine.requests is not None and repair.requests is not None:
                requests = tuple(sorted({*mine.requests, *repair.requests}))
                repairs[name] = msgspec.structs.replace(mine, requests=requests)
    return list(repairs.values())
