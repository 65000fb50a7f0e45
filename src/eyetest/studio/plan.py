"""The records of a review: its rounds, its people, their tasks, and what they decide."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec

from eyetest.records import Decision, Verdict
from eyetest.studio.decisions import Agreed, without_people
from eyetest.studio.forms import Form

Role = Literal["reviewer", "adjudicator", "admin", "reader"]
"""An admin may do everything; an adjudicator reviews too; a reader sees items without golds and decides nothing."""
DECIDES: tuple[Role, ...] = ("reviewer", "adjudicator", "admin")
SETTLES: tuple[Role, ...] = ("adjudicator", "admin")


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round: how many reviewers look at an item, none of whom has decided about it before."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    reviewers: Annotated[int, msgspec.Meta(ge=1)] = 1
    form: Form = Form()
    stage: str = ""


class ReviewPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of a review. ``together``: all rounds count as one; else (a refinement) each decides by itself."""

    name: str
    benchmark: str = ""
    fingerprint: str = ""
    places: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = (Round(number=1),)
    agree: Agreed = "all"
    together: bool = True
    solve: bool = False
    seed: int = 0
    per: str = ""  # a tag whose values alternate in the order of items

    def __post_init__(self) -> None:
        if [round_.number for round_ in self.rounds] != list(range(1, len(self.rounds) + 1)):
            raise ValueError("rounds are numbered from 1 on, without gaps")

    def votes(self, number: int) -> int:
        """The number of reviewers per item: in a round, or in all of them where they count together."""
        return sum(round_.reviewers for round_ in self.rounds if self.together or round_.number == number)

    def form(self, number: int, *, adjudicates: bool) -> Form:
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


class Entered(NamedTuple):
    """What a browser receives for a link: two cookies and a session."""

    cookie: str
    device: str
    session: ReviewSession


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


class DecisionDetails(TypedDict, total=False):
    """What a reviewer may add to the decision itself."""

    reason: str
    edits: Mapping[str, Any]
    labels: Mapping[str, Any]
    comment: str
    seconds: float | None
