"""Tasks for other tools, one item in one round, and a decision as answers to the questions of its form."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from eyetest.errors import InputError, nearest, param, short
from eyetest.records import Decision, DecisionKind, Item, gold_text, letter
from eyetest.studio.forms import KINDS, Form, check_decision, checked_name

TaskKey = tuple[str, int, bool]  # item, round, adjudicates
Answers = Mapping[str, str | list[str]]
_EDIT, _LABEL = "edit_", "label_"
_TITLES = {
    "question": "The question, as it should be",
    "answer": "The right answer, as it should be: letters or a text",
}


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One item in one round for another tool; ``evidence``: why it is asked; ``images``: paths or addresses."""

    item: Item
    round: int = 1
    form: Form = Form()
    adjudicates: bool = False
    fingerprint: str = ""
    evidence: str = ""
    images: tuple[str, ...] = ()
    earlier: tuple[Decision, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether the reviewer has to answer the item first, without knowing its gold."""
        return self.form.solve and not self.adjudicates

    @property
    def told(self) -> str:
        """The decisions of others, one per line."""
        lines = []
        for one in self.earlier:
            edits = msgspec.json.encode(one.edits).decode() if one.edits else ""
            words = [one.decision, one.reason, edits, one.comment]
            lines.append(f"{one.reviewer}, round {one.round}: {'; '.join(word for word in words if word)}")
        return "\n".join(lines)

    @property
    def question(self) -> str:
        """The question, after earlier turns and its hint."""
        before = [f"{turn.question}\n→ {'…' if self.alone else turn.answer}" for turn in self.item.history]
        return "\n\n".join(text for text in (*before, self.item.hint, self.item.question) if text)

    @property
    def options(self) -> str:
        """The options, one per line."""
        return "\n".join(f"{letter(index)}. {choice.text}" for index, choice in enumerate(self.item.choices))

    @property
    def gold(self) -> str:
        """The answer key; empty where the reviewer has to answer first."""
        return "" if self.alone else gold_text(self.item)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a returned file is checked against: the existing items, and the form of each round."""

    items: Mapping[str, Item]
    forms: Mapping[int, Form]
    fingerprint: str = ""
    reviewers: Mapping[str, str] = {}  # names here by names in the tool; under ``""`` for decisions without one

    def assignment(self, key: TaskKey, where: str) -> Assignment:
        """The assignment that a file refers to; refused where there is no such item or round."""
        item, number, adjudicates = key
        if item not in self.items:
            raise InputError(f"{where}: no item {short(item)} in this review")
        if number not in self.forms:
            raise InputError(f"{where}: round: found {number}, expected 1 to {max(self.forms)}")
        return Assignment(item=self.items[item], round=number, form=self.forms[number], adjudicates=adjudicates)

    def reviewer(self, name: str, where: str) -> str:
        """A reviewer's name here."""
        known = self.reviewers.get(name, name)
        if not known.strip():
            raise InputError(f"{where}: reviewer: no name; name the reviewer with {param('reviewer', 'NAME')}")
        return known


class Carried(msgspec.Struct, frozen=True):
    """Data that a task carries through another tool: its key, and the earlier decisions."""

    item: str
    round: int
    adjudicates: bool = False
    fingerprint: str = ""
    decided: tuple[Decision, ...] = ()


def read_carried(carried: Carried | None, expected: Expected, where: str) -> Assignment:
    """The assignment that came back; refused where it was not exported from here."""
    if carried is None:
        raise InputError(f"{where}: it does not say which item it is about; eyetest did not export this task")
    if expected.fingerprint and carried.fingerprint != expected.fingerprint:
        raise InputError(f"{where}: it is about another state of the benchmark: {short(carried.fingerprint)}")
    assignment = expected.assignment((carried.item, carried.round, carried.adjudicates), where)
    earlier = []
    for number, one in enumerate(carried.decided, 1):
        told = f"{where}, decision {number} that travelled with it"
        if one.item != carried.item:
            raise InputError(f"{told}: item: found {short(one.item)}, expected {short(carried.item)}")
        earlier.append(checked(one, expected.assignment((one.item, one.round, one.adjudicates), told), told))
    return msgspec.structs.replace(assignment, fingerprint=carried.fingerprint, earlier=tuple(earlier))


def checked(decision: Decision, assignment: Assignment, where: str) -> Decision:
    """A decision by a possible reviewer that this item and this form allow; otherwise refused."""
    try:
        named = msgspec.structs.replace(decision, reviewer=checked_name(decision.reviewer, "reviewer"))
        return check_decision(named, assignment.form, assignment.item)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def universal(time: str, where: str) -> str:
    """A time as decisions have it: in UTC, to the second."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise InputError(f"{where}: time: found {short(time)}, expected one like 2026-03-01T12:30:00+00:00") from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat(timespec="seconds")


class ToolQuestion(NamedTuple):
    """One question of the tool: its name, its text, the allowed answers, and the decisions with which it is asked."""

    name: str
    words: str
    kind: Literal["choice", "several", "text"]
    values: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    required: bool = False
    long: bool = False


def questions(form: Form, options: int) -> list[ToolQuestion]:
    """The questions about an item with so many options, in order."""
    rows = [ToolQuestion("solved", "What is the answer? Say it before you decide", "text")] if form.solve else []
    rows.append(
        ToolQuestion("decision", "What is to happen with this item?", "choice", get_args(DecisionKind), required=True)
    )
    if form.reasons:
        rows.append(ToolQuestion("reason", "Why drop it?", "choice", form.reasons, ("drop",)))
    rows.append(ToolQuestion("reason_text", "Another reason", "text", when=("drop", "fix", "unsure")))
    for name in form.edits:
        titles: dict[str, str] = {name: _TITLES.get(name, "Tags to change, one a line: name=value")}
        if name == "options":
            titles = {letter(at).lower(): f"Option {letter(at)}, as it should be" for at in range(options)}
        for key, words in titles.items():
            rows.append(ToolQuestion(_EDIT + key, words, "text", (), ("fix",), long=name != "options"))
    for field in form.fields:
        when = tuple(kind for kind in field.when or KINDS if not field.required or kind != "unsure")
        told = when if field.when or field.required else ()
        rows.append(ToolQuestion(_LABEL + field.name, field.ask, field.kind, field.values, told, field.required))
    return [*rows, ToolQuestion("comment", "Anything else?", "text", long=True)]


def present(item: Item) -> dict[str, str]:
    """The present values of editable fields, by name: an equal answer changes nothing."""
    texts = {_EDIT + letter(index).lower(): choice.text for index, choice in enumerate(item.choices)}
    gold = [letter(index) for index in item.gold] if item.choices else list(item.references)
    return {"edit_question": item.question, **texts, "edit_answer": _write_list(gold, item)}


def answers(decision: Decision, assignment: Assignment) -> dict[str, str | list[str]]:
    """A decision as answers."""
    offered = decision.reason in assignment.form.reasons
    told: dict[str, Any] = {
        "solved": decision.solved,
        "decision": decision.decision,
        "reason" if offered else "reason_text": decision.reason,
        **{_EDIT + key.lower(): _write_edit(key, value, assignment.item) for key, value in decision.edits.items()},
        **{_LABEL + key: value for key, value in decision.labels.items()},
        "comment": decision.comment,
    }
    texts = {name: value if isinstance(value, list) else str(value) for name, value in told.items()}
    return {name: value for name, value in texts.items() if value}


def same(one: Answers, other: Answers, item: Item) -> bool:
    """Whether two are equal, ignoring outer spaces and edits that change nothing."""
    return _meant(one, item) == _meant(other, item)


def _meant(said: Answers, item: Item) -> dict[str, str | list[str]]:
    """The answers without those that leave a value unchanged."""
    standing = {name: text.strip() for name, text in present(item).items()}
    told: dict[str, str | list[str]] = {}
    for name, value in said.items():
        several = isinstance(value, list) and len(value) > 1
        answer = sorted(value) if several else (value if isinstance(value, str) else "".join(value)).strip()
        if answer and answer != standing.get(name):
            told[name] = answer
    return told


def read_answers(said: Answers, assignment: Assignment, where: str) -> Decision:
    """The decision that answers express, without author and time; refused where invalid, naming the field."""
    item, form = assignment.item, assignment.form
    known = {one.name: one for one in questions(form, len(item.choices))}
    told = _meant(said, item)
    for name, value in told.items():
        _check(name, value, known, where)
    kind = str(told.get("decision", ""))
    if not kind:
        raise InputError(f"{where}: decision: nothing is decided")
    decision = Decision(
        item=item.id,
        round=assignment.round,
        reviewer="",
        time="",
        decision=msgspec.convert(kind, DecisionKind),
        adjudicates=assignment.adjudicates,
        comment=str(told.get("comment", "")),
    )
    if kind == "undo":
        return decision
    reasons = [str(told[name]) for name in ("reason", "reason_text") if name in told]
    edits = {name.removeprefix(_EDIT): str(text) for name, text in told.items() if name.startswith(_EDIT)}
    asked = {_LABEL + field.name for field in form.asked(kind)}
    labels = {name.removeprefix(_LABEL): value for name, value in told.items() if name in asked}
    return msgspec.structs.replace(
        decision,
        reason=": ".join(reasons),
        solved=str(told.get("solved", "")),
        labels=labels,
        edits={k.upper() if len(k) == 1 else k: _read_edit(k, text, item, where) for k, text in edits.items()},
    )


def _check(name: str, value: str | list[str], known: Mapping[str, ToolQuestion], where: str) -> None:
    if name not in known:
        raise InputError(f"{where}: {short(name)} is not asked here; {nearest(name, known)}")
    question = known[name]
    if question.kind != "several" and not isinstance(value, str):
        raise InputError(f"{where}: {name}: found {len(value)} answers, expected one")
    for text in [value] if isinstance(value, str) else value:
        if question.values and text not in question.values:
            raise InputError(f"{where}: {name}: found {short(text)}; {nearest(text, question.values)}")


def _write_edit(key: str, value: Any, item: Item) -> str:
    if key == "tags" and isinstance(value, Mapping):
        plain = all(_read_lines(f"{name}={text}") == {name: text} for name, text in value.items())
        lines = "\n".join(f"{name}={text}" for name, text in value.items())
        return lines if plain else msgspec.json.encode(value).decode()
    if key == "answer":
        return _write_list(value if isinstance(value, list) else [value], item)
    return str(value)


def _read_edit(name: str, text: str, item: Item, where: str) -> Any:
    if name == "tags":
        tags = _parsed(text, dict[str, Any]) or _read_lines(text)
        if not tags:
            raise InputError(f"{where}: edit_tags: found {short(text)}, expected lines like name=value")
        return tags
    if name != "answer":
        return text
    words = map(str.strip, text.split(",")) if item.choices else _parsed(text, list[str]) or text.split("\n")
    kept = [word for word in words if word]
    return kept[0] if len(kept) == 1 else kept


def _read_lines(text: str) -> dict[str, Any] | None:
    tags: dict[str, Any] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if line.strip():
            if not equals or not name.strip():
                return None
            tags[name.strip()] = value.strip()
    return tags


def _write_list(values: list[Any], item: Item) -> str:
    """Golds as a text: comma-separated letters, texts one per line, or JSON where lines would be ambiguous."""
    words = [str(value) for value in values]
    if item.choices:
        return ", ".join(words)
    text = "\n".join(words)
    plain = text.split("\n") == words and _parsed(text, list[str]) is None and all(words)
    return text if plain else msgspec.json.encode(words).decode()


def _parsed(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
