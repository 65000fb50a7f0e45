"""An item of a run, from the request to the score."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError
from eyetest.prompts import CannotApply, build, tells_history
from eyetest.prompts.sets import remember
from eyetest.records import Asked, Item, Planned, Prompt, Response, columns
from eyetest.running.planning import Dialogues
from eyetest.runs import Run
from eyetest.runs.stored import PLAN, one_line_if_damaged, scan_table
from eyetest.scoring import Scored, Scorer, quoted

Responses = Callable[[str], Response | None]  # the response to a request, if any


class ItemCase(NamedTuple):
    """An answer: the condition, what was sent (or why it would not be), the reply, and its reading."""

    asked: Asked
    prompt: Prompt | CannotApply
    response: Response
    scored: Scored


def planned_calls(run: Run, items: Sequence[str]) -> pl.DataFrame:
    """The rows of a run's plan about some items."""
    if not (run.path / PLAN).exists():
        return pl.DataFrame(schema=dict.fromkeys(columns(Planned), pl.String))
    named = pl.col("item").is_in(pl.Series(items, dtype=pl.String).implode())
    with one_line_if_damaged(run.path / PLAN):
        return scan_table(run.path / PLAN).filter(named).collect()


def item_cases(
    run: Run, benchmark: Benchmark, item: Item, calls: pl.DataFrame, responses: Responses, scorer: Scorer
) -> list[ItemCase]:
    """The results of some planned calls about an item; calls without a response are left out."""
    rows = calls.to_dicts()
    for step in run.manifest.steps:
        remember(step.prompts)
    dialogues = _earlier_replies(run, benchmark, item, responses) if any(map(_is_own, rows)) else None
    cases = []
    for row in rows:
        asked, response = _key(row), responses(row["request"])
        if response is not None:
            scored = scorer.score(item, asked.condition, response)
            cases.append(ItemCase(asked, _prompt(item, asked, dialogues), response, scored))
    return cases


def _earlier_replies(run: Run, benchmark: Benchmark, item: Item, responses: Responses) -> Dialogues:
    """The dialogues of a benchmark, with the answers to the turns before an item."""
    dialogues = Dialogues(benchmark)
    for earlier in benchmark.take(sorted(dialogues.before([benchmark.position(item.id)]))):
        for row in filter(_is_own, planned_calls(run, [earlier.id]).to_dicts()):
            asked, response = _key(row), responses(row["request"])
            if response is not None:
                dialogues.replies[asked] = quoted(earlier, asked.condition, response)
    return dialogues


def _prompt(item: Item, asked: Asked, dialogues: Dialogues | None) -> Prompt | CannotApply:
    try:
        answers = None
        if dialogues and asked.history == "own" and tells_history(item, asked.condition):
            answers = dialogues.answers(item, asked)
        return build(item, asked.condition, answers=answers)
    except EyetestError as reason:  # imported answers may name prompts that are not stored
        return reason if isinstance(reason, CannotApply) else CannotApply(str(reason))


def _is_own(row: dict[str, Any]) -> bool:
    return bool(row["history"] == "own")


def _key(row: dict[str, Any]) -> Asked:
    return Asked(**{name: row[name] for name in Asked.__struct_fields__})
