"""Paired comparison of two columns of scores, multiple testing, and the power of McNemar's test (Connor)."""

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import Floats, IntervalEstimate, jackknife

WITHOUT_SPREAD = 1e-12  # differences whose error is so small a part of their mean are all the same, but for rounding
_FEW = 25  # with fewer discordant clusters than this, all their splits are counted; with more, approximated
_CELLS_AT_ONCE = 2**18  # differences that are worked on together: two megabytes


class Paired(NamedTuple):
    """How scores ``a`` and ``b`` compare on shared items; None where undefined. ``only_a`` and ``only_b`` count items
    that one alone got right, ``effective`` clusters; ``spread`` is the mean squared difference, ``error`` its
    clustered standard error, ``worth`` the number of independent items.
    """

    n: int
    clusters: int
    effective: float = 0.0
    binary: bool = False
    a: float | None = None
    b: float | None = None
    difference: float | None = None
    spread: float | None = None
    error: float | None = None
    worth: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    only_a: int | None = None
    only_b: int | None = None

    @property
    def gap(self) -> IntervalEstimate:
        """The difference and its interval."""
        return IntervalEstimate(self.difference, self.low, self.high, self.n)


def paired(a: ArrayLike, b: ArrayLike, clusters: ArrayLike | None = None, level: float = 0.95) -> Paired:
    """The mean difference a − b over items that have both, its interval and its test. Missing scores are nan."""
    return against(a, np.asarray(b, float)[:, None], clusters, level)[0]


def against(
    first: ArrayLike, others: ArrayLike, clusters: ArrayLike | None = None, level: float = 0.95
) -> list[Paired]:
    """How one column of scores compares with each column of ``others``, item by item. Missing scores are nan."""
    return list(_Columns(np.column_stack([first, others]), clusters).compare(0, level))


def is_verdict(scores: Any) -> Any:
    """Whether scores say right or wrong and nothing between. Of an array, or of a column."""
    return (scores == 0) | (scores == 1)


def every_pair(scores: Floats, clusters: ArrayLike, level: float) -> list[tuple[int, int, Paired]]:
    """All pairs of columns (models) on the items (rows; nan where missing) that both have."""
    columns = _Columns(scores, clusters)
    return [
        (first, other, pair)
        for first in range(scores.shape[1] - 1)
        for other, pair in enumerate(columns.compare(first, level), first + 1)
    ]


