"""Which of the candidates each item is given, decided for the whole batch, so that no gold is known by its looks.

Nobody who sees options alone should know better than to guess. So of many sets that an item could be given, the one
is taken that leaves the batch most even: golds at every rank of size, length and roundness, near neighbours no more
often than others have them, and a value that is right in one item in a hundred offered in one in ten.
"""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.harden.options.meanings import plainest
from eyetest.probes.features import MEASURES, number_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Conflicts = Callable[[str, str], bool]
"""Whether two options must not stand beside each other."""
_SETS = 48
"""Sets of candidates that are drawn for each item, one of which it is given."""
_DEALS = 3
"""How often sets are drawn; each time but the first around those that were given last."""
_ROUNDS = 4
_SHRUNK = 6.0
"""Times that a text must have been offered before how often it was right counts as much as what is to be expected."""
_WARMTH = 0.7
"""How much is left to luck: golds that are spread more evenly than luck spreads them are known by what is missing."""
_OFFERS = 10
"""How many times more a rank counts than how often a text is offered."""
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_NUMBER_TRAITS = 8


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """An item that is to be dealt distractors."""

    gold: str
    present: tuple[str, ...] = ()
    """The wrong options that it has and keeps."""
    candidates: tuple[str, ...]
    need: int
    group: str = ""
    """Items whose golds are compared with each other: of one kind, in one writing."""
    question: str = ""

    @property
    def asks(self) -> str:
        """How the question itself begins, which tells what is asked for."""
        last = re.split(r"(?<=[.!?])\s+", self.question.strip())[-1]
        return " ".join(_WORD.findall(last.lower())[:2])

    @property
    def size(self) -> int:
        """How many options there will be."""
        return 1 + len(self.present) + self.need


class _Hand(msgspec.Struct):
    """The sets that an item could be given, with all that they would change in the batch."""

    look: "_Look"
    sets: list[list[int]]
    ranks: NDArray[np.float32]
    """Sets × traits and ranks: where the gold would stand."""
    names: Ints
    """Sets × candidates: the numbers of their texts, overall and among questions that begin alike."""
    taken: int = 0

    @property
    def keys(self) -> tuple[tuple[int, str], ...]:
        """Among whom its gold is ranked: all items with as many options, and those of its group."""
        size = len(self.look.fixed) + len(self.sets[0])
        return (size, ""), (size, f"of {self.look.table.group}")


def deal(tables: Sequence[Table], conflicts: Conflicts, chance: random.Random) -> list[list[int]]:
    """For each item, the positions of the candidates that it is given; all it has where there are not enough."""
    offers, ranks = _Offers(tables), _Ranks()
    luck = np.random.default_rng(chance.getrandbits(64))
    looks = [_Look(table, conflicts, offers) for table in tables]
    hands = [look.hand(look.drawn(chance)) for look in looks]
    for hand in hands:
        ranks.add(hand, 1)
        offers.add(hand, 1)
    for attempt in range(_DEALS):
        if attempt:
            hands = [hand.look.hand(hand.look.varied(hand.sets[hand.taken], chance)) for hand in hands]
        for _ in range(_ROUNDS):
            for hand in chance.sample(hands, len(hands)):
                if len(hand.sets) < 2:
                    continue
                ranks.add(hand, -1)
                offers.add(hand, -1)
                costs = ranks.costs(hand) + offers.costs(hand)
                hand.taken = int(np.argmin(costs - _WARMTH * luck.gumbel(size=len(costs))))
                ranks.add(hand, 1)
                offers.add(hand, 1)
    return [hand.sets[hand.taken] for hand in hands]


