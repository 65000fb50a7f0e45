r"""What a row offers to choose from: options in columns of their own, in one cell, or inside the question.

It is decided row by row, since one file may hold items of each kind.

Options may bring marks along (``A. cat``, ``(B) dog``, ``3) 12 cm``). Whoever shows an item gives its options marks,
so a mark is no part of an option's text and is taken off; the file's own spelling is kept beside it. Options have
marks only where all of them do, one after the other and in one style: otherwise the letter may be what one says.

Options inside a question stand in one of three layouts that we write too, the first not always, since ``, B: `` may
be part of an option:

- ``What is it? ⏎ Options: A: a cat, B: a dog``
- ``What is it? ⏎ Choices: ⏎ (A) a cat ⏎ (B) a dog``
- ``What is it? ⏎ A. a cat ⏎ B. a dog`` (also ``(A)``, ``A)`` and ``A:``)

or in one of two that only others write: ``What is it? (A) a cat (B) a dog`` in one line, and ``Which fits? Select
from A-D``, where the options are in the picture and the question only says how they are called.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from string import ascii_uppercase
from typing import Any, NamedTuple

from eyetest.benchmarks.rows.gold_list import lettered
from eyetest.benchmarks.rows.layout import ItemLayout, find_gold, is_missing
from eyetest.errors import ItemError, short
from eyetest.records import MAX_CHOICES, letter
from eyetest.tabular.literals import looks_like_list, parse_list
from eyetest.tabular.table import Row

_MOST_OPTIONS = 1_000
"""There are letters for so many; `check` refuses items with fewer that are still too many."""
_BETWEEN_OPTIONS = ("\n", "|", ";")
_MARKS: tuple[tuple[str, Callable[[int], str]], ...] = (
    ("[A-Z]", letter),
    ("[a-z]", lambda position: letter(position).lower()),
    (r"\d{1,2}", lambda position: str(position + 1)),
)
_STYLES = (r"\(({})\)\s*", r"\[({})\]\s*", r"（({})）\s*", r"({})[)）]\s*", r"({})[、．：]\s*", r"({})\.\s+")
_LETTER_STYLES = (r"({}):\s+", r"({})\.(?=\S)")
"""A ratio (``1: 2``) and a decimal (``1.5``) begin like these, so numbers are no marks in them."""
_TIGHT = _LETTER_STYLES[1]
_FEWEST_TIGHT = 3
"""``A.M.`` and ``B.C.`` are no marked options; three in a row are."""
_GOES_ON = re.compile(r"(?:and|or|only|is|are|was|has|will|nor|but|then)\b|[&,;=→]|[<>+/-]\s", re.IGNORECASE)
"""``(A) and (B)`` and ``(A) is larger`` speak of something that is called A."""
_HEADER = re.compile(r"(?:^|\n)[ \t]*(?:Options|Choices)[ \t]*:[ \t]*", re.IGNORECASE)
_LINE_MARKS = ("({})", "{}.", "{})", "{}:")
_RUN_MARKS = (("({})", 2), ("{})", 2), ("{}.", 3), ("{}:", 3))
"""Marks in running text, and how many it takes: ``A. Smith and B. Jones`` are no options."""
_RANGE = re.compile(
    r"(?:\b(?:from|options?|choices?|answers?|figures?|select|choose)\s*\(?|\()A\s?(?:-|–|to|through)\s?([B-J])\b",
    re.IGNORECASE,
)
_LIST = re.compile(r"\bA(?:\s?,\s*(?:and |or )?[B-J]|\s+(?:and|or)\s+[B-J])+\b")


class Offered(NamedTuple):
    """What a row offers to choose from."""

    question: str
    """Without the options, where they stood in it."""
    names: tuple[str, ...] = ()
    """The letters under which the file knows the options; there may be gaps."""
    texts: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """What the file wrote before each text, and we left out: ``1`` for ``1) cat``."""
    cells: tuple[str, ...] = ()
    """The options with their marks, as the file writes them."""

    @property
    def is_numbered(self) -> bool:
        """Whether the file marks its options 1, 2, 3 …"""
        return bool(self.marks) and self.marks[0].isdecimal()


def text_of(row: Row, column: str) -> str:
    """A cell as text; empty where the file has no such column."""
    return as_text(row, column, row.values.get(column)) if column else ""


def as_text(row: Row, column: str, value: Any) -> str:
    """A value as text; an error names the row and the column."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ItemError(row.where, column, short(value), "UTF-8 text" if isinstance(value, bytes) else "text")
    return str(value)


