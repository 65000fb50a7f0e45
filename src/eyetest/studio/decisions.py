"""Decisions of people: read from a table, checked line by line, and counted per round."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import polars as pl

from eyetest.errors import InputError, short
from eyetest.records import Decision, DecisionKind, Recipe, Stage, VerdictKind, columns
from eyetest.tabular.sheets import restored, restored_row

_NEEDED = ("item", "decision")
_KINDS = get_args(DecisionKind)
_OWN_WORDS = ("reason", "comment", "solved")
OBJECTS = ("edits", "labels")  # JSON in tables
_OPEN, _SETTLED = "; people: ", "; decided by a person: "  # between a screen's reason and that of people
_Author = tuple[str, str, int, bool]
Agreed = Literal["all", "most"]  # of the reviewers, for a decision


@dataclass(frozen=True)
class Decided:
    """The outcome of a round for an item; ``verdict`` is ``review`` while that is open."""

    verdict: VerdictKind
    reason: str
    n: int
    agree: int
    edits: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)  # answers of those who decided so, if most agree
    disputed: bool = False


def read_decisions(path: Path, known: Collection[str] | None = None) -> dict[str, list[Decision]]:
    """The decisions of a table, if it exists, by item; an item that is not ``known`` is refused."""
    decisions: dict[str, list[Decision]] = {}
    for where, row in sheet_rows(path) if path.exists() else ():
        if (row.get("decision") or "").strip():
            decision = read_row(row, known, where)
            decisions.setdefault(decision.item, []).append(decision)
    return decisions


def sheet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a table of decisions, each with its location, without guards."""
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
    """The item that a cell names; the queue may have added a guard, and its reader spaces."""
    names = (restored(item), item, restored(item.strip()), item.strip())
    return next((name for name in names if known is None or name in known), None)


def _decision(cells: dict[str, str], item: str | None, where: str) -> Decision:
    if item is None:
        raise InputError(f"{where}: no item {short(cells.get('item', ''))} in this benchmark")
    values: dict[str, Any] = {"round": 1, "reviewer": "somebody", "time": "", **cells, "item": item}
    values["decision"] = cells["decision"].lower()
    if values["decision"] not in _KINDS:
        expected = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        raise InputError(f"{where}: found {short(cells['decision'])}, expected {expected}")
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
    """The last decision of each reviewer on each item and round; a withdrawn one is replaced by the one before it."""
    said: dict[tuple[str, int, str, bool], list[Decision]] = {}
    for one in decisions:
        words = said.setdefault((one.item, one.round, one.reviewer, one.adjudicates), [])
        if one.decision != "undo":
            words.append(one)
        elif words:
            words.pop()
    return [words[-1] for words in said.values() if words]


def new_decisions(known: Sequence[Decision], read: Iterable[Decision]) -> list[tuple[str, Decision]]:
    """New decisions, with nonces equal in every file; undated ones are known if they repeat a person's last ones."""
    timed, read_so_far = Counter(map(_content, known)), Counter[bytes]()
    fresh, untimed = [], dict[_Author, list[Decision]]()
    for decision in read:
        if not decision.time:
            untimed.setdefault(_author(decision), []).append(decision)
            continue
        content = _content(decision)
        read_so_far[content] += 1
        if read_so_far[content] > timed[content]:
            fresh.append((_nonce(decision, read_so_far[content]), decision))
    stored: dict[_Author, list[Decision]] = {}
    for decision in (*known, *(decision for _, decision in fresh)):
        stored.setdefault(_author(decision), []).append(decision)
    for author, decisions in untimed.items():
        before = [_content(_timeless(decision)) for decision in stored.get(author, ())]
        now = [_content(_timeless(decision)) for decision in decisions]
        lengths = range(min(len(before), len(now)), -1, -1)
        again = next(length for length in lengths if before[len(before) - length :] == now[:length])
        fresh += [(_nonce(one, len(before) + index), one) for index, one in enumerate(decisions[again:], 1)]
    return fresh


def _author(decision: Decision) -> _Author:
    return decision.reviewer, decision.item, decision.round, decision.adjudicates


def _timeless(decision: Decision) -> Decision:
    return msgspec.structs.replace(decision, time="", seconds=None)


def _content(decision: Decision) -> bytes:
    return msgspec.json.encode(decision, order="deterministic")


def _nonce(decision: Decision, occurrence: int) -> str:
    return sha256(b"%d %b" % (occurrence, _content(decision))).hexdigest()[:32]


def votes_table(decisions: Iterable[Decision]) -> pl.DataFrame:
    """Decisions by reviewer and item, for agreement. Adjudicators know the other decisions and are left out."""
    names = ("item", "round", "reviewer", "decision")
    votes = [[getattr(one, name) for name in names] for one in standing(decisions) if not one.adjudicates]
    types = {name: pl.Int64 if name == "round" else pl.String for name in names}
    return pl.DataFrame(votes, schema=types, orient="row")


def with_people(reason: str, said: Decided) -> str:
    """A screen's reason, followed by the reason that people gave."""
    return f"{reason}{_OPEN if said.verdict == 'review' else _SETTLED}{said.reason}"


def without_people(reason: str) -> str:
    """A screen's reason alone, for a reviewer who must not know what others decided."""
    return re.split(f"{_OPEN}|{_SETTLED}", reason)[0]


def decide(decisions: Sequence[Decision], reviewers: int, agree: Agreed = "most") -> Decided:
    """The outcome of the reviewers' last decisions, once there are enough; an adjudicator's decision prevails."""
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
    differ = any(one.edits != chosen[0].edits for one in chosen)
    if (rest and rest[0][1] == count) or (agree == "all" and (rest or differ)):
        told = " to ".join(str(number) for _, number in votes.most_common()) if rest else "in their edits"
        return Decided("review", f"reviewers disagree, {told}", len(last), count, disputed=True)
    return _came_to(chosen, len(last), count, f"{count} of {len(last)} reviewers")


def _came_to(chosen: Sequence[Decision], n: int, agree: int, otherwise: str) -> Decided:
    """The outcome of equal decisions; ``otherwise`` is the reason where none of them has one."""
    said = chosen[0].decision
    verdict: VerdictKind = said if said in ("keep", "drop", "fix") else "review"
    reason = next((told for one in chosen if (told := one.reason or one.comment)), "")
    edits = next((one.edits for one in chosen if one.edits), {})
    if verdict == "review":
        otherwise = "nobody can tell" if len(chosen) > 1 else f"{chosen[0].reviewer} cannot tell"
    return Decided(verdict, reason or otherwise, n, agree, edits, _common(chosen))


def _common(decisions: Sequence[Decision]) -> dict[str, Any]:
    """By field the most frequent answer; none in a tie."""
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
    """The rounds of a recipe (each review stage after the first begins one); later decisions count in the last."""

    def __init__(self, recipe: Recipe, decisions: Mapping[str, Sequence[Decision]]) -> None:
        self._decisions = decisions
        self._last = 1
        self.asked: dict[str, tuple[int, str]] = {}  # by the title of a stage: its round, and the question to people
        reviews = 0
        for stage in recipe.stages:
            reviews += stage.review is not None
            self._last = max(reviews, 1)
            self.asked[stage.title] = (self._last, recipe.rounds[self._last - 1].form)

    def decided(self, stage: Stage, item: str) -> Decided:
        """The outcome of an item in the round of a stage."""
        number, _ = self.asked[stage.title]
        rows = self._decisions.get(item, ())
        mine = [row for row in rows if min(max(row.round, 1), self._last) == number]
        return decide(mine, stage.review.reviewers if stage.review else 1)
