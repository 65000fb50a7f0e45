"""What a row offers to choose from: options in columns of their own, in one cell, or inside the question.

It is decided row by row, since one file may hold items of each kind.
"""

from collections.abc import Iterable, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

from eyetest.benchmarks.rows.cells import Row, as_text, text_of
from eyetest.benchmarks.rows.gold import find_gold, is_missing
from eyetest.benchmarks.rows.inline import named_letters, split_options
from eyetest.benchmarks.rows.layout import Layout
from eyetest.benchmarks.rows.marks import without_marks
from eyetest.errors import ItemError, short
from eyetest.records import MAX_CHOICES, letter
from eyetest.tabular.literals import parse_list

_MOST_OPTIONS = 1_000
"""There are letters for so many; `check` refuses items with fewer that are still too many."""


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


def offer(layout: Layout, row: Row) -> Offered:
    """The question and its options, which may stand in columns of their own or inside the question."""
    question = text_of(row, layout.question)
    options = _option_columns(layout, row)
    if not options:
        return _offer_inside(layout, row, question)
    marked = without_marks(list(options.values()), list(options))
    return Offered(question, tuple(options), marked.texts, marked.marks, tuple(options.values()))


def _option_columns(layout: Layout, row: Row) -> dict[str, str]:
    """The options by the letters under which the file itself knows them; there may be gaps."""
    if len(layout.options) > 1 or layout.options == ("A",):
        cells = ((letter(i), text_of(row, column)) for i, column in enumerate(layout.options))
        return {name: text for name, text in cells if text}
    return _option_cell(row, layout.options[0]) if layout.options else {}


def _offer_inside(layout: Layout, row: Row, question: str) -> Offered:
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


def _names_one(layout: Layout, row: Row, texts: tuple[str, ...]) -> bool:
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
        value = parse_list(value) if value.strip() else []
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
    return _lettered(as_text(row, column, part) for part in value)


def _lettered(texts: Iterable[str]) -> dict[str, str]:
    return {letter(position): text for position, text in enumerate(texts)}


def plain_answers(offers: Sequence[tuple[Any, Offered]]) -> list[tuple[Any, Sequence[str]]]:
    """Answers beside options, both without marks; the number of a numbered option as its letter, if all fit so."""
    numbered = [pair for pair in offers if pair[1].is_numbered and not is_missing(pair[0])]
    by_number = all(by_own_mark(answer, offered) for answer, offered in numbered)
    plain: list[tuple[Any, Sequence[str]]] = []
    for answer, offered in offers:
        gold = by_own_mark(answer, offered) if by_number else None
        plain.append((letter(gold[0]) if gold else without_mark(answer, offered), offered.texts))
    return plain


def options_are_inline(layout: Layout, sample: Iterable[dict[str, Any]]) -> bool:
    """True where every sampled answer is letters and nearly every question shows lettered options."""
    rows = list(sample)
    answers = [answer for row in rows if not is_missing(answer := row.get(layout.answer))]
    if any(find_gold(answer, ascii_uppercase, "letter") is None for answer in answers):
        return False
    split = [isinstance(q := row.get(layout.question), str) and bool(split_options(q)) for row in rows]
    return sum(split) >= 0.9 * len(rows)


def sampled(layout: Layout, row: dict[str, Any]) -> Offered:
    """What a row offers, as far as one can tell before the file's layout is known."""
    try:
        return offer(layout, Row(0, "", row))
    except ItemError:
        return Offered("")
