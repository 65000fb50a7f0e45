"""What is put onto a page after it is set: its background, its pictures; and how it becomes a file."""

import random
import struct
import zlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from eyetest.harden.screenshot.composed import Box

_TINTS = {
    "neutral": (226, 228, 233),
    "blue": (205, 222, 250),
    "warm": (248, 226, 192),
    "green": (203, 234, 211),
}
_DARKER = 0.13
"""How much of a tint a dark page takes."""
_TILE = 512
_UP = 2
"""The filter's number in the PNG standard."""
_LEVEL = 1
"""Of compression: higher ones take three times as long to save a tenth."""


def paint_background(page: Image.Image, factors: Mapping[str, str], chance: random.Random) -> Image.Image:
    """The page with a gradient or a texture: light pages are darkened by it, dark ones lightened."""
    kind, dark = factors["look_background"], factors["look_theme"] == "dark"
    if kind == "flat":
        return page
    tint = _TINTS[factors["look_colour"]]
    far = tuple(round(_DARKER * value) for value in tint) if dark else tint
    near = (0, 0, 0) if dark else (255, 255, 255)
    if kind == "gradient":
        ends = [near, far, far, near]
        turn = chance.randrange(4)
        small = Image.new("RGB", (2, 2))
        small.putdata([ends[(at + turn) % 4] if turn < 2 else (near, near, far, far)[at] for at in range(4)])
        field = small.resize(page.size, Image.Resampling.BILINEAR)
    else:
        field = _tiled(chance.randrange(4), near, far, page.size)
    return ImageChops.screen(page, field) if dark else ImageChops.multiply(page, field)


def _tiled(pattern: int, near: tuple[int, ...], far: tuple[int, ...], size: tuple[int, int]) -> Image.Image:
    tile = _texture(pattern, near, far)
    field = Image.new("RGB", size)
    for top in range(0, size[1], _TILE):
        for left in range(0, size[0], _TILE):
            field.paste(tile, (left, top))
    return field


@lru_cache(64)
def _texture(pattern: int, near: tuple[int, ...], far: tuple[int, ...]) -> Image.Image:
    """Squared paper, dots, ruled paper, or fibres: regular enough to leave letters alone."""
    tile = Image.new("RGB", (_TILE, _TILE), near)
    pen = ImageDraw.Draw(tile)
    if pattern == 0:
        for at in range(0, _TILE, 32):
            pen.line(((at, 0), (at, _TILE)), far)
            pen.line(((0, at), (_TILE, at)), far)
    elif pattern == 1:
        for y in range(8, _TILE, 16):
            for x in range(8, _TILE, 16):
                pen.rectangle((x, y, x + 1, y + 1), far)
    elif pattern == 2:
        for y in range(0, _TILE, 32):
            pen.line(((0, y), (_TILE, y)), far)
    else:
        lots = np.random.default_rng(7)
        for x, y, dx, dy in lots.integers((0, 0, -14, -5), (_TILE, _TILE, 14, 5), (900, 4)).tolist():
            pen.line(((x, y), (x + dx, y + dy)), far)
    return tile


def put_picture(page: Image.Image, box: Box, picture: Image.Image) -> None:
    """Put a picture into the room that layout left for it, on white where it lets see through."""
    left, top = round(box.left), round(box.top)
    size = (max(1, round(box.right) - left), max(1, round(box.bottom) - top))
    page.paste(scaled(picture, size), (left, top))


def scaled(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A picture in RGB at a size, what shows through it white."""
    if picture.mode not in ("RGB", "RGBA"):
        picture = picture.convert("RGB" if picture.mode in ("L", "CMYK", "YCbCr") else "RGBA")
    if picture.size != size:
        picture = picture.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    if picture.mode == "RGBA":
        ground = Image.new("RGB", size, "white")
        ground.paste(picture, mask=picture.getchannel("A"))
        return ground
    return picture


def as_png(picture: Image.Image) -> bytes:
    """The file of a page: each row as its difference from the one above, lightly compressed, nothing else in it.

    Choosing a filter for each row, as encoders do, would take twice the time and save nothing on pages.
    """
    values = np.asarray(picture)
    height, width, _ = values.shape
    values = values.reshape(height, 3 * width)
    rows = np.full((height, 3 * width + 1), _UP, np.uint8)
    rows[0, 1:] = values[0]
    np.subtract(values[1:], values[:-1], out=rows[1:, 1:])
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), _LEVEL)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
