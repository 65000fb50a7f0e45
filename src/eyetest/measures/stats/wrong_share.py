"""The share of wrong keys in a benchmark, estimated from scores against keys, and each item's
probability of being wrong.

Estimated is π, the share of given keys that are wrong. Scores of right keys have the density f₀,
scores of wrong keys f₁, so the given keys' scores have g = (1 − π) f₀ + π f₁. Scores of keys that
are moved to each other option of their items have h = (1 − ε) f₁ + ε f₀, where ε is π times the
mean of 1 / (options − 1) over the items, the share of moves that go from a wrong key to the right
one. With ρ = f₀ / f₁ the ratio of what is observed is

    g / h = ((1 − π) ρ + π) / ((1 − ε) + ε ρ),

which falls to a floor near π where right keys have no scores (ρ → 0). log ρ is taken as linear in
log u, where u is the share of moved keys with a lower score (half of the ties): a power law, whose
form does not depend on the scale of the score. For each π of a grid it is fitted to the scores from
the smaller of the third percentile of moved keys and the median of given ones upwards, by maximum
likelihood with weak normal priors on level and slope. This profile likelihood, with a flat prior on
π from 0 to its bound, gives the mean of π; the values within 1.92 of its maximum are the 95 %
interval if log ρ is linear, which `share_interval` widens by what this assumption leaves out. The
probability that an item's key is wrong is π / ((1 − π) ρ + π), averaged over π.

The form matters more than chance, so `interval_of_forms` puts (uᵏ − 1) / k, which is log u for k = 0,
in the place of log u, for k from −.15 to .3. It takes the 95 % intervals of all forms whose largest log
likelihood is within 4 of the best one together.

Without the line only a largest share is identified: with G and H the shares of given and moved keys
above a cut, and F₀ that of right keys, (1 − π) (1 − ε) F₀ − π ε F₀ = (1 − ε) G − π H. Since F₀ ≥ 0
and ε = π b, π ≤ G / (H + b G) at every cut.

Assumed: a wrong key is as likely to be any of the item's wrong options (where wrong keys fall on
the option that most models prefer among these, they are harder to see, and fewer are expected than
there are); an error that nearly all models share cannot be separated from a wrong key and counts as
one. Independent check: tests/measures/stats/test_consensus.py (counts of simulated wrong keys) and
tests/measures/test_planted_keys.py (keys moved in real answers).
"""

from typing import NamedTuple

import numpy as np
import scipy

from eyetest.measures.stats.intervals import Floats

LARGEST_SHARE = 0.5  # with more than half of the keys wrong, models cannot be weighed by their agreement with them
_GRID = 41  # shares for which the likelihood is computed, closer together where they are small
_SMALLEST_SHARE = 1e-5  # the logarithm of 0 is infinite
_MOVED_QUANTILE, _GIVEN_QUANTILE = 0.03, 0.5  # below the smaller, log ρ is not linear and would bend the line above
_BINS = 300  # scores are averaged within so many bins, since a fit to every score of a large benchmark is slow
_FALL = 1.92  # in log likelihood, half of the 95 % quantile of chi-squared with one degree of freedom
_LEVEL_SPREAD, _SLOPE_SPREAD = 20.0, 10.0  # of normal priors: where scores are separable, both would be infinite
_SMALLEST_SLOPE = 1e-3  # a slope below 0 would call keys with higher scores less suspect
_TIE_BREAK = 1e-6  # of log u: small enough to leave every u in its place
_NEGLIGIBLE = 1e-6  # shares with less weight change no printed figure
_FORMS = (-0.15, 0.15, 0.3)  # exponents beside 0: with larger ones the scores of real answers do not agree
_AS_LIKELY = 4.0  # in log likelihood: forms that are worse by more are excluded by the scores
_CUTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # shares of moved keys above a cut: above higher ones are few
_ERRORS = 2.58  # standard errors: of nine cuts the smallest bound is taken


class KeyScores(NamedTuple):
    """Scores against keys: as they are given, and as they are moved to each other option."""

    given: Floats  # a score for each item
    moved: Floats  # a score for each item and other option
    weights: Floats  # of the moved keys, one in all for each item
    back: float  # mean over items of 1 / (options − 1): the chance that a wrong key is moved to the right option


class WrongShare(NamedTuple):
    """The share of wrong keys with its interval, and by item what the score says of the given key."""

    mean: float  # of the share, over its posterior distribution
    low: float  # lower end of the 95 % interval of the share, if log ρ is linear
    high: float
    ratios: Floats  # log likelihood ratio, key wrong against key right: −log ρ
    probabilities: Floats  # of the key being wrong


