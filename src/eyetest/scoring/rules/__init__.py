"""Read a reply to a choice question by named rule sets: eyetest's and those of other tools."""

from collections.abc import Sequence

from eyetest.registry import Registry
from eyetest.scoring.rules.reading import Kind, Reading, Reply, RuleSet

RULE_SETS: Registry[RuleSet] = Registry("rule set", __name__, "RULES", "extractor")

__all__ = ["RULE_SETS", "Kind", "Reading", "Reply", "RuleSet", "read_choice"]


def read_choice(text: str, options: Sequence[str], rules: str = "eyetest", *, letters: str = "upper") -> Reading:
    """Say which of the options, in the order as shown, a reply commits to.

    >>> et.read_choice("It has stripes, so it is B.", ["a lion", "a zebra"]).index
    1
    """
    return RULE_SETS[rules].read(Reply(text, tuple(options), letters))
