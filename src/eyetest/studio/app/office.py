"""The pages of admins, the entry by personal links, and all addresses of a review with their roles."""

import shlex
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import Any, get_args
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response

from eyetest.errors import Forbidden, InputError, nearest, short
from eyetest.pages.item_links import parse_query
from eyetest.records import Decision
from eyetest.studio.app import ASSETS, asset_page, download, html_page, paged, refused_page
from eyetest.studio.app.desk import LOADED, Desk, around, go, shown_decision
from eyetest.studio.app.items import Browsing
from eyetest.studio.app.listing import EVERYTHING, Address, Disclosure, without_golds
from eyetest.studio.app.server import PUBLIC, CallLimits, Gate, PageCall, RequestGuard, ReviewRoute, address_of
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import DECIDES, Role, answers_of
from eyetest.studio.exchange import write_sheet
from eyetest.studio.overview import COEFFICIENTS, STATES, JudgedItem, reason_of, round_of
from eyetest.studio.project import ReviewProject
from eyetest.wording import counted, minute

_ANYONE: tuple[Role, ...] = get_args(Role)
_LOOKING: tuple[Role, ...] = ("admin", "reader")
_ADMIN: tuple[Role, ...] = ("admin",)
_FILES = ASSETS | {"review.js": "text/javascript", "review.css": "text/css"}
_YEAR = 365 * 86_400  # seconds, of cookies; sessions end earlier
_LOG_LINES = 500
_MOST_VALUES = 30
PAGE_SIZE = 40
_LABEL = "label."
_KEYS = ("state", "round", "person", "decision", "reason")
_SETTLING = {("round", "0"): "adjudication"}


def make_review_app(
    collection: Collection, project: ReviewProject, host: str = "127.0.0.1", limits: CallLimits | None = None
) -> Starlette:
    """The pages of a review, for a server named ``host``."""
    gate = Gate(project, limits or CallLimits())
    desk, browsing = Desk(collection, project), Browsing(collection)
    office = Office(collection, project, browsing, gate)
    table = [
        ReviewRoute("GET", "/enter/{token}", office.entry, PUBLIC),
        ReviewRoute("POST", "/enter/{token}", office.enter, PUBLIC),
        ReviewRoute("POST", "/leave", office.leave, _ANYONE),
        ReviewRoute("GET", "/", desk.home, _ANYONE),
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
            ReviewRoute("GET", f"{root}{kind}/{{sha256}}", lambda call: browsing.image(call.request), _ANYONE)
            for kind in ("image", "thumbnail")
        ]
    return Starlette(
        routes=gate.routes(table), middleware=[Middleware(RequestGuard, host=host, refused=gate.refused)]
    )


