"""What a report was pointed at: runs, refinements and benchmarks, sorted out and opened."""

from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.formats import is_readable
from eyetest.benchmarks.opening import refuse_one_above
from eyetest.errors import InputError
from eyetest.recipes.refining import ABOUT, BENCHMARK, FUNNEL, KINDS, RUN
from eyetest.reports.composing import Given
from eyetest.runs import Run, is_run
from eyetest.runs.frames import one_line_if_damaged
from eyetest.tabular.sheets import restored
from eyetest.world.grading import read_verdicts

_TEXTS = dict.fromkeys(("stage", "tag", "value"), pl.String)


def gather(
    things: Iterable[Path | Run | Benchmark], verdicts: Path | None, open_bench: Callable[[Path], Benchmark]
) -> Given:
    """Open whatever each thing is: a run, a refinement, a benchmark."""
    found = Given()
    for thing in things:
        if isinstance(thing, Run):
            found.runs.append(thing)
        elif isinstance(thing, Benchmark):
            found.benchmarks.append(thing)
        elif is_run(thing):
            found.runs.append(Run(thing))
        elif is_refinement(thing):
            _add_refinement(thing, found)
        else:
            _refuse_others(thing)
            found.benchmarks.append(open_bench(thing))
    if verdicts is not None:
        found.verdicts += read_verdicts(verdicts)
    return found


def _refuse_others(path: Path) -> None:
    """There are more kinds of things to name here than where a benchmark is asked for."""
    refuse_one_above(path)
    if not is_benchmark(path) and not is_readable(path):
        raise InputError(f"{path} is no run, no refinement, and no benchmark that eyetest recognises")


def is_refinement(path: Path) -> bool:
    """Whether a refinement was begun there."""
    return (path / ABOUT).is_file()


def _add_refinement(path: Path, found: Given) -> None:
    if found.funnel is not None:
        raise InputError(f"{path}: a report tells of one refinement; make another for this one")
    if not (path / FUNNEL).is_file():
        raise InputError(f"{path} is a refinement without its {FUNNEL}; run eyetest refine again")
    with one_line_if_damaged(path / FUNNEL):
        counts = pl.read_csv(path / FUNNEL, schema_overrides=_TEXTS)
        counts = counts.filter(pl.col("tag").fill_null("") == "").select("stage", "into", *KINDS)
        found.funnel = counts.with_columns(stage=pl.Series(map(restored, counts["stage"]), dtype=pl.String))
    found.verdicts += read_verdicts(path)
    if is_run(path / RUN):
        found.runs.append(Run(path / RUN))
    elif is_benchmark(path / BENCHMARK):
        found.benchmarks.append(Benchmark(path / BENCHMARK))
