"""Effects of levels: against another implementation, and on made worlds with and without an effect."""

import numpy as np
import pandas
import pytest
import statsmodels.formula.api as formulas

from eyetest.measures.stats.intervals import Floats, Ints
from eyetest.measures.stats.regression import Design, FactorEffects, level_effects


def world(
    chance: np.random.Generator, items: int, sizes: list[int], effect: float = 0.0
) -> tuple[Floats, list[Ints], Floats]:
    """Right and wrong answers to items of any hardness; level 0 of the first factor adds ``effect``."""
    hardness = chance.beta(1.2, 1.0, items)
    factors = [chance.permutation(np.arange(items) % size) for size in sizes]
    right = np.clip(hardness + effect * (factors[0] == 0), 0, 1)
    return (chance.random(items) < right).astype(float), factors, hardness


def alarms(items: int, sizes: list[int], effect: float = 0.0, worlds: int = 150) -> Floats:
    """In which share of worlds each factor is called an effect, at 5 %."""
    p = []
    for seed in range(worlds):
        scores, factors, hardness = world(np.random.default_rng(seed), items, sizes, effect)
        fitted, _ = level_effects(scores, Design(factors, hardness[:, None], np.arange(items)))
        p.append([one.p for one in fitted])
    share: Floats = (np.array(p, float) < 0.05).mean(axis=0)
    return share


def test_as_another_implementation_has_it() -> None:
    scores, (one, other), hardness = world(np.random.default_rng(3), 90, [3, 4])
    fitted, together = level_effects(scores, Design([one, other], hardness[:, None], np.arange(90)))
    data = pandas.DataFrame({"y": scores, "one": one, "other": other, "hard": hardness - hardness.mean()})
    model = formulas.ols("y ~ hard + C(one, Sum) + C(other, Sum)", data)
    theirs, robust = model.fit(), model.fit(cov_type="HC2")
    assert together
    assert [effect.value for effect in fitted[0].effects[:2]] == pytest.approx(
        [theirs.params[f"C(one, Sum)[S.{level}]"] for level in (0, 1)]
    )
    assert sum(effect.value or 0 for effect in fitted[1].effects) == pytest.approx(0)
    without = formulas.ols("y ~ hard + C(one, Sum)", data).fit()
    assert fitted[1].p == pytest.approx(theirs.compare_f_test(without)[1])
    effect = fitted[0].effects[0]
    assert effect.low is not None
    assert effect.value is not None
    half = effect.value - effect.low
    assert half == pytest.approx(1.99 * robust.bse["C(one, Sum)[S.0]"], rel=0.02)


@pytest.mark.parametrize(("items", "sizes"), [(120, [2, 3, 12]), (40, [2, 3])])
def test_without_any_effect_alarms_are_as_rare_as_they_should_be(items: int, sizes: list[int]) -> None:
    share = alarms(items, sizes)
    assert (share < 0.105).all()
    assert share.mean() > 0.01


def test_a_planted_effect_is_seen_and_put_where_it_is() -> None:
    found = alarms(200, [2, 3, 4], effect=0.25)
    assert found[0] > 0.8
    assert (found[1:] < 0.105).all()


def test_levels_count_once_however_rare_they_are() -> None:
    codes = np.array([0] * 90 + [1] * 6 + [2] * 4)
    scores = np.where(codes == 0, 0.5, np.where(codes == 1, 1.0, 0.0)) + np.tile((0.1, -0.1), 50)
    [fitted], _ = level_effects(scores, Design([codes], np.zeros((100, 0)), np.arange(100)))
    assert [effect.value for effect in fitted.effects] == pytest.approx([0, 0.5, -0.5])
    widths = [(effect.high or 0) - (effect.low or 0) for effect in fitted.effects]
    assert widths[2] > widths[1]


@pytest.mark.parametrize(
    "codes", [np.zeros(40, int), np.array([0] * 39 + [1]), np.full(40, -1)], ids=["one level", "one item", "none"]
)
def test_what_cannot_be_told_is_not_told(codes: Ints) -> None:
    scores = np.random.default_rng(0).random(40)
    [fitted], _ = level_effects(scores, Design([codes], np.zeros((40, 0)), np.arange(40)))
    assert fitted == FactorEffects(fitted.effects, None)
    assert all(effect.value is None for effect in fitted.effects)


def test_a_factor_that_is_another_one_under_a_new_name_is_not_told() -> None:
    codes = np.arange(60) % 3
    fitted, together = level_effects(
        np.random.default_rng(0).random(60), Design([codes, codes], np.zeros((60, 0)), np.arange(60))
    )
    assert together
    assert [one.p for one in fitted] == [None, None]


def test_few_items_are_fitted_a_factor_at_a_time() -> None:
    chance = np.random.default_rng(1)
    scores, factors, _ = world(chance, 24, [2, 3, 4])
    fitted, together = level_effects(scores, Design(factors, np.zeros((24, 0)), np.arange(24)))
    assert not together
    assert all(one.p is not None for one in fitted)


def test_scores_without_any_spread_have_no_test() -> None:
    [fitted], _ = level_effects(np.ones(40), Design([np.arange(40) % 2], np.zeros((40, 0)), np.arange(40)))
    assert fitted.p is None
    assert [effect.value for effect in fitted.effects] == pytest.approx([0, 0])
