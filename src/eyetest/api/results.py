"""Who answers, by whatever the user calls them; and what several runs found, together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyetest.api.open_ import AnyRun, Bench, as_run, opened, several
from eyetest.errors import InputError, short
from eyetest.measures import Results, Settings
from eyetest.models import named_models, parse_models, read_models
from eyetest.records import ModelEntry
from eyetest.results.gather import results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer

Models = str | Path | Sequence[str] | Mapping[str, Any]
"""Who answers: a spec or several (``"NAME=KIND:…"``), names with their specs, or the path of a ``models.yaml``."""
Measurable = AnyRun | Results | Sequence[AnyRun]
"""What can be measured: a run, several of them, or results."""
_FEWEST_RESAMPLES = 100
_FILES = (".yaml", ".yml")


def results(
    *runs: AnyRun,
    models: Models | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
    bench: Bench | None = None,
    cluster: str = "auto",
    rescore_given: bool = False,
) -> Results:
    """What one or more runs found, together: ``scores`` (lazy) and ``items``, ready for every measure.

    Runs about the same benchmark complete each other. A run that was not scored yet is scored on the way. ``models``
    says what is known of models (language bases, sizes), ``bench`` gives other golds, ``cluster`` says what makes
    items depend on each other. ``rescore_given`` scores ourselves what others have scored.

    >>> found = et.results("run")
    >>> sorted(found.scores.select("model").unique().collect()["model"])
    ['language', 'seer', 'squinter']
    >>> et.measure.accuracy(found).frame.height
    6
    """
    golds = None if bench is None else opened(bench)
    known = None if models is None else entries(models)
    scorer = Scorer(rules, metric, rescore_given=rescore_given)
    return results_of([as_run(run) for run in runs], scorer, cluster, golds, known)


def settings(
    by: str | Sequence[str], level: float, seed: int, resamples: int, own: Mapping[str, Any] | None = None
) -> Settings:
    """How to measure, checked as the command line checks it."""
    if not 0.5 <= level < 1 or resamples < _FEWEST_RESAMPLES:
        raise InputError(f"level: from 0.5 to 0.999; resamples: at least {_FEWEST_RESAMPLES}")
    return Settings(tuple(several(by)), level, seed, resamples, dict(own or {}))


def runs_of(runs: AnyRun | Sequence[AnyRun]) -> list[Run]:
    """One run or several, opened."""
    opened_or_not: list[AnyRun] = several(runs)
    return [as_run(run) for run in opened_or_not]


def as_results(runs: Measurable) -> Results:
    """Runs as what measures are made of."""
    return runs if isinstance(runs, Results) else results(*runs_of(runs))


def entries(models: Models) -> dict[str, ModelEntry]:
    """The models that a user named, by the names under which their answers are kept."""
    if isinstance(models, Mapping):
        return named_models(dict(models), "models")
    if isinstance(models, Path) or (isinstance(models, str) and models.endswith(_FILES)):
        return read_models(Path(models))
    words = [models] if isinstance(models, str) else list(models)
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise InputError(f"models: found {short(wrong[0])}, expected specs, or names with their specs")
    return parse_models(words)
