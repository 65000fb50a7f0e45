"""Probabilities of chance hits by random guessing."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

_EXACT = 1_000
_SIMULATED = 9_999


def at_least(hits: int, chances: Sequence[float]) -> float:
    """The chance of so many hits or more, when each sample has its own chance (Poisson-binomial)."""
    if not chances or hits <= 0:
        return 1.0
    if len(chances) <= _EXACT:
        return float(min(1.0, max(0.0, scipy.stats.poisson_binom.sf(hits - 1, np.asarray(chances)))))
    mean = float(np.sum(chances))
    spread = float(np.sqrt(np.sum(np.asarray(chances) * (1 - np.asarray(chances)))))
    return float(scipy.stats.norm.sf((hits - 0.5 - mean) / spread)) if spread else float(hits <= mean)


def as_odd(hits: int, chances: Sequence[float]) -> float:
    """The chance of a number of hits at least this far from the expected one, in either direction."""
    too_many, too_few = at_least(hits, chances), at_least(len(chances) - hits, [1 - chance for chance in chances])
    return min(1.0, 2 * min(too_many, too_few))


def uneven(counts: Sequence[int], rng: np.random.Generator) -> float:
    """The chance of counts at least this uneven where all are equally likely; simulated where they are few."""
    total, kinds = sum(counts), len(counts)
    if total / kinds >= 5:
        return float(scipy.stats.chisquare(counts).pvalue)
    observed = np.square(np.asarray(counts) - total / kinds).sum()
    drawn = rng.multinomial(total, [1 / kinds] * kinds, size=_SIMULATED)
    as_odd = np.square(drawn - total / kinds).sum(axis=1) >= observed - 1e-9
    return float((1 + as_odd.sum()) / (1 + _SIMULATED))


def exactly(chances: Sequence[float]) -> NDArray[np.float64]:
    """The chance of 0, 1, 2 … hits, when each sample has its own chance."""
    shares = np.ones(1)
    for chance in chances:
        shares = np.convolve(shares, [1 - chance, chance])
    return shares


def most_of(samples: int, chance: float) -> float:
    """The chance of hitting more than half of the samples."""
    return float(scipy.stats.binom.sf(samples // 2, samples, chance))


class Guessing(NamedTuple):
    """The expected score of random choice, and that of always choosing the position that is right most often."""

    random: float
    frequent: float
    position: int
    n: int


def guessing(options: Sequence[int], golds: Sequence[int]) -> Guessing:
    """From the number of options of each item and the position of its gold."""
    position, count = max(Counter(golds).items(), key=lambda pair: (pair[1], -pair[0]))
    return Guessing(sum(1 / number for number in options) / len(options), count / len(golds), position, len(options))
