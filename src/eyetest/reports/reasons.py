"""Reasons that differ in their figures alone, told as one with the range of each figure."""

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
Kind = tuple[str, ...]
"""A reason without its figures: what stands between them."""


def kind_of(reason: str) -> Kind:
    """Reasons of one kind can be told together."""
    return tuple(_NUMBER.split(reason))


def together(reasons: Sequence[str]) -> str:
    """Reasons of one kind as one: ``15 to 19 of 32 to 40 blind answers right``."""
    columns = zip(*(_NUMBER.findall(reason) for reason in reasons), strict=True)
    first, *parts = kind_of(reasons[0])
    return first + "".join(f"{_range(column)}{part}" for column, part in zip(columns, parts, strict=True))


def _range(figures: Sequence[str]) -> str:
    ordered = sorted(set(figures), key=lambda figure: (float(figure.replace(",", "")), figure))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
