"""Known or believed? Panels with tastes of many kinds are drawn, and what is blamed is compared with the truth."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from eyetest.measures.stats.chance import HitCounts, chance, exceeding, favourites, tastes_of_choices, tastes_of_hits
from tests.filters.simulated import POWER, TASTES, Bools, Drawn, draw_panel

RATE = 0.05


def counts_of(drawn: Drawn, options: int) -> Any:
    return np.stack([(drawn.chosen == place).sum(axis=2) for place in range(options)], axis=2)


def blamed(drawn: Drawn, options: int, benefit: float = 1.0) -> Bools:
    number = np.full(len(drawn.leaky), options)
    favoured = favourites(counts_of(drawn, options), number)
    return exceeding(favoured, favoured.option == 0, np.full(len(number), 1 / options), RATE, benefit)


def by_hits(counted: HitCounts) -> Any:
    return chance(counted, tastes_of_hits(counted))


def by_choices(drawn: Drawn, options: int) -> Any:
    """Chances of the hits on each item, by what the panel chose."""
    chosen, number = counts_of(drawn, options).sum(axis=1), np.full(len(drawn.leaky), options)
    golds = np.broadcast_to(np.arange(options) == 0, chosen.shape)
    counted = HitCounts(chosen[:, 0], chosen.sum(axis=1), np.ones_like(number), number)
    return chance(counted, tastes_of_choices(chosen, golds, number))


class Found(NamedTuple):
    """Means over repeats, and the noise of the first."""

    false: float
    power: float
    noise: float


def found(options: int, taste: str, leaky: float, repeats: int, items: int) -> Found:
    rows = []
    for seed in range(repeats):
        rng = np.random.default_rng([options, seed, len(taste), round(1000 * leaky)])
        drawn = draw_panel(
            rng, items=items, inspectors=4, samples=10, options=options, leaky=leaky, taste=TASTES[taste]
        )
        drop = blamed(drawn, options)
        false = float((~drawn.leaky[drop]).mean()) if drop.any() else 0.0
        rows.append((false, float(drop[drawn.leaky].mean()) if drawn.leaky.any() else 0.0))
    false_, power = np.array(rows).T
    return Found(float(false_.mean()), float(power.mean()), float(false_.std(ddof=1) / repeats**0.5))


@pytest.mark.parametrize(
    ("options", "leaky", "repeats"),
    [
        *product((2, 4, 10), (0.0, 0.2), (12,)),
        *(pytest.param(*case, 200, marks=pytest.mark.slow) for case in product((2, 3, 4, 5, 10), (0.0, 0.02, 0.2))),
    ],
)
@pytest.mark.parametrize("taste", TASTES)
def test_one_in_twenty_is_wrongly_blamed_at_most(
    options: int, taste: str, leaky: float, repeats: int, record_property: Any
) -> None:
    few = repeats < 200
    seen = found(options, taste, leaky, repeats, items=300 if few else 500)
    name = f"{options} options, {taste}, {leaky:.0%} leaky"
    record_property(name, str(list(seen)))
    print(f"{name}: false {seen.false:.4f} ± {seen.noise:.4f}, power {seen.power:.3f}")
    assert seen.false <= RATE + max(3 * seen.noise, 0.01 * few)
    if leaky == 0.2:
        assert seen.power >= POWER.get((options, taste), 0.0) - 0.15 * few


def test_no_item_is_blamed_where_too_few_stand_out() -> None:
    """At four options a promise of one in twenty takes seven plain cases; without the benefit of doubt, one."""
    chosen = np.random.default_rng(0).integers(4, size=(50, 4, 10))
    chosen[:6] = 0
    six = Drawn(np.arange(50) < 6, chosen)
    assert not blamed(six, 4).any()
    assert blamed(six, 4, benefit=0.0)[:6].all()
    seven = Drawn(np.arange(50) < 7, np.where((np.arange(50) == 6)[:, None, None], 0, chosen))
    assert blamed(seven, 4)[:7].all()


def test_a_favourite_has_to_lead() -> None:
    counts = np.array([[[5, 5, 0]], [[0, 0, 0]], [[6, 3, 1]], [[0, 9, 0]]])
    seen = favourites(counts, np.array([3, 3, 3, 2]))
    assert seen.option.tolist() == [-1, -1, 0, 1]
    assert np.isneginf(seen.strength[:2]).all()


def test_strong_tastes_are_learnt_from_golds_that_are_hardly_hit() -> None:
    rng = np.random.default_rng(3)
    likely = rng.beta(0.5, 1.5, size=3_000)
    hits = rng.binomial(40, likely)
    ones = np.ones(3_000, int)
    p = by_hits(HitCounts(hits, 40 * ones, ones, 4 * ones))
    for level in (0.05, 0.01, 0.002):
        assert (p <= level).mean() <= level + 3 * (level / 3_000) ** 0.5
    assert (p <= 0.05).mean() >= 0.02


@pytest.mark.parametrize("leaky", [0.0, 0.3])
@pytest.mark.parametrize("taste", ["coins", "own, strong", "leaning", "beliefs on a tenth"])
@pytest.mark.parametrize("options", [2, 4])
def test_chances_by_what_was_chosen_are_as_rare_as_they_say(options: int, taste: str, leaky: float) -> None:
    """Of the items that no model knows; those that are known are no lesson about tastes."""
    rng = np.random.default_rng([options, round(10 * leaky), len(taste)])
    drawn = draw_panel(rng, items=2_000, inspectors=4, samples=10, options=options, taste=TASTES[taste], leaky=leaky)
    p = by_choices(drawn, options)[~drawn.leaky]
    for level in (0.1, 0.01, 0.002):
        assert (p <= level).mean() <= 1.3 * level + 3 * (level / len(p)) ** 0.5
    if taste != "beliefs on a tenth":
        assert (p <= 0.1).mean() >= 0.01


def test_an_item_whose_options_are_all_right_says_nothing_of_the_others() -> None:
    drawn = draw_panel(np.random.default_rng(4), items=120, inspectors=4, samples=10, leaky=0.5)
    counts, number = counts_of(drawn, 4), np.full(120, 4)
    favoured, chances = favourites(counts, number), np.full(120, 0.25)
    alone = exceeding(favoured, favoured.option == 0, chances, RATE)
    more = favourites(np.concatenate([counts, counts[:1]]), np.full(121, 4))
    beside = exceeding(more, more.option == 0, np.append(chances, 1.0), RATE)
    assert alone.sum() > 40
    assert beside[:120].sum() >= 0.9 * alone.sum()
    assert not beside[120]
