"""Puzzles with a hidden part, as PuzzleVQA describes them: read from their captions, or drawn anew.

A puzzle has parts in rows, one of them hidden, and a rule by which the others determine it. Options come first, then
which of them is right, then the parts. A caption names the parts in lists; from these a published puzzle is read.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from eyetest.errors import short
from eyetest.records import Choice, Item
from eyetest_world.canvas import Canvas, Point, around, png
from eyetest_world.editions import OF_THE_IMAGE, NotRenewable, Original, Redrawn
from eyetest_world.posing import shuffled

Scene = dict[str, Any]
"""``values``: rows of parts, "?" for the hidden one; ``answer``: what is hidden; and whatever else is seen."""
Part = str | int
_Pose = Callable[[Random, Part, Sequence[Part]], Scene]
_Read = Callable[[str, str, Part], Scene]
HIDDEN = "?"
_LIST = re.compile(r"\[[^\[\]]*\]")
_COLOURS = {
    "red": "#e06666",
    "orange": "#f6b26b",
    "yellow": "#ffd966",
    "green": "#93c47d",
    "blue": "#6fa8dc",
    "purple": "#8e7cc3",
}
_SIZES = ("small", "medium", "large")
_SHAPES = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6}
_NAMED = re.compile(rf"\b(?:\d|{'|'.join(_SHAPES)})\b")
_EDGE, _NO_COLOUR, _GREEN, _CREAM = "#1f1f1f", "#eeeeee", "#d9ead3", "#fff2cc"
_CELLS = tuple(product(range(3), range(3)))
_CENTRES = tuple((20 + 30.0 * column, 20 + 30.0 * row) for row, column in _CELLS)
_ARMS = ((42, 42), (33, 30), (34, 13), (58, 43), (73, 40), (89, 49), (51, 60), (43, 74), (26, 84))
_HEAP = ((50, 22), (36, 50), (64, 50), (22, 78), (50, 78), (78, 78))
_MIRRORED = tuple((x, y) for y in (30, 70) for x in (22, 50, 78))
_POLYGONS = range(3, 10)
_LENGTHS = {"short": 24.0, "medium": 44.0, "long": 64.0, "very long": 84.0}
_RADII = {"small": 4.0, "medium": 8.0, "large": 13.0}


def asked(question: str, scene: Scene) -> str:
    """The question about another scene: where it names something of the hidden part, that is replaced."""
    return _NAMED.sub(str(scene["of"]), question) if "of" in scene else question


def _lists(caption: str) -> list[list[Any]]:
    return [list(ast.literal_eval(text)) for text in _LIST.findall(caption)]


def _read_rows(count: int) -> _Read:
    """How to read a puzzle whose caption lists its rows and nothing else."""

    def read(caption: str, question: str, answer: Part) -> Scene:
        rows = _lists(caption)
        if len(rows) != count or sum(row.count(HIDDEN) for row in rows) != 1:
            raise ValueError(caption)
        return {"values": rows, "answer": answer}

    return read


def _read_lists(*names: str) -> _Read:
    """How to read a puzzle whose caption lists its only row of parts beside another list."""

    def read(caption: str, question: str, answer: Part) -> Scene:
        scene: Scene = dict(zip(names, _lists(caption), strict=True))
        return scene | {"values": [scene["values"]], "answer": answer}

    return read


def _mapped(rows: Sequence[Sequence[Any]], change: Callable[[Any], Any]) -> list[list[Any]]:
    return [[change(part) for part in row] for row in rows]


def _swapped(scene: Scene, new: Part) -> Scene:
    """The old answer and the new one change places everywhere."""
    other = {scene["answer"]: new, new: scene["answer"]}
    return scene | {"values": _mapped(scene["values"], lambda part: other.get(part, part)), "answer": new}


def _hide_one(rng: Random, rows: list[list[Any]], answer: Part) -> Scene:
    """The scene in which one of the parts that equal the answer is hidden."""
    spots = [(r, c) for r, row in enumerate(rows) for c, part in enumerate(row) if part == answer]
    shown, (row, column) = [list(parts) for parts in rows], rng.choice(spots)
    shown[row][column] = HIDDEN
    return {"values": shown, "answer": answer}


def _hidden_at(scene: Scene) -> tuple[int, int]:
    return next((r, c) for r, row in enumerate(scene["values"]) for c, part in enumerate(row) if part == HIDDEN)


def _others(rng: Random, pool: Iterable[Part], answer: Part, count: int) -> list[Part]:
    return rng.sample([part for part in pool if part != answer], count)


def _whole(scene: Scene) -> list[list[Any]]:
    """All rows with the answer in the hidden part's place."""
    return _mapped(scene["values"], lambda part: scene["answer"] if part == HIDDEN else part)


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [part for row in rows for part in row]


