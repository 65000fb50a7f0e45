"""Scores of runs for the commands that measure them: by which scoring, of which models, under which conditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyetest.commands import base
from eyetest.commands.base import observer, open_bench, open_run, several
from eyetest.commands.options import AnyRun, Bench, Measurable, Models, Pairs, Where, Words
from eyetest.errors import InputError, heading, listed, short

if TYPE_CHECKING:
    from eyetest.measures import Results, Settings
    from eyetest.measures.results import Wanted


@dataclass(frozen=True)
class Scoring:
    """By which answer key answers count, and what is known of models; None is what `score` chose."""

    bench: Bench | None = None
    cluster: str = "auto"
    models: Models | None = None
    model: Words = ()
    """Only these models, where any is named."""
    where: Where | None = None
    """Only scores under these conditions; scores are refused where none is left."""


def gather(
    runs: Measurable | Sequence[Measurable], scoring: Scoring | None = None, tell: Callable[[str], None] | None = None
) -> "Results":
    """The scores of some runs together; a run that has no current scores is scored on the way."""
    from eyetest.measures import Results
    from eyetest.measures.results import narrowed, only_models
    from eyetest.results.gather import results_of
    from eyetest.results.scores import chosen_benchmark, chosen_scorer

    given, scoring = flat(runs), scoring or Scoring()
    if not any(isinstance(thing, Results) for thing in given):
        opened = [open_run(run) for run in given]
        keys = [chosen_benchmark(run) if scoring.bench is None else open_bench(scoring.bench) for run in opened]
        known = None if scoring.models is None else base.model_entries(scoring.models)
        scorers = [chosen_scorer(run) for run in opened]
        found = results_of(opened, scorers, scoring.cluster, keys, known, tell or observer().busy)
        if len({(scorer.rules.name, scorer.metric, scorer.rescore_given) for scorer in scorers}) > 1:
            each = listed(
                [f"{run.path} by {scorer.rules.name}" for run, scorer in zip(opened, scorers, strict=True)], 6
            )
            found = replace(found, notes=(*found.notes, f"the runs are scored in different ways: {each}"))
    elif len(given) == 1:
        found = given[0]
    else:
        raise InputError("results are measured alone: gather all runs in one call of results")
    found = only_models(found, several(scoring.model))
    return found if scoring.where is None else narrowed(found, wanted(scoring.where))


def flat(things: Any) -> list[Any]:
    """Things that were given one by one, in lists, or both."""
    if isinstance(things, str | Path) or not isinstance(things, Sequence):
        return [things]
    return [inner for thing in things for inner in flat(thing)]


def results(*runs: AnyRun, models: Models | None = None, cluster: str = "auto") -> "Results":
    """Gather what one or more runs found: ``scores`` (lazy) and ``items``, ready for every measure.

    Runs about the same benchmark complete each other. Each is scored as it was last scored by `score`, a run that
    was not scored yet by default rules. ``models`` says what is known of models (language bases, sizes), ``cluster``
    what makes items depend on each other.

    >>> results = et.results("run")
    >>> sorted(results.scores.select("model").unique().collect()["model"])
    ['language', 'seer', 'squinter']
    >>> et.measure("accuracy", results).frame.height
    6
    """
    return gather(runs, Scoring(cluster=cluster, models=models))


def settings(by: Words, level: float, seed: int, own: Mapping[str, Any] | None = None) -> "Settings":
    """How to measure, checked."""
    from eyetest.measures import Settings

    if not 0.5 <= level < 1:
        raise InputError(f"{heading('level')}: found {level}, expected from 0.5 to 0.999")
    return Settings(tuple(dict.fromkeys(several(by))), level, seed, own=dict(own or {}))


def wanted(where: Where) -> "list[Wanted]":
    """Conditions on scores, from words or from values."""
    from eyetest.measures.results import as_written, read_where
    from eyetest.records import tag_word

    if not isinstance(where, Mapping):
        return read_where([where] if isinstance(where, str) else where)
    values = {column: value if isinstance(value, list | tuple | set) else [value] for column, value in where.items()}
    return [
        (column, [word for value in some for word in (as_written(value), tag_word(value)) if word is not None])
        for column, some in values.items()
    ]


def pairs(words: Pairs, name: str, expected: str) -> dict[str, Any]:
    """The values of a parameter by their keys."""
    if isinstance(words, Mapping):
        return dict(words)
    parts = [word.partition("=") for word in several(words)]
    if wrong := ["".join(part) for part in parts if not part[1]]:
        raise InputError(f"{heading(name)}: found {short(wrong[0])}, expected {expected}")
    return {key: value for key, _, value in parts}
