"""What other tools are handed: one item in one round for whoever looks at it there, and what to know it by again."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from eyetest.errors import InputError, param, short
from eyetest.records import Decision, Item, gold_text, letter
from eyetest.review.checks import check_decision
from eyetest.review.forms import Form
from eyetest.review.project.people import checked_name

TaskKey = tuple[str, int, bool]
"""An item, its round, and whether what others decided is to be settled."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One item in one round, for any number of people who decide in another tool."""

    item: Item
    round: int = 1
    form: Form = Form()
    adjudicates: bool = False
    fingerprint: str = ""
    """Of the benchmark, so that decisions about another state of it are not taken for these."""
    evidence: str = ""
    """Why people are asked: what screens and probes said."""
    pictures: tuple[str, ...] = ()
    """Where the tool finds the pictures: addresses, paths, or the pictures themselves as data addresses."""
    earlier: tuple[Decision, ...] = ()
    """What is decided already. Shown where it is to be settled, and known again when it comes back."""

    @property
    def key(self) -> TaskKey:
        """What it is known by when it comes back."""
        return self.item.id, self.round, self.adjudicates

    @property
    def alone(self) -> bool:
        """Whether whoever decides has to answer the item first, and is not to know its gold."""
        return self.form.solve and not self.adjudicates

    @property
    def told(self) -> str:
        """What others decided, one a line."""
        lines = []
        for one in self.earlier:
            edits = msgspec.json.encode(one.edits).decode() if one.edits else ""
            words = [one.decision, one.reason, edits, one.comment]
            lines.append(f"{one.reviewer}, round {one.round}: {'; '.join(word for word in words if word)}")
        return "\n".join(lines)

    @property
    def question(self) -> str:
        """What is asked, after what was asked before it and its hint."""
        before = [f"{turn.question}\n→ {'…' if self.alone else turn.answer}" for turn in self.item.history]
        return "\n\n".join(text for text in (*before, self.item.hint, self.item.question) if text)

    @property
    def options(self) -> str:
        """The options, one a line."""
        return "\n".join(f"{letter(index)}. {choice.text}" for index, choice in enumerate(self.item.choices))

    @property
    def gold(self) -> str:
        """What the benchmark holds to be right; nothing where the reviewer is to find out."""
        if self.alone:
            return ""
        return gold_text(self.item)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a file that comes back is checked against: the items there are, and the form of each round."""

    items: Mapping[str, Item]
    forms: Mapping[int, Form]
    fingerprint: str = ""
    reviewers: Mapping[str, str] = {}
    """What people are called here, by what the tool calls them; under ``""`` whoever it does not name."""

    def assignment(self, key: TaskKey, where: str) -> Assignment:
        """What is known here under what a file says; refused where there is no such item or round."""
        item, number, adjudicates = key
        if item not in self.items:
            raise InputError(f"{where}: no item {short(item)} in this review")
        if number not in self.forms:
            raise InputError(f"{where}: round: found {number}, expected 1 to {max(self.forms)}")
        return Assignment(item=self.items[item], round=number, form=self.forms[number], adjudicates=adjudicates)

    def reviewer(self, name: str, where: str) -> str:
        """What somebody is called here."""
        known = self.reviewers.get(name, name)
        if not known.strip():
            raise InputError(f"{where}: reviewer: nobody is named; say who it was with {param('reviewer', 'NAME')}")
        return known


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """What travels with a task through another tool: what it is known by, and what was decided before."""

    item: str
    round: int
    adjudicates: bool = False
    fingerprint: str = ""
    decided: tuple[Decision, ...] = ()


def carry(assignment: Assignment) -> Carried:
    """What has to travel with an assignment."""
    item, number, adjudicates = assignment.key
    return Carried(
        item=item,
        round=number,
        adjudicates=adjudicates,
        fingerprint=assignment.fingerprint,
        decided=assignment.earlier,
    )


def read_carried(carried: Carried | None, expected: Expected, where: str) -> Assignment:
    """The assignment that came back; refused where nobody here gave it out."""
    if carried is None:
        raise InputError(f"{where}: it does not say which item it is about; eyetest did not export this task")
    if expected.fingerprint and carried.fingerprint != expected.fingerprint:
        raise InputError(f"{where}: it is about another state of the benchmark: {short(carried.fingerprint)}")
    assignment = expected.assignment((carried.item, carried.round, carried.adjudicates), where)
    earlier = []
    for number, one in enumerate(carried.decided, 1):
        told = f"{where}, decision {number} that travelled with it"
        if one.item != carried.item:
            raise InputError(f"{told}: item: found {short(one.item)}, expected {short(carried.item)}")
        earlier.append(checked(one, expected.assignment((one.item, one.round, one.adjudicates), told), told))
    return msgspec.structs.replace(assignment, fingerprint=carried.fingerprint, earlier=tuple(earlier))


def checked(decision: Decision, assignment: Assignment, where: str) -> Decision:
    """A decision of somebody whom this review can know, that this item and this form allow; otherwise refused."""
    try:
        named = msgspec.structs.replace(decision, reviewer=checked_name(decision.reviewer, "reviewer"))
        return check_decision(named, assignment.form, assignment.item)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def universal(time: str, where: str) -> str:
    """A time as decisions have it: in UTC, to the second."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise InputError(f"{where}: time: found {short(time)}, expected one like 2026-03-01T12:30:00+00:00") from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat(timespec="seconds")
