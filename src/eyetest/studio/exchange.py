"""A review in other tools: open items as tables or as tasks of Label Studio, and decisions read back."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args
from urllib.parse import quote

import msgspec

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.pages.item_links import Query
from eyetest.pages.page import fill_page
from eyetest.records import Decision, Item, columns, gold_text, letter
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.studio import forms
from eyetest.studio.collection import Collection, ItemRow
from eyetest.studio.decisions import DECISIONS, OBJECTS, ReviewPlan, find_item, located, read_row, sheet_rows
from eyetest.studio.forms import EDIT, KINDS, LABEL, Form, present, questions
from eyetest.studio.project import ReviewProject
from eyetest.tabular.table import sheet_text

QUEUE = "queue.csv"
ToolFormat = Literal["csv", "label-studio"]
LARGEST = 2**30  # bytes of a file that is read
NO_IMAGE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""One transparent pixel, for an item without images among others: Label Studio requires an image."""
_SERVED_FILES = "/data/local-files/?d="
_TITLES = {"question": "Question", "options": "Options", "gold": "Gold", "evidence": "Why it is here"}
_OURS = re.compile(rf"{QUEUE}|{DECISIONS}|tasks\.(json|xml)")
_SHOWN = ("item", "question", "options", "gold", "images", "evidence", "asks")


class Assignment(NamedTuple):
    """One item for another tool; ``evidence``: why it is asked; ``images``: paths or addresses."""

    item: Item
    evidence: str = ""
    images: tuple[str, ...] = ()

    def texts(self, form: Form) -> dict[str, str]:
        """Texts of the item by name; no gold where it has to be answered first."""
        item, alone = self.item, form.solve
        turns = [f"{turn.question}\n→ {'…' if alone else turn.answer}" for turn in item.history]
        return {
            "question": "\n\n".join(text for text in (*turns, item.hint, item.question) if text),
            "options": "\n".join(f"{letter(index)}. {choice.text}" for index, choice in enumerate(item.choices)),
            "gold": "" if alone else gold_text(item),
            "evidence": self.evidence,
        }


class Expected(NamedTuple):
    """What a returned file is checked against: the existing items, and the plan of the review."""

    items: Mapping[str, Item]
    plan: ReviewPlan
    reviewers: Mapping[str, str] = {}  # names here by names in the tool; under ``""`` for decisions without one
    authors: set[str] = set()  # noqa: RUF012 (the names in the tool that were met; `read_review` gives a new set)

    def item(self, name: str) -> Item:
        """The item that a file refers to; refused where there is none."""
        if name not in self.items:
            raise InputError(f"no item {short(name)} in this review")
        return self.items[name]

    def checked(self, decision: Decision, item: Item, author: str) -> Decision:
        """A decision by its author here that this item and this form allow; otherwise refused."""
        self.authors.add(author)
        name, time = self.reviewers.get(author, author), decision.time
        if not name.strip():
            raise InputError(f"reviewer: no name; name the reviewer with {param('reviewer', 'NAME')}")
        if time:
            try:
                moment = datetime.fromisoformat(time)
            except ValueError:
                expected = "expected one like 2026-03-01T12:30:00+00:00"
                raise InputError(f"time: found {short(time)}, {expected}") from None
            time = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat(timespec="seconds")
        named = msgspec.structs.replace(decision, reviewer=forms.checked_name(name, "reviewer"), time=time)
        return forms.check_decision(named, self.plan.form, item)


def outgoing_of(project: ReviewProject, collection: Collection, tool: ToolFormat) -> list[Assignment]:
    """The items that reviewers have open, for another tool."""
    plan, ids, form = project.plan, project.waiting(), project.plan.form
    items, view = _items(collection, ids), collection.view(Query(ids=tuple(ids)))
    rows = {row.id: row for row in collection.rows(view, 0, len(ids))} if ids else {}

    def images(row: ItemRow) -> tuple[str, ...]:
        """Paths of an item's images. Label Studio serves files of folders that it was given."""
        paths = [collection.sources[row.source].images.path(image).resolve() for image in items[row.id].images]
        if tool == "csv":
            return tuple(map(str, paths))
        return tuple(f"{_SERVED_FILES}{quote(path.as_posix().lstrip('/'))}" for path in paths)

    def evidence(row: ItemRow) -> str:
        """Why the item is reviewed; nothing where it would show the answer key to reviewers who answer first."""
        verdicts = plan.blinded(collection.verdicts(row.position), adjudicates=False)
        lines = {
            "verdicts": [f"{one.stage}: {one.verdict}. {one.reason} {one.evidence}".strip() for one in verdicts],
            "findings": [f"audit: {finding}" for finding in row.findings],
        }
        return "\n".join(line for kind in lines if kind in form.shows and not form.solve for line in lines[kind])

    return [Assignment(items[id_], evidence(rows[id_]), images(rows[id_])) for id_ in ids]


