"""Places of models, how far they can be trusted, and which models nothing tells apart."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from eyetest.measures.stats.intervals import Bools, Floats, IntervalEstimate, column_means, resampled_means
from eyetest.measures.stats.paired import every_pair, holm

Ties = Literal["average", "min"]
DECIMALS = 12
"""Sums in another order differ in their last bits: scores that agree so far are equal."""


class Standing(NamedTuple):
    """A model among others: its rank, the place it shares with models that cannot be told apart, its mean score."""

    rank: IntervalEstimate
    tie: int | None
    score: float | None


class MeanRank(NamedTuple):
    """The mean of a model's ranks over columns, and its rank by that mean."""

    mean: IntervalEstimate
    rank: IntervalEstimate


class Shift(NamedTuple):
    """A model's rank before and after, and how many places it climbed."""

    before: float | None
    after: float | None
    climbed: IntervalEstimate


def ranks(scores: ArrayLike, ties: Ties = "average") -> list[float | None]:
    """Ranks of scores: 1 is the highest. A score that is missing (nan) has no rank and takes no place.

    Equal scores have the mean of the places they take or, with ``ties="min"``, all the best of them.
    """
    return _plain(_ranks(np.asarray(scores, float), ties))


def mean_ranks(scores: ArrayLike) -> list[tuple[float | None, float | None]]:
    """For each model (row) its mean rank over the columns, and its rank by that mean, the lowest mean being 1.

    Within a column, equal scores have the mean of their places; models with the same mean rank share the best place
    (as ReForm-Eval's table does). A model that lacks a column is left out: its mean would be over other columns.
    """
    mean, rank = _mean_ranks(np.asarray(scores, float).T[None])
    return list(zip(_plain(mean[0]), _plain(rank[0]), strict=True))


def rank_shifts(before: ArrayLike, after: ArrayLike) -> list[float | None]:
    """How many places each model climbs (+) or falls (−) from one list of scores to another, among models in both."""
    first, second = _in_both(np.asarray(before, float), np.asarray(after, float))
    return _plain(_ranks(first) - _ranks(second))


