"""The pages of a reviewer: waiting items, one item at a time, and past decisions."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from msgspec import structs
from starlette.responses import RedirectResponse, Response

from eyetest.errors import DiskFull, Forbidden, InputError
from eyetest.harden.screenshot.formulas import mathml
from eyetest.pages.page import plain, printable
from eyetest.records import Decision, DecisionKind, Item, letter
from eyetest.studio.app import html_page, paged, whole_number
from eyetest.studio.app.items import show_story
from eyetest.studio.app.listing import UNSOLVED, Disclosure
from eyetest.studio.app.server import PageCall
from eyetest.studio.collection import Collection, ItemStory
from eyetest.studio.decisions import DecisionDetails, ReviewSession, Task, standing
from eyetest.studio.forms import KINDS, Form, FormField, check_kind, check_labels
from eyetest.studio.project import UNANSWERED, ReviewProject
from eyetest.wording import counted

LOADED: dict[str, Any] = {"scripts": ("app.js", "review.js"), "styles": ("app.css", "review.css")}
LOADED |= {"referrer": "same-origin"}  # so that a browser states the origin of a form
_SHOWN = 50
_SENT_BEFORE = InputError("this form was sent before, with something else in it; send it again to decide anew")
_HOME, _ITEMS = {"./": "Home"}, {"items/": "Items"}
_ADMIN_PAGES = {name: name.title() for name in ("overview", "decisions", "people", "log")}
_TABS = {"reviewer": _HOME, "adjudicator": _HOME, "reader": _HOME | _ITEMS, "admin": _HOME | _ADMIN_PAGES | _ITEMS}
Sent = Mapping[str, Sequence[str]]  # the fields of a form as a browser sends them
_LABEL, _EDIT, _TAG = "label.", "edit.", "edit.tag."
_REASON = "offered"
_MOST_TAGS = 40
_LONGEST_TAG = 400
_MONTH = 31 * 86_400.0
_LINE = 34  # characters in one line of an input


def around(project: ReviewProject, session: ReviewSession, here: str = "") -> dict[str, Any]:
    """The values that surround every page of a review."""
    tabs = _TABS[session.person.role]
    desk = {
        "name": project.plan.name,
        "person": session.person.name,
        "role": session.person.role,
        "csrf": session.csrf,
        "tabs": [{"href": href, "label": label, "here": href == here} for href, label in tabs.items()],
    }
    return {"desk": desk} | LOADED


def go(to: str) -> Response:
    """Redirect to another page with GET."""
    return RedirectResponse(to, 303)


class Desk:
    """A reviewer's pages."""

    def __init__(self, collection: Collection, project: ReviewProject) -> None:
        self._collection, self._project = collection, project

    def home(self, call: PageCall) -> Response:
        """Instructions, progress, and one's decisions, each with its undo."""
        session = call.known
        contents = around(self._project, session, "./") | {"reads": session.person.role == "reader"}
        if contents["reads"]:
            return html_page("home.html.j2", contents)
        decided = standing(self._project.decisions(session.person))[::-1]
        shown, pages = paged(decided, call.request.query_params.get("page", ""), _SHOWN)
        (row,) = self._project.people(session.person)
        rounds = self._project.plan.rounds
        contents |= {
            "decided": row.decided,
            "waiting": row.waiting,
            "rounds": [{"number": one.number, "about": one.form.about} for one in rounds if one.form.about],
            "solve": self._project.plan.solve or any(one.form.solve for one in rounds),
            "mine": [
                shown_decision(one) | {"nonce": token_urlsafe(16), "round_of": one.round if len(rounds) > 1 else 0}
                for one in shown
            ],
        }
        return html_page("home.html.j2", contents | pages)

    def next(self, call: PageCall) -> Response:
        """Claim the next item and redirect to it; home where none waits."""
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
        """Store a decision and continue; on an error the form is returned as it was sent."""
        person = call.known.person
        task = self._task(call, call.field("item"), call.field("round"))
        if task.unsolved:
            raise Forbidden(UNANSWERED)  # before anything is held against the gold
        try:
            item = self._collection.record(task.item) if call.field("decision") == "fix" else None
            kind, details = read_form(call.sent, task, item)
            kept = self._project.decide(person, task, kind, nonce=call.field("nonce"), **details)
            if not _is_same(kept, kind, details, task):
                raise _SENT_BEFORE
        except (InputError, DiskFull) as error:
            status = 507 if isinstance(error, DiskFull) else 400
            again = (
                ". What you typed is below; send it again when there is space on the disk." if status == 507 else ""
            )
            return self._show(call, task, problem=f"{error}{again}", sent=call.sent, status=status)
        following = None
        with suppress(DiskFull):
            following = self._project.next_task(person)
        taken = urlencode({"taken": call.field("nonce")})
        return go(f"./?{taken}" if following is None else f"{task_href(following.item, following.round)}&{taken}")

    def undo(self, call: PageCall) -> Response:
        """Withdraw one's last decision about an item, and show it again."""
        task = self._task(call, call.field("item"), call.field("round"))
        self._project.undo(call.known.person, task.item, task.round, call.field("nonce"))
        return go(task_href(task.item, task.round))

    def _task(self, call: PageCall, item: str, number: str) -> Task:
        return self._project.task(call.known.person, item, whole_number(number, "round"))

    def _show(
        self, call: PageCall, task: Task, *, problem: str = "", sent: Sent | None = None, status: int = 200
    ) -> Response:
        story = self._collection.item(task.item)
        shows, rounds = task.form.shows, len(self._project.plan.rounds)
        may = Disclosure(replies="replies" in shows, verdicts="verdicts" in shows, findings="findings" in shows)
        shown = show_story(story, self._collection, UNSOLVED if task.unsolved else may)
        shown["verdicts"] = self._project.plan.blinded(shown["verdicts"], adjudicates=task.adjudicates)
        shown["findings"] = [one | {"href": ""} for one in shown["findings"]]
        where = [f"round {task.round} of {rounds}"] if rounds > 1 else []
        where += ["others disagree about it"] if task.adjudicates else []
        where += ["answer it first"] if task.unsolved else []
        contents = around(self._project, call.known) | {
            "task": task,
            "shown": shown,
            "mathml": mathml,
            "where": " · ".join(where),
            "problem": problem,
            "form": None if task.unsolved else show_form(task, story.item, sent),
            "letters": [letter(at) for at in range(len(story.item.choices))] if story.item else [],
            "earlier": [shown_decision(one) for one in task.earlier],
            "solved": _solved(task, story),
            "nonce": token_urlsafe(16) if sent is None or problem == str(_SENT_BEFORE) else call.field("nonce"),
            "seconds": call.field("seconds") if sent else "",
            "kept": sent is not None,
        }
        return html_page("task.html.j2", contents, status)


