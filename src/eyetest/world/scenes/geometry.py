"""Corners, angles and areas."""

import math
from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas, around
from eyetest.world.posing import Kind, Knobs, Posed, Scene, near, one_of

ANGLES = {"acute": (25, 65), "right": (90, 90), "obtuse": (115, 155), "straight": (180, 180)}


def draw_polygon(canvas: Canvas, scene: Scene) -> None:
    """One polygon, its corners not quite regular."""
    rng = Random(scene["seed"])
    turns = around((50, 50), 1, scene["corners"], rng.uniform(0, 360))
    points = [(50 + (x - 50) * (far := rng.uniform(33, 42)), 50 + (y - 50) * far) for x, y in turns]
    canvas.polygon(points, COLOURS[scene["colour"]], INK, 1.4)


def _corners(rng: Random, knobs: Knobs) -> Posed:
    numbers = near(rng, 3, 8, rng.choice((3, 4, 4, 5)))
    options, right = one_of(rng, [str(number) for number in numbers], knobs)
    scene = {"corners": numbers[right[0]], "seed": rng.randrange(10**6), "colour": rng.choice(list(COLOURS))}
    return Posed(options, right, {}, scene)


def draw_angle(canvas: Canvas, scene: Scene) -> None:
    """Two rays from a point, with the angle between them marked."""
    wide = scene["degrees"]
    middle = math.radians(scene["turn"])
    corner = (50 - 22 * math.cos(middle) * (wide < 150), 50 - 22 * math.sin(middle) * (wide < 150))
    for side in (-0.5, 0.5):
        ray = math.radians(scene["turn"] + side * wide)
        canvas.line([corner, (corner[0] + 46 * math.cos(ray), corner[1] + 46 * math.sin(ray))], INK, 2.6)
    bounds = (scene["turn"] - wide / 2, scene["turn"] + wide / 2)
    canvas.arc(corner, 15, bounds, COLOURS[scene["colour"]], 2.6)
    canvas.disc(corner, 2.4, INK)


def _angle(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, tuple(ANGLES), knobs)
    low, high = ANGLES[options[right[0]]]
    scene = {"degrees": rng.randint(low, high), "turn": rng.randrange(0, 360, 5), "colour": rng.choice(list(COLOURS))}
    return Posed(options, right, {}, scene)


def draw_area(canvas: Canvas, scene: Scene) -> None:
    """A board of squares, some of them filled."""
    cell = 84 / 5
    filled = {tuple(one) for one in scene["filled"]}
    for row in range(5):
        for column in range(5):
            left, top = 8 + column * cell, 8 + row * cell
            fill = COLOURS[scene["colour"]] if (column, row) in filled else "#ffffff"
            canvas.box((left, top), (left + cell, top + cell), fill, "#8a8a8a", 0.7)


def _area(rng: Random, knobs: Knobs) -> Posed:
    numbers = near(rng, 3, 6 + 2 * knobs.crowd)
    options, right = one_of(rng, [str(number) for number in numbers], knobs)
    filled = [(rng.randrange(5), rng.randrange(5))]
    while len(filled) < numbers[right[0]]:
        x, y = rng.choice(filled)
        ways = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        new = rng.choice(ways)
        if new not in filled and all(0 <= coordinate < 5 for coordinate in new):
            filled.append(new)
    return Posed(
        options, right, {}, {"filled": [list(one) for one in sorted(filled)], "colour": rng.choice(list(COLOURS))}
    )


KINDS = (
    Kind("corners", "geometry", _corners, draw_polygon),
    Kind("angle", "geometry", _angle, draw_angle),
    Kind("area", "geometry", _area, draw_area),
)
