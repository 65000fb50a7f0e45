"""Whether a model remembers a test, beside models that are known to be clean, at equal ability.

Tested is whether a model holds the answer keys of *some* originals more firmly than what it knows explains. A model
that knows more holds the keys of many originals a little more firmly, and most of all those that clean models hold
too; a model that has seen items holds the keys of a few of them far more firmly, whether other models hold them or
not. So the statistic looks at the tails of what the clean models leave unexplained.

With likelihoods: ``y`` is the log-odds of a key without the image, between −9 and 9. For originals and for twins
apart, ``y`` is regressed on the mean ``y`` of the clean models (without the model itself), and the median of the
residuals ``u`` is subtracted. ``T(u)`` is the mean of the largest 5 % of the residuals ``u`` (rounded down, at least
one), and ``s`` the median absolute residual of twins times 1.48::

    E = (T(u of originals) − ½ T(u of twins) − ½ T(−u of originals)) / s

With answers, whose values are shares from 0 to 1 and have no tails: the difference between a family's original and
the mean of its twins is regressed on the mean difference of the clean models, and ``E`` is the intercept.

p is the largest of several one-sided p-values for one new value: that of a t test of ``E`` against the clean models,
and, from `_FEWEST_FOR_SLOPE` clean models on, those after a linear regression of ``E`` on each ability, with the
error of the extrapolation. The spread of ``E`` is taken `_MARGIN` times as large as it is. Ability is read where
memory of some originals has little effect: fresh items where there are any, the share of families whose original is
preferred to its twins, and the slope of the regression above for originals divided by that for twins (from answers
instead of this slope: how often the keys of twins are given). A model with an ability outside the range of the clean
ones gets no p, since nothing is known of clean models like it. The range is that of a two-sided t test of one new
value at the level .15 × (5 / clean models)² / abilities.

Sources: prediction interval of a regression (Seber & Lee, Linear Regression Analysis, 2003, 5.3); leave-one-out means
so that a clean model is compared as a new one is. Assumed: some clean models of the tested model's ability are named,
or it is like them; a clean model's further knowledge goes with what the others know, or shows in the shares above.
Where knowledge falls on items at random, like memory does, and neither fresh items nor the shares show it, no
statistic of these data can tell the two apart. Checked by tests/measures/test_clean_models.py, whose generators share
nothing with this module, and on 600 trained models (design/contamination.md).
"""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Bools, Floats

FEWEST_CLEAN = 5  # with fewer, the range of ability among them says nothing
_FEWEST_FOR_SLOPE = 10  # with fewer, a regression on ability leaves too few degrees of freedom for any power
_OUTSIDE = 0.15  # level with five clean models: at a smaller one, abler clean models pass as like them and get a p
_TAIL = 0.05  # share of items in a tail: a mean over all items hides the few that are remembered
_MARGIN = 1.15  # E has heavier tails than a normal distribution: without it 2 to 4 % of clean models are below .01
_MAD = 1.4826  # standard deviation of a normal distribution, in median absolute deviations
_CERTAIN = 9.0  # largest log-odds: a few probabilities of nearly 0 or 1 would otherwise make up the tails
_ROUNDING = 1e-9  # differences and denominators below it are errors of rounding
_FLAT = 0.02  # smallest slope that is divided by: a slope of nearly 0 would give a ratio of any size


class EditionColumns(NamedTuple):
    """What the columns of a table of values stand for: the family of each item, and whether it is the original."""

    family: NDArray[np.int64]
    original: Bools


class Ability(NamedTuple):
    """A figure that shows how much models know: its name and its value for each model, the tested one last."""

    name: str
    values: Floats


class CleanComparison(NamedTuple):
    """The p of a model beside clean ones, or the ability by which it lies outside their range.

    Both are None where the clean models do not differ from each other.
    """

    p: float | None
    outside: Ability | None = None


def compare_with_clean(
    held: Floats, members: EditionColumns, fresh: Floats | None, *, likelihoods: bool
) -> CleanComparison:
    """Return the p of the last row of ``held`` (models × members) beside the other rows, which are clean models.

    ``held`` tells how firmly a model holds the key of a member: with ``likelihoods`` its probability, without them a
    share of answers. It has no gaps, and every family has one original and at least one twin. ``fresh`` is the score
    of each model on fresh items, the tested one last.
    """
    values = _log_odds(held) if likelihoods else held
    differences = _less_twins(values, members)
    abilities = _abilities(values, differences, members, likelihoods=likelihoods)
    if fresh is not None:
        abilities.insert(0, Ability("fresh items", fresh))
    for ability in abilities:
        if _is_outside(ability.values, len(abilities)):
            return CleanComparison(None, ability)
    excess = _tail_excess(values, members) if likelihoods else _intercepts(differences)
    p = _p_of_last(excess, None)
    if p is not None and len(excess) > _FEWEST_FOR_SLOPE:
        at_ability = [_p_of_last(excess, ability.values) for ability in abilities]
        p = max([p, *(value for value in at_ability if value is not None)])
    return CleanComparison(p)


def _log_odds(held: Floats) -> Floats:
    probabilities = np.clip(held, _ROUNDING, 1 - _ROUNDING)  # of 0 and 1 the log-odds are infinite
    log_odds = scipy.special.logit(probabilities)
    return np.asarray(np.clip(log_odds, -_CERTAIN, _CERTAIN))


