"""Options that no item should have, by position: what an audit reports and a repair may drop."""

from eyetest.probes.words import normalise
from eyetest.records import Item

_NOT_A_VALUE = {"nan", "null", "<na>", "#n/a"}


def lost_options(item: Item) -> list[int]:
    """Positions of options that are what some program wrote for a missing value."""
    return [i for i, choice in enumerate(item.choices) if choice.text.strip().casefold() in _NOT_A_VALUE]


def empty_options(item: Item) -> list[int]:
    """Positions of options without text."""
    return [i for i, choice in enumerate(item.choices) if not choice.text.strip()]


def repeated_options(item: Item) -> list[int]:
    """Positions of options that repeat another; where one of the equals is gold, the others are the repeats."""
    kept: dict[str, int] = {}
    repeats = []
    for i, choice in sorted(enumerate(item.choices), key=lambda pair: not pair[1].correct):
        if choice.text.strip() and kept.setdefault(normalise(choice.text) or choice.text, i) != i:
            repeats.append(i)
    return sorted(repeats)
