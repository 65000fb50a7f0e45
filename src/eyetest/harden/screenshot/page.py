"""Pages set by typst without packages; texts reach it as JSON strings, images are pasted afterwards."""

import io
import random
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from PIL import Image, ImageChops, ImageDraw

from eyetest.errors import EyetestError, MissingExtraError
from eyetest.harden.screenshot.passages import Passages
from eyetest.harden.screenshot.style import EXTRA, folders, frame_words, letters_a_line, missing, page_style
from eyetest.records import ImageRef, Item


class Box(NamedTuple):
    """Position of a part in pixels of the image; numbers count from 1 within a kind of part."""

    part: str
    number: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Composed:
    """An item's page, and the boxes that layout gave its parts (question, hint, turn, image, option)."""

    image: Image.Image
    boxes: tuple[Box, ...]


MAX_PAGE_PIXELS = 60_000_000
PIXELS_AN_INCH = 96  # at resolution 1, the template's pixel size
_POINTS = 72 / PIXELS_AN_INCH
_LEAST_SHARE = 0.4  # A formula that has to be made smaller than that to stay on the page cannot be read
_CORNERS = "query(<corner>).map(one => (one.value, one.location().position()))"
_SHARES = "query(<shrunk>).map(one => one.value)"
_WIDE = "query(<wide>).map(one => one.value)"


class CannotShow(EyetestError):  # noqa: N818 (such an item goes to review)
    """An item that no page can show; the message is short, to be counted."""


class Typesetter:
    """Sets pages one after another; fonts are looked up once."""

    def __init__(self) -> None:
        typst = _typst()
        self._errors = (typst.TypstError, RuntimeError)
        self._root = Path(tempfile.mkdtemp(prefix="eyetest-page-"))
        template = self._root / "page.typ"
        template.write_bytes(files(__package__).joinpath("page.typ").read_bytes())
        fonts = typst.Fonts(include_system_fonts=False, font_paths=[str(folder) for folder in folders()])
        self._compiler = typst.Compiler(
            str(template), root=str(self._root), font_paths=fonts, ignore_system_fonts=True, sys_inputs={"page": "{}"}
        )

    def close(self) -> None:
        """Remove the template's folder."""
        shutil.rmtree(self._root, ignore_errors=True)

    def set_page(self, data: dict[str, Any], resolution: float) -> tuple[Image.Image, tuple[Box, ...]]:
        """Set the page without its images, and give where its parts lie."""
        ppi = PIXELS_AN_INCH * resolution
        try:
            made, warnings = self._compiler.compile_with_warnings(
                format="png", ppi=ppi, sys_inputs={"page": msgspec.json.encode(data).decode()}, timestamp=0
            )
            corners, shares, wide = (
                msgspec.json.decode(self._compiler.eval(query)) for query in (_CORNERS, _SHARES, _WIDE)
            )
        except self._errors as error:
            raise CannotShow(f"the page cannot be set: {str(error).splitlines()[0][:120]}") from None
        if warnings:
            raise CannotShow(f"the page cannot be set: {str(warnings[0].message)[:120]}")
        if not isinstance(made, bytes):
            raise CannotShow("the page runs over several")
        if shares and min(shares) < _LEAST_SHARE:
            raise CannotShow("a formula is too wide for the page")
        if wide:
            raise CannotShow("a word is too wide for its line")
        image = _decoded(made)
        return image, _boxes(corners, resolution / _POINTS, image.size)


@cache
def _typst() -> Any:
    try:
        import typst  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError(f"screenshots need typst, which is not installed: pip install '{EXTRA}'") from None
    return typst


def _decoded(data: bytes) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as page:
            if page.width * page.height > MAX_PAGE_PIXELS:
                raise CannotShow("too long for one page")
            return page.convert("RGB")
    except Image.DecompressionBombError:
        raise CannotShow("too long for one page") from None


def _boxes(corners: list[Any], scale: float, size: tuple[int, int]) -> tuple[Box, ...]:
    """Boxes from their corners; a part that leaves the page would be cut off, and is refused."""
    starts: dict[tuple[str, int], tuple[float, float]] = {}
    boxes = []
    for (part, number, end), position in corners:
        if position["page"] != 1:
            raise CannotShow("the page runs over several")
        x, y = (float(position[axis].removesuffix("pt")) * scale for axis in ("x", "y"))
        if not end:
            starts[part, number] = x, y
        else:
            boxes.append(Box(part, number, *starts[part, number], x, y))
    for box in boxes:
        if min(box.left, box.top) < -0.5 or box.right > size[0] + 0.5 or box.bottom > size[1] + 0.5:
            raise CannotShow(f"{box.part} {box.number} does not fit on the page")
    return tuple(boxes)


