"""Reading a reply to a choice question: named rule sets, ours and those of the tools people use today."""

from collections.abc import Sequence

from eyetest.records.tables import Marks
from eyetest.registry import Registry
from eyetest.scoring.rules.judge import ask_judge
from eyetest.scoring.rules.reading import Kind, Reading, Reply, RuleSet

RULE_SETS: Registry[RuleSet] = Registry("rule set", __name__, "RULES")

__all__ = ["RULE_SETS", "Kind", "Reading", "Reply", "RuleSet", "ask_judge", "read_choice"]


def read_choice(text: str, options: Sequence[str], rules: str = "eyetest", *, marks: Marks = "upper") -> Reading:
    """Say which of the options, in the order as shown, a reply commits to.

    >>> et.read_choice("It has stripes, so it is B.", ["a lion", "a zebra"]).index
    1
    """
    return RULE_SETS[rules].read(Reply(text, tuple(options), marks))
