"""Significantly better models: shared ranks, rank intervals, false alarms among equals, coverage of true ranks."""

import numpy as np
from numpy.typing import NDArray

from eyetest.measures.stats.paired import holm, paired
from eyetest.measures.stats.ranking import significantly_ahead

Floats = NDArray[np.float64]


def answers(skills: Floats, clusters: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Right and wrong: models share how hard an item is, and a cluster favours some of them."""
    items, models = len(clusters), len(skills)
    favour = 0.4 * rng.normal(size=(clusters.max() + 1, models))[clusters]
    return (rng.normal(size=(items, 1)) + favour + rng.normal(size=(items, models)) + skills > 0).astype(float)


def test_every_pair_is_tested_and_adjusted() -> None:
    rng = np.random.default_rng(0)
    clusters = np.arange(120) // 2
    scores = answers(np.array([0.0, 0.5, 1.0]), clusters, rng)
    pairs = [paired(scores[:, a], scores[:, b], clusters) for a, b in ((0, 1), (0, 2), (1, 2))]
    adjusted = holm([pair.p for pair in pairs])
    ahead = significantly_ahead(scores, clusters.astype(str), 0.95)
    for (a, b), p in zip(((0, 1), (0, 2), (1, 2)), adjusted, strict=True):
        assert ahead[b, a] == ((p or 0) < 0.05)
        assert not ahead[a, b]
    assert ahead[2, 0]
