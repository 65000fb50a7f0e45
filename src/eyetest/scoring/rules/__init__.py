"""Read a reply to a choice question by named rule sets, eyetest's and those of other tools; or the words of a judge
model, which sees the options and the reply alone.
"""

import re
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from eyetest.records.tables import Letters, mark
from eyetest.registry import Registry

Kind = Literal["chosen", "refused", "ambiguous", "cut off", "unparsed"]


class Reading(msgspec.Struct, frozen=True):
    """The option (position as shown) that a reply commits to, the rule and the words. ``would_guess``: the tool of
    the rules would draw at random. ``marked``: read by its mark. ``probability``: that it is right, where the rules
    say so (``certainty.py``).
    """

    kind: Kind
    index: int | None = None
    rule: str = ""
    span: tuple[int, int] | None = None
    why: str = ""
    would_guess: bool = False
    marked: bool | None = None
    probability: float | None = None


class Reply(msgspec.Struct, frozen=True):
    """A reply, the options as shown, their ``letters`` (a style, or as ``АБВГ``), whether it was cut off, and the
    question, where it is known.
    """

    text: str
    options: tuple[str, ...]
    letters: str = "upper"
    truncated: bool = False
    question: str = ""


class RuleSet(Protocol):
    """A named way to read replies; the version changes whenever some reply is read differently."""

    name: str
    summary: str
    version: str

    def read(self, reply: Reply) -> Reading:
        """Read the option that the reply commits to."""
        ...


RULE_SETS: Registry[RuleSet] = Registry("rule set", __name__, "RULES", "extractor")


def read_choice(
    text: str, options: Sequence[str], rules: str = "eyetest", *, letters: str = "upper", question: str = ""
) -> Reading:
    """Say which of the options, in the order as shown, a reply commits to; the question helps where it is known.

    >>> et.read_choice("It has stripes, so it is B.", ["a lion", "a zebra"]).index
    1
    """
    return RULE_SETS[rules].read(Reply(text, tuple(options), letters, question=question))


def letters_of(options: Sequence[str]) -> str:
    """The capital letters of so many options."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]


_VERDICT = re.compile(r"[\s\"'`*(\[.]{0,20}(REFUSED|AMBIGUOUS|NONE|[A-Za-z]|\d{1,2})\b[\s\"'`*)\].]{0,20}$")


def judged(words: str, options: int, *, letters: Letters = "upper") -> Reading:
    """Read a judge's words about a reply with so many options."""
    verdict = _VERDICT.match(words)
    if not verdict:
        return Reading("unparsed", rule="judge", why="judge gave no verdict")
    word = verdict[1]
    if word in ("REFUSED", "AMBIGUOUS"):
        return Reading("refused" if word == "REFUSED" else "ambiguous", rule="judge", why="says the judge")
    if word == "NONE":
        return Reading("unparsed", rule="judge", why="judge found no commitment")
    shown = [mark(letters, position).upper() for position in range(options)]
    if word.upper() not in shown:
        return Reading("unparsed", rule="judge", why="judge named no option")
    return Reading("chosen", shown.index(word.upper()), "judge", marked=False)
