"""What a panel still answers blind, where it stopped early: the mean of what it said is not its accuracy."""

import numpy as np
import pytest

from eyetest.filters import FILTERS, Evidence, FilterInput, Seat
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import asked_of_all, residual
from tests.filters.simulated import Drawn, draw_panel, heard_early

STAGES = {name: load_recipe(name).stages[0] for name in ("mmstar", "mmmu-pro")}
SIZES = {"mmstar": (8, 1), "mmmu-pro": (4, 10)}
TOLD = ("inspectors", "panel", "before")


def mean_of_all(drawn: Drawn, heard: np.ndarray, kept: np.ndarray) -> float:
    """What was reported before: each item's answers averaged, whichever were asked for."""
    counts = heard[kept].sum(axis=(1, 2))
    return float(((drawn.right & heard)[kept].sum(axis=(1, 2)) / counts).mean())


@pytest.mark.parametrize("recipe", STAGES)
def test_a_panel_that_stopped_early_is_told_from_what_every_item_was_asked(recipe: str) -> None:
    stage, (inspectors, samples) = STAGES[recipe], SIZES[recipe]
    drawn = draw_panel(np.random.default_rng(4), items=3_000, inspectors=inspectors, samples=samples)
    heard = heard_early(stage, drawn.right)
    evidence: Evidence = drawn.evidence(heard)
    seats = [Seat(name) for name in evidence.seats]
    items = drawn.items()
    verdicts = list(FILTERS[stage.filter or ""].judge(FilterInput(stage, items, evidence, seats, inspectors)))
    kept = np.array([one.verdict == "keep" for one in verdicts])
    left = [item for item, stays in zip(items, kept, strict=True) if stays]
    always = heard.all(axis=0)
    for when, members, mask in (("before", items, np.ones_like(kept)), ("after", left, kept)):
        found = residual(TOLD, evidence, asked_of_all(evidence, seats, items), members)
        truth = drawn.right[mask].mean(axis=(1, 2)).mean()
        same = drawn.right[mask][:, always].mean()
        assert found.accuracy.value == pytest.approx(same), "the same answers of every item"
        assert found.answers == always.sum() < found.asked == inspectors * samples
        assert found.part == f"the first {found.answers} of {found.asked} answers an item"
        if when == "before":
            noise = 0.5 / 3_000**0.5
            assert found.accuracy.value == pytest.approx(truth, abs=noise)
            assert abs(mean_of_all(drawn, heard, mask) - truth) > noise, "what every answer that is there would say"


def test_a_panel_that_was_asked_everything_is_told_whole() -> None:
    drawn = draw_panel(np.random.default_rng(4), items=50, inspectors=4, samples=10)
    evidence = drawn.evidence()
    seats = [Seat(name) for name in evidence.seats]
    found = residual(TOLD, evidence, asked_of_all(evidence, seats, drawn.items()), drawn.items())
    assert found.accuracy.value == pytest.approx(drawn.right.mean())
    assert (found.models, found.answers, found.asked, found.part) == (4, 40, 40, "")


def test_recorded_answers_of_a_run_that_stopped_early_are_told_alike() -> None:
    """Nobody says of recorded answers why some are not there: what all items have counts."""
    drawn = draw_panel(np.random.default_rng(6), items=400, inspectors=4, samples=10)
    evidence = drawn.evidence(heard_early(STAGES["mmmu-pro"], drawn.right))
    seats = [Seat(name) for name in evidence.seats]
    tests = asked_of_all(evidence, seats, drawn.items())
    assert 0 < sum(tests.values()) < 40
    one = Evidence(None, evidence.seats, 10)
    nothing = residual(TOLD, one, asked_of_all(one, seats, drawn.items()), drawn.items())
    assert (nothing.accuracy.value, nothing.part) == (None, "none of 40 answers an item")
