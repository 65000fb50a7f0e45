"""Progress of a review: outcomes by item, progress by round and person, blocked items, and agreement."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple, get_args

import msgspec
import polars as pl

from eyetest.measures.choices import decisions_agreement
from eyetest.measures.results import Settings
from eyetest.records import Decision
from eyetest.studio.database import outcome_in, read_records
from eyetest.studio.decisions import Decided, Person, ReviewPlan, Role, answers_of, standing, votes_table
from eyetest.wording import counted, listed

ItemState = Literal["agreed", "adjudicated", "disputed", "begun", "untouched"]
STATES: tuple[ItemState, ...] = get_args(ItemState)
COEFFICIENTS = {
    "observed": "say the same",
    "fleiss": "Fleiss' κ",
    "krippendorff": "Krippendorff's α",
    "cohen": "Cohen's κ",
    "gwet": "Gwet's AC1",
}
_RESAMPLES = 500
_MOST_PAIRED = 6  # with more reviewers, pairs are not compared
_REACHED = """
SELECT i.item, coalesce(max(s.round), 1) FROM items i LEFT JOIN slots s ON s.item = i.id GROUP BY i.id ORDER BY i.id
"""
_ABLE = "SELECT name FROM people WHERE NOT revoked AND (role IN ('adjudicator', 'admin') OR role = ?)"
_LEFT = (
    "WITH able AS (SELECT id FROM people WHERE NOT revoked AND (role IN ('adjudicator', 'admin') OR role = ?1)) "
    "SELECT count(*) FROM slots AS s WHERE state = 1 AND adjudicates = ?2 AND (person IS NULL OR person NOT IN able) "
    "AND (SELECT count(DISTINCT person) FROM decisions WHERE item = s.item AND person IN able) = "
    "(SELECT count(*) FROM able)"
)
_ROUNDS = (
    "SELECT CASE WHEN adjudicates THEN 0 ELSE round END AS number, sum(state = 3), sum(state = 2), sum(state = 1), "
    "sum(state = 0) FROM slots GROUP BY number ORDER BY number = 0, number"
)
_PEOPLE = """
SELECT name, role, invited, seen, revoked, (SELECT count(*) FROM slots WHERE person = p.id AND state = 3),
  CASE WHEN revoked OR role = 'reader' THEN 0 ELSE (
    SELECT count(DISTINCT item) FROM slots WHERE person = p.id AND state = 2 OR state = 1
    AND adjudicates <= (p.role IN ('adjudicator', 'admin'))
    AND (person IS p.id OR item NOT IN (SELECT item FROM decisions WHERE person = p.id))
  ) END
FROM people AS p WHERE ?1 IS NULL OR id = ?1 ORDER BY id
"""


class JudgedItem(NamedTuple):
    """An item with its outcome, and the last decision of each person about it."""

    item: str
    outcome: Decided
    decisions: Sequence[Decision]

    @property
    def state(self) -> ItemState:
        """The state of the item."""
        if any(decision.adjudicates for decision in self.decisions):
            return "adjudicated"
        if self.outcome.verdict != "review":
            return "agreed"
        return "disputed" if self.outcome.disputed else "begun" if self.decisions else "untouched"


class JudgedReview(NamedTuple):
    """All items in the order of the queue, and all last decisions."""

    items: list[JudgedItem]
    decisions: list[Decision]


class PersonRow(NamedTuple):
    """One person, as the admin sees them; ``waiting`` counts items that they could decide about."""

    name: str
    role: Role
    invited: float
    seen: float | None
    revoked: bool
    decided: int
    waiting: int


class RoundProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a round in decisions; ``items`` have one. Round 0 is adjudication."""

    round: int
    items: int
    decided: int
    begun: int
    open: int
    later: int

    @property
    def all(self) -> int:
        """The number of decisions it takes, as far as known."""
        return self.decided + self.begun + self.open + self.later


class PersonProgress(msgspec.Struct, frozen=True):
    """How many items a person has decided about, and the median time one was open."""

    name: str
    items: int
    seconds: float | None


class ReviewProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a review; ``stuck`` lists what waits for a person who was not invited yet."""

    items: int
    settled: int
    disputed: int
    rounds: tuple[RoundProgress, ...]
    people: tuple[PersonProgress, ...]
    stuck: tuple[str, ...] = ()


class AgreementRow(msgspec.Struct, frozen=True, kw_only=True):
    """One coefficient, over all reviewers of a round or between two; round 0 is all rounds together."""

    about: str
    round: int
    coefficient: str
    a: str | None
    b: str | None
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    n: int
    raters: int


class ReviewOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of a review: items by state, decision, reason of a drop and label, median seconds, agreement."""

    progress: ReviewProgress
    states: Mapping[str, int]
    decisions: Mapping[str, int]
    reasons: Mapping[str, int]
    labels: Mapping[str, Mapping[str, int]]
    seconds: float | None
    agreement: tuple[AgreementRow, ...]


