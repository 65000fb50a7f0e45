"""Do screens keep their promises where the truth is known? Panels are drawn, verdicts compared with what was drawn.

One item in five can be answered blind. An inspector knows such an item with probability .95 and is then right in .85
of its samples; else it guesses.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from eyetest.filters import Evidence
from eyetest.recipes.loading import load_recipe
from eyetest.records import Stage, Verdict
from tests.filters.answers import item, judge
from tests.filters.simulated import POWER, TASTES, Bools, Drawn, draw_panel

pytestmark = pytest.mark.science

MMSTAR, MMMU_PRO, CHANCE_AWARE = (load_recipe(name).stages[0] for name in ("mmstar", "mmmu-pro", "chance-aware"))


def judged(rule: Stage, drawn: Drawn, options: int = 4, evidence: Evidence | None = None) -> list[Verdict]:
    return judge(rule, drawn.items(options), evidence or drawn.evidence())


def dropped(verdicts: list[Verdict]) -> Bools:
    assert {verdict.verdict for verdict in verdicts} <= {"keep", "drop"}
    return np.array([verdict.verdict == "drop" for verdict in verdicts])


def test_mmmu_pro_finds_what_is_answered_blind_and_little_else(record_property: Any) -> None:
    """5,000 items of four options, four inspectors, ten samples."""
    drawn = draw_panel(np.random.default_rng(0), items=5_000, inspectors=4, samples=10)
    verdicts = judged(MMMU_PRO, drawn)
    drop = dropped(verdicts)
    recall, precision = drop[drawn.leaky].mean(), drawn.leaky[drop].mean()
    saved = 1 - sum(verdict.n or 0 for verdict in verdicts) / drawn.right.size
    for name, value in (("recall", recall), ("precision", precision), ("saved", saved)):
        record_property(name, float(value))
    print(f"recall {recall:.3f}, precision {precision:.4f}, {saved:.1%} of 200,000 calls saved")
    assert recall >= 0.95
    assert precision >= 0.9
    assert saved >= 0.5, "stopping early has to be worth it"


def test_mmstar_throws_out_the_good_items_that_chance_hits(record_property: Any) -> None:
    """Eight inspectors, one sample: precision as predicted, which is less than half."""
    drawn = draw_panel(np.random.default_rng(1), items=5_000, inspectors=8, samples=1)
    drop = dropped(judged(MMSTAR, drawn))
    hit = 0.95 * 0.85 + 0.05 / 4
    lost, found = stats.binom.sf(2, 8, 1 / 4), stats.binom.sf(2, 8, hit)
    predicted = 0.2 * found / (0.2 * found + 0.8 * lost)
    precision, recall = drawn.leaky[drop].mean(), drop[drawn.leaky].mean()
    record_property("precision", float(precision))
    record_property("predicted precision", float(predicted))
    print(f"precision {precision:.3f}, predicted {predicted:.3f}; recall {recall:.4f}, predicted {found:.4f}")
    assert precision == pytest.approx(predicted, abs=4 * (0.25 / drop.sum()) ** 0.5)
    assert predicted == pytest.approx(0.437, abs=0.001)
    assert recall == pytest.approx(found, abs=0.004)


@pytest.mark.parametrize(("options", "share"), [(2, 0.86), (3, 0.53), (4, 0.32), (5, 0.20), (10, 0.04)])
def test_how_many_good_items_the_rules_of_the_papers_lose(options: int, share: float) -> None:
    rng = np.random.default_rng(options)
    once = draw_panel(rng, items=1_500, inspectors=8, samples=1, options=options, leaky=0)
    assert dropped(judged(MMSTAR, once, options)).mean() == pytest.approx(share, abs=0.05)
    if options == 4:
        often = draw_panel(rng, items=1_000, inspectors=4, samples=10, options=options, leaky=0)
        assert dropped(judged(MMMU_PRO, often, options)).sum() == 0, "3e-5 of a thousand"


class Outcome(NamedTuple):
    """By repeat: which share of what was dropped was good, of the leaky was dropped, of the good went to people."""

    false: float
    power: float
    bothered: float


def outcome(verdicts: list[Verdict], drawn: Drawn) -> Outcome:
    drop, review = (np.array([one.verdict == kind for one in verdicts]) for kind in ("drop", "review"))
    false = float((~drawn.leaky[drop]).mean()) if drop.any() else 0.0
    power = float(drop[drawn.leaky].mean()) if drawn.leaky.any() else 0.0
    return Outcome(false, power, float(review[~drawn.leaky].mean()))


@pytest.mark.parametrize(("options", "taste"), [(2, "coins"), (4, "own, strong"), (4, "leaning"), (10, "leaning")])
def test_chance_aware_keeps_its_promise(options: int, taste: str) -> None:
    """A few repeats of the whole screen; tests/measures/stats/test_beliefs.py has hundreds of the formula."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng([options, seed])
        drawn = draw_panel(rng, items=300, inspectors=4, samples=10, options=options, taste=TASTES[taste])
        found.append(outcome(judged(CHANCE_AWARE, drawn, options), drawn))
    false, power, bothered = np.array(found).T
    assert false.mean() <= 0.05 + 0.05, "the noise of four repeats"
    assert power.mean() >= POWER[options, taste] - 0.15
    assert bothered.mean() <= 0.01


