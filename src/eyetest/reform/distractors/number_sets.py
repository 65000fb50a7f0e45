"""Distractors of numeric keys, drawn by a model of keys (roundness, frequency, relations to question and options)
fitted to the batch, or from a population of numbers that contains the keys of open questions (`_population`), and
from a stretch of the (logarithmic) number line on which the key lies anywhere.
"""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import permutations

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.reform.distractors.answer_kinds import TOO_NEAR, WrittenNumber
from eyetest.text import find_quantities, plain_text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Roundness = tuple[int, bool]
FURTHEST = 5.0  # factor by which a plausible answer may differ from the key
_SMALL = 5  # steps that are added before small numbers are compared: 0 and 3 are not infinitely far apart
_NARROWEST = 0.5  # the shortest stretch as a share of the longest
_DRAWN = 56  # candidates for a key
_LARGE = 1000  # steps from which on numbers hardly recur: all that are drawn are then as round as an option
_COUNTED = 30  # whole numbers up to here differ if they differ by one, as years do
_YEARS, _YEARS_AROUND = (1485, 2114), 15
_QUESTION_NUMBERS = 5
_PART = re.compile(
    r"\bprobabilit|\b(?:chance|likelihood)\b|\b(?:fraction|share|proportion|part|portion) of\b", re.IGNORECASE
)
_FITTED = 400  # questions to which the weights of relations are fitted
_FACTORS = tuple(map(Decimal, ("2", "3", "4", "10", "100", "0.5", "0.1", "0.01")))
_SPARE = 0.02  # share of numbers outside the population, which are taken where it has too few
_NEIGHBOURS = 3  # keys within the distance at which numbers are added to the population
_MOST_ADDED = 30  # numbers added for a key
_TRIES = 20  # draws of an added number until it is none of the population
_ROUNDS = 12  # how often the weights of relations are fitted in turn


class NumberQuestion(msgspec.Struct, frozen=True):
    """A question whose key is a number, the other options it has, and the bounds of plausible answers."""

    question: str
    key: WrittenNumber
    others: tuple[WrittenNumber, ...] = ()
    least: Decimal = Decimal(0)
    most: Decimal = Decimal("Infinity")

    @property
    def unit(self) -> Decimal:
        """The smallest step in the key's format."""
        return Decimal(1).scaleb(-self.key.decimals)

    @property
    def is_small(self) -> bool:
        """Whether so few numbers are near the key that some of them recur as keys."""
        return not self.are_years and max(map(abs, self.options)) < _LARGE

    @property
    def are_years(self) -> bool:
        """Whether all options may be years."""
        return all(number.is_year for number in (self.key, *self.others))

    @property
    def options(self) -> list[int]:
        """The key and the other options, in smallest steps."""
        return [int(number.value / self.unit) for number in (self.key, *self.others)]

    @property
    def reach(self) -> tuple[float, float]:
        """Range of plausible answers on the line: around the key, or as far as options go."""
        places = [place(number, 1) for number in self.options]
        low, high = min(places), max(places)
        margin = math.log(FURTHEST)
        if len(places) > 2:
            margin = min(max(high - low, 0.5), margin)
        return low - margin - 1e-9, high + margin + 1e-9

    @property
    def nearest(self) -> float:
        """Share by which numbers have to differ: as much as a metric notices, or as the present options."""
        return least_apart(np.array(self.options, np.float64))

    def in_reach(self, steps: Ints) -> Ints:
        """Those numbers that are plausible by size, sign and bounds."""
        low, high = self.reach
        places = np.copysign(np.log(np.abs(steps) / _SMALL + 1), steps)
        least, most = (float(bound / self.unit) for bound in (self.least, self.most))
        return np.unique(steps[(places >= low) & (places <= high) & (steps >= least) & (steps <= most)])


def ask_number(
    question: str, key: WrittenNumber, others: tuple[WrittenNumber, ...], *, is_share: bool
) -> NumberQuestion:
    """A question for a number with the bounds that its words and its options set."""
    values = [key.value, *(other.value for other in others)]
    least = Decimal("-Infinity") if min(values) < 0 else Decimal(0)
    most = Decimal("Infinity")
    if asks_below_one(question) and "%" not in key.after and max(values) <= 1:
        most = Decimal(1)
    elif max(values) <= 100 and (is_share or "%" in key.after):
        most = Decimal(100)
    return NumberQuestion(question, key, others, least, most)


def asks_below_one(question: str) -> bool:
    """Whether a question asks for a probability or a part, at most 1."""
    return _PART.search(question) is not None


def least_apart(fixed: Floats) -> float:
    """The smallest share by which two fixed numbers differ, at most the five per cent of a metric."""
    sizes = np.maximum(np.abs(fixed[:, None]), np.abs(fixed))
    apart = np.abs(fixed[:, None] - fixed) / np.maximum(sizes, 1e-12)
    return min(float(TOO_NEAR), float(apart[apart > 0].min(initial=1)))


