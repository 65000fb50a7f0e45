"""The server: pages that show items, for whoever may ask. It only reads."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eyetest.errors import EyetestError, InputError, heading
from eyetest.review.app.browsing import ASSETS, Browsing, asset_page, refused_page
from eyetest.review.app.guard import LONGEST_ADDRESS, RequestGuard
from eyetest.review.collection import Collection

_WAITING = 64
_CONNECTIONS = 1_000
"""Twenty browsers keep more than a hundred open; whoever is over this is told to come back."""


class PortTaken(InputError):  # noqa: N818 (another may be free)
    """A port that cannot be listened on."""


def make_app(collection: Collection, host: str = "127.0.0.1", places: Sequence[Path] = ()) -> Starlette:
    """The pages of a collection, for a server that is called ``host``; ``places`` are where its items come from."""
    browsing = Browsing(collection, places)
    routes: dict[str, Callable[[Request], Response]] = {
        "/": browsing.page,
        **{f"/{name}": asset_page(name, kind) for name, kind in ASSETS.items()},
        "/picture/{sha256}": browsing.whole,
        "/thumbnail/{sha256}": browsing.small,
        "/export/{name}": browsing.export,
    }
    return Starlette(
        routes=[Route(path, _told(answer)) for path, answer in routes.items()],
        middleware=[Middleware(RequestGuard, host=host)],
    )


def _told(answer: Callable[[Request], Response]) -> Callable[[Request], "Response"]:
    """Answer in a thread; what is wrong with a question is said in a line, as everywhere."""

    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except InputError as error:
            return refused_page(str(error), 400)
        except (EyetestError, OSError) as error:
            return refused_page(str(error), 500)

    return endpoint  # type: ignore[return-value]


def listen(host: str, port: int) -> socket.socket:
    """A port of this machine, on which callers wait from now on; ``port`` 0 takes one that is free."""
    try:
        family, kind, protocol, _, at = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"{heading('host', host)}: no such name on this machine") from None
    taken = socket.socket(family, kind, protocol)  # without its protocol every answer would wait 40 ms (Nagle)
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
    server_of(app).run(sockets=[at])


def server_of(app: Starlette) -> uvicorn.Server:
    """The server of an app, with the limits of ours."""
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        http="h11",
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=15,
    )
    return uvicorn.Server(config)
