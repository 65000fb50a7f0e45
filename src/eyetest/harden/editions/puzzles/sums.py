"""Puzzles in which two parts make a third: numbers that add up or multiply, colours that mix, shapes that morph."""

import math
import re
from collections.abc import Sequence
from random import Random

from PIL import Image as Pillow
from PIL import ImageChops, ImageDraw

from eyetest.harden.editions.puzzles.puzzle import (
    COLOURS,
    EDGE,
    HIDDEN,
    NO_COLOUR,
    SHAPES,
    Part,
    Puzzle,
    Scene,
    alike,
    any_of,
    colour,
    disc,
    hidden_at,
    hide,
    lists,
    others,
    read_rows,
    regular,
    swapped,
)
from eyetest.world.canvas import Canvas, Point, around

_DIGITS = range(1, 10)
_MIXED = {
    frozenset({"red", "yellow"}): "orange",
    frozenset({"red", "blue"}): "purple",
    frozenset({"blue", "yellow"}): "green",
}
_PRIMARY = ("red", "yellow", "blue")
_SHADES = ("very light", "light", "medium", "dark", "very dark")
_RINGS = ("small", "medium", "large", "extra large")
_MORPHING = (*SHAPES, "circle")
_ENDS = re.compile(r"top left (?:shape )?is an? (\S+).*bottom right (?:shape )?(?:is )?an? (\S+?)\.", re.DOTALL)
_PALE = "#cfe2f3"


