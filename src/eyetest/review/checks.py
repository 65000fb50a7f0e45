"""Whether a decision can be kept: how long its words are, what its form lets it say, what its edits make of an item.

Pages, terminals and files of other tools all come through here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.records import Decision, Item, letter, tag_word
from eyetest.review.forms import KINDS, Answerable, Form, check_edits, check_labels

LONGEST_TEXT = 10_000
"""Of a reason, a comment or an answer to the item, in characters."""
LONGEST_EDITS = 200_000
LONGEST_OPEN = 1e9
"""Seconds."""


def check_kind(word: object) -> Answerable:
    """A decision by its word."""
    kind = next((one for one in KINDS if one == word), None)
    if kind is None:
        raise InputError(f"decision: found {short(word)}; {nearest(str(word), KINDS)}")
    return kind


def check_grounds(kind: Answerable, *, reason: str, changes: bool) -> None:
    """Whoever is asked says why an item goes, and what is to be changed; what comes from elsewhere may not."""
    if kind == "drop" and not reason:
        raise InputError("say why it is to be dropped")
    if kind == "fix" and not changes:
        raise InputError("a fix changes something: edit the item, or say in the comment what has to be done")


def check_decision(decision: Decision, form: Form, item: Item | None) -> Decision:
    """A decision as it is kept, with its labels in order; refused where the form or the item does not allow it."""
    for name in ("reason", "comment", "solved"):
        short_enough(name, getattr(decision, name))
    if decision.seconds is not None and not 0 <= decision.seconds < LONGEST_OPEN:
        raise InputError(f"seconds: found {decision.seconds}, expected a number from 0 on")
    if decision.edits and decision.decision != "fix":
        raise InputError(f"edits: only a fix changes an item, and this is {decision.decision}")
    if decision.decision == "undo":
        return decision
    short_enough("edits", str(decision.edits), LONGEST_EDITS)
    check_edits(form, decision.edits)
    if item is not None:
        edited(item, decision.edits)
    return msgspec.structs.replace(decision, labels=check_labels(form, decision.decision, decision.labels))


def short_enough(name: str, text: str, most: int = LONGEST_TEXT) -> str:
    """A text that is not too long to be kept."""
    if len(text) > most:
        raise InputError(f"{name}: {len(text):,} characters; at most {most:,} are kept")
    return text


def edited(item: Item, edits: Mapping[str, Any]) -> Item:
    """An item with what a reviewer changed: question, answer, tags, the text of an option by its letter."""
    changes: dict[str, Any] = {}
    choices = list(item.choices)
    letters = [letter(index) for index in range(len(choices))]
    for key, value in edits.items():
        if key == "question" and str(value).strip():
            changes["question"] = str(value)
        elif key == "answer" and choices:
            golds = _golds(value, letters, item)
            choices = [msgspec.structs.replace(one, correct=index in golds) for index, one in enumerate(choices)]
        elif key == "answer" and value not in ("", []):
            changes["references"] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
        elif key == "tags" and isinstance(value, Mapping):
            changes["tags"] = _retagged(item, value)
        elif key.upper() in letters:
            index = letters.index(key.upper())
            choices[index] = msgspec.structs.replace(choices[index], text=str(value))
        else:
            told = f"an edit may change question, answer, tags or an option, and not to nothing; found {short(key)}"
            raise InputError(f"item {short(item.id)}: {told}")
    return msgspec.structs.replace(item, choices=tuple(choices), **changes)


def _retagged(item: Item, tags: Mapping[str, Any]) -> dict[str, Any]:
    """The tags of an item with some changed; one that is changed to nothing goes."""
    for name, value in tags.items():
        if isinstance(value, Mapping | list) or not str(name).strip():
            raise InputError(f"item {short(item.id)}: a tag is a word or a number, not {short(value)}")
    changed = {**item.tags, **tags}
    return {name: value for name, value in changed.items() if value is not None and tag_word(value) != ""}


def _golds(value: Any, letters: Sequence[str], item: Item) -> set[int]:
    words = value if isinstance(value, list) else str(value).split(",")
    named = [str(word).strip().upper() for word in words]
    if unknown := [name for name in named or [""] if name not in letters]:
        raise InputError(f"item {short(item.id)}: an answer is one of {', '.join(letters)}, not {short(unknown[0])}")
    return {letters.index(name) for name in named}
