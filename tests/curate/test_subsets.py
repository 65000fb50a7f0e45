"""Subsets by a panel's answers: chances, anchors, estimated scores, intervals, and how well they separate models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import integrate
from scipy.special import expit

from eyetest.curate import subsets
from eyetest.curate.subsets import (
    FEWEST_MODELS,
    Estimator,
    Missed,
    Subset,
    anchored,
    cautions,
    families,
    inclusion,
    left_out,
    pps,
    separation,
    separation_notes,
)
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, fit
from tools.gallery.validation import at_random

Floats = NDArray[np.float64]
weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=40).map(np.array)


def _fitted(slopes: ArrayLike, intercepts: ArrayLike, standing: ArrayLike) -> ItemFit:
    """Items as given, and a panel whose models have exactly these abilities."""
    panel = np.array([np.arange(len(SCALE)) == np.abs(SCALE - able).argmin() for able in np.asarray(standing)], float)
    return ItemFit(np.array(slopes, float), np.array(intercepts, float), panel, 0, True)


def _some(items: int, seed: int = 0) -> ItemFit:
    rng = np.random.default_rng(seed)
    slopes, intercepts = rng.uniform(0.05, 3, items), rng.normal(0, 2, items)
    return _fitted(slopes, intercepts, rng.normal(0, 1, 7))


def _shares(draws: list[Subset]) -> Floats:
    return np.bincount(np.concatenate([drawn.items for drawn in draws]), minlength=len(draws[0].chances)) / len(draws)


@given(weights, st.integers(1, 60))
def test_chances_sum_to_the_size_and_follow_weights_up_to_one(given_weights: Floats, size: int) -> None:
    chances = inclusion(given_weights, size)
    assert chances.sum() == pytest.approx(min(size, len(given_weights)))
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(chances[np.argsort(given_weights)]) >= -1e-12).all()
    free = (chances < 1) & (chances > 0)
    if free.any():
        rate = chances[free] / given_weights[free]
        assert rate == pytest.approx(rate[0])
        assert (given_weights[chances == 1] * rate[0] >= 1 - 1e-6).all()


def test_chances_are_those_of_the_formula() -> None:
    slopes, intercepts, standing = [0.2, 1.0, 2.0, 1.0, 0.5], [0.0, 1.0, -1.0, 4.0, 0.3], [-1.0, 0.5, 2.0]
    chance = expit(np.outer(slopes, standing) + np.array(intercepts)[:, None])
    expected = np.sqrt((chance * (1 - chance)).mean(axis=1)) * (0.3 + np.array(slopes))
    found = pps(_fitted(slopes, intercepts, standing), 2, 0).chances
    assert found == pytest.approx(2 * expected / expected.sum())


def test_anchors_are_items_that_tell_of_every_skill_and_not_of_chance() -> None:
    rng = np.random.default_rng(0)
    skills = rng.normal(size=(2, 60))
    telling = [rng.random((30, 60)) < expit(2 * skill) for skill in skills]
    answers = np.vstack([*telling, rng.random((60, 60)) < 0.5]).astype(float)
    taken = anchored(fit(answers), answers, 40)
    assert len(taken) == 20
    first, second, *chance = np.bincount(taken // 30, minlength=4)
    assert sum(chance) == 0
    assert min(first, second) >= 5


def test_what_is_certain_is_drawn_and_the_rest_by_its_chances() -> None:
    fitted, certain = _some(40), np.array([3, 17, 30])
    draws = [pps(fitted, 12, seed, certain) for seed in range(500)]
    assert all(np.isin(certain, drawn.items).all() and len(drawn.items) == 12 for drawn in draws)
    assert draws[0].chances[certain].tolist() == [1, 1, 1]
    assert _shares(draws) == pytest.approx(draws[0].chances, abs=0.09)
    everything = pps(fitted, 3, 0, certain)
    assert everything.items.tolist() == certain.tolist()


SLOPES, INTERCEPTS = np.array([0.7, 1.5, 1.1, 0.4, 2.0]), np.array([0.5, -1.0, 0.2, 1.5, -0.3])


def _items(count: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.3, 2, count), rng.normal(0, 1.5, count)


def _answered(slopes: Floats, intercepts: Floats, able: Floats, seed: int) -> Floats:
    chance = expit(np.outer(slopes, able) + intercepts[:, None])
    return np.asarray(np.random.default_rng(seed).random(chance.shape) < chance, float)


def test_a_score_is_what_was_answered_and_what_may_be_expected_of_the_rest() -> None:
    """Against plain integration, with a panel that stands around 1, twice as wide as the fit takes models to be."""
    estimator = Estimator(_fitted(SLOPES, INTERCEPTS, np.array([-1.0, 3.0])))
    answers = np.array([1.0, 0.0, 1.0])

    def weight(theta: float) -> float:
        chance = expit(SLOPES[:3] * theta + INTERCEPTS[:3])
        return float(np.prod(np.where(answers == 1, chance, 1 - chance)) * np.exp(-(((theta - 1) / 2) ** 2) / 2))

    def expectation(of: object) -> float:
        assert callable(of)
        return float(integrate.quad(lambda theta: weight(theta) * of(theta), -8, 8)[0] / whole)

    whole = integrate.quad(weight, -8, 8)[0]
    rest = expectation(lambda theta: expit(SLOPES[3:] * theta + INTERCEPTS[3:]).sum())
    square = expectation(
        lambda theta: (
            (chance := expit(SLOPES[3:] * theta + INTERCEPTS[3:])).sum() ** 2 + (chance * (1 - chance)).sum()
        )
    )
    found = estimator.estimate([0, 1, 2], answers[:, None])
    assert found.scores[0] == pytest.approx((2 + rest) / 5, abs=1e-4)
    assert found.errors[0] == pytest.approx(np.sqrt(square - rest**2) / 5, abs=1e-4)
    assert found.abilities[0] == pytest.approx(expectation(lambda theta: theta), abs=1e-3)


def test_errors_are_honest_where_curves_are_true() -> None:
    slopes, intercepts = _items(120, 3)
    able = np.random.default_rng(3).normal(0.5, 1.5, 1_500)
    answers = _answered(slopes, intercepts, able, 4)
    fitted = _fitted(slopes, intercepts, able)
    items = pps(fitted, 20, 0).items
    found = Estimator(fitted).estimate(items, answers[items])
    off = found.scores - answers.mean(axis=0)
    assert (np.abs(off) < 1.96 * found.errors).mean() == pytest.approx(0.95, abs=0.02)
    assert off.mean() == pytest.approx(0, abs=0.01)


def test_models_beyond_the_panel_are_marked_and_named() -> None:
    slopes, intercepts = _items(60, 7)
    estimator = Estimator(_fitted(slopes, intercepts, np.array([-1.0, 0.0, 1.0])))
    answers = np.stack([np.ones(60), np.zeros(60), intercepts > 0], axis=1).astype(float)
    found = estimator.estimate(np.arange(60), answers)
    assert found.beyond.tolist() == [1, -1, 0]
    above, below = cautions(["star", "novice", "usual"], found)
    assert above.startswith("star seems abler than every model of the panel")
    assert below.startswith("novice seems less able than every model of the panel")


def _skilled(items: int, models: int, seed: int, skills: int) -> Floats:
    """Models with one ability and as many further skills, each of some items alone."""
    rng = np.random.default_rng(seed)
    further = rng.normal(0, 1, (skills + 1, models))[np.arange(items) % (skills + 1)] if skills else 0.0
    chance = expit(rng.normal(0, 1, models) + 1.5 * further + rng.normal(0, 1, (items, 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def test_relatives_are_recognised_by_their_names() -> None:
    names = ["gpt-4o", "GPT4V", "InternVL2-8B", "internvl-1.5", "qwen2", "llava_v1", "360VL-7B", "sonnet"]
    assert families(names) == ["gpt", "gpt", "internvl", "internvl", "qwen", "llava", "vl", "sonnet"]
    alike = ["m1", "m2", "m3", "n1", "n2", "n3", "o1"]
    assert families(alike) == alike


def test_no_model_is_estimated_by_its_own_answers_or_those_of_relatives(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, kin = _skilled(60, 12, 0, 0), list("aaaabbccdefg")
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


def test_the_width_of_few_is_students_for_as_many_families() -> None:
    errors = np.array([1.0, -1, 2, -2, 1, -1, 2, -2, 1])[:, None]
    spread = np.sqrt((errors**2).mean())
    assert _missed(errors, np.zeros(9)).half_width() == pytest.approx(2.306 * spread, rel=1e-3)
    assert _missed(errors, np.zeros(9), list("aaabbbccd")).half_width() == pytest.approx(3.182 * spread, rel=1e-3)


def test_intervals_hold_where_one_ability_does_not_tell_everything() -> None:
    """Curves alone are far too sure; widened by models left out, intervals hold what they say for others."""
    plain, wide = [], []
    for seed in range(4):
        scores = _skilled(240, 90, seed, 3)
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


def _answers(able: Floats, slopes: Floats, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    chance = expit(np.outer(slopes, able) + rng.normal(0, 1, (len(slopes), 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def test_telling_items_tell_more_pairs_apart_and_rightly() -> None:
    slopes = np.where(np.arange(400) % 2, 2.0, 0.1)
    tried = separation(_answers(np.linspace(-2, 2, 18), slopes, 0), 0.3)
    chosen, random = tried["chosen"], tried["random"]
    assert (chosen.apart or 0) > (random.apart or 0) + 0.1
    assert (chosen.rightly or 0) > 0.95
    assert (chosen.tau or 0) > (random.tau or 0)
    assert (chosen.tau_stronger or 0) < (chosen.tau or 0), "the strongest third differs less than a third at random"
    assert (
        f"τ with the held-out items is {chosen.tau:.2f} (random items: {random.tau:.2f})"
        in separation_notes(tried)[1]
    )
    assert (
        f"{chosen.tau_stronger:.2f} ({random.tau_stronger:.2f}) for the strongest third" in separation_notes(tried)[1]
    )


def test_too_few_models_or_items_are_not_tried() -> None:
    answers = _answers(np.linspace(-2, 2, FEWEST_MODELS), np.ones(40), 3)
    assert separation(answers[:, 1:], 0.5) == {}
    assert separation(answers[:19], 0.5) == {}
    assert separation_notes({})[0].startswith("too few items")
    again = [separation(answers, 0.5, seed) for seed in (5, 5, 6)]
    assert again[0] == again[1] != again[2]


@pytest.mark.science
def test_what_separates_weak_models_says_nothing_of_stronger_ones() -> None:
    """Items that only weak models fail rank them, and all stronger models alike; random items rank both."""
    able, slopes = np.concatenate([np.linspace(-4, -1, 12), np.linspace(2, 3, 6)]), np.full(400, 2.0)
    rng = np.random.default_rng(2)
    chance = expit(np.outer(slopes, able) + np.where(np.arange(400) % 2, 5.0, -5.0)[:, None])
    tried = separation((rng.random(chance.shape) < chance).astype(float), 0.3)
    chosen, random = tried["chosen"], tried["random"]
    assert (chosen.tau_stronger or 0) < (random.tau_stronger or 0) - 0.1


@pytest.mark.science
def test_the_order_of_the_items_held_out_decides_what_is_right() -> None:
    """On half of the items the better model fails: the model that leads on a part by chance is behind on the rest."""
    answers = _answers(np.linspace(-2, 2, 12), np.full(200, 1.5), 3)
    tried = separation(np.vstack([answers, 1 - answers]), 0.5)["random"]
    assert tried.rightly == 0
    assert (tried.tau or 0) < -0.2


@pytest.mark.science
def test_missing_answers_are_no_hindrance() -> None:
    answers = _answers(np.linspace(-2, 2, 12), np.full(100, 1.5), 4)
    answers[np.random.default_rng(4).random(answers.shape) < 0.2] = np.nan
    tried = separation(answers, 0.5)["chosen"]
    assert None not in tried
    assert tried.tau == pytest.approx(0.7, abs=0.3)


def test_a_drawn_part_misses_the_score_by_less_than_a_random_one_does() -> None:
    slopes, intercepts = _items(300, 5)
    answers = _answered(slopes, intercepts, np.random.default_rng(5).normal(0, 1, 80), 6)
    fitted = fit(answers[:, :40])
    true = answers[:, 40:].mean(axis=0)
    estimator = Estimator(fitted)
    missed = []
    for seed in range(10):
        drawn, chance = pps(fitted, 30, seed).items, at_random(300, 30, seed).items
        estimates = estimator.estimate(drawn, answers[drawn, 40:]).scores, answers[chance, 40:].mean(axis=0)
        missed.append([np.abs(found - true).mean() for found in estimates])
    estimated, plain = np.mean(missed, axis=0)
    assert estimated < 0.8 * plain


def test_the_width_of_many_is_that_of_normal_errors() -> None:
    errors = np.random.default_rng(0).normal(size=(4_000, 1))
    assert _missed(errors, np.zeros(4_000)).half_width() == pytest.approx(1.96, abs=0.06)


def test_coverage_is_of_folds_that_did_not_set_the_width() -> None:
    errors = np.array([[0.1]] * 8 + [[5.0]] * 2)
    assert _missed(errors, np.repeat([0, 1], [8, 2])).covered() == pytest.approx(0.8)
    assert _missed(errors, np.repeat([0, 1, 2, 3], [4, 4, 1, 1])).covered() == pytest.approx(0.8)