def read_review(
    project: ReviewProject, collection: Collection, file: Path, reviewers: Mapping[str, str]
) -> tuple[int, int]:
    """Add the decisions of another tool's file to a review, all or none; how many there are, and how many are new."""
    expected = Expected(_items(collection, project.ids()), project.plan, reviewers, set())
    decisions = read_files(file, expected)
    for user in reviewers:
        if user not in expected.authors:
            who = f"decision of the user {short(user)}" if user else "decision without a user"
            raise InputError(f"{heading('reviewer')}: {file} has no {who}; {nearest(user, expected.authors - {''})}")
    return len(decisions), project.add_decisions(decisions)


def _items(collection: Collection, ids: Sequence[str]) -> dict[str, Item]:
    """Items by their ids in the review, which differ from their own where benchmarks share ids."""
    return {id_: msgspec.structs.replace(item, id=id_) for id_, item in collection.records(ids).items()}


# Files: written as one folder, and read one by one.


def check_tool(name: str) -> ToolFormat:
    """A tool by its name."""
    if name not in get_args(ToolFormat):
        raise InputError(f'{param("tool")}: no tool "{name}"; {nearest(name, get_args(ToolFormat))}')
    return cast(ToolFormat, name)


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Raise where files would replace something that eyetest did not write."""
    inside = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    refuse_to_lose(folder, overwrite=overwrite, ours=[name for name in inside if _OURS.fullmatch(name)])


def write_files(
    waiting: Sequence[Assignment],
    decisions: Sequence[Decision],
    plan: ReviewPlan,
    tool: ToolFormat,
    folder: Path,
    overwrite: bool = False,
) -> list[str]:
    """Write open items and decisions as files of a tool; returns their names."""
    check_target(folder, overwrite=overwrite)
    if tool == "csv":
        files = {QUEUE: _open_sheet(waiting, plan.form), DECISIONS: _made_sheet(decisions)}
    else:
        tasks = msgspec.json.encode(label_studio_tasks(waiting, plan)).decode() + "\n"
        files = {"tasks.xml": labeling_config(waiting, plan.form), "tasks.json": tasks} if waiting else {}
    with replacing_folder(folder, overwrite=overwrite) as new:
        for name, text in files.items():
            (new / name).write_bytes(text.encode("utf-8", "replace"))
    return list(files)


def read_files(path: Path, expected: Expected) -> list[Decision]:
    """The decisions in a CSV or an export of Label Studio; refused as a whole where one of them is wrong."""
    if not path.is_file():
        raise InputError(f"{path} {'is a folder; name the file itself' if path.is_dir() else 'is not there'}")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path} has {path.stat().st_size >> 20:,} MB; at most {LARGEST >> 20:,} MB are read")
    if path.suffix.lower() != ".csv":
        return _read_label_studio(path.read_bytes(), expected, str(path))
    decisions = []
    for where, row in sheet_rows(path):
        with located(f"{where} ({(row['item'] or '').strip()[:60]})"):
            decisions.append(_read_line(row, expected))
    return decisions


# Tables


def _made_sheet(decisions: Sequence[Decision]) -> str:
    """Decisions as a table with all their columns."""
    names = columns(Decision)
    rows = [{name: getattr(decision, name) for name in names} for decision in decisions]
    for row in rows:
        row |= {name: msgspec.json.encode(row[name]).decode() if row[name] else "" for name in OBJECTS}
        row["adjudicates"] = "true" if row["adjudicates"] else ""
    return sheet_text(names, [[*row.values()] for row in rows])


def _open_sheet(assignments: Sequence[Assignment], form: Form) -> str:
    """Open items, a line each, with empty columns for the decision. Copy a line for a second reviewer."""
    asked = [questions(form, len(one.item.choices)) for one in assignments]
    empty = dict.fromkeys(question.name for some in asked for question in some)
    rows = []
    for one, some in zip(assignments, asked, strict=True):
        asks = [f"{question.name}: {' | '.join(question.values)}" for question in some if question.values]
        words = " ".join([form.about.strip(), *(field.ask for field in form.fields)]).strip()
        shown = one.texts(form) | {"item": one.item.id, "images": "\n".join(one.images)}
        shown["asks"] = "\n".join([words, *asks])
        rows.append([*(shown[name] for name in _SHOWN), "", *("" for _ in empty)])
    return sheet_text([*_SHOWN, "reviewer", *empty], rows)


def _read_line(row: Mapping[str, Any], expected: Expected) -> Decision:
    """The decision in a line of either table."""
    author = (row.get("reviewer") or "").strip()
    if not any(name.startswith((EDIT, LABEL)) or name == "reason_text" for name in row):
        decision = read_row(row, expected.items)
        return expected.checked(decision, expected.item(decision.item), author)
    item, form = expected.item(find_item(row["item"] or "", expected.items) or row["item"]), expected.plan.form
    asked = {one.name: one.kind for one in questions(form, len(item.choices))}
    answers: dict[str, str | list[str]] = {}
    for name, cell in row.items():
        text = (cell or "").strip()
        if text and (name in asked or name.startswith((EDIT, LABEL))):
            words = [word.strip() for word in text.split(";") if word.strip()]
            answers[name] = words if asked.get(name) == "several" else text.lower() if name == "decision" else text
    decision = forms.read_answers(answers, item, form)
    timed = msgspec.structs.replace(decision, time=(row.get("time") or "").strip())
    return expected.checked(timed, item, author)


# Label Studio


def labeling_config(assignments: Sequence[Assignment], form: Form) -> str:
    """The configuration of a project for these tasks, which have one form."""
    options = max(len(one.item.choices) for one in assignments)
    data = [_data(one, form, options) for one in assignments]
    asked = []
    for one in questions(form, options):
        when: Sequence[str] = one.when
        if one.required and one.name.startswith(LABEL):  # Label Studio would require it with unsure, too
            when = [kind for kind in when or KINDS if kind != "unsure"]
        asked.append((one, when))
    contents = {
        "images": any(one.images for one in assignments),
        "texts": {name: title for name, title in _TITLES.items() if any(shown[name] for shown in data)},
        "about": form.about,
        "questions": asked,
        "filled": data[0],
    }
    return fill_page("label_studio.xml.j2", contents, "eyetest.studio.app")


def label_studio_tasks(assignments: Sequence[Assignment], plan: ReviewPlan) -> list[dict[str, Any]]:
    """The tasks, each with the key by which its annotations are read back."""
    options = max((len(one.item.choices) for one in assignments), default=0)
    keys = [{"item": one.item.id, "fingerprint": plan.fingerprint} for one in assignments]
    tasks = zip(assignments, keys, strict=True)
    return [{"data": _data(one, plan.form, options) | {"eyetest": key}} for one, key in tasks]


def _data(assignment: Assignment, form: Form, options: int) -> dict[str, Any]:
    """The values that the configuration shows; each that it names has to exist, even if empty."""
    names = (question.name for question in questions(form, options))
    editable = {name: "" for name in names if name.startswith(EDIT)}
    filled = {name: text for name, text in present(assignment.item).items() if name in editable}
    if form.solve:
        filled.pop("edit_answer", None)
    return {"images": list(assignment.images) or [NO_IMAGE], **assignment.texts(form), **editable, **filled}


class _Region(msgspec.Struct):
    from_name: str
    value: dict[str, Any]


class _Annotation(msgspec.Struct):
    result: list[_Region]
    completed_by: int | dict[str, Any] | None = None
    created_at: str = ""
    updated_at: str = ""
    was_cancelled: bool = False


class _Key(msgspec.Struct):
    item: str
    fingerprint: str = ""


class _Data(msgspec.Struct):
    eyetest: _Key | None = None


class _StudioTask(msgspec.Struct):
    data: _Data
    annotations: list[_Annotation] = []


def _read_label_studio(content: bytes, expected: Expected, path: str) -> list[Decision]:
    """The decisions of an export: one for each annotation that was not skipped."""
    try:
        tasks = msgspec.json.decode(content, type=list[_StudioTask])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        kinds = "neither CSV nor an export of Label Studio in its format JSON (not JSON-MIN)"
        raise InputError(f"{path} is {kinds}: {error}") from None
    decisions: list[Decision] = []
    for number, task in enumerate(tasks, 1):
        key = task.data.eyetest
        with located(f"{path}, task {number}"):
            if key is None:
                raise InputError("it does not say which item it is about; eyetest did not export this task")
            if expected.plan.fingerprint and key.fingerprint != expected.plan.fingerprint:
                raise InputError(f"it is about another state of the benchmark: {short(key.fingerprint)}")
            item = expected.item(key.item)
        for index, annotation in enumerate(task.annotations, 1):
            if not annotation.was_cancelled:
                with located(f"{path}, task {number}, annotation {index}"):
                    decisions.append(_read_annotation(annotation, item, expected))
    return decisions


def _read_annotation(annotation: _Annotation, item: Item, expected: Expected) -> Decision:
    answers = {}
    for name, found in ((region.from_name, region.value) for region in annotation.result):
        values = found.get("choices", found.get("text"))
        if not isinstance(values, str | list) or not all(isinstance(value, str) for value in values):
            raise InputError(f"{short(name)}: found {short(found)}, expected choices or a text")
        answers[name] = values
    author = annotation.completed_by
    if isinstance(author, dict):
        author = author.get("email") or author.get("id")
    time = annotation.updated_at or annotation.created_at or "unknown"
    decision = msgspec.structs.replace(forms.read_answers(answers, item, expected.plan.form), time=time)
    return expected.checked(decision, item, "" if author is None else str(author))
