"""The files of each tool: tables for spreadsheets, JSON for Label Studio; written as one folder, and read back."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args
from xml.etree import ElementTree

import msgspec

from eyetest.errors import InputError, nearest, param, short
from eyetest.records import Decision, columns
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.studio.decisions import OBJECTS, find_item, read_row, sheet_rows
from eyetest.studio.exchange.tasks import (
    Assignment,
    Carried,
    Expected,
    ToolQuestion,
    answers,
    checked,
    present,
    questions,
    read_answers,
    read_carried,
    same,
    universal,
)
from eyetest.studio.queue import DECISIONS, QUEUE
from eyetest.tabular.sheets import sheet_text

NO_IMAGE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""One transparent pixel, for an item without images among others: Label Studio requires an image."""
_TITLES = {"question": "Question", "options": "Options", "gold": "Gold", "evidence": "Why it is here"}
_ABOUT = "question"  # the tag that all answers refer to: every task has it
_TYPES = {"choice": "choices", "several": "choices", "text": "textarea"}


def labeling_config(assignments: Sequence[Assignment]) -> str:
    """The configuration of a project for these tasks, which have one form."""
    form, options = assignments[0].form, max(len(one.item.choices) for one in assignments)
    root = ElementTree.Element("View")
    grid = ElementTree.SubElement(root, "View", style="display: grid; grid-template-columns: 3fr 2fr; gap: 16px")
    left, right = (ElementTree.SubElement(grid, "View") for _ in range(2))
    if any(one.images for one in assignments):
        ElementTree.SubElement(left, "Image", name="image", valueList="$images", zoomControl="true")
    for name, title in {**_TITLES, "earlier": "What others decided"}.items():
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
    """A line of text. A leading dollar sign would name a field of the task."""
    text = " ".join(words.split())
    ElementTree.SubElement(parent, "Header", size="4", value=f" {text}" if text.startswith("$") else text)


def _control(parent: ElementTree.Element, question: ToolQuestion, shown: dict[str, Any]) -> None:
    shown_when = {"visibleWhen": "choice-selected", "whenTagName": "decision"}
    box = ElementTree.SubElement(
        parent, "View", shown_when | {"whenChoiceValue": ",".join(question.when)} if question.when else {}
    )
    _head(box, question.words)
    common = {"name": question.name, "toName": _ABOUT, "required": "true" if question.required else "false"}
    if question.kind == "text":
        start = {"value": f"${question.name}"} if question.name in shown else {}
        size = {"rows": "3" if question.long else "1", "maxSubmissions": "1", "editable": "true"}
        ElementTree.SubElement(box, "TextArea", {**common, **size, **start})
        return
    common["choice"] = "multiple" if question.kind == "several" else "single"
    choices = ElementTree.SubElement(box, "Choices", common)
    for value in question.values:
        ElementTree.SubElement(choices, "Choice", value=value)


def label_studio_tasks(assignments: Sequence[Assignment]) -> list[dict[str, Any]]:
    """The tasks, with what was decided before as their annotations."""
    options = max((len(one.item.choices) for one in assignments), default=0)
    return [
        {
            "data": {**_data(one, options), "eyetest": msgspec.to_builtins(carried)},
            "annotations": [_annotation(decision, one, number) for number, decision in enumerate(before, 1)],
        }
        for one in assignments
        for before in [() if one.adjudicates else one.earlier]
        for carried in [Carried(one.item.id, one.round, one.adjudicates, one.fingerprint, one.earlier)]
    ]


def _data(assignment: Assignment, options: int) -> dict[str, Any]:
    """The values that the configuration shows; each that it names has to exist, even if empty."""
    form, item = assignment.form, assignment.item
    editable = {question.name: "" for question in questions(form, options) if question.name.startswith("edit_")}
    standing = {name: text for name, text in present(item).items() if name in editable}
    if assignment.alone:
        standing.pop("edit_answer", None)
    return {
        "images": list(assignment.images) or [NO_IMAGE],
        "question": assignment.question,
        "options": assignment.options,
        "gold": assignment.gold,
        "evidence": assignment.evidence,
        "earlier": assignment.told if assignment.adjudicates else "",
        **editable,
        **standing,
    }


