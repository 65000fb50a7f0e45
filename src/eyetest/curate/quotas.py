"""Whole numbers out of shares: how many to take from each of several pools.

Everything is exact: no share is rounded before it is compared, so the same weights give the same numbers on every
machine. Ties go by ``rank`` and then by name, never by the order in which pools were listed.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from math import isfinite, lcm

Rank = Callable[[str], tuple[int, ...]]
"""Which of several equal claims comes first: the one with the smallest rank."""
Values = tuple[str, ...]
"""A cell of a table of several tags: its value of each."""
Rule = Callable[[Mapping[str, int], int, Rank], dict[str, int]]
"""How to split a total over pools: `even` or `proportional`."""


def largest_remainder(
    weights: Mapping[str, float], total: int, capacity: Mapping[str, int] | None = None, rank: Rank | None = None
) -> dict[str, int]:
    """Split ``total`` in proportion to ``weights``; what one pool cannot hold goes to the others, in proportion.

    Whoever has a weight of 0 gets nothing. The sum is ``total``, or the capacity of all others where that is less.
    """
    whole = _whole(weights)
    if total < 0 or any(number < 0 for number in (capacity or {}).values()):
        raise ValueError("a total and capacities are at least 0")
    room = {name: min(total, capacity[name]) if capacity is not None else total for name in weights}
    taken = dict.fromkeys(weights, 0)
    rest = sorted((name for name in weights if whole[name]), key=lambda name: Fraction(room[name], whole[name]))
    left, weight = min(total, sum(room[name] for name in rest)), sum(whole.values())
    full = 0
    for name in rest:
        if left * whole[name] < room[name] * weight:
            break
        taken[name] = room[name]
        left, weight, full = left - room[name], weight - whole[name], full + 1
    remainder = {}
    for name in rest[full:]:
        taken[name], remainder[name] = divmod(left * whole[name], weight)
    still_to_give = left - sum(taken[name] for name in remainder)
    first = sorted(remainder, key=lambda name: (-remainder[name], rank(name) if rank else (), name))
    for name in first[:still_to_give]:
        taken[name] += 1
    return taken


def even(capacities: Mapping[str, int], total: int, rank: Rank | None = None) -> dict[str, int]:
    """As many from each pool as from the others, or one more; pools that hold fewer than that are emptied."""
    return largest_remainder(dict.fromkeys(capacities, 1), total, capacities, rank)


def proportional(capacities: Mapping[str, int], total: int, rank: Rank | None = None) -> dict[str, int]:
    """From each pool in proportion to what it holds."""
    return largest_remainder(capacities, total, capacities, rank)


def draw(seed: int, *key: str) -> int:
    """A number for a key that looks random, is another for another seed, and never depends on other keys."""
    text = "\x1f".join((str(seed), *key))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class Nesting:
    """Splits totals over the cells of a table, tag after tag: over the first, and inside each of its values the next.

    An odd one that could go to several values goes to the one that got least in the splits around and before, so that
    the odd ones of many small splits do not pile up on the same value. Where that leaves several the seed decides, so
    that none is favoured for its name.
    """

    def __init__(self, rules: Sequence[Rule], seed: int) -> None:
        self._rules, self._seed = rules, seed
        self._given: Counter[tuple[Values, int, str]] = Counter()

    def split(self, capacities: Mapping[Values, int], total: int, inside: Values = ()) -> dict[Values, int]:
        """How many from each cell; ``inside`` says what this table is itself a part of, such as ``("math",)``."""
        taken: dict[Values, int] = {}
        self._split(dict(sorted(capacities.items())), total, inside, taken)
        return taken

    def _split(
        self, cells: Mapping[Values, int], total: int, inside: Values, taken: dict[Values, int], depth: int = 0
    ) -> None:
        if depth == len(self._rules):
            taken.update({cell: min(total, capacity) for cell, capacity in cells.items()})
            return
        parts: dict[str, dict[Values, int]] = {}
        for cell, capacity in cells.items():
            parts.setdefault(cell[depth], {})[cell] = capacity
        around = [inside[:length] for length in range(len(inside) - 1, -1, -1)]

        def rank(value: str) -> tuple[int, ...]:
            return (*(self._given[outer, depth, value] for outer in around), draw(self._seed, *inside, value))

        sizes = self._rules[depth]({value: sum(part.values()) for value, part in parts.items()}, total, rank)
        for value, part in parts.items():
            for outer in around:
                self._given[outer, depth, value] += sizes[value]
            self._split(part, sizes[value], (*inside, value), taken, depth + 1)


def _whole(weights: Mapping[str, float]) -> dict[str, int]:
    """Whole numbers in the very same proportions."""
    for name, weight in weights.items():
        if not isfinite(weight) or weight < 0:
            raise ValueError(f'the weight of "{name}" is {weight}, and has to be a number of at least 0')
    exact = {name: Fraction(weight) for name, weight in weights.items()}
    unit = lcm(*(weight.denominator for weight in exact.values()))
    return {name: int(weight * unit) for name, weight in exact.items()}
