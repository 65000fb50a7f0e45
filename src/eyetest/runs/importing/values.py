"""Values of any type in somebody's table, as the values of an answer.

An order is what was shown, out of whatever a table says about it. A number alone says nothing: it may be a pass, a
row or somebody's seed. Taken for a seed of ours it would make every letter mean another option than the model meant.

A notice that a call failed has to be the whole reply: a model that quotes one, in a picture of a terminal for
instance, said something.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin

import msgspec

from eyetest.errors import InputError, param, short
from eyetest.records import Answer, columns, order_shown, read_order
from eyetest.records.order import read_positions
from eyetest.tabular.excel import was_cut

FIELDS = columns(Answer)
WORDS = {
    field.name: get_args(field.type)
    for field in msgspec.structs.fields(Answer)
    if get_origin(field.type) is not None and all(isinstance(value, str) for value in get_args(field.type))
}
"""The fields that take one of a few words, and the words."""
_VERDICTS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}
_VERDICTS |= {"true": 1.0, "yes": 1.0, "right": 1.0, "correct": 1.0}
_VERDICTS |= {"false": 0.0, "no": 0.0, "wrong": 0.0, "incorrect": 0.0}
_ABSENT = ("", "none", "null", "nan", "na")
_LARGEST = 2**63 - 1
FAILURE_NOTICES = {
    "VLMEvalKit": re.compile(
        r"Failed to obtain answer via API\.?\s{0,3}"
        r"(?::? ?Failed with all possible conversation turns\.?|Input string longer than context window\.?)?"
    ),
    "lmms-eval": re.compile(
        r"\[REQUEST_FAILED after \d{1,4} retries\]|"
        r"\[LMMS_EVAL_REQUEST_FAILED after \d{1,4} retries\](?: [^\n]{0,200})?"  # with the beginning of the error
    ),
}
"""Whose notice it is, and what it looks like from end to end."""
_LONGEST_NOTICE = 300


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
    return said(value)


def said(value: Any) -> str:
    """A value as the words it stands for."""
    if isinstance(value, bytes | list | tuple | dict):
        raise InputError(f"found {short(value)}, expected text")
    return value if isinstance(value, str) else str(value)


def score(value: Any) -> float | None:
    """A verdict from 0 to 1, also in words; None where there is none."""
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


def convert(values: Mapping[str, Any], *, sheet: bool = False, excel: bool = False) -> Answer:
    """An answer out of values of any type, or an error that says which of them is not one of ours.

    An empty cell means the field's default. In a ``sheet`` nothing said and nothing known look alike: beside a
    verdict or a failure it is nothing known; otherwise the model said nothing. A text in ``excel`` may be cut off.
    """
    return assemble(typed(values), sheet=sheet, excel=excel)


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Each value as its field has it; an empty text stays, and any other empty cell is left out."""
    return {
        field: _CONVERTERS[field](value)
        for field, value in values.items()
        if not is_absent(value) or (field == "text" and value == "")
    }


def assemble(values: dict[str, Any], *, sheet: bool, excel: bool) -> Answer:
    """An answer out of values that are typed already."""
    if not values.get("item", "").strip() or not values.get("model", "").strip():
        raise InputError("neither item nor model may be empty")
    text, given = values.get("text"), values.get("given")
    if text == "" and sheet and (given is not None or values.get("outcome") == "failed"):
        values["text"] = text = None
    if "outcome" not in values:
        values |= _outcome(text, given, excel=excel)
    return Answer(**values)


def _outcome(text: str | None, given: float | None, *, excel: bool) -> dict[str, Any]:
    """What became of a call, where the table does not say.

    A failure must not be counted as a wrong answer, whatever somebody's scorer made of it.
    """
    if text is None:
        return {} if given is not None else {"outcome": "failed"}
    if is_failure_notice(text):
        return {"outcome": "failed", "text": None, "given": None}
    return {"outcome": "truncated"} if excel and was_cut(text) else {}


def is_failure_notice(text: str) -> bool:
    """Whether a reply is nothing but the notice that there is none."""
    if len(text) > 2 * _LONGEST_NOTICE:
        return False
    said = text.strip()
    return len(said) <= _LONGEST_NOTICE and any(notice.fullmatch(said) for notice in FAILURE_NOTICES.values())


