"""A decision as answers to single questions, which is what other tools ask: by name, each a text or some values.

Which questions these are follows from the form. All tools ask the same ones under the same names, so that a decision
reads the same wherever it was made.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.records import Decision, DecisionKind, Item, letter
from eyetest.review.exchange.assignment import Assignment
from eyetest.review.forms import KINDS, Form

Answers = Mapping[str, str | list[str]]
_EDIT, _LABEL = "edit_", "label_"
_TITLES = {
    "question": "The question, as it should be",
    "answer": "The right answer, as it should be: letters or a text",
}


class ToolQuestion(NamedTuple):
    """One question of the tool: its name, its words, what may be answered, and with which decisions it is asked."""

    name: str
    words: str
    kind: Literal["choice", "several", "text"]
    values: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    required: bool = False
    long: bool = False


def questions(form: Form, options: int) -> list[ToolQuestion]:
    """What is asked about an item of so many options, in order."""
    rows = [ToolQuestion("solved", "What is the answer? Say it before you decide", "text")] if form.solve else []
    rows.append(
        ToolQuestion("decision", "What is to happen with this item?", "choice", get_args(DecisionKind), required=True)
    )
    if form.reasons:
        rows.append(ToolQuestion("reason", "Why drop it?", "choice", form.reasons, ("drop",)))
    rows.append(ToolQuestion("reason_text", "Another reason", "text", when=("drop", "fix", "unsure")))
    for name in form.edits:
        for key, words in _edits(name, options):
            rows.append(ToolQuestion(_EDIT + key, words, "text", (), ("fix",), long=name != "options"))
    for field in form.fields:
        when = tuple(kind for kind in field.when or KINDS if not field.required or kind != "unsure")
        told = when if field.when or field.required else ()
        rows.append(ToolQuestion(_LABEL + field.name, field.ask, field.kind, field.values, told, field.required))
    return [*rows, ToolQuestion("comment", "Anything else?", "text", long=True)]


def _edits(name: str, options: int) -> list[tuple[str, str]]:
    """What is asked where this may be edited: by key, with its words."""
    if name == "options":
        return [(letter(index).lower(), f"Option {letter(index)}, as it should be") for index in range(options)]
    return [(name, _TITLES.get(name, "Tags to change, one a line: name=value"))]


def present(item: Item) -> dict[str, str]:
    """What stands where an edit would, by its name: an answer that says the same changes nothing."""
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
    """Whether two say the same, spaces around texts and edits that change nothing apart."""
    return _meant(one, item) == _meant(other, item)


def _meant(said: Answers, item: Item) -> dict[str, str | list[str]]:
    """What was answered, without what was left as it stood."""
    standing = {name: text.strip() for name, text in present(item).items()}
    told: dict[str, str | list[str]] = {}
    for name, value in said.items():
        several = isinstance(value, list) and len(value) > 1
        answer = sorted(value) if several else (value if isinstance(value, str) else "".join(value)).strip()
        if answer and answer != standing.get(name):
            told[name] = answer
    return told


def read_answers(said: Answers, assignment: Assignment, where: str) -> Decision:
    """The decision that was answered, without its author and time; refused where it is none, naming the field."""
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
        edits={_key(name): _read_edit(name, text, item, where) for name, text in edits.items()},
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


def _key(name: str) -> str:
    return name.upper() if len(name) == 1 else name


def _write_edit(key: str, value: Any, item: Item) -> str:
    if key == "tags" and isinstance(value, Mapping):
        lines = [f"{name}={text}" for name, text in value.items() if isinstance(text, str)]
        plain = len(lines) == len(value) and all(
            _read_lines(line) == dict([pair]) for line, pair in zip(lines, value.items(), strict=True)
        )
        return "\n".join(lines) if plain else msgspec.json.encode(value).decode()
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
    words = (
        [word.strip() for word in text.split(",")] if item.choices else _parsed(text, list[str]) or text.split("\n")
    )
    kept = [word for word in words if word]
    return kept[0] if len(kept) == 1 else kept


def _read_lines(text: str) -> dict[str, Any] | None:
    """Tags from lines; None where one is no tag."""
    tags: dict[str, Any] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if line.strip():
            if not equals or not name.strip():
                return None
            tags[name.strip()] = value.strip()
    return tags


def _write_list(values: list[Any], item: Item) -> str:
    """Golds as a text: letters between commas, texts one a line, or as JSON where lines would say something else."""
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
