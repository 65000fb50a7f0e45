"""What ``eyetest report`` was pointed at: runs, refinements and benchmarks, sorted out and opened."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.cli import options
from eyetest.errors import InputError
from eyetest.measures import Results
from eyetest.measures.results import ITEM_TYPES
from eyetest.recipes.funnel import KINDS
from eyetest.recipes.refining import ABOUT, BENCHMARK, FUNNEL, RUN
from eyetest.records import ModelEntry, Verdict
from eyetest.reports.material import unanswered
from eyetest.running.measured import items_table, results_of
from eyetest.running.scored import benchmark_of
from eyetest.runs import Run, is_run
from eyetest.runs.frames import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.world.grading import read_verdicts


@dataclass
class Inputs:
    """What the user's paths turned out to be."""

    runs: list[Run] = field(default_factory=list)
    benchmarks: list[Benchmark] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    funnel: pl.DataFrame | None = None

    def results(
        self,
        scorer: Scorer,
        cluster: str,
        golds: Benchmark | None,
        models: Mapping[str, ModelEntry],
        tell: Callable[[str], None],
    ) -> Results:
        """The scores of all runs, whose benchmarks join those that were named; without runs, items and no scores."""
        if not self.runs:
            tables = [items_table(one.manifest.name, one, cluster) for one in self.benchmarks]
            return unanswered(pl.concat(tables, how="diagonal") if tables else pl.DataFrame(schema=ITEM_TYPES))
        results = results_of(self.runs, scorer, cluster, golds, models, tell)
        known = {one.manifest.fingerprint for one in self.benchmarks}
        for run in self.runs:
            if run.manifest.benchmark is not None or golds is not None:
                about = benchmark_of(run, golds)
                if about.manifest.fingerprint not in known:
                    known.add(about.manifest.fingerprint)
                    self.benchmarks.append(about)
        return results


def open_inputs(paths: Sequence[Path], verdicts: Path | None) -> Inputs:
    """Open whatever each path is."""
    found = Inputs()
    for path in paths:
        if is_run(path):
            found.runs.append(Run(path))
        elif (path / ABOUT).is_file():
            _add_refinement(path, found)
        elif path.exists():
            found.benchmarks.append(options.open_with_bar(path, options.read_options(allow_missing_gold=True)))
        else:
            raise InputError(f"{path} does not exist")
    if verdicts is not None:
        found.verdicts += read_verdicts(verdicts)
    return found


def _add_refinement(path: Path, found: Inputs) -> None:
    if found.funnel is not None:
        raise InputError(f"{path}: a report tells of one refinement; make another for this one")
    if not (path / FUNNEL).is_file():
        raise InputError(f"{path} is a refinement without its {FUNNEL}; run eyetest refine again")
    with one_line_if_damaged(path / FUNNEL):
        counts = pl.read_csv(path / FUNNEL, schema_overrides={"tag": pl.String, "value": pl.String})
        found.funnel = counts.filter(pl.col("tag").fill_null("") == "").select("stage", "into", *KINDS)
    found.verdicts += read_verdicts(path)
    if is_run(path / RUN):
        found.runs.append(Run(path / RUN))
    elif is_benchmark(path / BENCHMARK):
        found.benchmarks.append(Benchmark(path / BENCHMARK))
