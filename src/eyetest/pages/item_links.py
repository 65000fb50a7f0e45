"""Queries for items, as a value and as text: the query of an address, or the part behind its ``#``."""

import re
from collections.abc import Callable, Mapping
from math import inf, isnan
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

import msgspec

from eyetest.errors import InputError, nearest, short

AnswerKind = Literal["right", "wrong", "refused", "unparsed", "failed"]
ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
AskedKind = Literal[AnswerKind, "asked", "scored", "unscored"]  # an outcome, or whether there is one, or a score
ASKED_KINDS: tuple[AskedKind, ...] = get_args(AskedKind)
VERDICTS_TOGETHER: Mapping[str, tuple[str, ...]] = {"kept": ("keep", "fix"), "fallen": ("drop", "review")}
"""Names for several verdicts at once: items that continue to the next stage, and items that do not."""
Span = tuple[float, float]  # from and to, both included; infinite if open
_TAG = "tag."
_BETWEEN = ".."
_MOST_PARTS = 20_000
FIGURE = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")


def reason_kind(reason: str) -> str:
    """A reason with ``#`` in place of its figures, so that reasons that differ only in figures are one kind."""
    return FIGURE.sub("#", reason.replace("#", "##"))


class AnswerFilter(msgspec.Struct, frozen=True):
    """Items by a model's answer. Without a model any model counts, without a condition any condition."""

    kind: AskedKind
    model: str = ""
    condition: str = ""

    @classmethod
    def parse(cls, text: str) -> "AnswerFilter":
        """``wrong:MODEL@CONDITION``; a model name may contain ``:`` and ``@``, a condition neither."""
        kind, _, rest = text.partition(":")
        model, at, condition = rest.rpartition("@")
        if kind not in ASKED_KINDS:
            raise InputError(f"answer: no kind {short(kind)}; {nearest(kind, ASKED_KINDS)}")
        return cls(kind, model if at else condition, condition if at else "")

    def __str__(self) -> str:
        if not self.model and not self.condition:
            return self.kind
        needs_at = self.condition or "@" in self.model
        return f"{self.kind}:{self.model}" + (f"@{self.condition}" if needs_at else "")


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A filter and order of items. All conditions have to hold; of several values of one, any is enough."""

    text: str = ""
    """Words, or a quoted phrase, in one text: the question with its options, or a reply."""
    tags: tuple[tuple[str, str], ...] = ()
    untagged: tuple[str, ...] = ()
    gold: str = ""
    findings: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    """The verdict suggested by the most severe finding of an audit; ``keep`` where none is severe."""
    verdict: str = ""
    """With a stage: its verdict. Without: the last verdict. Also one of `VERDICTS_TOGETHER`."""
    stage: str = ""
    reason: str = ""
    """The stage's reason, as `reason_kind` gives it."""
    answers: tuple[AnswerFilter, ...] = ()
    difficulty: Span | None = None
    gain: Span | None = None
    disagreement: Span | None = None
    doubt: Span | None = None
    """Evidence of models' votes against the gold: the log likelihood ratio of the measure ``wrong-golds``."""
    options: Span | None = None
    """Number of options; 0 for an open answer."""
    blind_right: str = ""
    """A model that answers correctly without the image."""
    benchmark: str = ""
    ids: tuple[str, ...] = ()
    sort: str = ""
    """A column; with ``-`` before it, descending."""


_WORDS = ("text", "gold", "verdict", "stage", "sort", "reason", "blind-right", "benchmark")
_SPANS = ("difficulty", "gain", "disagreement", "doubt", "options")
_LISTS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "finding": ("findings", str),
    "suggested": ("suggested", str),
    "untagged": ("untagged", str),
    "answer": ("answers", AnswerFilter.parse),
    "id": ("ids", str),
}
KEYS = (*_WORDS, *_SPANS, *_LISTS, _TAG + "NAME")


def parse_query(text: str) -> Query:
    """The query of an address, with or without its ``?`` or ``#``; unknown keys are refused."""
    return query_of(pairs_of(text))


def pairs_of(text: str) -> list[tuple[str, str]]:
    """The keys and values of an address, known or not."""
    try:
        return parse_qsl(
            text[1:] if text[:1] in ("?", "#") else text,
            keep_blank_values=True,
            strict_parsing=bool(text.strip("?#")),
            max_num_fields=_MOST_PARTS,
            errors="surrogatepass",
        )
    except (ValueError, UnicodeError) as error:
        raise InputError(f"not a query: {error}") from None


def query_of(pairs: list[tuple[str, str]]) -> Query:
    """The query that keys and values define."""
    said: dict[str, Any] = {}
    for key, value in pairs:
        if not value:
            continue
        if key.startswith(_TAG) and len(key) > len(_TAG):
            said["tags"] = (*said.get("tags", ()), (key.removeprefix(_TAG), value))
        elif key in _LISTS:
            name, read = _LISTS[key]
            said[name] = (*said.get(name, ()), read(value))
        elif key not in _WORDS and key not in _SPANS:
            raise InputError(f"no filter {short(key)}; {nearest(key, KEYS)}")
        elif (name := key.replace("-", "_")) in said:
            raise InputError(f"{key}: said twice, {short(value)} the second time")
        else:
            said[name] = _span(key, value) if key in _SPANS else value
    return Query(**said)


def _span(key: str, text: str) -> Span:
    low, between, high = (part.strip() for part in text.partition(_BETWEEN))
    try:
        ends = (float(low or -inf), float(high or inf)) if between else (float(low), float(low))
    except ValueError:
        raise InputError(f"{key}: found {short(text)}, expected LEAST{_BETWEEN}MOST") from None
    if any(map(isnan, ends)) or ends[0] > ends[1]:
        raise InputError(f"{key}: found {short(text)}, expected LEAST{_BETWEEN}MOST, the smaller first")
    return ends


def write_query(query: Query) -> str:
    """The query as part of an address, in a fixed order; empty for all items."""
    pairs = [(key, getattr(query, key.replace("-", "_"))) for key in _WORDS if key != "sort"]
    pairs += [(_TAG + name, value) for name, value in query.tags]
    pairs += [(key, str(one)) for key, (name, _) in _LISTS.items() for one in getattr(query, name)]
    pairs += [(key, _written(span)) for key in _SPANS if (span := getattr(query, key)) is not None]
    pairs.append(("sort", query.sort))
    return urlencode([(key, value) for key, value in pairs if value], safe=":@", errors="surrogatepass")


def _written(span: Span) -> str:
    low, high = span
    if low == high:
        return repr(low)
    return f"{'' if low == -inf else repr(low)}{_BETWEEN}{'' if high == inf else repr(high)}"
