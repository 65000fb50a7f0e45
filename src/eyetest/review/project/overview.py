"""How far a review is, what is in its way, and how far people agree."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from threading import Lock
from typing import Any

import msgspec
import polars as pl

from eyetest.measures.agreement import decisions_agreement
from eyetest.measures.results import Settings
from eyetest.records import Decision
from eyetest.review.decisions import standing, votes_table
from eyetest.review.project.database import ReviewDatabase
from eyetest.review.project.people import PersonRow
from eyetest.review.project.plan import DECIDES, SETTLES, Person, ReviewPlan
from eyetest.wording import counted, listed

DECISION = "decision"
"""What agreement is about where it is not a field of a form."""
_RESAMPLES = 500
_MOST_PAIRED = 6
"""Of more reviewers not every pair is told."""


class RoundProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a round is, in decisions; round 0 is what has to be settled."""

    round: int
    decided: int
    begun: int
    open: int
    waiting: int
    """Of items whose earlier rounds are not done."""

    @property
    def all(self) -> int:
        """As many decisions as it takes, as far as is known now."""
        return self.decided + self.begun + self.open + self.waiting


class PersonProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody has done."""

    name: str
    items: int
    seconds: float | None
    """The median that an item was open."""


class ReviewProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a review is."""

    items: int
    settled: int
    disputed: int
    rounds: tuple[RoundProgress, ...]
    people: tuple[PersonProgress, ...]
    stuck: tuple[str, ...] = ()
    """What waits for somebody who was not invited yet."""


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
    """All that can be told of a review at a look."""

    progress: ReviewProgress
    decisions: Mapping[str, int]
    """Last words by decision."""
    reasons: Mapping[str, int]
    """Why items were dropped."""
    seconds: float | None
    """The median that an item was open."""
    agreement: tuple[AgreementRow, ...]