class _Columns:
    """Columns of scores by cluster, for tests of many pairs, with jackknife errors. Of verdicts the interval is
    Bonett and Price's and the test McNemar's, valid with few discordant items; of other scores both are Student's.
    """

    def __init__(self, scores: ArrayLike, clusters: ArrayLike | None) -> None:
        columns = np.asarray(scores, float).T
        self._starts = None
        if clusters is not None and columns.shape[1]:
            codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
            if codes.max() + 1 < len(codes):
                order = np.argsort(codes, kind="stable")
                self._starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
                columns = columns if (codes[1:] >= codes[:-1]).all() else columns[:, order]
        self._scores = np.array(columns, order="C")
        known = ~np.isnan(self._scores)
        self._between = known & ~is_verdict(self._scores)
        self._is_binary = ~self._between.any(axis=1)
        self._known = None if known.all() else known.astype(float)
        self._scores[~known] = 0.0
        self._sizes = self._by_cluster(np.ones((1, columns.shape[1])))

    def compare(self, first: int, level: float) -> Iterator[Paired]:
        """Compare a column with each one after it, so few at once that they stay in the processor's cache."""
        count, items = self._scores.shape
        at_once = max(1, _CELLS_AT_ONCE // max(1, items))
        for start in range(first + 1, count, at_once):
            yield from self._compare(first, slice(start, start + at_once), level)

    def _compare(self, first: int, others: slice, level: float) -> Iterator[Paired]:
        a, b = self._scores[first], self._scores[others]
        gaps, binary = a - b, self._is_binary[first] & self._is_binary[others]
        if self._known is None:
            n, sizes = np.full(len(b), len(a)), self._sizes
            sums = np.full(len(b), a.sum()), b.sum(axis=1)
        else:
            both = self._known[first] * self._known[others]
            gaps *= both
            n, sizes = both.sum(axis=1).astype(int), self._by_cluster(both)
            sums = np.einsum("ij,j->i", both, a), np.einsum("ij,ij->i", both, b)
            if not binary.all():
                binary = ~((both > 0) & (self._between[first] | self._between[others])).any(axis=1)
        net, total, squares = self._by_cluster(gaps), gaps.sum(axis=1), np.einsum("ij,ij->i", gaps, gaps)
        g = np.broadcast_to(np.count_nonzero(sizes, axis=1), n.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [part / n for part in (*sums, total, squares)]
        variance, effective = jackknife(net, sizes)
        counts = n, g, np.broadcast_to(effective, n.shape)
        columns = (part.tolist() for part in (*counts, binary, *means, np.sqrt(variance)))
        wins = zip(((squares + total) / 2).tolist(), ((squares - total) / 2).tolist(), strict=True)
        for row, won, differences in zip(zip(*columns, strict=True), wins, net, strict=True):
            yield _judged(Paired(*row), won, differences, level) if row[0] else Paired(0, 0)

    def _by_cluster(self, values: Floats) -> Floats:
        return values if self._starts is None else np.add.reduceat(values, self._starts, axis=1)


def _judged(of: Paired, wins: tuple[float, float], net: Floats, level: float) -> Paired:
    """One pair with its interval and test. A single cluster gives no spread."""
    assert of.difference is not None
    assert of.spread is not None
    assert of.error is not None
    alone = of.clusters < 2
    worth = _worth(of.n, of.clusters, of.spread - of.difference**2, of.error)
    pair = of._replace(error=None if alone else of.error, worth=worth)
    if of.binary:
        bounded = with_imaginary_items(pair, level)
        return bounded._replace(p=clustered_mcnemar(net), only_a=int(wins[0]), only_b=int(wins[1]))
    if not of.error > WITHOUT_SPREAD * abs(of.difference):  # a sign test of the clusters is left
        return pair._replace(p=None if alone else 1.0 if of.difference == 0 else 0.5 ** (of.clusters - 1))
    t = float(scipy.special.stdtrit(of.effective - 1, (1 + level) / 2))
    p = 2 * float(scipy.special.stdtr(of.effective - 1, -abs(of.difference) / of.error))
    return pair._replace(low=of.difference - t * of.error, high=of.difference + t * of.error, p=p)


def with_imaginary_items(pair: Paired, level: float) -> Paired:
    """The pair with Bonett and Price's interval, which adds one item to either side: for differences mostly 0."""
    if pair.difference is None or pair.spread is None or pair.worth is None:
        return pair
    worth, half = pair.worth, 2.0
    centre = worth * pair.difference / (worth + 2)
    if pair.clusters > 1:
        variance = ((worth * pair.spread + 2) / (worth + 2) - centre**2) / (worth + 2)
        half = float(scipy.special.stdtrit(pair.effective - 1, (1 + level) / 2)) * sqrt(variance)
    low, high = min(centre - half, pair.difference), max(centre + half, pair.difference)
    return pair._replace(low=max(low, -1.0), high=min(high, 1.0))


def _worth(n: int, clusters: int, variance: float, error: float) -> float:
    """Number of independent items with the same error; never more than there are."""
    if clusters == n:
        return float(n)
    return min(max(variance / error**2, 1.0), float(n)) if error > 0 else float(clusters)


def clustered_mcnemar(net: ArrayLike) -> float:
    """McNemar's test from each cluster's wins of A less wins of B: below 25 clusters by all signs, else against
    √Σnet² (Yang, Sun and Hardin) with continuity correction.
    """
    values = np.rint(np.asarray(net, float))
    total = abs(int(values.sum()))
    if np.count_nonzero(values) >= _FEW:
        return float(scipy.special.chdtrc(1, max(total - 1, 0) ** 2 / np.square(values).sum()))
    sizes = np.abs(values[values != 0]).astype(np.int64)
    chances = np.ones(1)
    for size in sizes:
        chances = (np.pad(chances, (0, 2 * size)) + np.pad(chances, (2 * size, 0))) / 2
    sums = np.arange(len(chances)) - sizes.sum()
    return float(min(chances[np.abs(sums) >= total].sum(), 1.0))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that the chance of any false alarm among them stays below the level."""

    def raised(values: Floats) -> Floats:
        order = np.argsort(values, kind="stable")
        steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
        return np.minimum(steps, 1.0)[np.argsort(order, kind="stable")]

    return _adjusted(p, raised)


def benjamini_hochberg(p: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that the share of false alarms among the significant ones stays below the level."""
    return _adjusted(p, lambda known: scipy.stats.false_discovery_control(np.clip(known, 0.0, 1.0)))


def _adjusted(p: Sequence[float | None], rule: Callable[[Floats], Floats]) -> list[float | None]:
    """Apply a rule to the known p-values."""
    known = [value for value in p if value is not None]
    values = iter(rule(np.array(known, float)).tolist() if known else [])
    return [None if value is None else next(values) for value in p]


def smallest_difference(n: float, discordance: float, power: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest difference of accuracies that n independent items find with this power; None where none is."""
    if n <= 0 or discordance <= 0:
        return None
    chance, detected = float(scipy.special.ndtri((1 + level) / 2)), float(scipy.special.ndtri(power))
    edge = 1 + chance * sqrt(n * discordance)
    root = n**2 * discordance + detected**2 * n * discordance - edge**2
    if root < 0:
        return None
    difference = (edge + detected * sqrt(root / n)) / (n + detected**2)
    return difference if difference <= discordance else None


def smallest_shift(error: float, clusters: float, power: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest difference of two mean scores that a paired t test with this standard error would find."""
    if clusters < 2 or error <= 0:
        return None
    freedom = clusters - 1
    return error * float(scipy.special.stdtrit(freedom, (1 + level) / 2) + scipy.special.stdtrit(freedom, power))
