"""The pages of a review: entry by personal links, a reviewer's items, an admin's pages; all addresses and roles."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from math import ceil
from secrets import token_urlsafe
from typing import Any, get_args
from urllib.parse import urlencode

from msgspec import json, structs
from starlette.responses import RedirectResponse, Response

from eyetest.errors import DiskFull, Forbidden, InputError, nearest, short
from eyetest.pages.page import printable
from eyetest.pages.serving import LOCAL, Front
from eyetest.records import Decision, Item, letter, tag_word
from eyetest.studio import forms
from eyetest.studio.app.items import ASSETS, TABLE, Browsing, show_story
from eyetest.studio.app.listing import EVERYTHING, WITHOUT_GOLDS
from eyetest.studio.app.server import (
    CallLimits,
    PageCall,
    PageRoute,
    Site,
    asset_page,
    html_page,
    refused_page,
    whole_number,
)
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import DECIDES, Role, Task, standing
from eyetest.studio.forms import EDIT, KINDS, LABEL, Shown, present, questions
from eyetest.studio.project import UNANSWERED, ReviewProject

_ANYONE: tuple[Role, ...] = get_args(Role)
_LOOKING: tuple[Role, ...] = ("admin", "reader")
_ADMIN: tuple[Role, ...] = ("admin",)
_FILES = (*ASSETS, "review.js", "review.css")
_YEAR = 365 * 86_400  # seconds, of cookies; sessions end earlier
_LOADED: dict[str, Any] = {"scripts": ("app.js", "review.js"), "styles": ("app.css", "review.css")}
_LOADED |= {"referrer": "same-origin"}  # so that a browser states the origin of a form
_SHOWN = 50
Sent = Mapping[str, Sequence[str]]  # the fields of a form as a browser sends them
_UNSOLVED = structs.replace(WITHOUT_GOLDS, replies=False)
_MOST_TAGS, _LONGEST_TAG = 40, 400
_LINE = 34  # characters in one line of an input


def make_review_app(
    collection: Collection, project: ReviewProject, front: Front = LOCAL, limits: CallLimits | None = None
) -> Site:
    """The pages of a review."""
    site = Site(front, project, limits)
    pages = ReviewPages(collection, project, site)
    routes = [
        PageRoute("GET", "/enter/{token}", pages.entry),
        PageRoute("POST", "/enter/{token}", pages.enter),
        PageRoute("POST", "/leave", pages.leave, _ANYONE),
        PageRoute("GET", "/", pages.home, _ANYONE),
        PageRoute("POST", "/next", pages.next, DECIDES),
        PageRoute("GET", "/task", pages.task, DECIDES),
        PageRoute("POST", "/solve", pages.solve, DECIDES),
        PageRoute("POST", "/decide", pages.decide, DECIDES),
        PageRoute("GET", "/overview", pages.overview, _ADMIN),
        PageRoute("GET", "/items/", pages.items, _LOOKING),
        PageRoute("GET", f"/items/{TABLE}", pages.browsing.export, _ADMIN),
    ]
    for root in ("/", "/items/"):
        routes += [PageRoute("GET", root + name, asset_page(name)) for name in _FILES]
        for kind in ("image", "thumbnail"):
            routes.append(PageRoute("GET", f"{root}{kind}/{{sha256}}", pages.browsing.image, _ANYONE))
    site.add(routes)
    return site


class ReviewPages:
    """The pages of reviewers and admins, and the browsing of admins and readers."""

    def __init__(self, collection: Collection, project: ReviewProject, site: Site) -> None:
        self._collection, self._project, self._site = collection, project, site
        self.browsing = Browsing(collection)

    def _page(self, call: PageCall, name: str, contents: dict[str, Any], status: int = 200) -> Response:
        """A page with its surroundings."""
        session = call.known
        desk = {"name": self._project.plan.name, "person": session.person.name, "role": session.person.role}
        around = {"desk": desk | {"csrf": session.csrf, "here": name}} | _LOADED
        return html_page(f"{name}.html.j2", around | contents, status)

    def home(self, call: PageCall) -> Response:
        """Instructions, progress, and one's decisions."""
        session = call.known
        if session.person.role == "reader":
            return self._page(call, "home", {"reads": True})
        decided = standing(self._project.decisions(session.person))[::-1]
        pages = max(1, ceil(len(decided) / _SHOWN))
        page = min(whole_number(call.request.query_params.get("page") or "1", "page"), pages)
        (row,) = self._project.people.rows(session.person)
        form = self._project.plan.form
        contents = {
            "reads": False,
            "decided": row.decided,
            "waiting": row.waiting,
            "about": form.about,
            "solve": form.solve,
            "mine": decided[(page - 1) * _SHOWN : page * _SHOWN],
            "page": page,
            "pages": pages,
            "href": task_href,
        }
        return self._page(call, "home", contents)

    def next(self, call: PageCall) -> Response:
        """Claim the next item and redirect to it; home where none waits."""
        task = self._project.next_task(call.known.person)
        return _go("./" if task is None else task_href(task.item))

    def task(self, call: PageCall) -> Response:
        """An item to decide about, or to solve first."""
        return self._show(call, self._task(call, call.request.query_params.get("item", "")))

    def solve(self, call: PageCall) -> Response:
        """Keep an answer; the first one stays."""
        task = self._task(call, call.field("item"))
        words = [word.strip() for word in call.sent.get("answer", ()) if word.strip()]
        if call.field("how") == "cannot":
            words = []
        elif not words:
            return self._show(call, task, problem="Choose an answer, or say that you cannot answer it.", status=400)
        self._project.solve(call.known.person, task, ", ".join(words))
        return _go(task_href(task.item))

    def decide(self, call: PageCall) -> Response:
        """Store a decision and continue; on an error the form is returned as it was sent."""
        person = call.known.person
        task = self._task(call, call.field("item"))
        if task.unsolved:
            raise Forbidden(UNANSWERED)  # before anything is held against the gold
        try:
            decided = read_form(call.sent, task, self._collection.records([task.item])[task.item])
            self._project.decide(person, task, decided, _nonce_of(call))
        except (InputError, DiskFull) as error:
            status = 507 if isinstance(error, DiskFull) else 400
            again = ". What you typed is below; send it again when there is space on the disk."
            problem = f"{error}{again if status == 507 else ''}"
            return self._show(call, task, problem=problem, sent=call.sent, status=status)
        following = None
        with suppress(DiskFull):
            following = self._project.next_task(person)
        taken = urlencode({"taken": call.field("nonce")})
        return _go(f"./?{taken}" if following is None else f"{task_href(following.item)}&{taken}")

    def _task(self, call: PageCall, item: str) -> Task:
        return self._project.task(call.known.person, item)

    def _show(
        self, call: PageCall, task: Task, *, problem: str = "", sent: Sent | None = None, status: int = 200
    ) -> Response:
        story = self._collection.item(task.item)
        may = structs.replace(EVERYTHING, **{name: name in task.form.shows for name in get_args(Shown)})
        shown = show_story(story, self._collection, _UNSOLVED if task.unsolved else may)
        if task.unsolved:
            shown["no_gold"] = "Answer first; then the gold is shown, and all that is known of the item."
        shown["verdicts"] = self._project.plan.blinded(shown["verdicts"], adjudicates=task.adjudicates)
        shown["findings"] = [one | {"href": ""} for one in shown["findings"]]
        (row,) = self._project.people.rows(call.known.person)
        contents = {
            "task": task,
            "shown": shown,
            "row": row,
            "problem": problem,
            "form": None if task.unsolved else show_form(task, story.item, sent),
            "letters": [letter(at) for at in range(len(story.item.choices))],
            "golds": [letter(at) for at in story.item.gold],
            "nonce": token_urlsafe(16) if sent is None else call.field("nonce"),
            "kept": sent is not None,
        }
        return self._page(call, "task", contents, status=status)

    def entry(self, call: PageCall) -> Response:
        """One button. The token is not used before it is pressed, so that a link preview does not use it up."""
        contents = {"name": self._project.plan.name, "token": call.request.path_params["token"], "root": "../"}
        return html_page("enter.html.j2", contents | _LOADED | {"csrf": call.session.csrf if call.session else ""})

    def enter(self, call: PageCall) -> Response:
        """Begin a session by a link."""
        token, cookie = call.request.path_params["token"], call.request.cookies.get(self._site.cookie)
        self._site.count_failed_entry(call, 0)
        try:
            session = self._project.people.enter(token, cookie)
        except Forbidden as error:
            self._site.count_failed_entry(call)
            return refused_page(str(error), 403, root=self._site.front.root, way="Go on", **_LOADED)
        answer, front = _go("../"), self._site.front
        secure = call.request.url.scheme == "https" or front.public.startswith("https:")
        kept: dict[str, Any] = {"max_age": _YEAR, "path": front.root, "secure": secure}
        answer.set_cookie(self._site.cookie, session.cookie, httponly=True, samesite="strict", **kept)
        return answer

    def leave(self, call: PageCall) -> Response:
        """End the session. The browser may enter again by the same link: its cookie stays."""
        self._project.people.leave(call.known.cookie)
        return html_page("left.html.j2", {"name": self._project.plan.name} | _LOADED)

    def overview(self, call: PageCall) -> Response:
        """Progress, the agreement of reviewers, and the outcomes of items."""
        contents = {
            "progress": self._project.progress(),
            "agreement": self._project.agreement(),
            "people": self._project.people.rows(),
            "folder": shlex.quote(str(self._project.folder)),
        }
        return self._page(call, "overview", contents)

    def items(self, call: PageCall) -> Response:
        """The list and the items, with golds for admins only."""
        may = EVERYTHING if call.known.person.role == "admin" else WITHOUT_GOLDS
        return self.browsing.page(call, may, {"review": "../", "referrer": "same-origin"})