def _alike(letters: Callable[[Scene], Iterable[Any]]) -> Callable[[Scene], bool]:
    """The rule that parts with the same mark are the same; letters are in the order of the parts."""

    def holds(scene: Scene) -> bool:
        parts, of = _flat(scene["values"]), list(letters(scene))
        own = of[parts.index(HIDDEN)]
        return {part for part, mark in zip(parts, of, strict=True) if mark == own} == {scene["answer"], HIDDEN}

    return holds


def _paired_up(scene: Scene) -> bool:
    """The rule that every part is there twice."""
    parts, whole = _flat(scene["values"]), _flat(_whole(scene))
    return scene["answer"] in parts and all(whole.count(part) == 2 for part in whole)


def _regular(canvas: Canvas, centre: Point, radius: float, corners: int, fill: str, flip: int = 1) -> None:
    """A regular polygon with an edge; even ones stand on a side, odd ones point up."""
    turn = -90.0 if corners % 2 else -90.0 + 180 / corners
    canvas.polygon(around(centre, radius, corners, turn * flip), fill, _EDGE, 0.5)


def _disc(canvas: Canvas, centre: Point, radius: float, fill: str) -> None:
    canvas.disc(centre, radius, fill, _EDGE, 0.5)


def _colour(part: Part) -> str:
    """How a coloured part is painted; grey where it is hidden."""
    return _COLOURS.get(str(part), _NO_COLOUR)


def _say(text: str) -> Callable[[Scene], str]:
    """A caption with the rows of parts, and other things of the scene by their names."""
    return lambda scene: text.format(*scene["values"], **scene)


def _grid_of(things: str) -> Callable[[Scene], str]:
    return _say(f"A grid of {things} with three rows: {{}}, then {{}}, and at the bottom {{}}.")


def _heap_of(things: str) -> Callable[[Scene], str]:
    return _say(f"A heap of {things}: {{}} on top, {{}} below, and {{}} at the bottom.")


def _parts_at(
    places: Sequence[Point], paint: Callable[[Canvas, Point, Any], None], height: float = 12
) -> Callable[[Canvas, Scene], None]:
    """Every part at its place, a question mark for the hidden one."""

    def draw(canvas: Canvas, scene: Scene) -> None:
        for at, part in zip(places, _flat(scene["values"]), strict=True):
            if part == HIDDEN:
                canvas.text(at, HIDDEN, height)
            else:
                paint(canvas, at, part)

    return draw


@dataclass(frozen=True)
class Puzzle:
    """One category."""

    name: str
    pool: Sequence[Part]  # what options are drawn from
    pose: _Pose  # a scene in which this option is what is hidden
    say: Callable[[Scene], str]
    draw: Callable[[Canvas, Scene], None]
    holds: Callable[[Scene], bool]  # whether the visible parts determine that the answer is what is hidden
    change: Callable[[Scene, Part], Scene | None] = _swapped
    """The scene with something else hidden and as little else changed as that takes; None where there is no such."""
    read: _Read = _read_rows(3)  # noqa: RUF009 (a function)
    """The scene of a caption, a question and the answer."""

    def options(self, rng: Random) -> list[Part]:
        """Options of a new puzzle, in any order."""
        return rng.sample(list(self.pool), min(4, len(self.pool)))


