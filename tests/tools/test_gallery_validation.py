"""Parts are tried on models that had no say in them, and what is said of the gain is honest."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from tools.gallery.validation import SplitPlan, validate

Floats = NDArray[np.float64]


def _answers(items: int, models: int, seed: int, kinds: int = 1) -> Floats:
    """Answers of models that differ in several abilities, of which every item asks for the first."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(0, 0.5, (items, kinds)) + np.eye(kinds)[0]
    chance = expit(loads @ rng.normal(0, 1, (kinds, models)) + rng.normal(0, 1.5, (items, 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def _row(table: pl.DataFrame, draw: str, score: str) -> dict[str, Any]:
    return table.filter((pl.col("draw") == draw) & (pl.col("score") == score)).row(0, named=True)


def test_a_drawn_part_gains_on_a_random_one_and_looks_best_to_its_own_panel() -> None:
    found = validate(_answers(300, 60, 1), SplitPlan(30, 30, splits=4))
    drawn, plain = _row(found, "pps", "p-irt"), _row(found, "random", "mean")
    assert drawn["tau_gain_low"] < drawn["tau_gain"] == pytest.approx(drawn["tau"] - plain["tau"])
    assert drawn["tau_gain"] > 0.01
    assert drawn["mae_gain"] == pytest.approx(plain["mae"] - drawn["mae"])
    assert drawn["mae_gain"] > 0.005
    assert drawn["covered"] > 0.85
    assert plain["covered"] is None
    noise = np.random.default_rng(0).integers(0, 2, (200, 20)).astype(float)
    lucky = _row(validate(noise, SplitPlan(20, 6, splits=4)), "pps", "p-irt")
    assert lucky["tau_optimism"] == pytest.approx(lucky["tau_panel"] - lucky["tau"])
    assert lucky["tau_optimism"] > 0.1
