"""Pictures in a terminal, in coloured half blocks."""

import sys

from PIL import Image as Pillow
from rich.color import Color
from rich.style import Style
from rich.text import Text

from eyetest.cli.terminal import out


def draw(picture: Pillow.Image, columns: int = 56, rows: int = 22) -> Text:
    """A picture as coloured half blocks: two pixels a character."""
    flat = Pillow.new("RGB", picture.size, "white")
    rgba = picture.convert("RGBA")
    flat.paste(rgba, mask=rgba.getchannel("A"))
    scale = min(columns / flat.width, rows * 2 / flat.height, 1.0)
    width, height = max(1, round(flat.width * scale)), max(2, round(flat.height * scale) // 2 * 2)
    small = flat.resize((width, height), Pillow.Resampling.LANCZOS)
    pixels = small.load()
    assert pixels is not None
    drawn = Text()
    for y in range(0, height, 2):
        for x in range(width):
            upper, lower = (Color.from_rgb(*pixels[x, y + row]) for row in (0, 1))  # type: ignore[misc]
            drawn.append("▀", Style(color=upper, bgcolor=lower))
        drawn.append("\n")
    return drawn


def can_draw() -> bool:
    """Whether somebody watches who can see colours."""
    return sys.stdout.isatty() and out.color_system is not None and not out.no_color