def place(value: float, unit: float) -> float:
    """Place of a number on a logarithmic line that is linear near zero."""
    return math.copysign(math.log(abs(value) / unit / _SMALL + 1), value)


def question_numbers(question: str) -> tuple[list[Decimal], list[Decimal], list[Decimal]]:
    """Numbers of a question, results of one operation on two of them, and simple multiples."""
    found = [Decimal(str(entry.value)) for entry in find_quantities(plain_text(question, lone_one=False))]
    named = list(dict.fromkeys(found))[:_QUESTION_NUMBERS]
    of_two = [
        value
        for entry, other in permutations(named, 2)
        for value in (entry + other, entry - other, entry * other, *([entry / other] if other else []))
    ]
    return named, of_two, [value * factor for value in named for factor in _FACTORS]


@lru_cache(maxsize=100_000)
def roundness(steps: int) -> Roundness:
    """Number of final zeros of a whole number, and whether a five precedes them after other digits."""
    digits = str(abs(steps))
    bare = digits.rstrip("0")
    return len(digits) - len(bare) if bare else 0, len(bare) > 1 and bare.endswith("5")


def _relatives(asked: NumberQuestion) -> list[set[int]]:
    """Numbers in each relation to the question, and to options other than the key."""
    related = []
    for values in question_numbers(asked.question):
        steps = [value / asked.unit for value in values if abs(value) < Decimal(10) ** 15]
        related.append({int(step) for step in steps if step == int(step)})
    others = asked.options[1:]
    related.append({other + step for other in others for step in (-1, 1)})
    related.append({number for other in others for number in _one_digit_off(other)})
    related.append({number for other in others for number in (2 * other, other // 2, 10 * other, other // 10)})
    sums = [entry + other for at, entry in enumerate(others) for other in others[at + 1 :]]
    middles = {total // 2 for total in sums if total % 2 == 0}
    return [*related, middles | {total - third for total in sums for third in others}]


def _one_digit_off(number: int) -> Iterator[int]:
    digits = str(abs(number))
    for at in range(len(digits)):
        yield from (int(f"{digits[:at]}{digit}{digits[at + 1 :]}") for digit in "0123456789")


class _Line(msgspec.Struct, frozen=True):
    """All numbers that could be the key of a question, with their prior features."""

    steps: Ints
    odds: Floats
    relations: NDArray[np.bool_]  # numbers × relations


class NumberPool:
    """Candidates for numeric keys, by a model of all keys of the batch."""

    def __init__(self, asked: Iterable[NumberQuestion], options: int) -> None:
        questions, chance = list(asked), random.Random(0)  # noqa: S311 (the same numbers at every run)
        alike: dict[object, list[int]] = defaultdict(list)
        for entry in questions:
            if not entry.others:
                alike[_groups(entry.key)[1]].append(entry.options[0])
        self._populations = {writing: _population(keys, options, chance) for writing, keys in alike.items()}
        self._keys: dict[object, Counter[int]] = defaultdict(Counter)
        for entry in questions:
            for group in _groups(entry.key):
                self._keys[group][entry.options[0]] += 1
        self._weights: dict[bool, Floats] = {}
        for small in (False, True):
            own = [entry for entry in questions if entry.is_small == small]
            self._weights[small] = self._fitted(own[:: len(own) // _FITTED + 1])

    def _fitted(self, questions: Sequence[NumberQuestion]) -> Floats:
        """Factor by which each relation raises the probability of a key, by iterative scaling."""
        chance = random.Random(len(questions))  # noqa: S311 (the same numbers at every run)
        lines = [self._line(entry, chance) for entry in questions]
        keys = [
            line.relations[line.steps == entry.options[0]][0] for entry, line in zip(questions, lines, strict=True)
        ]
        weights = np.zeros(len(_relatives(questions[0])) if questions else 0)
        for _ in range(_ROUNDS if questions else 0):
            expected = np.zeros(len(weights))
            for line in lines:
                odds = line.odds * np.exp(line.relations @ weights)
                expected += odds @ line.relations / odds.sum()
            weights += 0.5 * np.log((np.sum(keys, axis=0) + 0.5) / (expected + 0.5))
        return weights

    def candidates(self, asked: NumberQuestion, chance: random.Random) -> dict[str, float]:
        """Texts in the key's format with the odds of being drawn; none is the key or another option."""
        line = self._line(asked, chance)
        weights = self._weights[asked.is_small]
        odds = line.odds * np.exp(line.relations @ weights) if len(weights) else line.odds
        counts = asked.key.decimals == 0
        odds[too_near(line.steps, np.array(asked.options), asked.nearest, counts=counts).any(axis=1)] = 0
        known = np.flatnonzero(odds)
        weights = odds[known] / max(odds.sum(), 1e-300)
        order = np.argsort([-math.log(1 - chance.random()) / weight for weight in weights.tolist()])[:_DRAWN]
        shares = weights / _inclusion(weights, _DRAWN)
        return {
            asked.key.written(asked.unit * int(line.steps[known[at]])): float(shares[at]) for at in order.tolist()
        }

    def draw(
        self, asked: NumberQuestion, count: int, is_right: Callable[[str], bool], chance: random.Random
    ) -> list[str]:
        """So many distractors, or as many as there are."""
        drawn = {text: weight for text, weight in self.candidates(asked, chance).items() if not is_right(text)}
        texts = list(drawn)
        values = np.array([float(asked.key.value), *(float(WrittenNumber.known(text).value) for text in texts)])
        drawer = SetDrawer(min(count, len(texts)), list(drawn.values()), values, float(asked.unit))
        sets = drawer.draw(1, np.random.default_rng(chance.getrandbits(64)))
        return [texts[at] for at in sets[0]]

    def _line(self, asked: NumberQuestion, chance: random.Random) -> _Line:
        relatives = _relatives(asked)
        own = asked.options[0]
        population = {} if asked.others else self._populations[_groups(asked.key)[1]]
        if asked.are_years:
            steps = own + np.arange(-_YEARS_AROUND, _YEARS_AROUND + 1)
        elif asked.is_small:
            furthest = int(math.exp(max(map(abs, asked.reach))) * _SMALL)
            steps = asked.in_reach(np.arange(-furthest, furthest + 1))
        else:
            drawn = [_at(chance.uniform(*asked.reach), chance.choice(asked.options), chance) for _ in range(_DRAWN)]
            steps = asked.in_reach(np.array([own, *population, *drawn, *set().union(*relatives)], np.int64))
        odds = self._frequencies(asked, steps) if asked.is_small else np.ones(len(steps))
        if population:
            rates = np.array([population.get(number, 0.0) for number in steps.tolist()])
            odds = rates + odds / odds.sum() * max(_SPARE * rates.sum(), 1e-9)
        relations = np.stack([np.isin(steps, list(related)) for related in relatives], axis=1)
        return _Line(steps, odds, relations)

    def _frequencies(self, asked: NumberQuestion, line: Ints) -> Floats:
        """Probability that numbers are keys: by frequency in other items, unseen ones by the roundness of keys."""
        group = next((entry for entry in _groups(asked.key) if self._keys[entry].total() >= _DRAWN), ())
        seen = self._keys[group].copy()
        seen[asked.options[0]] -= 1
        steps: list[int] = line.tolist()
        times = np.array([max(seen[entry], 0) for entry in steps], np.float64)
        unseen = ((times == 1).sum() + 1) / (times.sum() + 1)
        members, frequent = Counter(map(roundness, steps)), Counter([roundness(asked.options[0])])
        for entry, count in seen.items():
            frequent[roundness(entry)] += count
        total = sum(frequent[kind] for kind in members)
        by_kind = {kind: frequent[kind] / members[kind] / total for kind in members}
        rounded = np.array([by_kind[roundness(entry)] if entry else 0.0 for entry in steps])
        return np.asarray((1 - unseen) * times / max(times.sum(), 1) + min(unseen, 1) * rounded)


def _population(keys: Sequence[int], options: int, chance: random.Random) -> dict[int, float]:
    """The numbers that open questions of one format offer, and how often each is a distractor.

    A number that is right f times is a distractor ``(options - 1) * (f - d)`` times, d the absolute discount of
    Ney et al. (1994): distractors are then right elsewhere about as often as keys are. The other distractors are
    numbers near keys that are never right and are offered elsewhere as often as keys: no frequency shows a key.
    """
    right = Counter(keys)
    once, twice = (sum(count == times for count in right.values()) for times in (1, 2))
    discount = (once + 0.5) / (once + 2 * twice + 1)
    rates = {number: (options - 1) * (times - discount) for number, times in right.items()}
    places = np.array([place(number, 1) for number in right])
    for number, times in right.items():
        apart = np.sort(np.abs(places - place(number, 1)))[: _NEIGHBOURS + 1]
        width = min(max(float(apart[-1]), float(TOO_NEAR)), math.log(FURTHEST))
        for _ in range(int(min(discount / (times - discount), _MOST_ADDED) + chance.random())):
            drawn = (_at(place(number, 1) + chance.uniform(-width, width), number, chance) for _ in range(_TRIES))
            new = (other for other in drawn if other not in rates and (other > 0 or number < 0))
            if (other := next(new, None)) is not None:
                rates[other] = rates[number]
    return rates


def _inclusion(weights: Floats, count: int) -> Floats:
    """Probability of each to be among so many drawn by weight."""
    if len(weights) <= count:
        return np.ones(len(weights))
    low, high = 0.0, 1e12
    for _ in range(80):
        middle = math.sqrt(max(low, 1e-3) * high)
        low, high = (middle, high) if (1 - np.exp(-middle * weights)).sum() < count else (low, middle)
    return np.asarray(1 - np.exp(-high * weights))


def too_near(numbers: Ints, others: Ints, share: float, *, counts: bool) -> NDArray[np.bool_]:
    """Which numbers differ by less than a share; with ``counts``, small whole numbers and years differ if by one."""
    sizes = np.maximum(np.abs(numbers[:, None]), np.abs(others))
    apart = np.abs(numbers[:, None] - others)
    are_years = bool((sizes >= _YEARS[0]).all() and (sizes <= _YEARS[1]).all())
    is_count = counts & (are_years | (sizes <= _COUNTED))
    return np.asarray((apart == 0) | (~is_count & (apart < (share - 1e-9) * sizes)))


def _groups(key: WrittenNumber) -> tuple[tuple[object, ...], ...]:
    """Groups of keys whose roundness is compared: of one format and length, of one format, all."""
    writing = key.before.strip().lower(), key.after.strip().lower(), key.decimals
    return (*writing, len(str(abs(int(key.value.scaleb(key.decimals)))))), writing, ()


def _at(where: float, model: int, chance: random.Random) -> int:
    """A number near a place on the line, as round as a model; one or two digits and zeros are equally round."""
    zeros, five = roundness(model)
    size = math.expm1(abs(where)) * _SMALL
    if len(str(abs(model))) - zeros <= 2:
        zeros, five = max(len(str(int(size))) - chance.choice((1, 2, 2)), 0), False
        return int(math.copysign(round(size / 10**zeros) * 10**zeros, where))
    steps = int(size / 10**zeros)
    if five:
        steps += 5 - steps % 10
    elif steps % 5 == 0:
        steps += chance.choice((1, 2, 3, 4))
    return int(math.copysign(steps * 10**zeros, where))


class SetDrawer:
    """Draws sets of candidates, which follow the key and the other fixed options in ``values`` (None: no numbers)."""

    def __init__(self, need: int, weights: Sequence[float], values: Floats | None, unit: float) -> None:
        self._need, self._weights = need, np.array(weights, np.float64)
        self._places: Floats | None = None
        self._close = [0] * len(weights)
        if values is not None and weights:
            self._places = np.array([place(value, unit) for value in values.tolist()])
            drawn = np.round(values[-len(weights) :] / unit).astype(np.int64)
            near = too_near(drawn, drawn, least_apart(values[: -len(weights)]), counts=unit == 1)
            self._close = [sum(1 << other for other in np.flatnonzero(row).tolist()) for row in near]

    def draw(self, sets: int, rng: np.random.Generator) -> list[list[int]]:
        """Different sets, at most so many: candidates by their weights, numbers from a stretch that holds the key."""
        order = rng.exponential(size=(sets, len(self._weights))) / self._weights
        if self._places is not None:
            outside = self._outside(self._places, sets, rng)
            order = np.where(outside > 0, (1 + outside) * 1e9, order)
        drawn: dict[tuple[int, ...], list[int]] = {}
        for row in np.argsort(order, axis=1, kind="stable").tolist():
            taken = self._apart(row)
            drawn.setdefault(tuple(sorted(taken)), taken)
        return list(drawn.values())

    def _outside(self, places: Floats, sets: int, rng: np.random.Generator) -> Floats:
        """Sets × candidates: distance of each from the stretch of each set, which holds all fixed numbers."""
        count = len(self._weights)
        fixed, drawn = places[:-count], places[-count:]
        low, high = float(fixed.min()), float(fixed.max())
        spare = np.maximum(rng.uniform(_NARROWEST, 1, sets) * math.log(FURTHEST) - (high - low), 0)
        if len(fixed) > 2:
            spare = (high - low) * rng.uniform(0.1, 1, sets)
        starts = low - rng.random(sets) * spare
        ends = starts + (high - low) + spare
        return np.asarray(np.maximum(starts[:, None] - drawn, drawn - ends[:, None]))

    def _apart(self, order: Sequence[int]) -> list[int]:
        """The first that are not close to each other; where these are too few, the first of the others."""
        taken: list[int] = []
        passed: list[int] = []
        chosen = 0
        for candidate in order:
            if len(taken) == self._need:
                break
            if chosen & self._close[candidate]:
                passed.append(candidate)
            else:
                taken.append(candidate)
                chosen |= 1 << candidate
        return taken + passed[: self._need - len(taken)]
