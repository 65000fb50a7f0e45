"""Which options an answer points at: by letter, by its text, by index from 0 or by number from 1.

Files differ, and a wrong guess would silently spoil every gold. So the style is taken from the first rows of a
file only when one reading fits them better than all others; otherwise the user is asked.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from eyetest.errors import InputError, param

AnswerStyle = Literal["letter", "text", "index", "number"]
ANSWER_STYLES: tuple[AnswerStyle, ...] = get_args(AnswerStyle)
_LETTERS = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_SEVERAL = re.compile(r"[A-Z](?:\s*(?:[,;]\s*)?[A-Z])+")
_HIDDEN = ("", "?")

Options = Sequence[str]


def is_missing(answer: Any) -> bool:
    """Whether a choice item's answer says that there is none, as held-back test sets do."""
    return answer is None or (isinstance(answer, str) and answer.strip() in _HIDDEN) or answer == []


def find_gold(answer: Any, options: Options, style: AnswerStyle) -> tuple[int, ...] | None:
    """Positions of the right options, or None where the answer points at none of them."""
    if isinstance(answer, list | tuple):
        found = [find_gold(part, options, style) for part in answer]
        return None if None in found else tuple(sorted({i for part in found if part for i in part}))
    return _STYLES[style](answer, options)


def _by_letter(answer: Any, options: Options) -> tuple[int, ...] | None:
    if not isinstance(answer, str):
        return None
    text = answer.strip()
    match = _LETTERS.fullmatch(text)
    if match:
        names = [match[1].upper()]
    elif _SEVERAL.fullmatch(text):
        names = re.findall("[A-Z]", text)
    else:
        return None
    positions = [ord(name) - ord("A") for name in names]
    return tuple(positions) if positions == sorted(set(positions)) and positions[-1] < len(options) else None


def _by_text(answer: Any, options: Options) -> tuple[int, ...] | None:
    text = str(answer)
    for same in (str, str.strip):
        for position, option in enumerate(options):
            if same(option) == same(text):
                return (position,)
    return None


def _by_index(answer: Any, options: Options) -> tuple[int, ...] | None:
    if isinstance(answer, bool) or not (
        isinstance(answer, int) or (isinstance(answer, str) and re.fullmatch(r"\d{1,2}", answer.strip()))
    ):
        return None
    return (int(answer),) if 0 <= int(answer) < len(options) else None


def _by_number(answer: Any, options: Options) -> tuple[int, ...] | None:
    from_zero = _by_index(answer, [*options, ""])
    return (from_zero[0] - 1,) if from_zero and from_zero[0] >= 1 else None


_STYLES: dict[str, Callable[[Any, Options], tuple[int, ...] | None]] = {
    "letter": _by_letter,
    "text": _by_text,
    "index": _by_index,
    "number": _by_number,
}


def choose_style(sample: Iterable[tuple[Any, Options]], where: str) -> AnswerStyle:
    """The one style in which every sampled answer, or else most of them, points at an option."""
    answers = [(answer, options) for answer, options in sample if not is_missing(answer)]
    readings = {style: [find_gold(answer, options, style) for answer, options in answers] for style in ANSWER_STYLES}
    fits = {style: sum(gold is not None for gold in found) for style, found in readings.items()}
    fitting = [style for style in ANSWER_STYLES if fits[style] == max(fits.values())]
    for style in fitting[1:]:
        if readings[style] != readings[fitting[0]]:
            raise InputError(
                f"{where}: answers can be read as {fitting[0]} or as {style}, with different results; "
                f"say which with {param('answers', fitting[0])} or {param('answers', style)}"
            )
    return fitting[0]
