"""Which of the candidates each item is given, decided for the whole batch, so that no gold is known by its looks.

Nobody who sees options alone should know better than to guess. So of many sets that an item could be given, the one
is taken that leaves the batch most even: golds at every rank of size, length and roundness, near neighbours no more
often than others have them, and a value that is right in one item in a hundred offered in one in ten.
"""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.harden.options.drawing import SetDrawer
from eyetest.harden.options.guessing import LEAST_ITEMS, Features, Guesser, WordGuesser, number_features
from eyetest.harden.options.meanings import plainest
from eyetest.probes.features import MEASURES, number_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_DEALS = 4
"""How often sets are drawn; each time but the first around those that were given last."""
_ROUNDS = 4
_SHRUNK = 6.0
"""Times that a text must have been offered before how often it was right counts as much as what is to be expected."""
_WARMTH = 0.1
"""How much is left to luck: golds that are spread more evenly than luck spreads them are known by what is missing."""
_OFFERS = 10
"""How many times more a rank counts than how often a text is offered."""
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_NUMBER_TRAITS = 8
_GUESSED = 2.0
"""How much more than a trait the guess of a learner counts: with 3 its golds are more even than by luck."""
_HEEDED = 1.6
"""Standard errors beyond luck from which on a guess by words is heeded: evening out noise costs evenness."""


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """An item that is to be dealt distractors."""

    gold: str
    present: tuple[str, ...] = ()
    """The wrong options that it has and keeps."""
    candidates: tuple[str, ...]
    """No two of them, or of the present ones, say the same."""
    need: int
    """How many of the candidates it is given, which are at least as many."""
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

    dealer: "_Dealer"
    sets: list[list[int]]
    rows: Ints
    """Sets × options: which of the dealer's texts."""
    ranks: NDArray[np.float32]
    """Sets × traits and ranks: where the gold would stand."""
    names: Ints
    """Sets × candidates: the numbers of their texts, overall and among questions that begin alike."""
    features: Features
    """Sets × options × what a learner sees of them; nothing where options are not all numbers."""
    taken: int = 0

    @property
    def of_numbers(self) -> bool:
        """Whether a learner guesses at it: it has something to choose, and numbers to choose from."""
        return self.features.shape[2] > 0 and len(self.sets[0]) > 0

    @property
    def keys(self) -> tuple[tuple[int, str], ...]:
        """Among whom its gold is ranked: all items with as many options, and those of its group."""
        size = len(self.dealer.fixed) + len(self.sets[0])
        kind = "numbers" if self.of_numbers else "words"
        return (size, kind), (size, f"{kind} of {self.dealer.table.group}")


def deal(tables: Sequence[Candidates], chance: random.Random) -> list[list[int]]:
    """For each item, the positions of the candidates that it is given."""
    offers = _Offers(tables)
    luck = np.random.default_rng(chance.getrandbits(64))
    hands = [_Dealer(table, offers).hand((), luck) for table in tables]
    learners = _Learners(tables, hands)
    _even_out(hands, offers, chance, luck)
    for _ in range(_DEALS - 1):
        learners.learn(hands, luck)
        for hand in hands:
            offers.add(hand, -1)
        hands = [hand.dealer.hand(hand.sets[hand.taken], luck) for hand in hands]
        learners.guess(hands)
        _even_out(hands, offers, chance, luck)
    return [hand.sets[hand.taken] for hand in hands]


class _Learners:
    """Those who guess at golds; all that they have learnt from what was given before stays known to them."""

    def __init__(self, tables: Sequence[Candidates], hands: Sequence[_Hand]) -> None:
        self._of_words: WordGuesser | None = None
        if len(hands) >= LEAST_ITEMS:
            self._of_words = WordGuesser([table.question for table in tables], [hand.dealer.texts for hand in hands])
        self._guessers: list[Guesser] = []
        self._scores: list[list[Floats]] = []

    def learn(self, hands: Sequence[_Hand], luck: np.random.Generator) -> None:
        """From what all items are given now."""
        numbers = [hand.features[hand.taken] for hand in hands if hand.of_numbers]
        if len(numbers) >= LEAST_ITEMS:
            self._guessers.append(Guesser(numbers, luck))
        if self._of_words is not None:
            given = [hand.rows[hand.taken] for hand in hands]
            scores = self._of_words.scores(given, luck)
            if _tell([own[rows] for own, rows in zip(scores, given, strict=True)]):
                self._scores.append(scores)

    def guess(self, hands: Sequence[_Hand]) -> None:
        """Where each set would put the gold in their guesses is one more trait for each of them."""
        numbers = [hand for hand in hands if hand.of_numbers]
        for guesser in self._guessers:
            for hand, scores in zip(numbers, guesser.scores([hand.features for hand in numbers]), strict=True):
                hand.ranks = np.hstack([hand.ranks, _GUESSED * _gold_ranks(scores)])
        for of_words in self._scores:
            for hand, scores in zip(hands, of_words, strict=True):
                hand.ranks = np.hstack([hand.ranks, _GUESSED * _gold_ranks(scores[hand.rows])])


