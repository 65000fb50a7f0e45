"""Which items somebody wants to see, as a value and as text: the query of an address, the same behind a ``#``.

Pure, and below all that shows items, so that a report can write a link and a browser can read it.
"""

import re
from collections.abc import Callable, Mapping
from math import inf, isnan
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

import msgspec

from eyetest.errors import InputError, nearest, short

AnswerKind = Literal["right", "wrong", "refused", "unparsed", "failed"]
ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
AskedKind = Literal[AnswerKind, "asked", "scored", "unscored"]
"""What can be filtered by: what became of an answer, or whether there is one, or a score."""
ASKED_KINDS: tuple[AskedKind, ...] = get_args(AskedKind)
VERDICTS_TOGETHER: Mapping[str, tuple[str, ...]] = {"kept": ("keep", "fix"), "fallen": ("drop", "review")}
"""Words for several verdicts at once: what goes on to the next stage, and what does not."""
Span = tuple[float, float]
"""From and to, both included; infinite where it is open."""
_TAG = "tag."
_BETWEEN = ".."
_MOST_PARTS = 20_000
"""Parts of one query: so many ids, and no more."""
FIGURE = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")


def reason_kind(reason: str) -> str:
    """A reason with ``#`` in the place of its figures: those that differ in figures alone are of one kind."""
    return FIGURE.sub("#", reason.replace("#", "##"))


class AnswerFilter(msgspec.Struct, frozen=True):
    """Items that a model answered so. Without a model any model counts, without a condition any condition."""

    kind: AskedKind
    model: str = ""
    condition: str = ""

    @classmethod
    def parse(cls, text: str) -> "AnswerFilter":
        """``wrong:MODEL@CONDITION``; a model may have ``:`` and ``@`` in its name, a condition neither."""
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
    """What items have to be to be shown, and in which order. All that is said has to hold.

    Of several values for one tag, of several findings and of several suggestions, one is enough.
    """

    text: str = ""
    """Words, or a phrase in quotes, that one text has: the question with its options, or a reply."""
    tags: tuple[tuple[str, str], ...] = ()
    untagged: tuple[str, ...] = ()
    """Tags that an item has no value of."""
    gold: str = ""
    """The letter of the right option."""
    findings: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    """What the gravest finding of an audit suggests for an item; ``keep`` where none is grave."""
    verdict: str = ""
    """With a stage: what that stage said. Without: what was said last. Also one of `VERDICTS_TOGETHER`."""
    stage: str = ""
    reason: str = ""
    """Why a stage said so, as `reason_kind` has it."""
    answers: tuple[AnswerFilter, ...] = ()
    difficulty: Span | None = None
    gain: Span | None = None
    disagreement: Span | None = None
    doubt: Span | None = None
    """How far models speak against the item: log odds that it is flawed, by the measure ``wrong-golds``."""
    options: Span | None = None
    """How many options it has; 0 where the answer is free."""
    blind_right: str = ""
    """A model that answers without the picture."""
    benchmark: str = ""
    ids: tuple[str, ...] = ()
    sort: str = ""
    """A column; with ``-`` before it, from the largest to the smallest."""


_WORDS = {"text": "text", "gold": "gold", "verdict": "verdict", "stage": "stage", "sort": "sort"} | {
    "reason": "reason",
    "blind-right": "blind_right",
    "benchmark": "benchmark",
}
_SPANS = ("difficulty", "gain", "disagreement", "doubt", "options")
_LISTS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "finding": ("findings", str),
    "suggested": ("suggested", str),
    "untagged": ("untagged", str),
    "answer": ("answers", AnswerFilter.parse),
    "id": ("ids", str),
}
KEYS = (*_WORDS, *_SPANS, *_LISTS, _TAG + "NAME")
"""What may stand before a ``=``."""


def parse_query(text: str) -> Query:
    """The query that an address holds, with or without its ``?`` or ``#``; what is not known is refused."""
    return query_of(pairs_of(text))


def pairs_of(text: str) -> list[tuple[str, str]]:
    """The keys and values that an address holds, whoever may understand them."""
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
    """The query that keys and values make together."""
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
        elif (name := _WORDS.get(key, key)) in said:
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
    """The query as an address has it, always in the same order; empty where everything is wanted."""
    pairs = [(key, getattr(query, name)) for key, name in _WORDS.items() if key != "sort"]
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
