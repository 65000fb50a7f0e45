"""Two models are asked until one leads for certain, about the items where others differ first."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading
from eyetest.jobs.opening import SILENT, AnyRun, Observer
from eyetest.jobs.run import carry_out, prepare
from eyetest.jobs.subset import answered_by_others
from eyetest.measures.stats.sequential import likely_to_differ
from eyetest.records import ModelEntry
from eyetest.running import Asking, Progress, Session

_FEWEST_MODELS = 3
"""Two say of an item only whether they differ on it, which is hardly more than a lot knows."""


class Raced(NamedTuple):
    """Who leads, and what the scores of both lie between, at all looks together."""

    leader: str
    """Nobody's name where they are level, or where it is not certain yet."""
    lead: tuple[float, float]
    """Between what the score of the first model less that of the second lies."""
    scores: pl.DataFrame
    told: str
    progress: Progress


def start(
    bench: Benchmark,
    entries: Mapping[str, ModelEntry],
    asking: Asking,
    answers: Sequence[AnyRun] = (),
    observer: Observer = SILENT,
) -> Session:
    """A race that can be looked at before it is run. ``answers``: runs in which other models answered the items."""
    if len(entries) != 2:
        raise InputError(f"{heading('models')}: two models race, not {len(entries)}")
    if answers:
        worth = worth_by_answers(bench, answers, asking.conditions[0].sight, list(entries))
        asking = msgspec.structs.replace(asking, worth=worth)
    asking = msgspec.structs.replace(asking, until=">".join(entries))
    return prepare(bench, entries, asking, observer=observer)


def finish(session: Session, to: Path, observer: Observer = SILENT) -> Raced:
    """Ask until one of both leads for certain; whatever ends it, the same call goes on from there."""
    assert session.race is not None, "what was started is a race"
    progress, race = carry_out(session, to, observer), session.race
    heard, items = race.heard_of
    rows = [
        {"model": name, "score": score, "score_low": low, "score_high": high, "n": heard, "of": items}
        for name, score, low, high in race.scores
    ]
    return Raced(race.leader, race.lead, pl.DataFrame(rows), race.told, progress)


def worth_by_answers(
    bench: Benchmark, answers: Sequence[AnyRun], sight: str, asked: Sequence[str]
) -> dict[str, float]:
    """How far other models differ on each item that they answered; whoever is asked now has no say."""
    ids = bench.table(["id"]).column("id").to_pylist()
    table, names, _ = answered_by_others(answers, ids, sight, asked, _FEWEST_MODELS)
    return dict(zip(names, likely_to_differ(table).tolist(), strict=True))
