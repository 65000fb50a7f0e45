"""The server: which calls are accepted (host, size, limits, session, role, origin, token), and its connections."""

import re
import socket
import time
from asyncio import Transport
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import parse_qsl

import msgspec
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

from eyetest.errors import DiskFull, EyetestError, Forbidden, InputError, heading, short
from eyetest.pages.item_links import PORT
from eyetest.studio.app import ASSETS, asset_page, refused_page
from eyetest.studio.app.items import Browsing
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import ReviewSession, Role
from eyetest.studio.project import ReviewProject

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
_FORM = "application/x-www-form-urlencoded"
_TRIED = 20  # ports from the usual one on
_WAITING, _CONNECTIONS, _SECONDS_TO_CALL = 64, 256, 30.0
PUBLIC: tuple[Role, ...] = ()
_IN_A_LINK = re.compile("enter/.*", re.IGNORECASE | re.DOTALL)
_MOST_FIELDS = 2_000
_TEN_MINUTES = 600.0
_MOST_KEPT = 10_000  # callers that are counted at once


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
                headers.update(self._headers)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal and self._refused:
            await run_in_threadpool(self._refused, scope, f"{refusal.status_code} {bytes(refusal.body).decode()}")
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse("this server does not have that name", 421)
        length, chunked = headers.get("content-length", ""), "transfer-encoding" in headers
        counted = length.isascii() and length.isdigit() and not chunked
        if scope["method"] == "POST" and self._refused:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            checks = [
                (counted, 411, "a form needs a content-length"),
                (counted and len(length) < 10 and int(length) <= LONGEST_FORM, 413, "the form is too long"),
                (kind == _FORM, 415, "only forms are accepted"),
            ]
        else:
            size = len(scope["query_string"]) + len(scope["path"])
            checks = [
                (scope["method"] in ("GET", "HEAD"), 405, "nothing can be changed here"),
                (length in ("", "0") and not chunked, 413, "no call here has a body"),
                (size <= LONGEST_ADDRESS, 414, "the address is too long"),
            ]
        allowed = {"allow": "GET, HEAD, POST" if self._refused else "GET, HEAD"}
        return next((PlainTextResponse(why, status, allowed) for fine, status, why in checks if not fine), None)

    def _is_ours(self, called: str) -> bool:
        """Whether the requested host is an IP address or a name of this machine."""
        name = called.lower().removesuffix(".")
        name = name[1:].partition("]")[0] if name.startswith("[") else name.rpartition(":")[0] or name
        try:
            ip_address(name)
        except ValueError:
            return name in self._names
        return True


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Calls a minute per session or per address without one, failed entries in ten minutes, log lines per address."""

    session: int = 1_200
    address: int = 600
    failed_entries: int = 20
    log_lines: int = 100


class CallCounter:
    """Counts calls by caller in windows of time."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock, self._window = Lock(), 0
        self._counts: dict[Hashable, int] = {}

    def count(self, caller: Hashable, more: int = 1) -> int:
        """The number of calls in this window, including ``more`` that are counted now."""
        window = int(self._clock() / self._seconds)
        with self._lock:
            if window != self._window:
                self._window, self._counts = window, {}
            number = self._counts.get(caller, 0) + more
            if len(self._counts) < _MOST_KEPT or caller in self._counts:
                self._counts[caller] = number
            return number


