"""LIME's overall scores: the mean over items, captioning left out."""

import pytest

from eyetest.measures.ranks import weighted_mean


@pytest.mark.parametrize(("scores", "weights", "found"), [([1.0, 0.0], None, 0.5), ([1.0, 0.0], [3, 1], 0.75)])
def test_weighted_mean(scores: list[float], weights: list[float] | None, found: float) -> None:
    assert weighted_mean(scores, weights) == found