def _pose_venn(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    numbers = [rng.choice(_DIGITS) for _ in range(3)]
    hidden = rng.choice((0, 2))
    numbers[hidden] = int(answer)
    sums = [numbers[0] + numbers[1], numbers[1] + numbers[2]]
    return hide([numbers], 0, hidden) | {"sums": sums}


def _whole(scene: Scene, new: Part) -> list[int]:
    return [int(new) if part == HIDDEN else part for part in scene["values"][0]]


def _change_venn(scene: Scene, new: Part) -> Scene | None:
    first, second, third = _whole(scene, new)
    return scene | {"answer": new, "sums": [first + second, second + third]} if int(new) in _DIGITS else None


def _read_venn(caption: str, question: str, answer: Part) -> Scene:
    scene = read_rows(1)(caption, question, answer)
    first, second, third = _whole(scene, answer)
    return scene | {"sums": [first + second, second + third]}


def _draw_venn(canvas: Canvas, scene: Scene) -> None:
    for x in (24, 50, 76):
        canvas.disc((x, 50), 21, _PALE)
    for x in (24, 50, 76):
        canvas.disc((x, 50), 21, None, EDGE, 0.4)
    for x, part in zip((20, 37, 50, 63, 80), _interleaved(scene), strict=True):
        canvas.text((x, 50), str(part), 8)


def _interleaved(scene: Scene) -> list[Part]:
    (first, second, third), (left, right) = scene["values"][0], scene["sums"]
    return [first, left, second, right, third]


def _pose_products(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Three groups whose last number is the product of the others; no other sum than 2 × 2 looks like one."""
    groups = [_group(rng) for _ in range(3)]
    row, hidden = rng.randrange(3), rng.choice((0, 1)) if max(int(one) for one in options) <= 9 else 2
    if hidden == 2:
        groups[row] = rng.choice(_factors(int(answer)))
    else:
        groups[row][hidden] = int(answer)
        groups[row][2] = groups[row][0] * groups[row][1]
    return hide(groups, row, hidden)


def _group(rng: Random) -> list[int]:
    a, b = rng.choice(_DIGITS), rng.choice(_DIGITS)
    return [a, b, a * b] if (a, b) != (2, 2) else _group(rng)


def _factors(number: int) -> list[list[int]]:
    return [[a, number // a, number] for a in _DIGITS if number % a == 0 and number // a in _DIGITS and number != 4]


def _change_products(scene: Scene, new: Part) -> Scene | None:
    row, hidden = hidden_at(scene)
    values = [list(group) for group in scene["values"]]
    if hidden == 2:
        ways = _factors(int(new))
        kept = [way for way in ways if set(way[:2]) & set(values[row][:2])] or ways
        if not kept:
            return None
        values[row] = [*kept[0][:2], HIDDEN]
    elif int(new) in _DIGITS:
        values[row][2] = values[row][1 - hidden] * int(new)
    else:
        return None
    return scene | {"values": values, "answer": new}


def _product_options(rng: Random) -> Sequence[Part]:
    """Numbers below ten, or products that are not."""
    if rng.random() < 2 / 3:
        return rng.sample(list(_DIGITS), 4)
    return rng.sample([number for number in range(10, 82) if _factors(number)], 4)


def _draw_products(canvas: Canvas, scene: Scene) -> None:
    for group, (x, y) in zip(scene["values"], ((26, 18), (26, 62), (64, 40)), strict=True):
        spots = ((x, y), (x, y + 20), (x + 18, y + 10))
        canvas.line([*spots, spots[0]], EDGE, 0.5)
        for part, at in zip(group, spots, strict=True):
            disc(canvas, at, 7, _PALE)
            canvas.text(at, str(part), 8)


def _pose_mixed(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    middle, other = rng.sample([one for one in _PRIMARY if one != answer], 2)
    row: list[Part] = [other, middle, answer]
    if rng.random() < 0.5:
        row.reverse()
    return _with_overlaps(hide([row], 0, row.index(answer)))


def _mixed_options(rng: Random) -> Sequence[Part]:
    second = rng.choice([one for one in COLOURS if one not in _PRIMARY])
    return rng.sample([*_PRIMARY, second], 4)


def _with_overlaps(scene: Scene) -> Scene:
    first, middle, last = (scene["answer"] if part == HIDDEN else part for part in scene["values"][0])
    return scene | {"overlaps": [_MIXED[frozenset({first, middle})], _MIXED[frozenset({middle, last})]]}


def _read_mixed(caption: str, question: str, answer: Part) -> Scene:
    return _with_overlaps(read_rows(1)(caption, question, answer))


def _change_mixed(scene: Scene, new: Part) -> Scene | None:
    fits = new in _PRIMARY and scene["values"][0][1] not in (HIDDEN, new)
    return _with_overlaps(scene | {"answer": new}) if fits else None


def _draw_mixed(canvas: Canvas, scene: Scene) -> None:
    lower, upper = around((28, 69), 26, 4), around((72, 31), 26, 4)
    middle: list[Point] = [(34, 34), (66, 34), (66, 66), (34, 66)]
    first, second, third = scene["values"][0]
    for points, part in ((lower, first), (upper, third), (middle, second)):
        canvas.polygon(points, colour(part))
    for points, mixed in zip((lower, upper), scene["overlaps"], strict=True):
        _fill_overlap(canvas, points, middle, COLOURS[mixed])
    for points in (lower, upper, middle):
        canvas.polygon(points, None, EDGE, 0.5)
    for part, at in zip((first, second, third), ((22, 74), (50, 50), (78, 26)), strict=True):
        if part == HIDDEN:
            canvas.text(at, HIDDEN, 10)


def _fill_overlap(canvas: Canvas, one: list[Point], other: list[Point], fill: str) -> None:
    masks = []
    for points in (one, other):
        mask = Pillow.new("L", canvas.image.size)
        ImageDraw.Draw(mask).polygon([(x * canvas.scale, y * canvas.scale) for x, y in points], 255)
        masks.append(mask)
    canvas.image.paste(fill, (0, 0), ImageChops.multiply(*masks))


def _shade_options(rng: Random) -> Sequence[Part]:
    hues = rng.sample(list(COLOURS), 2)
    return rng.sample([f"{shade} {hue}" for shade in ("light", "dark") for hue in hues], 4)


def _pose_shades(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Rings that get lighter or darker outwards, the innermost hidden."""
    rings = rng.sample(_RINGS, 4)
    return _shaded(rings, str(answer))


def _shaded(rings: Sequence[str], answer: str) -> Scene:
    shade, _, hue = answer.partition(" ")
    steps = _SHADES[1:] if shade == "light" else _SHADES[3::-1]
    colours = [HIDDEN if ring == _RINGS[0] else f"{steps[_RINGS.index(ring)]} {hue}" for ring in rings]
    return {"values": [colours], "answer": answer, "rings": list(rings)}


def _change_shades(scene: Scene, new: Part) -> Scene | None:
    """The same hue the other way round."""
    shades = (shade for shade in ("light", "dark") if f"{shade} {scene['answer'].split()[-1]}" == new)
    return _shaded(scene["rings"], str(new)) if any(shades) else None


def _read_shades(caption: str, question: str, answer: Part) -> Scene:
    rings, colours = lists(caption)
    if sorted(rings) != sorted(_RINGS) or _shaded(rings, str(answer))["values"][0] != colours:
        raise ValueError(caption)
    return _shaded(rings, str(answer))


def _draw_shades(canvas: Canvas, scene: Scene) -> None:
    for ring, radius in zip(_RINGS[::-1], (44, 33, 22, 11), strict=True):
        part = scene["values"][0][scene["rings"].index(ring)]
        disc(canvas, (50, 50), radius, NO_COLOUR if part == HIDDEN else _shade(part))
    canvas.text((50, 50), HIDDEN, 11)


def _shade(part: str) -> str:
    """A hue nearer to white or to black."""
    shade, _, hue = part.rpartition(" ")
    mix = dict(zip(_SHADES, (0.72, 0.45, 0.0, -0.25, -0.5), strict=True))[shade]
    rgb = [int(COLOURS[hue][start : start + 2], 16) for start in (1, 3, 5)]
    toned = [value + (255 - value) * mix if mix > 0 else value * (1 + mix) for value in rgb]
    return "#" + "".join(f"{round(value):02x}" for value in toned)


def _pose_morph(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    ends: list[Part] = [answer, *others(rng, _MORPHING, answer, 1)]
    hidden = rng.randrange(2)
    if hidden:
        ends.reverse()
    return hide([ends], 0, hidden)


def _read_morph(caption: str, question: str, answer: Part) -> Scene:
    ends = _ENDS.search(caption)
    if ends is None or HIDDEN not in ends.groups():
        raise ValueError(caption)
    return {"values": [list(ends.groups())], "answer": answer}


def _change_morph(scene: Scene, new: Part) -> Scene | None:
    return scene | {"answer": new} if new not in scene["values"][0] else None


def _draw_morph(canvas: Canvas, scene: Scene) -> None:
    """Eight steps from one corner to the other; the hidden end is a question mark."""
    first, last = (scene["answer"] if part == HIDDEN else part for part in scene["values"][0])
    hidden = (0, 0) if scene["values"][0][0] == HIDDEN else (2, 2)
    for row in range(3):
        for column in range(3):
            at = 20 + 30.0 * column, 20 + 30.0 * row
            if (row, column) == hidden:
                canvas.text(at, HIDDEN, 12)
            elif (row, column) != (1, 1):
                share = (row + column) / 4
                canvas.polygon(_between(at, str(first), str(last), share), "#f4cccc", EDGE, 0.5)


def _between(at: Point, first: str, last: str, share: float) -> list[Point]:
    points = []
    for degree in range(0, 360, 3):
        reach = (1 - share) * _reach(first, degree) + share * _reach(last, degree)
        turn = math.radians(degree - 90)
        points.append((at[0] + 12 * reach * math.cos(turn), at[1] + 12 * reach * math.sin(turn)))
    return points


def _reach(shape: str, degree: float) -> float:
    """How far a shape of radius 1 goes in a direction; one of its corners is at 0 degrees."""
    if shape not in SHAPES:
        return 1.0
    sector = 360 / SHAPES[shape]
    return math.cos(math.radians(sector / 2)) / math.cos(math.radians(degree % sector - sector / 2))


def _pose_mirrored(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    row = rng.sample([answer, *others(rng, list(SHAPES), answer, 2)], 3)
    return hide([row, list(row)], rng.randrange(2), row.index(answer))


def _draw_mirrored(canvas: Canvas, scene: Scene) -> None:
    canvas.line([(8, 50), (92, 50)], EDGE, 0.6)
    for row, y in ((0, 30), (1, 70)):
        for column, x in enumerate((22, 50, 78)):
            part = scene["values"][row][column]
            if part == HIDDEN:
                canvas.disc((x, y), 12, None, "#9a9a9a", 0.5)
                canvas.text((x, y), HIDDEN, 10)
            else:
                sides = SHAPES[part]
                turn = (-90.0 if sides % 2 else -90 + 180 / sides) * (-1 if row else 1)
                regular(canvas, (x, y), 12, sides, "#d9ead3", turn)


PUZZLES = (
    Puzzle(
        "venn",
        any_of(_DIGITS),
        _pose_venn,
        _change_venn,
        _read_venn,
        lambda scene: (
            f"Three circles that overlap, with the numbers {scene['values'][0]}; the first two share "
            f"{scene['sums'][0]}, the last two {scene['sums'][1]}."
        ),
        _draw_venn,
    ),
    Puzzle(
        "triangle",
        _product_options,
        _pose_products,
        _change_products,
        read_rows(3),
        lambda scene: "Three groups of three numbers: {}, {} and {}.".format(*scene["values"]),
        _draw_products,
    ),
    Puzzle(
        "color_overlap_squares",
        _mixed_options,
        _pose_mixed,
        _change_mixed,
        _read_mixed,
        lambda scene: (
            f"Three squares in a row overlap: {scene['values'][0]}. The first two make {scene['overlaps'][0]}, "
            f"the last two {scene['overlaps'][1]}."
        ),
        _draw_mixed,
        lambda option: option in _PRIMARY,
    ),
    Puzzle(
        "color_size_circle",
        _shade_options,
        _pose_shades,
        _change_shades,
        _read_shades,
        lambda scene: f"Circles in each other, their sizes {scene['rings']} and colors {scene['values'][0]}.",
        _draw_shades,
    ),
    Puzzle(
        "shape_morph",
        any_of(_MORPHING),
        _pose_morph,
        _change_morph,
        _read_morph,
        lambda scene: (
            "Eight shapes in a grid, one becoming another: the top left is a {} and the bottom right a {}.".format(
                *scene["values"][0]
            )
        ),
        _draw_morph,
    ),
    Puzzle(
        "shape_reflect",
        any_of(tuple(SHAPES)),
        _pose_mirrored,
        swapped,
        read_rows(2),
        lambda scene: "Shapes above a line, {}, and below it, {}.".format(*scene["values"]),
        _draw_mirrored,
        holds=alike(lambda scene: [0, 1, 2] * 2),
    ),
)
