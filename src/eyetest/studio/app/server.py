"""The server of pages that show items, and its guard, which also refuses other host names (DNS rebinding)."""

import socket
from asyncio import Transport
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from eyetest.errors import EyetestError, InputError, heading, short
from eyetest.pages.item_counts import PORT
from eyetest.studio.app.browsing import ASSETS, Browsing, asset_page, refused_page
from eyetest.studio.collection import Collection

LONGEST_ADDRESS = 64 * 2**10  # bytes: a link may name some thousand items
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
LONGEST_FORM = 64 * 2**10
_TRIED = 20  # ports from the usual one on
_WAITING, _CONNECTIONS, _SECONDS_TO_CALL = 64, 256, 30.0


class RequestGuard:
    """Middleware that refuses unexpected requests and adds security headers to responses."""

    def __init__(self, app: ASGIApp, host: str, refused: Callable[[Scope, str], None] | None = None) -> None:
        """``refused`` is called with each refusal and its reason; forms are accepted only if it is given."""
        self._app, self._refused = app, refused
        self._headers = _HEADERS | ({"referrer-policy": "same-origin"} if refused else {})
        self._names = {"localhost", socket.gethostname().lower(), host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call, or forward it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal and self._refused:
            await run_in_threadpool(self._refused, scope, f"{refusal.status_code} {bytes(refusal.body).decode()}")
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse("this server does not go by that name", 421)
        if scope["method"] == "POST" and self._refused:
            return _form_refusal(headers)
        if scope["method"] not in ("GET", "HEAD"):
            allowed = "GET, HEAD, POST" if self._refused else "GET, HEAD"
            return PlainTextResponse("nothing can be changed here", 405, {"allow": allowed})
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return PlainTextResponse("no call here has a body", 413)
        if len(scope["query_string"]) + len(scope["path"]) > LONGEST_ADDRESS:
            return PlainTextResponse("the address is too long", 414)
        return None

    def _is_ours(self, called: str) -> bool:
        """Whether the requested host is an IP address or a name of this machine."""
        name = called.lower().removesuffix(".")
        name = name[1:].partition("]")[0] if name.startswith("[") else name.rpartition(":")[0] or name
        try:
            ip_address(name)
        except ValueError:
            return name in self._names
        return True


def _form_refusal(headers: Headers) -> PlainTextResponse | None:
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (length.isascii() and length.isdigit()):
        return PlainTextResponse("a form says how long it is", 411)
    if len(length) > 9 or int(length) > LONGEST_FORM:
        return PlainTextResponse("the form is too long", 413)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return PlainTextResponse("only forms are taken here", 415)
    return None


class PortTaken(InputError):  # noqa: N818 (another may be free)
    """A port that cannot be listened on."""


def make_app(collection: Collection, host: str = "127.0.0.1", places: Sequence[Path] = ()) -> Starlette:
    """The pages of a collection, for a server named ``host``; ``places``: where its items come from."""
    browsing = Browsing(collection, places)
    routes: dict[str, Callable[[Request], Response]] = {
        "/": browsing.page,
        **{f"/{name}": asset_page(name, kind) for name, kind in ASSETS.items()},
        "/image/{sha256}": browsing.whole,
        "/thumbnail/{sha256}": browsing.small,
        "/export/{name}": browsing.export,
    }
    return Starlette(
        routes=[Route(path, _told(answer)) for path, answer in routes.items()],
        middleware=[Middleware(RequestGuard, host=host)],
    )


def _told(answer: Callable[[Request], Response]) -> Callable[[Request], "Response"]:
    """Answer in a thread; an invalid request gets an error of one line."""

    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except InputError as error:
            return refused_page(str(error), 400)
        except (EyetestError, OSError) as error:
            return refused_page(str(error), 500)

    return endpoint  # type: ignore[return-value]


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port of this machine; 0 takes a free one."""
    try:
        family, kind, protocol, _, at = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"{heading('address')}: this machine has no name or address {short(host)}") from None
    taken = socket.socket(family, kind, protocol)  # without its protocol every answer would wait 40 ms (Nagle)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(at)
        taken.listen(_WAITING)
    except OSError as error:
        taken.close()
        raise PortTaken(f"{heading('address')}: cannot listen on {host}:{port}: {error.strerror}") from None
    return taken


def listen_near(host: str, port: int | None) -> tuple[socket.socket, str]:
    """Listen on the named port, else on the first free one from the usual on, at last on any; and its address."""
    taken = _first_free(host) if port is None else listen(host, port)
    name = f"[{host}]" if ":" in host else host
    return taken, f"http://{name}:{taken.getsockname()[1]}"


def _first_free(host: str) -> socket.socket:
    for number in range(PORT, PORT + _TRIED):
        with suppress(PortTaken):
            return listen(host, number)
    return listen(host, 0)


class BoundedConnection(H11Protocol):
    """A connection that is closed when its client waits too long, or waits while others need the slot."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a slot; if none is left, close the oldest waiting connection of the address with the most."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._timer = self.loop.call_later(_SECONDS_TO_CALL, self._close_if_waiting)
        others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
        if len(others) >= _CONNECTIONS and (waiting := [one for one in others if one.is_waiting]):
            counts = Counter(one.address for one in others)
            oldest = min(waiting, key=lambda one: (-counts[one.address], one._since))
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Restart the timer."""
        self._since = self.loop.time()
        super().on_response_complete()

    @property
    def address(self) -> str:
        """The client's address."""
        return self.client[0] if self.client else ""

    @property
    def is_waiting(self) -> bool:
        """Whether the client has to act next: send a request or the rest of a form, or read a response."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def _close_if_waiting(self) -> None:
        if self.is_waiting and self.loop.time() - self._since >= _SECONDS_TO_CALL:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(_SECONDS_TO_CALL, self._close_if_waiting)


def serve(app: Starlette, at: socket.socket) -> None:
    """Serve until the process is interrupted."""
    server_of(app).run(sockets=[at])


def server_of(app: Starlette) -> uvicorn.Server:
    """The server of an app, with the connection limits."""
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        limit_concurrency=2 * _CONNECTIONS,
        timeout_keep_alive=15,
    )
    return uvicorn.Server(config)