class _Bins(NamedTuple):
    """Binned positions (log u) of given and moved keys, in the region where ρ is modelled."""

    positions: Floats  # mean of each bin
    given: Floats  # weight of given keys in each bin
    moved: Floats  # weight of moved keys in each bin
    offset: float  # log ratio of all given to all moved keys
    back: float


def estimate_share(scores: KeyScores, bound: float) -> WrongShare:
    """Return the share of wrong keys and, by given key, the log likelihood ratio and the probability of being wrong.

    ``bound``: the largest share that is possible; a larger one than `LARGEST_SHARE` counts as that.
    """
    positions, bins = _prepared(scores)
    grid = np.linspace(0, 1, _GRID) ** 2
    shares = np.maximum(min(bound, LARGEST_SHARE) * grid, _SMALLEST_SHARE)
    likelihoods, coefficients = _profile(bins, shares)
    weights = np.exp(likelihoods - likelihoods.max()) * _trapezoid_weights(grid)
    weights /= weights.sum()
    probabilities = np.zeros(len(positions))
    for share, weight, (level, slope) in zip(shares, weights, coefficients, strict=True):
        if weight > _NEGLIGIBLE:
            log_rho = level - slope * positions
            probabilities += weight * scipy.special.expit(scipy.special.logit(share) - log_rho)
    level, slope = weights @ coefficients
    low, high = _interval(shares, likelihoods)
    return WrongShare(float(weights @ shares), low, high, slope * positions - level, probabilities)


def interval_of_forms(scores: KeyScores, bound: float) -> tuple[float, float]:
    """Return the ends of the interval of the share of wrong keys over all forms of log ρ that the scores allow."""
    _, bins = _prepared(scores)
    shares = np.maximum(min(bound, LARGEST_SHARE) * np.linspace(0, 1, _GRID) ** 2, _SMALLEST_SHARE)
    likelihoods = [_profile(bins, shares)[0]]
    for form in _FORMS:
        positions = np.expm1(form * bins.positions) / form
        likelihoods.append(_profile(bins._replace(positions=positions), shares)[0])
    best = max(float(of_form.max()) for of_form in likelihoods)
    likely = [of_form for of_form in likelihoods if of_form.max() >= best - _AS_LIKELY]
    ends = [_interval(shares, of_form) for of_form in (likelihoods[0], *likely)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def largest_share(scores: KeyScores, bound: float) -> float:
    """Return the largest share of wrong keys that the scores leave possible, whatever the form of ρ.

    It is an upper 95 % limit: at each cut G is raised and H lowered by its standard errors (Wilson's limit for G).
    """
    order = np.argsort(-scores.moved, kind="stable")
    weights_above = np.cumsum(scores.weights[order]) / scores.weights.sum()
    items = len(scores.given)
    largest = min(bound, LARGEST_SHARE)
    for share in _CUTS:
        place = min(int(np.searchsorted(weights_above, share)), len(order) - 1)
        cut = scores.moved[order[place]]
        of_moved = float(scores.weights[scores.moved >= cut].sum() / scores.weights.sum())
        of_moved -= _ERRORS * np.sqrt(of_moved * (1 - of_moved) / items)
        of_given = _upper_limit(float((scores.given >= cut).mean()), items)
        if of_moved > 0:
            largest = min(largest, of_given / (of_moved + scores.back * of_given))
    return largest


def _upper_limit(share: float, items: int) -> float:
    """Wilson's upper limit of a share."""
    middle = share + _ERRORS**2 / (2 * items)
    spread = _ERRORS * np.sqrt(share * (1 - share) / items + _ERRORS**2 / (4 * items**2))
    return float((middle + spread) / (1 + _ERRORS**2 / items))


def _trapezoid_weights(grid: Floats) -> Floats:
    """The weights of the points of a rising grid in the trapezoid rule."""
    steps = np.diff(grid)
    return np.asarray((np.append(steps, 0.0) + np.append(0.0, steps)) / 2)


def _prepared(scores: KeyScores) -> tuple[Floats, _Bins]:
    """The positions of the given keys, and those of given and moved keys in bins."""
    order = np.argsort(scores.moved, kind="stable")
    ascending = scores.moved[order]
    weights_below = np.append(0.0, np.cumsum(scores.weights[order]))
    positions = _positions(scores.given, ascending, weights_below)
    positions_of_moved = _positions(scores.moved, ascending, weights_below)
    return positions, _binned(positions, positions_of_moved, scores)


def _positions(scores: Floats, moved: Floats, weights_below: Floats) -> Floats:
    """Return log u of each score, the log share of moved keys with a lower score, half of the ties counted.

    ``moved``: scores of moved keys in ascending order; ``weights_below``: 0 and their cumulated weights. Scores
    without a moved key between them would tie, so a negligible part of the score itself is added.
    """
    below = weights_below[np.searchsorted(moved, scores, side="left")]
    up_to = weights_below[np.searchsorted(moved, scores, side="right")]
    total = weights_below[-1]
    shares = np.maximum((below + up_to) / (2 * total), 0.5 / total)
    spread = max(float(np.ptp(scores)), 1e-9)
    tie_break = _TIE_BREAK * (scores - scores.min()) / spread
    return np.asarray(np.log(shares) + tie_break)


def _binned(given: Floats, moved: Floats, scores: KeyScores) -> _Bins:
    """Mean positions of both samples, and their weights, in bins of about as many keys each."""
    start = min(float(np.log(_MOVED_QUANTILE)), float(np.quantile(given, _GIVEN_QUANTILE)))
    in_given, in_moved = given >= start, moved >= start
    positions = np.concatenate([given[in_given], moved[in_moved]])
    of_given = np.concatenate([np.ones(in_given.sum()), np.zeros(in_moved.sum())])
    of_moved = np.concatenate([np.zeros(in_given.sum()), scores.weights[in_moved]])
    edges = np.unique(np.quantile(positions, np.linspace(0, 1, _BINS + 1)))
    bin_of = np.searchsorted(edges[1:-1], positions, side="right")
    means = np.bincount(bin_of, positions) / np.maximum(np.bincount(bin_of), 1)
    offset = float(np.log(len(given) / scores.weights.sum()))
    given_weights = np.asarray(np.bincount(bin_of, of_given), np.float64)
    moved_weights = np.asarray(np.bincount(bin_of, of_moved), np.float64)
    return _Bins(means, given_weights, moved_weights, offset, scores.back)


def _profile(bins: _Bins, shares: Floats) -> tuple[Floats, Floats]:
    """By share of wrong keys the largest penalised log likelihood, and level and slope of log ρ that reach it."""
    likelihoods, coefficients = np.zeros(len(shares)), np.zeros((len(shares), 2))
    start = np.array([-2.0, 1.0])
    for place, share in enumerate(shares):
        best = scipy.optimize.minimize(
            _loss,
            start,
            args=(share, bins),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None), (_SMALLEST_SLOPE, None)],
        )
        start = best.x
        likelihoods[place] = -best.fun
        coefficients[place] = best.x
    return likelihoods, coefficients