def offer(layout: ItemLayout, row: Row) -> Offered:
    """The question and its options, which may stand in columns of their own or inside the question."""
    question = text_of(row, layout.question)
    if not layout.question and (letters := lettered(layout, row)):
        return Offered("", letters, letters, cells=letters)
    options = _option_columns(layout, row)
    if not options:
        return _offer_inside(layout, row, question)
    marked = without_marks(list(options.values()), list(options))
    return Offered(question, tuple(options), marked.texts, marked.marks, tuple(options.values()))


def _option_columns(layout: ItemLayout, row: Row) -> dict[str, str]:
    """The options by the letters under which the file itself knows them; there may be gaps."""
    if len(layout.options) > 1 or layout.options == ("A",):
        cells = ((letter(i), text_of(row, column)) for i, column in enumerate(layout.options))
        return {name: text for name, text in cells if text}
    return _option_cell(row, layout.options[0]) if layout.options else {}


def _offer_inside(layout: ItemLayout, row: Row, question: str) -> Offered:
    """Options inside the question, if the answer names one of them; an item of such a file must have them."""
    bare, texts = split_options(question) or (question, ())
    if layout.inline_options and not texts:
        expected = "options A, B … in the text"
        raise ItemError(row.where, layout.question, "no options that can be told apart", expected)
    if not layout.inline_options and not _names_one(layout, row, texts):
        bare, texts = question, named_letters(question)
        if not _names_one(layout, row, texts):
            return Offered(question)
    return Offered(bare, tuple(letter(i) for i in range(len(texts))), texts, cells=texts)


def _names_one(layout: ItemLayout, row: Row, texts: tuple[str, ...]) -> bool:
    """Whether the row's answer is one of the letters, or one of the texts, of these options."""
    said = [row.values.get(column) for column in (layout.answer_letter, layout.answer) if column]
    answer = next((value for value in said if not is_missing(value)), None)
    if not texts or answer is None:
        return False
    return find_gold(answer, texts, "letter") is not None or (
        isinstance(answer, str) and find_gold(answer, texts, "text") is not None
    )


def by_own_mark(answer: Any, offered: Offered) -> tuple[int, ...] | None:
    """The option that bears this mark: ``2``, ``(2)`` or ``2.`` for ``2) dog``. Letters are read as always."""
    if not offered.is_numbered or isinstance(answer, bool | list | tuple):
        return None
    said = str(answer).strip().strip("()[].: ")
    return (offered.marks.index(said),) if said in offered.marks else None


def without_mark(answer: Any, offered: Offered) -> Any:
    """An answer that repeats an option with its mark, as the option's text; any other as it is."""
    if not offered.marks:
        return answer
    if isinstance(answer, list | tuple):
        return [without_mark(part, offered) for part in answer]
    plain = {cell.strip(): text for cell, text in zip(offered.cells, offered.texts, strict=True)}
    return plain.get(answer.strip(), answer) if isinstance(answer, str) else answer


def _option_cell(row: Row, column: str) -> dict[str, str]:
    """Options that one cell holds: as a list, as text that holds one, or as an object by letter."""
    value = row.values.get(column)
    if isinstance(value, str):
        value = _listed_in(value)
    if isinstance(value, dict) and all(len(name) == 1 and name in ascii_uppercase for name in value):
        return {name: as_text(row, column, value[name]) for name in sorted(value) if value[name] is not None}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # one item of MMMU-Pro's release is wrapped twice
    if row.values.get(column) is None:
        return {}
    if not isinstance(value, list | tuple) or any(part is None for part in value):
        raise ItemError(row.where, column, short(row.values[column]), "a list of options")
    if len(value) > _MOST_OPTIONS:
        raise ItemError(row.where, column, f"{len(value):,} options", f"at most {MAX_CHOICES}")
    return {letter(position): as_text(row, column, part) for position, part in enumerate(value)}


def _listed_in(cell: str) -> list[str] | None:
    """The options in a text: a list literal, or what stands on lines of its own or between ``|`` or ``;``."""
    if not cell.strip() or looks_like_list(cell):
        return parse_list(cell) if cell.strip() else []
    separator = next((one for one in _BETWEEN_OPTIONS if one in cell), None)
    return [part.strip() for part in cell.split(separator) if part.strip()] if separator else None


