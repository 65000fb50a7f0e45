"""Queries for items, as values and as text in addresses; counts that link to the items they stand for."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, isnan, nextafter
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
from markupsafe import Markup

from eyetest.errors import InputError, heading, nearest, short, typed

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
    gold: str = ""
    findings: tuple[str, ...] = ()
    verdict: str = ""
    """With a stage: its verdict. Without: the last verdict. Also one of `VERDICTS_TOGETHER`."""
    stage: str = ""
    answers: tuple[AnswerFilter, ...] = ()
    difficulty: Span | None = None
    doubt: Span | None = None
    """Evidence of models' votes against the gold: the log likelihood ratio of the measure ``wrong-golds``."""
    options: Span | None = None
    """Number of options; 0 for an open answer."""
    benchmark: str = ""
    ids: tuple[str, ...] = ()
    sort: str = ""
    """A column; with ``-`` before it, descending."""


_WORDS = ("text", "gold", "verdict", "stage", "sort", "benchmark")
SPANS = ("difficulty", "doubt", "options")
_LISTS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "finding": ("findings", str),
    "answer": ("answers", AnswerFilter.parse),
    "id": ("ids", str),
}
KEYS = (*_WORDS, *SPANS, *_LISTS, _TAG + "NAME")


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
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if not value:
            continue
        if key.startswith(_TAG) and len(key) > len(_TAG):
            fields["tags"] = (*fields.get("tags", ()), (key.removeprefix(_TAG), value))
        elif key in _LISTS:
            name, read = _LISTS[key]
            fields[name] = (*fields.get(name, ()), read(value))
        elif key not in _WORDS and key not in SPANS:
            raise InputError(f"no filter {short(key)}; {nearest(key, KEYS)}")
        elif key in fields:
            raise InputError(f"{key}: given twice, {short(value)} the second time")
        else:
            fields[key] = read_span(key, value) if key in SPANS else value
    return Query(**fields)


def read_span(key: str, text: str) -> Span:
    """``LEAST..MOST``, both included; ``LEAST<..`` and ``..<MOST`` leave the end itself out."""
    low, between, high = (part.strip() for part in text.partition(_BETWEEN))
    try:
        least, most = float(low.removesuffix("<") or -inf), float((high if between else low).removeprefix("<") or inf)
    except ValueError:
        raise InputError(f"{key}: found {short(text)}, expected LEAST{_BETWEEN}MOST") from None
    least = nextafter(least, inf) if low.endswith("<") else least
    most = nextafter(most, -inf) if high.startswith("<") else most
    if isnan(least) or isnan(most) or least > most:
        raise InputError(f"{key}: found {short(text)}, expected LEAST{_BETWEEN}MOST, the smaller first")
    return least, most


def write_query(query: Query) -> str:
    """The query as part of an address, in a fixed order; empty for all items."""
    pairs = [(key, getattr(query, key)) for key in _WORDS if key != "sort"]
    pairs += [(_TAG + name, value) for name, value in query.tags]
    pairs += [(key, str(value)) for key, (name, _) in _LISTS.items() for value in getattr(query, name)]
    pairs += [(key, _written(span)) for key in SPANS if (span := getattr(query, key)) is not None]
    pairs.append(("sort", query.sort))
    return urlencode([(key, value) for key, value in pairs if value], safe=":@", errors="surrogatepass")


def _written(span: Span) -> str:
    low, high = span
    if low == high:
        return repr(low)
    least, most = round(low, 9), round(high, 9)  # an end that is left out is the next number after a short one
    before = "" if low == -inf else f"{least!r}<" if low == nextafter(least, inf) else repr(low)
    return f"{before}{_BETWEEN}{'' if high == inf else f'<{most!r}' if high == nextafter(most, -inf) else repr(high)}"


HOST, PORT = "127.0.0.1", 8765  # where ``eyetest open`` is served by default
INDEX = "index.html"
_MOST_IDS, _LONGEST = 2_000, 60_000  # ids in a link, and its length; servers refuse longer addresses


class ItemCount(NamedTuple):
    """A number of items and the address that shows them, if there is one."""

    items: int
    href: str = ""

    def __html__(self) -> str:
        if not self.href:
            return f"{self.items:,}"
        link = Markup('<a class="items" href="{}" data-items="{}">{:,}</a>')
        return link.format(self.href, self.items, self.items)

    def counted(self, noun: str) -> Markup:
        """The number with its noun."""
        return Markup("{} {}").format(self, noun if self.items == 1 else f"{noun}s")


class ItemsAt(msgspec.Struct, frozen=True):
    """The address that shows the items behind a page's numbers, and the command that serves it."""

    before: str = ""  # the part before a query; empty where items are not shown
    command: str = ""  # the command that serves the items or writes their bundle; empty if unknown

    @property
    def is_bundle(self) -> bool:
        """Whether the items are shown from files."""
        return self.before.endswith("#")

    def count(self, number: int, query: Query) -> ItemCount:
        """A number that links to as many items."""
        return ItemCount(number, self.before + write_query(query) if self.before and number else "")

    def named(self, ids: Iterable[str]) -> ItemCount:
        """The number of these items; the link names each of them."""
        names = tuple(dict.fromkeys(ids))
        count = self.count(len(names), Query(ids=names)) if len(names) <= _MOST_IDS else ItemCount(len(names))
        return count if len(count.href) <= _LONGEST else ItemCount(len(names))


NOWHERE = ItemsAt()


def read_address(text: str | None) -> tuple[str, int | None]:
    """Host and port of ``HOST:PORT`` or ``HOST``; the port is None where none is named."""
    if text is None:
        return HOST, None
    try:
        parts = urlsplit(f"//{text.strip()}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or host.isdecimal() or parts.netloc != text.strip() or parts.username is not None:
        raise InputError(f"{heading('address')}: found {short(text)}, expected HOST:PORT, such as {HOST}:{PORT}")
    return host, port


def read_web_address(text: str, option: str, expected: str) -> str:
    """An http(s) address without a query, a user or a trailing slash."""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not re.fullmatch(r"[!-~]+", text) or set(text) & set("?#") or parts.username is not None:
        raise InputError(f"{heading(option)}: found {short(text)}, expected {expected}")
    return text.rstrip("/")


def items_at(links: str | None, page: Path, paths: Sequence[Path]) -> ItemsAt:
    """Target of links: an address, a bundle's folder, or what ``eyetest open`` serves of these paths."""
    if links is None:
        return ItemsAt(f"http://{HOST}:{PORT}/?", typed("eyetest", "open", *paths))
    if re.match("https?://", links):
        return ItemsAt(f"{read_web_address(links, 'links', 'http://HOST:PORT/, or the folder of a bundle')}/?")
    try:
        folder = Path(os.path.relpath(links, page.parent)).as_posix()
    except ValueError:  # another drive
        folder = Path(links).resolve().as_posix()
    return ItemsAt(f"{quote(folder)}/{INDEX}#", typed("eyetest", "open", *paths, "--bundle", Path(links)))
