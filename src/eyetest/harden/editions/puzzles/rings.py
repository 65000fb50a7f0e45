"""Puzzles in a ring, a row or a heap: parts that come in pairs, and a trait that tells which belong together."""

from collections.abc import Callable, Sequence
from random import Random

from eyetest.harden.editions.puzzles.puzzle import (
    COLOURS,
    EDGE,
    HIDDEN,
    NO_COLOUR,
    SHAPES,
    SIZES,
    Part,
    Puzzle,
    Scene,
    alike,
    any_of,
    colour,
    disc,
    flat,
    hidden_at,
    hide_one,
    lists,
    others,
    paired_up,
    read_rows,
    regular,
    shown,
    swapped,
)
from eyetest.world.canvas import Canvas, Point, around

_DIGITS = range(1, 10)
_LENGTHS = ("short", "medium", "long", "very long")
_HEAP = ((50, 22), (36, 50), (64, 50), (22, 78), (50, 78), (78, 78))
_SIDES = (3, 4, 5, 6, 8)
_POLYGONS = range(3, 10)
_RADII = {"small": 5.0, "medium": 9.5, "large": 15.0}


def _pairs(rng: Random, pool: Sequence[Part], answer: Part) -> list[Part]:
    """Three kinds of parts, two of each, in any order."""
    kinds = [answer, *others(rng, pool, answer, 2)]
    return rng.sample([*kinds, *kinds], 6)


