"""What people decided: read back from a table, checked line by line, and counted, each round by itself."""

import csv
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Decision, Item, Recipe, Stage, VerdictKind, columns, letter
from eyetest.tabular.sheets import restored

_NEEDED = ("item", "decision")
_KINDS = get_args(VerdictKind)


@dataclass(frozen=True)
class Decided:
    """What a round of reviewers came to about an item; ``verdict`` is ``review`` while that is open."""

    verdict: VerdictKind
    reason: str
    n: int
    agree: int
    edits: Mapping[str, Any] = field(default_factory=dict)


def read_decisions(path: Path, known: Collection[str] | None = None) -> dict[str, list[Decision]]:
    """The decisions of a table, by item; none where there is no table yet. A line without a decision is none yet.

    ``known``: the items there are; one that is none of them is refused. None where nobody knows.
    """
    if not path.exists():
        return {}
    decisions: dict[str, list[Decision]] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
                raise InputError(f"{path} has no column {missing[0]}; it takes {', '.join(columns(Decision))}")
            for row in reader:
                cells = {name: cell for name in columns(Decision) if (cell := (row.get(name) or "").strip())}
                if "decision" in cells:
                    decision = _decision(cells, _known(row["item"] or "", known), f"{path}, line {reader.line_num}")
                    decisions.setdefault(decision.item, []).append(decision)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV: {error}") from None
    return decisions


def _known(item: str, known: Collection[str] | None) -> str | None:
    """The item that a cell names; the queue may have put a guard before it, and its reader spaces around it."""
    names = (restored(item), item, restored(item.strip()), item.strip())
    return next((name for name in names if known is None or name in known), None)


def _decision(cells: dict[str, str], item: str | None, where: str) -> Decision:
    if item is None:
        raise InputError(f"{where}: no item {short(cells.get('item', ''))} in this benchmark")
    values: dict[str, Any] = {"round": 1, "reviewer": "somebody", "time": "", **cells, "item": item}
    values["decision"] = cells["decision"].lower()
    if values["decision"] not in _KINDS:
        raise InputError(
            f"{where}: found {short(cells['decision'])}, expected {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        )
    if "edits" in cells:
        try:
            values["edits"] = msgspec.json.decode(cells["edits"], type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise InputError(f"{where}: edits are no JSON object: {error}") from None
    try:
        return msgspec.convert(values, Decision, strict=False)
    except msgspec.ValidationError as error:
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
    reason = next((said for decision in chosen if (said := decision.reason or decision.comment)), "")
    edits = next((decision.edits for decision in chosen if decision.edits), {})
    return Decided(verdict, reason or f"{count} of {len(last)} reviewers", len(last), count, edits)


class Rounds:
    """When the stages of a recipe ask people, and what people answered in each round.

    The second review stage begins the second round, and so on; what a screen doubts belongs to the round it is in.
    Decisions of one round do not answer another, but one of a round that the recipe does not have is a later word on
    its last.
    """

    def __init__(self, recipe: Recipe, decisions: Mapping[str, Sequence[Decision]]) -> None:
        self._decisions = decisions
        self._last = 1
        self.asked: dict[str, tuple[int, str]] = {}
        """By the title of a stage: its round, and what people are asked in it."""
        forms = [stage.review.form for stage in recipe.stages if stage.review] or [""]
        reviews = 0
        for stage in recipe.stages:
            reviews += stage.review is not None
            self._last = max(reviews, 1)
            self.asked[stage.title] = (self._last, forms[self._last - 1])

    def decided(self, stage: Stage, item: str) -> Decided:
        """What people came to about an item in the round of a stage."""
        number, _ = self.asked[stage.title]
        rows = self._decisions.get(item, ())
        mine = [row for row in rows if min(max(row.round, 1), self._last) == number]
        return decide(mine, stage.review.reviewers if stage.review else 1)


def edited(item: Item, edits: Mapping[str, Any]) -> Item:
    """An item with what a reviewer changed: its question, the text of an option by its letter, its answer."""
    changes: dict[str, Any] = {}
    choices = list(item.choices)
    letters = [letter(index) for index in range(len(choices))]
    for key, value in edits.items():
        if key == "question" and str(value).strip():
            changes["question"] = str(value)
        elif key == "answer" and choices:
            golds = _golds(value, letters, item)
            choices = [msgspec.structs.replace(one, correct=index in golds) for index, one in enumerate(choices)]
        elif key == "answer" and value not in ("", []):
            changes["references"] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
        elif key.upper() in letters:
            index = letters.index(key.upper())
            choices[index] = msgspec.structs.replace(choices[index], text=str(value))
        else:
            told = f"an edit may change question, answer or an option, and not to nothing; found {short(key)}"
            raise InputError(f"item {short(item.id)}: {told}")
    return msgspec.structs.replace(item, choices=tuple(choices), **changes)


def _golds(value: Any, letters: Sequence[str], item: Item) -> set[int]:
    words = value if isinstance(value, list) else str(value).split(",")
    named = [str(word).strip().upper() for word in words]
    if unknown := [name for name in named or [""] if name not in letters]:
        raise InputError(f"item {short(item.id)}: an answer is one of {', '.join(letters)}, not {short(unknown[0])}")
    return {letters.index(name) for name in named}