_TINTS = {
    "neutral": (226, 228, 233),
    "blue": (205, 222, 250),
    "warm": (248, 226, 192),
    "green": (203, 234, 211),
}
_DARKER = 0.13  # how much of a tint a dark page takes
_TILE = 512
_UP = 2  # the filter's number in the PNG standard


def paint_background(page: Image.Image, factors: Mapping[str, str], chance: random.Random) -> Image.Image:
    """The page with a gradient or a texture, which darkens light pages and lightens dark ones."""
    kind, dark = factors["look_background"], factors["look_theme"] == "dark"
    if kind == "flat":
        return page
    tint = _TINTS[factors["look_colour"]]
    far = tuple(round(_DARKER * value) for value in tint) if dark else tint
    near = (0, 0, 0) if dark else (255, 255, 255)
    if kind == "gradient":
        turn = chance.randrange(4)
        small = Image.new("RGB", (2, 2))
        corners = (near, far, far, near), (far, far, near, near), (near, near, far, far)
        small.putdata(corners[min(turn, 2)])
        field = small.resize(page.size, Image.Resampling.BILINEAR)
    else:
        tile = np.asarray(_texture(chance.randrange(4), near, far))
        times = (-(-page.height // _TILE), -(-page.width // _TILE), 1)
        field = Image.fromarray(np.tile(tile, times)).crop((0, 0, *page.size))
    return ImageChops.screen(page, field) if dark else ImageChops.multiply(page, field)


@lru_cache(64)
def _texture(pattern: int, near: tuple[int, ...], far: tuple[int, ...]) -> Image.Image:
    """Squared paper, dots, ruled paper, or fibres: regular enough not to disturb letters."""
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


def scaled(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """An image in RGB at a size, transparency on white."""
    if image.mode not in ("RGB", "RGBA"):
        image = image.convert("RGB" if image.mode in ("L", "CMYK", "YCbCr") else "RGBA")
    if image.size != size:
        image = image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    if image.mode == "RGBA":
        ground = Image.new("RGB", size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        return ground
    return image


def as_png(image: Image.Image) -> bytes:
    """Encode a page as PNG with one filter for all rows, in less than half of Pillow's time."""
    values = np.asarray(image)
    height, width, _ = values.shape
    values = values.reshape(height, 3 * width)
    rows = np.full((height, 3 * width + 1), _UP, np.uint8)
    rows[0, 1:] = values[0]
    np.subtract(values[1:], values[:-1], out=rows[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    file = b"\x89PNG\r\n\x1a\n"
    for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 1)), (b"IEND", b"")):
        file += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return file


LONGEST_PAGE = 20_000
"""In letters: a line counts as 40, an image as 800. Longer pages are refused as unreadable."""
_LINE, _IMAGE = 40, 800


def compose(
    item: Item,
    factors: Mapping[str, str],
    chance: random.Random,
    typesetter: Typesetter,
    opened: Callable[[ImageRef], Image.Image],
) -> tuple[Composed, Passages]:
    """Compose the page of an item in a look, with its images. The gold is not used."""
    earlier = (text for turn in item.history for text in (turn.question, turn.answer))
    worth = sum(len(text) + _LINE * text.count("\n") for text in (*item.texts, *earlier))
    if worth + _IMAGE * len(item.images) > LONGEST_PAGE:
        raise CannotShow("too long for one page")
    passages = Passages(item, letters_a_line(factors))
    if letters := missing(passages.text):
        raise CannotShow(f"no typeface has {', '.join(f'U+{ord(letter):04X}' for letter in letters[:5])}")
    data = {
        "style": page_style(factors, passages.language),
        "words": frame_words(chance),
        "item": passages.as_data(),
    }
    page, boxes = typesetter.set_page(data, float(factors["look_resolution"]))
    page = paint_background(page, factors, chance)
    for box in boxes:
        if box.part == "image":
            left, top = round(box.left), round(box.top)
            size = (max(1, round(box.right) - left), max(1, round(box.bottom) - top))
            page.paste(scaled(opened(item.images[box.number - 1]), size), (left, top))
    return Composed(page, boxes), passages
