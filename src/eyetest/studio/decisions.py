"""Records of a review (plan, people, tasks), and decisions: read from a table, and counted per round."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
import polars as pl

from eyetest.errors import InputError, short
from eyetest.records import Decision, DecisionKind, Verdict, VerdictKind, columns
from eyetest.studio.forms import Form
from eyetest.tabular.table import restored, restored_row

DECISIONS = "decisions.csv"
_NEEDED = ("item", "decision")
_KINDS = get_args(DecisionKind)
_OWN_WORDS = ("reason", "comment", "solved")
OBJECTS = ("edits", "labels")  # JSON in tables
_OPEN, _SETTLED = "; people: ", "; decided by a person: "  # between a screen's reason and that of people


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


@contextmanager
def located(where: str) -> Iterator[None]:
    """Name the place of a mistake in its message."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def read_decisions(path: Path, known: Collection[str] | None = None) -> list[Decision]:
    """The decisions of a table, if it exists; an item that is not ``known`` is refused."""
    decisions = []
    for where, row in sheet_rows(path) if path.exists() else ():
        with located(where):
            decisions.append(read_row(row, known))
    return decisions


def sheet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a table that hold a decision, each with its location, without guards."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
                raise InputError(f"{path} has no column {missing[0]}; it takes {', '.join(columns(Decision))}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if any(extra := row.pop(None, [])):
                    raise InputError(f"{where}: more cells than columns; the first too many is {short(extra[0])}")
                if (row.get("decision") or "").strip():
                    yield where, restored_row(row)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV: {error}") from None


def read_row(row: Mapping[str, Any], known: Collection[str] | None) -> Decision:
    """The decision in a line of a table."""
    cells = {name: cell for name in columns(Decision) if (cell := row.get(name) or "").strip()}
    values: dict[str, Any] = {name: cell if name in _OWN_WORDS else cell.strip() for name, cell in cells.items()}
    values = {"round": 1, "reviewer": "unnamed", "time": "", **values}
    values["item"] = find_item(row["item"] or "", known)
    if values["item"] is None:
        raise InputError(f"no item {short(cells.get('item', ''))} in this benchmark")
    values["decision"] = values["decision"].lower()
    if values["decision"] not in _KINDS:
        raise InputError(f"found {short(cells['decision'])}, expected {', '.join(_KINDS[:-1])} or {_KINDS[-1]}")
    for name in cells.keys() & OBJECTS:
        try:
            values[name] = msgspec.json.decode(cells[name], type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise InputError(f"{name} are no JSON object: {error}") from None
    try:
        return msgspec.convert(values, Decision, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(str(error)) from None


def find_item(item: str, known: Collection[str] | None) -> str | None:
    """The item that a cell names; the queue may have added a guard, and its reader spaces."""
    names = (restored(item), item, restored(item.strip()), item.strip())
    return next((name for name in names if known is None or name in known), None)


def by_item(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """Decisions by item, in order."""
    groups: dict[str, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(decision.item, []).append(decision)
    return groups


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """The last decision of each reviewer on each item and round; a withdrawn one is replaced by the one before it."""
    by_author: dict[tuple[str, str, int, bool], list[Decision]] = {}
    for one in decisions:
        own = by_author.setdefault(_author(one), [])
        if one.decision != "undo":
            own.append(one)
        elif own:
            own.pop()
    return [own[-1] for own in by_author.values() if own]


def new_decisions(known: Sequence[Decision], read: Iterable[Decision]) -> list[tuple[str, Decision]]:
    """New decisions, with nonces equal in every file; an undated one is new if its author's last one differs."""
    seen = {_content(decision) for decision in known}
    last = {_author(decision): _content(decision, time="") for decision in known}
    fresh = []
    for number, decision in enumerate(read):
        content = _content(decision)
        if (decision.time and content in seen) or (not decision.time and last.get(_author(decision)) == content):
            continue
        seen.add(content)
        last[_author(decision)] = _content(decision, time="")
        place = b"" if decision.time else b"%d %d " % (len(seen), number)
        fresh.append((sha256(place + content).hexdigest()[:32], decision))
    return fresh


def _author(decision: Decision) -> tuple[str, str, int, bool]:
    return decision.reviewer, decision.item, decision.round, decision.adjudicates


def _content(decision: Decision, **changed: Any) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(decision, **changed), order="deterministic")


def votes_table(decisions: Iterable[Decision], label: str = "") -> pl.DataFrame:
    """Decisions, or answers to a field of the form, by reviewer and item, for agreement.

    Adjudicators know the other decisions and are left out.
    """
    votes = [one for one in standing(decisions) if not one.adjudicates and (not label or label in one.labels)]
    answers = (" + ".join(answers_of(one.labels[label])) if label else one.decision for one in votes)
    rows = [(one.item, one.round, one.reviewer, answer) for one, answer in zip(votes, answers, strict=True)]
    types = {"item": pl.String, "round": pl.Int64, "reviewer": pl.String, "decision": pl.String}
    return pl.DataFrame(rows, schema=types, orient="row")


def answers_of(answer: Any) -> list[str]:
    """The answers to a field of the form."""
    return answer if isinstance(answer, list) else [str(answer)]


def with_people(reason: str, outcome: Decided) -> str:
    """A screen's reason, followed by the reason that people gave."""
    return f"{reason}{_OPEN if outcome.verdict == 'review' else _SETTLED}{outcome.reason}"


def without_people(reason: str) -> str:
    """A screen's reason alone, for a reviewer who must not know what others decided."""
    return re.split(f"{_OPEN}|{_SETTLED}", reason)[0]


def decide(decisions: Sequence[Decision], reviewers: int, *, unanimous: bool = False) -> Decided:
    """The outcome of the reviewers' last decisions, once there are enough; that of an adjudicator prevails.

    Most of the reviewers decide; ``unanimous``: all of them, with the same edits.
    """
    valid = sorted(standing(decisions), key=lambda one: one.round)
    last = {one.reviewer: one for one in valid if not one.adjudicates}
    settling = [one for one in valid if one.adjudicates][-1:]
    votes = Counter(one.decision for one in (*last.values(), *settling))
    if settling:
        return _came_to(settling, len(last) + 1, votes[settling[0].decision], f"settled by {settling[0].reviewer}")
    if len(last) < reviewers:
        why = f"{len(last)} of {reviewers} reviewers" if last else "waits for a person"
        return Decided("review", why, len(last), max(votes.values(), default=0))
    (word, count), *rest = votes.most_common()
    chosen = [one for one in last.values() if one.decision == word]
    differ = any(one.edits != chosen[0].edits for one in chosen)
    if (rest and rest[0][1] == count) or (unanimous and (rest or differ)):
        why = " to ".join(str(number) for _, number in votes.most_common()) if rest else "in their edits"
        return Decided("review", f"reviewers disagree, {why}", len(last), count, disputed=True)
    return _came_to(chosen, len(last), count, f"{count} of {len(last)} reviewers")


def _came_to(chosen: Sequence[Decision], n: int, agree: int, otherwise: str) -> Decided:
    """The outcome of equal decisions; ``otherwise`` is the reason where none of them has one."""
    kind = chosen[0].decision
    verdict: VerdictKind = kind if kind in ("keep", "drop", "fix") else "review"
    reason = next((words for one in chosen if (words := one.reason or one.comment)), "")
    edits = next((one.edits for one in chosen if one.edits), {})
    if verdict == "review":
        otherwise = "the reviewers are unsure" if len(chosen) > 1 else f"{chosen[0].reviewer} is unsure"
    labels = {}
    for name in dict.fromkeys(name for one in chosen for name in one.labels):
        answers = Counter(msgspec.json.encode(one.labels[name]) for one in chosen if name in one.labels)
        (answer, count), *rest = answers.most_common()
        if not rest or rest[0][1] < count:  # no answer in a tie
            labels[name] = msgspec.json.decode(answer)
    return Decided(verdict, reason or otherwise, n, agree, edits, labels)


Role = Literal["reviewer", "admin", "reader"]
"""An admin does everything and settles disputes; a reader sees items without golds and decides nothing."""
DECIDES: tuple[Role, ...] = ("reviewer", "admin")


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round: how many reviewers look at an item, none of whom has decided about it before."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    reviewers: Annotated[int, msgspec.Meta(ge=1)] = 1
    form: Form = Form()
    stage: str = ""


class ReviewPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of a review. ``together``: all rounds count as one, and every disagreement is settled; else (a
    refinement) each decides by itself, and ties are settled.
    """

    name: str
    benchmark: str = ""
    fingerprint: str = ""
    places: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = (Round(number=1),)
    together: bool = True
    solve: bool = False
    seed: int = 0
    per: str = ""  # a tag whose values alternate in the order of items
    items: tuple[str, ...] = ()  # how items were chosen, each time that some were added

    def __post_init__(self) -> None:
        if [round_.number for round_ in self.rounds] != list(range(1, len(self.rounds) + 1)):
            raise ValueError("rounds are numbered from 1 on, without gaps")

    def outcome(self, decisions: Iterable[Decision], number: int) -> Decided:
        """The outcome of an item: in a round, or in all of them where they count together."""
        reviewers = sum(round_.reviewers for round_ in self.rounds if self.together or round_.number == number)
        own = [one for one in decisions if self.together or one.round == number]
        return decide(own, reviewers, unanimous=self.together)

    def earlier(self, decisions: Iterable[Decision], number: int) -> tuple[Decision, ...]:
        """Decisions of others about an item, for the one who settles it after a round."""
        others = (one for one in standing(decisions) if not one.adjudicates)
        return tuple(one for one in others if self.together or one.round == number)

    def form(self, number: int, *, adjudicates: bool = False) -> Form:
        """The form of a round, or of the last where the plan has fewer now. An adjudicator need not solve first."""
        form = self.rounds[min(number, len(self.rounds)) - 1].form
        return msgspec.structs.replace(form, solve=(form.solve or self.solve) and not adjudicates)

    def blinded(self, verdicts: Iterable[Verdict], *, adjudicates: bool) -> list[Verdict]:
        """Verdicts of stages without people's decisions in them, which a reviewer must not know."""
        if adjudicates:
            return list(verdicts)
        asked = {round_.stage for round_ in self.rounds if round_.stage}
        return [
            msgspec.structs.replace(verdict, reason=without_people(verdict.reason))
            for verdict in verdicts
            if verdict.stage not in asked
        ]


class Person(msgspec.Struct, frozen=True):
    """A person who was invited."""

    id: int
    name: str
    role: Role


class ReviewSession(NamedTuple):
    """A person with an open session; ``csrf`` must be sent with every form."""

    person: Person
    csrf: str
    cookie: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One item in one round, for one person; an adjudicator gets the decisions of others (``earlier``)."""

    item: str
    round: int
    form: Form
    adjudicates: bool = False
    earlier: tuple[Decision, ...] = ()
    mine: Decision | None = None
    solved: str | None = None

    @property
    def unsolved(self) -> bool:
        """Whether it has to be answered before its gold is shown."""
        return self.form.solve and self.solved is None
