"""All addresses of a review: what each answers, and who may call it."""

from collections.abc import Callable
from typing import get_args

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from eyetest.errors import Forbidden
from eyetest.review.app.browsing import ASSETS, Browsing, asset_page, html_page, refused_page
from eyetest.review.app.guard import RequestGuard
from eyetest.review.app.reviewing.desk import LOOKS, Desk, go
from eyetest.review.app.reviewing.gate import PUBLIC, Gate, PageCall, ReviewRoute, address_of
from eyetest.review.app.reviewing.limits import CallLimits
from eyetest.review.app.reviewing.office import Office
from eyetest.review.collection import Collection
from eyetest.review.project import DECIDES, ReviewProject, Role

_EVERYBODY: tuple[Role, ...] = get_args(Role)
_LOOKING: tuple[Role, ...] = ("admin", "reader")
_ADMIN: tuple[Role, ...] = ("admin",)
_FILES = ASSETS | {"review.js": "text/javascript", "review.css": "text/css"}
_YEAR = 365 * 86_400
"""In seconds, of cookies; when a session ends is the project's to say."""


def make_review_app(
    collection: Collection, project: ReviewProject, host: str = "127.0.0.1", limits: CallLimits | None = None
) -> Starlette:
    """The pages of a review, for a server that is called ``host``."""
    gate = Gate(project, limits or CallLimits())
    desk, office = Desk(collection, project), Office(collection, project, Browsing(collection))
    door = _Door(project, gate)
    table = [
        ReviewRoute("GET", "/enter/{token}", door.show, PUBLIC),
        ReviewRoute("POST", "/enter/{token}", door.enter, PUBLIC),
        ReviewRoute("POST", "/leave", door.leave, _EVERYBODY),
        ReviewRoute("GET", "/", desk.home, _EVERYBODY),
        ReviewRoute("POST", "/next", desk.next, DECIDES),
        ReviewRoute("GET", "/task", desk.task, DECIDES),
        ReviewRoute("POST", "/solve", desk.solve, DECIDES),
        ReviewRoute("POST", "/decide", desk.decide, DECIDES),
        ReviewRoute("POST", "/undo", desk.undo, DECIDES),
        ReviewRoute("GET", "/overview", office.overview, _ADMIN),
        ReviewRoute("GET", "/decisions", office.decided, _ADMIN),
        ReviewRoute("GET", "/decisions.csv", office.export, _ADMIN),
        ReviewRoute("GET", "/people", office.people, _ADMIN),
        ReviewRoute("POST", "/invite", office.invite, _ADMIN),
        ReviewRoute("POST", "/revoke", office.revoke, _ADMIN),
        ReviewRoute("GET", "/log", office.log, _ADMIN),
        ReviewRoute("POST", "/queue", office.queue, _ADMIN),
        ReviewRoute("GET", "/items/", office.items, _LOOKING),
        ReviewRoute("GET", "/items/export/{name}", office.item_export, _LOOKING),
    ]
    for root in ("/", "/items/"):
        table += [ReviewRoute("GET", root + name, asset_page(name, kind), PUBLIC) for name, kind in _FILES.items()]
        table += [
            ReviewRoute("GET", root + "picture/{sha256}", _asked(office.browsing.whole), _EVERYBODY),
            ReviewRoute("GET", root + "thumbnail/{sha256}", _asked(office.browsing.small), _EVERYBODY),
        ]
    return Starlette(
        routes=gate.routes(table), middleware=[Middleware(RequestGuard, host=host, refused=gate.refused)]
    )


def _asked(answer: Callable[[Request], Response]) -> Callable[[PageCall], Response]:
    return lambda call: answer(call.request)


class _Door:
    """Coming in by a personal link, and leaving."""

    def __init__(self, project: ReviewProject, gate: Gate) -> None:
        self._project, self._gate = project, gate

    def show(self, call: PageCall) -> Response:
        """One button. Nothing is looked up before it is pressed, so that a preview of a link uses nothing up."""
        contents = {
            "name": self._project.plan.name,
            "token": call.request.path_params["token"],
            "csrf": call.session.csrf if call.session else "",
            "root": "../",
        }
        return html_page("enter.html.j2", contents | LOOKS)

    def enter(self, call: PageCall) -> Response:
        """Take a link's token for a session, in this browser."""
        self._gate.count_failed_entry(call.request, 0)
        token, device = call.request.path_params["token"], call.request.cookies.get(self._gate.device)
        try:
            entered = self._project.enter(token, device, address_of(call.request))
        except Forbidden as error:
            self._gate.count_failed_entry(call.request)
            return refused_page(str(error), 403, root="/", way="Go on", **LOOKS)
        answer, is_https = go("../"), call.request.url.scheme == "https"
        for name, value in ((self._gate.cookie, entered.cookie), (self._gate.device, entered.device)):
            answer.set_cookie(name, value, max_age=_YEAR, httponly=True, samesite="strict", secure=is_https)
        return answer

    def leave(self, call: PageCall) -> Response:
        """End the session. The browser may come in again by the same link."""
        self._project.leave(call.request.cookies[self._gate.cookie])
        answer = html_page("left.html.j2", {"name": self._project.plan.name} | LOOKS)
        answer.delete_cookie(self._gate.cookie, httponly=True, samesite="strict")
        return answer
