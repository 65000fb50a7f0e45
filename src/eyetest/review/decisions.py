"""What people decided: read back from a table, checked line by line, and counted."""

import csv
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Decision, Item, VerdictKind, columns

_NEEDED = ("item", "decision")


@dataclass(frozen=True)
class Decided:
    """What a round of reviewers came to about an item; ``verdict`` is ``review`` while that is open."""

    verdict: VerdictKind
    reason: str
    n: int
    agree: int
    edits: Mapping[str, Any] = field(default_factory=dict)


def read_decisions(path: Path, known: Collection[str] | None = None) -> dict[str, list[Decision]]:
    """The decisions of a table, by item; none where there is no table yet. ``known``: the items there are."""
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
                raise InputError(f"{path} has no column {missing[0]}; it takes {', '.join(columns(Decision))}")
            rows = [_decision(row, f"{path}, line {reader.line_num}", known) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV: {error}") from None
    found: dict[str, list[Decision]] = {}
    for row in rows:
        found.setdefault(row.item, []).append(row)
    return found


def _decision(row: Mapping[str, Any], where: str, known: Collection[str] | None) -> Decision:
    values = {name: value for name, value in row.items() if name in columns(Decision) and value not in (None, "")}
    if known is not None and values.get("item") not in known:
        raise InputError(f"{where}: no item {short(values.get('item'))} waits for a decision or was ever asked about")
    try:
        if "edits" in values:
            values["edits"] = msgspec.json.decode(values["edits"])
        usual = {"round": 1, "reviewer": "somebody", "time": ""}
        return msgspec.convert(usual | values, Decision, strict=False)
    except msgspec.MsgspecError as error:
        raise InputError(f"{where}: {error}") from None


def decide(decisions: Sequence[Decision], reviewers: int) -> Decided:
    """What the last word of each reviewer comes to: most of them decide, once enough have spoken."""
    last = {decision.reviewer: decision for decision in sorted(decisions, key=lambda d: d.round)}
    votes = Counter(decision.decision for decision in last.values())
    if len(last) < reviewers:
        told = f"{len(last)} of {reviewers} reviewers" if last else "waits for a person"
        return Decided("review", told, len(last), max(votes.values(), default=0))
    (verdict, count), *rest = votes.most_common()
    if rest and rest[0][1] == count:
        return Decided("review", f"reviewers disagree, {count} to {count}", len(last), count)
    chosen = [decision for decision in last.values() if decision.decision == verdict]
    reason = next(
        (decision.reason or decision.comment for decision in chosen if decision.reason or decision.comment), ""
    )
    edits = next((decision.edits for decision in chosen if decision.edits), {})
    return Decided(verdict, reason or f"{count} of {len(last)} reviewers", len(last), count, edits)


def edited(item: Item, edits: Mapping[str, Any]) -> Item:
    """An item with what a reviewer changed: its question, the text of an option by its letter, its answer."""
    changes: dict[str, Any] = {}
    choices = list(item.choices)
    for key, value in edits.items():
        if key == "question":
            changes["question"] = str(value)
        elif key == "answer" and choices:
            golds = {word.strip().upper() for word in str(value).split(",")}
            choices = [msgspec.structs.replace(c, correct=chr(65 + i) in golds) for i, c in enumerate(choices)]
        elif key == "answer":
            changes["references"] = tuple(value) if isinstance(value, list) else (str(value),)
        elif len(key) == 1 and 0 <= ord(key.upper()) - 65 < len(choices):
            place = ord(key.upper()) - 65
            choices[place] = msgspec.structs.replace(choices[place], text=str(value))
        else:
            raise InputError(
                f"item {short(item.id)}: an edit may change question, answer or an option, not {short(key)}"
            )
    return msgspec.structs.replace(item, choices=tuple(choices), **changes)
