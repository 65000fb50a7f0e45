"""Label Studio: a labeling configuration made from the form, tasks to import, annotations as it exports them.

What eyetest knows a task by travels in its data, which Label Studio gives back as it was. A decision that was made
before travels there too, so that its annotation is known again, with its author and time, however often it comes.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Decision
from eyetest.review.exchange.answers import ToolQuestion, answers, present, questions, read_answers, same
from eyetest.review.exchange.assignment import (
    Assignment,
    Carried,
    Expected,
    carry,
    checked,
    read_carried,
    universal,
)

NO_PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""One transparent point, for an item without pictures among others: Label Studio wants one."""
_SHOWN = {"question": "Question", "options": "Options", "gold": "Gold", "evidence": "Why it is here"}
_ABOUT = "question"
"""The tag that all answers are said to be about: every task has it."""
_TYPES = {"choice": "choices", "several": "choices", "text": "textarea"}


def labeling_config(assignments: Sequence[Assignment]) -> str:
    """The configuration of a project for these tasks, which have one form."""
    form, options = assignments[0].form, max(len(one.item.choices) for one in assignments)
    root = ElementTree.Element("View")
    columns = ElementTree.SubElement(root, "View", style="display: grid; grid-template-columns: 3fr 2fr; gap: 16px")
    left, right = (ElementTree.SubElement(columns, "View") for _ in range(2))
    if any(one.pictures for one in assignments):
        ElementTree.SubElement(left, "Image", name="picture", valueList="$pictures", zoomControl="true")
    for name, title in {**_SHOWN, "earlier": "What others decided"}.items():
        if name == _ABOUT or any(_data(one, options)[name] for one in assignments):
            _head(left, title)
            ElementTree.SubElement(left, "Text", name=name, value=f"${name}", valueType="text", saveTextResult="no")
    if form.about:
        _head(right, form.about)
    shown = _data(assignments[0], options)
    for question in questions(form, options):
        _control(right, question, shown)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _head(parent: ElementTree.Element, words: str) -> None:
    """A line of text. A first dollar sign would name a field of the task."""
    text = " ".join(words.split())
    ElementTree.SubElement(parent, "Header", size="4", value=f" {text}" if text.startswith("$") else text)


def _control(parent: ElementTree.Element, question: ToolQuestion, shown: dict[str, Any]) -> None:
    told = {}
    if question.when:
        told = {
            "visibleWhen": "choice-selected",
            "whenTagName": "decision",
            "whenChoiceValue": ",".join(question.when),
        }
    box = ElementTree.SubElement(parent, "View", told)
    _head(box, question.words)
    common = {"name": question.name, "toName": _ABOUT, "required": "true" if question.required else "false"}
    if question.kind == "text":
        start = {"value": f"${question.name}"} if question.name in shown else {}
        size = {"rows": "3" if question.long else "1", "maxSubmissions": "1", "editable": "true"}
        ElementTree.SubElement(box, "TextArea", {**common, **size, **start})
        return
    choices = ElementTree.SubElement(
        box, "Choices", {**common, "choice": "multiple" if question.kind == "several" else "single"}
    )
    for value in question.values:
        ElementTree.SubElement(choices, "Choice", value=value)


def label_studio_tasks(assignments: Sequence[Assignment]) -> list[dict[str, Any]]:
    """The tasks, with what was decided before as their annotations."""
    options = max((len(one.item.choices) for one in assignments), default=0)
    return [
        {
            "data": {**_data(one, options), "eyetest": msgspec.to_builtins(carry(one))},
            "annotations": [_annotation(decision, one, number) for number, decision in enumerate(one.earlier, 1)]
            if not one.adjudicates
            else [],
        }
        for one in assignments
    ]


def _data(assignment: Assignment, options: int) -> dict[str, Any]:
    """What the configuration shows of a task; what it names has to be there, also where it is empty."""
    form, item = assignment.form, assignment.item
    editable = {question.name: "" for question in questions(form, options) if question.name.startswith("edit_")}
    standing = {name: text for name, text in present(item).items() if name in editable}
    if assignment.alone:
        standing.pop("edit_answer", None)
    return {
        "pictures": list(assignment.pictures) or [NO_PICTURE],
        "question": assignment.question,
        "options": assignment.options,
        "gold": assignment.gold,
        "evidence": assignment.evidence,
        "earlier": assignment.told if assignment.adjudicates else "",
        **editable,
        **standing,
    }


