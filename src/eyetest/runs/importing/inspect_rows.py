"""Samples of an inspect-ai log as rows of answers.

A letter means what was shown. ``multiple_choice(shuffle=True)`` shows options in another order than the sample has
them and afterwards writes the prompt and the answer anew as if it had not; what was really shown is then only in the
scorer's explanation, and what was really said in the events.
"""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eyetest.tabular.inspect_log import Header, Sample, read_inspect_log
from eyetest.tabular.table import Values

_SHUFFLED = "Choices were shuffled before generating a response, the following was sent to the model:\n\n"
_THEN = "\nShuffled answer:\n"
_MARKED = re.compile(r"^([A-Z])\) ", re.MULTILINE)
_CUT_OFF = ("max_tokens", "model_length")
_VERDICTS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partly correct, no answer."""


def inspect_rows(path: Path) -> Iterator[tuple[int, Values]]:
    """One row a sample and epoch; each scorer is a column, to be taken by name."""
    for number, (log, sample) in enumerate(read_inspect_log(path), 1):
        yield number, _row(log, sample)


def _row(log: Header, sample: Sample) -> Values:
    scores = sample.scores or ({"score": sample.score} if sample.score else {})
    shown, text = _shown(sample, [score.explanation or "" for score in scores.values()])
    outcome = _outcome(sample, text)
    row: Values = {name: None if outcome == "failed" else _value(score.value) for name, score in scores.items()}
    row |= {
        "item": sample.id,
        "model": log.eval.model,
        "ask": "cot" if _reasons(log) else "direct",
        "trial": max(sample.epoch - 1, 0),
        "text": None if outcome == "failed" else text,
        "outcome": outcome,
    }
    return row | ({"order": shown} if shown else {})


def _outcome(sample: Sample, text: str | None) -> str:
    """A sample that broke, or that somebody took back, is no wrong answer."""
    if sample.error or sample.invalidation or text is None:
        return "failed"
    why = sample.output.choices[0].stop_reason
    if why == "content_filter":
        return "blocked"
    return "truncated" if sample.limit or why in _CUT_OFF else "answered"


def _reasons(log: Header) -> bool:
    return any(step.params.get("cot") is True or step.solver.endswith("chain_of_thought") for step in log.plan.steps)


def _shown(sample: Sample, explanations: Sequence[str]) -> tuple[list[str], str | None]:
    """The options as the model saw them, and what it said."""
    if not sample.choices:
        return [], sample.completion
    for told in explanations:
        listed, then, letters = told.removeprefix(_SHUFFLED).partition(_THEN)
        if told.startswith(_SHUFFLED) and then and (shown := _listed(listed, sample.choices)):
            return shown, sample.spoken or letters
    return _listed(sample.prompt, sample.choices) or sample.choices, sample.completion


def _listed(prompt: str, choices: Sequence[str]) -> list[str]:
    """The options in the order of a list in which each has a letter; nothing where no list holds them all."""
    starts = [match for match in _MARKED.finditer(prompt) if ord(match[1]) - ord("A") < len(choices)]
    first = len(starts) - len(choices)
    if first < 0:
        return []
    listed = []
    for number, match in enumerate(starts[first:]):
        text = next((text for text in _longest_first(choices) if prompt.startswith(text, match.end())), None)
        if text is None or ord(match[1]) - ord("A") != number:
            return []
        listed.append(text)
    return listed if sorted(listed) == sorted(choices) else []


def _longest_first(choices: Sequence[str]) -> list[str]:
    return sorted(choices, key=len, reverse=True)


def _value(value: Any) -> Any:
    """A score from 0 to 1 where it is one; as it is otherwise."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return _VERDICTS.get(value, value) if isinstance(value, str) else value