def _pose_circles(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    return hide_one(rng, [_pairs(rng, range(1, 7), answer)], answer)


def _draw_circles(canvas: Canvas, scene: Scene) -> None:
    for index, at in enumerate(around((50, 50), 33, 6, 0)):
        radius = 5.5 + 1.4 * int(shown(scene, 0, index))
        disc(canvas, at, radius, NO_COLOUR)
        canvas.text(at, str(scene["values"][0][index]), 10)


def _pose_hexagon(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    half = rng.sample([answer, *others(rng, list(COLOURS), answer, 2)], 3)
    return hide_one(rng, [half + half], answer)


def _wedges(canvas: Canvas, fills: Sequence[str], words: Sequence[str]) -> None:
    """A hexagon in six parts, anti-clockwise from the top."""
    corners = around((50, 50), 36, 6, 0)
    for index, (fill, word) in enumerate(zip(fills, words, strict=True)):
        first, second = corners[(-index - 1) % 6], corners[(-index - 2) % 6]
        canvas.polygon([(50, 50), first, second], fill, EDGE, 0.6)
        x, y = (50 + first[0] + second[0]) / 3, (50 + first[1] + second[1]) / 3
        canvas.text((x, y), word, 10)


def _draw_hexagon(canvas: Canvas, scene: Scene) -> None:
    parts = scene["values"][0]
    _wedges(canvas, [colour(part) for part in parts], [HIDDEN if part == HIDDEN else "" for part in parts])


def _pose_sums(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Numbers of one colour add up to the same sum; the colours that are seen whole show which."""
    colours = _pairs(rng, list(COLOURS), rng.choice(list(COLOURS)))
    total = int(answer) + rng.choice(_DIGITS)
    hidden = rng.randrange(6)
    values: list[Part] = [0] * 6
    for name in dict.fromkeys(colours):
        first, second = (index for index, one in enumerate(colours) if one == name)
        values[first] = rng.choice([number for number in _DIGITS if total - number in _DIGITS])
        values[second] = total - int(values[first])
    partner = _partner(colours, hidden)
    values[hidden], values[partner] = HIDDEN, total - int(answer)
    return {"values": [values], "answer": answer, "colours": list(colours)}


def _partner(colours: Sequence[Part], index: int) -> int:
    return next(other for other, name in enumerate(colours) if name == colours[index] and other != index)


def _change_sums(scene: Scene, new: Part) -> Scene | None:
    """The other number of the same colour changes with it."""
    _, hidden = hidden_at(scene)
    partner = _partner(scene["colours"], hidden)
    values = list(scene["values"][0])
    values[partner] += int(scene["answer"]) - int(new)
    return scene | {"values": [values], "answer": new} if values[partner] in _DIGITS else None


def _read_sums(caption: str, question: str, answer: Part) -> Scene:
    colours, numbers = lists(caption)
    return {"values": [numbers], "answer": answer, "colours": colours}


def _draw_sums(canvas: Canvas, scene: Scene) -> None:
    _wedges(canvas, [colour(name) for name in scene["colours"]], [str(part) for part in scene["values"][0]])


def _heaped(parts: Sequence[Part]) -> list[list[Part]]:
    return [list(parts[:1]), list(parts[1:3]), list(parts[3:])]


def _pose_coloured(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    heap = _heaped(_pairs(rng, list(COLOURS), answer))
    return _with_sides(hide_one(rng, heap, answer), rng)


def _with_sides(scene: Scene, rng: Random) -> Scene:
    """Polygons of the same colour have the same number of sides, those of others have not."""
    parts = [scene["answer"] if part == HIDDEN else part for part in flat(scene)]
    sides = dict(zip(dict.fromkeys(parts), rng.sample(_SIDES, len(set(parts))), strict=True))
    return scene | {"sides": [sides[part] for part in parts]}


def _read_coloured(caption: str, question: str, answer: Part) -> Scene:
    """Captions do not say which polygons there are, so any that fit will do."""
    return _with_sides(read_rows(3)(caption, question, answer), Random(caption))


def _draw_coloured(canvas: Canvas, scene: Scene) -> None:
    for part, sides, at in zip(flat(scene), scene["sides"], _HEAP, strict=True):
        regular(canvas, at, 12, sides, colour(part))
        if part == HIDDEN:
            canvas.text(at, HIDDEN, 10)


def _pose_polygons(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    heap = _heaped(rng.sample([answer, *others(rng, _POLYGONS, answer, 5)], 6))
    return hide_one(rng, heap, answer)


def _draw_polygons(canvas: Canvas, scene: Scene) -> None:
    for part, at in zip(flat(scene), _HEAP, strict=True):
        regular(canvas, at, 12, int(scene["answer"] if part == HIDDEN else part), "#d9d2e9")
        canvas.text(at, str(part), 9)


def _in_heap(things: str) -> Callable[[Scene], str]:
    def say(scene: Scene) -> str:
        top, middle, bottom = scene["values"]
        return f"A heap of {things}: {top} on top, {middle} below, and {bottom} at the bottom."

    return say


def _pose_bars(rng: Random, lengths: Sequence[str], own: str, names: dict[str, Part]) -> Scene:
    """Six bars in pairs of three lengths, then the hidden one."""
    row = [*rng.sample([*lengths, *lengths], 6), own]
    values = [names[length] for length in row[:-1]]
    return {"values": [[*values, HIDDEN]], "answer": names[own], "lengths": row}


def _pose_coloured_bars(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    lengths = rng.sample(_LENGTHS[:3], 3)
    names = dict(zip(lengths, [answer, *others(rng, list(COLOURS), answer, 2)], strict=True))
    return _pose_bars(rng, lengths, lengths[0], names)


def _pose_numbered_bars(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    own = _LENGTHS[int(answer) - 1]
    lengths = [own, *map(str, others(rng, _LENGTHS, own, 2))]
    return _pose_bars(rng, lengths, own, {length: _LENGTHS.index(length) + 1 for length in lengths})


def _change_numbered_bars(scene: Scene, new: Part) -> Scene | None:
    """The hidden bar gets the length of another number."""
    row = scene["values"][0]
    if new not in row:
        return None
    return scene | {"answer": new, "lengths": [*scene["lengths"][:-1], scene["lengths"][row.index(new)]]}


def _read_bars(lengths_first: bool) -> Callable[[str, str, Part], Scene]:
    def read(caption: str, question: str, answer: Part) -> Scene:
        lengths, values = lists(caption) if lengths_first else reversed(lists(caption))
        return {"values": [values], "answer": answer, "lengths": lengths}

    return read


def _draw_bars(canvas: Canvas, scene: Scene) -> None:
    heights = dict(zip(_LENGTHS, (24.0, 44.0, 64.0, 84.0), strict=True))
    for index, (part, length) in enumerate(zip(scene["values"][0], scene["lengths"], strict=True)):
        x, half = 8 + 12 * index, heights[length] / 2
        fill = colour(part) if isinstance(scene["answer"], str) else "#d9ead3"
        canvas.box((x, 50 - half), (x + 11, 50 + half), fill, EDGE, 0.5)
        if not isinstance(part, str) or part == HIDDEN:
            canvas.text((x + 5.5, 50), str(part), 9)


def _pose_around(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Three shapes twice around a hidden one, each shape with a size of its own."""
    shapes = rng.sample(list(SHAPES), 3)
    sizes = dict(zip(shapes, [answer, *rng.sample([one for one in SIZES if one != answer], 2)], strict=True))
    own, ring = shapes[0], rng.sample(shapes, 3) * 2
    return {"values": [[sizes[shape] for shape in ring], [HIDDEN]], "answer": answer, "shapes": ring, "of": own}


def _read_around(caption: str, question: str, answer: Part) -> Scene:
    shapes, sizes = lists(caption)
    own = next(shape for shape in SHAPES if shape in question)
    return {"values": [sizes, [HIDDEN]], "answer": answer, "shapes": shapes, "of": own}


def _draw_around(canvas: Canvas, scene: Scene) -> None:
    spots: list[Point] = around((50, 50), 34, 6, 0)
    for index, (shape, size) in enumerate(zip(scene["shapes"], scene["values"][0], strict=True)):
        regular(
            canvas, spots[-index % 6], {"small": 5.0, "medium": 9.5, "large": 15.0}[size], SHAPES[shape], "#fce5cd"
        )
    canvas.text((50, 50), HIDDEN, 14)


def _same_sums(scene: Scene) -> bool:
    sums: dict[str, int] = {}
    for index, name in enumerate(scene["colours"]):
        sums[name] = sums.get(name, 0) + int(shown(scene, 0, index))
    return len(set(sums.values())) == 1


PUZZLES = (
    Puzzle(
        "circle_size_number",
        any_of(range(1, 7)),
        _pose_circles,
        swapped,
        read_rows(1),
        lambda scene: f"Six circles in a ring, the larger the higher their numbers: {scene['values'][0]}, clockwise.",
        _draw_circles,
        holds=paired_up,
    ),
    Puzzle(
        "color_hexagon",
        any_of(tuple(COLOURS)),
        _pose_hexagon,
        swapped,
        read_rows(1),
        lambda scene: f"A hexagon in six parts, anti-clockwise {scene['values'][0]}.",
        _draw_hexagon,
        holds=alike(lambda scene: [0, 1, 2] * 2),
    ),
    Puzzle(
        "color_number_hexagon",
        any_of(_DIGITS),
        _pose_sums,
        _change_sums,
        _read_sums,
        lambda scene: (
            f"A hexagon in six parts, anti-clockwise {scene['colours']}, with the numbers {scene['values'][0]}."
        ),
        _draw_sums,
        holds=_same_sums,
    ),
    Puzzle(
        "polygon_sides_color",
        any_of(tuple(COLOURS)),
        _pose_coloured,
        swapped,
        _read_coloured,
        _in_heap("colored polygons"),
        _draw_coloured,
        holds=paired_up,
    ),
    Puzzle(
        "polygon_sides_number",
        any_of(_POLYGONS),
        _pose_polygons,
        swapped,
        read_rows(3),
        _in_heap("polygons with numbers"),
        _draw_polygons,
        holds=lambda scene: scene["answer"] not in flat(scene),
    ),
    Puzzle(
        "rectangle_height_color",
        any_of(tuple(COLOURS)),
        _pose_coloured_bars,
        swapped,
        _read_bars(lengths_first=True),
        lambda scene: f"Seven bars, their lengths {scene['lengths']} and their colors {scene['values'][0]}.",
        _draw_bars,
        holds=alike(lambda scene: scene["lengths"]),
    ),
    Puzzle(
        "rectangle_height_number",
        any_of((1, 2, 3, 4)),
        _pose_numbered_bars,
        _change_numbered_bars,
        _read_bars(lengths_first=False),
        lambda scene: f"Seven bars with the numbers {scene['values'][0]}, their lengths {scene['lengths']}.",
        _draw_bars,
        holds=alike(lambda scene: scene["lengths"]),
    ),
    Puzzle(
        "shape_size_hexagon",
        any_of(SIZES, 3),
        _pose_around,
        swapped,
        _read_around,
        lambda scene: f"Around a hidden {scene['of']} stand {scene['shapes']} of sizes {scene['values'][0]}.",
        _draw_around,
        holds=alike(lambda scene: [*scene["shapes"], scene["of"]]),
    ),
)