def _less_twins(values: Floats, members: EditionColumns) -> Floats:
    """Models × families, by ascending number of the family: the original less the mean of its twins."""
    twins = ~members.original
    families, places = np.unique(members.family, return_inverse=True)
    counts = np.bincount(places[twins], minlength=len(families))
    sums = np.zeros((len(values), len(families)))
    np.add.at(sums.T, places[twins], values[:, twins].T)
    originals = np.zeros_like(sums)
    originals[:, places[members.original]] = values[:, members.original]
    return originals - sums / counts


def _abilities(values: Floats, differences: Floats, members: EditionColumns, *, likelihoods: bool) -> list[Ability]:
    """How often a model prefers originals to their twins (ties count half), and how steeply it follows the clean
    models on originals, divided by how steeply on twins; from answers, instead of this ratio, how often it gives the
    keys of twins.
    """
    preferred = (differences > _ROUNDING).mean(axis=1)
    tied = (np.abs(differences) <= _ROUNDING).mean(axis=1)
    abilities = [Ability("originals preferred to twins", preferred + tied / 2)]
    if likelihoods:
        slopes_on_originals, _ = _fits(values[:, members.original])
        slopes_on_twins, _ = _fits(values[:, ~members.original])
        ratio = slopes_on_originals / np.where(np.abs(slopes_on_twins) > _FLAT, slopes_on_twins, _FLAT)
        abilities.append(Ability("slope on the clean models, of originals beside twins", ratio))
    else:
        abilities.append(Ability("keys of twins", values[:, ~members.original].mean(axis=1)))
    return abilities


def _is_outside(values: Floats, tests: int) -> bool:
    """Whether the last value lies outside the others, by a two-sided t test of one new value.

    ``tests``: the number of abilities that are tested, by which the level is divided.
    """
    clean, count = values[:-1], len(values) - 1
    distance = abs(float(values[-1] - clean.mean()))
    if distance <= _ROUNDING:
        return False
    spread = float(clean.std(ddof=1)) * np.sqrt(1 + 1 / count)
    level = _OUTSIDE * (FEWEST_CLEAN / count) ** 2
    quantile = float(scipy.special.stdtrit(count - 1, 1 - level / tests / 2))
    return distance > float(spread) * quantile


def _fits(values: Floats) -> tuple[Floats, Floats]:
    """The slope of each model's values on the mean of the clean models, and what is left: values less slope × mean.

    The intercept stays in what is left. The mean is taken without the model itself. Noise in a mean weakens a slope,
    and a mean over all clean models has less noise than one without a clean model. So the slope of the tested model
    is the average of its slopes on the same means as theirs, each without one clean model.
    """
    clean = values[:-1]
    count = len(clean)
    means = (clean.sum(axis=0) - clean) / (count - 1)
    centred = means - means.mean(axis=1, keepdims=True)
    squares = np.maximum((centred**2).sum(axis=1), _ROUNDING)
    slopes = (centred * clean).sum(axis=1) / squares
    of_tested = float(((centred @ values[-1]) / squares).mean())
    every_slope = np.append(slopes, of_tested)
    every_mean = np.vstack([means, clean.mean(axis=0)])
    return every_slope, values - every_slope[:, None] * every_mean


def _intercepts(differences: Floats) -> Floats:
    """E of each model, from answers: its mean difference where that of the clean models is 0."""
    return np.asarray(_fits(differences)[1].mean(axis=1))


def _tail_excess(log_odds: Floats, members: EditionColumns) -> Floats:
    """E of each model, from likelihoods: how far the upper tail of originals is beyond the tails that are usual."""
    originals = _centred_residuals(log_odds[:, members.original])
    twins = _centred_residuals(log_odds[:, ~members.original])
    spread = _MAD * np.median(np.abs(twins), axis=1)
    usual = (_upper_tail(twins) + _upper_tail(-originals)) / 2
    return np.asarray((_upper_tail(originals) - usual) / np.maximum(spread, _ROUNDING))


def _centred_residuals(values: Floats) -> Floats:
    residuals = _fits(values)[1]
    return np.asarray(residuals - np.median(residuals, axis=1, keepdims=True))


def _upper_tail(values: Floats) -> Floats:
    """T: the mean of the largest values of each row."""
    count = max(1, int(_TAIL * values.shape[1]))
    largest = np.partition(values, -count, axis=1)[:, -count:]
    return np.asarray(largest.mean(axis=1))


def _p_of_last(excess: Floats, ability: Floats | None) -> float | None:
    """One-sided p of the last value beside the others, after a regression on ability where one is passed.

    ``leverage`` is the variance of the prediction error in variances of a single value. None where the clean models
    do not differ in ability, or not in what the regression leaves.
    """
    clean, count = excess[:-1], len(excess) - 1
    expected = float(clean.mean())
    leverage = 1 + 1 / count
    freedom = count - 1
    residuals = clean - expected
    if ability is not None:
        centred = ability - ability[:-1].mean()
        squares = float((centred[:-1] ** 2).sum())
        if squares <= _ROUNDING**2:
            return None
        slope = float(centred[:-1] @ residuals) / squares
        residuals = residuals - slope * centred[:-1]
        expected += slope * float(centred[-1])
        leverage += float(centred[-1]) ** 2 / squares
        freedom -= 1
    spread = _MARGIN * np.sqrt(float((residuals**2).sum()) / freedom)
    if spread <= _ROUNDING:
        return None
    t = (float(excess[-1]) - expected) / (spread * np.sqrt(leverage))
    return float(scipy.special.stdtr(freedom, -t))
