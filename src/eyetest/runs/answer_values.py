"""Values of any type in a foreign table, as the values of an answer."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, get_args, get_origin

import msgspec

from eyetest.errors import InputError, param, short
from eyetest.records import Answer, columns, order_shown, read_order
from eyetest.records.notices import failure_notice
from eyetest.records.tables import read_positions
from eyetest.tabular.files import was_cut
from eyetest.tabular.table import Values, restored

FIELDS = columns(Answer)
WORDS = {
    field.name: get_args(field.type)
    for field in msgspec.structs.fields(Answer)
    if get_origin(field.type) is not None and all(isinstance(value, str) for value in get_args(field.type))
}
"""The fields with a fixed set of words, and the words."""
_VERDICTS = dict.fromkeys(("1", "1.0", "true", "yes", "right", "correct"), 1.0)
_VERDICTS |= dict.fromkeys(("0", "0.0", "false", "no", "wrong", "incorrect"), 0.0)
_ABSENT = ("", "none", "null", "nan", "na")
_LARGEST = 2**63 - 1


def without_guards(row: Values) -> Values:
    """A row of a sheet as it was before `inert`, if it has all columns of an answer, as those of eyetest do."""
    if not row.keys() >= {*FIELDS}:
        return row
    return {name: restored(value) if isinstance(value, str) else value for name, value in row.items()}


def is_absent(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or value == "" or value != value  # noqa: PLR0124 (NaN is what differs from itself)


def plain(value: Any) -> str:
    """A value that names something: 7, 7.0 and "7" are one name."""
    if isinstance(value, str):
        return value
    if is_absent(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return as_text(value)


def as_text(value: Any) -> str:
    """A value as text."""
    if isinstance(value, bytes | list | tuple | dict):
        raise InputError(f"found {short(value)}, expected text")
    return value if isinstance(value, str) else str(value)


def score(value: Any) -> float | None:
    """A verdict from 0 to 1, also as a word; None where there is none."""
    if type(value) is float and 0 <= value <= 1:
        return value
    word = plain(value).strip().lower()
    if word in _ABSENT:
        return None
    number = _VERDICTS.get(word)
    if number is None:
        try:
            number = float(word)
        except ValueError:
            number = -1.0
    if not 0 <= number <= 1:
        raise InputError(f"given: found {short(value)}, expected a score from 0 to 1")
    return number


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Each value in its field's type; an empty text stays, any other empty cell is left out."""
    return {
        field: _CONVERTERS[field](value)
        for field, value in values.items()
        if not is_absent(value) or (field == "text" and value == "")
    }


def assemble(values: dict[str, Any], *, sheet: bool, excel: bool) -> Answer:
    """An answer from typed values; in a ``sheet`` an empty text may be an unknown one, in ``excel`` a cut one."""
    if not values.get("item", "").strip() or not values.get("model", "").strip():
        raise InputError("neither item nor model may be empty")
    text, given = values.get("text"), values.get("given")
    if text == "" and sheet and (given is not None or values.get("outcome") == "failed"):
        values["text"] = text = None
    if "outcome" not in values:  # a failure must not be counted as a wrong answer
        if text is not None and failure_notice(text):
            values |= {"outcome": "failed", "text": None, "given": None}
        elif text is None and given is None:
            values["outcome"] = "failed"
        elif text is not None and excel and was_cut(text):
            values["outcome"] = "truncated"
    return Answer(**values)


def _named(field: str, make: Callable[[Any], str], value: Any) -> str:
    try:
        return make(value)
    except InputError as error:
        raise InputError(f"{field}: {error}") from None


def _whole(field: str, value: Any) -> int:
    try:
        number = int(_named(field, plain, value))
    except ValueError:
        number = -1
    if not 0 <= number <= _LARGEST:
        raise InputError(
            f"{field}: found {short(value)}, expected a whole number from 0; "
            f"if the column means something else, say {param('constants', f'{field}=0')}"
        )
    return number


def own_order(value: Any) -> int:
    """An order in a table of our own, where a number is a seed."""
    is_number = isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdigit())
    return _whole("order", value) if is_number else read_shown(value, None)


def _word(field: str, value: Any) -> str:
    text = value if isinstance(value, str) else _named(field, plain, value)
    if text not in WORDS[field]:
        raise InputError(
            f"{field}: found {short(text)}, expected one of {', '.join(WORDS[field])}; "
            f"rename it with {param('values', f'{field}={text[:40]}>{WORDS[field][0]}')}, or say "
            f"{param('constants', f'{field}={WORDS[field][0]}')} if the column means something else"
        )
    return text


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **{field: partial(_whole, field) for field in ("template", "sample")},
    "order": own_order,
    **{field: partial(_word, field) for field in WORDS},
    **{field: partial(_named, field, plain) for field in ("item", "model", "prompts")},
    "text": partial(_named, "text", as_text),
    "given": score,
}


def read_shown(value: Any, options: Sequence[str] | None, *, are_texts: bool = False) -> int:
    """The order in a cell: as text, as a permutation, or as the shown texts of the item's ``options``.

    ``are_texts``: a list holds nothing but texts of options, also where they look like letters or numbers.
    """
    parts = _parts(value)
    words = _words(value) if parts is None else ",".join(map(_words, parts))
    try:
        order = read_order(words)
    except ValueError:
        order = None
    by_text = None
    if parts and options:
        shown = [*map(str, parts)]
        by_text = _by_text(shown, options)
        if by_text is None:
            by_text = _by_text(without_marks(shown), options)
    if are_texts and by_text is not None:
        return by_text
    if order is not None and by_text is not None and order != by_text:
        raise InputError(f"order: {short(value)} may be letters or the options' own texts; write it as 1,0 …")
    order = by_text if order is None else order
    if order is None:
        expected = "original, reversed, seed 7, or the options as shown (BADC or 1,0,3,2; their texts)"
        raise InputError(f"order: found {short(value)}, expected {expected}; map it with {param('values')}")
    if options and by_text is None:
        with suppress(ValueError):
            if (number := len(read_positions(words))) != len(options):
                raise InputError(f"order: {short(words, 30)} names {number} options, and the item has {len(options)}")
    return order


_MARK = re.compile(r"\s*\(?([A-Za-z])[).:]\s*(?=\S)")


def without_marks(options: Sequence[str]) -> tuple[str, ...]:
    """Options without the letters of their places, where all of them have one: ``A. cat``, ``B. dog``."""
    matches = [_MARK.match(option) for option in options]
    bare: list[str] = []
    for place, match in enumerate(matches):
        if match is None or ord(match[1].upper()) != ord("A") + place:
            return tuple(options)
        bare.append(match.string[match.end() :])
    return tuple(bare)


def _parts(value: Any) -> list[Any] | None:
    """The members of a list, also of one written as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return list(value) if isinstance(value, list | tuple) else None


def _words(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _by_text(shown: Sequence[str], options: Sequence[str]) -> int | None:
    """The order of the options' texts; None where these are other texts, or two of them are equal."""
    written, seen = ([" ".join(text.split()).casefold() for text in texts] for texts in (options, shown))
    if seen == written:
        return 0
    if len(set(written)) < len(written) or sorted(seen) != sorted(written):
        return None
    try:
        return order_shown([written.index(text) for text in seen])
    except ValueError:
        return None
