"""What a review is: its rounds, the people in it, and what one of them is asked next."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec

from eyetest.records import Decision, Verdict
from eyetest.review.decisions import Agreed, without_people
from eyetest.review.forms import Form

Role = Literal["reviewer", "adjudicator", "admin", "reader"]
"""An admin may do everything; an adjudicator reviews too; a reader sees items without golds and decides nothing."""
DECIDES: tuple[Role, ...] = ("reviewer", "adjudicator", "admin")
SETTLES: tuple[Role, ...] = ("adjudicator", "admin")


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many reviewers look at an item, none of whom has decided about it before."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    reviewers: Annotated[int, msgspec.Meta(ge=1)] = 1
    form: Form = Form()
    stage: str = ""
    """What a recipe calls it."""


class ReviewPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was agreed before anybody was asked.

    Together (a plain review): every item goes through all rounds, and all last words count. Otherwise (a refinement)
    each round is a stage of the recipe and decides by itself about the items that reached it.
    """

    name: str
    benchmark: str = ""
    fingerprint: str = ""
    places: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = (Round(number=1),)
    agree: Agreed = "all"
    together: bool = True
    solve: bool = False
    seed: int = 0
    per: str = ""
    """A tag: the first items are spread over its values."""

    def __post_init__(self) -> None:
        if [one.number for one in self.rounds] != list(range(1, len(self.rounds) + 1)):
            raise ValueError("rounds are numbered from 1 on, without gaps")

    def votes(self, number: int) -> int:
        """How many reviewers decide about an item: in a round, or in all of them where they count together."""
        return sum(one.reviewers for one in self.rounds if self.together or one.number == number)

    def form(self, number: int, *, adjudicates: bool) -> Form:
        """What is asked in a round, or in the last where the plan has fewer now.

        Nobody who settles something has to solve it first.
        """
        form = self.rounds[min(number, len(self.rounds)) - 1].form
        return msgspec.structs.replace(form, solve=(form.solve or self.solve) and not adjudicates)

    def blinded(self, verdicts: Iterable[Verdict], *, adjudicates: bool) -> list[Verdict]:
        """What stages said, without what people said in them: whoever decides does not know what others did."""
        if adjudicates:
            return list(verdicts)
        asked = {one.stage for one in self.rounds if one.stage}
        return [
            msgspec.structs.replace(one, reason=without_people(one.reason))
            for one in verdicts
            if one.stage not in asked
        ]


class Person(msgspec.Struct, frozen=True):
    """Somebody who was invited."""

    id: int
    name: str
    role: Role


class ReviewSession(NamedTuple):
    """Somebody who is here; ``csrf`` has to come back with whatever they send."""

    person: Person
    csrf: str


class Entered(NamedTuple):
    """What a browser gets for a link: two cookies, and who it is now."""

    cookie: str
    device: str
    session: ReviewSession


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One item in one round, for one person. The form says whether it has to be solved first."""

    item: str
    round: int
    form: Form
    adjudicates: bool = False
    earlier: tuple[Decision, ...] = ()
    """What others decided, where it is to be settled; nothing otherwise."""
    mine: Decision | None = None
    solved: str | None = None

    @property
    def unsolved(self) -> bool:
        """Whether it has to be answered before its gold is shown."""
        return self.form.solve and self.solved is None


class DecisionDetails(TypedDict, total=False):
    """What a reviewer may say beside the decision itself."""

    reason: str
    edits: Mapping[str, Any]
    labels: Mapping[str, Any]
    comment: str
    seconds: float | None
