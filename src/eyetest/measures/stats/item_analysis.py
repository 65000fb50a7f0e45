"""Item analysis on a panel (items × models, nan where not asked): accuracy, item-rest correlation, and the 2PL curve
P(right) = σ(aθ + d), fitted by marginal EM with priors a ~ N(1, ½²) within [.05, 4], d ~ N(0, 2²), θ ~ N(0, 1).
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import Bools, Floats, one_thread

_ENOUGH = 3  # two models always lie on a line, so a correlation over them says nothing
_ROUNDING = 1e-12  # equal scores may come out so far apart, as a part of the largest
NODES: Floats = np.linspace(-4.0, 4.0, 33)  # abilities over which items are fitted
SCALE: Floats = np.linspace(-8.0, 8.0, 801)  # abilities of a model: finer, as many items determine it better
SLOPE_MEAN, SLOPE_SPREAD, SLOPE_LEAST, SLOPE_MOST = 1.0, 0.5, 0.05, 4.0
INTERCEPT_SPREAD = 2.0
_LONGEST_STEP = 1.0
_ITEMS_AT_ONCE = 4_096


def item_rest(scores: ArrayLike) -> Floats:
    """Each item's correlation, over models, with their mean score on all others; nan where undefined."""
    table, known = _table(scores)
    asked = known.sum(axis=0)
    known = known & (asked > 1)
    rest = np.where(known, (table.sum(axis=0) - table) / np.maximum(asked - 1, 1), 0.0)
    item = np.where(known, table, 0.0)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    item = np.where(known, item - item.sum(axis=1, keepdims=True) / count, 0.0)
    rest = np.where(known, rest - rest.sum(axis=1, keepdims=True) / count, 0.0)
    squares, rest_squares = (item**2).sum(axis=1), (rest**2).sum(axis=1)
    noise = count[:, 0] * (_ROUNDING * np.abs(table).max(initial=0.0)) ** 2
    varies = (np.minimum(squares, rest_squares) > noise) & (count[:, 0] >= _ENOUGH)
    scale = np.where(varies, np.sqrt(squares * rest_squares), np.nan)
    return np.asarray((item * rest).sum(axis=1) / scale)


def _table(scores: ArrayLike) -> tuple[Floats, Bools]:
    """Scores with 0 for unknown ones, and which are known."""
    table = np.asarray(scores, float)
    known = ~np.isnan(table)
    return np.where(known, table, 0.0), known


@dataclass(frozen=True)
class ItemFit:
    """Slopes and intercepts of items, and for each model of the panel the chance of each ability on `SCALE`."""

    slopes: Floats
    intercepts: Floats
    panel: Floats
    rounds: int
    converged: bool


def fit(responses: ArrayLike, tolerance: float = 1e-3, most_rounds: int = 500) -> ItemFit:
    """Fit items to a panel (items × models, from 0 to 1, nan where not asked) until parameters are stable."""
    with one_thread():
        return _fitted(*_table(responses), tolerance, most_rounds)


def posterior_abilities(fitted: ItemFit, responses: ArrayLike) -> Floats:
    """The chance of each ability on `SCALE` for models that answered the fitted items: models × abilities."""
    with one_thread():
        right, known = _table(responses)
        return _posterior(right, known.astype(float), fitted.slopes, fitted.intercepts, SCALE)


def probabilities(slopes: Floats, intercepts: Floats, at: ArrayLike) -> Floats:
    """The chance that each ability gets each item right: items × abilities."""
    return np.asarray(scipy.special.expit(np.outer(slopes, np.asarray(at, float)) + intercepts[:, None]), float)


def _fitted(right: Floats, known: Bools, tolerance: float, most_rounds: int) -> ItemFit:
    asked = known.astype(float)
    share = (right.sum(1) + 0.5) / (asked.sum(1) + 1.0)
    slopes, intercepts = np.full(len(right), SLOPE_MEAN), np.log(share / (1 - share))
    rounds, converged = 0, False
    while rounds < most_rounds and not converged:
        rounds += 1
        likely = _posterior(right, asked, slopes, intercepts, NODES)
        before = slopes, intercepts
        slopes, intercepts = _newton_step(right @ likely, asked @ likely, *before)
        moved = np.abs(np.subtract((slopes, intercepts), before))
        converged = not moved.size or float(moved.max()) < tolerance
    panel = _posterior(right, asked, slopes, intercepts, SCALE)
    return ItemFit(slopes, intercepts, panel, rounds, converged)


def _posterior(right: Floats, asked: Floats, slopes: Floats, intercepts: Floats, at: Floats) -> Floats:
    logs = np.tile(-(at**2) / 2, (right.shape[1], 1))
    for start in range(0, len(right), _ITEMS_AT_ONCE):
        some = slice(start, start + _ITEMS_AT_ONCE)
        logits = np.outer(slopes[some], at) + intercepts[some, None]
        logs += right[some].T @ logits + asked[some].T @ scipy.special.log_expit(-logits)
    likely = np.exp(logs - logs.max(1, keepdims=True))
    return np.asarray(likely / likely.sum(1, keepdims=True), float)


def _newton_step(expected: Floats, tried: Floats, slopes: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
    """One step of all items at once. A slope at its limit stays there, its intercept moves on."""
    chance = probabilities(slopes, intercepts, NODES)
    surplus = expected - tried * chance
    weight = tried * chance * (1 - chance)
    pull = surplus @ NODES - (slopes - SLOPE_MEAN) / SLOPE_SPREAD**2
    held = ((slopes <= SLOPE_LEAST) & (pull < 0)) | ((slopes >= SLOPE_MOST) & (pull > 0))
    pull, lift = np.where(held, 0.0, pull), surplus.sum(1) - intercepts / INTERCEPT_SPREAD**2
    slope_curve, both = weight @ NODES**2 + 1 / SLOPE_SPREAD**2, np.where(held, 0.0, weight @ NODES)
    intercept_curve = weight.sum(1) + 1 / INTERCEPT_SPREAD**2
    steps = np.stack([intercept_curve * pull - both * lift, slope_curve * lift - both * pull])
    steps /= slope_curve * intercept_curve - both**2
    steps /= np.maximum(np.abs(steps).max(0) / _LONGEST_STEP, 1.0)
    return np.clip(slopes + steps[0], SLOPE_LEAST, SLOPE_MOST), intercepts + steps[1]
