"""Intervals are as wide as models that were left out show, and hold what they say."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from eyetest.curate import subsets
from eyetest.curate.subsets import Estimator, Missed, anchored, families, left_out, pps
from eyetest.measures.stats.item_analysis import ItemFit, fit

Floats = NDArray[np.float64]


def _answers(items: int, models: int, seed: int, skills: int) -> Floats:
    """Models with one ability and as many further skills, each of some items alone."""
    rng = np.random.default_rng(seed)
    further = rng.normal(0, 1, (skills + 1, models))[np.arange(items) % (skills + 1)] if skills else 0.0
    chance = expit(rng.normal(0, 1, models) + 1.5 * further + rng.normal(0, 1, (items, 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def test_relatives_are_told_by_their_names() -> None:
    names = ["gpt-4o", "GPT4V", "InternVL2-8B", "internvl-1.5", "qwen2", "llava_v1", "360VL-7B", "sonnet"]
    assert families(names) == ["gpt", "gpt", "internvl", "internvl", "qwen", "llava", "vl", "sonnet"]
    alike = ["m1", "m2", "m3", "n1", "n2", "n3", "o1"]
    assert families(alike) == alike


def test_nobody_is_estimated_by_its_own_answers_or_those_of_relatives(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, kin = _answers(60, 12, 0, 0), list("aaaabbccdefg")
    numbers = {column.tobytes(): model for model, column in enumerate(scores.T)}
    seen = []

    def watched(responses: ArrayLike, tolerance: float) -> ItemFit:
        seen.append({numbers[np.ascontiguousarray(column).tobytes()] for column in np.asarray(responses).T})
        return fit(responses, tolerance)

    monkeypatch.setattr(subsets, "fit", watched)
    missed = left_out(scores, 10, kin)
    gone = [set(range(12)) - panel for panel in seen]
    assert sorted(model for fold in gone for model in fold) == list(range(12))
    for fold in gone:
        assert not {kin[model] for model in fold} & {kin[model] for model in set(range(12)) - fold}
        assert len({int(missed.folds[model]) for model in fold}) == 1


def _missed(errors: Floats, folds: ArrayLike, kin: list[str] | None = None) -> Missed:
    return Missed(errors, kin or [str(model) for model in range(len(errors))], np.asarray(folds, np.intp))


def test_the_width_of_many_is_that_of_normal_errors() -> None:
    errors = np.random.default_rng(0).normal(size=(4_000, 1))
    assert _missed(errors, np.zeros(4_000)).half_width() == pytest.approx(1.96, abs=0.06)


def test_the_width_of_few_is_students_for_as_many_families() -> None:
    errors = np.array([1.0, -1, 2, -2, 1, -1, 2, -2, 1])[:, None]
    spread = np.sqrt((errors**2).mean())
    assert _missed(errors, np.zeros(9)).half_width() == pytest.approx(2.306 * spread, rel=1e-3)
    assert _missed(errors, np.zeros(9), list("aaabbbccd")).half_width() == pytest.approx(3.182 * spread, rel=1e-3)


def test_coverage_is_of_folds_that_did_not_set_the_width() -> None:
    errors = np.array([[0.1]] * 8 + [[5.0]] * 2)
    assert _missed(errors, np.repeat([0, 1], [8, 2])).covered() == pytest.approx(0.8)
    assert _missed(errors, np.repeat([0, 1, 2, 3], [4, 4, 1, 1])).covered() == pytest.approx(0.8)


def test_intervals_hold_where_one_ability_does_not_tell_everything() -> None:
    """Curves alone are far too sure; widened by models left out, intervals hold what they say for others."""
    plain, wide = [], []
    for seed in range(4):
        scores = _answers(240, 90, seed, 3)
        panel, others = scores[:, :30], scores[:, 30:]
        fitted = fit(panel)
        items = pps(fitted, 48, seed, anchored(fitted, panel, 48)).items
        found = Estimator(fitted).estimate(items, others[items])
        missed = left_out(panel, 48, [str(model) for model in range(30)], seed)
        off = np.abs(found.scores - others.mean(axis=0)) / found.errors
        plain.append((off <= 1.96).mean())
        wide.append((off <= missed.half_width()).mean())
    assert np.mean(plain) < 0.9
    assert 0.93 <= np.mean(wide) <= 0.98
