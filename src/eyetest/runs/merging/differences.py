"""One line about what several runs say differently: how much, the first of it, and what the user may do."""

from collections.abc import Mapping, Sequence

import polars as pl

from eyetest.errors import param, short
from eyetest.runs.folder import Run
from eyetest.runs.merging.answers import AnswersOfRuns
from eyetest.runs.merging.plans import PlansOfRuns
from eyetest.runs.plan import PLAN
from eyetest.wording import counted, listed, typed

_SHOWN = 2
_LONGEST_TEXT = 30
_LONGEST_PATH = 40


def models_differ(differing: Mapping[str, str], last: Run) -> str:
    """That a name stands for two models, or for one that was set in two ways."""
    name, why = next(iter(differing.items()))
    others = f" (and {len(differing) - 1:,} more models)" if len(differing) > 1 else ""
    rename = typed("eyetest", "models", last.path, "--rename", f"{name}=NEW")
    told = f"model {short(name)} is not the same in all runs{others}: {why}"
    return f"{told}; if they are two, rename one: {rename}; if they are one, {_decides()}"


def answers_differ(runs: Sequence[Run], answers: AnswersOfRuns, plans: PlansOfRuns) -> str:
    """That the same was answered differently."""
    both = []
    if number := answers.differing:
        told = []
        for claims in answers.differing_rows(_SHOWN):
            words = [f"{_said(row)} in {named(runs[run])}" for run, row in claims]
            told.append(f"{_asked(runs, str(claims[0][1]['request']))}: {listed(words)}")
        both.append(f"{counted(number, 'request')} answered differently ({'; '.join(told)})")
    if number := plans.differing:
        rows = "; ".join(_who(row) for row in plans.differing_rows(_SHOWN))
        both.append(f"{counted(number, 'question')} put with other settings and answered differently ({rows})")
    return f"the runs differ: {' and '.join(both)}; {_decides()}"


def named(run: Run) -> str:
    """A run in a message that names several."""
    text = str(run.path)
    return text if len(text) <= _LONGEST_PATH else f"…{text[1 - _LONGEST_PATH :]}"


def _decides() -> str:
    return f"{param('prefer', 'first')} or {param('prefer', 'newest')} decides"


def _asked(runs: Sequence[Run], request: str) -> str:
    """Who was asked what by a request; a judge's are in no plan."""
    for run in runs:
        if (run.path / PLAN).exists():
            rows = pl.scan_parquet(run.path / PLAN, glob=False).filter(pl.col("request") == request).head(1)
            if len(row := rows.collect()):
                return _who(row.to_dicts()[0])
    return f"request {request[:8]}"


def _said(row: Mapping[str, object]) -> str:
    if row["text"]:
        return short(row["text"], _LONGEST_TEXT)
    return "other likelihoods" if row["candidates"] else str(row["outcome"])


def _who(row: Mapping[str, object]) -> str:
    return f"{short(row['item'], _LONGEST_TEXT)} by {short(row['model'], _LONGEST_TEXT)} ({row['sight']})"