def _is_same(kept: Decision, kind: DecisionKind, details: DecisionDetails, task: Task) -> bool:
    """Whether the stored decision equals the one sent; it differs after going back and changing a sent form."""
    if kept.decision != kind or kept.labels != check_labels(task.form, kind, details.get("labels") or {}):
        return False
    return all(details.get(name) == getattr(kept, name) for name in ("reason", "edits", "comment"))


def _solved(task: Task, story: ItemStory) -> str:
    if not task.form.solve or task.solved is None:
        return ""
    answered = f"You answered {task.solved}" if task.solved else "You could not answer it"
    golds = [letter(at) for at in story.item.gold] if story.item else []
    if task.solved and golds:
        same = set(task.solved.split(", ")) == set(golds)
        return f"{answered}, {'as the gold does' if same else 'the gold is ' + ', '.join(golds)}."
    return f"{answered}."


def shown_decision(one: Decision) -> dict[str, Any]:
    """A decision as shown on a page."""
    edits: list[tuple[str, str]] = []
    for key, value in one.edits.items():
        pairs: Sequence[tuple[str, Any]] = list(value.items()) if isinstance(value, Mapping) else [(key, value)]
        edits += [(f"tag {name}" if key == "tags" else name, plain(words)) for name, words in pairs]
    return structs.asdict(one) | {
        "href": task_href(one.item, one.round),
        "labels": [(name, plain(value)) for name, value in one.labels.items()],
        "edits": edits,
        "time": one.time.replace("T", " ")[:16],
        "seconds": counted(round(one.seconds), "second") if one.seconds is not None else "",
    }


