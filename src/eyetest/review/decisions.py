"""What people decided: read back from a table, checked line by line, and counted, each round by itself."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import polars as pl

from eyetest.errors import InputError, short
from eyetest.records import Decision, DecisionKind, Recipe, Stage, VerdictKind, columns
from eyetest.tabular.sheets import restored, restored_row

_NEEDED = ("item", "decision")
_KINDS = get_args(DecisionKind)
_OLD = {"review": "unsure"}
"""Decisions as tables of older versions spell them."""
_OWN_WORDS = ("reason", "comment", "solved")
OBJECTS = ("edits", "labels")
"""What a table holds as JSON."""
_OPEN, _SETTLED = "; people: ", "; decided by a person: "
"""What stands between a screen's reason and what people said to it."""
Agreed = Literal["all", "most"]
"""When reviewers have decided: once all of them say the same, or most."""


@dataclass(frozen=True)
class Decided:
    """What a round of reviewers came to about an item; ``verdict`` is ``review`` while that is open."""

    verdict: VerdictKind
    reason: str
    n: int
    agree: int
    edits: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    """What those who decided so answered to the form, where most of them answered alike."""
    disputed: bool = False
    """Whether it is open because reviewers disagree."""


def read_decisions(path: Path, known: Collection[str] | None = None) -> dict[str, list[Decision]]:
    """The decisions of a table, by item; none where there is no table yet. A line without a decision is none yet.

    ``known``: the items there are; one that is none of them is refused. None where nobody knows.
    """
    decisions: dict[str, list[Decision]] = {}
    for where, row in sheet_rows(path) if path.exists() else ():
        if (row.get("decision") or "").strip():
            decision = read_row(row, known, where)
            decisions.setdefault(decision.item, []).append(decision)
    return decisions