class _Ranks:
    """At which rank golds stand, in size and in whatever else options differ."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, str], NDArray[np.float32]] = {}
        self._items: Counter[tuple[int, str]] = Counter()

    def add(self, hand: _Hand, sign: int) -> None:
        """An item with the set that it was given comes or goes."""
        for key in hand.keys:
            if key not in self._counts:
                self._counts[key] = np.zeros(hand.ranks.shape[1], np.float32)
            self._counts[key] += sign * hand.ranks[hand.taken]
            self._items[key] += sign

    def costs(self, hand: _Hand) -> Floats:
        """For each set of an item that is not counted, how much more uneven ranks would be."""
        own = (hand.ranks * hand.ranks).sum(axis=1)
        total = np.zeros(len(hand.sets))
        for key in hand.keys:
            expected = max(self._items[key] / key[0], 1.0)
            total += (2 * hand.ranks @ self._counts[key] + own) / expected
        return total


class _Offers:
    """How often each text is offered, and how often it should be: as often as it is right, times the options."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        right, before, wanted = Counter[int](), Counter[int](), defaultdict[int, float](float)
        for table in tables:
            share = 1 / (1 + len(table.present))
            for text in (table.gold, *table.present):
                for number in self.numbers(table, text):
                    before[number] += 1
                    wanted[number] += share * table.size
            for number in self.numbers(table, table.gold):
                right[number] += table.size
        for table in tables:
            for text in table.candidates:
                self.numbers(table, text)
        count = len(self._numbers)
        self._targets, self._offered = np.zeros(count), np.zeros(count)
        for number, seen in before.items():
            known = seen / (seen + _SHRUNK)
            self._targets[number] = known * right[number] + (1 - known) * wanted[number]
            self._offered[number] = seen

    def numbers(self, table: Table, text: str) -> list[int]:
        """The numbers of a text: among those of its group, and among those of questions that begin alike."""
        said = plainest(text)
        groups = (table.group, f"{table.group}/{table.asks}")
        return [self._numbers.setdefault((group, said), len(self._numbers)) for group in groups]

    def add(self, hand: _Hand, sign: int) -> None:
        """An item with the set that it was given comes or goes."""
        self._offered[hand.names[hand.taken]] += sign

    def costs(self, hand: _Hand) -> Floats:
        """For each set of an item that is not counted, how much more uneven offers would be."""
        targets, offered = self._targets[hand.names], self._offered[hand.names]
        return np.asarray(((1 + 2 * (offered - targets)) / (targets + 1)).sum(axis=1) / _OFFERS)


class _Look:
    """An item's candidates, and all that is to be known of them before sets are drawn."""

    def __init__(self, table: Table, conflicts: Conflicts, offers: _Offers) -> None:
        self.table = table
        self.fixed = range(1 + len(table.present))
        texts = [table.gold, *table.present, *table.candidates]
        self._names = [offers.numbers(table, text) for text in table.candidates]
        self._barred = _barred(table.candidates, conflicts)
        values = [number_of(text) for text in texts]
        self._values = None if None in values else np.array(values, np.float64)
        own, others = values[0], values[len(self.fixed) :]
        self._sides: tuple[list[int], list[int]] = ([], [])
        for number, value in enumerate(others):
            self._sides[own is not None and value is not None and value > own].append(number)
        asked = set(_WORD.findall(table.question.lower()))
        measures = (*MEASURES.values(), lambda text: float(not asked.isdisjoint(_WORD.findall(text.lower()))))
        self._measured = [np.round([measure(text) for text in texts], 9) for measure in measures]
        self._common = list(_in_common(texts))
        self._shapes = [np.unique(names, return_inverse=True)[1] for names in _shapes(texts)]

    def drawn(self, chance: random.Random) -> list[list[int]]:
        """Sets of candidates that may stand beside each other, with as many below the gold as chance has it."""
        need, (lower, upper) = self.table.need, self._sides
        sets: dict[tuple[int, ...], list[int]] = {}
        for _ in range(_SETS):
            below = chance.randint(0, need) if upper else need
            taken = self._filled([], chance.sample(lower, len(lower)), below)
            taken = self._filled(taken, chance.sample(upper, len(upper)), need)
            taken = self._filled(taken, chance.sample(lower, len(lower)), need)
            sets[tuple(sorted(taken))] = taken
        return _largest(sets.values())

    def varied(self, kept: Sequence[int], chance: random.Random) -> list[list[int]]:
        """A set, and others that differ from it by a few candidates."""
        everything = range(len(self.table.candidates))
        sets = {tuple(sorted(kept)): list(kept)}
        for _ in range(_SETS):
            stay = chance.sample(kept, max(len(kept) - chance.randint(1, 3), 0))
            taken = self._filled(stay, chance.sample(everything, len(everything)), self.table.need)
            sets.setdefault(tuple(sorted(taken)), taken)
        return _largest(sets.values())

    def _filled(self, taken: Sequence[int], order: Sequence[int], most: int) -> list[int]:
        filled = list(taken)
        for number in order:
            if len(filled) >= most:
                break
            if number not in filled and self._barred[number].isdisjoint(filled):
                filled.append(number)
        return filled

    def hand(self, sets: list[list[int]]) -> _Hand:
        """Sets with where they would put the gold; the first is the one that is given until another is better."""
        first = len(self.fixed)
        rows = np.array([[*self.fixed, *(first + one for one in taken)] for taken in sets], np.int64)
        names = np.array([[number for one in taken for number in self._names[one]] for taken in sets], np.int64)
        ranks = np.concatenate([_gold_ranks(columns) for columns in self._traits(rows)], axis=1)
        return _Hand(self, sets, ranks, names.reshape(len(sets), -1))

    def _traits(self, rows: Ints) -> Iterator[Floats]:
        """What options differ in, each as sets × options: the same traits for every item."""
        for measured in self._measured:
            offered = measured[rows]
            yield offered
            yield (offered[:, :, None] == offered[:, None, :]).sum(axis=2).astype(np.float64)
        for shared in self._shapes:
            offered = shared[rows]
            yield (offered[:, :, None] == offered[:, None, :]).sum(axis=2).astype(np.float64)
        for shared in self._common:
            own = shared[rows[:, :, None], rows[:, None, :]]
            yield from (np.round(own.sum(axis=2), 9), own.max(axis=2))
        if self._values is None:
            yield from (np.zeros(rows.shape) for _ in range(_NUMBER_TRAITS))
        else:
            yield from _number_traits(self._values[rows])


