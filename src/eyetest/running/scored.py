"""What a run's answers are worth: plan, responses and items become ``scores/RULES.parquet``.

Responses are never touched, so a run can be scored again with other rules, and both stay side by side.
"""

from pathlib import Path

import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.errors import InputError
from eyetest.replacing import replacing_file
from eyetest.runs import Run
from eyetest.runs.folder import SCORES
from eyetest.runs.frames import answers_frame
from eyetest.scoring.scorer import Scorer
from eyetest.scoring.table import score_table


def benchmark_of(run: Run, named: Benchmark | None = None) -> Benchmark:
    """The benchmark that a run's answers are about: the one that is named, or where the run found it."""
    about = run.manifest.benchmark
    if named is not None:
        if about and about.fingerprint and about.fingerprint != named.manifest.fingerprint:
            raise InputError(f'{run.path} holds answers to "{about.name}" in another version than {named.path}')
        return named
    if about is None:
        raise InputError(f"{run.path} does not say what benchmark it is about; name it with --bench")
    if not is_benchmark(Path(about.path)):
        raise InputError(f'the benchmark "{about.name}" is not at {about.path} any more; name it with --bench')
    found = Benchmark(Path(about.path))
    if found.manifest.fingerprint != about.fingerprint:
        raise InputError(f"{about.path} has changed since {run.path} asked about it; name the old one with --bench")
    return found


def score_run(run: Run, benchmark: Benchmark, scorer: Scorer) -> Path:
    """Score every answer of a run, and say where the table is."""
    place = scores_path(run, scorer.rules.name)
    place.parent.mkdir(exist_ok=True)
    with replacing_file(place) as file:
        score_table(answers_frame(run.path), benchmark, scorer).sink_parquet(file, compression="zstd")
    return place


def scores_path(run: Run, rules: str) -> Path:
    """Where the scores by a rule set are kept."""
    return run.path / SCORES / f"{rules}.parquet"


def read_scores(run: Run, rules: str = "eyetest") -> pl.DataFrame:
    """The scores of a run that was scored."""
    place = scores_path(run, rules)
    if not place.exists():
        raise InputError(f"{run.path} has not been scored by {rules}; run eyetest score {run.path} --rules {rules}")
    return pl.read_parquet(place)
