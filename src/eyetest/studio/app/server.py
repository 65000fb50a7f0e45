"""Which calls are accepted: host, size, limits, session, role, origin and token are checked before any page."""

import socket
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from hashlib import sha256
from hmac import compare_digest
from importlib.resources import files
from ipaddress import ip_address
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from eyetest.benchmarks.images import MAX_REDUCED, decode
from eyetest.errors import DiskFull, EyetestError, Forbidden, InputError, heading, short
from eyetest.pages.item_view import draw_small
from eyetest.pages.page import fill_page
from eyetest.pages.serving import LONGEST_ADDRESS, Front
from eyetest.records import ImageRef
from eyetest.studio.decisions import ReviewSession, Role
from eyetest.studio.project import ReviewProject

LONGEST_FORM = 64 * 2**10
PACKAGE = "eyetest.studio.app"
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SIDE, _WHOLE = 320, 4_096  # the longest side of a thumbnail, and of an image in a format that browsers do not show
_SHOWN_BY_BROWSERS = ("png", "jpeg", "gif", "webp", "bmp")
_MOST_THUMBNAILS = 4_000
_DECODER = ThreadPoolExecutor(1, "decoder")  # one at a time: each thread keeps the memory of a large image
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 2_000
_MOST_KEPT = 10_000  # callers that are counted at once


@cache
def asset(name: str) -> bytes:
    """A static file of pages; ``app.css`` and ``app.js`` begin with the style and the script of all pages."""
    own = files(PACKAGE).joinpath("static", name).read_bytes()
    if not name.startswith("app."):
        return own
    return files("eyetest.pages").joinpath("templates", name.replace("app", "page")).read_bytes() + own


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


class CallLimits(NamedTuple):
    """In a minute: calls per session or per address without one, and failed entries per address."""

    session: int = 1_200
    address: int = 600
    failed_entries: int = 20


class _CallCounter:
    """Counts calls by caller in each minute."""

    def __init__(self) -> None:
        self._lock, self._minute = Lock(), 0
        self._counts: dict[Hashable, int] = {}

    def count(self, caller: Hashable, more: int = 1) -> int:
        """The number of calls in this minute, including ``more`` that are counted now."""
        with self._lock:
            if self._minute != (minute := int(time.monotonic() / 60)):
                self._minute, self._counts = minute, {}
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

    @property
    def address(self) -> str:
        """The address of the caller; what other proxies than the configured ones state is not trusted."""
        return self.request.client.host if self.request.client else "nowhere"


class PageRoute(NamedTuple):
    """What may be called, and by which roles (by anyone where there are none)."""

    method: str
    path: str
    answer: Callable[[PageCall], Response]
    roles: tuple[Role, ...] = ()


