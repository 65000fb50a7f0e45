"""The form of a decision: as a page shows it, filled in from the item or from what was sent, and read back."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from eyetest.errors import InputError
from eyetest.pages.page import printable
from eyetest.records import Decision, DecisionKind, Item, letter
from eyetest.review.checks import check_grounds, check_kind
from eyetest.review.forms import KINDS, Form, FormField
from eyetest.review.project import DecisionDetails, Task

Sent = Mapping[str, Sequence[str]]
"""The fields of a form as a browser sends them."""
_LABEL, _EDIT, _TAG = "label.", "edit.", "edit.tag."
_REASON = "offered"
_MOST_TAGS = 40
_LONGEST_TAG = 400
_MONTH = 31 * 86_400.0
_LINE = 34
"""Letters that stand in one line of an input."""


def show_form(task: Task, item: Item | None, sent: Sent | None = None) -> dict[str, Any]:
    """What the template draws: what was sent, else what this person decided before, else the item as it is."""
    adopted = next((one for one in task.earlier if one.edits), None) if task.mine is None else None
    said = sent or (as_sent(task.mine, task.form) if task.mine else as_sent(adopted, task.form, only_edits=True))
    values = _item_values(task.form, item)
    texts = [
        _input(name, label, said.get(name, [value])[0], number) for number, (name, label, value) in enumerate(values)
    ]
    return {
        "kinds": [{"value": kind, "on": kind in said.get("decision", ())} for kind in KINDS],
        "reason": {"name": _REASON, "values": _values(task.form.reasons, said.get(_REASON, ()))},
        "other_reason": next(iter(said.get("reason", ())), ""),
        "fields": [_field(one, number, said) for number, one in enumerate(task.form.fields)],
        "edits": [one for one in texts if not one["name"].startswith(_TAG)],
        "golds": _gold_boxes(task.form, item, said, is_sent=sent is not None),
        "tags": [one for one in texts if one["name"].startswith(_TAG)],
        "tags_open": any(name.startswith(_TAG) for name in said),
        "adopted": adopted.reviewer if adopted and not sent else "",
        "comment": next(iter(said.get("comment", ())), ""),
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
    """What somebody decided; fields that do not go with the decision are left out."""
    word = _first(sent, "decision")
    if not word:
        raise InputError("choose a decision: keep, drop, fix or unsure")
    kind = check_kind(word)
    reason = (_first(sent, "reason").strip() or _first(sent, _REASON).strip()) if kind == "drop" else ""
    edits = _edits(sent, task.form, item) if kind == "fix" and item is not None else {}
    comment = _first(sent, "comment").strip()
    check_grounds(kind, reason=reason, changes=bool(edits or comment))
    labels = {one.name: _answer(one, sent.get(_LABEL + one.name, ())) for one in task.form.asked(kind)}
    return kind, DecisionDetails(
        reason=reason, edits=edits, labels=labels, comment=comment, seconds=_seconds(_first(sent, "seconds"))
    )


def _first(sent: Sent, name: str) -> str:
    return next(iter(sent.get(name, ())), "")


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if isfinite(seconds) and 0 < seconds < _MONTH else None


def _answer(field: FormField, sent: Sequence[str]) -> str | list[str] | None:
    if field.kind == "several":
        return list(sent) or None
    return next(iter(sent), None) or None


def _field(field: FormField, number: int, said: Sent) -> dict[str, Any]:
    answers = said.get(_LABEL + field.name, ())
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
    """The texts of an item that may be edited: the name of the input, what it is called, what stands in it."""
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


def _gold_boxes(form: Form, item: Item | None, said: Sent, *, is_sent: bool) -> list[dict[str, Any]]:
    if item is None or not item.choices or "answer" not in form.edits:
        return []
    letters = [letter(at) for at in range(len(item.choices))]
    if _EDIT + "answer" in said:
        return _values(letters, _letters(said[_EDIT + "answer"]))
    none_left = is_sent and any(name.startswith(_EDIT) for name in said)
    return _values(letters, [] if none_left else [letter(at) for at in item.gold])


def _letters(sent: Sequence[str]) -> list[str]:
    return [word.strip().upper() for one in sent for word in one.split(",")]


def _edits(sent: Sent, form: Form, item: Item) -> dict[str, Any]:
    """What differs from the item; a text is compared as the page showed it."""
    edits: dict[str, Any] = {}
    tags: dict[str, str] = {}
    for name, _, shown in _item_values(form, item):
        said = printable(_first(sent, name)) if name in sent else shown
        if said == shown:
            continue
        if name.startswith(_TAG):
            tags[name.removeprefix(_TAG)] = said.strip()
        elif name == _EDIT + "answer":
            edits["answer"] = [line.strip() for line in said.splitlines() if line.strip()]
        else:
            edits[name.removeprefix(_EDIT)] = said
    if item.choices and "answer" in form.edits and any(name.startswith(_EDIT) for name in sent):
        golds = _letters(sent.get(_EDIT + "answer", ()))
        if golds and set(golds) != {letter(at) for at in item.gold}:
            edits["answer"] = golds if len(golds) > 1 else golds[0]
        elif not golds and item.gold:
            raise InputError("gold: choose at least one option")
    return edits | ({"tags": tags} if tags else {})