class Refusal(EyetestError):  # noqa: N818 (it says what it is)
    """A call that is not answered."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class PageCall(NamedTuple):
    """An accepted call: the person, and what they sent."""

    request: Request
    session: ReviewSession | None
    sent: Mapping[str, list[str]]

    def field(self, name: str) -> str:
        """A field of the form; empty where it was not sent."""
        return next(iter(self.sent.get(name, ())), "")

    @property
    def known(self) -> ReviewSession:
        """The caller, where the route requires a session."""
        if self.session is None:
            raise Refusal(401, "open your personal link first")
        return self.session


class ReviewRoute(NamedTuple):
    """What may be called, and by which roles. A route that is not in the table does not exist."""

    method: str
    path: str
    answer: Callable[[PageCall], Response]
    roles: tuple[Role, ...]


class Gate:
    """Checks each call before it reaches a page: limits, session, role, origin, token."""

    def __init__(self, project: ReviewProject, limits: CallLimits) -> None:
        self._project, self._limits = project, limits
        self._calls, self._lines, self._failures = CallCounter(), CallCounter(), CallCounter(_TEN_MINUTES)
        name = sha256(str(project.folder.resolve()).encode("utf-8", "replace")).hexdigest()[:8]
        self.cookie = f"eyetest-{name}"  # the name of this review's cookie

    def routes(self, table: Iterable[ReviewRoute]) -> list[Route]:
        """The routes of an app, and one that refuses everything else."""
        paths: dict[str, dict[str, ReviewRoute]] = {}
        for one in table:
            paths.setdefault(one.path, {})[one.method] = one
        served = [Route(path, self._endpoint(ways), methods=["GET", "POST"]) for path, ways in paths.items()]
        return [*served, Route("/{rest:path}", self._endpoint({}), methods=["GET", "POST"])]

    def refused(self, scope: Scope, why: str) -> None:
        """Log a call that was refused before it reached the gate."""
        self._log(Request(scope), None, why)

    def count_failed_entry(self, request: Request, more: int = 1) -> None:
        """Count an invalid link; too many from one address are refused for a while."""
        if self._failures.count(address_of(request), more) > self._limits.failed_entries:
            raise Refusal(429, "too many links were tried from here; wait ten minutes")

    def _endpoint(self, ways: Mapping[str, ReviewRoute]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(self._answer, ways, request, await request.body())

        return endpoint

    def _answer(self, ways: Mapping[str, ReviewRoute], request: Request, body: bytes) -> Response:
        session = None
        try:
            session = self._project.session(request.cookies.get(self.cookie))
            route, sent = self._let_in(ways, request, session), _fields(body)
            if request.method == "POST":
                _check_sender(request, session, sent)
            return route.answer(PageCall(request, session, sent))
        except (EyetestError, OSError) as error:
            return self._turned_away(request, session, error)

    def _let_in(
        self, ways: Mapping[str, ReviewRoute], request: Request, session: ReviewSession | None
    ) -> ReviewRoute:
        caller = address_of(request) if session is None else session.person.id
        most = self._limits.address if session is None else self._limits.session
        if self._calls.count(caller) > most:
            raise Refusal(429, "too many calls; wait a minute")
        route = ways.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise Refusal(405, "this page does not accept that method") if ways else Refusal(404, "no such page")
        if route.roles and session is None:
            raise Refusal(401, "Open your personal link. If you have opened it before, in this browser, go on.")
        if session is not None and route.roles and session.person.role not in route.roles:
            raise Refusal(403, "your role may not open this page")
        return route

    def _turned_away(self, request: Request, session: ReviewSession | None, error: Exception) -> Response:
        known = ((Forbidden, 403), (InputError, 400), (DiskFull, 507))
        status = next((status for kind, status in known if isinstance(error, kind)), 500)
        status = error.status if isinstance(error, Refusal) else status
        self._log(request, session, f"{status} {error}")
        return refused_page(str(error), status, root="/", way="Go on", referrer="same-origin")

    def _log(self, request: Request, session: ReviewSession | None, why: str) -> None:
        """Write one line; never a query, a body or the token in an address."""
        address = address_of(request)
        lines = self._lines.count(address)
        if lines > self._limits.log_lines + 1:
            return
        line = f"{request.method} {_IN_A_LINK.sub('enter/…', request.url.path)}: {why}"
        if lines > self._limits.log_lines:
            line = "further refusals in this minute are not logged"
        with suppress(DiskFull):
            self._project.log("refused", session.person.name if session else None, address, line)


def address_of(request: Request) -> str:
    """The address of a caller; headers of a proxy are not trusted."""
    return request.client.host if request.client else "nowhere"


def _fields(body: bytes) -> dict[str, list[str]]:
    if len(body) > LONGEST_FORM:
        raise Refusal(413, "the form is too long")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InputError("what was sent is not a form") from None
    sent: dict[str, list[str]] = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return sent


def _check_sender(request: Request, session: ReviewSession | None, sent: Mapping[str, list[str]]) -> None:
    """Refuse a form that was not sent from these pages in this session. Every browser states the origin."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    stated = site == "same-origin" or (site is None and origin is not None)
    if not stated or (origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")):
        raise Refusal(403, "this form was not sent from these pages")
    token = next(iter(sent.get("csrf", ())), "")
    if session is not None and not compare_digest(token.encode(), session.csrf.encode()):
        raise Refusal(403, "this page is older than your session; go back, reload it and send it again")


class PortTaken(InputError):  # noqa: N818 (another may be free)
    """A port that cannot be listened on."""


def make_app(collection: Collection, host: str = "127.0.0.1", places: Sequence[Path] = ()) -> Starlette:
    """The pages of a collection, for a server named ``host``; ``places``: where its items come from."""
    browsing = Browsing(collection, places)
    routes: dict[str, Callable[[Request], Response]] = {
        "/": browsing.page,
        **{f"/{name}": asset_page(name, kind) for name, kind in ASSETS.items()},
        **{f"/{kind}/{{sha256}}": browsing.image for kind in ("image", "thumbnail")},
        "/export/{name}": browsing.export,
    }

    def answering(answer: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                return await run_in_threadpool(answer, request)
            except (EyetestError, OSError) as error:
                return refused_page(str(error), 400 if isinstance(error, InputError) else 500)

        return endpoint

    pages = [Route(path, answering(answer)) for path, answer in routes.items()]
    return Starlette(routes=pages, middleware=[Middleware(RequestGuard, host=host)])


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
    taken = None
    for number in range(PORT, PORT + _TRIED) if port is None else ():
        with suppress(PortTaken):
            taken = listen(host, number)
            break
    taken = taken or listen(host, port or 0)
    name = f"[{host}]" if ":" in host else host
    return taken, f"http://{name}:{taken.getsockname()[1]}"


class BoundedConnection(H11Protocol):
    """A connection that is closed when its client waits too long, or waits while others need the slot."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a slot; if none is left, close the connection that waits longest."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._close_if_waiting()
        others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
        if len(others) >= _CONNECTIONS and (waiting := [one for one in others if one.is_waiting]):
            oldest = min(waiting, key=lambda one: one._since)
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
    def is_waiting(self) -> bool:
        """Whether the client has to act next: send a request or the rest of a form, or read a response."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def _close_if_waiting(self) -> None:
        self._timer = self.loop.call_later(_SECONDS_TO_CALL, self._close_if_waiting)
        if self.is_waiting and self.loop.time() - self._since >= _SECONDS_TO_CALL:
            self.transport.abort()


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
