"""How a question is put to a model, said on the command line: one condition, or all combinations of several."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Annotated, Any, get_args

import typer

from eyetest.errors import InputError, nearest, short
from eyetest.records import REVERSED, Condition, order_word
from eyetest.records.condition import Ask, Marks, Method, Shots, Sight

Said = str | list[str] | None
_PANEL = "How the question is put"
_ALWAYS_TOLD = ("model", "sight", "ask")
_MOST_TOLD = 30
"""An axis of more values, such as an order for each item, would make a list and no summary."""
_MAX_DIGITS = 18
"""Longer numbers do not fit the columns that hold templates and orders."""


def _option(name: str, about: str, metavar: str) -> Any:
    return typer.Option(f"--{name}", metavar=metavar, help=about, rich_help_panel=_PANEL)


SightOption = Annotated[list[str] | None, _option("sight", f"What is seen: {', '.join(get_args(Sight))}.", "NAME")]
AskOption = Annotated[
    list[str] | None, _option("ask", "direct, cot (reason first) or ocr (write out the question first).", "NAME")
]
ShotsOption = Annotated[
    list[str] | None, _option("shots", "Examples before the question: none, format (one) or two.", "NAME")
]
TemplateOption = Annotated[list[str] | None, _option("template", "Which of the six instructions, from 0.", "N")]
OrderOption = Annotated[
    list[str] | None, _option("order", "Seed of the option order; 0 is as written. Or: reversed.", "SEED")
]
MarksOption = Annotated[list[str] | None, _option("marks", "How options are marked: upper, lower or digit.", "NAME")]
MethodOption = Annotated[
    list[str] | None, _option("method", "generate, or likelihood (options are weighed, not shown).", "NAME")
]

PrefillOption = Annotated[
    bool, typer.Option("--prefill", help="Begin the model's turn, after a format shot.", rich_help_panel=_PANEL)
]


def one_condition(
    sight: Said = None,
    ask: Said = None,
    shots: Said = None,
    template: Said = None,
    order: Said = None,
    marks: Said = None,
    method: Said = None,
) -> Condition:
    """The condition that a user's words mean; what is not said is as usual."""
    said = _said(sight, ask, shots, template, order, marks, method)
    return Condition(**{axis: _READERS[axis](axis, word) for axis, word in said.items()})


def conditions(
    sight: Said = None,
    ask: Said = None,
    shots: Said = None,
    template: Said = None,
    order: Said = None,
    marks: Said = None,
    method: Said = None,
) -> tuple[Condition, ...]:
    """Every combination of what the lists name: ``image,blind`` with ``0,7`` makes four. None comes twice."""
    said = _said(sight, ask, shots, template, order, marks, method)
    axes = {
        axis: dict.fromkeys(_READERS[axis](axis, part.strip()) for part in word.split(","))
        for axis, word in said.items()
    }
    return tuple(Condition(**dict(zip(axes, point, strict=True))) for point in product(*axes.values()))


def telling_axes(different: Callable[[str], int]) -> list[str]:
    """What tells groups of answers apart: model, sight, ask, and every other axis that takes a few values."""
    others = [axis for axis in _READERS if axis not in _ALWAYS_TOLD]
    return [*_ALWAYS_TOLD, *(axis for axis in others if 1 < different(axis) <= _MOST_TOLD)]


def _said(*words: Said) -> dict[str, str]:
    """What was said of each axis; an option that is repeated is a list like one with commas."""
    given = {axis: said for axis, said in zip(_READERS, words, strict=True) if said}
    return {axis: said if isinstance(said, str) else ",".join(said) for axis, said in given.items()}


def _one_of(known: Iterable[str]) -> Callable[[str, str], str]:
    def read(axis: str, word: str) -> str:
        if word not in known:
            raise InputError(f"--{axis}: no such thing as {short(word)}; {nearest(word, known)}")
        return word

    return read


def _seed(axis: str, word: str) -> int:
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise InputError(f"--{axis}: found {short(word)}, expected a whole number")
    return int(word)


def _order(axis: str, word: str) -> int:
    return REVERSED if word == order_word(REVERSED) else _seed(axis, word)


def _index(axis: str, word: str) -> int:
    if word.startswith("-"):
        raise InputError(f"--{axis}: found {short(word)}, expected a number from 0")
    return _seed(axis, word)


_READERS: dict[str, Callable[[str, str], Any]] = {
    "sight": _one_of(get_args(Sight)),
    "ask": _one_of(get_args(Ask)),
    "shots": _one_of(get_args(Shots)),
    "template": _index,
    "order": _order,
    "marks": _one_of(get_args(Marks)),
    "method": _one_of(get_args(Method)),
}
