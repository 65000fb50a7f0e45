"""Pages that show items: the list, one item, images by their hash, and exports."""

import shlex
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from eyetest.benchmarks.images import decode
from eyetest.curate.selection import write_part
from eyetest.errors import ImageError, InputError
from eyetest.pages.item_links import Query, write_query
from eyetest.pages.item_view import draw_small
from eyetest.pages.page import fill_page
from eyetest.records import ImageRef
from eyetest.records.recipe import BENCHMARK
from eyetest.studio.app.item_page import item_page
from eyetest.studio.app.listing import EVERYTHING, Address, Disclosure, list_page
from eyetest.studio.collection import Collection
from eyetest.tabular.sheets import sheet_text

PACKAGE = "eyetest.studio.app"
ASSETS = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_KEPT_A_DAY = "private, max-age=86400, immutable"
_MOST_ITEMS = 5_000  # in one zipped benchmark
_HARMLESS = ("position", "item", "options", "image")  # reveal no golds; besides the columns to sort by
_SIDE, _WHOLE = 320, 4_096  # the longest side of a thumbnail, and of an image in a format that browsers do not show
_SHOWN_BY_BROWSERS = ("png", "jpeg", "gif", "webp", "bmp")
_MOST_THUMBNAILS = 4_000
_DECODER = ThreadPoolExecutor(1, "decoder")  # one at a time: each thread keeps the memory of a large image


class Pixels(NamedTuple):
    """A file's bytes and its kind."""

    kind: str
    data: bytes


class ServedImages:
    """The images of a collection, whole and as thumbnails; the last thumbnails are kept."""

    def __init__(self, find: Callable[[str], tuple[ImageRef, bytes] | None]) -> None:
        self._find = find
        self.small = lru_cache(_MOST_THUMBNAILS)(self._small)

    def whole(self, sha256: str) -> Pixels | None:
        """The image as it is, or converted where browsers would not show it; None where no item has it."""
        if (known := self._find(sha256)) is None:
            return None
        image, data = known
        if image.format in _SHOWN_BY_BROWSERS:
            return Pixels(image.format, data)
        return _reduced(data, _WHOLE)

    def _small(self, sha256: str) -> Pixels | None:
        known = self._find(sha256)
        return None if known is None else _reduced(known[1], _SIDE)


def _reduced(data: bytes, side: int) -> Pixels:
    return Pixels(*_DECODER.submit(lambda: draw_small(decode(data, side), side)).result())


def _ids(collection: Collection, query: Query, may: Disclosure) -> bytes:
    ids = collection.items.get_column("id")[collection.view(query).positions]
    return "".join(f"{id_}\n" for id_ in ids).encode("utf-8", "replace")


def _table(collection: Collection, query: Query, may: Disclosure) -> bytes:
    items = collection.table[collection.view(query).positions]
    items = items.select(name for name in items.columns if name in _HARMLESS or may.may_sort(name))
    rows = ([" | ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row] for row in items.rows())
    return sheet_text(items.columns, rows).encode("utf-8", "replace")


def _benchmark(collection: Collection, query: Query, may: Disclosure) -> bytes:
    if not may.golds:
        raise InputError("a benchmark has its golds, which are left out here")
    items = collection.items[collection.view(query).positions]
    names = items.get_column("benchmark").unique().to_list()
    if len(items) > _MOST_ITEMS:
        raise InputError(f"{len(items):,} items; a benchmark of at most {_MOST_ITEMS:,} is exported from here")
    if len(names) != 1 or names[0] not in collection.benchmarks:
        raise InputError("the items shown lie in several benchmarks, or in none; filter by benchmark first")
    whole, wanted = collection.benchmarks[names[0]], set(items.get_column("item"))
    chosen = (item for item in whole if item.id in wanted)
    with TemporaryDirectory(prefix="eyetest-export-") as folder:
        to, packed = Path(folder) / BENCHMARK, Path(folder) / "packed.zip"
        how = f"chosen by hand: {write_query(query) or 'all'}"[:2_000]
        write_part(whole, chosen, to, (f"{whole.manifest.name}-part", how), overwrite=False)
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(path for path in to.rglob("*") if path.is_file()):
                archive.write(path, path.relative_to(folder))
        return packed.read_bytes()


_EXPORTS: Mapping[str, tuple[str, Callable[[Collection, Query, Disclosure], bytes]]] = {
    "ids.txt": ("text/plain; charset=utf-8", _ids),
    "items.csv": ("text/csv; charset=utf-8", _table),
    "benchmark.zip": ("application/zip", _benchmark),
}


class Browsing:
    """The pages of a collection. ``places``: where its items come from, for the command that starts a review."""

    def __init__(self, collection: Collection, places: Sequence[Path] = ()) -> None:
        self._collection = collection
        images = ServedImages(collection.image)
        self.whole, self.small = partial(_pixels, images.whole), partial(_pixels, images.small)
        self._command = shlex.join(["eyetest", "review", *map(str, places)]) if places else ""

    def page(self, request: Request, may: Disclosure = EVERYTHING, more: dict[str, Any] | None = None) -> Response:
        """The list, or one item of it; ``more``: values for the surrounding page."""
        address = Address.parse(request.url.query)
        if address.item:
            return html_page("item.html.j2", item_page(self._collection, address, may) | (more or {}))
        contents = list_page(self._collection, address, may)
        contents |= {"command": self._command, "query": write_query(address.query)}
        return html_page("browse.html.j2", contents | (more or {}))

    def export(self, request: Request, may: Disclosure = EVERYTHING) -> Response:
        """The items shown, as a file."""
        query = Address.parse(request.url.query).query
        if (name := request.path_params["name"]) not in _EXPORTS:
            return refused_page("nothing of that name is exported", 404)
        may.refuse_telling(query)
        kind, make = _EXPORTS[name]
        return download(name, kind, make(self._collection, query, may))


@cache
def asset(name: str) -> bytes:
    """A static file of pages: ``app.js``, or ``app.css`` preceded by the style of all pages."""
    own = files(PACKAGE).joinpath("static", name).read_bytes()
    shared = files("eyetest.pages").joinpath("templates", "page.css").read_bytes()
    return shared + own if name == "app.css" else own


def asset_page(name: str, kind: str) -> Callable[[Any], Response]:
    """The handler of a static file."""
    return lambda request: Response(asset(name), media_type=kind)


def html_page(template: str, contents: Mapping[str, Any], status: int = 200) -> Response:
    """A page of this app."""
    html = fill_page(template, contents, PACKAGE).lstrip()
    return Response(html.encode("utf-8", "replace"), status, media_type="text/html")


def refused_page(why: str, status: int, **more: Any) -> Response:
    """A page that states why access is refused."""
    return html_page("refused.html.j2", {"why": why, "status": status, **more}, status)


def download(name: str, kind: str, data: bytes) -> Response:
    """A file as a download, never shown inline."""
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _pixels(find: Callable[[str], Pixels | None], request: Request) -> Response:
    try:
        pixels = find(request.path_params["sha256"])
    except ImageError as error:
        return refused_page(str(error), 404)
    if pixels is None:
        return refused_page("no item has that image", 404)
    return Response(pixels.data, media_type=f"image/{pixels.kind}", headers={"cache-control": _KEPT_A_DAY})
