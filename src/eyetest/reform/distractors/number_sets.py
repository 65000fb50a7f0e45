"""Distractors of numeric keys: from a population of numbers with the keys of all questions of a kind, which hides how
often each is right, and from a stretch of the (logarithmic) number line on which the key lies anywhere.
"""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from eyetest.reform.distractors.answer_kinds import TOO_NEAR, AnswerKind, WrittenNumber

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FURTHEST = 5.0  # factor by which a plausible answer may differ from the key
_SMALL = 5  # steps that are added before small numbers are compared: 0 and 3 are not infinitely far apart
_NARROWEST = 0.5  # the shortest stretch as a share of the longest
_DRAWN = 56  # candidates for a key
_COUNTED = 30  # whole numbers up to here differ if they differ by one, as years do
_YEARS, _YEARS_AROUND = (1485, 2114), 15
_PART = re.compile(
    r"\bprobabilit|\b(?:chance|likelihood)\b|\b(?:fraction|share|proportion|part|portion) of\b", re.IGNORECASE
)
_SPARE = 0.02  # share of numbers outside the population, which are taken where it has too few
_NEIGHBOURS = 3  # keys within the distance at which numbers are added to the population
_MOST_ADDED = 30  # numbers added for a key
_TRIES = 20  # draws of an added number until it is none of the population


class NumberQuestion:
    """A question whose key is a number, the other options it has, and the bounds of plausible answers."""

    def __init__(
        self, question: str, key: WrittenNumber, kind: AnswerKind, others: Sequence[WrittenNumber] = ()
    ) -> None:
        numbers = (key, *others)
        values = [number.value for number in numbers]
        self.question = question
        self.key, self.are_years = key, all(number.is_year for number in numbers)
        self.unit = Decimal(1).scaleb(-key.decimals)  # the smallest step in the key's format
        self.options = [int(value / self.unit) for value in values]  # the key and the others in smallest steps
        self.population = kind.name, key.before.strip().lower(), key.after.strip().lower(), key.decimals
        """What questions share whose keys are offered for one another: kind and format of the key."""
        self.least, self.most = Decimal("-Infinity" if min(values) < 0 else 0), Decimal("Infinity")
        if _PART.search(question) and "%" not in key.after and max(values) <= 1:  # a probability, or a part
            self.most = Decimal(1)
        elif max(values) <= 100 and (kind.is_share or "%" in key.after):
            self.most = Decimal(100)

    @property
    def reach(self) -> tuple[float, float]:
        """Range of plausible answers on the line: around the key, or as far as options go."""
        places = [place(number, 1) for number in self.options]
        low, high = min(places), max(places)
        margin = math.log(FURTHEST)
        if len(places) > 2:
            margin = min(max(high - low, 0.5), margin)
        return low - margin - 1e-9, high + margin + 1e-9

    def in_reach(self, numbers: Iterable[int]) -> Ints:
        """Those numbers that are plausible by size, sign and bounds, and not too near an option."""
        steps = np.unique(np.array([*numbers], np.int64))
        low, high = self.reach
        places = np.copysign(np.log(np.abs(steps) / _SMALL + 1), steps)
        least, most = (float(bound / self.unit) for bound in (self.least, self.most))
        fixed = np.array(self.options)
        near = too_near(steps, fixed, least_apart(fixed.astype(np.float64)), counts=self.key.decimals == 0)
        fits = (places >= low) & (places <= high) & (steps >= least) & (steps <= most) & ~near.any(axis=1)
        return np.asarray(steps[fits])


def least_apart(fixed: Floats) -> float:
    """The smallest share by which two fixed numbers differ, at most the five per cent of a metric."""
    sizes = np.maximum(np.abs(fixed[:, None]), np.abs(fixed))
    apart = np.abs(fixed[:, None] - fixed) / np.maximum(sizes, 1e-12)
    return min(float(TOO_NEAR), float(apart[apart > 0].min(initial=1)))


def place(value: float, unit: float) -> float:
    """Place of a number on a logarithmic line that is linear near zero."""
    return math.copysign(math.log(abs(value) / unit / _SMALL + 1), value)


@lru_cache(maxsize=100_000)
def roundness(steps: int) -> tuple[int, bool]:
    """Number of final zeros of a whole number, and whether a five precedes them after other digits."""
    digits = str(abs(steps))
    bare = digits.rstrip("0")
    return len(digits) - len(bare) if bare else 0, len(bare) > 1 and bare.endswith("5")


