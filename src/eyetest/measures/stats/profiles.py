"""Clusters of items by the profile of models over them: which hold to an item's favourite option more than others.

Estimated is a partition of the items from answers alone. With x the share of a model's answers that take the item's
favourite option (whichever is right), the residual after ability and difficulty is x − the item's mean − the model's
mean + the mean of all. Items that one preference decides have one profile of residuals, items that are answered one
by one have one each. A mixture of spherical normal distributions is fitted to the residuals, with the number of
components that has the smallest BIC (Schwarz 1978; Fraley and Raftery 2002). Assumed: models hold to a preference to
different extents; where all are alike there is no residual and nothing is found. Checked by
``tests/filters/test_dependent.py``.
"""

import numpy as np
import scipy

from eyetest.measures.stats.intervals import Floats, Ints

_FEWEST_MODELS = 3  # with two models a residual is one number, which separates no clusters
_FEWEST_ITEMS = 50
_COMPONENTS = (1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 25)
_MOST_FITTED = 3_000  # items that a mixture is fitted to; others are assigned


def profile_clusters(counts: Ints, favourite: Ints) -> Ints:
    """The cluster of each item by its profile. ``counts``: items × models × options; ``favourite``: −1 where none."""
    number, models, _ = counts.shape
    labels = np.arange(number)
    has_profile = (favourite >= 0) & (counts.sum(axis=2) > 0).all(axis=1)
    if models < _FEWEST_MODELS or has_profile.sum() < _FEWEST_ITEMS:
        return labels
    components = _components(_residuals(counts[has_profile], favourite[has_profile]))
    labels[has_profile] = number + components
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def _residuals(counts: Ints, favourite: Ints) -> Floats:
    """Items × (models − 1): profiles after ability and difficulty, in orthonormal contrasts of models."""
    taken = np.take_along_axis(counts, favourite[:, None, None], axis=2)[:, :, 0]
    shares = taken / counts.sum(axis=2)
    contrasts = scipy.linalg.helmert(shares.shape[1])
    residuals = (shares - shares.mean(axis=0)) @ contrasts.T
    return np.asarray(residuals)


def _components(residuals: Floats) -> Ints:
    """The likeliest component of each item in the mixture with the smallest BIC."""
    from sklearn.mixture import GaussianMixture  # noqa: PLC0415 (slow to load)

    fitted = residuals[np.random.default_rng(0).permutation(len(residuals))[:_MOST_FITTED]]
    floor = max(1e-4, 0.05 * float(fitted.var()))
    mixtures = []
    for components in _COMPONENTS:
        mixture = GaussianMixture(components, covariance_type="spherical", reg_covar=floor, random_state=0)
        mixtures.append(mixture.fit(fitted))
    best = min(mixtures, key=lambda mixture: mixture.bic(fitted))
    return np.asarray(best.predict(residuals), np.int64)
