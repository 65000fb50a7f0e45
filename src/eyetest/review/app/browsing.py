"""Looking at items, answered call by call: the list, one item, pictures by their hash, and what is exported."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from eyetest.errors import ImageError
from eyetest.pages.item_links import write_query
from eyetest.pages.page import fill_page
from eyetest.review.app.address import Address
from eyetest.review.app.disclosure import EVERYTHING, Disclosure
from eyetest.review.app.exports import EXPORTS
from eyetest.review.app.item_page import item_page
from eyetest.review.app.listing import list_page
from eyetest.review.app.pictures import Pixels, ServedPictures
from eyetest.review.collection import Collection

PACKAGE = "eyetest.review.app"
ASSETS = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_KEPT_A_DAY = "private, max-age=86400, immutable"


class Browsing:
    """The pages of a collection. ``places``: where its items come from, for the command that has people decide."""

    def __init__(self, collection: Collection, places: Sequence[Path] = ()) -> None:
        self._collection = collection
        self._pictures = ServedPictures(collection.picture)
        self._command = shlex.join(["eyetest", "review", *map(str, places)]) if places else ""

    def page(self, request: Request, may: Disclosure = EVERYTHING, more: dict[str, Any] | None = None) -> Response:
        """The list, or one item of it; ``more`` is what the page around it wants to know."""
        address = Address.parse(request.url.query)
        if address.item:
            return html_page("item.html.j2", item_page(self._collection, address, may) | (more or {}))
        contents = list_page(self._collection, address, may)
        contents |= {"command": self._command, "query": write_query(address.query)}
        return html_page("browse.html.j2", contents | (more or {}))

    def export(self, request: Request, may: Disclosure = EVERYTHING) -> Response:
        """What is shown, as a file."""
        query = Address.parse(request.url.query).query
        if (make := EXPORTS.get(request.path_params["name"])) is None:
            return refused_page("nothing of that name is exported", 404)
        may.refuse_telling(query)
        name, kind, data = make(self._collection, query, may)
        return download(name, kind, data)

    def whole(self, request: Request) -> Response:
        """A picture as it is."""
        return _pixels(self._pictures.whole, request)

    def small(self, request: Request) -> Response:
        """A picture as a thumbnail."""
        return _pixels(self._pictures.small, request)


@cache
def asset(name: str) -> bytes:
    """A file that pages load: ``app.js``, or ``app.css`` with the style of all pages before it."""
    own = files(PACKAGE).joinpath("static", name).read_bytes()
    shared = files("eyetest.pages").joinpath("templates", "page.css").read_bytes()
    return shared + own if name == "app.css" else own


def asset_page(name: str, kind: str) -> Callable[[Any], Response]:
    """A file that pages load, whoever asks."""
    return lambda request: Response(asset(name), media_type=kind)


def html_page(template: str, contents: Mapping[str, Any], status: int = 200) -> Response:
    """A page of this app."""
    html = fill_page(template, contents, PACKAGE).lstrip()
    return Response(html.encode("utf-8", "replace"), status, media_type="text/html")


def refused_page(why: str, status: int, **more: Any) -> Response:
    """One clear page that says why nothing else is shown."""
    return html_page("refused.html.j2", {"why": why, "status": status, **more}, status)


def download(name: str, kind: str, data: bytes) -> Response:
    """A file to be kept, never shown."""
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _pixels(find: Callable[[str], Pixels | None], request: Request) -> Response:
    try:
        pixels = find(request.path_params["sha256"])
    except ImageError as error:
        return refused_page(str(error), 404)
    if pixels is None:
        return refused_page("no item has that picture", 404)
    return Response(pixels.data, media_type=f"image/{pixels.kind}", headers={"cache-control": _KEPT_A_DAY})
