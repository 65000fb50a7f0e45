"""What an exhibit is: a public bug, a small case of our own that shows its mechanism, and what comes of it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from eyetest.scoring import read_choice
from eyetest.scoring.rules import RULE_SETS, Reply

ANIMALS = ("cat", "dog", "bird", "fish")
TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
UNREAD = "nothing"


class Exhibit(NamedTuple):
    """``tool`` does what the thread says that the tool did; ``right`` is what the case says, or is worth."""

    repository: str
    number: int
    """Of the issue or pull request."""
    mechanism: str
    case: str
    right: str
    tool: Callable[[], str]
    eyetest: Callable[[], str]
    rules: str = ""
    """The rule set of ours that shows the same mechanism, where there is one."""
    options: tuple[str, ...] = ()
    """Of a reply, what it chooses from."""
    honest: str = ""
    """What has to be said of eyetest, where it is not simply right."""

    @property
    def name(self) -> str:
        """The thread, as people write it."""
        return f"{self.repository}#{self.number}"


Parser = Callable[[str, Sequence[str]], str]
"""A reply and its options; the letter that a tool reads, or nothing."""


def reading(
    thread: tuple[str, int], mechanism: str, reply: str, right: str, parser: Parser | str, **more: object
) -> Exhibit:
    """An exhibit about a reply; a word in the place of a parser is a rule set of ours that does what the tool did."""
    options = more.pop("options", ANIMALS)
    assert isinstance(options, tuple)
    rules = parser if isinstance(parser, str) else ""
    tool = (lambda: by_rules(rules, reply, options)) if isinstance(parser, str) else (lambda: parser(reply, options))
    ours = lambda: by_rules("eyetest", reply, options)  # noqa: E731 (a line each, side by side)
    return Exhibit(*thread, mechanism, reply, right, tool, ours, rules, options, **more)  # type: ignore[arg-type]


def by_rules(rules: str, reply: str, options: tuple[str, ...]) -> str:
    """What a rule set of ours reads: a letter, a guess, or nothing."""
    found = RULE_SETS[rules].read(Reply(reply, options)) if rules != "eyetest" else read_choice(reply, options)
    if found.index is not None:
        return "ABCDEFGHIJ"[found.index]
    return "a guess" if found.would_guess else UNREAD
