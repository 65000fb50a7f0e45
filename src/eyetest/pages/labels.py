"""Where names stand in charts, so that none lies on another or on a dot."""

from collections.abc import Sequence
from itertools import product
from typing import Literal, NamedTuple

_LETTER, _LINE, _DOT = 5.8, 12.0, 5.0
"""How wide a letter and how high a line of small type is, and how large a dot."""
_AWAY, _LIFTS = 8, (-6, 6, 0, -13, 13)
Side = Literal["left", "right"]
_SIDES: tuple[Side, ...] = ("left", "right")


class NamePlace(NamedTuple):
    """Where a name stands beside its dot: to its left or right, and how far above or below."""

    align: Side
    dx: int
    dy: int


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def spread_apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Places for names that belong to these values, in rising order: at least ``gap`` apart, on average not moved."""
    at, placed = float("-inf"), []
    for value in wanted:
        at = max(value, at + gap)
        placed.append(at)
    lift = (sum(placed) - sum(wanted)) / len(placed) if placed else 0.0
    return [place - lift for place in placed]


def beside_dots(
    dots: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float]
) -> list[NamePlace | None]:
    """Where each name stands beside its dot; None where there is no room for it, and a table has to tell.

    ``dots`` are shares of the axes, from the lower left; ``size`` is that of the smallest drawing, in pixels.
    """
    wide, high = size
    spots = [(x * wide, (1 - y) * high) for x, y in dots]
    taken = [_Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in spots]
    places: list[NamePlace | None] = []
    for (x, y), name in zip(spots, names, strict=True):
        place = None
        for lift, align in product(_LIFTS, _SIDES):
            start = x + _AWAY if align == "left" else x - _AWAY - _LETTER * len(name)
            box = _Box(start, y + lift - _LINE / 2, start + _LETTER * len(name), y + lift + _LINE / 2)
            inside = box.left >= 0 and box.right <= wide * 1.15
            if inside and not any(box.meets(other) for other in taken):
                place = NamePlace(align, _AWAY if align == "left" else -_AWAY, lift)
                taken.append(box)
                break
        places.append(place)
    return places
