"""A page set by typst: the layout says where everything is, the raster is what it looks like.

The compiler's root is a folder with nothing but the page template in it, and it is never asked for a package. Texts
reach it as JSON strings and are shown as letters; pictures do not reach it at all.
"""

import io
import shutil
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image

from eyetest.errors import EyetestError, MissingExtraError
from eyetest.harden.screenshot.composed import Box
from eyetest.harden.screenshot.fonts import EXTRA, folders

MAX_PAGE_PIXELS = 60_000_000
PIXELS_AN_INCH = 96
"""At resolution 1; the template counts in pixels of that size."""
_POINTS = 72 / PIXELS_AN_INCH
_LEAST_SHARE = 0.4
"""A formula that has to be made smaller than that to stay on the page cannot be read."""
_CORNERS = "query(<corner>).map(one => (one.value, one.location().position()))"
_SHARES = "query(<shrunk>).map(one => one.value)"
_WIDE = "query(<wide>).map(one => one.value)"


class CannotShow(EyetestError):  # noqa: N818 (it is no mistake: such an item goes to review)
    """An item that no page can show. ``reason`` is short, to be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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
        """The page without its pictures, and where its parts lie."""
        ppi = PIXELS_AN_INCH * resolution
        try:
            made, warnings = self._compiler.compile_with_warnings(
                format="png", ppi=ppi, sys_inputs={"page": msgspec.json.encode(data).decode()}, timestamp=0
            )
            corners = msgspec.json.decode(self._compiler.eval(_CORNERS))
            shares = msgspec.json.decode(self._compiler.eval(_SHARES))
            wide = msgspec.json.decode(self._compiler.eval(_WIDE))
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
        picture = decoded(made)
        return picture, boxes_within(_boxes(corners, resolution / _POINTS), picture.size)


@cache
def _typst() -> Any:
    try:
        import typst  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError(f"screenshots need typst, which is not installed: pip install '{EXTRA}'") from None
    return typst


def decoded(data: bytes) -> Image.Image:
    """A page's pixels, within the limit."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as page:
            if page.width * page.height > MAX_PAGE_PIXELS:
                raise CannotShow("too long for one page")
            return page.convert("RGB")
    except Image.DecompressionBombError:
        raise CannotShow("too long for one page") from None


def _boxes(corners: list[Any], scale: float) -> list[Box]:
    """Boxes out of their corners."""
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
    return boxes


def boxes_within(boxes: list[Box], size: tuple[int, int]) -> tuple[Box, ...]:
    """The boxes, none of which leaves the page: what does would be cut off, and is refused."""
    for box in boxes:
        if min(box.left, box.top) < -0.5 or box.right > size[0] + 0.5 or box.bottom > size[1] + 0.5:
            raise CannotShow(f"{box.part} {box.number} does not fit on the page")
    return tuple(boxes)
