"""What answers come to: scores of one or more runs, and a measure of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyetest.errors import InputError, heading
from eyetest.jobs.opening import (
    SILENT,
    AnyRun,
    Bench,
    Models,
    Observer,
    model_entries,
    open_bench,
    open_runs,
    several,
)
from eyetest.measures import MEASURES, Measured, Results, Settings
from eyetest.measures.agreement import decisions_agreement
from eyetest.measures.printed import caveats
from eyetest.measures.results import (
    EXTERNAL,
    Wanted,
    as_written,
    narrowed,
    only_models,
    own_settings,
    read_external,
    read_where,
)
from eyetest.records import tag_word
from eyetest.results.gather import results_of
from eyetest.review import read_decisions, votes_table
from eyetest.review.project import decisions_in, is_review
from eyetest.scoring import Scorer
from eyetest.store.urls import local_path

Measurable = AnyRun | Results | Sequence[AnyRun]
"""What can be measured: a run, several of them, or results."""
Where = str | Iterable[str] | Mapping[str, Any]
_FEWEST_RESAMPLES = 100


@dataclass(frozen=True)
class Scoring:
    """By whose rules answers count, by which golds, and what is known of the models."""

    rules: str = "eyetest"
    bench: Bench | None = None
    metric: str | None = None
    rescore_given: bool = False
    cluster: str = "auto"
    models: Models | None = None
    model: Sequence[str] = ()
    """Only these models, where any is named."""
    without: Sequence[str] = ()
    """All but these."""

    @property
    def scorer(self) -> Scorer:
        """What reads and scores."""
        return Scorer(self.rules, self.metric, rescore_given=self.rescore_given)


AS_USUAL = Scoring()


def gather(
    runs: Measurable,
    scoring: Scoring = AS_USUAL,
    observer: Observer = SILENT,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """What some runs found, together; one that was not scored yet is scored on the way, of which ``tell`` hears."""
    if isinstance(runs, Results):
        return runs
    opened, scorer = open_runs(runs), scoring.scorer
    golds = None if scoring.bench is None else open_bench(scoring.bench, None, observer)
    known = None if scoring.models is None else model_entries(scoring.models)
    found = results_of(opened, scorer, scoring.cluster, golds, known, tell or observer.busy)
    return only_models(found, scoring.model, scoring.without)


def settings(
    by: str | Sequence[str], level: float, seed: int, resamples: int, own: Mapping[str, Any] | None = None
) -> Settings:
    """How to measure, checked."""
    if not 0.5 <= level < 1 or resamples < _FEWEST_RESAMPLES:
        raise InputError(
            f"{heading('level')}: from 0.5 to 0.999; {heading('resamples')}: at least {_FEWEST_RESAMPLES}"
        )
    return Settings(tuple(several(by)), level, seed, resamples, dict(own or {}))


def own_words(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """A measure's own settings by what was said of them; a score from outside may be a file."""
    own = dict(said)
    if isinstance(own.get(EXTERNAL), str | Path):
        own[EXTERNAL] = read_external(local_path(own[EXTERNAL]))
    return own_settings(MEASURES[name], own)


def measure(
    name: str,
    runs: Measurable,
    how: Settings,
    *,
    where: Where = (),
    scoring: Scoring = AS_USUAL,
    observer: Observer = SILENT,
) -> Measured:
    """Measure the scores that ``where`` allows; beside what the measure notes stands what is odd about the scores."""
    kept = narrowed(gather(runs, scoring, observer), wanted(where))
    measured = MEASURES[name].measure(kept, how)
    return replace(measured, notes=(*measured.notes, *caveats(kept)))


def is_of_people(path: Path) -> bool:
    """Whether somebody points at what people decided: a table, or the folder of a review."""
    return path.is_file() or is_review(path)


def measure_people(places: Sequence[Path], how: Settings) -> Measured:
    """How far people agree, from tables of decisions that they filled in and from reviews."""
    read = [decisions_in(path) if is_review(path) else read_decisions(path) for path in places]
    decided = [one for decisions in read for of_item in decisions.values() for one in of_item]
    return Measured(decisions_agreement(votes_table(decided), how))


def with_sights(where: Sequence[str], sights: Sequence[str]) -> list[str]:
    """What somebody said of the scores that count, with the sights that were named by themselves."""
    return [*where, *([f"sight={','.join(sights)}"] if sights else [])]


def wanted(where: Where) -> list[Wanted]:
    """What a user said of the scores that count, in words or in values."""
    if not isinstance(where, Mapping):
        return read_where([where] if isinstance(where, str) else where)
    values = {column: value if isinstance(value, list | tuple | set) else [value] for column, value in where.items()}
    return [
        (column, [word for value in some for word in (as_written(value), tag_word(value)) if word is not None])
        for column, some in values.items()
    ]
