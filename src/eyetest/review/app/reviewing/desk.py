"""The pages of somebody who decides: what waits for them, one item after the other, and what they said."""

from collections.abc import Mapping, Sequence
from math import ceil
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from eyetest.errors import DiskFull, Forbidden, InputError, short
from eyetest.harden.screenshot.mathml import mathml
from eyetest.pages.page import plain
from eyetest.records import Decision, DecisionKind, letter
from eyetest.review.app.browsing import html_page
from eyetest.review.app.disclosure import UNSOLVED, Disclosure
from eyetest.review.app.item_page import show_story
from eyetest.review.app.reviewing.decision_form import Sent, read_form, show_form
from eyetest.review.app.reviewing.gate import PageCall
from eyetest.review.collection import Collection, ItemStory
from eyetest.review.decisions import standing
from eyetest.review.forms import check_labels
from eyetest.review.project import UNANSWERED, DecisionDetails, ReviewProject, ReviewSession, Task
from eyetest.wording import counted

LOOKS: dict[str, Any] = {
    "scripts": ("app.js", "review.js"),
    "styles": ("app.css", "review.css"),
    "referrer": "same-origin",
}
"""What pages of a review load, besides; only with a referrer a browser tells where a form was sent from."""
_SHOWN = 50
_SENT_BEFORE = InputError("this form was sent before, with something else in it; send it again to decide anew")
_TABS = {
    "reviewer": {"./": "Home"},
    "adjudicator": {"./": "Home"},
    "reader": {"./": "Home", "items/": "Items"},
    "admin": {
        "./": "Home",
        "overview": "Overview",
        "decisions": "Decisions",
        "people": "People",
        "log": "Log",
        "items/": "Items",
    },
}


def around(project: ReviewProject, session: ReviewSession, here: str = "") -> dict[str, Any]:
    """What every page of a review has around it."""
    tabs = _TABS[session.person.role]
    desk = {
        "name": project.plan.name,
        "person": session.person.name,
        "role": session.person.role,
        "csrf": session.csrf,
        "tabs": [{"href": href, "label": label, "here": href == here} for href, label in tabs.items()],
    }
    return {"desk": desk} | LOOKS


def go(to: str) -> Response:
    """On to another page, which is fetched and not sent to."""
    return RedirectResponse(to, 303)


class Desk:
    """A reviewer's pages."""

    def __init__(self, collection: Collection, project: ReviewProject) -> None:
        self._collection, self._project = collection, project

    def home(self, call: PageCall) -> Response:
        """What to do, how far one is, and what one decided, each with its undo."""
        session = call.known
        contents = around(self._project, session, "./") | {"reads": session.person.role == "reader"}
        if contents["reads"]:
            return html_page("home.html.j2", contents)
        said = standing(self._project.decisions(session.person))[::-1]
        pages = max(1, ceil(len(said) / _SHOWN))
        page = min(_number(call.request.query_params.get("page", "1"), "page"), pages)
        (row,) = self._project.people(session.person)
        rounds = self._project.plan.rounds
        contents |= {
            "decided": row.decided,
            "waiting": row.waiting,
            "rounds": [{"number": one.number, "about": one.form.about} for one in rounds if one.form.about],
            "solve": self._project.plan.solve or any(one.form.solve for one in rounds),
            "mine": [
                shown_decision(one) | {"nonce": token_urlsafe(16), "round_of": one.round if len(rounds) > 1 else 0}
                for one in said[(page - 1) * _SHOWN : page * _SHOWN]
            ],
            "page": page,
            "pages": pages,
        }
        return html_page("home.html.j2", contents)

    def next(self, call: PageCall) -> Response:
        """On to the next item, which is theirs from now on; home where none waits."""
        task = self._project.next_task(call.known.person)
        return go("./" if task is None else task_href(task.item, task.round))

    def task(self, call: PageCall) -> Response:
        """An item to decide about, or to solve first."""
        params = call.request.query_params
        return self._show(call, self._task(call, params.get("item", ""), params.get("round", "1")))

    def solve(self, call: PageCall) -> Response:
        """Keep an answer; the first one stays."""
        task = self._task(call, call.field("item"), call.field("round"))
        words = [word.strip() for word in call.sent.get("answer", ()) if word.strip()]
        if call.field("how") == "cannot":
            words = []
        elif not words:
            return self._show(call, task, problem="Choose an answer, or say that you cannot answer it.", status=400)
        self._project.solve(call.known.person, task, ", ".join(words))
        return go(task_href(task.item, task.round))

    def decide(self, call: PageCall) -> Response:
        """Keep a decision and go on; whatever is wrong, the form comes back as it was sent."""
        person = call.known.person
        task = self._task(call, call.field("item"), call.field("round"))
        if task.unsolved:
            raise Forbidden(UNANSWERED)  # before anything is held against the gold
        try:
            item = self._collection.record(task.item) if call.field("decision") == "fix" else None
            kind, said = read_form(call.sent, task, item)
            kept = self._project.decide(person, task, kind, nonce=call.field("nonce"), **said)
            if not _is_same(kept, kind, said, task):
                raise _SENT_BEFORE
        except (InputError, DiskFull) as error:
            status = 507 if isinstance(error, DiskFull) else 400
            told = f"{error}. What you typed is below; send it again when there is room." if status == 507 else error
            return self._show(call, task, problem=str(told), sent=call.sent, status=status)
        try:
            following = self._project.next_task(person)
        except DiskFull:
            following = None
        taken = urlencode({"taken": call.field("nonce")})
        return go(f"./?{taken}" if following is None else f"{task_href(following.item, following.round)}&{taken}")

    def undo(self, call: PageCall) -> Response:
        """Withdraw what one decided last about an item, and look at it again."""
        task = self._task(call, call.field("item"), call.field("round"))
        self._project.undo(call.known.person, task.item, task.round, call.field("nonce"))
        return go(task_href(task.item, task.round))

    def _task(self, call: PageCall, item: str, number: str) -> Task:
        return self._project.task(call.known.person, item, _number(number, "round"))

    def _show(
        self, call: PageCall, task: Task, *, problem: str = "", sent: Sent | None = None, status: int = 200
    ) -> Response:
        told = self._collection.item(task.item)
        shown = show_story(told, self._collection, UNSOLVED if task.unsolved else _disclosure(task))
        shown["verdicts"] = self._project.plan.blinded(shown["verdicts"], adjudicates=task.adjudicates)
        shown["findings"] = [one | {"href": ""} for one in shown["findings"]]
        contents = around(self._project, call.known) | {
            "task": task,
            "shown": shown,
            "mathml": mathml,
            "where": self._where(task),
            "problem": problem,
            "form": None if task.unsolved else show_form(task, told.item, sent),
            "letters": [letter(at) for at in range(len(told.item.choices))] if told.item else [],
            "earlier": [shown_decision(one) for one in task.earlier],
            "solved": _solved(task, told),
            "nonce": token_urlsafe(16) if sent is None or problem == str(_SENT_BEFORE) else call.field("nonce"),
            "seconds": call.field("seconds") if sent else "",
            "kept": sent is not None,
        }
        return html_page("task.html.j2", contents, status)

    def _where(self, task: Task) -> str:
        rounds = len(self._project.plan.rounds)
        words = [f"round {task.round} of {rounds}"] if rounds > 1 else []
        words += ["others disagree about it"] if task.adjudicates else []
        words += ["answer it first"] if task.unsolved else []
        return " · ".join(words)


