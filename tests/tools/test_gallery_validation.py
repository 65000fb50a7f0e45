"""Parts are tried on models that had no say in them, and what is said of the gain is honest."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from eyetest.measures.stats.item_analysis import ItemFit, fit
from tools.gallery import validation
from tools.gallery.validation import METHODS, SplitPlan, validate

Floats = NDArray[np.float64]


def _answers(items: int, models: int, seed: int, kinds: int = 1) -> Floats:
    """Answers of models that differ in several abilities, of which every item asks for the first."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(0, 0.5, (items, kinds)) + np.eye(kinds)[0]
    chance = expit(loads @ rng.normal(0, 1, (kinds, models)) + rng.normal(0, 1.5, (items, 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def _row(table: pl.DataFrame, draw: str, score: str) -> dict[str, Any]:
    return table.filter((pl.col("draw") == draw) & (pl.col("score") == score)).row(0, named=True)


def test_a_part_that_is_everything_misses_nothing() -> None:
    found = validate(_answers(30, 12, 0), SplitPlan(30, 4, splits=3, draws=2))
    assert found.select("draw", "score").rows() == list(METHODS)
    for column in ("tau", "tau_panel"):
        assert found[column].to_list() == pytest.approx([1] * len(METHODS))
    for column in ("mae", "mae_panel", "tau_gain", "tau_gain_low", "tau_gain_high", "mae_gain", "tau_optimism"):
        assert found[column].to_list() == pytest.approx([0] * len(METHODS), abs=1e-9)
    assert found["splits"].to_list() == [3] * len(METHODS)


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


def _panels(monkeypatch: pytest.MonkeyPatch, plan: SplitPlan, families: list[str] | None) -> list[set[int]]:
    """Which models each panel was made of, as their answers tell."""
    scores = _answers(40, 12, 2)
    numbers = {column.tobytes(): model for model, column in enumerate(scores.T)}
    seen: list[set[int]] = []

    def watched(responses: ArrayLike) -> ItemFit:
        seen.append({numbers[np.ascontiguousarray(column).tobytes()] for column in np.asarray(responses).T})
        return fit(responses)

    monkeypatch.setattr(validation, "fit", watched)
    validate(scores, plan, families)
    return seen


def test_targets_have_no_say_and_every_model_is_one_at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    panels = _panels(monkeypatch, SplitPlan(10, 4, splits=20, draws=1), None)
    assert {len(panel) for panel in panels} == {8}
    assert len({frozenset(panel) for panel in panels}) > 15
    assert not set.intersection(*panels)
    assert {len(panel) for panel in _panels(monkeypatch, SplitPlan(10, 4, panel=5, splits=3, draws=1), None)} == {5}