def _tell(scores: Sequence[Floats]) -> bool:
    """Whether golds, which come first, score higher than others beside them, by more than luck."""
    own = [one for one in scores if len(one) > 1]
    beaten = [((one[1:] < one[0]).mean() + (one[1:] <= one[0]).mean()) / 2 - 0.5 for one in own]
    return bool(np.mean(beaten) > _HEEDED * np.std(beaten) / len(beaten) ** 0.5) if own else False


def _even_out(hands: Sequence[_Hand], offers: "_Offers", chance: random.Random, luck: np.random.Generator) -> None:
    """Item by item and several times round, the set is taken that leaves the batch most even."""
    ranks = _Ranks()
    for hand in hands:
        ranks.add(hand, 1)
        offers.add(hand, 1)
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

    def __init__(self, tables: Sequence[Candidates]) -> None:
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

    def numbers(self, table: Candidates, text: str) -> list[int]:
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


class _Dealer:
    """An item's candidates, and all that is to be known of them before sets are drawn."""

    def __init__(self, table: Candidates, offers: _Offers) -> None:
        self.table = table
        self.fixed = range(1 + len(table.present))
        self.texts = texts = [table.gold, *table.present, *table.candidates]
        self._names = [offers.numbers(table, text) for text in table.candidates]
        values = [number_of(text) for text in texts]
        self._values = None if None in values else np.array(values, np.float64)
        self._unit = 10.0 ** -MEASURES["decimals"](table.gold)
        self._drawer = SetDrawer(table.need, len(table.candidates), self._values, self._unit)
        asked = set(_WORD.findall(table.question.lower()))
        self._measured = [np.array([round(measure(text), 9) for text in texts]) for measure in MEASURES.values()]
        self._measured.append(np.array([float(not asked.isdisjoint(_WORD.findall(text.lower()))) for text in texts]))
        self._common = list(_in_common(texts))
        self._shapes = [np.unique(names, return_inverse=True)[1] for names in _shapes(texts)]

    def hand(self, given: Sequence[int], luck: np.random.Generator) -> _Hand:
        """Sets with where they would put the gold; the first is the one that is given until another is better."""
        first, sets = len(self.fixed), self._drawer.draw(given, luck)
        rows = np.array([[*self.fixed, *(first + one for one in taken)] for taken in sets], np.int64)
        names = np.array([[number for one in taken for number in self._names[one]] for taken in sets], np.int64)
        size = rows.shape[1]
        level = np.full((len(sets), size), 1 / size, np.float32)
        placed = [level if columns is None else _gold_ranks(columns) for columns in self._traits(rows)]
        ranks = np.concatenate(placed, axis=1)
        return _Hand(self, sets, rows, ranks, names.reshape(len(sets), -1), self._features(rows))

    def _features(self, rows: Ints) -> Features:
        if self._values is None:
            return np.zeros((*rows.shape, 0), np.float32)
        seen = np.stack([measured[rows] for measured in (*self._measured, self._common[1].mean(axis=1))], axis=2)
        beside = seen - seen.mean(axis=1, keepdims=True)
        return np.concatenate([number_features(self._values[rows], self._unit), seen, beside], 2, dtype=np.float32)

    def _traits(self, rows: Ints) -> Iterator[Floats | None]:
        """What options differ in, each as sets × options: the same for every item, None where all are alike."""
        for measured in self._measured:
            if (measured == measured[0]).all():
                yield from (None, None)
                continue
            offered = measured[rows]
            yield offered
            yield (offered[:, :, None] == offered[:, None, :]).sum(axis=2).astype(np.float64)
        for shapes in self._shapes:
            shown = shapes[rows]
            yield (shown[:, :, None] == shown[:, None, :]).sum(axis=2).astype(np.float64)
        for shared in self._common:
            own = shared[rows[:, :, None], rows[:, None, :]]
            yield from (np.round(own.sum(axis=2), 9), own.max(axis=2))
        if self._values is None:
            yield from [None] * _NUMBER_TRAITS
        else:
            yield from _number_traits(self._values[rows])


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
    middle = np.sort(offered, axis=1)[:, [offered.shape[1] // 2]]
    yield np.asarray(np.round(np.abs(offered - middle), 9), np.float64)
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
        [set(_WORD.findall(text)) for text in lowered],
        [{text[at : at + 3] for at in range(max(len(text) - 2, 1))} for text in lowered],
    ):
        columns = {part: number for number, part in enumerate(sorted(set().union(*bags)))}
        has = np.zeros((len(texts), len(columns) or 1))
        for row, bag in zip(has, bags, strict=True):
            row[[columns[part] for part in bag]] = 1
        both, sizes = has @ has.T, has.sum(axis=1)
        shared = np.round(both / np.maximum(sizes[:, None] + sizes - both, 1), 9)
        np.fill_diagonal(shared, 0)
        yield shared
