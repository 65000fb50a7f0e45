"""From what was opened to columns and arrays: benchmarks by name, scores of runs, items that are in none any more."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import count
from typing import NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import AXES
from eyetest.results.gather import scores_if_known
from eyetest.review.collection.answers import KEY, AnswerArrays, answer_arrays, read_scores_by_code
from eyetest.review.collection.item_columns import ItemColumns
from eyetest.review.collection.judgements import Judgements
from eyetest.review.collection.replies import RunReplies
from eyetest.review.collection.sources import CollectionSources, Tell
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.wording import counted

_SLOW = "scipy.special"
"""What intervals need, and what loads slowly: it does so while items are read."""
_TESTS = tuple(axis for axis in AXES if axis not in KEY)


class Loaded(NamedTuple):
    """All that a collection holds."""

    benchmarks: dict[str, Benchmark]
    columns: ItemColumns
    items: pl.DataFrame
    answers: AnswerArrays
    judgements: Judgements
    replies: list[RunReplies]
    notes: list[str]


class _RunScores(NamedTuple):
    benchmark: str
    frame: pl.DataFrame


def load(sources: CollectionSources, scorer: Scorer, tell: Tell) -> Loaded:
    """Everything that can be filtered by, in memory. Runs that were not scored are scored, as a measure would."""
    benchmarks, notes = _named(sources.benchmarks), list[str]()
    marks = {one.manifest.fingerprint: name for name, one in benchmarks.items()}
    names = [
        marks[source.benchmark.manifest.fingerprint] if source.benchmark else source.run.path.resolve().name
        for source in sources.runs
    ]
    with ThreadPoolExecutor() as aside:
        aside.submit(import_module, _SLOW)
        reading = aside.submit(ItemColumns, benchmarks)
        stored = _scores(sources, scorer, tell, notes)
        columns = reading.result()
    frames = _read(names, stored, sources, columns.places())
    columns.add_unknown(_unknown(columns.table, list(zip(names, frames, strict=True)), sources, marks))
    items, tables = columns.named(), columns.places()
    frames = [_placed(frame, tables.get(name)) for name, frame in zip(names, frames, strict=True)]
    scores = _without_repeated([_RunScores(*pair) for pair in zip(names, frames, strict=True)], notes)
    answers = answer_arrays([one.frame for one in scores], columns.clusters())
    fingerprints = {name: mark for mark, name in marks.items()}
    places = {
        fingerprints.get(name, name): dict(part.iter_rows())
        for name, part in (tables.items() if sources.judged else ())
    }
    judged = Judgements(sources.judged, places, len(items))
    numbers = [pl.Series(name, values, nan_to_null=True) for name, values in answers.of_items().items()]
    whole = pl.concat([items.with_columns(numbers), judged.columns()], how="horizontal")
    replies = [RunReplies(*one) for one in zip(sources.runs, names, stored, strict=True)]
    return Loaded(benchmarks, columns, whole, answers, judged, replies, notes)


def _named(benchmarks: Sequence[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks by their names; two versions of one are told apart by where they lie."""
    names = [one.manifest.name for one in benchmarks]
    named: dict[str, Benchmark] = {}
    for name, one in zip(names, benchmarks, strict=True):
        folder = one.path.resolve()
        tries = (f"{name} ({folder.name})", f"{name} ({folder.parent.name}/{folder.name})")
        more = (f"{name} ({number})" for number in count(2))
        free = (tried for tried in (*tries, *(next(more) for _ in benchmarks)) if tried not in named)
        named[name if names.count(name) == 1 else next(free)] = one
    return named


def _scores(sources: CollectionSources, scorer: Scorer, tell: Tell, notes: list[str]) -> list[pl.LazyFrame]:
    frames = []
    for source in sources.runs:
        frame, said = scores_if_known(source.run, source.benchmark, scorer, tell)
        notes += said
        frames.append(frame)
    return frames


def _read(
    names: Sequence[str], stored: Sequence[pl.LazyFrame], sources: CollectionSources, tables: dict[str, pl.DataFrame]
) -> list[pl.DataFrame]:
    """What arrays are made of; what tells one test from another only where runs could hold the same."""
    none = pl.DataFrame(schema={"item": pl.String, "position": pl.Int64})
    frames = []
    for name, frame, source in zip(names, stored, sources.runs, strict=True):
        with one_line_if_damaged(source.run.path):
            more = _TESTS if len(sources.runs) > 1 else ()
            frames.append(read_scores_by_code(frame, tables.get(name, none), more))
    return frames


def _placed(frame: pl.DataFrame, places: pl.DataFrame | None) -> pl.DataFrame:
    """Answers by where their items stand, now that those stand somewhere that no benchmark has."""
    if places is not None and frame.get_column("position").null_count():
        frame = frame.drop("position").join(places, on="item")
    return frame.drop("item")


def _without_repeated(scores: Sequence[_RunScores], notes: list[str]) -> list[_RunScores]:
    """An answer that two runs hold would count twice: the first that was named counts."""
    kept: list[_RunScores] = []
    for one in scores:
        frame = one.frame
        for other in kept:
            if other.benchmark == one.benchmark:
                frame = frame.join(other.frame, on=["position", *KEY, *_TESTS], how="anti", maintain_order="left")
        if fewer := len(one.frame) - len(frame):
            notes.append(
                f"{counted(fewer, 'answer')} to {one.benchmark} in two runs: the run that was named first counts"
            )
        kept.append(one._replace(frame=frame))
    return kept


def _unknown(
    table: pl.DataFrame,
    scores: Sequence[tuple[str, pl.DataFrame]],
    sources: CollectionSources,
    marks: dict[str, str],
) -> dict[str, list[str]]:
    """By benchmark the items that answers or verdicts name and that are in no benchmark here."""
    unknown: dict[str, dict[str, None]] = {}
    for name, frame in scores:
        missed = frame.filter(pl.col("position").is_null()).get_column("item")
        unknown.setdefault(name, {}).update(dict.fromkeys(missed.unique(maintain_order=True)))
    if sources.judged:
        _add_judged(unknown, table, sources, marks)
    return {name: list(items) for name, items in unknown.items()}


def _add_judged(
    unknown: dict[str, dict[str, None]], table: pl.DataFrame, sources: CollectionSources, marks: dict[str, str]
) -> None:
    known = {str(key[0]): set(part.get_column("item")) for key, part in table.group_by("benchmark")}
    anywhere = set().union(*known.values())
    for judged in sources.judged:
        name = marks.get(judged.fingerprint)
        there = known.get(name, set()) if name else anywhere
        missed = [item for item in judged.items if item not in there]
        if name is None:
            missed = [item for item in missed if not any(item in items for items in unknown.values())]
        unknown.setdefault(name or judged.benchmark, {}).update(dict.fromkeys(missed))