def task_href(item: str, number: int) -> str:
    """The address of a task."""
    return "task?" + urlencode({"item": item, "round": number}, errors="surrogatepass")


def show_form(task: Task, item: Item | None, sent: Sent | None = None) -> dict[str, Any]:
    """Values of the form: as sent, else as this person decided before, else as in the item."""
    adopted = next((one for one in task.earlier if one.edits), None) if task.mine is None else None
    filled = sent or (as_sent(task.mine, task.form) if task.mine else as_sent(adopted, task.form, only_edits=True))
    values = _item_values(task.form, item)
    texts = [
        _input(name, label, filled.get(name, [value])[0], number)
        for number, (name, label, value) in enumerate(values)
    ]
    return {
        "kinds": [{"value": kind, "on": kind in filled.get("decision", ())} for kind in KINDS],
        "reason": {"name": _REASON, "values": _values(task.form.reasons, filled.get(_REASON, ()))},
        "other_reason": next(iter(filled.get("reason", ())), ""),
        "fields": [_field(one, number, filled) for number, one in enumerate(task.form.fields)],
        "edits": [one for one in texts if not one["name"].startswith(_TAG)],
        "golds": _gold_boxes(task.form, item, filled, is_sent=sent is not None),
        "tags": [one for one in texts if one["name"].startswith(_TAG)],
        "tags_open": any(name.startswith(_TAG) for name in filled),
        "adopted": adopted.reviewer if adopted and not sent else "",
        "comment": next(iter(filled.get("comment", ())), ""),
    }


def as_sent(decision: Decision | None, form: Form, *, only_edits: bool = False) -> dict[str, list[str]]:
    """A decision as a browser would have sent it."""
    sent: dict[str, list[str]] = {}
    if decision is None:
        return sent
    for key, value in decision.edits.items():
        if key == "tags":
            sent |= {_TAG + name: [str(one)] for name, one in value.items()}
        elif key == "answer":
            sent[_EDIT + key] = [str(one) for one in value] if isinstance(value, list) else [str(value)]
        else:
            sent[_EDIT + (key if key == "question" else key.upper())] = [str(value)]
    if only_edits:
        return sent
    offered = decision.reason in form.reasons
    sent |= {"decision": [decision.decision], "comment": [decision.comment]}
    sent |= {_REASON: [decision.reason]} if offered else {"reason": [decision.reason]}
    for name, answer in decision.labels.items():
        sent[_LABEL + name] = [str(one) for one in answer] if isinstance(answer, list) else [str(answer)]
    return sent


def read_form(sent: Sent, task: Task, item: Item | None) -> tuple[DecisionKind, DecisionDetails]:
    """The submitted decision; fields that do not belong to it are left out."""
    word = _first(sent, "decision")
    if not word:
        raise InputError("choose a decision: keep, drop, fix or unsure")
    kind = check_kind(word)
    reason = (_first(sent, "reason").strip() or _first(sent, _REASON).strip()) if kind == "drop" else ""
    edits = _edits(sent, task.form, item) if kind == "fix" and item is not None else {}
    comment = _first(sent, "comment").strip()
    if kind == "drop" and not reason:
        raise InputError("say why it is to be dropped")
    if kind == "fix" and not (edits or comment):
        raise InputError("a fix changes something: edit the item, or say in the comment what has to be done")
    several = {one.name: list(sent.get(_LABEL + one.name, ())) for one in task.form.asked(kind)}
    single = {one.name: _first(sent, _LABEL + one.name) for one in task.form.asked(kind) if one.kind != "several"}
    details = DecisionDetails(reason=reason, edits=edits, labels=several | single, comment=comment)
    with suppress(ValueError):
        if 0 < (seconds := float(_first(sent, "seconds"))) < _MONTH:
            details["seconds"] = seconds
    return kind, details