def _annotation(decision: Decision, assignment: Assignment, number: int) -> dict[str, Any]:
    """A decision as Label Studio would have exported it; its number is kept as ``import_id``."""
    kinds = {one.name: one.kind for one in questions(assignment.form, len(assignment.item.choices))}
    result = []
    for name, value in answers(decision, assignment).items():
        kind, values = _TYPES[kinds.get(name, "text")], value if isinstance(value, list) else [value]
        region = {"id": f"{number}-{name}", "from_name": name, "to_name": _ABOUT, "type": kind}
        result.append(region | {"value": {"choices" if kind == "choices" else "text": values}, "origin": "manual"})
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
    """The decisions of an export: earlier ones, and those that annotators added."""
    try:
        tasks = msgspec.json.decode(content, type=list[_StudioTask])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        told = "neither CSV nor an export of Label Studio in its format JSON (not JSON-MIN)"
        raise InputError(f"{path} is {told}: {error}") from None
    decisions: list[Decision] = []
    for number, task in enumerate(tasks, 1):
        assignment = read_carried(task.data.eyetest, expected, f"{path}, task {number}")
        decisions += assignment.earlier
        for index, annotation in enumerate(task.annotations, 1):
            if not annotation.was_cancelled:
                where = f"{path}, task {number}, annotation {index}"
                decisions += _read_annotation(annotation, assignment, expected, where)
    return decisions


def _read_annotation(
    annotation: _Annotation, assignment: Assignment, expected: Expected, where: str
) -> Iterable[Decision]:
    """The decision of an annotation; None for one that was exported with its task and is unchanged."""
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
    values = region.value.get("choices", region.value.get("text"))
    if isinstance(values, str):
        return values
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        name = short(region.from_name)
        raise InputError(f"{where}: {name}: found {short(region.value)}, expected choices or a text")
    return values[0] if len(values) == 1 else values


ToolFormat = Literal["csv", "label-studio"]
LARGEST, LARGEST_UPLOAD = 2**30, 250 * 2**20  # bytes: of a file that is read, and Label Studio's default limit
Files = dict[str, bytes]
_OURS = re.compile(rf"{QUEUE}|{DECISIONS}|(round|settle)-\d+(-decided)?\.(json|xml)")
_SHOWN = ("item", "round", "adjudicates", "question", "options", "gold", "images", "evidence", "earlier", "asks")


class Outgoing(NamedTuple):
    """The content of an export: waiting items, decided items, and the decisions about each."""

    waiting: Sequence[Assignment] = ()
    decided: Sequence[Assignment] = ()


def check_tool(name: str) -> ToolFormat:
    """A tool by its name."""
    if name not in get_args(ToolFormat):
        raise InputError(f'{param("tool")}: no tool "{name}"; {nearest(name, get_args(ToolFormat))}')
    return cast(ToolFormat, name)


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Raise where files would replace something that eyetest did not write."""
    inside = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    refuse_to_lose(folder, overwrite=overwrite, ours=[name for name in inside if _OURS.fullmatch(name)])


def write_files(outgoing: Outgoing, form: ToolFormat, folder: Path, *, overwrite: bool = False) -> list[str]:
    """Write an export as files of a tool; returns their names."""
    check_target(folder, overwrite=overwrite)
    decisions = (decision for one in outgoing.decided for decision in one.earlier)
    if form == "csv":
        files = {QUEUE: write_waiting(outgoing.waiting).encode(), DECISIONS: write_sheet(decisions).encode()}
    else:
        files = _label_studio_files(outgoing)
    with replacing_folder(folder, overwrite=overwrite) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)
    return list(files)


def _label_studio_files(outgoing: Outgoing) -> Files:
    rounds: dict[str, tuple[list[Assignment], list[Assignment]]] = {}
    for index, some in enumerate((outgoing.waiting, outgoing.decided)):
        for one in some:
            name = f"{'settle' if one.adjudicates else 'round'}-{one.round}"
            rounds.setdefault(name, ([], []))[index].append(one)
    files: Files = {}
    for name, (waiting, decided) in sorted(rounds.items()):
        files[f"{name}.xml"] = labeling_config([*waiting, *decided]).encode()
        for ending, some in (("", waiting), ("-decided", decided)):
            if some:
                files[f"{name}{ending}.json"] = content = msgspec.json.encode(label_studio_tasks(some)) + b"\n"
                if len(content) > LARGEST_UPLOAD:
                    told = f"{len(content) >> 20:,} MB, and Label Studio takes {LARGEST_UPLOAD >> 20} MB at once"
                    raise InputError(f"{name}{ending}.json has {told}; leave {param('with_images', True)} out")
    return files


def read_files(path: Path, expected: Expected, form: ToolFormat | None = None) -> list[Decision]:
    """The decisions in a tool's file; refused as a whole where one of them is wrong."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file itself")
    if not path.is_file():
        raise InputError(f"{path} is not there")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path} has {path.stat().st_size >> 20:,} MB; at most {LARGEST >> 20:,} MB are read")
    if form == "csv" or (form is None and path.suffix.lower() == ".csv"):
        return read_sheet(path, expected)
    return read_label_studio(path.read_bytes(), expected, str(path))


