"""The pages of whoever runs a review: how far it is, who takes part, what was refused, what else is asked."""

import shlex
from collections.abc import Mapping
from itertools import islice
from typing import Any, get_args

from starlette.responses import Response

from eyetest.errors import InputError, short
from eyetest.pages.item_links import parse_query
from eyetest.review.app.browsing import Browsing, download, html_page
from eyetest.review.app.disclosure import EVERYTHING, Disclosure, without_golds
from eyetest.review.app.reviewing.decided import decided_href, decided_page
from eyetest.review.app.reviewing.desk import around, go
from eyetest.review.app.reviewing.gate import PageCall
from eyetest.review.collection import Collection
from eyetest.review.exchange.spreadsheet import write_sheet
from eyetest.review.project import COEFFICIENTS, ReviewProject, Role
from eyetest.wording import counted, minute

_LOG_LINES = 500
_MOST_VALUES = 30


class Office:
    """An admin's pages, and the browsing of admins and readers."""

    def __init__(self, collection: Collection, project: ReviewProject, browsing: Browsing) -> None:
        self._collection, self._project, self.browsing = collection, project, browsing
        self._without_golds: Disclosure | None = None

    def overview(self, call: PageCall) -> Response:
        """How far it is and how far people agree; every number leads to the items it counts."""
        told, folder = self._project.overview(), shlex.quote(str(self._project.folder))
        contents = around(self._project, call.known, "overview") | {
            "told": told,
            "states": _links("state", told.states),
            "rounds": [{"round": one, "href": decided_href({"round": one.round})} for one in told.progress.rounds],
            "people": [{"person": one, "href": decided_href({"person": one.name})} for one in told.progress.people],
            "decisions": _links("decision", told.decisions),
            "reasons": _links("reason", told.reasons),
            "labels": [
                {"name": name, "values": _links(f"label.{name}", counts)} for name, counts in told.labels.items()
            ],
            "names": COEFFICIENTS,
            "export": f"eyetest review export {folder} --tool label-studio --to DIR",
        }
        return html_page("overview.html.j2", contents)

    def decided(self, call: PageCall) -> Response:
        """The items behind a number, with what everybody said of them."""
        contents = decided_page(self._project, dict(call.request.query_params))
        return html_page("decisions.html.j2", around(self._project, call.known, "decisions") | contents)

    def people(self, call: PageCall, **more: Any) -> Response:
        """Who takes part."""
        contents = around(self._project, call.known, "people") | {
            "people": [
                one._asdict() | {"invited": minute(one.invited), "seen": minute(one.seen)}
                for one in self._project.people()
            ],
            "roles": get_args(Role),
            "link": "",
            "invited": "",
        }
        return html_page("people.html.j2", contents | more)

    def invite(self, call: PageCall) -> Response:
        """A new link for somebody, which is shown this once."""
        name, role, days = call.field("name").strip(), call.field("role") or "reviewer", call.field("days") or "30"
        if not (days.isascii() and days.isdigit() and len(days) < 6):
            raise InputError(f"days: found {short(days)}, expected a number")
        if name == call.known.person.name:
            raise InputError("that is you; a new link for yourself would end this session")
        token = self._project.invite(name, role, int(days))  # type: ignore[arg-type]
        link = f"{call.request.url.scheme}://{call.request.headers['host']}/enter/{token}"
        return self.people(call, link=link, invited=name)

    def revoke(self, call: PageCall) -> Response:
        """End somebody's link and sessions; what they decided stays."""
        name = call.field("name")
        if name == call.known.person.name:
            raise InputError("that is you; nobody would be left to run this review from here")
        self._project.revoke(name)
        return go("people")

    def log(self, call: PageCall) -> Response:
        """What happened, the newest first."""
        lines = [one._asdict() | {"time": minute(one.time)} for one in self._project.logged(_LOG_LINES)]
        return html_page("log.html.j2", around(self._project, call.known, "log") | {"lines": lines})

    def queue(self, call: PageCall) -> Response:
        """Have people decide about the items that were shown or selected."""
        if "query" not in call.sent:
            raise InputError("which items? the form has no query")
        view = self._collection.view(parse_query(call.field("query")))
        ids = self._collection.items.get_column("id")[view.positions].to_list()
        if not ids:
            raise InputError("no item is so")
        new = self._project.add_items(ids)
        self._project.log("queued", call.known.person.name, detail=f"{new:,} of {counted(len(ids), 'item')}")
        return go("decisions?state=untouched")

    def export(self, call: PageCall) -> Response:
        """Every decision that was ever made, as a table that refine and other commands read."""
        table = write_sheet(self._project.decisions())
        return download("decisions.csv", "text/csv; charset=utf-8", table.encode("utf-8", "replace"))

    def items(self, call: PageCall) -> Response:
        """The list and the items, with golds for an admin alone."""
        more: dict[str, Any] = {"review": "../", "referrer": "same-origin"}
        if call.known.person.role == "admin":
            more |= {"queue": call.known.csrf}
        return self.browsing.page(call.request, self._disclosure(call), more)

    def item_export(self, call: PageCall) -> Response:
        """What is shown of the items, as a file."""
        return self.browsing.export(call.request, self._disclosure(call))

    def _disclosure(self, call: PageCall) -> Disclosure:
        if call.known.person.role == "admin":
            return EVERYTHING
        if self._without_golds is None:
            self._without_golds = without_golds(self._collection)
        return self._without_golds


def _links(key: str, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The most frequent values, each with the items that it leads to."""
    most = islice(counts.items(), _MOST_VALUES)
    return [{"label": value, "number": number, "href": decided_href({key: value})} for value, number in most]
