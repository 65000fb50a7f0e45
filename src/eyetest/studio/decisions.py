"""Records of a review (plan, people, tasks), and decisions: read from a table, and counted."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec

from eyetest.errors import InputError, short
from eyetest.measures.stats.agreement import all_raters, cohen_pairs
from eyetest.records import Decision, DecisionKind, Verdict, VerdictKind, columns
from eyetest.studio.forms import Form
from eyetest.tabular.table import restored

DECISIONS = "decisions.csv"
_NEEDED = ("item", "decision")
_KINDS = get_args(DecisionKind)
FEWEST_ITEMS = 10  # decided by two reviewers or more: below, no agreement beyond chance is given
_MOST_IN_PAIRS = 12  # reviewers
_OWN_WORDS = ("reason", "comment", "solved")
OBJECTS = ("edits", "labels")  # JSON in tables
_OPEN, _SETTLED = "; people: ", "; decided by a person: "  # between a screen's reason and that of people


class Decided(msgspec.Struct, frozen=True):
    """The outcome of a review for an item; ``verdict`` is ``review`` while that is open."""

    verdict: VerdictKind
    reason: str
    n: int
    agree: int
    edits: Mapping[str, Any] = {}
    labels: Mapping[str, Any] = {}  # answers of those who decided so, if most agree


@contextmanager
def located(where: str) -> Iterator[None]:
    """Name the place of a mistake in its message."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def read_decisions(path: Path, known: Collection[str]) -> list[Decision]:
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
                    yield where, {name: restored(cell or "") for name, cell in row.items()}
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV: {error}") from None


def read_row(row: Mapping[str, Any], known: Collection[str]) -> Decision:
    """The decision in a line of a table."""
    cells = {name: cell for name in columns(Decision) if (cell := row.get(name) or "").strip()}
    values: dict[str, Any] = {name: cell if name in _OWN_WORDS else cell.strip() for name, cell in cells.items()}
    values = {"reviewer": "unnamed", "time": "", **values}
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


def find_item(item: str, known: Collection[str]) -> str | None:
    """The item that a cell names; a spreadsheet may have added spaces."""
    return next((name for name in (item, item.strip()) if name in known), None)


def by_item(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """Decisions by item, in order."""
    groups: dict[str, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(decision.item, []).append(decision)
    return groups


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """The last decision of each reviewer on each item."""
    return list({_author(one): one for one in decisions}.values())


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


def _author(decision: Decision) -> tuple[str, str, bool]:
    return decision.reviewer, decision.item, decision.adjudicates


def _content(decision: Decision, **changed: Any) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(decision, **changed), order="deterministic")


class Agreement(msgspec.Struct, frozen=True):
    """One coefficient of agreement, over all reviewers or between two; ``n`` items were decided by two or more."""

    coefficient: str
    reviewers: tuple[str, ...]
    value: float | None
    low: float | None
    high: float | None
    n: int


def agreement_of(decisions: Iterable[Decision]) -> list[Agreement]:
    """How far reviewers decide alike. Admins who settle know the other decisions and are left out."""
    votes = [one for one in standing(decisions) if not one.adjudicates]
    names = sorted({one.reviewer for one in votes})
    if len(names) < 2:
        return []
    given = {(one.item, one.reviewer): one.decision for one in votes}
    ratings = [[given.get((item, name)) for name in names] for item in dict.fromkeys(one.item for one in votes)]
    found = [Agreement(name, (), *value) for name, value in all_raters(ratings).items()]
    pairs = cohen_pairs(ratings) if len(names) <= _MOST_IN_PAIRS else {}
    found += [Agreement("cohen", (names[one], names[other]), *value) for (one, other), value in pairs.items()]
    nothing = {"value": None, "low": None, "high": None}
    return [
        msgspec.structs.replace(one, **nothing) if one.n < FEWEST_ITEMS and one.coefficient != "observed" else one
        for one in found
    ]


def with_people(reason: str, outcome: Decided) -> str:
    """A screen's reason, followed by the reason that people gave."""
    return f"{reason}{_OPEN if outcome.verdict == 'review' else _SETTLED}{outcome.reason}"


def without_people(reason: str) -> str:
    """A screen's reason alone, for a reviewer who must not know what others decided."""
    return re.split(f"{_OPEN}|{_SETTLED}", reason)[0]


def decide(decisions: Sequence[Decision], reviewers: int) -> Decided:
    """The outcome of the reviewers' last decisions, once there are enough; that of an adjudicator prevails.

    Most of the reviewers decide; a tie is a dispute, and so are fixes with different edits.
    """
    valid = standing(decisions)
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
    is_tie, edits = bool(rest) and rest[0][1] == count, [one.edits for one in chosen if one.edits]
    if is_tie or (word == "fix" and any(other != edits[0] for other in edits)):
        why = " to ".join(str(number) for _, number in votes.most_common()) if is_tie else "in their edits"
        return Decided("review", f"reviewers disagree, {why}", len(last), count)
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


class ReviewPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of a review; ``stage``: that of the recipe which asks for it."""

    name: str
    fingerprint: str = ""
    places: tuple[str, ...] = ()
    reviewers: Annotated[int, msgspec.Meta(ge=1)] = 1  # of each item
    form: Form = Form()
    stage: str = ""
    seed: int = 0
    items: tuple[str, ...] = ()  # how items were chosen, each time that some were added

    def blinded(self, verdicts: Iterable[Verdict], *, adjudicates: bool) -> list[Verdict]:
        """Verdicts of stages without people's decisions in them, which a reviewer must not know."""
        if adjudicates:
            return list(verdicts)
        return [
            msgspec.structs.replace(verdict, reason=without_people(verdict.reason))
            for verdict in verdicts
            if not self.stage or verdict.stage != self.stage
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
    """One item for one person; an adjudicator gets the decisions of others (``earlier``)."""

    item: str
    form: Form
    adjudicates: bool = False
    earlier: tuple[Decision, ...] = ()
    mine: Decision | None = None
    solved: str | None = None

    @property
    def unsolved(self) -> bool:
        """Whether it has to be answered before its gold is shown."""
        return self.form.solve and self.solved is None
