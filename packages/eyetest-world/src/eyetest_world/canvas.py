"""A canvas of 100 × 100 units, whatever its size in pixels, with shapes, patterns and icons to draw on it.

Everything is drawn three times as large and then reduced, so that edges are smooth and small images stay legible.
"""

import io
import math
from collections.abc import Callable
from functools import cache
from itertools import chain, product
from random import Random

from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

Point = tuple[float, float]
_FINER = 3
PAPERS = ("#fdfaf2", "#f3f8fd", "#f6fbf3", "#fdf4f4", "#f7f4fc", "#fbf8e9", "#eef7f6", "#f8f8f8")
_SPECKLES = ("#ece3cf", "#dfe7ee", "#e3ecdd", "#efdede", "#e4deee", "#e6e6e6")
INK = "#2b2b2b"

COLOURS = {
    "red": "#d8303c",
    "orange": "#f58a1f",
    "yellow": "#f1cf1d",
    "green": "#2f9e4a",
    "blue": "#2a62c9",
    "purple": "#8440a8",
    "pink": "#f391c4",
    "brown": "#7c4a23",
    "black": "#222222",
}


@cache
def _font(pixels: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=pixels)


class Canvas:
    """An image while it is being drawn. Sizes and places are in units; colours are hex values."""

    def __init__(self, size: int, paper: str = "#ffffff") -> None:
        self.size = size
        self.scale = size * _FINER / 100
        self.image = Pillow.new("RGB", (size * _FINER, size * _FINER), paper)
        self._draw = ImageDraw.Draw(self.image)

    def speckle(self, rng: Random, count: int = 26) -> None:
        """Faint specks all over the paper: no two images are the same, also where they show the same."""
        for _ in range(count):
            self.disc((rng.uniform(0, 100), rng.uniform(0, 100)), rng.uniform(0.8, 2.4), rng.choice(_SPECKLES))

    def disc(self, centre: Point, radius: float, fill: str | None, edge: str | None = None, width: float = 1) -> None:
        """A filled circle, or its edge."""
        self.oval(centre, (radius, radius), fill, edge, width)

    def oval(self, centre: Point, radii: Point, fill: str | None, edge: str | None = None, width: float = 1) -> None:
        """An ellipse along the axes."""
        (x, y), (a, b) = centre, radii
        self._draw.ellipse(self._box(x - a, y - b, x + a, y + b), fill, edge, self._width(width) if edge else 1)

    def box(self, start: Point, end: Point, fill: str | None, edge: str | None = None, width: float = 1) -> None:
        """A rectangle along the axes, from its left top to its right bottom."""
        self._draw.rectangle(self._box(*start, *end), fill, edge, self._width(width) if edge else 1)

    def polygon(self, points: list[Point], fill: str | None, edge: str | None = None, width: float = 1) -> None:
        """Any polygon."""
        scaled = [(x * self.scale, y * self.scale) for x, y in points]
        if fill:
            self._draw.polygon(scaled, fill)
        if edge:
            self._draw.line([*scaled, scaled[0], scaled[1]], edge, self._width(width), joint="curve")

    def line(self, points: list[Point], colour: str = INK, width: float = 1) -> None:
        """A line through some points."""
        scaled = [(x * self.scale, y * self.scale) for x, y in points]
        self._draw.line(scaled, colour, self._width(width), joint="curve")

    def arc(self, centre: Point, radius: float, degrees: Point, colour: str = INK, width: float = 1) -> None:
        """Part of a circle; 0° is to the right, and angles grow clockwise."""
        x, y = centre
        corners = self._box(x - radius, y - radius, x + radius, y + radius)
        self._draw.arc(corners, *degrees, colour, self._width(width))

    def slice(self, centre: Point, radius: float, degrees: Point, fill: str) -> None:
        """A piece of pie."""
        x, y = centre
        corners = self._box(x - radius, y - radius, x + radius, y + radius)
        self._draw.pieslice(corners, *degrees, fill, "#ffffff", self._width(0.8))

    def arrow(self, start: Point, end: Point, colour: str = INK, width: float = 1.6, head: float = 6) -> None:
        """A line with a head at its end."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        neck = (end[0] - head * 0.8 * math.cos(angle), end[1] - head * 0.8 * math.sin(angle))
        self.line([start, neck], colour, width)
        sides = (angle + 0.45, angle - 0.45)
        wings = [(end[0] - head * math.cos(side), end[1] - head * math.sin(side)) for side in sides]
        self.polygon([end, *wings], colour)

    def text(self, centre: Point, words: str, height: float, colour: str = INK) -> None:
        """Words with their middle at a point; ``height`` is about that of a line."""
        font = _font(max(6, round(height * self.scale)))
        point = (centre[0] * self.scale, centre[1] * self.scale)
        bold = max(1, round(height * self.scale * 0.035))
        self._draw.text(point, words, colour, font, "mm", stroke_width=bold, stroke_fill=colour)

    def fitted(self, centre: Point, words: str, height: float, width: float, colour: str = INK) -> None:
        """Words no wider than this."""
        extent = _font(100).getlength(words) / 100 * 1.08
        self.text(centre, words, min(height, width / max(extent, 0.1)), colour)

    def finished(self) -> Pillow.Image:
        """What was drawn, in its own size."""
        return self.image.reduce(_FINER)

    def _box(self, *corners: float) -> tuple[float, float, float, float]:
        left, top, right, bottom = (corner * self.scale for corner in corners)
        return left, top, right, bottom

    def _width(self, width: float) -> int:
        return max(1, round(width * self.scale))


def around(centre: Point, radius: float, corners: int, turn: float = -90) -> list[Point]:
    """The corners of a regular polygon, the first at ``turn`` degrees."""
    angles = [math.radians(turn + 360 * corner / corners) for corner in range(corners)]
    return [(centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)) for angle in angles]


def png(image: Pillow.Image) -> bytes:
    """An image as a PNG file."""
    data = io.BytesIO()
    image.save(data, "PNG", compress_level=6)
    return data.getvalue()


SHAPES = ("circle", "square", "triangle", "star", "heart", "cross", "diamond", "ring")
PATTERNS = ("plain", "striped", "dotted", "checked")
_PALE = "#ffffff"


def _heart() -> list[Point]:
    turns = [2 * math.pi * step / 40 for step in range(40)]
    across = [1.024 * math.sin(t) ** 3 for t in turns]
    up = [13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t) for t in turns]
    return [(x, -0.064 * y) for x, y in zip(across, up, strict=True)]


_ARM = [(-0.36, -1.0), (0.36, -1.0), (0.36, -0.36)]
_OUTLINES: dict[str, list[Point]] = {
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "triangle": around((0, 0.15), 1.1, 3),
    "diamond": [(0, -1.1), (0.75, 0), (0, 1.1), (-0.75, 0)],
    "star": list(chain(*zip(around((0, 0), 1.1, 5), around((0, 0), 0.48, 5, -54), strict=True))),
    "cross": [(x * c - y * s, x * s + y * c) for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1)) for x, y in _ARM],
    "heart": _heart(),
    "circle": around((0, 0), 1, 48),
    "ring": around((0, 0), 1, 48),
}
"""Corners of shapes of radius 1; curves are many corners."""


def draw_shape(canvas: Canvas, shape: str, centre: Point, radius: float, colour: str, pattern: str = "plain") -> None:
    """A shape in a colour by name, plain or with a pattern."""
    fill = COLOURS.get(colour, colour)
    points = [(centre[0] + radius * x, centre[1] + radius * y) for x, y in _OUTLINES[shape]]
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
    sheet.image.paste(canvas.image)
    x, y = centre
    gap = max(radius * 0.42, 3.2)
    steps = range(-4, 5)
    if pattern == "striped":
        for step in steps:
            sheet.line([(x - radius * 1.5, y + step * gap), (x + radius * 1.5, y + step * gap)], _PALE, gap * 0.42)
    else:
        for row, column in product(steps, steps):
            if pattern == "dotted":
                sheet.disc((x + column * gap + (row % 2) * gap / 2, y + row * gap), gap * 0.27, _PALE)
            elif (row + column) % 2:
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


Icon = Callable[[Canvas, float, float, float], None]


def _sun(c: Canvas, x: float, y: float, r: float) -> None:
    for tip in around((x, y), r, 8):
        c.line([(x, y), tip], "#f5a81f", r * 0.16)
    c.disc((x, y), r * 0.55, "#f7c71f")


def _cloud(c: Canvas, x: float, y: float, r: float) -> None:
    for dx, dy, s in ((-0.5, 0.15, 0.42), (0, -0.15, 0.55), (0.5, 0.15, 0.42)):
        c.disc((x + dx * r, y + dy * r), s * r, "#9fb3c6")
    c.box((x - r * 0.5, y + r * 0.1), (x + r * 0.5, y + r * 0.57), "#9fb3c6")


def _umbrella(c: Canvas, x: float, y: float, r: float) -> None:
    c.line([(x, y), (x, y + r * 0.9)], INK, r * 0.12)
    c.slice((x, y + r * 0.1), r, (180, 360), "#b0338a")


def _fish(c: Canvas, x: float, y: float, r: float) -> None:
    c.polygon([(x + r * 0.4, y), (x + r, y - r * 0.5), (x + r, y + r * 0.5)], "#e8742c")
    c.oval((x - r * 0.15, y), (r * 0.8, r * 0.5), "#f2913f")
    c.disc((x - r * 0.55, y - r * 0.12), r * 0.11, INK)


def _boat(c: Canvas, x: float, y: float, r: float) -> None:
    c.line([(x, y + r * 0.3), (x, y - r)], INK, r * 0.12)
    c.polygon([(x + r * 0.1, y - r), (x + r * 0.1, y + r * 0.15), (x + r * 0.85, y + r * 0.15)], "#d8303c")
    hull = [(x - r, y + r * 0.3), (x + r, y + r * 0.3), (x + r * 0.6, y + r * 0.85), (x - r * 0.6, y + r * 0.85)]
    c.polygon(hull, "#6b4526")


def _anchor(c: Canvas, x: float, y: float, r: float) -> None:
    c.disc((x, y - r * 0.75), r * 0.22, None, "#3d5a80", r * 0.12)
    c.line([(x, y - r * 0.55), (x, y + r * 0.85)], "#3d5a80", r * 0.18)
    c.line([(x - r * 0.45, y - r * 0.25), (x + r * 0.45, y - r * 0.25)], "#3d5a80", r * 0.16)
    c.arc((x, y + r * 0.1), r * 0.78, (15, 165), "#3d5a80", r * 0.18)


def _flower(c: Canvas, x: float, y: float, r: float) -> None:
    c.line([(x, y), (x, y + r)], "#2f9e4a", r * 0.14)
    for petal in around((x, y - r * 0.2), r * 0.45, 6):
        c.disc(petal, r * 0.3, "#e0559b")
    c.disc((x, y - r * 0.2), r * 0.27, "#f7c71f")


def _tree(c: Canvas, x: float, y: float, r: float) -> None:
    c.box((x - r * 0.14, y + r * 0.2), (x + r * 0.14, y + r), "#7c4a23")
    c.disc((x, y - r * 0.25), r * 0.68, "#2f8a3e")


def _apple(c: Canvas, x: float, y: float, r: float) -> None:
    c.line([(x, y - r * 0.3), (x + r * 0.2, y - r)], "#6b4526", r * 0.14)
    c.disc((x - r * 0.25, y + r * 0.15), r * 0.6, "#cf2f35")
    c.disc((x + r * 0.25, y + r * 0.15), r * 0.6, "#cf2f35")
    c.oval((x + r * 0.5, y - r * 0.6), (r * 0.3, r * 0.15), "#2f9e4a")


def _note(c: Canvas, x: float, y: float, r: float) -> None:
    c.oval((x - r * 0.3, y + r * 0.6), (r * 0.4, r * 0.3), INK)
    c.line([(x + r * 0.05, y + r * 0.6), (x + r * 0.05, y - r * 0.85)], INK, r * 0.14)
    c.line([(x + r * 0.05, y - r * 0.8), (x + r * 0.65, y - r * 0.35)], INK, r * 0.22)


def _drum(c: Canvas, x: float, y: float, r: float) -> None:
    c.box((x - r * 0.8, y - r * 0.25), (x + r * 0.8, y + r * 0.6), "#c8452f")
    c.oval((x, y + r * 0.6), (r * 0.8, r * 0.28), "#c8452f")
    c.oval((x, y - r * 0.25), (r * 0.8, r * 0.28), "#f1e3c4", INK, r * 0.07)
    c.line([(x - r * 0.9, y - r), (x - r * 0.1, y - r * 0.3)], "#7c4a23", r * 0.13)


def _bell(c: Canvas, x: float, y: float, r: float) -> None:
    c.disc((x, y + r * 0.72), r * 0.2, "#8a6412")
    c.slice((x, y), r * 0.62, (180, 360), "#d8a31d")
    c.polygon([(x - r * 0.6, y - r * 0.05), (x + r * 0.6, y - r * 0.05), (x + r * 0.9, y + r * 0.6), (x - r * 0.9, y + r * 0.6)], "#d8a31d")  # fmt: skip  # noqa: E501


def _house(c: Canvas, x: float, y: float, r: float) -> None:
    c.box((x - r * 0.7, y - r * 0.1), (x + r * 0.7, y + r * 0.85), "#e8d3a8", INK, r * 0.06)
    c.polygon([(x - r * 0.95, y - r * 0.05), (x, y - r * 0.95), (x + r * 0.95, y - r * 0.05)], "#b5402f")
    c.box((x - r * 0.18, y + r * 0.3), (x + r * 0.18, y + r * 0.85), "#7c4a23")


def _key(c: Canvas, x: float, y: float, r: float) -> None:
    c.disc((x - r * 0.55, y), r * 0.38, None, "#b8860b", r * 0.2)
    c.line([(x - r * 0.2, y), (x + r * 0.95, y)], "#b8860b", r * 0.2)
    for tooth in (0.55, 0.85):
        c.line([(x + r * tooth, y), (x + r * tooth, y + r * 0.42)], "#b8860b", r * 0.18)


def _lamp(c: Canvas, x: float, y: float, r: float) -> None:
    c.polygon([(x - r * 0.4, y - r * 0.9), (x + r * 0.4, y - r * 0.9), (x + r * 0.8, y), (x - r * 0.8, y)], "#f5c542")
    c.line([(x, y), (x, y + r * 0.8)], "#5d6570", r * 0.15)
    c.line([(x - r * 0.5, y + r * 0.85), (x + r * 0.5, y + r * 0.85)], "#5d6570", r * 0.22)


def _ball(c: Canvas, x: float, y: float, r: float) -> None:
    c.disc((x, y), r * 0.85, "#ffffff", INK, r * 0.09)
    for start in (0, 120, 240):
        c.slice((x, y), r * 0.78, (start, start + 60), "#2a62c9")


def _kite(c: Canvas, x: float, y: float, r: float) -> None:
    c.line([(x, y + r * 0.4), (x + r * 0.3, y + r * 0.7), (x, y + r)], INK, r * 0.1)
    c.polygon([(x, y - r), (x + r * 0.6, y - r * 0.3), (x, y + r * 0.5), (x - r * 0.6, y - r * 0.3)], "#27a39a")
    c.line([(x, y - r), (x, y + r * 0.5)], "#ffffff", r * 0.09)


def _cup(c: Canvas, x: float, y: float, r: float) -> None:
    c.disc((x + r * 0.6, y + r * 0.1), r * 0.32, None, "#3b6ea5", r * 0.16)
    c.polygon([(x - r * 0.8, y - r * 0.5), (x + r * 0.6, y - r * 0.5), (x + r * 0.4, y + r * 0.8), (x - r * 0.6, y + r * 0.8)], "#4d8ccc")  # fmt: skip  # noqa: E501


ICONS: dict[str, Icon] = {
    "sun": _sun, "cloud": _cloud, "umbrella": _umbrella, "fish": _fish, "boat": _boat, "anchor": _anchor,
    "flower": _flower, "tree": _tree, "apple": _apple, "note": _note, "drum": _drum, "bell": _bell,
    "house": _house, "key": _key, "lamp": _lamp, "ball": _ball, "kite": _kite, "cup": _cup,
}  # fmt: skip


def draw_icon(canvas: Canvas, name: str, centre: Point, radius: float) -> None:
    """One of the icons."""
    ICONS[name](canvas, *centre, radius)
