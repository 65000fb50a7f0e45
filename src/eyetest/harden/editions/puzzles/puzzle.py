"""What a puzzle is made of: parts in rows, one of them hidden, and a rule by which the others tell it.

Options come first, then which of them is right, then the parts. Words about a puzzle name its parts in lists; from
these a puzzle that somebody else drew is read.
"""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from eyetest.world.canvas import Canvas, Point, around

Scene = dict[str, Any]
"""``values``: rows of parts, "?" for the hidden one; ``answer``: what is hidden; and whatever else is seen."""
Part = str | int
HIDDEN = "?"
_LIST = re.compile(r"\[[^\[\]]*\]")
COLOURS = {
    "red": "#e06666",
    "orange": "#f6b26b",
    "yellow": "#ffd966",
    "green": "#93c47d",
    "blue": "#6fa8dc",
    "purple": "#8e7cc3",
}
SIZES = ("small", "medium", "large")
SHAPES = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6}
_TOLD = re.compile(rf"\b(?:\d|{'|'.join(SHAPES)})\b")
EDGE, NO_COLOUR = "#1f1f1f", "#eeeeee"


@dataclass(frozen=True)
class Puzzle:
    """One category."""

    name: str
    options: Callable[[Random], Sequence[Part]]
    pose: Callable[[Random, Part, Sequence[Part]], Scene]
    """A scene in which this option is what is hidden."""
    change: Callable[[Scene, Part], Scene | None]
    """The scene with something else hidden and as little else changed as that takes; None where there is no such."""
    read: Callable[[str, str, Part], Scene]
    """The scene that words tell: its caption, its question, and the answer."""
    say: Callable[[Scene], str]
    draw: Callable[[Canvas, Scene], None]
    fits: Callable[[Part], bool] = lambda option: True
    """Whether an option can be what is hidden."""
    holds: Callable[[Scene], bool] = lambda scene: True
    """Whether the parts that are seen say that the answer is what is hidden."""


def asked(question: str, scene: Scene) -> str:
    """The question about another scene: where it tells something of the hidden part, it tells what is true now."""
    return _TOLD.sub(str(scene["of"]), question) if "of" in scene else question


def lists(caption: str) -> list[list[Any]]:
    """The lists that a caption writes down."""
    return [list(ast.literal_eval(one)) for one in _LIST.findall(caption)]


def any_of(pool: Sequence[Part], count: int = 4) -> Callable[[Random], Sequence[Part]]:
    """Options that are any of a pool, in any order."""
    return lambda rng: rng.sample(list(pool), count)


def rows_of(caption: str, count: int, answer: Part) -> Scene:
    """A scene of as many rows of parts."""
    rows = lists(caption)
    if len(rows) != count or sum(row.count(HIDDEN) for row in rows) != 1:
        raise ValueError(caption)
    return {"values": rows, "answer": answer}


def read_rows(count: int) -> Callable[[str, str, Part], Scene]:
    """How to read a puzzle whose caption lists its rows and nothing else."""
    return lambda caption, question, answer: rows_of(caption, count, answer)


def mapped(rows: Sequence[Sequence[Any]], change: Callable[[Any], Any]) -> list[list[Any]]:
    """All parts changed alike."""
    return [[change(part) for part in row] for row in rows]


def swapped(scene: Scene, new: Part) -> Scene:
    """The old answer and the new one change places everywhere."""
    other = {scene["answer"]: new, new: scene["answer"]}
    return scene | {"values": mapped(scene["values"], lambda part: other.get(part, part)), "answer": new}


def replaced(scene: Scene, old: Part, new: Part) -> list[list[Any]]:
    """The rows with one value put in the place of another."""
    return mapped(scene["values"], lambda part: new if part == old else part)


def hide(rows: list[list[Any]], row: int, column: int) -> Scene:
    """The scene in which one part is hidden."""
    shown = [list(parts) for parts in rows]
    answer, shown[row][column] = shown[row][column], HIDDEN
    return {"values": shown, "answer": answer}


def hide_one(rng: Random, rows: list[list[Any]], answer: Part) -> Scene:
    """The scene in which one of the parts that are like the answer is hidden."""
    spots = [(r, c) for r, row in enumerate(rows) for c, part in enumerate(row) if part == answer]
    return hide(rows, *rng.choice(spots))


def hidden_at(scene: Scene) -> tuple[int, int]:
    """Row and column of the hidden part."""
    spots = [(r, c) for r, row in enumerate(scene["values"]) for c, part in enumerate(row) if part == HIDDEN]
    return spots[0]


def others(rng: Random, pool: Sequence[Part], answer: Part, count: int) -> list[Part]:
    """Some of a pool that are not the answer."""
    return rng.sample([one for one in pool if one != answer], count)


def shown(scene: Scene, row: int, column: int) -> Part:
    """What is really there, hidden or not."""
    part: Part = scene["values"][row][column]
    return scene["answer"] if part == HIDDEN else part


def flat(scene: Scene) -> list[Any]:
    """All parts, row after row."""
    return [part for row in scene["values"] for part in row]


def alike(marks: Callable[[Scene], Sequence[Any]]) -> Callable[[Scene], bool]:
    """The rule that parts with the same mark are the same; marks are in the order of the parts."""

    def holds(scene: Scene) -> bool:
        parts, of = flat(scene), list(marks(scene))
        own = of[parts.index(HIDDEN)]
        return {part for part, mark in zip(parts, of, strict=True) if mark == own} == {scene["answer"], HIDDEN}

    return holds


def paired_up(scene: Scene) -> bool:
    """The rule that every part is there twice."""
    parts = flat(scene)
    return all(parts.count(part) == (1 if part in (HIDDEN, scene["answer"]) else 2) for part in parts) and (
        scene["answer"] in parts
    )


def regular(canvas: Canvas, centre: Point, radius: float, corners: int, fill: str, turn: float | None = None) -> None:
    """A regular polygon with an edge; even ones stand on a side, odd ones point up."""
    usual = -90.0 if corners % 2 else -90.0 + 180 / corners
    canvas.polygon(around(centre, radius, corners, usual if turn is None else turn), fill, EDGE, 0.5)


def disc(canvas: Canvas, centre: Point, radius: float, fill: str) -> None:
    """A filled circle with an edge."""
    canvas.disc(centre, radius, fill, EDGE, 0.5)


def colour(part: Part) -> str:
    """How a coloured part is painted; grey where that is what is asked."""
    return COLOURS.get(str(part), NO_COLOUR)