def _go(to: str) -> Response:
    """Redirect to another page with GET."""
    return RedirectResponse(to, 303)


def _nonce_of(call: PageCall) -> str:
    """A form that is sent twice is one decision. Changed in between, after going back, it is another."""
    sent = {name: value for name, value in call.sent.items() if name != "csrf"}
    return sha256(json.encode(sent, order="sorted")).hexdigest() if call.field("nonce") else ""


def task_href(item: str) -> str:
    """The address of a task."""
    return "task?" + urlencode({"item": item}, errors="surrogatepass")


def show_form(task: Task, item: Item, sent: Sent | None = None) -> dict[str, Any]:
    """The questions of the form with values: as sent, else as this person decided before, else as in the item."""
    filled: Sent = sent or (forms.as_answers(task.mine, task.form) if task.mine else {})
    start = {name: [printable(text)] for name, text in present(item).items()}
    plain = {name: value for name, value in item.tags.items() if "=" not in name and name == name.strip()}
    lines = [f"{name}={word}" for name, value in plain.items() if (word := tag_word(value)) is not None]
    whole = [one for one in lines if len(one) <= _LONGEST_TAG and printable(one) == one and one.splitlines() == [one]]
    start["edit_tags"] = ["\n".join(whole[:_MOST_TAGS])]
    shown = []
    for asked in questions(task.form, len(item.choices)):
        question = asked
        values = filled.get(question.name, start.get(question.name, []))
        if question.name == "edit_answer" and item.choices:
            letters = tuple(letter(at) for at in range(len(item.choices)))
            question = question._replace(kind="several", values=letters)
            none_left = sent and question.name not in sent and any(name.startswith(EDIT) for name in sent)
            values = [] if none_left else [word.strip().upper() for one in values for word in one.split(",")]
        shown.append(
            question._asdict()
            | {"values": [{"value": value, "on": value in values} for value in question.values]}
            | {"value": next(iter(values), ""), "edits": question.name.startswith(EDIT)}
            | {"rows": min(sum(1 + len(line) // _LINE for one in values for line in one.split("\n")), 8) or 1}
        )
    return {
        "named": {one["name"]: one for one in shown},
        "fields": [one for one in shown if one["name"].startswith(LABEL)],
        "edits": [one for one in shown if one["edits"]],
    }


def read_form(sent: Sent, task: Task, item: Item) -> Decision:
    """The submitted decision; fields that do not belong to it are left out."""
    words = {name: [value for value in values if value.strip()] for name, values in sent.items()}
    if not words.get("decision"):
        raise InputError("choose a decision: keep, drop, fix or unsure")
    if (kind := words["decision"][0]) not in KINDS:
        raise InputError(f"decision: found {short(kind)}; {nearest(kind, KINDS)}")
    answers = {
        question.name: ", ".join(values) if question.name == "edit_answer" and item.choices else values
        for question in questions(task.form, len(item.choices))
        if (values := words.get(question.name)) and kind in (question.when or KINDS)
    }
    edits = any(name.startswith(EDIT) for name in sent)
    for name, text in (present(item) if kind == "fix" else {}).items():
        if name != "edit_answer" and text.strip() and name in sent and not words[name]:
            raise InputError(
                f"{name.removeprefix(EDIT)}: found nothing, expected a text; drop the item, or say what to do"
            )
    if item.gold and kind == "fix" and "answer" in task.form.edits and edits and "edit_answer" not in sent:
        raise InputError("gold: choose at least one option")
    decision = forms.read_answers(answers, item, task.form)
    if kind == "drop" and not decision.reason:
        raise InputError("say why it is to be dropped")
    if kind == "fix" and not (decision.edits or decision.comment):
        raise InputError("a fix changes something: edit the item, or say in the comment what has to be done")
    return forms.check_decision(decision, task.form, item)
