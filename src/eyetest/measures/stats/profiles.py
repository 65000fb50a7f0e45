"""Clusters of items by the profile of models over them: which hold to an item's favourite option more than others.

Estimated is a partition of the items from answers alone. With x the share of a model's answers that take the item's
favourite option (whichever is right), the residual after ability and difficulty is x − the item's mean − the model's
mean + the mean of all. Items that one preference decides have one profile of residuals, items that are answered one
by one have one each. A mixture of spherical normal distributions is fitted to the residuals, with the number of
components that has the smallest BIC (Schwarz 1978; Fraley and Raftery 2002). One component means that no profile
separates the items; it is returned as one cluster of all of them. Assumed: models hold to a preference to different
extents, and the noise of residuals is alike for all items; where all models are alike there is no residual and
nothing is found. Checked by ``tests/filters/test_dependent.py``.
"""

import numpy as np
import scipy

from eyetest.measures.stats.intervals import Floats, Ints, one_thread

_FEWEST_MODELS = 3  # with two models a residual is one number, which separates no clusters
_FEWEST_ITEMS = 50  # twice the most components; of fewer items a component may be a single one
_COMPONENTS = (1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 25)  # numbers that are tried; not every one, to save time
_MOST_FITTED = 3_000  # items that a mixture is fitted to, which bounds the time; others are assigned
_LEAST_VARIANCE = 1e-4  # of a component; without a floor one of equal shares would have an infinite likelihood
_LEAST_SHARE_OF_VARIANCE = 0.05  # and its floor as a share of the variance of all residuals


def profile_clusters(counts: Ints, favourite: Ints) -> Ints:
    """The number of each item's cluster by its profile.

    ``counts``: how often models chose options (items × models × options); ``favourite``: the option of each item that
    the panel chose most, −1 where none leads. An item without a favourite, or that a model did not answer, is a
    cluster of its own, and so is every item where items or models are too few, or all items have one profile.
    """
    items, models, _ = counts.shape
    labels = np.arange(items)
    has_profile = (favourite >= 0) & (counts.sum(axis=2) > 0).all(axis=1)
    if models < _FEWEST_MODELS or has_profile.sum() < _FEWEST_ITEMS:
        return labels
    with one_thread():
        components = _components(_residuals(counts[has_profile], favourite[has_profile]))
    if len(np.unique(components)) == 1:
        return labels  # one profile for all items: the answers show no dependence
    labels[has_profile] = items + components  # beyond the numbers of items that are alone
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def _residuals(counts: Ints, favourite: Ints) -> Floats:
    """Items × (models − 1): profiles after ability and difficulty, in orthonormal contrasts of models."""
    favourite_counts = np.take_along_axis(counts, favourite[:, None, None], axis=2)[:, :, 0]
    shares = favourite_counts / counts.sum(axis=2)
    contrasts = scipy.linalg.helmert(shares.shape[1])  # sums over models that leave the item's mean out
    residuals = (shares - shares.mean(axis=0)) @ contrasts.T
    return np.asarray(residuals)


def _components(residuals: Floats) -> Ints:
    """The likeliest component of each item in the mixture with the smallest BIC."""
    from sklearn.mixture import GaussianMixture  # noqa: PLC0415 (slow to load)

    fitted = residuals[np.random.default_rng(0).permutation(len(residuals))[:_MOST_FITTED]]
    floor = max(_LEAST_VARIANCE, _LEAST_SHARE_OF_VARIANCE * float(fitted.var()))
    mixtures = []
    for components in _COMPONENTS:
        mixture = GaussianMixture(components, covariance_type="spherical", reg_covar=floor, random_state=0)
        mixtures.append(mixture.fit(fitted))
    best = min(mixtures, key=lambda mixture: mixture.bic(fitted))
    return np.asarray(best.predict(residuals), np.int64)