def plain_answers(offers: Sequence[tuple[Any, Offered]]) -> list[tuple[Any, Sequence[str]]]:
    """Answers beside options, both without marks; the number of a numbered option as its letter, if all fit so."""
    numbered = [pair for pair in offers if pair[1].is_numbered and not is_missing(pair[0])]
    by_number = all(by_own_mark(answer, offered) for answer, offered in numbered)
    plain: list[tuple[Any, Sequence[str]]] = []
    for answer, offered in offers:
        gold = by_own_mark(answer, offered) if by_number else None
        plain.append((letter(gold[0]) if gold else without_mark(answer, offered), offered.texts))
    return plain


def options_are_inline(layout: ItemLayout, sample: Iterable[dict[str, Any]]) -> bool:
    """True where every sampled answer is letters and nearly every question shows lettered options."""
    rows = list(sample)
    answers = [answer for row in rows if not is_missing(answer := row.get(layout.answer))]
    if any(find_gold(answer, ascii_uppercase, "letter") is None for answer in answers):
        return False
    split = [isinstance(q := row.get(layout.question), str) and bool(split_options(q)) for row in rows]
    return sum(split) >= 0.9 * len(rows)


def sampled(layout: ItemLayout, row: dict[str, Any]) -> Offered:
    """What a row offers, as far as one can tell before the file's layout is known."""
    try:
        return offer(layout, Row(0, "", row))
    except ItemError:
        return Offered("")


class Marked(NamedTuple):
    """Options without their marks, and the marks."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]


def split_marks(options: Sequence[str], names: Sequence[str] = ()) -> Marked | None:
    """The options without the marks that all of them bring along; None where they bring none.

    ``names`` are the letters under which the file knows the options, where some are left out.
    """
    if len(options) < 2:
        return None
    for kind, mark in _MARKS:
        expected = [tuple(mark(position) for position in range(len(options)))]
        if kind == "[A-Z]" and names:
            expected.append(tuple(names))
        for style in _styles(kind, len(options)):
            matches = _matched(options, kind, style)
            marks = tuple(match[1] for match in matches)
            rests = tuple(match.string[match.end() :] for match in matches)
            if marks in expected and _say_something(rests):
                return Marked(marks, rests)
    return None


def bring_marks(options: Sequence[str]) -> bool:
    """Whether all options bring marks in one style, each its own and perhaps in another order than they stand."""
    if len(options) < 2:
        return False
    for kind, mark in _MARKS:
        expected = sorted(mark(position) for position in range(len(options)))
        for style in _styles(kind, len(options)):
            matches = _matched(options, kind, style)
            if sorted(match[1] for match in matches) == expected:
                return _say_something([match.string[match.end() :] for match in matches])
    return False


@cache
def _styles(kind: str, options: int) -> Sequence[str]:
    letters = [] if kind.startswith(r"\d") else list(_LETTER_STYLES)
    return [style for style in (*_STYLES, *letters) if style != _TIGHT or options >= _FEWEST_TIGHT]


def _matched(options: Sequence[str], kind: str, style: str) -> list[re.Match[str]]:
    """The marks of all options; nothing as soon as one option has none, as nearly all have not."""
    pattern = _pattern(kind, style)
    matches = []
    for option in options:
        if (match := pattern.match(option)) is None:
            return []
        matches.append(match)
    return matches


@cache
def _pattern(kind: str, style: str) -> re.Pattern[str]:
    return re.compile(r"\s*" + style.format(kind))


def _say_something(rests: Sequence[str]) -> bool:
    """Whether texts without their marks are still options: none is empty, equal to another or half a sentence."""
    stripped = [rest.strip() for rest in rests]
    return all(stripped) and len(set(stripped)) == len(stripped) and not any(map(_GOES_ON.match, stripped))


def without_marks(options: Sequence[str], names: Sequence[str] = ()) -> Marked:
    """The options as texts alone, and their outermost marks, if they have any."""
    outer: tuple[str, ...] = ()
    texts = tuple(options)
    while (marked := split_marks(texts, names)) is not None:
        outer, texts = outer or marked.marks, marked.texts
    return Marked(outer, texts)


def split_options(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The question alone and its options, or None where there are none or they cannot be told apart."""
    return _after_header(text) or _on_lines(text) or _in_running_text(text)