def _annotation(decision: Decision, assignment: Assignment, number: int) -> dict[str, Any]:
    """A decision as Label Studio would have exported it; its number stays with it as ``import_id``."""
    kinds = {one.name: one.kind for one in questions(assignment.form, len(assignment.item.choices))}
    result = []
    for name, value in answers(decision, assignment).items():
        kind = _TYPES[kinds.get(name, "text")]
        values = value if isinstance(value, list) else [value]
        told = {"choices": values} if kind == "choices" else {"text": values}
        region = {"id": f"{number}-{name}", "from_name": name, "to_name": _ABOUT, "type": kind, "value": told}
        result.append({**region, "origin": "manual"})
    return {
        "id": number,
        "completed_by": {"email": decision.reviewer},
        "created_at": decision.time,
        "updated_at": decision.time,
        "lead_time": decision.seconds,
        "ground_truth": False,
        "was_cancelled": False,
        "result": result,
    }


class _Region(msgspec.Struct):
    from_name: str
    value: dict[str, Any]


class _Annotation(msgspec.Struct):
    result: list[_Region]
    completed_by: int | dict[str, Any] | None = None
    created_at: str = ""
    updated_at: str = ""
    lead_time: float | None = None
    was_cancelled: bool = False
    id: int | None = None
    import_id: int | None = None


class _Data(msgspec.Struct):
    eyetest: Carried | None = None


class _StudioTask(msgspec.Struct):
    data: _Data
    annotations: list[_Annotation] = []


def read_label_studio(content: bytes, expected: Expected, path: str) -> list[Decision]:
    """The decisions of an export: what was decided before, and what annotators decided since."""
    try:
        tasks = msgspec.json.decode(content, type=list[_StudioTask])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        told = "this is no export of Label Studio in its format JSON (not JSON-MIN)"
        raise InputError(f"{path}: {told}: {error}") from None
    return [
        one for number, task in enumerate(tasks, 1) for one in _read_task(task, expected, f"{path}, task {number}")
    ]


def _read_task(task: _StudioTask, expected: Expected, where: str) -> Iterable[Decision]:
    assignment = read_carried(task.data.eyetest, expected, where)
    yield from assignment.earlier
    for number, annotation in enumerate(task.annotations, 1):
        if not annotation.was_cancelled:
            yield from _read_annotation(annotation, assignment, expected, f"{where}, annotation {number}")


def _read_annotation(
    annotation: _Annotation, assignment: Assignment, expected: Expected, where: str
) -> Iterable[Decision]:
    """The decision of an annotation; none where it is one that travelled with its task, unchanged."""
    said = {region.from_name: _value(region, where) for region in annotation.result}
    number = annotation.import_id or (annotation.id if isinstance(annotation.completed_by, dict) else None) or 0
    if 1 <= number <= len(assignment.earlier) and not assignment.adjudicates:
        known = assignment.earlier[number - 1]
        if same(said, answers(known, assignment), assignment.item):
            return
    decision = msgspec.structs.replace(
        read_answers(said, assignment, where),
        reviewer=expected.reviewer(_author(annotation.completed_by), where),
        time=universal(annotation.updated_at or annotation.created_at, where),
        seconds=annotation.lead_time,
    )
    yield checked(decision, assignment, where)


def _author(completed_by: int | dict[str, Any] | None) -> str:
    if isinstance(completed_by, dict):
        return str(completed_by.get("email") or completed_by.get("id") or "")
    return "" if completed_by is None else str(completed_by)


def _value(region: _Region, where: str) -> str | list[str]:
    """What was answered: one text where there is one."""
    values = region.value.get("choices", region.value.get("text"))
    if isinstance(values, str):
        return values
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(
            f"{where}: {short(region.from_name)}: found {short(region.value)}, expected choices or a text"
        )
    return values[0] if len(values) == 1 else values
