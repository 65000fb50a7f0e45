"""A file that only says which answer is right: enough to measure answers, where the questions are not at hand.

Of options nothing is known but their letters, so the letters are the options. How many there are stands in a column,
or else the highest gold of the file tells, and whoever reads is told so: luck depends on it.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from eyetest.benchmarks.rows.layout import ItemLayout, find_gold, is_missing, is_picture_column
from eyetest.errors import ItemError, ReadingWarning, param, short
from eyetest.records import MAX_CHOICES
from eyetest.tabular.table import Row

_FEWEST = 2
_ASKED = re.compile(r".*[?？]\s*", re.DOTALL)
_OFTEN = 0.5
"""Where so large a share of the rows ends with a question mark in some column, the questions are called otherwise."""


def is_gold_list(layout: ItemLayout, sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a file without a column of questions holds golds and nothing to ask: no pictures, nothing that asks."""
    pictures = (*layout.images, *filter(is_picture_column, layout.tag_columns))
    if any(row.get(name) not in (None, "", []) for row in sample for name in pictures):
        return False
    return not any(_asks(name, sample) for name in layout.tag_columns)


def _asks(column: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    said = [row.get(column) for row in sample]
    asked = sum(isinstance(value, str) and _ASKED.fullmatch(value) is not None for value in said)
    return asked > _OFTEN * len(sample)


def count_letters(layout: ItemLayout, rows: Iterable[Row], name: str) -> int:
    """How many options items have of which no row says it: as many letters as golds name. 0 if none names any."""
    highest, unsaid = 0, 0
    for row in rows:
        gold = letters_of(layout, row.values)
        if gold and (not layout.options or row.values.get(layout.options[0]) in (None, "")):
            highest, unsaid = max(highest, gold[-1] + 1), unsaid + 1
    if not unsaid:
        return 0
    letters = max(highest, _FEWEST)
    taken = f"{letters} (A to {ascii_uppercase[letters - 1]}), the highest gold"
    warnings.warn(
        f"{name} does not say how many options there are: taken to be {taken}; "
        f"a column with their number is named with {param('fields', 'options=COLUMN')}",
        ReadingWarning,
        stacklevel=2,
    )
    return letters


def letters_of(layout: ItemLayout, values: Mapping[str, Any]) -> tuple[int, ...]:
    """Where the options stand that a row's gold names by letter, or as the user says that it does; none otherwise."""
    said = [values.get(column) for column in (layout.answer_letter, layout.answer) if column]
    answer = next((value for value in said if not is_missing(value)), None)
    return (find_gold(answer, ascii_uppercase, layout.gold_style) or ()) if answer is not None else ()


def lettered(layout: ItemLayout, row: Row) -> tuple[str, ...]:
    """The options of a row that says their number or their letters (``4``, ``ABCD``), or whose gold is a letter."""
    said = row.values.get(layout.options[0]) if layout.options else None
    if said in (None, ""):
        gold = letters_of(layout, row.values)
        return tuple(ascii_uppercase[: max(layout.letters, gold[-1] + 1)]) if gold else ()
    text = re.sub(r"[\s,;|]", "", str(said))
    if text and ascii_uppercase.startswith(text):
        return tuple(text)
    if not text.isdecimal():
        return ()
    if not _FEWEST <= int(text) <= MAX_CHOICES:
        expected = f"a number of options from {_FEWEST} to {MAX_CHOICES}"
        raise ItemError(row.where, layout.options[0], short(said), expected)
    return tuple(ascii_uppercase[: int(text)])