def standings(
    scores: ArrayLike, clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> list[Standing]:
    """Rank models (columns) by their mean score over items (rows; nan where missing), items drawn again by cluster.

    The interval of a rank holds the places that are left by the models which are better or worse for certain, so it
    covers the true rank of each model, also of the best and the worst. Models with the same ``tie``, the best place
    in their group, cannot be told from the first of them by paired tests, adjusted for all pairs.
    """
    table = np.asarray(scores, float)
    means, drawn = column_means(table), resampled_means(table, clusters, resamples, seed)
    apart = told_apart(table, clusters, level)
    bounds = rank_bounds(means, drawn, apart.alone, len(np.unique(np.asarray(clusters))), level)
    order = np.argsort(-np.round(means, DECIMALS), kind="stable")[: np.count_nonzero(~np.isnan(means))]
    groups = tie_groups(order.tolist(), apart.surely)
    return [
        Standing(IntervalEstimate(rank, *(bounds[model] or (None, None))), groups.get(model), mean)
        for model, (rank, mean) in enumerate(zip(_plain(_ranks(means)), _plain(means), strict=True))
    ]


def mean_rank_standings(
    scores: Sequence[ArrayLike], clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> list[MeanRank]:
    """Mean ranks, and ranks by them, with intervals: ``scores`` holds a table of items × models for each column.

    The tables have the same rows; an item that does not count in one is nan in it. All are drawn again together.
    """
    seen, drawn = _together(scores, clusters, resamples, seed)
    (mean, rank), (mean_again, rank_again) = _mean_ranks(seen[None]), _mean_ranks(drawn)
    columns = _intervals(mean[0], mean_again, level), _intervals(rank[0], rank_again, level)
    return [MeanRank(*model) for model in zip(*columns, strict=True)]


def shift_standings(
    tables: tuple[ArrayLike, ArrayLike],
    clusters: ArrayLike,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> list[Shift]:
    """Rank shifts from one table of items × models to another with the same rows and columns, drawn together."""
    seen, drawn = _together(tables, clusters, resamples, seed)
    before, after = (_ranks(scores) for scores in _in_both(*seen))
    before_again, after_again = (_ranks(scores) for scores in _in_both(drawn[:, 0], drawn[:, 1]))
    climbed = _intervals(before - after, before_again - after_again, level)
    return [Shift(*model) for model in zip(_plain(before), _plain(after), climbed, strict=True)]


def _together(tables: Sequence[ArrayLike], clusters: ArrayLike, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """The means of each table's columns as seen (tables × models) and in each resample (× tables × models)."""
    arrays = [np.asarray(table, float) for table in tables]
    drawn = resampled_means(np.hstack(arrays), clusters, resamples, seed)
    return np.stack([column_means(table) for table in arrays]), drawn.reshape(len(drawn), len(arrays), -1)


def _ranks(scores: Floats, ties: Ties = "average") -> Floats:
    missing = np.isnan(scores)
    falling = np.where(missing, np.inf, -np.round(scores, DECIMALS))
    return np.where(missing, np.nan, stats.rankdata(falling, method=ties, axis=-1))


def _mean_ranks(scores: Floats) -> tuple[Floats, Floats]:
    """From … × columns × models, the mean rank and the rank by it: … × models."""
    whole = scores + 0 * scores.sum(axis=-2, keepdims=True)
    mean = _ranks(whole).mean(axis=-2)
    return mean, _ranks(-mean, "min")


def _in_both(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return first + 0 * second, second + 0 * first


def _intervals(values: Floats, drawn: Floats, level: float) -> list[IntervalEstimate]:
    """A value for each model with the middle of its column of replicates, widened to hold the value.

    There is none where most resamples miss something, as they do where a column rests on one or two items.
    """
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


class Apart(NamedTuple):
    """For each pair of models (row, column) whether a paired test finds the first ahead of the second.

    ``surely`` is after Holm's adjustment over all pairs: the chance of even one false word in it stays below the
    level. ``alone`` is what the test of the pair says by itself.
    """

    surely: Bools
    alone: Bools


def told_apart(scores: Floats, clusters: ArrayLike, level: float) -> Apart:
    """Test all pairs of models (columns) on the items (rows; nan where missing) that both have."""
    pairs = every_pair(scores, clusters, level)
    told = Apart(*(np.zeros((scores.shape[1],) * 2, np.bool_) for _ in range(2)))
    for (one, other, pair), adjusted in zip(pairs, holm([pair.p for *_, pair in pairs]), strict=True):
        ahead = (one, other) if (pair.difference or 0.0) > 0 else (other, one)
        told.surely[ahead] = adjusted is not None and adjusted < 1 - level
        told.alone[ahead] = pair.p is not None and pair.p < 1 - level
    return told


def tie_groups(order: list[int], ahead: Bools) -> dict[int, int]:
    """The best place of each model's tie group, models in their order.

    A group begins with its best model and holds those next in order that are not behind that model for sure; the
    first that is begins the next group. So a chain of neighbours is not one group from best to worst.
    """
    groups: dict[int, int] = {}
    best, first = -1, 0
    for rank, model in enumerate(order, 1):
        if rank == 1 or ahead[best, model]:
            best, first = model, rank
        groups[model] = first
    return groups


def rank_bounds(
    means: Floats, drawn: Floats, alone: Bools, clusters: int, level: float
) -> list[tuple[int, int] | None]:
    """The ranks that each model may have: the best and the worst that no model told from it rules out.

    Ranks of resamples would be too sure of themselves: where models are near, noise spreads the scores, and
    resamples begin from the spread ones. Here a model is told from others by how far all its differences stray at
    once when clusters are drawn again (Mogstad, Romano, Shaikh and Wilhelm), and by the pair's own test, which knows
    what few items are worth. None where most resamples miss something.
    """
    known = np.flatnonzero(~np.isnan(means))
    bounds: list[tuple[int, int] | None] = [None] * len(means)
    for model in known.tolist():
        others = known[known != model]
        again = drawn[:, [model]] - drawn[:, others]
        whole = again[~np.isnan(again).any(axis=1)]
        if 2 * len(whole) < len(drawn) or clusters < 2 or not len(whole):
            continue
        gaps, errors = means[model] - means[others], whole.std(axis=0)
        strays = np.abs(whole - gaps) / np.where(errors > 0, errors, np.inf)
        reach = _widened(float(np.quantile(strays.max(axis=1, initial=0.0), level)), clusters) * errors
        better = int((alone[others, model] & (-gaps > reach)).sum())
        worse = int((alone[model, others] & (gaps > reach)).sum())
        bounds[model] = 1 + better, len(known) - worse
    return bounds


def _widened(reach: float, clusters: int) -> float:
    """Few clusters drawn again vary too little: further, by as much as Student's t reaches (Hesterberg)."""
    tail = float(special.ndtr(-reach))
    return -float(special.stdtrit(clusters - 1, tail)) * float(np.sqrt(clusters / (clusters - 1)))