class NumberPool:
    """Candidates for numeric keys, by all keys of the batch."""

    def __init__(self, asked: Iterable[NumberQuestion], options: int) -> None:
        keys: dict[object, list[int]] = defaultdict(list)
        for entry in asked:
            keys[entry.population].append(entry.options[0])
        chance = random.Random(0)  # noqa: S311 (the same numbers at every run)
        self._populations = {kind: _population(own, options, chance) for kind, own in keys.items()}

    def candidates(self, asked: NumberQuestion, chance: random.Random) -> dict[str, float]:
        """Texts in the key's format with the odds of being drawn; none is the key or another option."""
        population, own = self._populations.get(asked.population, {}), asked.options[0]
        if asked.are_years:
            near: Iterable[int] = range(own - _YEARS_AROUND, own + _YEARS_AROUND + 1)
        else:
            near = (_at(chance.uniform(*asked.reach), chance.choice(asked.options), chance) for _ in range(_DRAWN))
        steps = asked.in_reach((*population, *near)).tolist()
        spare = _SPARE * sum(population.get(number, 0.0) for number in steps) / max(len(steps), 1)
        odds = np.array([population.get(number, 0.0) + max(spare, 1e-9) for number in steps])
        odds /= odds.sum()
        order = np.argsort([-math.log(1 - chance.random()) / weight for weight in odds.tolist()])[:_DRAWN]
        shares = odds / _inclusion(odds, _DRAWN)
        return {asked.key.written(asked.unit * steps[at]): float(shares[at]) for at in order.tolist()}

    def draw(
        self, asked: NumberQuestion, count: int, is_right: Callable[[str], bool], chance: random.Random
    ) -> list[str]:
        """So many distractors, or as many as there are."""
        drawn = {text: weight for text, weight in self.candidates(asked, chance).items() if not is_right(text)}
        texts = list(drawn)
        values = np.array([float(asked.key.value), *(float(WrittenNumber.known(text).value) for text in texts)])
        rng = np.random.default_rng(chance.getrandbits(64))
        sets = draw_sets(min(count, len(texts)), list(drawn.values()), values, float(asked.unit), 1, rng)
        return [texts[at] for at in sets[0]]


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
    factor = math.exp(brentq(lambda log: (1 - np.exp(-math.exp(log) * weights)).sum() - count, -20, 40))
    return np.asarray(1 - np.exp(-factor * weights))


def too_near(numbers: Ints, others: Ints, share: float, *, counts: bool) -> NDArray[np.bool_]:
    """Which numbers differ by less than a share; with ``counts``, small whole numbers and years differ if by one."""
    sizes = np.maximum(np.abs(numbers[:, None]), np.abs(others))
    apart = np.abs(numbers[:, None] - others)
    are_years = bool((sizes >= _YEARS[0]).all() and (sizes <= _YEARS[1]).all())
    is_count = counts & (are_years | (sizes <= _COUNTED))
    return np.asarray((apart == 0) | (~is_count & (apart < (share - 1e-9) * sizes)))


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


def draw_sets(
    need: int, weights: Sequence[float], values: Floats | None, unit: float, sets: int, rng: np.random.Generator
) -> list[list[int]]:
    """Different sets of candidates by their weights, at most so many.

    ``values`` are those of the key, the other fixed options and the candidates, or None where they are no numbers;
    numbers are drawn from a stretch that holds all fixed ones.
    """
    count = len(weights)
    order, close = rng.exponential(size=(sets, count)) / np.array(weights, np.float64), [0] * count
    if values is not None and weights:
        outside = _outside(np.array([place(value, unit) for value in values.tolist()]), count, sets, rng)
        order = np.where(outside > 0, (1 + outside) * 1e9, order)
        steps = np.round(values[-count:] / unit).astype(np.int64)
        near = too_near(steps, steps, least_apart(values[:-count]), counts=unit == 1)
        close = [sum(1 << other for other in np.flatnonzero(row).tolist()) for row in near]
    drawn: dict[tuple[int, ...], list[int]] = {}
    for row in np.argsort(order, axis=1, kind="stable").tolist():
        taken = _apart(row, close, need)
        drawn.setdefault(tuple(sorted(taken)), taken)
    return list(drawn.values())


def _outside(places: Floats, count: int, sets: int, rng: np.random.Generator) -> Floats:
    """Sets × candidates: distance of each from the stretch of each set, which holds all fixed numbers."""
    fixed, drawn = places[:-count], places[-count:]
    low, high = float(fixed.min()), float(fixed.max())
    spare = np.maximum(rng.uniform(_NARROWEST, 1, sets) * math.log(FURTHEST) - (high - low), 0)
    if len(fixed) > 2:
        spare = (high - low) * rng.uniform(0.1, 1, sets)
    starts = low - rng.random(sets) * spare
    ends = starts + (high - low) + spare
    return np.asarray(np.maximum(starts[:, None] - drawn, drawn - ends[:, None]))


def _apart(order: Sequence[int], close: Sequence[int], need: int) -> list[int]:
    """The first that are not close to each other; where these are too few, the first of the others."""
    taken: list[int] = []
    passed: list[int] = []
    chosen = 0
    for candidate in order:
        if len(taken) == need:
            break
        if chosen & close[candidate]:
            passed.append(candidate)
        else:
            taken.append(candidate)
            chosen |= 1 << candidate
    return taken + passed[: need - len(taken)]
