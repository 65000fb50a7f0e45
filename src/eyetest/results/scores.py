"""What a run's answers are worth: plan, responses and items become ``scores/RULES.parquet``.

Responses are never touched, so a run can be scored again with other rules, and both stay side by side. So do scores
by another metric, by another benchmark's golds, or of answers that others had scored: ``scores/RULES.parquet`` is how
the run is scored by its own benchmark, and nothing else.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.errors import InputError, as_said, param, short
from eyetest.results.provenance import (
    ChangedItems,
    MendedBenchmark,
    ScoreProvenance,
    about_the_wording,
    changed_items,
    holds,
    mends_id,
    provenance,
    read_mends,
    read_provenance,
    wording,
)
from eyetest.runs import Run
from eyetest.runs.folder import BENCHMARK, SCORES
from eyetest.runs.parts import refuse_lost
from eyetest.runs.plan import PLAN, scan_table
from eyetest.runs.stored import answers_frame, one_line_if_damaged
from eyetest.scoring.scorer import Scorer, score_table, stored_scores
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum
from eyetest.store.urls import known_path
from eyetest.wording import typed

_LONGEST_NAME = 40


def benchmark_of(run: Run, named: Benchmark | None = None) -> Benchmark:
    """The benchmark that a run's answers are about.

    The one that is named, which may have other golds than the one that was asked but must ask the same, or be a
    revision of it; or the one at its old place; or, where that has moved or changed, the run's own copy of the items.
    What people have mended since (in the refinement that the run is part of) is mended in it, unless one is named.
    """
    about = run.manifest.benchmark
    if named is not None:
        if about and about.fingerprint and about.fingerprint != named.manifest.fingerprint:
            _refuse_other_questions(run, named)
        return named
    mends = {name: mend.item for name, mend in read_mends(run.path).items()}
    asked = _asked(run)
    return MendedBenchmark(asked.path, mends) if mends else asked


def _asked(run: Run) -> Benchmark:
    """The benchmark as it was asked."""
    about, kept = run.manifest.benchmark, run.path / BENCHMARK
    if about is None:
        raise InputError(f"{run.path} does not say what benchmark it is about; name it with {param('bench')}")
    if about.path and is_benchmark(place := known_path(about.path)):
        asked = Benchmark(place)
        if not about.fingerprint or about.fingerprint == asked.manifest.fingerprint:
            return asked
    if is_benchmark(kept):
        return Benchmark(kept)
    raise InputError(
        f'the benchmark "{about.name}" is not at {about.path or "a known place"}; name it with {param("bench")}'
    )


def _refuse_other_questions(run: Run, named: Benchmark) -> None:
    """Golds may have been mended since; a question or an option that changed was never asked."""
    kept = _still_there(run)
    if kept is None:
        raise InputError(f"{run.path} holds answers to another version than {named.path}")
    asked = {item.id: {wording(item)} for item in kept}
    if not any(item.id in asked for item in named):
        raise InputError(f"{run.path} holds no answer to any item of {named.path}; it is about another benchmark")
    for name, mend in read_mends(run.path).items():
        asked.setdefault(name, set()).add(wording(mend.item))
    for item in () if _is_revised(run, named) else named:
        if wording(item) not in asked.get(item.id, {wording(item)}):
            raise InputError(
                f"{named.path} asks something else than {run.path} did: item {short(item.id)} has changed"
            )


def _still_there(run: Run) -> Benchmark | None:
    """What was asked, if it is still known."""
    about, kept = run.manifest.benchmark, run.path / BENCHMARK
    if is_benchmark(kept):
        return Benchmark(kept)
    if about and about.path and about.fingerprint and is_benchmark(place := known_path(about.path)):
        asked = Benchmark(place)
        return asked if asked.manifest.fingerprint == about.fingerprint else None
    return None


def _is_revised(run: Run, benchmark: Benchmark) -> bool:
    """Whether a benchmark is the one that a run is about, as people left it."""
    about = run.manifest.benchmark
    return about is not None and benchmark.manifest.is_mended(about.fingerprint)


def answers_of(run: Run, benchmark: Benchmark) -> pl.LazyFrame:
    """The answers of a run that are about a benchmark's items as they are worded there."""
    refuse_gaps(run)
    answers = answers_frame(run.path).filter(about_the_wording(read_mends(run.path), benchmark))
    return changed_since(run, benchmark).count_only(answers)


def changed_since(run: Run, benchmark: Benchmark) -> ChangedItems:
    """What people have changed of the items that a run asked about, where a benchmark is a revision of these."""
    asked = _still_there(run) if _is_revised(run, benchmark) else None
    if asked is None:
        return ChangedItems()
    changed = changed_items(*((one.path.resolve(), one.manifest.fingerprint) for one in (asked, benchmark)))
    mends = {name: mend for name, mend in read_mends(run.path).items() if name in changed.reworded}
    shown = {name for name, mend in mends.items() if wording(mend.item) == wording(benchmark[name])}
    return changed._replace(reworded=changed.reworded - shown)


