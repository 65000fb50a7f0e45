"""Small drawings of things that everybody knows, each within a circle of the given radius."""

from collections.abc import Callable

from eyetest.world.canvas import INK, Canvas, Point, around

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
