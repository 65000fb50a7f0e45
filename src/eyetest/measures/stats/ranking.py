"""Ranks of models with intervals, significant differences of pairs, and the spread of values."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import NOTHING, Bools, Floats, IntervalEstimate, column_means, resampled_means
from eyetest.measures.stats.paired import every_pair, holm

Ties = Literal["average", "min"]
DECIMALS = 12  # sums in another order differ in their last bits: scores that agree so far are equal


class Standing(NamedTuple):
    """A model among others: its rank by mean score, 1 + the number of significantly better models, its mean score."""

    rank: IntervalEstimate
    tie: int | None
    score: float | None


class MeanRank(NamedTuple):
    """The mean of a model's ranks over columns, and its rank by that mean."""

    mean: IntervalEstimate
    rank: IntervalEstimate


def rank_shifts(before: ArrayLike, after: ArrayLike) -> Floats:
    """How many places each model climbs (+) or falls (−) from … × models to others; nan where one side is missing."""
    first, second = np.asarray(before, float), np.asarray(after, float)
    return ranks(first + 0 * second) - ranks(second + 0 * first)


def standings(scores: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> list[Standing]:
    """Rank models (columns) by mean score over items (rows; nan where missing). A rank's interval and ``tie`` are the
    places that significantly better and worse models leave. One family of tests decides all, so that all intervals
    hold at once with the probability ``level``. One cluster leaves ranks without an interval.
    """
    table = np.asarray(scores, float)
    means = column_means(table)
    known = int(np.count_nonzero(~np.isnan(means)))
    ahead = significantly_ahead(table, clusters, level) & (means[:, None] > means)
    better, worse = ahead.sum(axis=0).tolist(), ahead.sum(axis=1).tolist()
    bounded = len(np.unique(np.asarray(clusters))) > 1
    places = []
    for model, (rank, mean) in enumerate(zip(_plain(ranks(means)), _plain(means), strict=True)):
        low, high = 1 + better[model], known - worse[model]
        interval = (low, high) if bounded and rank is not None else (None, None)
        places.append(Standing(IntervalEstimate(rank, *interval), None if rank is None else low, mean))
    return places


def mean_rank_standings(
    scores: Sequence[ArrayLike], clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> list[MeanRank]:
    """Mean ranks, and ranks by them, with intervals. ``scores``: a table of items × models for each column."""
    seen, drawn = _together(scores, clusters, resamples, seed)
    (mean, rank), (mean_again, rank_again) = mean_ranks(seen[None]), mean_ranks(drawn)
    columns = _intervals(mean[0], mean_again, level), _intervals(rank[0], rank_again, level)
    return [MeanRank(*model) for model in zip(*columns, strict=True)]


def shift_intervals(
    tables: Sequence[ArrayLike], clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> list[IntervalEstimate]:
    """Rank shifts from one table of items × models to another with the same rows and columns, drawn together."""
    seen, drawn = _together(tables, clusters, resamples, seed)
    return _intervals(rank_shifts(*seen), rank_shifts(drawn[:, 0], drawn[:, 1]), level)


def _together(tables: Sequence[ArrayLike], clusters: ArrayLike, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """The means of each table's columns as observed (tables × models) and in each resample (× tables × models)."""
    arrays = [np.asarray(table, float) for table in tables]
    drawn = resampled_means(np.hstack(arrays), clusters, resamples, seed)
    return np.stack([column_means(table) for table in arrays]), drawn.reshape(len(drawn), len(arrays), -1)


def ranks(scores: ArrayLike, ties: Ties = "average") -> Floats:
    """Ranks along the last axis, 1 the highest, nan for nan. Ties share the mean place, or with "min" the best."""
    values = np.asarray(scores, float)
    missing = np.isnan(values)
    falling = np.where(missing, np.inf, -np.round(values, DECIMALS))
    return np.where(missing, np.nan, scipy.stats.rankdata(falling, method=ties, axis=-1))


def mean_ranks(scores: Floats) -> tuple[Floats, Floats]:
    """The mean rank and the rank by it from scores of … × columns × models; nan where a column is missing."""
    whole = scores + 0 * scores.sum(axis=-2, keepdims=True)
    mean = ranks(whole).mean(axis=-2)
    return mean, ranks(-mean, "min")


def _intervals(values: Floats, drawn: Floats, level: float) -> list[IntervalEstimate]:
    """A value for each model with the middle of its replicates; no interval where most of them are nan."""
    placed = []
    for value, replicates in zip(_plain(values), drawn.T, strict=True):
        known = replicates[~np.isnan(replicates)]
        if value is None or not len(known) or 2 * len(known) < len(replicates):
            placed.append(IntervalEstimate(value, None, None))
            continue
        low = np.quantile(known, (1 - level) / 2, method="lower")
        high = np.quantile(known, (1 + level) / 2, method="higher")
        placed.append(IntervalEstimate(value, min(float(low), value), max(float(high), value)))
    return placed


def _plain(values: Iterable[float]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def significantly_ahead(scores: Floats, clusters: ArrayLike, level: float) -> Bools:
    """Whether the row's model is ahead of the column's: Holm-adjusted paired tests of all pairs on shared items."""
    pairs = every_pair(scores, clusters, level)
    ahead = np.zeros((scores.shape[1],) * 2, np.bool_)
    for (one, other, pair), adjusted in zip(pairs, holm([pair.p for *_, pair in pairs]), strict=True):
        if adjusted is not None and adjusted < 1 - level:
            ahead[(one, other) if (pair.difference or 0.0) > 0 else (other, one)] = True
    return ahead


def gini(values: ArrayLike) -> float | None:
    """The population's Gini: mean absolute difference of all pairs over twice the mean. It rises when scores fall."""
    array = np.asarray(values, float)
    known = array[~np.isnan(array)]
    return float(_gini(known)) if len(known) and known.sum() > 0 else None


def standard_deviation(values: ArrayLike) -> float | None:
    """The sample's standard deviation (n − 1)."""
    array = np.asarray(values, float)
    known = array[~np.isnan(array)]
    return float(known.std(ddof=1)) if len(known) > 1 else None


def spread(
    scores: ArrayLike, clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> tuple[IntervalEstimate, IntervalEstimate]:
    """Gini and standard deviation of the mean scores of models (columns) over items (rows), items resampled."""
    table = np.asarray(scores, float)
    table = table[:, ~np.isnan(table).all(axis=0)]
    means = np.nanmean(table, axis=0) if table.size else np.empty(0)
    drawn = resampled_means(table, clusters, resamples, seed)
    drawn = drawn[~np.isnan(drawn).any(axis=1) & (drawn.sum(axis=1) > 0)]
    of_sd = _with_interval(standard_deviation(means), lambda some: some.std(axis=-1, ddof=1), drawn, level)
    return _with_interval(gini(means), _gini, drawn, level), of_sd


def _with_interval(
    value: float | None, formula: Callable[[Floats], Floats], drawn: Floats, level: float
) -> IntervalEstimate:
    """A spread with its interval; on the scale of squares the noise of scores is subtracted."""
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
    """The share of pairs of models (columns) that (Holm-adjusted) paired tests separate."""
    table = np.asarray(scores, float)
    if table.ndim < 2 or table.shape[1] < 2 or not len(table):
        return NOTHING
    pairs = [pair for *_, pair in every_pair(table, clusters, level)]
    testable = sum(pair.clusters > 1 for pair in pairs)
    p_values = [pair.p for pair in pairs]
    apart = sum(p is not None and p < 1 - level for p in (holm(p_values) if adjusted else p_values))
    return IntervalEstimate(apart / testable if testable else None, None, None, testable)


def _gini(values: Floats) -> Floats:
    count = values.shape[-1]
    signs = 2.0 * np.arange(1, count + 1) - count - 1
    pairs, total = np.sort(values, axis=-1) @ signs, values.sum(axis=-1)
    return np.asarray(pairs / (count * total), np.float64)


class Entropies(NamedTuple):
    """One entry a row of counts, in nats; nan where undefined."""

    plain: Floats  # −Σ p ln p, which is low by about (choices − 1) / (2 × tests)
    corrected: Floats  # Miller and Madow's: plain + (choices seen − 1) / (2 × tests), but never more than ln(options)
    normalised: Floats  # plain over ln(options): 0 is always the same choice, 1 all choices equally often


def entropies(counts: ArrayLike, options: ArrayLike | None = None) -> Entropies:
    """The entropies of rows of counts; nan for empty rows. ``options``: choices of each row, nan where unknown."""
    table = np.asarray(counts, float)
    known = np.full(len(table), np.nan) if options is None else np.asarray(options, float)
    total, seen = table.sum(axis=1), (table > 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = scipy.special.entr(table / total[:, None]).sum(axis=1)
        most = np.log(known)
        corrected = np.fmin(plain + (seen - 1) / (2 * total), most)
        normalised = np.where(known >= 2, plain / most, np.nan)
    return Entropies(plain, np.where(total > 0, corrected, np.nan), normalised)
