"""What a finish reason says about a reply: a table of the words of all serving frameworks, and of a user's own.

The table is a list of what is allowed: a word that it does not hold is not an answer until the user names it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Literal

import msgspec

from eyetest.records.tables import OutcomeKind

Ending = Literal["answered", "truncated", "blocked", "tool call", "failed", "unknown", "unsaid"]
"""``unknown``: the word stands in no table. ``unsaid``: there is no word."""
RECORDED = "recorded"  # the finish of an imported or replayed reply, whose outcome was decided elsewhere
UNKNOWN_FINISH = "unknown-finish"  # the error of a reply that is kept until its finish reason is named
# inspect-ai writes "unknown" where a provider says nothing, and a tool that it called may be part of an answer
INSPECT_FINISHES: dict[str, OutcomeKind] = {"unknown": "answered", "tool_calls": "answered"}
_UNSAID = ("", "null", "none")
_WORD_FIELDS = ("type", "code", "reason", "finish_reason", "stop_reason", "name", "value", "status")
_PREFIX = re.compile(r"^(?:finish_?reason|stop_?reason|finish)_(?=.)")
_DEEPEST = 4
_WORDS = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HEAD = re.compile(r"[:;,(|]")
_IDENTIFIER = re.compile(r"[A-Za-z][\w. -]*")
_END_TOKEN = re.compile(r"\s*</s>\s*")
_WORST_FIRST: tuple[Ending, ...] = ("failed", "blocked", "tool call", "truncated", "unknown", "answered", "unsaid")
_STORED_ANSWERS = ("answered", "truncated", "blocked")


class _Table(msgspec.Struct, frozen=True):
    """The file with the words of all frameworks."""

    frameworks: dict[str, dict[Ending, list[str]]]
    telling: dict[Ending, str]
    unfinished_without: dict[str, dict[str, str]]


@cache
def _table() -> _Table:
    return msgspec.yaml.decode(files(__package__).joinpath("finishes.yaml").read_bytes(), type=_Table)


@cache
def known_finishes() -> dict[str, Ending]:
    """The meaning of every word of the table."""
    meanings: dict[str, Ending] = {}
    for endings in _table().frameworks.values():
        for ending, words in endings.items():
            meanings.update(dict.fromkeys(words, ending))
    return meanings


@cache
def _table_hash() -> str:
    return blake2b(files(__package__).joinpath("finishes.yaml").read_bytes(), digest_size=8).hexdigest()


def finishes_version(named: Mapping[str, OutcomeKind]) -> str:
    """The version of the table with a user's own words, so that scores by another one are made again."""
    own = ",".join(f"{_plain(word)}={named[word]}" for word in sorted(named))
    return f"{_table_hash()} {own}".rstrip()


def finish_words(value: Any, depth: int = _DEEPEST) -> list[str]:
    """All words of a finish reason: a text as it is, a number, or the words inside of an object or a list."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return finish_words(value[0], depth - 1) if value and depth else []
    if isinstance(value, dict):
        words: list[str] = []
        for name in _WORD_FIELDS:
            if depth and isinstance(value.get(name), str | int | dict):
                words += finish_words(value[name], depth - 1)
        return words or _words_of_other_fields(value)
    return [] if value is None else [str(value)]


def _words_of_other_fields(fields: Mapping[Any, Any]) -> list[str]:
    """The word of an object without a field for it: its only key, which a false value denies."""
    if len(fields) != 1:
        return [str(fields)]
    name, value = next(iter(fields.items()))
    return [f"not {name}" if value is False else str(name)]


def worst_finish(words: Iterable[str], named: Mapping[str, OutcomeKind] | None = None) -> str:
    """The word that counts where a reply has several: the worst known one; empty without any.

    The first word is that of the field for finish reasons. Only this one may be unknown.
    """
    said = [word for word in words if read_finish(word, named) != "unsaid"]
    counted = said[:1] + [word for word in said[1:] if read_finish(word, named) != "unknown"]
    return min(counted, key=lambda word: _WORST_FIRST.index(read_finish(word, named)), default="")


def is_listed(word: str) -> bool:
    """Whether the table has a word itself: what only looks like one may be a text that ended the reply."""
    return _IDENTIFIER.fullmatch(word) is not None and _plain(word) in known_finishes()


def read_finish(word: str, named: Mapping[str, OutcomeKind] | None = None) -> Ending:
    """What a finish reason says. ``named`` are the user's own words, which win."""
    whole = _plain(word)
    own = {_plain(name): outcome for name, outcome in (named or {}).items()}
    meanings: Mapping[str, Ending] = {**known_finishes(), **own}
    if whole in _UNSAID:
        return meanings.get(whole, "unsaid")
    for form in (whole, _PREFIX.sub("", whole)):
        if form in meanings:
            return meanings[form]
    for ending, pattern in _table().telling.items():
        if re.search(pattern, whole):
            return ending
    head = _PREFIX.sub("", _plain(_HEAD.split(word, maxsplit=1)[0]))
    return meanings.get(head, "unknown")


def _plain(word: str) -> str:
    """A word in lower case with underscores: ``maxTokens``, ``MAX-TOKENS`` and ``max tokens`` are the same."""
    if _END_TOKEN.fullmatch(word):
        return "eos"
    spaced = _CAMEL.sub("_", word) if not word.isupper() else word
    return _WORDS.sub("_", spaced.casefold()).strip("_")


def is_broken_off(body: Any, choice: Any) -> bool:
    """Whether a reply without a finish reason is of a framework that gives one to every reply that is whole."""
    places = {"body": body, "choice": choice}
    for mark in _table().unfinished_without.values():
        begins = mark.get("begins", "")
        for place, fields in places.items():
            if place not in mark or not isinstance(fields, dict) or mark[place] not in fields:
                continue
            if not begins or str(fields[mark[place]]).startswith(begins):
                return True
    return False


def stored_outcome(
    outcome: OutcomeKind, finish: str, error: str, named: Mapping[str, OutcomeKind] | None = None
) -> OutcomeKind:
    """The outcome of a stored reply by the present table: its finish reason may have been unknown when it came."""
    if finish == RECORDED or (outcome not in _STORED_ANSWERS and error != UNKNOWN_FINISH):
        return outcome
    ending = read_finish(finish, named)
    if ending == "unsaid":
        return outcome
    return "failed" if ending == "tool call" or ending == "unknown" else ending  # noqa: PLR1714 (mypy narrows this)