def _around_centre(pool: Iterable[Part]) -> _Pose:
    """A grid whose corners are alike, and whose sides are."""

    def pose(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
        a, b = _others(rng, pool, answer, 2)
        corner, side, centre = (answer, a, b) if rng.random() < 0.5 else (a, answer, b)
        by_steps = {0: centre, 1: side, 2: corner}
        rows = [[by_steps[abs(r - 1) + abs(c - 1)] for c in range(3)] for r in range(3)]
        return _hide_one(rng, rows, answer)

    return pose


def _change_arms(scene: Scene, new: Part) -> Scene:
    """Another place of the same arm is hidden."""
    row, _ = _hidden_at(scene)
    values = _whole(scene)
    values[row][values[row].index(new)] = HIDDEN
    return scene | {"values": values, "answer": new}


def _pairs(rng: Random, pool: Iterable[Part], answer: Part) -> list[Part]:
    """Three kinds of parts, two of each, in any order."""
    kinds = [answer, *_others(rng, pool, answer, 2)]
    return rng.sample([*kinds, *kinds], 6)


def _draw_circles(canvas: Canvas, scene: Scene) -> None:
    spots = around((50, 50), 33, 6, 0)
    for at, number, part in zip(spots, _whole(scene)[0], scene["values"][0], strict=True):
        _disc(canvas, at, 5.5 + 1.4 * int(number), _NO_COLOUR)
        canvas.text(at, str(part), 10)


def _pose_hexagon(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    half = rng.sample([answer, *_others(rng, _COLOURS, answer, 2)], 3)
    return _hide_one(rng, [half + half], answer)


def _draw_wedges(canvas: Canvas, scene: Scene) -> None:
    """A hexagon in six parts, anti-clockwise from the top."""
    corners = around((50, 50), 36, 6, 0)
    for index, part in enumerate(scene["values"][0]):
        first, second = corners[(-index - 1) % 6], corners[(-index - 2) % 6]
        canvas.polygon([(50, 50), first, second], _colour(part), _EDGE, 0.6)
        x, y = (50 + first[0] + second[0]) / 3, (50 + first[1] + second[1]) / 3
        canvas.text((x, y), HIDDEN if part == HIDDEN else "", 10)


def _heaped(parts: Sequence[Part]) -> list[list[Part]]:
    return [list(parts[:1]), list(parts[1:3]), list(parts[3:])]


def _with_sides(scene: Scene, rng: Random) -> Scene:
    """Polygons of the same colour have the same number of sides, those of others have not."""
    parts = _flat(_whole(scene))
    sides = dict(zip(dict.fromkeys(parts), rng.sample((3, 4, 5, 6, 8), len(set(parts))), strict=True))
    return scene | {"sides": [sides[part] for part in parts]}


def _read_coloured(caption: str, question: str, answer: Part) -> Scene:
    """Captions do not say which polygons there are, so any that fit will do."""
    return _with_sides(_read_rows(3)(caption, question, answer), Random(caption))


def _draw_coloured(canvas: Canvas, scene: Scene) -> None:
    for part, sides, at in zip(_flat(scene["values"]), scene["sides"], _HEAP, strict=True):
        _regular(canvas, at, 12, sides, _colour(part))
        if part == HIDDEN:
            canvas.text(at, HIDDEN, 10)


def _pose_polygons(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    heap = _heaped(rng.sample([answer, *_others(rng, _POLYGONS, answer, 5)], 6))
    return _hide_one(rng, heap, answer)


def _draw_polygons(canvas: Canvas, scene: Scene) -> None:
    for part, sides, at in zip(_flat(scene["values"]), _flat(_whole(scene)), _HEAP, strict=True):
        _regular(canvas, at, 12, int(sides), "#d9d2e9")
        canvas.text(at, str(part), 9)


def _pose_bars(rng: Random, lengths: Sequence[str], own: str, names: dict[str, Part]) -> Scene:
    """Six bars in pairs of three lengths, then the hidden one."""
    row = [*rng.sample([*lengths, *lengths], 6), own]
    values = [names[length] for length in row[:-1]]
    return {"values": [[*values, HIDDEN]], "answer": names[own], "lengths": row}


def _pose_coloured_bars(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    lengths = rng.sample(list(_LENGTHS)[:3], 3)
    names = dict(zip(lengths, [answer, *_others(rng, _COLOURS, answer, 2)], strict=True))
    return _pose_bars(rng, lengths, lengths[0], names)


def _pose_numbered_bars(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    numbers: dict[str, Part] = {length: number for number, length in enumerate(_LENGTHS, 1)}
    own = list(_LENGTHS)[int(answer) - 1]
    return _pose_bars(rng, [own, *map(str, _others(rng, _LENGTHS, own, 2))], own, numbers)


def _change_numbered_bars(scene: Scene, new: Part) -> Scene | None:
    """The hidden bar gets the length of another number."""
    row = scene["values"][0]
    if new not in row:
        return None
    return scene | {"answer": new, "lengths": [*scene["lengths"][:-1], scene["lengths"][row.index(new)]]}


def _draw_bars(canvas: Canvas, scene: Scene) -> None:
    for index, (part, length) in enumerate(zip(scene["values"][0], scene["lengths"], strict=True)):
        x, half = 8 + 12 * index, _LENGTHS[length] / 2
        fill = _colour(part) if isinstance(scene["answer"], str) else _GREEN
        canvas.box((x, 50 - half), (x + 11, 50 + half), fill, _EDGE, 0.5)
        if not isinstance(part, str) or part == HIDDEN:
            canvas.text((x + 5.5, 50), str(part), 9)


def _pose_around(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Three shapes twice around a hidden one, each shape with a size of its own."""
    shapes = rng.sample(list(_SHAPES), 3)
    sizes = dict(zip(shapes, [answer, *_others(rng, _SIZES, answer, 2)], strict=True))
    own, ring = shapes[0], rng.sample(shapes, 3) * 2
    return {"values": [[sizes[shape] for shape in ring], [HIDDEN]], "answer": answer, "shapes": ring, "of": own}


def _read_around(caption: str, question: str, answer: Part) -> Scene:
    scene = _read_lists("shapes", "values")(caption, question, answer)
    own = next(shape for shape in _SHAPES if shape in question)
    return scene | {"values": [*scene["values"], [HIDDEN]], "of": own}


def _draw_around(canvas: Canvas, scene: Scene) -> None:
    spots = around((50, 50), 34, 6, 0)
    for index, (shape, size) in enumerate(zip(scene["shapes"], scene["values"][0], strict=True)):
        radius = {"small": 5.0, "medium": 9.5, "large": 15.0}[size]
        _regular(canvas, spots[-index % 6], radius, _SHAPES[shape], "#fce5cd")
    canvas.text((50, 50), HIDDEN, 14)


def _pose_mirrored(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    row = rng.sample([answer, *_others(rng, _SHAPES, answer, 2)], 3)
    rows, hidden = [row, list(row)], rng.randrange(2)
    rows[hidden] = [HIDDEN if part == answer else part for part in row]
    return {"values": rows, "answer": answer}


def _draw_mirrored(canvas: Canvas, scene: Scene) -> None:
    canvas.line([(8, 50), (92, 50)], _EDGE, 0.6)
    for at, part in zip(_MIRRORED, _flat(scene["values"]), strict=True):
        if part == HIDDEN:
            canvas.disc(at, 12, None, "#9a9a9a", 0.5)
            canvas.text(at, HIDDEN, 10)
        else:
            _regular(canvas, at, 12, _SHAPES[part], _GREEN, -1 if at[1] > 50 else 1)


_BY_PLACE = _alike(lambda scene: [abs(row - 1) + abs(column - 1) for row, column in _CELLS])
_BY_LENGTH = _alike(lambda scene: scene["lengths"])
_ALL = (
    Puzzle(
        "color_grid",
        list(_COLOURS),
        _around_centre(_COLOURS),
        _grid_of("colored circles"),
        _parts_at(_CENTRES, lambda canvas, at, part: _disc(canvas, at, 11, _colour(part))),
        _BY_PLACE,
    ),
    Puzzle(
        "size_grid",
        _SIZES,
        _around_centre(_SIZES),
        _grid_of("circles of several sizes"),
        _parts_at(_CENTRES, lambda canvas, at, part: _disc(canvas, at, _RADII[part], _CREAM)),
        _BY_PLACE,
    ),
    Puzzle(
        "size_cycle",
        _SIZES,
        lambda rng, answer, options: _hide_one(rng, [list(_SIZES)] * 3, answer),
        _say("Circles in a spiral, its three arms from the middle outwards: {}, {}, {}."),
        _parts_at(
            _ARMS,
            lambda canvas, at, part: _disc(canvas, at, {"small": 3.8, "medium": 6.2, "large": 8.8}[part], _CREAM),
            11,
        ),
        _alike(lambda scene: [0, 1, 2] * 3),
        _change_arms,
    ),
    Puzzle(
        "circle_size_number",
        range(1, 7),
        lambda rng, answer, options: _hide_one(rng, [_pairs(rng, range(1, 7), answer)], answer),
        _say("Six circles in a ring, the larger the higher their numbers: {}, clockwise."),
        _draw_circles,
        _paired_up,
        read=_read_rows(1),
    ),
    Puzzle(
        "color_hexagon",
        list(_COLOURS),
        _pose_hexagon,
        _say("A hexagon in six parts, anti-clockwise {}."),
        _draw_wedges,
        _alike(lambda scene: [0, 1, 2] * 2),
        read=_read_rows(1),
    ),
    Puzzle(
        "polygon_sides_color",
        list(_COLOURS),
        lambda rng, answer, _: _with_sides(_hide_one(rng, _heaped(_pairs(rng, _COLOURS, answer)), answer), rng),
        _heap_of("colored polygons"),
        _draw_coloured,
        _paired_up,
        read=_read_coloured,
    ),
    Puzzle(
        "polygon_sides_number",
        _POLYGONS,
        _pose_polygons,
        _heap_of("polygons with numbers"),
        _draw_polygons,
        lambda scene: scene["answer"] not in _flat(scene["values"]),
    ),
    Puzzle(
        "rectangle_height_color",
        list(_COLOURS),
        _pose_coloured_bars,
        _say("Seven bars, their lengths {lengths} and their colors {}."),
        _draw_bars,
        _BY_LENGTH,
        read=_read_lists("lengths", "values"),
    ),
    Puzzle(
        "rectangle_height_number",
        (1, 2, 3, 4),
        _pose_numbered_bars,
        _say("Seven bars with the numbers {}, their lengths {lengths}."),
        _draw_bars,
        _BY_LENGTH,
        _change_numbered_bars,
        _read_lists("values", "lengths"),
    ),
    Puzzle(
        "shape_size_hexagon",
        _SIZES,
        _pose_around,
        _say("Around a hidden {of} stand {shapes} of sizes {}."),
        _draw_around,
        _alike(lambda scene: [*scene["shapes"], scene["of"]]),
        read=_read_around,
    ),
    Puzzle(
        "shape_reflect",
        list(_SHAPES),
        _pose_mirrored,
        _say("Shapes above a line, {}, and below it, {}."),
        _draw_mirrored,
        _alike(lambda scene: [0, 1, 2] * 2),
        read=_read_rows(2),
    ),
)
PUZZLES = {puzzle.name: puzzle for puzzle in _ALL}

_CATEGORY, _CAPTION = "category", "caption_gold"
_SIZE, _SMALLEST = 512, 200
_STALE = ("explanation", "deduction", *OF_THE_IMAGE)  # tags that speak of the old scene


class PuzzleGenerator:
    """Items with a ``category`` of PuzzleVQA, and for twins a caption that lists their parts."""

    name = "puzzles"
    summary = "11 of PuzzleVQA's 20 categories; twins are read from captions (description, or the tag caption_gold)"

    def knows(self, original: Original) -> bool:
        """Whether the category is one of them."""
        return original.item.tags.get(_CATEGORY) in PUZZLES and original.item.is_choice

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """Another puzzle of the same category, with options of its own."""
        puzzle = PUZZLES[original.item.tags[_CATEGORY]]
        options = puzzle.options(rng)
        scene = puzzle.pose(rng, rng.choice(options), options)
        return _redrawn(puzzle, scene, original.item, [str(option) for option in options])

    def twins(self, original: Original, rng: Random) -> Iterator[Redrawn]:
        """The same puzzle with another of its options hidden."""
        item, puzzle = original.item, PUZZLES[original.item.tags[_CATEGORY]]
        scene = _read(puzzle, item)
        kind = type(scene["answer"])
        for text in shuffled(rng, [choice.text for choice in item.choices if not choice.correct]):
            changed = puzzle.change(scene, kind(text))
            if changed is not None:
                yield _redrawn(puzzle, changed, item, [choice.text for choice in item.choices])


def _read(puzzle: Puzzle, item: Item) -> Scene:
    """What the item's image shows, from its caption."""
    caption = item.description or str(item.tags.get(_CAPTION, ""))
    if not caption:
        raise NotRenewable(f"no caption says what its image shows (description, or the tag {_CAPTION})")
    if len(item.gold) != 1:
        raise NotRenewable("it has no single right option")
    text = item.choices[item.gold[0]].text
    answer: Part = int(text) if text.isascii() and text.isdigit() else text
    try:
        scene = puzzle.read(caption, item.question, answer)
        agrees = puzzle.holds(scene)
    except (ValueError, SyntaxError, TypeError, KeyError, StopIteration, IndexError):
        raise NotRenewable(f"its caption is not that of a puzzle {short(puzzle.name)}") from None
    if not agrees:
        raise NotRenewable("its gold does not follow from its caption")
    return scene


def _redrawn(puzzle: Puzzle, scene: Scene, item: Item, options: list[str]) -> Redrawn:
    canvas = Canvas(max(item.images[0].width, _SMALLEST) if item.images else _SIZE)
    puzzle.draw(canvas, scene)
    caption = puzzle.say(scene)
    tags = {_CAPTION: caption} if _CAPTION in item.tags else {}
    return Redrawn(
        question=asked(item.question, scene),
        choices=tuple(Choice(option, option == str(scene["answer"])) for option in options),
        image=png(canvas.finished()),
        description=caption if item.description or not tags else "",
        tags=dict.fromkeys(_STALE) | tags,
        scene=scene | {"puzzle": puzzle.name},
    )


GENERATOR = PuzzleGenerator()