@pytest.mark.parametrize("taste", ["coins", "leaning", "beliefs on a tenth"])
def test_a_flawless_benchmark_loses_nothing(taste: str) -> None:
    """Readers with tastes and no knowledge; a binomial null drops a tenth of these items."""
    drawn = draw_panel(
        np.random.default_rng(7), items=1_200, inspectors=4, samples=10, leaky=0.0, taste=TASTES[taste]
    )
    verdicts = judged(CHANCE_AWARE, drawn)
    assert not any(one.verdict == "drop" for one in verdicts)
    assert sum(one.verdict == "review" for one in verdicts) <= 6


def test_a_few_known_items_go_to_people() -> None:
    """Three of two hundred are known: too few to promise anything, and too plain to be passed over."""
    drawn = draw_panel(np.random.default_rng(3), items=200, inspectors=4, samples=10, leaky=0.015)
    verdicts = judged(CHANCE_AWARE, drawn)
    asked = {one.item for one in verdicts if one.verdict == "review"}
    assert asked == {name for name, leaky in zip(drawn.names, drawn.leaky, strict=True) if leaky}
    assert not any(one.verdict == "drop" for one in verdicts)
    reason = next(one.reason for one in verdicts if one.verdict == "review")
    assert "too few items are like it to rule out a shared belief" in reason


@pytest.mark.parametrize(("options", "taste"), [(4, "coins"), (4, "own, strong"), (4, "shared"), (10, "leaning")])
def test_hits_alone_will_do_where_choices_are_not_known(options: int, taste: str, record_property: Any) -> None:
    """Scores that others gave: how often golds are hardly hit tells how strong tastes are."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng([options, seed])
        drawn = draw_panel(rng, items=300, inspectors=4, samples=10, options=options, taste=TASTES[taste])
        found.append(outcome(judged(CHANCE_AWARE, drawn, options, drawn.evidence(with_choices=False)), drawn))
    false, power, _ = np.array(found).T
    record_property("false", float(false.mean()))
    record_property("power", float(power.mean()))
    assert false.mean() <= 0.05 + 3 * false.std(ddof=1) / len(false) ** 0.5
    assert power.mean() >= 0.6


def test_items_of_different_sizes_are_judged_together() -> None:
    """Two to ten options in one benchmark."""
    false = []
    for seed in range(4):
        rng = np.random.default_rng([seed, 99])
        parts = [
            draw_panel(rng, items=120, inspectors=4, samples=10, options=options, taste=TASTES["leaning"])
            for options in (2, 3, 4, 6, 10)
        ]
        drawn = Drawn(np.concatenate([one.leaky for one in parts]), np.concatenate([one.chosen for one in parts]))
        sizes = np.repeat([2, 3, 4, 6, 10], 120)
        items = [item(name, int(size)) for name, size in zip(drawn.names, sizes, strict=True)]
        found = outcome(judge(CHANCE_AWARE, items, drawn.evidence()), drawn)
        false.append(found.false)
        assert found.power >= 0.3
    assert np.mean(false) <= 0.05 + 0.05