def _loss(coefficients: Floats, share: float, bins: _Bins) -> tuple[float, Floats]:
    """Minus the penalised log likelihood of which scores are of given and which of moved keys, and its derivatives.

    The odds of a score to be of a given key are g / h times the number of given to moved keys; derivatives are taken
    by log ρ, and from there by level and slope.
    """
    level, slope = coefficients
    log_rho = level - slope * bins.positions
    moves_to_right = share * bins.back
    log_numerator = np.logaddexp(np.log1p(-share) + log_rho, np.log(share))
    log_denominator = np.logaddexp(np.log1p(-moves_to_right), np.log(moves_to_right) + log_rho)
    log_odds = log_numerator - log_denominator + bins.offset
    loss = bins.given @ np.logaddexp(0, -log_odds) + bins.moved @ np.logaddexp(0, log_odds)
    loss += (level / _LEVEL_SPREAD) ** 2 / 2 + (slope / _SLOPE_SPREAD) ** 2 / 2
    odds_by_rho = scipy.special.expit(log_rho - scipy.special.logit(share))
    odds_by_rho -= scipy.special.expit(log_rho + scipy.special.logit(moves_to_right))
    probability = scipy.special.expit(log_odds)
    likelihood_by_rho = (bins.given * (1 - probability) - bins.moved * probability) * odds_by_rho
    by_level = -likelihood_by_rho.sum() + level / _LEVEL_SPREAD**2
    by_slope = likelihood_by_rho @ bins.positions + slope / _SLOPE_SPREAD**2
    return float(loss), np.array([by_level, by_slope])


def _interval(shares: Floats, likelihoods: Floats) -> tuple[float, float]:
    """The smallest and the largest share whose log likelihood is near the maximum, between grid points by lines."""
    limit = likelihoods.max() - _FALL
    inside = np.flatnonzero(likelihoods >= limit)
    first, last = int(inside[0]), int(inside[-1])
    low = 0.0 if first == 0 else _crossing(shares, likelihoods, limit, first - 1)
    high = float(shares[-1]) if last == len(shares) - 1 else _crossing(shares, likelihoods, limit, last)
    return low, high


def _crossing(shares: Floats, likelihoods: Floats, limit: float, place: int) -> float:
    """The share at which the line from one grid point to the next reaches the limit."""
    left, right = likelihoods[place], likelihoods[place + 1]
    part = (limit - left) / (right - left)
    return float(shares[place] + part * (shares[place + 1] - shares[place]))
