"""Wrong options from the neighbours of a right one, in a circle of all members in which near ones stand together."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate, combinations
from random import Random

import numpy as np

_UNSEEN = 0.5  # A member that is never right counts as half a record: it may be offered, if seldom
_TRIES = 40  # samples until one holds no two members that must not stand together


class Neighbours:
    """Draws sets that do not show their key: each member is in as many sets as it has records, times the options.

    A window of the circle at a random position around the key is put in random order, and a systematic sample of it
    with unequal probabilities (Madow 1949) is drawn that holds the key. If keys come as often as ``times`` says,
    every member of a set is its key equally often.
    """

    def __init__(self, times: Mapping[str, float], kin: Callable[[str, str], bool], options: int, pool: int) -> None:
        """``times``: how often each member is right, in the order of the circle; ``kin`` are not offered together."""
        self._members, self._kin, self._options = list(times), kin, options
        self._numbers = {member: number for number, member in enumerate(self._members)}
        self._weights = [count or _UNSEEN for count in times.values()]
        self.heaviest = max(self._weights, default=0) / (sum(self._weights) or 1)  # the largest share of one member
        self.window = self._wide_enough(pool + 1)

    def _wide_enough(self, window: int) -> int:
        """The size of windows in which no member has more than its share, or of the whole circle."""
        count, weights = len(self._weights), np.array(self._weights)
        window = min(max(window, self._options), count)
        while window < count:
            around = np.resize(weights, count + window - 1)
            totals = np.lib.stride_tricks.sliding_window_view(around, window).sum(axis=1)
            heaviest = np.arange(int(weights.argmax()) - window + 1, int(weights.argmax()) + 1)
            if totals[heaviest].min() >= self._options * weights.max():
                break
            window = min(2 * window, count)
        return window

    def draw(self, gold: str, barred: Callable[[str], bool], chance: Random) -> list[str]:
        """Draw as many others as are wanted, or as there are; none beside what is no member."""
        if gold not in self._numbers:
            return []
        for _ in range(_TRIES):
            drawn = self._sample(self._numbers[gold], chance)
            apart = not any(self._kin(*pair) for pair in combinations((gold, *drawn), 2))
            if len(drawn) == self._options - 1 and apart and not any(map(barred, drawn)):
                return drawn
        return self._nearest(gold, barred)

    def _sample(self, gold: int, chance: Random) -> list[str]:
        count = len(self._weights)
        start = gold - chance.randrange(self.window)
        members = [member % count for member in range(start, start + self.window)]
        chance.shuffle(members)
        ends = list(accumulate(self._weights[member] for member in members))
        step, first = ends[-1] / self._options, ends[members.index(gold)] - chance.random() * self._weights[gold]
        points = ((first + step * number) % ends[-1] for number in range(1, self._options))
        drawn = dict.fromkeys(members[min(bisect_right(ends, point), self.window - 1)] for point in points)
        return [self._members[member] for member in drawn if member != gold]

    def _nearest(self, gold: str, barred: Callable[[str], bool]) -> list[str]:
        """The nearest that may be offered with the gold, and if possible with each other."""
        count, wanted, at = len(self._weights), self._options - 1, self._numbers[gold]
        order = dict.fromkeys((at + sign * far) % count for far in range(1, count // 2 + 1) for sign in (1, -1))
        chosen: list[str] = []
        others: list[str] = []
        for member in map(self._members.__getitem__, order):
            if not self._kin(gold, member) and not barred(member):
                (others if any(self._kin(member, other) for other in chosen) else chosen).append(member)
            if len(chosen) == wanted:
                break
        return [*chosen, *others][:wanted]
