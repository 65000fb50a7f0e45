"""How items answer to ability: the two-parameter logistic model, P(right) = σ(aθ + d), fitted by marginal EM.

``a`` (slope) says how sharply an item tells models apart, ``d`` (intercept) how easy it is. Panels are small, so both
have priors: a ~ N(1, ½²) kept within [.05, 4], d ~ N(0, 2²). Ability θ is standard normal. With many items the priors
of the items set the scale, and abilities may spread wider than that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from eyetest.measures.stats.threads import one_thread

Floats = NDArray[np.float64]

NODES: Floats = np.linspace(-4.0, 4.0, 33)
"""Abilities over which items are fitted."""
SCALE: Floats = np.linspace(-8.0, 8.0, 801)
"""Abilities at which models are placed: finer, because many items know a model better than `NODES` can say."""
SLOPE_MEAN, SLOPE_SPREAD, SLOPE_LEAST, SLOPE_MOST = 1.0, 0.5, 0.05, 4.0
INTERCEPT_SPREAD = 2.0
_LONGEST_STEP = 1.0
_ITEMS_AT_ONCE = 4_096


@dataclass(frozen=True)
class ItemFit:
    """Slopes and intercepts of items, and for each model of the panel the chance of each ability on `SCALE`."""

    slopes: Floats
    intercepts: Floats
    panel: Floats
    rounds: int
    converged: bool


def fit(responses: ArrayLike, tolerance: float = 1e-3, most_rounds: int = 500) -> ItemFit:
    """Fit items to a panel. ``responses`` has a row an item and a column a model, from 0 to 1, nan where not asked.

    Stops when no slope and no intercept moves by more than ``tolerance`` in a round.
    """
    with one_thread():
        return _fitted(*_split(responses), tolerance, most_rounds)


def place(fitted: ItemFit, responses: ArrayLike) -> Floats:
    """The chance of each ability on `SCALE` for models that answered the fitted items: models × abilities."""
    with one_thread():
        return _posterior(*_split(responses), fitted.slopes, fitted.intercepts, SCALE)


def abilities(placed: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each model's ability, from the chances on `SCALE`."""
    mean = placed @ SCALE
    return mean, np.sqrt(np.maximum(placed @ SCALE**2 - mean**2, 0.0))


def probabilities(slopes: Floats, intercepts: Floats, at: ArrayLike) -> Floats:
    """The chance that each ability gets each item right: items × abilities."""
    return np.asarray(expit(np.outer(slopes, np.asarray(at, float)) + intercepts[:, None]), float)


def _split(responses: ArrayLike) -> tuple[Floats, Floats]:
    """What was right, 0 where nothing is known; and 1 where something is."""
    table = np.asarray(responses, float)
    asked = ~np.isnan(table)
    return np.where(asked, table, 0.0), asked.astype(float)


def _fitted(right: Floats, asked: Floats, tolerance: float, most_rounds: int) -> ItemFit:
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
        logs += right[some].T @ logits + asked[some].T @ log_expit(-logits)
    likely = np.exp(logs - logs.max(1, keepdims=True))
    return np.asarray(likely / likely.sum(1, keepdims=True), float)


def _newton_step(expected: Floats, tried: Floats, slopes: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
    """One step of all items at once. A slope that presses against its limit stays there, its intercept moves on."""
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
