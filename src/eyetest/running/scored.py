"""What a run's answers are worth: plan, responses and items become ``scores/RULES.parquet``.

Responses are never touched, so a run can be scored again with other rules, and both stay side by side.
"""

from hashlib import blake2b
from pathlib import Path

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.errors import InputError, short
from eyetest.records import Item, Score, columns
from eyetest.replacing import replacing_file
from eyetest.runs import Run
from eyetest.runs.folder import BENCHMARK, SCORES
from eyetest.runs.frames import answers_frame, one_line_if_damaged
from eyetest.scoring.scorer import Scorer
from eyetest.scoring.table import score_table


def benchmark_of(run: Run, named: Benchmark | None = None) -> Benchmark:
    """The benchmark that a run's answers are about.

    The one that is named, which may have other golds than the one that was asked but must ask the same; or the one at
    its old place; or, where that has moved or changed, the run's own copy of the items.
    """
    about, kept = run.manifest.benchmark, run.path / BENCHMARK
    if named is not None:
        if about and about.fingerprint and about.fingerprint != named.manifest.fingerprint:
            _refuse_other_questions(run, named)
        return named
    if about is None:
        raise InputError(f"{run.path} does not say what benchmark it is about; name it with --bench")
    if about.path and is_benchmark(Path(about.path)):
        found = Benchmark(Path(about.path))
        if not about.fingerprint or about.fingerprint == found.manifest.fingerprint:
            return found
    if is_benchmark(kept):
        return Benchmark(kept)
    raise InputError(f'the benchmark "{about.name}" is not at {about.path or "a known place"}; name it with --bench')


def _refuse_other_questions(run: Run, named: Benchmark) -> None:
    """Golds may have been mended since; a question or an option that changed was never asked."""
    kept = run.path / BENCHMARK
    if not is_benchmark(kept):
        raise InputError(f"{run.path} holds answers to another version than {named.path}")
    asked = {item.id: _shown(item) for item in Benchmark(kept)}
    for item in named:
        if asked.get(item.id, _shown(item)) != _shown(item):
            raise InputError(
                f"{named.path} asks something else than {run.path} did: item {short(item.id)} has changed"
            )


def _shown(item: Item) -> bytes:
    shown = (item.question, item.hint, [choice.text for choice in item.choices], item.images)
    return blake2b(msgspec.json.encode(shown), digest_size=16).digest()


def score_run(run: Run, benchmark: Benchmark, scorer: Scorer) -> Path:
    """Score every answer of a run, and say where the table is."""
    place = scores_path(run, scorer.rules.name)
    place.parent.mkdir(exist_ok=True)
    with one_line_if_damaged(run.path), replacing_file(place) as file:
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
    with one_line_if_damaged(place):
        return pl.read_parquet(place, glob=False).select(columns(Score))
