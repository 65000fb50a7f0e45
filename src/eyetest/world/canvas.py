"""Something to draw on: a square of 100 × 100 units, whatever its size in pixels will be.

Everything is drawn three times as large and then reduced, so that edges are smooth and small pictures stay legible.
"""

import io
import math
from functools import cache
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
    """A picture while it is being drawn. Sizes and places are in units; colours are hex values."""

    def __init__(self, size: int, paper: str = "#ffffff") -> None:
        self.size = size
        self.scale = size * _FINER / 100
        self.image = Pillow.new("RGB", (size * _FINER, size * _FINER), paper)
        self._draw = ImageDraw.Draw(self.image)

    def speckle(self, rng: Random, count: int = 26) -> None:
        """Faint specks all over the paper: no two pictures are the same, also where they show the same."""
        for _ in range(count):
            self.disc((rng.uniform(0, 100), rng.uniform(0, 100)), rng.uniform(0.8, 2.4), rng.choice(_SPECKLES))

    def disc(self, centre: Point, radius: float, fill: str | None, edge: str | None = None, width: float = 1) -> None:
        """A filled circle, or its edge."""
        self.oval(centre, (radius, radius), fill, edge, width)

    def oval(self, centre: Point, radii: Point, fill: str | None, edge: str | None = None, width: float = 1) -> None:
        """An ellipse along the axes."""
        (x, y), (a, b) = centre, radii
        self._draw.ellipse(self._box(x - a, y - b, x + a, y + b), fill, edge, self._width(width) if edge else 1)

    def box(
        self, left_top: Point, right_bottom: Point, fill: str | None, edge: str | None = None, width: float = 1
    ) -> None:
        """A rectangle along the axes."""
        corners = self._box(*left_top, *right_bottom)
        self._draw.rectangle(corners, fill, edge, self._width(width) if edge else 1)

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

    def arc(
        self, centre: Point, radius: float, degrees: tuple[float, float], colour: str = INK, width: float = 1
    ) -> None:
        """Part of a circle; 0° is to the right, and angles grow clockwise."""
        (x, y), bounds = centre, degrees
        corners = self._box(x - radius, y - radius, x + radius, y + radius)
        self._draw.arc(corners, bounds[0], bounds[1], colour, self._width(width))

    def slice(self, centre: Point, radius: float, degrees: tuple[float, float], fill: str) -> None:
        """A piece of pie."""
        (x, y), bounds = centre, degrees
        corners = self._box(x - radius, y - radius, x + radius, y + radius)
        self._draw.pieslice(corners, bounds[0], bounds[1], fill, "#ffffff", self._width(0.8))

    def arrow(self, start: Point, end: Point, colour: str = INK, width: float = 1.6, head: float = 6) -> None:
        """A line with a head at its end."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        neck = (end[0] - head * 0.8 * math.cos(angle), end[1] - head * 0.8 * math.sin(angle))
        self.line([start, neck], colour, width)
        wings = [
            (end[0] - head * math.cos(angle + turn), end[1] - head * math.sin(angle + turn)) for turn in (0.45, -0.45)
        ]
        self.polygon([end, *wings], colour)

    def text(self, centre: Point, words: str, height: float, colour: str = INK) -> None:
        """Words with their middle at a point; ``height`` is about that of a line."""
        font = _font(max(6, round(height * self.scale)))
        point = (centre[0] * self.scale, centre[1] * self.scale)
        bold = max(1, round(height * self.scale * 0.035))
        self._draw.text(point, words, colour, font, "mm", stroke_width=bold, stroke_fill=colour)

    def fitted(self, centre: Point, words: str, height: float, width: float, colour: str = INK) -> None:
        """Words no wider than this."""
        room = _font(100).getlength(words) / 100 * 1.08
        self.text(centre, words, min(height, width / max(room, 0.1)), colour)

    def paste(self, other: "Canvas") -> None:
        """Take over what another canvas of the same size shows."""
        self.image.paste(other.image)

    def picture(self) -> Pillow.Image:
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


def png(picture: Pillow.Image) -> bytes:
    """A picture as a PNG file."""
    data = io.BytesIO()
    picture.save(data, "PNG", compress_level=6)
    return data.getvalue()