def _largest(sets: Iterable[list[int]]) -> list[list[int]]:
    """The sets with the most candidates."""
    known = list(sets)
    most = max(map(len, known))
    return [taken for taken in known if len(taken) == most]


def _barred(candidates: Sequence[str], conflicts: Conflicts) -> list[set[int]]:
    barred: list[set[int]] = [set() for _ in candidates]
    for one, text in enumerate(candidates):
        for other in range(one):
            if conflicts(text, candidates[other]):
                barred[one].add(other)
                barred[other].add(one)
    return barred


def _gold_ranks(columns: Floats) -> NDArray[np.float32]:
    """Sets × ranks: where the gold, which comes first, stands; spread over the ranks of those it is equal to."""
    below = (columns < columns[:, :1]).sum(axis=1)[:, None]
    equal = (columns == columns[:, :1]).sum(axis=1)[:, None]
    ranks = np.arange(columns.shape[1])
    return np.asarray(((ranks >= below) & (ranks < below + equal)) / equal, np.float32)


def _number_traits(offered: Floats) -> Iterator[Floats]:
    apart = np.abs(offered[:, :, None] - offered[:, None, :])
    itself = np.arange(offered.shape[1])
    apart[:, itself, itself] = np.inf
    powers = np.log10(np.maximum(np.abs(offered), 1e-12))
    powers = np.abs(powers[:, :, None] - powers[:, None, :])
    yield from (offered, offered)
    yield np.round(np.abs(offered - np.median(offered, axis=1, keepdims=True)), 9)
    yield np.round(apart.min(axis=2), 9)
    for power in (1.0, math.log10(2)):
        yield (np.abs(powers - power) < 1e-6).sum(axis=2).astype(np.float64)
    yield (offered[:, :, None] == -offered[:, None, :]).sum(axis=2).astype(np.float64)
    yield (np.abs(np.fmod(offered, 2)) == 1).astype(np.float64)


def _shapes(texts: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The first and the last word of each text, and its shape: letters and digits without which they are."""
    words = [_WORD.findall(text.lower()) or [""] for text in texts]
    shapes = [re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text)) for text in texts]
    return [own[0] for own in words], [own[-1] for own in words], shapes


def _in_common(texts: Sequence[str]) -> Iterator[Floats]:
    """Which share of words, and of runs of three letters, each two texts have in common."""
    lowered = [text.lower() for text in texts]
    for bags in (
        [frozenset(_WORD.findall(text)) for text in lowered],
        [frozenset(text[at : at + 3] for at in range(max(len(text) - 2, 1))) for text in lowered],
    ):
        shared = np.array([[len(one & other) / max(len(one | other), 1) for other in bags] for one in bags])
        np.fill_diagonal(shared, 0)
        yield np.round(shared, 9)
