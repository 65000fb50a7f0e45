"""Leads that are looked at after every item: how often they are wrong, and how many items they take."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from eyetest.measures.stats.paired import items_needed
from eyetest.measures.stats.sequential import SequentialLead

Floats = NDArray[np.float64]


def population(items: int, wins: int, losses: int) -> Floats:
    return np.repeat([1.0, -1.0, 0.0], [wins, losses, items - wins - losses])


def watched(differences: Floats, seed: int) -> Iterator[SequentialLead]:
    """The lead after each item of a lot."""
    lead = SequentialLead(len(differences))
    for difference in np.random.default_rng(seed).permutation(differences):
        lead.hear(difference)
        yield lead


def first_verdict(differences: Floats, seed: int) -> tuple[int, int]:
    """After how many items somebody led for certain, and who; at the end what is true."""
    lead = next(lead for lead in watched(differences, seed) if lead.leader or lead.heard == lead.items)
    return lead.heard, lead.leader


@pytest.mark.parametrize(
    "differences",
    [
        population(120, 21, 21),
        population(120, 3, 3),
        np.repeat(population(15, 5, 5), 8),  # eight items to a picture, all alike
        np.random.default_rng(1).permutation(np.repeat([0.25, -0.25, 0.5, -0.5], 30)),
    ],
    ids=["answers", "rare", "clusters", "fractions"],
)
def test_of_equal_models_hardly_ever_one_leads_at_any_look(differences: Floats) -> None:
    early = [first_verdict(differences, seed)[1] != 0 for seed in range(100)]
    assert np.mean(early) <= 0.05


@pytest.mark.parametrize(("wins", "losses"), [(30, 18), (9, 1), (70, 10)])
def test_the_interval_holds_the_lead_at_all_looks_together(wins: int, losses: int) -> None:
    differences = population(110, wins, losses)
    strayed = 0
    for seed in range(60):
        looks = [lead.bounds for lead in watched(differences, seed)]
        lows, highs = (np.array(ends) for ends in zip(*looks, strict=True))
        strayed += not ((lows <= differences.mean() + 1e-12) & (differences.mean() <= highs + 1e-12)).all()
        assert (np.diff(lows[:-1]) >= 0).all()
        assert (np.diff(highs[:-1]) <= 0).all()
        assert lows[-1] == highs[-1] == pytest.approx(differences.mean())
    assert strayed <= 3


def test_the_wrong_one_hardly_ever_leads_and_the_right_one_soon_does() -> None:
    """Against a test that is looked at once: of 3,000 items with a lead of 10 points, 30 % discordant."""
    differences = population(3_000, 600, 300)
    taken, leaders = np.array([first_verdict(differences, seed) for seed in range(20)]).T
    once = items_needed(0.1, 0.3)
    assert once is not None
    assert (leaders == 1).all()
    assert np.mean(taken) < 1.5 * once
    assert np.mean(taken) > 0.3 * once


def test_what_the_rest_cannot_change_is_certain() -> None:
    lead = SequentialLead(5)
    for difference in (1.0, 1.0, 1.0):
        lead.hear(difference)
    assert lead.leader == 1
    assert lead.bounds[0] == pytest.approx(0.2, abs=0.005)
    assert lead.bounds[0] <= 0.2


def test_turned_round_it_is_the_other_who_leads() -> None:
    one, other = SequentialLead(400), SequentialLead(400)
    for difference in np.random.default_rng(3).permutation(population(400, 150, 60))[:120]:
        one.hear(difference)
        other.hear(-difference)
    assert one.leader == -other.leader == 1
    assert one.bounds == pytest.approx(tuple(-end for end in reversed(other.bounds)))


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