def judge_items(connection: sqlite3.Connection, plan: ReviewPlan) -> JudgedReview:
    """The outcome of every item, with the last decisions about it."""
    last = standing(read_records(connection.execute("SELECT record FROM decisions ORDER BY id")))
    by_item: dict[str, list[Decision]] = {}
    for decision in last:
        by_item.setdefault(decision.item, []).append(decision)
    rows = [(item, number, by_item.get(item, [])) for item, number in connection.execute(_REACHED)]
    return JudgedReview([JudgedItem(item, outcome_in(plan, own, number), own) for item, number, own in rows], last)


def make_overview(judged: JudgedReview, plan: ReviewPlan, progress: ReviewProgress) -> ReviewOverview:
    """Progress, disagreement, agreement with intervals, reasons, and time per item."""
    decisions, states = judged.decisions, Counter(item.state for item in judged.items)
    labels: dict[str, list[tuple[str, str]]] = {}
    for decision in decisions:
        for name, answer in decision.labels.items():
            labels.setdefault(name, []).extend((value, decision.item) for value in answers_of(answer))
    return ReviewOverview(
        progress=progress,
        states={state: states[state] for state in STATES if states[state]},
        decisions=_count_items((decision.decision, decision.item) for decision in decisions),
        reasons=_count_items((reason_of(one), one.item) for one in decisions if one.decision == "drop"),
        labels={name: _count_items(pairs) for name, pairs in labels.items()},
        seconds=_median(decisions),
        agreement=tuple(_agreement_rows(decisions, plan)),
    )


def progress_of(connection: sqlite3.Connection, decisions: Sequence[Decision]) -> ReviewProgress:
    """Progress of rounds and persons."""
    items, settled = connection.execute(
        "SELECT count(*), coalesce(sum(settled), 0) FROM items WHERE id IN (SELECT item FROM slots WHERE state != 4)"
    ).fetchone()
    (disputed,) = connection.execute("SELECT count(*) FROM slots WHERE adjudicates AND state IN (1, 2)").fetchone()
    by_person: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_person.setdefault(decision.reviewer, []).append(decision)
    reached = Counter(number for number, _ in {(round_of(one), one.item) for one in decisions})
    return ReviewProgress(
        items=items,
        settled=settled,
        disputed=disputed,
        rounds=tuple(
            RoundProgress(round=number, items=reached[number], decided=decided, begun=begun, open=open_, later=later)
            for number, decided, begun, open_, later in connection.execute(_ROUNDS)
        ),
        people=tuple(PersonProgress(name, len(some), _median(some)) for name, some in by_person.items()),
        stuck=tuple(_stuck(connection)),
    )


def people_rows(connection: sqlite3.Connection, only: Person | None = None) -> list[PersonRow]:
    """All people who were invited, or one of them."""
    rows = map(PersonRow._make, connection.execute(_PEOPLE, (only and only.id,)))
    return [row._replace(revoked=bool(row.revoked)) for row in rows]


def round_of(decision: Decision) -> int:
    """The round of a decision; 0 is adjudication."""
    return 0 if decision.adjudicates else decision.round


def reason_of(decision: Decision) -> str:
    """The reason of a drop."""
    return decision.reason or "no reason"


def _count_items(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    counts = Counter(value for value, _ in set(pairs))
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _stuck(connection: sqlite3.Connection) -> Iterator[str]:
    """Decisions that no invited person can make, since all of them have decided about these items before."""
    for adjudicates, role in ((0, "reviewer"), (1, "adjudicator")):
        (left,) = connection.execute(_LEFT, (role, adjudicates)).fetchone()
        names = [name for (name,) in connection.execute(_ABLE, (role,))]
        if left and names:
            again = f"who decided about an item does not get it again; invite another {role}"
            yield f"{counted(left, 'decision')} cannot be made by {listed(names)}: {again}"
        elif left:
            yield f"{counted(left, 'decision')} to make, and no reviewer may make them: invite one as {role}"


def _median(decisions: Iterable[Decision]) -> float | None:
    seconds = [decision.seconds for decision in decisions if decision.seconds is not None]
    return median(seconds) if seconds else None


def _agreement_rows(decisions: Iterable[Decision], plan: ReviewPlan) -> list[AgreementRow]:
    """Agreement on decisions and on each field of the form: by round, and over all where they count together."""
    votes = [decision for decision in decisions if not decision.adjudicates]
    rows = []
    for label in ("", *dict.fromkeys(name for vote in votes for name in vote.labels)):
        table = votes_table(votes, label)
        if plan.together and table.get_column("round").n_unique() > 1:
            table = pl.concat([table, table.with_columns(round=pl.lit(0, pl.Int64))])
        pairs = table.get_column("reviewer").n_unique() <= _MOST_PAIRED
        several = table.group_by("round", "item").len().filter(pl.col("len") > 1)
        rated_twice = table.join(several, on="round", how="semi", maintain_order="left")
        settings = Settings(resamples=_RESAMPLES, own={"pairs": pairs})
        rows += [
            {"about": label or "decision"} | row for row in decisions_agreement(rated_twice, settings).to_dicts()
        ]
    return msgspec.convert(rows, list[AgreementRow])