def _first(sent: Sent, name: str) -> str:
    return next(iter(sent.get(name, ())), "")


def _field(field: FormField, number: int, filled: Sent) -> dict[str, Any]:
    answers = filled.get(_LABEL + field.name, ())
    return {
        "id": f"field-{number}",
        "name": _LABEL + field.name,
        "ask": field.ask,
        "kind": field.kind,
        "required": field.required,
        "values": _values(field.values, answers),
        "value": next(iter(answers), ""),
        "when": " ".join(["when", *(f"for-{kind}" for kind in field.when)]) if field.when else "",
    }


def _values(values: Iterable[str], on: Sequence[str]) -> list[dict[str, Any]]:
    return [{"value": value, "on": value in on} for value in values]


def _item_values(form: Form, item: Item | None) -> list[tuple[str, str, str]]:
    """The editable texts of an item: the name of the input, its label, its value."""
    if item is None:
        return []
    texts = [(_EDIT + "question", "Question", item.question)] if "question" in form.edits else []
    if "options" in form.edits:
        texts += [(f"{_EDIT}{letter(at)}", f"Option {letter(at)}", one.text) for at, one in enumerate(item.choices)]
    if "answer" in form.edits and not item.choices:
        texts.append((_EDIT + "answer", "Answers that count, one a line", "\n".join(item.references)))
    if "tags" in form.edits:
        tags = [(name, str(value)) for name, value in item.tags.items() if isinstance(value, str | int | float)]
        short_ones = [(name, words) for name, words in tags if len(words) <= _LONGEST_TAG]
        texts += [(_TAG + name, name, words) for name, words in short_ones[:_MOST_TAGS]]
    return [(printable(name), label, printable(value)) for name, label, value in texts]


def _input(name: str, label: str, value: str, number: int) -> dict[str, Any]:
    lines = sum(1 + len(line) // _LINE for line in value.split("\n"))
    return {"id": f"edit-{number}", "name": name, "label": label, "value": value, "rows": min(lines, 8)}


def _gold_boxes(form: Form, item: Item | None, filled: Sent, *, is_sent: bool) -> list[dict[str, Any]]:
    if item is None or not item.choices or "answer" not in form.edits:
        return []
    letters = [letter(at) for at in range(len(item.choices))]
    if _EDIT + "answer" in filled:
        return _values(letters, _letters(filled[_EDIT + "answer"]))
    none_left = is_sent and any(name.startswith(_EDIT) for name in filled)
    return _values(letters, [] if none_left else [letter(at) for at in item.gold])


def _letters(sent: Sequence[str]) -> list[str]:
    return [word.strip().upper() for one in sent for word in one.split(",")]


def _edits(sent: Sent, form: Form, item: Item) -> dict[str, Any]:
    """The differences from the item; a text is compared as the page showed it."""
    edits: dict[str, Any] = {}
    tags: dict[str, str] = {}
    for name, _, shown in _item_values(form, item):
        text = printable(_first(sent, name)) if name in sent else shown
        if text == shown:
            continue
        if name.startswith(_TAG):
            tags[name.removeprefix(_TAG)] = text.strip()
        elif name == _EDIT + "answer":
            edits["answer"] = [line.strip() for line in text.splitlines() if line.strip()]
        else:
            edits[name.removeprefix(_EDIT)] = text
    if item.choices and "answer" in form.edits and any(name.startswith(_EDIT) for name in sent):
        golds = _letters(sent.get(_EDIT + "answer", ()))
        if golds and set(golds) != {letter(at) for at in item.gold}:
            edits["answer"] = golds if len(golds) > 1 else golds[0]
        elif not golds and item.gold:
            raise InputError("gold: choose at least one option")
    return edits | ({"tags": tags} if tags else {})
