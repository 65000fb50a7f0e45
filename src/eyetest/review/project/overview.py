"""How far a review is, what is in its way, and how far people agree."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from threading import Lock
from typing import Any

import msgspec

from eyetest.records import Decision
from eyetest.review.decisions import Decided
from eyetest.review.project.agreement import AgreementRow, agreement_rows
from eyetest.review.project.database import ReviewDatabase
from eyetest.review.project.judged import STATES, JudgedItem, JudgedItems, JudgedReview
from eyetest.review.project.people import PersonRow
from eyetest.review.project.plan import DECIDES, SETTLES, Person, ReviewPlan
from eyetest.review.project.slots import CLAIMED, DECIDED, LATER, OPEN
from eyetest.wording import counted, listed


class RoundProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a round is, in decisions; round 0 is what has to be settled."""

    round: int
    items: int
    """Of which somebody has decided something in it."""
    decided: int
    begun: int
    open: int
    later: int
    """Of items whose earlier rounds are not done."""

    @property
    def all(self) -> int:
        """As many decisions as it takes, as far as is known now."""
        return self.decided + self.begun + self.open + self.later


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


class ReviewOverview(msgspec.Struct, frozen=True, kw_only=True):
    """All that can be told of a review at a look. Where it counts last words, it counts the items they are about."""

    progress: ReviewProgress
    states: Mapping[str, int]
    """Items by how far they are."""
    decisions: Mapping[str, int]
    """Items by what somebody decided."""
    reasons: Mapping[str, int]
    """Items by why somebody would drop them."""
    labels: Mapping[str, Mapping[str, int]]
    """By field of the form: items by what somebody answered."""
    seconds: float | None
    """The median that an item was open."""
    agreement: tuple[AgreementRow, ...]


class ProjectOverview:
    """What can be told of a review; nothing here writes."""

    database: ReviewDatabase
    plan: ReviewPlan
    _judged_items: JudgedItems
    _agreement: tuple[int, Sequence[AgreementRow]] | None = None
    _agreement_lock: Lock

    def judged(self) -> list[JudgedItem]:
        """What people came to and said last, item by item in the order of the queue."""
        return list(self._look().items)

    def outcomes(self) -> dict[str, Decided]:
        """What people came to, by item, in the order of the queue."""
        return {one.item: one.outcome for one in self._look().items}

    def _look(self) -> JudgedReview:
        with self.database.read() as connection:
            return self._judged_items.look(connection, self.plan)

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
        return self._progress(self._look().said)

    def _progress(self, said: Sequence[Decision]) -> ReviewProgress:
        reached = Counter(number for number, _ in {(round_of(one), one.item) for one in said})
        with self.database.read() as connection:
            rounds = _rounds(connection, reached)
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
        judged = self._look()
        said, states = judged.said, Counter(one.state for one in judged.items)
        labels: dict[str, set[tuple[str, str]]] = {}
        for one in said:
            for name, answer in one.labels.items():
                labels.setdefault(name, set()).update((word, one.item) for word in answers_of(answer))
        return ReviewOverview(
            progress=self._progress(said),
            states={state: states[state] for state in STATES if states[state]},
            decisions=_items({(one.decision, one.item) for one in said}),
            reasons=_items({(reason_of(one), one.item) for one in said if one.decision == "drop"}),
            labels={name: _items(pairs) for name, pairs in labels.items()},
            seconds=_median(said),
            agreement=tuple(self._agreement_of(judged)),
        )

    def _agreement_of(self, judged: JudgedReview) -> Sequence[AgreementRow]:
        """How far people agree; worked out once for as many decisions as there are."""
        with self._agreement_lock:
            if self._agreement is None or self._agreement[0] != judged.decisions:
                self._agreement = (judged.decisions, agreement_rows(judged.said, self.plan))
            return self._agreement[1]


def round_of(decision: Decision) -> int:
    """The round in which somebody said something; 0 is settling."""
    return 0 if decision.adjudicates else decision.round


def reason_of(decision: Decision) -> str:
    """Why somebody would drop an item."""
    return decision.reason or "no reason"


def answers_of(answer: Any) -> list[str]:
    """What somebody answered to a field of the form, one by one."""
    return answer if isinstance(answer, list) else [str(answer)]


def _items(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many items each word was said of, the most frequent first."""
    counts = Counter(word for word, _ in pairs)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


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


def _rounds(connection: sqlite3.Connection, reached: Mapping[int, int]) -> list[RoundProgress]:
    counts: dict[int, Counter[int]] = {}
    query = "SELECT CASE WHEN adjudicates THEN 0 ELSE round END, state, count(*) FROM slots GROUP BY 1, 2"
    for number, state, count in connection.execute(query):
        counts.setdefault(number, Counter())[state] += count
    return [
        RoundProgress(
            round=number,
            items=reached.get(number, 0),
            later=by[LATER],
            open=by[OPEN],
            begun=by[CLAIMED],
            decided=by[DECIDED],
        )
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


def _median(said: Iterable[Decision]) -> float | None:
    seconds = [one.seconds for one in said if one.seconds is not None]
    return median(seconds) if seconds else None