def sheet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a table of decisions, each with where it stands, as they were before guards were put in."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
                raise InputError(f"{path} has no column {missing[0]}; it takes {', '.join(columns(Decision))}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if any(extra := row.pop(None, [])):
                    raise InputError(f"{where}: more cells than columns; the first too many is {short(extra[0])}")
                yield where, restored_row(row)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV: {error}") from None


def read_row(row: Mapping[str, Any], known: Collection[str] | None, where: str) -> Decision:
    """The decision in a line of a table."""
    cells = {name: cell for name in columns(Decision) if (cell := row.get(name) or "").strip()}
    told = {name: cell if name in _OWN_WORDS else cell.strip() for name, cell in cells.items()}
    return _decision(told, find_item(row["item"] or "", known), where)


def find_item(item: str, known: Collection[str] | None) -> str | None:
    """The item that a cell names; the queue may have put a guard before it, and its reader spaces around it."""
    names = (restored(item), item, restored(item.strip()), item.strip())
    return next((name for name in names if known is None or name in known), None)


def _decision(cells: dict[str, str], item: str | None, where: str) -> Decision:
    if item is None:
        raise InputError(f"{where}: no item {short(cells.get('item', ''))} in this benchmark")
    values: dict[str, Any] = {"round": 1, "reviewer": "somebody", "time": "", **cells, "item": item}
    word = cells["decision"].lower()
    values["decision"] = _OLD.get(word, word)
    if values["decision"] not in _KINDS:
        raise InputError(
            f"{where}: found {short(cells['decision'])}, expected {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        )
    for name in cells.keys() & OBJECTS:
        try:
            values[name] = msgspec.json.decode(cells[name], type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise InputError(f"{where}: {name} are no JSON object: {error}") from None
    try:
        return msgspec.convert(values, Decision, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}") from None


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """The last word of each reviewer on each item and round; what was withdrawn gives way to what was said before."""
    said: dict[tuple[str, int, str, bool], list[Decision]] = {}
    for one in decisions:
        words = said.setdefault((one.item, one.round, one.reviewer, one.adjudicates), [])
        if one.decision != "undo":
            words.append(one)
        elif words:
            words.pop()
    return [words[-1] for words in said.values() if words]


def votes_table(decisions: Iterable[Decision]) -> pl.DataFrame:
    """Who says what of which item, to measure agreement by. Who settles knows what others said, and is no vote."""
    names = ("item", "round", "reviewer", "decision")
    votes = [[getattr(one, name) for name in names] for one in standing(decisions) if not one.adjudicates]
    types = {name: pl.Int64 if name == "round" else pl.String for name in names}
    return pl.DataFrame(votes, schema=types, orient="row")


def with_people(reason: str, said: Decided) -> str:
    """A screen's reason with what people said to it."""
    return f"{reason}{_OPEN if said.verdict == 'review' else _SETTLED}{said.reason}"


def without_people(reason: str) -> str:
    """A screen's reason alone, for somebody who is not to know what others said."""
    return re.split(f"{_OPEN}|{_SETTLED}", reason)[0]


def decide(decisions: Sequence[Decision], reviewers: int, agree: Agreed = "most") -> Decided:
    """What the last word of each reviewer comes to, once enough have spoken; who settles a dispute has the last."""
    said = sorted(standing(decisions), key=lambda one: one.round)
    last = {one.reviewer: one for one in said if not one.adjudicates}
    settling = [one for one in said if one.adjudicates][-1:]
    votes = Counter(one.decision for one in (*last.values(), *settling))
    if settling:
        return _came_to(settling, len(last) + 1, votes[settling[0].decision], f"settled by {settling[0].reviewer}")
    if len(last) < reviewers:
        told = f"{len(last)} of {reviewers} reviewers" if last else "waits for a person"
        return Decided("review", told, len(last), max(votes.values(), default=0))
    (word, count), *rest = votes.most_common()
    chosen = [one for one in last.values() if one.decision == word]
    if (rest and rest[0][1] == count) or (agree == "all" and (rest or _differ(chosen))):
        told = " to ".join(str(number) for _, number in votes.most_common()) if rest else "in their edits"
        return Decided("review", f"reviewers disagree, {told}", len(last), count, disputed=True)
    return _came_to(chosen, len(last), count, f"{count} of {len(last)} reviewers")


def _differ(fixes: Sequence[Decision]) -> bool:
    return any(one.edits != fixes[0].edits for one in fixes)


def _came_to(chosen: Sequence[Decision], n: int, agree: int, otherwise: str) -> Decided:
    """What those who said the same come to; ``otherwise`` is the reason where none of them gave one."""
    said = chosen[0].decision
    verdict: VerdictKind = said if said in ("keep", "drop", "fix") else "review"
    reason = next((told for one in chosen if (told := one.reason or one.comment)), "")
    edits = next((one.edits for one in chosen if one.edits), {})
    unsure = "nobody can tell" if len(chosen) > 1 else f"{chosen[0].reviewer} cannot tell"
    return Decided(
        verdict, reason or (unsure if verdict == "review" else otherwise), n, agree, edits, _common(chosen)
    )


def _common(decisions: Sequence[Decision]) -> dict[str, Any]:
    """By field the answer that most gave; none where two are as frequent."""
    answers: dict[str, Counter[bytes]] = {}
    for one in decisions:
        for name, value in one.labels.items():
            answers.setdefault(name, Counter())[msgspec.json.encode(value)] += 1
    common = {}
    for name, counts in answers.items():
        (value, count), *rest = counts.most_common()
        if not rest or rest[0][1] < count:
            common[name] = msgspec.json.decode(value)
    return common


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
        reviews = 0
        for stage in recipe.stages:
            reviews += stage.review is not None
            self._last = max(reviews, 1)
            self.asked[stage.title] = (self._last, recipe.rounds[self._last - 1].form)

    def decided(self, stage: Stage, item: str) -> Decided:
        """What people came to about an item in the round of a stage."""
        number, _ = self.asked[stage.title]
        rows = self._decisions.get(item, ())
        mine = [row for row in rows if min(max(row.round, 1), self._last) == number]
        return decide(mine, stage.review.reviewers if stage.review else 1)
