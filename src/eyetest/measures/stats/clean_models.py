"""Memory of a test beside models that are known to be clean, with their ability controlled for.

Estimated: whether a model holds the answer keys of *some* originals more firmly than what it knows explains. A model
that knows more holds the keys of many originals a little more firmly, and most of all those that clean models hold
too; a model that has seen items holds the keys of a few of them far more firmly, whether other models hold them or
not. So the statistic looks at the tails of what the clean models leave unexplained.

With likelihoods: ``y`` is the log-odds of a key without the image. For originals and for twins apart, ``y`` is
regressed on the mean ``y`` of the clean models (without the model itself), and the median of the residuals ``u`` is
subtracted. With ``T`` the mean of the largest 5 % of some residuals, and ``s`` the median absolute residual of twins
times 1.48::

    E = (T(u of originals) − ½ T(u of twins) − ½ T(−u of originals)) / s

With answers, which are 0 or 1: ``E`` is the intercept of a family's original less its twins on the same difference
among the clean models.

p is the largest of some one-sided tests of one new value: the t test of ``E`` against the clean models, and, from
`_FEWEST_FOR_SLOPE` clean models on, the same after a linear regression of ``E`` on each ability, with the error of
the extrapolation. Ability is read where memory of some originals has little effect: fresh items where there are any,
the share of families whose original is preferred to its twins, and the slope of the regression above for originals
beside that for twins (from answers, how often the keys of twins are given). A model whose ability lies outside that
of the clean ones (t tests of one new value, adjusted by their number) gets no p, since nothing is known of clean
models like it.

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
_FEWEST_FOR_SLOPE = 10
_OUTSIDE = 0.15  # two-sided, of five clean models; their range is less known than that of many
_TAIL = 0.05
_MARGIN = 1.15  # of the spread: without it 2 to 4 % of clean models are below .01, because E has heavier tails
_MAD = 1.4826
_CERTAIN = 9.0  # log-odds, at most
_ROUNDING = 1e-9
_FLAT = 0.02  # a slope on the clean models that is not told from none


class EditionColumns(NamedTuple):
    """The columns of a table of values: the family of each member, and whether it is the original."""

    family: NDArray[np.int64]
    original: Bools


class Ability(NamedTuple):
    """Something that shows what models know: its name, and a value a model, the tested one last."""

    name: str
    values: Floats


class CleanComparison(NamedTuple):
    """The p of a model beside clean ones, or the ability by which it lies outside their range."""

    p: float | None
    outside: Ability | None = None


def compare_with_clean(
    held: Floats, members: EditionColumns, fresh: Floats | None, *, likelihoods: bool
) -> CleanComparison:
    """Compare the last row of ``held`` (models × members) with the others, which are clean.

    ``held`` has no gaps, and every family one original and at least one twin. ``fresh`` is what each model reaches on
    fresh items. ``likelihoods`` tells probabilities from answers.
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
        p = max(p, *(value for value in at_ability if value is not None))
    return CleanComparison(p)


def _log_odds(held: Floats) -> Floats:
    log_odds = scipy.special.logit(np.clip(held, _ROUNDING, 1 - _ROUNDING))
    return np.asarray(np.clip(log_odds, -_CERTAIN, _CERTAIN))


def _less_twins(values: Floats, members: EditionColumns) -> Floats:
    """Each original less the mean of its twins: models × families, in the order of families."""
    twins = ~members.original
    families, places = np.unique(members.family, return_inverse=True)
    counts = np.bincount(places[twins], minlength=len(families))
    sums = np.zeros((len(values), len(families)))
    np.add.at(sums.T, places[twins], values[:, twins].T)
    originals = np.zeros_like(sums)
    originals[:, places[members.original]] = values[:, members.original]
    return originals - sums / counts


def _abilities(values: Floats, differences: Floats, members: EditionColumns, *, likelihoods: bool) -> list[Ability]:
    """How often a model prefers originals, and how steeply it follows the clean models on them, beside on twins; from
    answers, how often it gives the keys of twins.
    """
    preferred = (differences > _ROUNDING).mean(axis=1) + (np.abs(differences) <= _ROUNDING).mean(axis=1) / 2
    abilities = [Ability("originals preferred to twins", preferred)]
    if likelihoods:
        steepness, on_twins = (_fits(values[:, own])[0] for own in (members.original, ~members.original))
        ratio = steepness / np.where(np.abs(on_twins) > _FLAT, on_twins, _FLAT)
        abilities.append(Ability("slope on the clean models, of originals beside twins", ratio))
    else:
        abilities.append(Ability("keys of twins", values[:, ~members.original].mean(axis=1)))
    return abilities


def _is_outside(values: Floats, tests: int) -> bool:
    """Whether the last value lies outside the others, by a two-sided t test of one new value, one of some tests."""
    clean, count = values[:-1], len(values) - 1
    distance = abs(float(values[-1] - clean.mean()))
    if distance <= _ROUNDING:
        return False
    spread = float(clean.std(ddof=1)) * np.sqrt(1 + 1 / count)
    level = _OUTSIDE * (FEWEST_CLEAN / count) ** 2
    return distance > float(spread) * float(scipy.special.stdtrit(count - 1, 1 - level / tests / 2))


def _fits(values: Floats) -> tuple[Floats, Floats]:
    """The slope of each model's values on the mean of the clean ones, and the values that the slope leaves.

    The mean is taken without the model itself; for the tested model, whose slope must be weakened by noise as much as
    theirs, the slope is the mean over the same means, each without one clean model.
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
    """What a model adds to originals where the clean models add nothing."""
    return np.asarray(_fits(differences)[1].mean(axis=1))


def _tail_excess(log_odds: Floats, members: EditionColumns) -> Floats:
    """E of each model: the upper tail of originals against the tails of twins and the lower tail of originals."""
    originals, twins = (_centred_residuals(log_odds[:, own]) for own in (members.original, ~members.original))
    spread = _MAD * np.median(np.abs(twins), axis=1)
    usual = (_upper_tail(twins) + _upper_tail(-originals)) / 2
    return np.asarray((_upper_tail(originals) - usual) / np.maximum(spread, _ROUNDING))


def _centred_residuals(values: Floats) -> Floats:
    residuals = _fits(values)[1]
    return np.asarray(residuals - np.median(residuals, axis=1, keepdims=True))


def _upper_tail(values: Floats) -> Floats:
    """The mean of the largest values of each row."""
    count = max(1, int(_TAIL * values.shape[1]))
    return np.asarray(np.partition(values, -count, axis=1)[:, -count:].mean(axis=1))


def _p_of_last(excess: Floats, ability: Floats | None) -> float | None:
    """One-sided p of the last value beside the others, after a regression on ability where that is named."""
    clean, count = excess[:-1], len(excess) - 1
    expected, leverage, freedom = float(clean.mean()), 1 + 1 / count, count - 1
    rest = clean - expected
    if ability is not None:
        centred = ability - ability[:-1].mean()
        squares = float((centred[:-1] ** 2).sum())
        if squares <= _ROUNDING**2:
            return None
        slope = float(centred[:-1] @ rest) / squares
        rest = rest - slope * centred[:-1]
        expected += slope * float(centred[-1])
        leverage += float(centred[-1]) ** 2 / squares
        freedom -= 1
    spread = _MARGIN * np.sqrt(float((rest**2).sum()) / freedom)
    if spread <= _ROUNDING:
        return None
    t = (float(excess[-1]) - expected) / (spread * np.sqrt(leverage))
    return float(scipy.special.stdtr(freedom, -t))
