"""What a guesser gets, who knows the options or the habits of whoever placed the golds."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Guessing(NamedTuple):
    """The expected score of random choice, and that of always choosing the place that is right most often."""

    random: float
    frequent: float
    place: int
    n: int


def guessing(options: Sequence[int], golds: Sequence[int]) -> Guessing | None:
    """From the number of options of each item and the place of its gold."""
    if not options:
        return None
    place, count = max(Counter(golds).items(), key=lambda pair: (pair[1], -pair[0]))
    return Guessing(sum(1 / number for number in options) / len(options), count / len(golds), place, len(options))
