"""The questions of a form, by name, and a decision as answers to them: in a page, a spreadsheet or Label Studio."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.pages.page import printable
from eyetest.records import Decision, DecisionKind, Item, letter, tag_word
from eyetest.studio.forms import KINDS, Form

EDIT, LABEL = "edit_", "label_"
_EDIT_TITLES = {
    "question": "The question, as it should be",
    "answer": "The right answer, as it should be: letters or a text",
    "tags": "Tags to change, one a line: name=value",
}
Answers = Mapping[str, str | Sequence[str]]


class Question(NamedTuple):
    """One question: its name, its text, the allowed answers, and the decisions with which it is asked."""

    name: str
    words: str
    kind: Literal["choice", "several", "text"]
    values: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    required: bool = False


def questions(form: Form, options: int) -> list[Question]:
    """The questions about an item with so many options, in order."""
    rows = [Question("solved", "What is the answer? Write it before you decide", "text")] if form.solve else []
    rows.append(Question("decision", "What is to happen with this item?", "choice", (*KINDS, "undo"), required=True))
    if form.reasons:
        rows.append(Question("reason", "Why drop it?", "choice", form.reasons, ("drop",)))
    rows.append(Question("reason_text", "Another reason", "text", when=("drop",)))
    for name in form.edits:
        titles: dict[str, str] = {name: _EDIT_TITLES.get(name, "")}
        if name == "options":
            titles = {mark.lower(): f"Option {mark}, as it should be" for mark in map(letter, range(options))}
        rows += [Question(EDIT + key, words, "text", (), ("fix",)) for key, words in titles.items()]
    for field in form.fields:
        rows.append(Question(LABEL + field.name, field.ask, field.kind, field.values, field.when, field.required))
    return [*rows, Question("comment", "Anything else?", "text")]


def present(item: Item) -> dict[str, str]:
    """The present values of editable fields, by name: an equal answer changes nothing."""
    texts = {EDIT + letter(index).lower(): choice.text for index, choice in enumerate(item.choices)}
    golds = ", ".join(letter(index) for index in item.gold)
    golds = golds if item.choices else "\n".join(item.references)
    return {"edit_question": item.question, **texts, "edit_answer": golds}


def read_answers(answers: Answers, item: Item, form: Form) -> Decision:
    """The decision that answers express, without round, author and time; refused where invalid, naming the field."""
    known = {question.name: question for question in questions(form, len(item.choices))}
    unchanged = {name: printable(text).strip() for name, text in present(item).items()}
    given: dict[str, Any] = {}
    for name, value in answers.items():
        several = not isinstance(value, str) and len(value) > 1
        answer = sorted(value) if several else "".join(value).strip()
        if not answer or (isinstance(answer, str) and printable(answer) == unchanged.get(name)):
            continue
        if name not in known:
            raise InputError(f"{short(name)} is not asked here; {nearest(name, known)}")
        if several and known[name].kind != "several":
            raise InputError(f"{name}: found {len(value)} answers, expected one")
        if name in ("decision", "reason") and answer not in known[name].values:
            raise InputError(f"{name}: found {short(answer)}; {nearest(str(answer), known[name].values)}")
        given[name] = answer
    if "decision" not in given:
        raise InputError("decision: nothing is decided")
    kind: DecisionKind = given["decision"]
    decision = Decision(item=item.id, round=1, reviewer="", time="", decision=kind, comment=given.get("comment", ""))
    if kind == "undo":
        return decision
    asked = {LABEL + field.name for field in form.asked(kind)}
    edits = {name.removeprefix(EDIT): text for name, text in given.items() if name.startswith(EDIT)}
    changes = {k.upper() if len(k) == 1 else k: _read_edit(k, text, item) for k, text in edits.items()}
    return msgspec.structs.replace(
        decision,
        reason=": ".join(given[name] for name in ("reason", "reason_text") if name in given),
        solved=given.get("solved", ""),
        labels={name.removeprefix(LABEL): value for name, value in given.items() if name in asked},
        edits={name: value for name, value in changes.items() if value != {}},
    )


def as_answers(decision: Decision, form: Form) -> dict[str, list[str]]:
    """A decision as answers: the inverse of `read_answers`."""
    reason = "reason" if decision.reason in form.reasons else "reason_text"
    answers: dict[str, Any] = {"decision": decision.decision, reason: decision.reason, "comment": decision.comment}
    answers |= {LABEL + name: answer for name, answer in decision.labels.items()}
    for key, value in decision.edits.items():
        answers[EDIT + key.lower()] = tag_lines(value) if key == "tags" else value
    return {
        name: [str(one) for one in value] if isinstance(value, list) else [str(value)]
        for name, value in answers.items()
    }


def tag_lines(tags: Mapping[str, Any]) -> str:
    """Tags as they are edited: one a line."""
    return "\n".join(f"{name}={'' if value is None else value}" for name, value in tags.items())


def _read_edit(name: str, text: str, item: Item) -> str | list[str] | dict[str, str]:
    """An edit as stored: tags that differ; the answer as a list where it has several letters or lines."""
    if name == "tags":
        pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
        if not all(equals and tag.strip() for tag, equals, _ in pairs):
            raise InputError(f"edit_tags: found {short(text)}, expected lines like name=value")
        changed = {tag.strip(): value.strip() for tag, _, value in pairs}
        return {tag: value for tag, value in changed.items() if value != (tag_word(item.tags.get(tag)) or "").strip()}
    if name != "answer":
        return text
    kept = [word.strip() for word in text.split("," if item.choices else "\n") if word.strip()]
    return kept[0] if len(kept) == 1 else kept
