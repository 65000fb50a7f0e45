"""Access control of the reviewing pages: every call is accepted or refused here; refusals are logged."""

import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from threading import Lock
from typing import NamedTuple
from urllib.parse import parse_qsl

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from eyetest.errors import DiskFull, EyetestError, Forbidden, InputError
from eyetest.studio.app.browsing import refused_page
from eyetest.studio.app.server import LONGEST_FORM
from eyetest.studio.plan import ReviewSession, Role
from eyetest.studio.project import ReviewProject

PUBLIC: tuple[Role, ...] = ()
_IN_A_LINK = re.compile("enter/.*", re.IGNORECASE | re.DOTALL)
_MOST_FIELDS = 2_000
_TEN_MINUTES = 600.0
_MOST_KEPT = 10_000  # callers that are counted at once


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
            raise Refusal(401, "come in first")
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
        self.cookie, self.device = f"eyetest-{name}", f"eyetest-{name}-device"  # names of this review's cookies

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

    def _endpoint(self, ways: Mapping[str, ReviewRoute]) -> Callable[[Request], Response]:
        async def endpoint(request: Request) -> Response:
            body = bytearray()
            async for part in request.stream():
                body += part
                if len(body) > LONGEST_FORM:
                    return await run_in_threadpool(self._turned_away, request, None, Refusal(413, "too long"))
            return await run_in_threadpool(self._answer, ways, request, bytes(body))

        return endpoint  # type: ignore[return-value]

    def _answer(self, ways: Mapping[str, ReviewRoute], request: Request, body: bytes) -> Response:
        session = None
        try:
            session = self._project.session(request.cookies.get(self.cookie))
            route = self._let_in(ways, request, session)
            sent = _fields(body)
            if request.method == "POST":
                self._check_sender(request, session, sent)
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
            raise Refusal(405 if ways else 404, "nothing is there" if not ways else "that cannot be done there")
        if route.roles and session is None:
            raise Refusal(401, "Come in by your personal link. If you have come in before, in this browser, go on.")
        if session is not None and route.roles and session.person.role not in route.roles:
            raise Refusal(403, "this is not for you")
        return route

    def _check_sender(self, request: Request, session: ReviewSession | None, sent: Mapping[str, list[str]]) -> None:
        """Refuse a form that was not sent from these pages in this session."""
        if not _is_from_here(request):
            raise Refusal(403, "that was not sent from these pages")
        token = next(iter(sent.get("csrf", ())), "")
        if session is not None and not compare_digest(token.encode(), session.csrf.encode()):
            raise Refusal(403, "this page is older than your session; go back, reload it and send it again")

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
            line = "what else is refused in this minute is not written down"
        with suppress(DiskFull):
            self._project.log("refused", session.person.name if session else None, address, line)


def address_of(request: Request) -> str:
    """The address of a caller; headers of a proxy are not trusted."""
    return request.client.host if request.client else "nowhere"


def _fields(body: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InputError("that is no form") from None
    sent: dict[str, list[str]] = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return sent


def _is_from_here(request: Request) -> bool:
    """Whether a form was sent from this origin. Browsers state it; other clients hold no user's cookies."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin") or (site is None and origin is None):
        return False
    host = request.headers.get("host", "").lower()
    return origin is None or origin.lower() in (f"http://{host}", f"https://{host}")
