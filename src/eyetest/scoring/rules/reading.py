"""What a reply was read as, and what a rule set is."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from eyetest.records.tables import Marks

Kind = Literal["chosen", "refused", "ambiguous", "unparsed"]


class Reading(msgspec.Struct, frozen=True):
    """Which option a reply commits to, which rule said so, and where it looked.

    ``index`` is the position among the options as shown, ``span`` the deciding words in the raw reply. ``why`` is a
    short phrase that can be counted. ``would_guess``: the tool whose rules these are would draw at random here.
    ``marked``: whether the option's mark was there to decide by, not only its words; None where the rules do not say.
    """

    kind: Kind
    index: int | None = None
    rule: str = ""
    span: tuple[int, int] | None = None
    why: str = ""
    would_guess: bool = False
    marked: bool | None = None


class Reply(msgspec.Struct, frozen=True):
    """A reply together with the options as they were shown to the model."""

    text: str
    options: tuple[str, ...]
    marks: Marks = "upper"


class RuleSet(Protocol):
    """A named way to read replies; the version changes whenever some reply is read differently."""

    name: str
    summary: str
    version: str

    def read(self, reply: Reply) -> Reading:
        """Say what the reply commits to."""
        ...


def letters(options: Sequence[str]) -> str:
    """The capital marks of so many options."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]