def refuse_gaps(run: Run, covered: ScoreProvenance | None = None) -> None:
    """Stop where answers that were stored are gone: what is left would pass for all there is."""
    if not (run.path / PLAN).exists():
        raise InputError(f"{run.path} has no {PLAN}, so nobody knows what its answers are about; bring it back")
    refuse_lost(run.path, run.manifest.parts, covered.parts if covered else ())


def score_run(run: Run, benchmark: Benchmark, scorer: Scorer) -> Path:
    """Score every answer of a run, and say where the table is."""
    return _write(run, benchmark, scorer, table_path(run, benchmark, scorer))


def scores_of(
    run: Run, benchmark: Benchmark, scorer: Scorer, tell: Callable[[str], None] = lambda line: None
) -> tuple[pl.LazyFrame, ScoreProvenance]:
    """The scores of a run as it is now, made anew only where those on disk are of something else."""
    path = table_path(run, benchmark, scorer)
    made = read_provenance(path)
    refuse_gaps(run, made)
    if made is None or not holds(made, provenance(run, benchmark, scorer), run.path):
        tell(f"scoring {run.path}")
        dropped = (made.judge or made.dropped_judge) if made else ""
        if not _may_write(path):
            return _in_memory(run, benchmark, scorer, dropped)
        _write(run, benchmark, scorer, path, dropped)
        made = read_provenance(path)
        assert made is not None
    return stored_scores(scan_table(path)), made


def _write(run: Run, benchmark: Benchmark, scorer: Scorer, path: Path, dropped_judge: str = "") -> Path:
    frame, made = _scored(run, benchmark, scorer, dropped_judge)
    with one_line_if_damaged(run.path), replacing_file(path) as file:
        frame.sink_parquet(file, compression="zstd", metadata=made.metadata())
        add_checksum(file)
    return path


def _in_memory(
    run: Run, benchmark: Benchmark, scorer: Scorer, dropped_judge: str
) -> tuple[pl.LazyFrame, ScoreProvenance]:
    frame, made = _scored(run, benchmark, scorer, dropped_judge)
    with one_line_if_damaged(run.path):
        return frame.collect(engine="streaming").lazy(), made


def _scored(
    run: Run, benchmark: Benchmark, scorer: Scorer, dropped_judge: str
) -> tuple[pl.LazyFrame, ScoreProvenance]:
    """The table, and what it is made from, which is looked at first: answers that come meanwhile are not covered."""
    refuse_gaps(run)
    made = provenance(run, benchmark, scorer)
    with one_line_if_damaged(run.path):
        planned = scan_table(run.path / PLAN).select(pl.len()).collect().item()
        everything, answers = answers_frame(run.path), answers_of(run, benchmark)
        answered, about = (frame.select(pl.len()).collect().item() for frame in (everything, answers))
        if not answered:
            raise InputError(f"{run.path} holds no answer to any of its {planned:,} planned calls")
        made = msgspec.structs.replace(
            made, planned=planned, answered=answered, reworded=answered - about, dropped_judge=dropped_judge
        )
        return score_table(answers, benchmark, scorer), made


def _may_write(path: Path) -> bool:
    """Whether scores can be kept; a run that others own can be measured all the same."""
    folder = next(folder for folder in path.parents if folder.exists())
    return os.access(folder, os.W_OK)


def table_path(run: Run, benchmark: Benchmark, scorer: Scorer) -> Path:
    """Where scores are kept, under a name that says what is unusual about them."""
    words = [scorer.rules.name]
    if scorer.metric is not None:
        words.append(f"metric-{scorer.metric}")
    if not _is_own(run, benchmark):
        name = re.sub(r"[^\w-]+", "-", benchmark.manifest.name)[:_LONGEST_NAME]
        words.append(f"bench-{name}-{benchmark.manifest.fingerprint[:8]}".rstrip("-"))
    if scorer.rescore_given:
        words.append("rescored")
    return scores_path(run, ".".join(words))


def _is_own(run: Run, benchmark: Benchmark) -> bool:
    """Whether a benchmark is, golds and all, the one that a run is about."""
    about = run.manifest.benchmark
    if about is None:
        return False
    mends = benchmark.mends if isinstance(benchmark, MendedBenchmark) else ""
    if mends != mends_id(mend.item for mend in read_mends(run.path).values()):
        return False
    if about.fingerprint:
        return about.fingerprint == benchmark.manifest.fingerprint
    return bool(about.path) and about.path == as_said(str(benchmark.path.resolve()))


def scores_path(run: Run, rules: str) -> Path:
    """Where the scores by a rule set are kept."""
    return run.path / SCORES / f"{rules}.parquet"


def read_scores(run: Run, rules: str = "eyetest") -> pl.DataFrame:
    """The scores of a run that was scored."""
    path = scores_path(run, rules)
    if not path.exists():
        raise InputError(
            f"{run.path} has not been scored by {rules}; run {typed('eyetest', 'score', run.path, '--rules', rules)}"
        )
    with one_line_if_damaged(path):
        return stored_scores(scan_table(path)).collect()
