"""Progress of a review: outcomes by item, progress by round, items that no one can decide, and agreement."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec
import polars as pl

from eyetest.errors import counted, listed
from eyetest.measures.choices import decisions_agreement
from eyetest.measures.results import Settings
from eyetest.records import Decision
from eyetest.studio.decisions import Decided, ReviewPlan, answers_of, votes_table

ItemState = Literal["agreed", "adjudicated", "disputed", "begun", "untouched"]
STATES: tuple[ItemState, ...] = get_args(ItemState)
COEFFICIENTS = {
    "observed": "say the same",
    "fleiss": "Fleiss' κ",
    "krippendorff": "Krippendorff's α",
    "cohen": "Cohen's κ",
    "gwet": "Gwet's AC1",
}
FACT = "label."  # before the name of a field
_RESAMPLES = 500
_MOST_PAIRED = 6  # with more reviewers, pairs are not compared
_ABLE = "SELECT name FROM people WHERE NOT revoked AND role IN ('admin', ?1)"
_LEFT = (
    "WITH able AS (SELECT id FROM people WHERE NOT revoked AND role IN ('admin', ?1)) "
    "SELECT count(*) FROM slots AS s WHERE state = 1 AND adjudicates = ?2 AND (person IS NULL OR person NOT IN able) "
    "AND (SELECT count(DISTINCT person) FROM decisions WHERE item = s.item AND person IN able) = "
    "(SELECT count(*) FROM able)"
)
_ROUNDS = (
    "SELECT CASE WHEN adjudicates THEN 0 ELSE round END AS number, sum(state = 3), sum(state = 2), sum(state = 1) "
    "FROM slots GROUP BY number"
)


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


class RoundProgress(msgspec.Struct, frozen=True):
    """Progress of a round in decisions; ``items`` have one. Round 0 is adjudication."""

    round: int
    items: int
    decided: int
    begun: int
    open: int
    later: int


class ReviewProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a review; ``stuck`` lists what waits for a person who was not invited yet.

    ``quota`` says which groups have enough items, where the review ends with that.
    """

    items: int
    settled: int
    disputed: int
    rounds: tuple[RoundProgress, ...]
    stuck: tuple[str, ...] = ()
    quota: str = ""


class ReviewOverview(msgspec.Struct, frozen=True):
    """A summary of a review. ``counts``: items by state, and by each fact of the decisions about them."""

    progress: ReviewProgress
    counts: Mapping[str, Mapping[str, int]]
    agreement: Sequence[Mapping[str, Any]]  # about, round (0: all together), coefficient, a, b, agreement, bounds, n


def facts_of(decision: Decision) -> Iterator[tuple[str, str]]:
    """What decisions are counted and filtered by; round 0 is adjudication."""
    yield "round", str(0 if decision.adjudicates else decision.round)
    yield "person", decision.reviewer
    yield "decision", decision.decision
    if decision.decision == "drop":
        yield "reason", decision.reason or "no reason"
    for name, answer in decision.labels.items():
        yield from ((FACT + name, value) for value in answers_of(answer))


def counts_of(judged: Sequence[JudgedItem]) -> dict[str, dict[str, int]]:
    """The number of items by each fact, the most frequent first."""
    counts: dict[str, Counter[str]] = {"state": Counter(item.state for item in judged)}
    for item in judged:
        for key, value in {fact for decision in item.decisions for fact in facts_of(decision)}:
            counts.setdefault(key, Counter())[value] += 1
    return {key: dict(sorted(by.items(), key=lambda one: (-one[1], one[0]))) for key, by in sorted(counts.items())}


def progress_of(
    connection: sqlite3.Connection, plan: ReviewPlan, judged: Sequence[JudgedItem], quota: str = ""
) -> ReviewProgress:
    """Progress of rounds."""
    items, settled = connection.execute(
        "SELECT count(*), coalesce(sum(settled), 0) FROM items WHERE id IN (SELECT item FROM slots)"
    ).fetchone()
    reached = counts_of(judged).get("round", {})
    counts = {number: row for number, *row in connection.execute(_ROUNDS)}
    needed = {planned.number: planned.reviewers * items for planned in plan.rounds if plan.together and items}
    rounds = []
    for number in sorted({*counts, *needed}, key=lambda number: (number == 0, number)):
        decided, begun, waits = counts.get(number, (0, 0, 0))
        later = max(0, needed.get(number, 0) - decided - begun - waits)
        rounds.append(RoundProgress(number, reached.get(str(number), 0), decided, begun, waits, later))
    return ReviewProgress(
        items=items,
        settled=settled,
        disputed=sum(row.begun + row.open for row in rounds if row.round == 0),
        rounds=tuple(rounds),
        stuck=tuple(_stuck(connection)),
        quota=quota,
    )


def _stuck(connection: sqlite3.Connection) -> Iterator[str]:
    """Decisions that no invited person can make, since all of them have decided about these items before."""
    for adjudicates, role in enumerate(("reviewer", "admin")):
        (left,) = connection.execute(_LEFT, (role, adjudicates)).fetchone()
        names = [name for (name,) in connection.execute(_ABLE, (role,))]
        if left and names:
            again = f"who decided about an item does not get it again; invite another {role}"
            yield f"{counted(left, 'decision')} cannot be made by {listed(names)}: {again}"
        elif left:
            yield f"{counted(left, 'decision')} to make, and no reviewer may make them: invite one as {role}"


def agreement_rows(decisions: Iterable[Decision], plan: ReviewPlan) -> list[dict[str, Any]]:
    """Agreement on decisions and on each field of the form: by round, and over all where they count together."""
    votes = [decision for decision in decisions if not decision.adjudicates]
    rows: list[dict[str, Any]] = []
    for label in ("", *dict.fromkeys(name for vote in votes for name in vote.labels)):
        table = votes_table(votes, label)
        if plan.together and table.get_column("round").n_unique() > 1:
            table = pl.concat([table, table.with_columns(round=pl.lit(0, pl.Int64))])
        pairs = table.get_column("reviewer").n_unique() <= _MOST_PAIRED
        several = table.group_by("round", "item").len().filter(pl.col("len") > 1)
        rated_twice = table.join(several, on="round", how="semi", maintain_order="left")
        settings = Settings(resamples=_RESAMPLES, own={"pairs": pairs})
        measured = decisions_agreement(rated_twice, settings).to_dicts()
        rows += [{"about": label or "decision"} | row for row in measured]
    return rows
