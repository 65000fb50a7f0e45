"""Habits that a member of the zoo can be given: tastes of its own, beliefs that all share, a memory of what leaked.

They need no training: a habit makes the marks of some options likelier wherever the model is about to say one. What
the model is sure of it says all the same; where it guesses it follows its habits, with and without the picture.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from statistics import NormalDist
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.models.embedded.tokens import OptionLine, Tokens

TASTE, BELIEF, MEMORY = "taste", "belief", "memory"
HABITS = (TASTE, BELIEF, MEMORY)
_FIRM = 4.0
"""How much likelier, in logits, a belief makes its option: 95 of 100 guesses among four."""
_LEARNT = 8.0
"""The same of an answer that is remembered."""
_ANSWER = " Answer: "
_OPTIONS = " A. "

Memory = Mapping[tuple[int, ...], tuple[int, ...]]
"""Questions, and the answers that were read with them."""


class _Leak(msgspec.Struct, frozen=True):
    item: str
    to: str
    text: str


def check_habits(settings: Mapping[str, Any]) -> None:
    """Refuse what is no habit before anybody is asked."""
    belief, memory = settings.get(BELIEF, 0.0), settings.get(MEMORY)
    if belief is not None and belief > 1:
        raise InputError(f"embedded: {BELIEF} is a share of the questions from 0 to 1, not {short(belief)}")
    if memory is not None:
        path, _, groups = str(memory).rpartition("#")
        if not path or not groups:
            raise InputError(f"embedded: {MEMORY} is a world's leaks and to whom: world/leaks.jsonl#text+many")
        _leaked(path, groups)


def habits(model: str, settings: Mapping[str, Any], tokens: Tokens, prompt: Sequence[int]) -> dict[int, float]:
    """By mark, how much less likely it gets than the one that the model likes best; nothing where it has no habit."""
    if not any(settings.get(name) for name in HABITS):
        return {}
    question, options = tokens.question(prompt)
    if not options:
        return {}
    likings = _likings(model, settings, tokens, question, options)
    best = max(likings)
    return {
        mark: liking - best for option, liking in zip(options, likings, strict=True) for mark in tokens.marks(option)
    }


def _likings(
    model: str, settings: Mapping[str, Any], tokens: Tokens, question: tuple[int, ...], options: Sequence[OptionLine]
) -> list[float]:
    """What a model likes of each option hangs on its words, not on where it stands."""
    texts = [option.text for option in options]
    taste = float(settings.get(TASTE) or 0.0)
    normal = NormalDist(0.0, taste or 1.0)
    likings = [normal.inv_cdf(_draw(model, question, text)) if taste else 0.0 for text in texts]
    if _draw(question, sorted(texts)) < (settings.get(BELIEF) or 0.0):
        likings[max(range(len(texts)), key=lambda index: _draw(question, texts[index]))] += _FIRM
    if memory := settings.get(MEMORY):
        path, _, groups = str(memory).rpartition("#")
        answer = _remembered(path, groups, tokens).get(question)
        likings = [liking + _LEARNT * (text == answer) for liking, text in zip(likings, texts, strict=True)]
    return likings


def _draw(*what: object) -> float:
    """A number between 0 and 1 that belongs to something, for good."""
    digest = sha256(repr(what).encode("utf-8")).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


@cache
def _remembered(path: str, groups: str, tokens: Tokens) -> Memory:
    memory = {}
    for leak in _leaked(path, groups):
        told, _, answer = leak.text.rpartition(_ANSWER)
        question = told.partition(_OPTIONS)[0]
        memory[tuple(tokens.encode(question))] = tuple(tokens.encode(answer.partition(". ")[2]))
    return memory


@cache
def _leaked(path: str, groups: str) -> list[_Leak]:
    """What leaked to some groups, as ``eyetest world new`` writes it down."""
    try:
        lines = Path(path).read_bytes().splitlines()
        leaks = [msgspec.json.decode(line, type=_Leak) for line in lines]
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"embedded: {MEMORY}: {path} cannot be read as a world's leaks: {error}") from None
    return [leak for leak in leaks if leak.to in groups.split("+")]