def write_sheet(decisions: Iterable[Decision]) -> str:
    """Decisions as a table with all their columns."""
    names = columns(Decision)
    rows = ([_cell(name, getattr(decision, name)) for name in names] for decision in decisions)
    return sheet_text(names, rows, mark=True)


def _cell(name: str, value: Any) -> Any:
    if name in OBJECTS:
        return msgspec.json.encode(value).decode() if value else ""
    if isinstance(value, bool):
        return "true" if value else ""
    return value


def write_waiting(assignments: Sequence[Assignment]) -> str:
    """Waiting items, a line each, with empty columns for the decision. Copy a line for a second reviewer."""
    empty = dict.fromkeys(
        question.name for one in assignments for question in questions(one.form, len(one.item.choices))
    )
    rows = []
    for one in assignments:
        asks = {question.name: question for question in questions(one.form, len(one.item.choices))}
        told = [f"{name}: {' | '.join(question.values)}" for name, question in asks.items() if question.values]
        row = [one.item.id, one.round, "true" if one.adjudicates else "", one.question, one.options, one.gold]
        row += ["\n".join(one.images), one.evidence, one.told if one.adjudicates else ""]
        rows.append([*row, "\n".join([one.form.words, *told]), "", *("" for _ in empty)])
    return sheet_text([*_SHOWN, "reviewer", *empty], rows, mark=True)


def read_sheet(path: Path, expected: Expected) -> list[Decision]:
    """The decisions of either table; a line without one is skipped."""
    rows = ((where, row) for where, row in sheet_rows(path) if (row.get("decision") or "").strip())
    return [_read(row, expected, f"{where} ({(row['item'] or '').strip()[:60]})") for where, row in rows]


def _read(row: Mapping[str, Any], expected: Expected, where: str) -> Decision:
    filled_in = any(name.startswith(("edit_", "label_")) or name == "reason_text" for name in row)
    decision = _filled_in(row, expected, where) if filled_in else read_row(row, expected.items, where)
    decision = msgspec.structs.replace(
        decision,
        reviewer=expected.reviewer((row.get("reviewer") or "").strip(), where),
        time=universal(decision.time, where) if decision.time else "",
    )
    key = (decision.item, decision.round, decision.adjudicates)
    return checked(decision, expected.assignment(key, where), where)


def _filled_in(row: Mapping[str, Any], expected: Expected, where: str) -> Decision:
    item = find_item(row["item"] or "", expected.items)
    if item is None:
        raise InputError(f"{where}: no item {short(row['item'])} in this review")
    number, settles = (row.get("round") or "1").strip(), (row.get("adjudicates") or "").strip().lower()
    if not number.isdecimal() or len(number) > 4:
        raise InputError(f"{where}: round: found {short(number)}, expected a number")
    assignment = expected.assignment((item, int(number), settles in ("true", "yes", "1")), where)
    asks = {one.name: one for one in questions(assignment.form, len(assignment.item.choices))}
    said: dict[str, str | list[str]] = {}
    for name, cell in row.items():
        text = (cell or "").strip()
        if text and (name in asks or name.startswith(("edit_", "label_"))):
            several = name in asks and asks[name].kind == "several"
            said[name] = [word.strip() for word in text.split(";") if word.strip()] if several else text
    said["decision"] = str(said["decision"]).lower()
    return msgspec.structs.replace(read_answers(said, assignment, where), time=(row.get("time") or "").strip())
