"""Pages on which people view items and decide about them, served, or written as a bundle of files."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil
from typing import Any, NamedTuple

from starlette.responses import Response

from eyetest.benchmarks.images import MAX_REDUCED, decode
from eyetest.errors import InputError, short
from eyetest.pages.item_view import draw_small
from eyetest.pages.page import fill_page
from eyetest.records import ImageRef

PACKAGE = "eyetest.studio.app"
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SIDE, _WHOLE = 320, 4_096  # the longest side of a thumbnail, and of an image in a format that browsers do not show
_SHOWN_BY_BROWSERS = ("png", "jpeg", "gif", "webp", "bmp")
_MOST_THUMBNAILS = 4_000
_DECODER = ThreadPoolExecutor(1, "decoder")  # one at a time: each thread keeps the memory of a large image


@cache
def asset(name: str) -> bytes:
    """A static file of pages: ``app.js``, or ``app.css`` preceded by the style of all pages."""
    own = files(PACKAGE).joinpath("static", name).read_bytes()
    shared = files("eyetest.pages").joinpath("templates", "page.css").read_bytes()
    return shared + own if name == "app.css" else own


def asset_page(name: str) -> Callable[[Any], Response]:
    """The handler of a static file."""
    return lambda call: Response(asset(name), media_type=_KINDS[name.rpartition(".")[2]])


def html_page(template: str, contents: Mapping[str, Any], status: int = 200) -> Response:
    """A page of this app."""
    html = fill_page(template, contents, PACKAGE).lstrip()
    return Response(html.encode("utf-8", "replace"), status, media_type="text/html")


def refused_page(why: str, status: int, **more: Any) -> Response:
    """A page that states why access is refused."""
    return html_page("refused.html.j2", {"why": why, "status": status, **more}, status)


def whole_number(text: str, name: str) -> int:
    """A number from 1 that an address or a form holds."""
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not int(text):
        raise InputError(f"{name}: found {short(text)}, expected a number from 1")
    return int(text)


def paged(rows: Sequence[Any], page: str, size: int) -> tuple[Sequence[Any], dict[str, int]]:
    """The rows of a page, or of the last where there are fewer, and its number and that of all pages."""
    pages = max(1, ceil(len(rows) / size))
    number = min(whole_number(page or "1", "page"), pages)
    return rows[(number - 1) * size : number * size], {"page": number, "pages": pages}


def download(name: str, kind: str, data: bytes) -> Response:
    """A file as a download, never shown inline."""
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


class Pixels(NamedTuple):
    """A file's bytes and its kind."""

    kind: str
    data: bytes


class ServedImages:
    """The images of a collection by their hash, whole and as thumbnails; the last thumbnails are cached."""

    def __init__(self, find: Callable[[str], tuple[ImageRef, bytes] | None]) -> None:
        self._find = find
        self.small = lru_cache(_MOST_THUMBNAILS)(self._small)

    def whole(self, sha256: str) -> Pixels | None:
        """The image as it is, or converted where browsers would not show it; None where no item has it."""
        if (known := self._find(sha256)) is None:
            return None
        image, data = known
        return Pixels(image.format, data) if image.format in _SHOWN_BY_BROWSERS else _reduced(data, _WHOLE)

    def _small(self, sha256: str) -> Pixels | None:
        known = self._find(sha256)
        return None if known is None else _reduced(known[1], _SIDE)


def _reduced(data: bytes, side: int) -> Pixels:
    return Pixels(*_DECODER.submit(lambda: draw_small(decode(data, 2 * side, MAX_REDUCED), side)).result())
