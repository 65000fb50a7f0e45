"""How far values scatter: scores of models (Gini, standard deviation, separable pairs), answers to one question."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from eyetest.measures.stats.intervals import NOTHING, Floats, IntervalEstimate, resampled_means
from eyetest.measures.stats.paired import every_pair, holm


class Dispersion(NamedTuple):
    """Gini and standard deviation of models' mean scores; ``n`` counts models."""

    gini: IntervalEstimate
    sd: IntervalEstimate


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


def _with_interval(
    value: float | None, formula: Callable[[Floats], Floats], drawn: Floats, level: float
) -> IntervalEstimate:
    """Noise of scores widens their spread, once in what was seen and twice in what is drawn from it.

    On the scale of squares, where noise adds up, it is taken off again. Plain percentiles never hold the spread of
    models that are equally good; these do. A value that is mostly noise may lie above its interval.
    """
    models = drawn.shape[1]
    if value is None or not len(drawn):
        return IntervalEstimate(value, None, None, models)
    squares = formula(drawn) ** 2
    noise = squares.mean() - value**2
    low, high = np.sqrt(np.maximum(np.quantile(squares, [(1 - level) / 2, (1 + level) / 2]) - 2 * noise, 0.0))
    return IntervalEstimate(value, float(low), float(high), models)


def separable_pairs(
    scores: ArrayLike, clusters: ArrayLike, level: float = 0.95, *, adjusted: bool = True
) -> IntervalEstimate:
    """The share of pairs of models (columns) that a paired test tells apart; ``n`` counts pairs that could be tested.

    The tests are those of differences and ranks, two-sided at 1 − level, on the items (rows; nan where missing) that
    both have, adjusted for all pairs by Holm's rule unless that is not wanted: shares of few and of many models are
    alike only without. The share has no interval: drawing items again would add noise, which tests take for
    differences.
    """
    table = np.asarray(scores, float)
    if table.ndim < 2 or table.shape[1] < 2 or not len(table):
        return NOTHING
    pairs = [pair for *_, pair in every_pair(table, clusters, level)]
    testable = sum(pair.clusters > 1 for pair in pairs)
    p_values = [pair.p for pair in pairs]
    apart = sum(p is not None and p < 1 - level for p in (holm(p_values) if adjusted else p_values))
    return IntervalEstimate(apart / testable if testable else None, None, None, testable)


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
    parts = entropies(row, None if options is None else [options])
    return Entropy(*(None if np.isnan(part[0]) else float(part[0]) for part in parts))
