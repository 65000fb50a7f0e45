"""Shapes and how they are filled: what most scenes are made of."""

import math
from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas, Point, around

SHAPES = ("circle", "square", "triangle", "star", "heart", "cross", "diamond", "ring")
PATTERNS = ("plain", "striped", "dotted", "checked")
_PALE = "#ffffff"


def _heart() -> list[Point]:
    turns = [2 * math.pi * step / 40 for step in range(40)]
    across = [1.024 * math.sin(t) ** 3 for t in turns]
    up = [13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t) for t in turns]
    return [(x, -0.064 * y) for x, y in zip(across, up, strict=True)]


def _star() -> list[Point]:
    pairs = zip(around((0, 0), 1.1, 5), around((0, 0), 0.48, 5, -54), strict=True)
    return [point for pair in pairs for point in pair]


def _cross() -> list[Point]:
    arm = [(-0.36, -1.0), (0.36, -1.0), (0.36, -0.36)]
    turned = [(arm, 1, 0), (arm, 0, 1), (arm, -1, 0), (arm, 0, -1)]
    return [(x * cos - y * sin, x * sin + y * cos) for points, cos, sin in turned for x, y in points]


_OUTLINES: dict[str, list[Point]] = {
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "triangle": around((0, 0.15), 1.1, 3),
    "diamond": [(0, -1.1), (0.75, 0), (0, 1.1), (-0.75, 0)],
    "star": _star(),
    "cross": _cross(),
    "heart": _heart(),
    "circle": around((0, 0), 1, 48),
    "ring": around((0, 0), 1, 48),
}
"""Corners of shapes of radius 1; curves are many corners."""


def outline(shape: str, centre: Point, radius: float) -> list[Point]:
    """The corners of a shape."""
    return [(centre[0] + radius * x, centre[1] + radius * y) for x, y in _OUTLINES[shape]]


def draw_shape(canvas: Canvas, shape: str, centre: Point, radius: float, colour: str, pattern: str = "plain") -> None:
    """A shape in a colour by name, plain or with a pattern."""
    fill = COLOURS.get(colour, colour)
    points = outline(shape, centre, radius)
    if shape == "ring":
        canvas.disc(centre, radius, fill)
        canvas.disc(centre, radius * 0.52, "#ffffff")
        return
    if pattern == "outlined":
        canvas.polygon(points, None, fill, 1.6)
        return
    canvas.polygon(points, fill)
    if pattern != "plain":
        _cover(canvas, points, centre, radius, pattern)
        canvas.polygon(points, None, fill, 1.4)


def _cover(canvas: Canvas, points: list[Point], centre: Point, radius: float, pattern: str) -> None:
    """Lay a pattern in white over a shape, only where the shape is."""
    over = Canvas(canvas.size, "#000000")
    over.polygon(points, "#ffffff")
    mask = over.image.convert("1")
    sheet = Canvas(canvas.size)
    sheet.paste(canvas)
    x, y = centre
    gap = max(radius * 0.42, 3.2)
    steps = range(-4, 5)
    if pattern == "striped":
        for step in steps:
            sheet.line([(x - radius * 1.5, y + step * gap), (x + radius * 1.5, y + step * gap)], _PALE, gap * 0.42)
    elif pattern == "dotted":
        for row in steps:
            for column in steps:
                sheet.disc((x + column * gap + (row % 2) * gap / 2, y + row * gap), gap * 0.27, _PALE)
    else:
        for row in steps:
            for column in steps:
                if (row + column) % 2:
                    corner = (x + column * gap - gap / 2, y + row * gap - gap / 2)
                    sheet.box(corner, (corner[0] + gap, corner[1] + gap), _PALE)
    canvas.image.paste(sheet.image, mask=mask)


def scattered(rng: Random, count: int, radius: float = 9, edge: float = 4) -> list[tuple[float, float]]:
    """Points that keep their distance from each other, anywhere on the canvas."""
    low, high = radius + edge, 100 - radius - edge
    for shrink in (1.0, 0.94, 0.88, 0.82, 0.76):
        for _ in range(12):
            points: list[tuple[float, float]] = []
            for _ in range(count * 30):
                point = (round(rng.uniform(low, high), 1), round(rng.uniform(low, high), 1))
                if all(math.dist(point, other) >= 2.35 * radius * shrink for other in points):
                    points.append(point)
                if len(points) == count:
                    return points
    raise AssertionError(f"{count} things of radius {radius} do not fit")


def label(canvas: Canvas, centre: Point, words: str, radius: float = 7, fill: str = "#ffffff") -> None:
    """A letter in a circle: a box of a diagram, a stop on a map."""
    canvas.disc(centre, radius, fill, INK, 1.3)
    canvas.text(centre, words, radius * 1.55)
