"""Where options go: golds at every position equally often, and what speaks of all others last."""

import random
from collections import defaultdict
from collections.abc import Sequence

from eyetest.records import Choice


class Decks:
    """Positions for golds, dealt so that with as many options each comes equally often, or once more."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._decks: dict[int, list[int]] = defaultdict(list)

    def placed(self, gold: Choice, wrong: Sequence[Choice], closing: Sequence[Choice]) -> tuple[Choice, ...]:
        """Options in their order, the closing ones last."""
        order, count = self._chance.sample(wrong, len(wrong)), len(wrong) + 1
        if not self._decks[count]:
            self._decks[count] = self._chance.sample(range(count), count)
        order.insert(self._decks[count].pop(), gold)
        return (*order, *closing)
