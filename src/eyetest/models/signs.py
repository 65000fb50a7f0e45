"""Where a reply says how it ended: its finish reason under any name and place, and signs that it was filtered."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eyetest.records.finishes import finish_words, is_listed

# Names of fields without case and other characters, the field for finish reasons first: its word may be unknown
_REASONS = ("finishreason", "nativefinishreason", "finishdetails", "stopreason", "donereason")
_NUMBERED = ("finishreason", "nativefinishreason")  # others hold numbers of tokens that ended the text
_STATES = ("status", "incompletedetails")
_FILTERS = ("contentfilter", "promptfilter")
_INTERVENED = ("intervened", "blocked", "guardrailintervened")
_DEEPEST, _MOST_PARTS = 5, 50


def all_finish_words(body: Any, choice: Any) -> list[str]:
    """What the choice, its message and the body say about why the reply ended, the finish reason first."""
    message = choice.get("message") if isinstance(choice, dict) else None
    places = [_by_plain_name(place) for place in (choice, message, body)]
    words: list[str] = []
    for name in _REASONS:
        for place in places:
            for value in place.get(name, ()):
                words += _words_of(name, value)
    for place in places:
        words += _words_of_state(place)
        if _is_filtered(place):
            words.append("content_filter")
    return words


def plain_name(name: object) -> str:
    """The name of a field in lower case without other characters than letters."""
    return re.sub(r"[^a-z]", "", str(name).lower())


def _by_plain_name(place: Any) -> dict[str, list[Any]]:
    """The values of an object by the plain names of its fields, which can be alike; empty for anything else."""
    fields: dict[str, list[Any]] = {}
    for name, value in place.items() if isinstance(place, dict) else ():
        fields.setdefault(plain_name(name), []).append(value)
    return fields


def _words_of(name: str, value: Any) -> list[str]:
    """The words of a field for reasons. A field for the text that ended a reply counts only with a listed word."""
    words = finish_words(value)
    if name in _NUMBERED:
        return words
    if name == "stopreason":
        return [word for word in words if is_listed(word)]
    return [word for word in words if not word.lstrip("-").isdigit()]


def _words_of_state(place: Mapping[str, list[Any]]) -> Iterator[str]:
    """Listed words of a status, and those of flags that say that a reply is not whole."""
    for name in _STATES:
        for value in place.get(name, ()):
            yield from [word for word in finish_words(value) if is_listed(word)]
    if any(value is False for value in place.get("done", ())):
        yield "not_finished"
    if any(value is True for value in place.get("truncated", ())):
        yield "truncated"


def _is_filtered(place: Mapping[str, list[Any]]) -> bool:
    """Whether a filter, a guardrail or a moderation says in one of these fields that it stopped the reply."""
    stopped = [name for name, values in place.items() if any(_is_stop(name, value) for value in values)]
    return bool(stopped)


def _is_stop(name: str, value: Any) -> bool:
    """Whether the value of a field says that a filter stopped the reply."""
    if name.startswith(_FILTERS):
        return _has(value, "filtered")
    if name.startswith("moderation"):
        return _has(value, "flagged")
    if "guardrail" in name:
        return _says_intervened(value)
    if name == "promptfeedback":
        return _has_block_reason(value)
    return name.endswith("sensitive") and value is True


def _has(value: Any, flag: str, depth: int = _DEEPEST) -> bool:
    """Whether a flag is true anywhere in a value."""
    if depth and isinstance(value, list):
        return any(_has(part, flag, depth - 1) for part in value[:_MOST_PARTS])
    if depth and isinstance(value, dict):
        return value.get(flag) is True or any(_has(part, flag, depth - 1) for part in value.values())
    return False


def _says_intervened(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether the action of a guardrail was to stop the reply."""
    if depth and isinstance(value, dict):
        return any(_says_intervened(part, depth - 1) for part in value.values())
    return isinstance(value, str) and plain_name(value) in _INTERVENED


def _has_block_reason(value: Any) -> bool:
    """Whether the feedback on a prompt has a reason why it was blocked."""
    reasons = _by_plain_name(value).get("blockreason", [])
    return any(isinstance(reason, str) and reason and "UNSPECIFIED" not in reason.upper() for reason in reasons)
