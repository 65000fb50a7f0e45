"""Mantel's moments against permutations, and what the deviate says of dependent and independent items."""

import numpy as np
import pytest

from eyetest.measures.stats.mantel import deviate_of_pairs


def drawn(
    rng: np.random.Generator, spread: float, counted: np.ndarray, sizes: tuple[int, ...]
) -> tuple[np.ndarray, ...]:
    """Scores of four models on items of clusters whose difficulty differs by ``spread``."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    logits = rng.normal(0, spread, len(sizes))[clusters, None] + rng.normal(0, 0.5, (len(clusters), 4))
    scores = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    return scores, clusters, counted


def test_the_deviate_is_that_of_permutations() -> None:
    rng = np.random.default_rng(0)
    sizes = (3, 9, 14, 1, 1, 6, 20)
    scores, clusters, counted = drawn(rng, 0.7, np.repeat(np.arange(27), 2), sizes)
    share = (clusters[:, None] == clusters) & (counted[:, None] != counted)
    centred = scores - scores.mean(axis=0)
    products = centred @ centred.T

    def total(order: np.ndarray) -> float:
        return float(products[np.ix_(order, order)][share].sum())

    drawn_totals = [total(rng.permutation(len(scores))) for _ in range(4_000)]
    deviate = (total(np.arange(len(scores))) - np.mean(drawn_totals)) / np.std(drawn_totals)
    assert deviate_of_pairs(scores, clusters, counted) == pytest.approx(deviate, abs=0.1)


def test_missing_scores_are_left_at_the_mean() -> None:
    scores, clusters, counted = drawn(np.random.default_rng(1), 1.0, np.arange(60), (20, 20, 20))
    centred = scores - scores.mean(axis=0)
    missing = np.column_stack([centred, np.full(60, np.nan)])
    filled = np.column_stack([centred, np.zeros(60)])
    with np.errstate(invalid="ignore"):
        deviates = [deviate_of_pairs(table, clusters, counted) for table in (missing, filled)]
    assert deviates[0] == pytest.approx(deviates[1])


@pytest.mark.parametrize(("spread", "least", "most"), [(0.0, -1.0, 1.0), (1.0, 4.0, np.inf)])
def test_dependent_items_deviate(spread: float, least: float, most: float) -> None:
    rng = np.random.default_rng(2)
    deviates = [deviate_of_pairs(*drawn(rng, spread, np.arange(300), (15,) * 20)) for _ in range(40)]
    assert least < np.median(deviates) < most


def test_nothing_to_compare_is_no_deviation() -> None:
    clusters = np.repeat(np.arange(10), 2)
    assert deviate_of_pairs(np.ones((20, 2)), clusters, np.arange(20)) == 0
    assert deviate_of_pairs(np.random.default_rng(0).random((20, 2)), clusters, clusters) == 0


def test_no_items_do_not_deviate() -> None:
    nothing = np.zeros(0, int)
    assert deviate_of_pairs(np.zeros((0, 3)), nothing, nothing) == 0
