"""Scores of runs for the commands that measure them: by which scoring, of which models, under which conditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyetest.commands import base
from eyetest.commands.base import observer, open_bench, open_run, several
from eyetest.commands.options import AnyRun, Bench, Measurable, Models, Pairs, Where, Words
from eyetest.errors import InputError, heading, listed
from eyetest.grammar import Filter, read_names, read_pairs, refuse_no_filter, words_of

if TYPE_CHECKING:
    from eyetest.measures import Results, Settings


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
    from eyetest.measures.results import models_filter, narrowed
    from eyetest.results.gather import results_of
    from eyetest.results.scores import chosen_benchmark, chosen_scorer

    given, scoring = flat(runs), scoring or Scoring()
    refuse_no_condition(scoring.where)
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
    filters = [*models_filter(found, several(scoring.model)), *wanted(found, scoring.where)]
    return narrowed(found, filters) if filters else found


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


def settings(by: Sequence[str], level: float, seed: int, own: Mapping[str, Any] | None = None) -> "Settings":
    """How to measure, checked; ``by`` are names of tags and properties, as `tags_named` reads them."""
    from eyetest.measures import Settings

    if not 0.5 <= level < 1:
        raise InputError(f"{heading('level')}: found {level}, expected from 0.5 to 0.999")
    return Settings(tuple(by), level, seed, own=dict(own or {}))


def tags_named(found: "Results", by: Words) -> list[str]:
    """The tags and properties that ``A,B`` or repeated words name; a tag whose name has commas is one."""
    return read_names(several(by), "by", found.tags)


def refuse_no_condition(where: "Where | None") -> None:
    """Raise where words are no conditions on scores, before anything is read."""
    if where is not None and not isinstance(where, Mapping):
        refuse_no_filter(words_of(where), "where")


def wanted(found: "Results", where: "Where | None") -> "list[Filter]":
    """Conditions on these scores, from words or from values."""
    from eyetest.measures.results import as_written, filters_of
    from eyetest.records import tag_word

    if where is None or not isinstance(where, Mapping):
        return filters_of(found, () if where is None else words_of(where))
    types = found.scores.collect_schema()
    filters = []
    for column, value in where.items():
        values = list(value) if isinstance(value, list | tuple | set) else [value]
        write = as_written if column in types else tag_word
        filters.append(Filter(column, [word for word in map(write, values) if word is not None]))
    return filters


def pairs(words: Pairs, name: str, expected: str) -> dict[str, Any]:
    """The values of a parameter by their keys; ``expected`` is the form with an example."""
    if isinstance(words, Mapping):
        return dict(words)
    form, _, example = expected.partition(", such as ")
    return dict(read_pairs(several(words), name, example, form=form))