def _is_same(kept: Decision, kind: DecisionKind, said: DecisionDetails, task: Task) -> bool:
    """Whether what was kept is what was said now; it is not where somebody went back and changed what was sent."""
    if kept.decision != kind or kept.labels != check_labels(task.form, kind, said.get("labels") or {}):
        return False
    return all(said.get(name) == getattr(kept, name) for name in ("reason", "edits", "comment"))


def _disclosure(task: Task) -> Disclosure:
    shows = task.form.shows
    return Disclosure(replies="replies" in shows, verdicts="verdicts" in shows, findings="findings" in shows)


def _solved(task: Task, told: ItemStory) -> str:
    """What one answered, beside the gold."""
    if not task.form.solve or task.solved is None:
        return ""
    said = f"You answered {task.solved}" if task.solved else "You could not answer it"
    golds = [letter(at) for at in told.item.gold] if told.item else []
    if task.solved and golds:
        same = set(task.solved.split(", ")) == set(golds)
        return f"{said}, {'as the gold does' if same else 'the gold is ' + ', '.join(golds)}."
    return f"{said}."


def shown_decision(one: Decision) -> dict[str, Any]:
    """A decision as a page tells it."""
    edits: list[tuple[str, str]] = []
    for key, value in one.edits.items():
        pairs: Sequence[tuple[str, Any]] = list(value.items()) if isinstance(value, Mapping) else [(key, value)]
        edits += [(f"tag {name}" if key == "tags" else name, plain(words)) for name, words in pairs]
    return {
        "item": one.item,
        "round": one.round,
        "href": task_href(one.item, one.round),
        "reviewer": one.reviewer,
        "decision": one.decision,
        "adjudicates": one.adjudicates,
        "reason": one.reason,
        "labels": [(name, plain(value)) for name, value in one.labels.items()],
        "edits": edits,
        "solved": one.solved,
        "comment": one.comment,
        "time": one.time.replace("T", " ")[:16],
        "seconds": counted(round(one.seconds), "second") if one.seconds is not None else "",
    }


def task_href(item: str, number: int) -> str:
    """The address of a task."""
    return "task?" + urlencode({"item": item, "round": number}, errors="surrogatepass")


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not int(text):
        raise InputError(f"{name}: found {short(text)}, expected a number from 1")
    return int(text)