def named_letters(text: str) -> tuple[str, ...]:
    """The letters that a question offers without saying what they stand for; its picture does."""
    if match := _RANGE.search(text):
        return tuple(ascii_uppercase[: ascii_uppercase.index(match[1].upper()) + 1])
    for match in _LIST.finditer(text):
        letters = tuple(re.findall(r"\b[A-J]\b", match[0]))
        if letters == tuple(ascii_uppercase[: len(letters)]):
            return letters
    return ()


def join_options(question: str, options: tuple[str, ...]) -> str | None:
    """The question with its options inside, in the first layout that reads back the same; None if none does."""
    run = ", ".join(f"{letter(i)}: {option}" for i, option in enumerate(options))
    lines = "\n".join(f"({letter(i)}) {option}" for i, option in enumerate(options))
    dotted = "\n".join(f"{letter(i)}. {option}" for i, option in enumerate(options))
    for body in (f"\nOptions: {run}", f"\nChoices:\n{lines}", f"\n{dotted}"):
        if split_options(question + body) == (question, options):
            return question + body
    return None


def _after_header(text: str) -> tuple[str, tuple[str, ...]] | None:
    header = None
    for header in _HEADER.finditer(text):  # noqa: B007 (the last one counts)
        pass
    if header is None:
        return None
    question, body = text[: header.start()], text[header.end() :]
    if not body.startswith("A: "):
        return None
    options, start = [], len("A: ")
    for position in range(1, MAX_CHOICES + 1):
        separator = f", {letter(position)}: " if position < MAX_CHOICES else ""
        end = body.find(separator, start) if separator else -1
        if end < 0:
            break
        if body.find(separator, end + 1) >= 0:
            return None
        options.append(body[start:end])
        start = end + len(separator)
    return (question, (*options, body[start:])) if options else None


def _on_lines(text: str) -> tuple[str, tuple[str, ...]] | None:
    for mark in _LINE_MARKS:
        start = _line_start(text, mark.format("A"), 0, last=True)
        if start is None:
            continue
        starts = [start]
        while len(starts) < MAX_CHOICES:
            following = _line_start(text, mark.format(letter(len(starts))), starts[-1] + 1)
            if following is None:
                break
            starts.append(following)
        if len(starts) < 2:
            continue
        ends = [s - 1 for s in starts[1:]] + [len(text)]
        width = len(mark.format("A")) + 1
        options = tuple(text[s + width : e] for s, e in zip(starts, ends, strict=True))
        return _without_header(text[: max(starts[0] - 1, 0)]), options
    return None


def _in_running_text(text: str) -> tuple[str, tuple[str, ...]] | None:
    """``What is it? (A) a cat (B) a dog``: marks one after the other, the last such run of the text."""
    for mark, fewest in _RUN_MARKS:
        starts = _run_starts(text, mark)
        if len(starts) < fewest:
            continue
        width = len(mark.format("A"))
        ends = [*starts[1:], len(text)]
        bodies = [text[s + width : e].strip() for s, e in zip(starts, ends, strict=True)]
        bodies = [body.rstrip(",;").rstrip() for body in bodies[:-1]] + bodies[-1:]
        if all(bodies):
            return text[: starts[0]].rstrip(), tuple(bodies)
        if not any(bodies):
            return text[: starts[0]].rstrip(), tuple(letter(position) for position in range(len(bodies)))
    return None


def _run_starts(text: str, mark: str) -> list[int]:
    """Where the marks A, B, C … of the last run stand; a mark does not continue a word."""
    before = r"(?<![\w(])"
    first = list(re.finditer(before + re.escape(mark.format("A")), text))
    if not first:
        return []
    starts = [first[-1].start()]
    while len(starts) < MAX_CHOICES:
        pattern = re.compile(before + re.escape(mark.format(letter(len(starts)))))
        if (match := pattern.search(text, starts[-1] + 1)) is None:
            break
        starts.append(match.start())
    return starts


def _line_start(text: str, mark: str, after: int, *, last: bool = False) -> int | None:
    """Where a line starts with ``mark`` and a space."""
    newline = (text.rfind if last else text.find)(f"\n{mark} ", max(after - 1, 0))
    return None if newline < 0 else newline + 1


def _without_header(question: str) -> str:
    before, _, last = question.rpartition("\n")
    return before if last.replace(" ", "").lower() in ("options:", "choices:") else question
