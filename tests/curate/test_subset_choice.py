"""The choice of a design by cross-validation: what it takes, what it reports, and when it says that nothing helps."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import kendalltau

from eyetest.curate.subset_choice import (
    AIMS,
    FEWEST_MODELS,
    LIKE,
    SCORES,
    STRONGER,
    Aim,
    DesignComparison,
    Validated,
    choice_notes,
    choose_design,
    final_design,
    kendall_rows,
    validate,
    validate_ranking,
)
from eyetest.curate.subset_designs import HARD, HARDER, STRATIFIED, TELLING, draw_subset
from eyetest.measures.stats.intervals import IntervalEstimate

Floats = NDArray[np.float64]


def _answers(abilities: Floats, slopes: Floats, seed: int) -> Floats:
    """Answers of 2PL items of normal difficulty."""
    rng = np.random.default_rng(seed)
    chance = expit(np.outer(slopes, abilities) + rng.normal(0, 1, (len(slopes), 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def _half_easy(models: int, seed: int) -> Floats:
    """Half of the items are solved by nearly all of the models, and the others by the abler ones."""
    rng = np.random.default_rng(seed)
    abilities = np.linspace(-1, 2, models)
    ease = np.where(np.arange(400) % 2, 6.0, -1.0)
    return np.asarray(rng.random((400, models)) < expit(1.5 * abilities + ease[:, None]), float)


def _half_guessed(models: int, seed: int) -> Floats:
    """All models guess on half of the items, which are harder than the others, and differ on the others."""
    rng = np.random.default_rng(seed)
    abilities = np.linspace(-1, 2, models)
    is_guessed = np.arange(400)[:, None] % 2 == 1
    chance = np.where(is_guessed, 0.1, expit(1.5 * abilities + 0.5))
    return np.asarray(rng.random((400, models)) < chance, float)


def _mean_tau(targets: Floats, draws: list[NDArray[np.intp]]) -> float:
    """Mean over draws of Kendall's τ of the models with their ranking on all items, by scipy."""
    truth = targets.mean(axis=0)
    return float(np.mean([kendalltau(targets[items].mean(axis=0), truth).statistic for items in draws]))


def test_agreement_is_kendalls_tau_b() -> None:
    rng = np.random.default_rng(3)
    means, truth = rng.integers(0, 5, (6, 12)) / 4, rng.integers(0, 6, 12) / 5
    reference = [kendalltau(row, truth).statistic for row in means]
    assert kendall_rows(means, truth) == pytest.approx(reference)
    assert kendall_rows(np.ones((1, 4)), np.arange(4.0)) == 0
    missing = np.array([[0.2, np.nan, 0.6, 0.8]])
    assert kendall_rows(missing, np.array([0.1, 0.2, 0.3, 0.4])) == pytest.approx(3 / np.sqrt(3 * 6))


def test_hard_items_are_chosen_for_stronger_models_where_they_separate_them() -> None:
    table = _half_easy(18, 0)
    validated = validate(table, 0.1, STRONGER)
    assert validated is not None
    ranking = validated.ranking
    assert ranking.gain.value == pytest.approx((ranking.chosen.value or 0) - (ranking.random.value or 0))
    assert (ranking.gain.value or 0) > 0.05
    design = final_design(table, 40, STRONGER, validated, 0)
    assert design in (HARD, HARDER)
    likelier, agreement, errors = choice_notes(design, STRONGER, validated)
    assert likelier == f"likelier are {design.likelier}"
    assert f"for models stronger than the panel's held out: {ranking.chosen.value:.2f} (" in agreement
    assert f"random items {ranking.random.value:.2f} (" in agreement
    assert f"off by {validated.errors.chosen.value:.3f}" in errors


def test_telling_items_rank_models_like_the_panel_better_than_random_items() -> None:
    """Judged by other code, on models that had no part in the choice."""
    table = _half_guessed(45, 2)
    order = np.random.default_rng(5).permutation(45)
    targets, panel = table[:, order[:15]], table[:, order[15:]]
    design = choose_design(panel, 20, LIKE, [0])
    assert design in LIKE.designs[:2]
    chosen = [draw_subset(panel, design, 20, seed).items for seed in range(40)]
    plain = [np.random.default_rng(seed).permutation(400)[:20] for seed in range(40)]
    assert _mean_tau(targets, chosen) > _mean_tau(targets, plain) + 0.05


def test_a_stratified_subset_is_drawn_where_nothing_is_better_than_random_items() -> None:
    """Models of one ability on items alike: the ranking is noise."""
    flat = IntervalEstimate(0.0, -0.1, 0.1, 20)
    validated = Validated(DesignComparison(flat, flat, flat), DesignComparison(flat, flat, flat))
    table = (np.random.default_rng(8).random((60, 12)) < 0.5).astype(float)
    assert final_design(table, 20, STRONGER, validated, 0) is STRATIFIED
    notes = choice_notes(STRATIFIED, STRONGER, validated)
    assert notes[0] == "one random item is drawn from each stratum of ease"
    assert notes[-1].startswith("not better than random items here")


def test_guessed_items_are_not_preferred_for_stronger_models() -> None:
    assert choose_design(_half_guessed(18, 1), 40, STRONGER, [0]) is STRATIFIED


@pytest.mark.science
@pytest.mark.parametrize("aim", [LIKE, STRONGER], ids=lambda aim: aim.name)
def test_intervals_of_tau_cover_what_other_models_give(aim: Aim) -> None:
    """Panels of one population: the mean over all of them is the truth."""
    rankings = []
    for panel in range(12):
        abilities = np.random.default_rng([7, panel]).normal(0, 1, 16)
        ranking = validate_ranking(_answers(abilities, np.ones(200), 5), 0.1, aim, panel)
        assert ranking is not None
        rankings.append(ranking)
    for part in ("chosen", "random", "gain"):
        intervals = [getattr(ranking, part) for ranking in rankings]
        truth = np.mean([interval.value for interval in intervals])
        assert np.mean([interval.low <= truth <= interval.high for interval in intervals]) >= 0.9, part


def test_too_few_models_or_items_are_not_tried() -> None:
    answers = _answers(np.linspace(-2, 2, FEWEST_MODELS), np.ones(40), 3)
    assert validate(answers[:, 1:], 0.5, LIKE) is None
    assert validate(answers[:19], 0.5, LIKE) is None
    assert final_design(answers[:19], 9, LIKE, None, 0) is STRATIFIED
    assert "fewer than 20 items" in choice_notes(STRATIFIED, LIKE, None)[0]


def test_the_same_seed_gives_the_same_validation() -> None:
    answers = _answers(np.linspace(-2, 2, FEWEST_MODELS), np.ones(40), 3)
    first, again, another = (validate_ranking(answers, 0.5, SCORES, seed) for seed in (5, 5, 6))
    assert first == again != another


def test_every_aim_falls_back_on_one_item_per_stratum() -> None:
    for aim in AIMS.values():
        assert aim.designs[-1] is STRATIFIED
        assert aim.designs[0] is not STRATIFIED
    assert LIKE.designs[0] is TELLING
