import numpy as np
import pytest

from eyetest.measures.stats.item_analysis import (
    SCALE,
    ItemFit,
    choose_by_information,
    expected_information,
    fit,
    probabilities,
)


def _at(ability: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    placed = np.zeros((1, len(SCALE)))
    placed[0, np.abs(SCALE - ability).argmin()] = 1
    return placed


def test_information_is_how_fast_chances_change() -> None:
    slopes, intercepts = np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, -2.0])
    fitted = ItemFit(slopes, intercepts, _at(0.4), 1, True)
    low, middle, high = probabilities(slopes, intercepts, [0.4 - 1e-5, 0.4, 0.4 + 1e-5]).T
    assert expected_information(fitted) == pytest.approx(
        ((high - low) / 2e-5) ** 2 / (middle * (1 - middle)), rel=1e-6
    )


def test_information_is_averaged_over_models() -> None:
    fitted = ItemFit(np.array([1.0, 1.5]), np.array([0.0, 1.0]), np.concatenate([_at(-1), _at(2)]), 1, True)
    each = [expected_information(fitted, _at(ability)) for ability in (-1, 2)]
    assert expected_information(fitted) == pytest.approx(np.mean(each, axis=0))


def test_chosen_items_suit_the_models_in_view() -> None:
    difficulty = np.linspace(-3, 3, 25)
    fitted = ItemFit(np.ones(25), -difficulty, _at(0), 1, True)
    assert difficulty[choose_by_information(fitted, 5)] == pytest.approx([0, -0.25, 0.25, -0.5, 0.5])
    assert difficulty[choose_by_information(fitted, 3, _at(2))].mean() == pytest.approx(2, abs=0.1)
    assert len(choose_by_information(fitted, 100)) == 25
    assert len(choose_by_information(fitted, 0)) == 0


def test_steep_items_come_first_and_of_equals_the_earlier() -> None:
    fitted = ItemFit(np.array([1.0, 2.0, 1.0]), np.zeros(3), _at(0), 1, True)
    assert choose_by_information(fitted, 3).tolist() == [1, 0, 2]


def test_many_items_are_treated_as_few_are() -> None:
    slopes = np.random.default_rng(0).uniform(0.2, 2, 9_000)
    fitted = ItemFit(slopes, slopes - 1, _at(0.5), 1, True)
    some = ItemFit(slopes[8_000:], slopes[8_000:] - 1, _at(0.5), 1, True)
    assert expected_information(fitted)[8_000:] == pytest.approx(expected_information(some))


def test_items_that_nobody_misses_say_nothing() -> None:
    rng = np.random.default_rng(1)
    able = rng.normal(size=60)
    answers = np.array([np.ones(60), able + rng.normal(size=60) > 0] * 10, float)
    assert set(choose_by_information(fit(answers), 10)) == set(range(1, 20, 2))