class Site:
    """All pages of a server. Each call is checked before it reaches one; a route that is not listed does not exist.

    Without a ``project`` there are no sessions, limits of calls and forms.
    """

    def __init__(self, front: Front, project: ReviewProject | None = None, limits: CallLimits | None = None) -> None:
        self.front, self._project, self._limits = front, project, limits or CallLimits()
        self._calls = _CallCounter()
        public = urlsplit(front.public).hostname or "localhost"
        self._names = {"localhost", socket.gethostname().lower(), front.host.lower(), public}
        self._headers = _HEADERS | ({"referrer-policy": "same-origin"} if project else {})
        self.paths: dict[str, dict[str, PageRoute]] = {}
        self.add([PageRoute("GET", "/healthz", lambda call: PlainTextResponse("ok\n"))])
        folder = str(project.folder.resolve()) if project else ""
        self.cookie = f"eyetest-{sha256(folder.encode('utf-8', 'replace')).hexdigest()[:8]}"  # of this review

    def add(self, routes: Iterable[PageRoute]) -> None:
        """Add pages."""
        for route in routes:
            self.paths.setdefault(route.path, {})[route.method] = route
        first = self.front.root.split("/")[1]
        if first and first in {path.split("/")[1] for path in self.paths}:  # as if the proxy had not removed it
            expected = f"a path that does not begin with /{first}, which is a page of this server"
            raise InputError(f"{heading('public')}: found {short(self.front.public)}, expected {expected}")
        self._patterns = [(compile_path(path)[0], ways) for path, ways in self.paths.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call. A proxy may pass the path of the public address on, or remove it."""
        if scope["path"].startswith(self.front.root):
            scope["path"] = scope["path"][len(self.front.root) - 1 :]
        request = Request(scope, receive)
        response: Response | None = self._refusal(request)
        if response is None and f"{scope['path']}/" == self.front.root:
            response = RedirectResponse(self.front.root)
        elif response is None:
            response = await run_in_threadpool(self._answer, request, await request.body())
        response.headers.update(self._headers)
        response.headers.setdefault("cache-control", "no-store")
        await response(scope, receive, send)

    def count_failed_entry(self, call: PageCall, more: int = 1) -> None:
        """Count an invalid link; too many from one address are refused for a while."""
        if self._calls.count(("entry", call.address), more) > self._limits.failed_entries:
            raise Refusal(429, "too many links were tried from here; wait a minute")

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        """The response to a call that is refused by its headers alone."""
        headers, method = request.headers, request.method
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse("this server does not have that name", 421)
        length, chunked = headers.get("content-length", ""), "transfer-encoding" in headers
        counted = length.isascii() and length.isdigit() and not chunked
        if method == "POST" and self._project:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            checks = [
                (counted, 411, "a form needs a content-length"),
                (counted and len(length) < 10 and int(length) <= LONGEST_FORM, 413, "the form is too long"),
                (kind == _FORM, 415, "only forms are accepted"),
            ]
        else:
            size = len(request.scope["query_string"]) + len(request.scope["path"])
            checks = [
                (method in ("GET", "HEAD"), 405, "nothing can be changed here"),
                (length in ("", "0") and not chunked, 413, "no call here has a body"),
                (size <= LONGEST_ADDRESS, 414, "the address is too long"),
            ]
        allowed = {"allow": "GET, HEAD, POST" if self._project else "GET, HEAD"}
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

    def _answer(self, request: Request, body: bytes) -> Response:
        session = None
        if self._project:
            try:
                session = self._project.people.session(request.cookies.get(self.cookie))
            except EyetestError:
                return PlainTextResponse("the database of this review cannot be read\n", 503)
        try:
            route, sent = self._admitted(request, session), _fields(body)
            if request.method == "POST":
                _check_sender(request, session, sent, self.front.origin)
            return route.answer(PageCall(request, session, sent))
        except (EyetestError, OSError) as error:
            known = ((Refusal, getattr(error, "status", 0)), (Forbidden, 403), (InputError, 400), (DiskFull, 507))
            status = next((status for kind, status in known if isinstance(error, kind)), 500)
            around, why = {"root": self.front.root}, str(error)
            if self._project:
                why = why.removeprefix(f"{self._project.database.path}: ")
                around |= {"way": "Go on", "referrer": "same-origin"}
            return refused_page(why, status, **around)

    def _admitted(self, request: Request, session: ReviewSession | None) -> PageRoute:
        caller: Hashable = PageCall(request, None, {}).address if session is None else session.person.id
        most = self._limits.address if session is None else self._limits.session
        if self._project and self._calls.count(caller) > most:
            raise Refusal(429, "too many calls; wait a minute")
        path = request.scope["path"]
        found = ((match, ways) for pattern, ways in self._patterns if (match := pattern.match(path)))
        match, ways = next(found, (None, {}))
        route = ways.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise Refusal(405, "this page does not accept that method") if ways else Refusal(404, "no such page")
        if route.roles and session is None:
            raise Refusal(401, "Open your personal link. If you have opened it before, in this browser, go on.")
        if session is not None and route.roles and session.person.role not in route.roles:
            raise Refusal(403, "your role may not open this page")
        request.scope["path_params"] = match.groupdict() if match else {}
        return route


def _fields(body: bytes) -> dict[str, list[str]]:
    if len(body) > LONGEST_FORM:
        raise Refusal(413, "the form is too long")
    try:
        sent = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InputError("what was sent is not a form") from None
    return {name: [value.replace("\r\n", "\n") for value in values] for name, values in sent.items()}


def _check_sender(
    request: Request, session: ReviewSession | None, sent: Mapping[str, list[str]], public: str
) -> None:
    """Refuse a form that was not sent from these pages in this session. Every browser states the origin."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    stated = site == "same-origin" or (site is None and origin is not None)
    if not stated or (
        origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}", public or None)
    ):
        raise Refusal(403, "this form was not sent from these pages")
    token = next(iter(sent.get("csrf", ())), "")
    if session is not None and not compare_digest(token.encode(), session.csrf.encode()):
        raise Refusal(403, "this page is older than your session; go back, reload it and send it again")
