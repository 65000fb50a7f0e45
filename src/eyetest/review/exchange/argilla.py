"""Argilla 2: the folder that `rg.Dataset.from_disk` reads, made from the form, and the records that `to_disk` writes.

A record holds one response a person and no time, so what was decided before travels in its metadata, which Argilla
gives back as it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Decision
from eyetest.review.decisions import standing
from eyetest.review.exchange.answers import ToolQuestion, answers, present, questions, read_answers, same
from eyetest.review.exchange.assignment import Assignment, Carried, Expected, carry, checked, read_carried

RECORDS, SETTINGS, DATASET = "records.json", ".argilla/settings.json", ".argilla/dataset.json"
"""The files of a folder."""
_SHOWN = {"question": "Question", "options": "Options", "gold": "Gold", "evidence": "Why it is here"}
_UNKNOWN: dict[str, Any] = {"id": None, "inserted_at": None, "updated_at": None, "dataset_id": None}
"""What a server will say, once there is one."""
_CARRIED = "eyetest"


def argilla_folder(assignments: Sequence[Assignment], name: str, reviewers: int) -> dict[str, Any]:
    """The files of a dataset, as JSON values; so many reviewers have to answer a record before it is done."""
    settings = _settings(assignments, reviewers)
    dataset = {
        **dict.fromkeys(("id", "inserted_at", "updated_at", "workspace_id", "last_activity_at")),
        "name": name,
        "status": "draft",
        "guidelines": settings["guidelines"],
        "allow_extra_metadata": True,
        "distribution": settings["distribution"],
    }
    return {SETTINGS: settings, DATASET: dataset, RECORDS: [_record(one) for one in assignments]}


def _settings(assignments: Sequence[Assignment], reviewers: int) -> dict[str, Any]:
    form, options = assignments[0].form, max(len(one.item.choices) for one in assignments)
    pictures = max(len(one.pictures) for one in assignments)
    fields = [
        _field(f"picture-{number}", f"Picture {number}", {"type": "image"}) for number in range(1, pictures + 1)
    ]
    for key, title in {**_SHOWN, "earlier": "What others decided"}.items():
        if key == "question" or any(_shown(one).get(key) for one in assignments):
            fields.append(_field(key, title, {"type": "text", "use_markdown": False}, required=key == "question"))
    hidden = {"visible_for_annotators": False}
    known = {"round": {"type": "integer", "min": None, "max": None}, "item": {"type": "terms", "values": None}}
    return {
        "guidelines": form.about.strip() or None,
        "questions": [_question(one) for one in questions(form, options)],
        "fields": fields,
        "vectors": [],
        "metadata": [
            {**_UNKNOWN, **hidden, "name": key, "title": key, "settings": {**hidden, **told}}
            for key, told in known.items()
        ],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": reviewers},
        "mapping": None,
    }


def _field(name: str, title: str, settings: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    told = {"name": name, "title": title, "required": required, "description": None, "settings": settings}
    return {**_UNKNOWN, **told, "type": settings["type"]}


def _question(question: ToolQuestion) -> dict[str, Any]:
    settings: dict[str, Any] = {"type": "text", "use_markdown": False}
    if question.kind != "text":
        shown = len(question.values) if len(question.values) > 2 else None
        values = [{"text": value, "value": value} for value in question.values]
        settings = {"type": "label_selection", "options": values, "visible_options": shown}
    if question.kind == "several":
        settings = {**settings, "type": "multi_label_selection", "options_order": "natural"}
    told = {"name": question.name, "title": question.words, "description": _when(question), "settings": settings}
    return {**_UNKNOWN, **told, "required": question.name == "decision", "type": settings["type"]}


def _when(question: ToolQuestion) -> str | None:
    return f"With {' or '.join(question.when)}." if question.when else None


def _shown(assignment: Assignment) -> dict[str, str]:
    """What annotators see of an item; what is empty is left out, as Argilla wants it."""
    pictures = {f"picture-{number}": picture for number, picture in enumerate(assignment.pictures, 1)}
    texts = {
        "question": assignment.question,
        "options": assignment.options,
        "gold": assignment.gold,
        "evidence": assignment.evidence,
        "earlier": assignment.told if assignment.adjudicates else "",
    }
    return {**pictures, **{name: text for name, text in texts.items() if text}}


def _record(assignment: Assignment) -> dict[str, Any]:
    item, number, adjudicates = assignment.key
    asked = {one.name for one in questions(assignment.form, len(assignment.item.choices))}
    hidden = {"edit_answer"} if not assignment.gold else set()
    suggested = {name: text for name, text in present(assignment.item).items() if name in asked - hidden and text}
    return {
        "id": f"{item}, {'settled after ' if adjudicates else ''}round {number}",
        "fields": _shown(assignment),
        "metadata": {"item": item, "round": number, _CARRIED: msgspec.json.encode(carry(assignment)).decode()},
        "suggestions": {key: {"value": text, "score": None, "agent": "eyetest"} for key, text in suggested.items()},
        "responses": {} if adjudicates else _responses(assignment),
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }


def _responses(assignment: Assignment) -> dict[str, list[dict[str, Any]]]:
    """The last word of each reviewer, by question."""
    responses: dict[str, list[dict[str, Any]]] = {}
    for decision in standing(assignment.earlier):
        for name, value in answers(decision, assignment).items():
            responses.setdefault(name, []).append({"value": value, "user_id": user_id(decision.reviewer)})
    return responses


def user_id(reviewer: str) -> str:
    """What somebody whom Argilla does not know is called there."""
    return str(uuid5(NAMESPACE_URL, f"eyetest:reviewer:{reviewer}"))


class _Response(msgspec.Struct):
    value: Any
    user_id: str


class _Record(msgspec.Struct):
    metadata: dict[str, Any] | None = None
    responses: dict[str, list[_Response]] | None = None


def read_argilla(content: bytes, expected: Expected, path: str) -> list[Decision]:
    """The decisions of a dataset's records: what was decided before, and what annotators responded since."""
    try:
        records = msgspec.json.decode(content, type=list[_Record])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: these are no records of Argilla: {error}") from None
    return [
        decision
        for number, record in enumerate(records, 1)
        for decision in _read_record(record, expected, f"{path}, record {number}")
    ]


def _read_record(record: _Record, expected: Expected, where: str) -> Iterable[Decision]:
    assignment = read_carried(_carried(record.metadata or {}, where), expected, where)
    yield from assignment.earlier
    known = {user_id(one.reviewer): one for one in standing(assignment.earlier)} if not assignment.adjudicates else {}
    said: dict[str, dict[str, str | list[str]]] = {}
    for name, responses in (record.responses or {}).items():
        for response in responses:
            if (value := _value(name, response.value, where)) is not None:
                said.setdefault(response.user_id, {})[name] = value
    for user, told in said.items():
        if user in known and same(told, answers(known[user], assignment), assignment.item):
            continue
        responded = f"{where}, responses of {short(user)}"
        name = known[user].reviewer if user in known else user
        decision = msgspec.structs.replace(
            read_answers(told, assignment, responded), reviewer=expected.reviewer(name, responded)
        )
        yield checked(decision, assignment, responded)


def _carried(metadata: Mapping[str, Any], where: str) -> Carried | None:
    if (text := metadata.get(_CARRIED)) is None:
        return None
    try:
        return msgspec.json.decode(text, type=Carried)
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{where}: metadata {_CARRIED}: {error}") from None


def _value(name: str, value: Any, where: str) -> str | list[str] | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    raise InputError(f"{where}: {short(name)}: found {short(value)}, expected a text or a list of values")