def _named(field: str, make: Callable[[Any], str]) -> Callable[[Any], str]:
    def name(value: Any) -> str:
        if isinstance(value, str):
            return value
        try:
            return make(value)
        except InputError as error:
            raise InputError(f"{field}: {error}") from None

    return name


def _whole(field: str) -> Callable[[Any], int]:
    name = _named(field, plain)

    def whole(value: Any) -> int:
        try:
            number = int(name(value))
        except ValueError:
            number = -1
        if not 0 <= number <= _LARGEST:
            raise InputError(
                f"{field}: found {short(value)}, expected a whole number from 0; "
                f"if the column means something else, say {param('constants', f'{field}=0')}"
            )
        return number

    return whole


_seed = _whole("order")


def own_order(value: Any) -> int:
    """An order in a table of our own, where a number is a seed."""
    is_number = isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdigit())
    return _seed(value) if is_number else read_shown(value, None)


def _word(field: str) -> Callable[[Any], str]:
    name = _named(field, plain)

    def word(value: Any) -> str:
        text = name(value)
        if text not in WORDS[field]:
            raise InputError(
                f"{field}: found {short(text)}, expected one of {', '.join(WORDS[field])}; "
                f"rename it with {param('values', f'{field}={text[:40]}>{WORDS[field][0]}')}, or say "
                f"{param('constants', f'{field}={WORDS[field][0]}')} if the column means something else"
            )
        return text

    return word


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **{field: _whole(field) for field in ("template", "trial")},
    "order": own_order,
    **{field: _word(field) for field in WORDS},
    **{field: _named(field, plain) for field in ("item", "model")},
    "text": _named("text", said),
    "given": score,
}


def read_shown(value: Any, options: Sequence[str] | None) -> int:
    """The order that a cell says: in words, as a permutation, or as the options' own texts as they were shown.

    ``options`` are the item's texts as written, where the benchmark is known.
    """
    parts = _parts(value)
    words = _words(value) if parts is None else ",".join(map(_words, parts))
    try:
        order = read_order(words)
    except ValueError:
        order = None
    by_text = _by_text([str(part) for part in parts], options) if parts and options else None
    if order is not None and by_text is not None and order != by_text:
        raise InputError(f"order: {short(value)} may be marks or the options' own texts; write it as 1,0 …")
    order = by_text if order is None else order
    if order is None:
        raise InputError(_not_understood(value, parts, options))
    if options and by_text is None:
        _refuse_other_number(words, options)
    return order


def _refuse_other_number(words: str, options: Sequence[str]) -> None:
    try:
        listed = read_positions(words)
    except ValueError:
        return
    if len(listed) != len(options):
        raise InputError(f"order: {short(words, 30)} names {len(listed)} options, and the item has {len(options)}")


def _parts(value: Any) -> list[Any] | None:
    """The members of a list, also of one that is written as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return list(value) if isinstance(value, list | tuple) else None


def _words(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def _by_text(shown: Sequence[str], options: Sequence[str]) -> int | None:
    """The order that puts the options' texts so; None where these are other texts, or two of them are alike."""
    written = [_folded(text) for text in options]
    seen = [_folded(text) for text in shown]
    if seen == written:
        return 0
    if len(set(written)) < len(written) or sorted(seen) != sorted(written):
        return None
    try:
        return order_shown([written.index(text) for text in seen])
    except ValueError:
        return None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _not_understood(value: Any, parts: list[Any] | None, options: Sequence[str] | None) -> str:
    problem = f"order: found {short(value)}, which does not say what was shown"
    if parts and options is None:
        return f"{problem}; where it lists the options' texts, name the benchmark with {param('bench')}"
    if parts:
        return f"{problem}: these are not the {len(options or ())} options of the item"
    word = " ".join(_words(value).split())[:20]
    return (
        f"{problem}; expected original, reversed, or the options as shown (BADC or 1,0,3,2). "
        f"Say {param('values', f'order={word}>reversed')}, or '>seed 1' where eyetest drew it, or "
        f"{param('constants', 'order=original')} if the column means something else"
    )
