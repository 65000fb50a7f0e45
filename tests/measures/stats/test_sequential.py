"""Leads that are looked at after every item: how often they are wrong, and how many items they take."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from eyetest.measures.stats import sequential
from eyetest.measures.stats.paired import smallest_difference
from eyetest.measures.stats.sequential import SequentialMean

Floats = NDArray[np.float64]


def population(items: int, wins: int, losses: int) -> Floats:
    return np.repeat([1.0, -1.0, 0.0], [wins, losses, items - wins - losses])


def watched(differences: Floats, seed: int) -> Iterator[SequentialMean]:
    """The lead after each item, in random order."""
    lead = SequentialMean(len(differences))
    for difference in np.random.default_rng(seed).permutation(differences):
        lead.observe(difference)
        yield lead


def first_verdict(differences: Floats, seed: int) -> tuple[int, int]:
    """After how many items one led for certain, and which; at the end what is true."""
    lead = next(lead for lead in watched(differences, seed) if lead.side or lead.observed == lead.items)
    return lead.observed, lead.side


@pytest.mark.parametrize(
    "differences",
    [
        population(120, 21, 21),
        population(120, 3, 3),
        np.repeat(population(15, 5, 5), 8),  # eight items to an image, all alike
        np.random.default_rng(1).permutation(np.repeat([0.25, -0.25, 0.5, -0.5], 30)),
    ],
    ids=["answers", "rare", "clusters", "fractions"],
)
def test_of_equal_models_hardly_ever_one_leads_at_any_look(
    differences: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be quick, only the mean that a verdict rests on is doubted."""
    monkeypatch.setattr(sequential, "_MEANS", np.zeros(1))
    monkeypatch.setattr(sequential, "_LEVEL", 0)
    early = [first_verdict(differences, seed)[1] != 0 for seed in range(120)]
    assert np.mean(early) <= 0.05 + 1.96 * np.sqrt(0.05 * 0.95 / len(early))


@pytest.mark.parametrize(("wins", "losses"), [(30, 18), (9, 1), (70, 10), (95, 15)])
def test_the_interval_holds_the_lead_at_all_looks_together(wins: int, losses: int) -> None:
    differences = population(110, wins, losses)
    strayed = 0
    for seed in range(40):
        looks = [lead.bounds for lead in watched(differences, seed)]
        lows, highs = (np.array(ends) for ends in zip(*looks, strict=True))
        strayed += not ((lows <= differences.mean() + 1e-12) & (differences.mean() <= highs + 1e-12)).all()
        assert (np.diff(lows[:-1]) >= 0).all()
        assert (np.diff(highs[:-1]) <= 0).all()
        assert lows[-1] == highs[-1] == pytest.approx(differences.mean())
    assert strayed <= 4


def test_the_wrong_one_hardly_ever_leads_and_the_right_one_soon_does() -> None:
    """Against a test that is looked at once: of 3,000 items with a lead of 10 points, 30 % discordant."""
    differences = population(3_000, 600, 300)
    taken, leaders = np.array([first_verdict(differences, seed) for seed in range(20)]).T
    once = next(n for n in range(10, 3_000) if (smallest_difference(n, 0.3) or 1.0) <= 0.1)
    assert (leaders == 1).all()
    assert np.mean(taken) < 1.5 * once
    assert np.mean(taken) > 0.3 * once


def test_real_models_five_points_apart_take_a_small_part_of_the_items(shared: Path) -> None:
    answers = pl.read_csv(shared / "data/vlm_matrices/aj_AI2D_TEST.csv").drop("model_sha").to_numpy().astype(float)
    rng = np.random.default_rng(12)
    shares: list[float] = []
    while len(shares) < 24:
        one, other = rng.choice(answers.shape[1], 2, replace=False)
        differences = answers[:, one] - answers[:, other]
        if abs(differences.mean()) >= 0.05:
            taken, leader = first_verdict(differences, len(shares))
            assert leader == np.sign(differences.mean())
            shares.append(taken / len(differences))
    assert np.mean(shares) <= 0.1
