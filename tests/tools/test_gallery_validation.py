"""Parts are tried on models that had no say in them, and what is said of the gain is honest."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from eyetest.errors import InputError
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


def test_families_are_held_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    families = list("aaaabbbccdef")
    panels = _panels(monkeypatch, SplitPlan(10, 5, splits=20, draws=1), families)
    assert len({frozenset(panel) for panel in panels}) > 5
    for panel in panels:
        there = {families[model] for model in panel}
        gone = {families[model] for model in set(range(12)) - panel}
        assert not there & gone
        assert 3 <= 12 - len(panel) <= 5


def test_the_same_seed_finds_the_same_and_missing_answers_are_no_hindrance() -> None:
    scores = _answers(60, 14, 3)
    scores[np.random.default_rng(3).random(scores.shape) < 0.2] = np.nan
    plan = SplitPlan(12, 5, splits=2, draws=2)
    found = validate(scores, plan)
    assert found.equals(validate(scores, plan))
    assert not found.equals(validate(scores, SplitPlan(12, 5, splits=2, draws=2, seed=1)))
    assert found.select(pl.exclude("covered", "beyond").is_not_null().all()).row(0) == (True,) * (found.width - 2)


def test_one_split_has_a_gain_but_no_interval() -> None:
    found = _row(validate(_answers(60, 14, 4), SplitPlan(12, 5, splits=1)), "pps", "p-irt")
    assert found["tau_gain"] is not None
    assert found["tau_gain_low"] is None


@pytest.mark.parametrize(
    ("plan", "says"), [(SplitPlan(5, 2), "2 targets"), (SplitPlan(5, 6, panel=9), "panel of 6; 3 and 9")]
)
def test_too_few_models_are_refused(plan: SplitPlan, says: str) -> None:
    with pytest.raises(InputError, match=says):
        validate(_answers(20, 12, 5), plan)


def test_a_model_without_any_score_is_refused() -> None:
    scores = _answers(20, 12, 6)
    scores[:, 3] = np.nan
    with pytest.raises(InputError, match="no score at all"):
        validate(scores, SplitPlan(5, 4))


@pytest.mark.slow
def test_intervals_hold_the_gain_that_other_models_would_show() -> None:
    """Splits of the same 24 models resemble each other, so that their mean varies more than its plain error says."""
    rng = np.random.default_rng(0)
    loads, intercepts = rng.normal(0, 1, (150, 3)) * [0.3, 0.5, 0.5] + [1, 0, 0], rng.normal(0, 1.5, (150, 1))
    found = []
    for seed in range(80):
        again = np.random.default_rng([1, seed])
        chance = expit(loads @ again.normal(size=(3, 24)) + intercepts)
        scores = (again.random(chance.shape) < chance).astype(float)
        found.append(validate(scores, SplitPlan(30, 8, splits=10, seed=seed)))
    rows = pl.concat(found).filter(pl.col("score") == "p-irt", pl.col("draw") == "pps")
    for name in ("tau_gain", "mae_gain"):
        gain, low, high = (rows[column].to_numpy() for column in (name, f"{name}_low", f"{name}_high"))
        assert np.mean((low <= gain.mean()) & (gain.mean() <= high)) > 0.88