class ProjectOverview:
    """What can be told of a review; nothing here writes."""

    database: ReviewDatabase
    plan: ReviewPlan
    decisions: Callable[..., list[Decision]]
    _kept: tuple[int, Sequence[AgreementRow]] | None = None
    _agreement_lock = Lock()

    def people(self, only: Person | None = None) -> list[PersonRow]:
        """Everybody who was invited, or one of them."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT name, role, invited, seen, revoked, id FROM people WHERE ?1 IS NULL OR id = ?1 ORDER BY id",
                (only and only.id,),
            ).fetchall()
            return [
                PersonRow(name, role, invited, seen, bool(revoked), *_work_of(connection, id_, role, bool(revoked)))
                for name, role, invited, seen, revoked, id_ in rows
            ]

    def progress(self) -> ReviewProgress:
        """How far the rounds are and how much each person has done."""
        return self._progress(standing(self.decisions()))

    def _progress(self, said: Sequence[Decision]) -> ReviewProgress:
        with self.database.read() as connection:
            rounds = _rounds(connection)
            stuck = _stuck(connection)
            items, settled = connection.execute(
                "SELECT count(*), sum(settled) FROM items WHERE id IN (SELECT item FROM slots WHERE state != 4)"
            ).fetchone()
            (disputed,) = connection.execute(
                "SELECT count(*) FROM slots WHERE adjudicates AND state IN (1, 2)"
            ).fetchone()
        by_person: dict[str, list[Decision]] = {}
        for one in said:
            by_person.setdefault(one.reviewer, []).append(one)
        return ReviewProgress(
            items=items,
            settled=settled or 0,
            disputed=disputed,
            rounds=tuple(rounds),
            people=tuple(
                PersonProgress(name=name, items=len(some), seconds=_median(some)) for name, some in by_person.items()
            ),
            stuck=tuple(stuck),
        )

    def overview(self) -> ReviewOverview:
        """Progress, disagreement, agreement with intervals, reasons, and time an item."""
        every = self.decisions()
        said = standing(every)
        return ReviewOverview(
            progress=self._progress(said),
            decisions=dict(Counter(one.decision for one in said).most_common()),
            reasons=dict(Counter(one.reason or "no reason" for one in said if one.decision == "drop").most_common()),
            seconds=_median(said),
            agreement=tuple(self._agreement(every)),
        )

    def _agreement(self, decisions: Sequence[Decision]) -> Sequence[AgreementRow]:
        """How far people agree; worked out once for as many decisions as there are."""
        with self._agreement_lock:
            if self._kept is None or self._kept[0] != len(decisions):
                self._kept = (len(decisions), _agreement_rows(decisions, self.plan))
            return self._kept[1]


def _work_of(connection: sqlite3.Connection, person: int, role: str, revoked: bool) -> tuple[int, int]:
    """How many slots somebody has decided in, and how many wait that they could have."""
    (decided,) = connection.execute("SELECT count(*) FROM slots WHERE person = ? AND state = 3", (person,)).fetchone()
    if revoked or role not in DECIDES:
        return decided, 0
    settles = role in SETTLES
    (waiting,) = connection.execute(
        "SELECT count(*) FROM slots WHERE state = 1 AND adjudicates <= ?", (settles,)
    ).fetchone()
    (theirs,) = connection.execute(
        "SELECT count(*) FROM slots WHERE state = 1 AND adjudicates <= ? AND person IS NOT ? AND item IN "
        "(SELECT item FROM decisions WHERE person = ?)",
        (settles, person, person),
    ).fetchone()
    (begun,) = connection.execute("SELECT count(*) FROM slots WHERE state = 2 AND person = ?", (person,)).fetchone()
    return decided, waiting - theirs + begun


def _rounds(connection: sqlite3.Connection) -> list[RoundProgress]:
    counts: dict[int, Counter[int]] = {}
    query = "SELECT CASE WHEN adjudicates THEN 0 ELSE round END, state, count(*) FROM slots GROUP BY 1, 2"
    for number, state, count in connection.execute(query):
        counts.setdefault(number, Counter())[state] += count
    return [
        RoundProgress(round=number, waiting=by[0], open=by[1], begun=by[2], decided=by[3])
        for number, by in sorted(counts.items(), key=lambda pair: (pair[0] == 0, pair[0]))
    ]


_ABLE = "SELECT id, name FROM people WHERE NOT revoked AND (role IN ('adjudicator', 'admin') OR role = ?)"
_LEFT = (
    "WITH able AS (SELECT id FROM people WHERE NOT revoked AND (role IN ('adjudicator', 'admin') OR role = ?1)) "
    "SELECT count(*) FROM slots AS s WHERE state = 1 AND adjudicates = ?2 AND (person IS NULL OR person NOT IN able) "
    "AND (SELECT count(DISTINCT person) FROM decisions WHERE item = s.item AND person IN able) = "
    "(SELECT count(*) FROM able)"
)


def _stuck(connection: sqlite3.Connection) -> list[str]:
    """What nobody who was invited can do: they all have decided about these items before."""
    told = []
    for adjudicates, role in ((0, "reviewer"), (1, "adjudicator")):
        (left,) = connection.execute(_LEFT, (role, adjudicates)).fetchone()
        names = [name for _, name in connection.execute(_ABLE, (role,))]
        if left and names:
            told.append(
                f"{counted(left, 'decision')} cannot be made by {listed(names)}: who decided about an item "
                f"does not get it again; invite another {role}"
            )
        elif left:
            told.append(f"{counted(left, 'decision')} to make, and nobody who may: invite somebody as {role}")
    return told


def _agreement_rows(decisions: Sequence[Decision], plan: ReviewPlan) -> list[AgreementRow]:
    """Of decisions and of each field of the form: by round, and of all rounds where they count together."""
    said = [one for one in standing(decisions) if not one.adjudicates]
    fields = dict.fromkeys(name for one in said for name in one.labels)
    tables = {DECISION: votes_table(said)} | {name: _label_table(said, name) for name in fields}
    rows = []
    for about, table in tables.items():
        votes = table
        if plan.together and table.get_column("round").n_unique() > 1:
            votes = pl.concat([table, table.with_columns(round=pl.lit(0, pl.Int64))])
        pairs = votes.get_column("reviewer").n_unique() <= _MOST_PAIRED
        settings = Settings(resamples=_RESAMPLES, own={"pairs": pairs})
        rows += [{"about": about} | row for row in decisions_agreement(_rated_twice(votes), settings).to_dicts()]
    return msgspec.convert(rows, list[AgreementRow])


def _rated_twice(votes: pl.DataFrame) -> pl.DataFrame:
    """Rounds in which some item has two reviewers: elsewhere there is nothing to agree about."""
    several = votes.group_by("round", "item").len().filter(pl.col("len") > 1)
    return votes.filter(pl.col("round").is_in(several.get_column("round").unique().implode()))


def _label_table(said: Iterable[Decision], name: str) -> pl.DataFrame:
    """Answers to one field of the form, as votes."""
    rows: list[list[Any]] = [
        [one.item, one.round, one.reviewer, " + ".join(value) if isinstance(value, list) else str(value)]
        for one in said
        if (value := one.labels.get(name)) is not None
    ]
    schema = {"item": pl.String, "round": pl.Int64, "reviewer": pl.String, "decision": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _median(said: Iterable[Decision]) -> float | None:
    seconds = [one.seconds for one in said if one.seconds is not None]
    return median(seconds) if seconds else None
