"""The pages of whoever runs a review: how far it is, who takes part, what was refused, what else is asked."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, get_args

from starlette.responses import Response

from eyetest.errors import InputError, short
from eyetest.pages.item_links import parse_query
from eyetest.records import Decision
from eyetest.review.app.browsing import Browsing, download, html_page
from eyetest.review.app.disclosure import EVERYTHING, Disclosure, without_golds
from eyetest.review.app.reviewing.decided import NO_REASON, STATES, decided_href, decided_page, judged_items
from eyetest.review.app.reviewing.desk import around, go
from eyetest.review.app.reviewing.gate import PageCall
from eyetest.review.collection import Collection
from eyetest.review.decisions import standing
from eyetest.review.exchange.spreadsheet import write_sheet
from eyetest.review.project import ReviewProject, Role
from eyetest.wording import counted

_LOG_LINES = 500
_MOST_VALUES = 30
_COEFFICIENTS = {
    "observed": "as observed",
    "fleiss": "Fleiss' κ",
    "krippendorff": "Krippendorff's α",
    "gwet": "Gwet's AC1",
    "cohen": "Cohen's κ",
}


class Office:
    """An admin's pages, and the browsing of admins and readers."""

    def __init__(self, collection: Collection, project: ReviewProject, browsing: Browsing) -> None:
        self._collection, self._project, self.browsing = collection, project, browsing
        self._without_golds: Disclosure | None = None

    def overview(self, call: PageCall) -> Response:
        """How far it is and how far people agree; every number leads to the items it counts."""
        told = self._project.overview()
        said, folder = standing(self._project.decisions()), shlex.quote(str(self._project.folder))
        states = Counter(one.state for one in judged_items(self._project))
        contents = around(self._project, call.known, "overview") | {
            "told": told,
            "states": [_link(state, states[state], state=state) for state in STATES if states[state]],
            "rounds": [
                {"round": one, **_link("", len(_reached(said, one.round)), round=one.round)}
                for one in told.progress.rounds
            ],
            "people": [{"person": one, "href": decided_href({"person": one.name})} for one in told.progress.people],
            "decisions": list(_counted(said, "decision")),
            "reasons": list(_counted([one for one in said if one.decision == "drop"], "reason")),
            "labels": list(_labels(said)),
            "agreement": told.agreement,
            "names": _COEFFICIENTS,
            "export": f"eyetest review export {folder} --format label-studio --to DIR",
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
                one._asdict() | {"invited": _time(one.invited), "seen": _time(one.seen)}
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
        lines = [one._asdict() | {"time": _time(one.time)} for one in self._project.logged(_LOG_LINES)]
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


def _link(label: str, items: int, **filters: object) -> dict[str, Any]:
    return {"label": label, "number": items, "href": decided_href(filters)}


def _reached(said: Iterable[Decision], number: int) -> set[str]:
    """The items of which somebody said something in a round; 0 is settling."""
    return {one.item for one in said if (0 if one.adjudicates else one.round) == number}


def _counted(said: Iterable[Decision], key: str) -> Iterator[dict[str, Any]]:
    """By value of a decision's field: how many items somebody said that of."""
    pairs = {(getattr(one, key) or NO_REASON, one.item) for one in said}
    for value, number in Counter(value for value, _ in pairs).most_common(_MOST_VALUES):
        yield _link(value, number, **{key: value})


def _labels(said: Iterable[Decision]) -> Iterator[dict[str, Any]]:
    """By field of the form: its answers, and of how many items they were given."""
    pairs: dict[str, set[tuple[str, str]]] = {}
    for one in said:
        for name, answer in one.labels.items():
            words = answer if isinstance(answer, list) else [str(answer)]
            pairs.setdefault(name, set()).update((word, one.item) for word in words)
    for name, some in pairs.items():
        counts = Counter(word for word, _ in some).most_common(_MOST_VALUES)
        yield {"name": name, "values": [_link(word, number, **{f"label.{name}": word}) for word, number in counts]}


def _time(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
