"""The server: one page that shows items or one item, pictures by their hash, and what is exported. It only reads."""

import socket
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eyetest.errors import EyetestError, ImageError, InputError, heading
from eyetest.pages.page import fill_page
from eyetest.review.app.address import Address
from eyetest.review.app.exports import EXPORTS
from eyetest.review.app.guard import LONGEST_ADDRESS, RequestGuard
from eyetest.review.app.item_page import item_page
from eyetest.review.app.listing import list_page
from eyetest.review.app.pictures import Pixels, ServedPictures
from eyetest.review.collection import Collection

PACKAGE = "eyetest.review.app"
_ASSETS = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_WAITING = 64
_KEPT_A_DAY = "private, max-age=86400, immutable"


class PortTaken(InputError):  # noqa: N818 (another may be free)
    """A port that cannot be listened on."""


@cache
def asset(name: str) -> bytes:
    """A file that pages load: ``app.js``, or ``app.css`` with the style of all pages before it."""
    own = files(PACKAGE).joinpath("static", name).read_bytes()
    shared = files("eyetest.pages").joinpath("templates", "page.css").read_bytes()
    return shared + own if name == "app.css" else own


def make_app(collection: Collection, host: str = "127.0.0.1") -> Starlette:
    """The pages of a collection, for a server that is called ``host``."""
    pictures = ServedPictures(collection.picture)

    def page(request: Request) -> Response:
        address = Address.parse(request.url.query)
        if address.item:
            html = fill_page("item.html.j2", item_page(collection, address), PACKAGE)
        else:
            html = fill_page("browse.html.j2", list_page(collection, address), PACKAGE)
        return Response(html.lstrip().encode("utf-8", "replace"), media_type="text/html")

    def export(request: Request) -> Response:
        if (make := EXPORTS.get(request.path_params["name"])) is None:
            return _refused("nothing of that name is exported", 404)
        name, kind, data = make(collection, Address.parse(request.url.query).query)
        return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})

    routes = {
        "/": page,
        **{f"/{name}": _file(name, kind) for name, kind in _ASSETS.items()},
        "/picture/{sha256}": _pixels(pictures.whole),
        "/thumbnail/{sha256}": _pixels(pictures.small),
        "/export/{name}": export,
    }
    return Starlette(
        routes=[Route(path, _told(answer)) for path, answer in routes.items()],
        middleware=[Middleware(RequestGuard, host=host)],
    )


def _file(name: str, kind: str) -> Callable[[Request], Response]:
    return lambda request: Response(asset(name), media_type=kind)


def _pixels(find: Callable[[str], Pixels | None]) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        try:
            pixels = find(request.path_params["sha256"])
        except ImageError as error:
            return _refused(str(error), 404)
        if pixels is None:
            return _refused("no item has that picture", 404)
        return Response(pixels.data, media_type=f"image/{pixels.kind}", headers={"cache-control": _KEPT_A_DAY})

    return answer


def _told(answer: Callable[[Request], Response]) -> Callable[[Request], "Response"]:
    """Answer in a thread; what is wrong with a question is said in a line, as everywhere."""

    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except InputError as error:
            return _refused(str(error), 400)
        except (EyetestError, OSError) as error:
            return _refused(str(error), 500)

    return endpoint  # type: ignore[return-value]


def _refused(why: str, status: int) -> Response:
    html = fill_page("refused.html.j2", {"why": why, "status": status}, PACKAGE)
    return Response(html.lstrip().encode("utf-8", "replace"), status, media_type="text/html")


def listen(host: str, port: int) -> socket.socket:
    """A port of this machine, on which callers wait from now on; ``port`` 0 takes one that is free."""
    try:
        family, _, _, _, at = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"{heading('host', host)}: no such name on this machine") from None
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(at)
        taken.listen(_WAITING)
    except OSError as error:
        taken.close()
        raise PortTaken(f"{heading('port', port)}: cannot listen on {host}: {error.strerror}") from None
    return taken


def serve(app: Starlette, at: socket.socket) -> None:
    """Answer until somebody ends it."""
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        limit_concurrency=_WAITING,
        timeout_keep_alive=15,
    )
    uvicorn.Server(config).run(sockets=[at])
