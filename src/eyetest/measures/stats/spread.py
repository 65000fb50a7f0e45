"""How far values scatter: scores of models (Gini, standard deviation, separable pairs), answers to one question."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.special import entr

from eyetest.measures.stats.intervals import Estimate, Floats, resampled_means
from eyetest.measures.stats.paired import WITHOUT_SPREAD, clustered_mcnemar, holm

_FEW = 25
"""So few clusters that differ are tested by themselves, exactly."""


class Dispersion(NamedTuple):
    """Gini and standard deviation of models' mean scores; ``n`` counts models."""

    gini: Estimate
    sd: Estimate


def gini(values: ArrayLike) -> float | None:
    """The mean absolute difference of all pairs, self-pairs with them, over twice the mean (the population's Gini).

    It rises when scores fall, so it does not show by itself that a benchmark tells models apart better.
    """
    known = _known(values)
    return float(_gini(known)) if len(known) and known.sum() > 0 else None


def standard_deviation(values: ArrayLike) -> float | None:
    """The sample's standard deviation (n − 1)."""
    known = _known(values)
    return float(known.std(ddof=1)) if len(known) > 1 else None


def spread(
    scores: ArrayLike, clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Dispersion:
    """Dispersion of the mean scores of models (columns) over items (rows; nan where missing), items drawn again."""
    table = np.asarray(scores, float)
    table = table[:, ~np.isnan(table).all(axis=0)]
    means = np.nanmean(table, axis=0) if table.size else np.empty(0)
    drawn = resampled_means(table, clusters, resamples, seed)
    drawn = drawn[~np.isnan(drawn).any(axis=1) & (drawn.sum(axis=1) > 0)]
    return Dispersion(
        _with_interval(gini(means), _gini, drawn, level), _with_interval(standard_deviation(means), _sd, drawn, level)
    )


def _with_interval(value: float | None, formula: Callable[[Floats], Floats], drawn: Floats, level: float) -> Estimate:
    """Noise of scores widens their spread, once in what was seen and twice in what is drawn from it.

    On the scale of squares, where noise adds up, it is taken off again. Plain percentiles never hold the spread of
    models that are equally good; these do. A value that is mostly noise may lie above its interval.
    """
    models = drawn.shape[1]
    if value is None or not len(drawn):
        return Estimate(value, None, None, models)
    squares = formula(drawn) ** 2
    noise = squares.mean() - value**2
    low, high = np.sqrt(np.maximum(np.quantile(squares, [(1 - level) / 2, (1 + level) / 2]) - 2 * noise, 0.0))
    return Estimate(value, float(low), float(high), models)


def separable_pairs(
    scores: ArrayLike, clusters: ArrayLike, level: float = 0.95, *, adjusted: bool = True
) -> Estimate:
    """The share of pairs of models (columns) that a paired test tells apart; ``n`` counts pairs that could be tested.

    The test is that of `eyetest.measures.stats.paired`, on the items (rows; nan where missing) that both have, whole
    clusters at a time, two-sided at 1 − level: McNemar's where all scores are 0 or 1, else Student's. It is adjusted
    for all pairs by Holm's rule, as ranks and differences are, unless that is not wanted: shares of few and of many
    models are alike only without. The share has no interval: drawing items again would add noise, which tests take
    for differences.
    """
    table = np.asarray(scores, float)
    if table.ndim < 2 or table.shape[1] < 2 or not len(table):
        return Estimate(None, None, None, 0)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    rows, starts = np.ascontiguousarray(table[order].T), np.flatnonzero(np.diff(codes[order], prepend=-1))
    binary = np.all(np.isnan(rows) | (rows == 0) | (rows == 1), axis=1)
    counted: dict[tuple[float, ...], float] = {}
    found: list[float | None] = []
    testable = 0
    for i in range(len(rows) - 1):
        sums, sizes = _by_cluster(rows[i] - rows[i + 1 :], starts)
        right_or_wrong = binary[i] & binary[i + 1 :]
        p = np.ones(len(sums)) if right_or_wrong.all() else _student(sums, sizes)
        p[right_or_wrong] = _mcnemar(sums[right_or_wrong], counted)
        groups = np.count_nonzero(sizes, axis=1)
        tested = (groups > 1) | (right_or_wrong & (groups > 0))
        found += [value if was else None for value, was in zip(p.tolist(), tested.tolist(), strict=True)]
        testable += int((groups > 1).sum())
    told = holm(found) if adjusted else found
    apart = sum(p is not None and p < 1 - level for p in told)
    return Estimate(apart / testable if testable else None, None, None, testable)


def _by_cluster(differences: Floats, starts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Sums and numbers of differences (a row a pair, nan where missing, columns ordered by cluster)."""
    missing = np.isnan(differences)
    sizes = np.broadcast_to(
        np.diff(starts, append=differences.shape[1]).astype(float), (len(differences), len(starts))
    )
    alone = len(starts) == differences.shape[1]
    if missing.any():
        differences[missing] = 0.0
        sizes = (~missing).astype(float)
        sizes = sizes if alone else np.add.reduceat(sizes, starts, axis=1)
    return differences if alone else np.add.reduceat(differences, starts, axis=1), sizes


def _mcnemar(net: Floats, counted: dict[tuple[float, ...], float]) -> Floats:
    """p-values of many pairs, a row of clusters' net wins each. Where few differ, splits are counted, once a kind."""
    squares, total, unequal = _products(net, net), np.abs(net.sum(axis=1)), np.count_nonzero(net, axis=1)
    p: Floats = special.chdtrc(1, np.maximum(total - 1, 0.0) ** 2 / np.maximum(squares, 1.0))
    for row in np.flatnonzero(unequal < _FEW):
        kind = (total[row], *np.sort(np.abs(net[row][net[row] != 0])).tolist())
        if kind not in counted:
            counted[kind] = clustered_mcnemar(net[row])
        p[row] = counted[kind]
    return p


def _student(sums: Floats, sizes: Floats) -> Floats:
    """p-values of many pairs. Differences without any spread are held against a sign test of the clusters."""
    n, groups = sizes.sum(axis=1), np.count_nonzero(sizes, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums.sum(axis=1) / n
        residuals = sums - mean[:, None] * sizes
        error = np.sqrt(_products(residuals, residuals) * groups / (groups - 1)) / n
        p = 2 * special.stdtr(groups - 1, -np.abs(mean) / error)
    alike = error <= WITHOUT_SPREAD * np.abs(mean)
    return np.where(alike, np.where(mean == 0, 1.0, 0.5 ** (groups - 1.0)), p)


def _products(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a, b), np.float64)


def _known(values: ArrayLike) -> Floats:
    array: Floats = np.asarray(values, float)
    return array[~np.isnan(array)]


def _gini(values: Floats) -> Floats:
    count = values.shape[-1]
    signs = 2.0 * np.arange(1, count + 1) - count - 1
    pairs, total = np.sort(values, axis=-1) @ signs, values.sum(axis=-1)
    return np.asarray(pairs / (count * total), np.float64)


def _sd(values: Floats) -> Floats:
    return np.asarray(values.std(axis=-1, ddof=1), np.float64)


class Entropies(NamedTuple):
    """One entry a row of counts, in nats; nan where undefined."""

    plain: Floats
    """−Σ p ln p, which is low by about (choices − 1) / (2 × tests)."""
    corrected: Floats
    """Miller and Madow's: plain + (choices seen − 1) / (2 × tests), but never more than ln(options)."""
    normalised: Floats
    """Plain over ln(options): 0 is always the same choice, 1 all choices equally often."""


class Entropy(NamedTuple):
    """The entropies of one question. None where undefined."""

    plain: float | None
    corrected: float | None
    normalised: float | None


def entropies(counts: ArrayLike, options: ArrayLike | None = None) -> Entropies:
    """The entropies of many rows of counts. ``options`` says how many choices each row had, nan where nobody knows.

    A row without a count has no entropy. The correction is capped because no distribution over so many choices has a
    larger entropy, and at two tests that differ it would promise one. Where options are unknown nothing is capped and
    nothing can be normalised; with fewer than two there is nothing to normalise by.
    """
    table = np.asarray(counts, float)
    known = np.full(len(table), np.nan) if options is None else np.asarray(options, float)
    total, seen = table.sum(axis=1), (table > 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = entr(table / total[:, None]).sum(axis=1)
        most = np.log(known)
        corrected = np.fmin(plain + (seen - 1) / (2 * total), most)
        normalised = np.where(known >= 2, plain / most, np.nan)
    return Entropies(plain, np.where(total > 0, corrected, np.nan), normalised)


def entropy(counts: ArrayLike, options: int | None = None) -> Entropy:
    """The entropies of one question's answers, counted by choice."""
    row = np.asarray(counts, float)[None, :]
    found = entropies(row, None if options is None else [options])
    return Entropy(*(None if np.isnan(part[0]) else float(part[0]) for part in found))