class Office:
    """The entry by links, an admin's pages, and the browsing of admins and readers."""

    def __init__(self, collection: Collection, project: ReviewProject, browsing: Browsing, gate: Gate) -> None:
        self._collection, self._project, self._browsing, self._gate = collection, project, browsing, gate

    def entry(self, call: PageCall) -> Response:
        """One button. The token is not used before it is pressed, so that a link preview does not use it up."""
        contents = {"name": self._project.plan.name, "token": call.request.path_params["token"], "root": "../"}
        return html_page("enter.html.j2", contents | LOADED | {"csrf": call.session.csrf if call.session else ""})

    def enter(self, call: PageCall) -> Response:
        """Begin a session by a link."""
        self._gate.count_failed_entry(call.request, 0)
        token, cookie = call.request.path_params["token"], call.request.cookies.get(self._gate.cookie)
        try:
            session = self._project.enter(token, cookie, address_of(call.request))
        except Forbidden as error:
            self._gate.count_failed_entry(call.request)
            return refused_page(str(error), 403, root="/", way="Go on", **LOADED)
        answer, secure = go("../"), call.request.url.scheme == "https"
        answer.set_cookie(
            self._gate.cookie, session.cookie, max_age=_YEAR, httponly=True, samesite="strict", secure=secure
        )
        return answer

    def leave(self, call: PageCall) -> Response:
        """End the session. The browser may enter again by the same link: its cookie stays."""
        self._project.leave(call.known.cookie)
        return html_page("left.html.j2", {"name": self._project.plan.name} | LOADED)

    def overview(self, call: PageCall) -> Response:
        """Progress and agreement; every number links to the items it counts."""
        overview, folder = self._project.overview(), shlex.quote(str(self._project.folder))
        contents = around(self._project, call.known, "overview") | {
            "overview": overview,
            "states": _links("state", overview.states),
            "rounds": [
                {"round": one, "href": decided_href({"round": one.round})} for one in overview.progress.rounds
            ],
            "people": [
                {"person": one, "href": decided_href({"person": one.name})} for one in overview.progress.people
            ],
            "decisions": _links("decision", overview.decisions),
            "reasons": _links("reason", overview.reasons),
            "labels": [{"name": name, "values": _links(_LABEL + name, by)} for name, by in overview.labels.items()],
            "names": COEFFICIENTS,
            "export": f"eyetest review export {folder} --tool label-studio --to DIR",
        }
        return html_page("overview.html.j2", contents)

    def decided(self, call: PageCall) -> Response:
        """The items behind a number, with all decisions about them."""
        contents = decided_page(self._project, dict(call.request.query_params))
        return html_page("decisions.html.j2", around(self._project, call.known, "decisions") | contents)

    def people(self, call: PageCall, **more: Any) -> Response:
        """The people who take part."""
        contents = around(self._project, call.known, "people") | {
            "people": [
                one._asdict() | {"invited": minute(one.invited), "seen": minute(one.seen)}
                for one in self._project.people()
            ],
            "roles": get_args(Role),
        }
        return html_page("people.html.j2", contents | {"link": "", "invited": ""} | more)

    def invite(self, call: PageCall) -> Response:
        """A new link for a person, which is shown only once."""
        name, role, days = call.field("name").strip(), call.field("role") or "reviewer", call.field("days") or "30"
        if not (days.isascii() and days.isdigit() and len(days) < 6):
            raise InputError(f"days: found {short(days)}, expected a number")
        if name == call.known.person.name:
            raise InputError("that is you; a new link for yourself would end this session")
        token = self._project.invite(name, role, int(days))  # type: ignore[arg-type]
        link = f"{call.request.url.scheme}://{call.request.headers['host']}/enter/{token}"
        return self.people(call, link=link, invited=name)

    def revoke(self, call: PageCall) -> Response:
        """End a person's link and sessions; their decisions stay."""
        name = call.field("name")
        if name == call.known.person.name:
            raise InputError("you cannot remove yourself: the review would have no administrator")
        self._project.revoke(name)
        return go("people")

    def log(self, call: PageCall) -> Response:
        """The log, newest first."""
        lines = [one._asdict() | {"time": minute(one.time)} for one in self._project.logged(_LOG_LINES)]
        return html_page("log.html.j2", around(self._project, call.known, "log") | {"lines": lines})

    def queue(self, call: PageCall) -> Response:
        """Add the items that were shown or selected to the review."""
        if "query" not in call.sent:
            raise InputError("which items? the form has no query")
        view = self._collection.view(parse_query(call.field("query")))
        ids = self._collection.items.get_column("id")[view.positions].to_list()
        if not ids:
            raise InputError("no item matches")
        new = self._project.add_items(ids)
        self._project.log("queued", call.known.person.name, detail=f"{new:,} of {counted(len(ids), 'item')}")
        return go("decisions?state=untouched")

    def export(self, call: PageCall) -> Response:
        """All decisions ever made, as a table that refine and other commands read."""
        table = write_sheet(self._project.decisions())
        return download("decisions.csv", "text/csv; charset=utf-8", table.encode("utf-8", "replace"))

    def items(self, call: PageCall) -> Response:
        """The list and the items, with golds for admins only."""
        more: dict[str, Any] = {"review": "../", "referrer": "same-origin"}
        if call.known.person.role == "admin":
            more |= {"queue": call.known.csrf}
        return self._browsing.page(call.request, self._disclosure(call), more)

    def item_export(self, call: PageCall) -> Response:
        """The items shown, as a file."""
        return self._browsing.export(call.request, self._disclosure(call))

    def _disclosure(self, call: PageCall) -> Disclosure:
        return EVERYTHING if call.known.person.role == "admin" else self._without_golds

    @cached_property
    def _without_golds(self) -> Disclosure:
        return without_golds(self._collection)


def _links(key: str, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    most = islice(counts.items(), _MOST_VALUES)
    return [{"label": value, "number": number, "href": decided_href({key: value})} for value, number in most]


def decided_page(project: ReviewProject, asked: Mapping[str, str]) -> dict[str, Any]:
    """The template values: the items that a filter selects, with their decisions side by side."""
    filters = {key: value for key, value in asked.items() if value and key != "page"}
    for key in filters:
        if key not in _KEYS and not key.startswith(_LABEL):
            raise InputError(f"no filter {short(key)}; {nearest(key, _KEYS)}")
    in_state = [one for one in project.judged().items if filters.get("state") in (None, one.state)]
    of_items = set(filters) <= {"state"}
    rows = [one for one in in_state if of_items or any(_fits(decision, filters) for decision in one.decisions)]
    shown, pages = paged(rows, asked.get("page", ""), PAGE_SIZE)
    return pages | {
        "number": len(rows),
        "filters": [
            {
                "label": _SETTLING.get((key, value)) or f"{key.removeprefix(_LABEL)}: {value}",
                "href": decided_href({name: other for name, other in filters.items() if name != key}),
            }
            for key, value in filters.items()
        ],
        "states": [{"label": one, "href": decided_href(filters | {"state": one})} for one in STATES],
        "rows": [_row(one) for one in shown],
        "to_page": [decided_href(filters | {"page": str(number)}) for number in range(1, pages["pages"] + 1)],
    }


def decided_href(filters: Mapping[str, object]) -> str:
    """The address of the items behind a number."""
    return "decisions" + ("?" + urlencode(filters, errors="surrogatepass") if filters else "")


def _fits(decision: Decision, filters: Mapping[str, str]) -> bool:
    """Whether a decision meets all conditions except the state of its item."""
    known = {
        "state": filters.get("state"),
        "round": str(round_of(decision)),
        "person": decision.reviewer,
        "decision": decision.decision,
        "reason": reason_of(decision) if decision.decision == "drop" else None,
    }
    labels = decision.labels
    return all(
        value == known[key] if key in known else value in answers_of(labels.get(key.removeprefix(_LABEL)))
        for key, value in filters.items()
    )


def _row(judged: JudgedItem) -> dict[str, Any]:
    return {
        "item": judged.item,
        "href": f"items/{Address(item=judged.item).href}",
        "state": judged.state,
        "verdict": judged.outcome.verdict if judged.state in ("agreed", "adjudicated") else "",
        "reason": judged.outcome.reason,
        "decisions": [shown_decision(one) for one in judged.decisions],
    }
