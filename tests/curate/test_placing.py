"""Where a new model stands: which items are asked next, how wide the interval is, and whether it holds the truth."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from eyetest.curate.placing import FEWEST_ITEMS, AdaptiveDraw, Misfit, ModelStanding, RecordedPanel, misfit
from eyetest.measures.stats.item_analysis import probabilities

Floats = NDArray[np.float64]
ITEMS = 300


@cache
def world(kinds: int = 1) -> tuple[Floats, Floats]:
    """Answers of 16 recorded models and of 12 new ones. With two kinds of items, a model has an ability for each."""
    rng = np.random.default_rng(7)
    slopes, intercepts = rng.uniform(0.5, 1.8, ITEMS), rng.normal(0, 1.3, ITEMS)
    skill = rng.normal(size=(kinds, 28))
    kind = rng.integers(0, kinds, ITEMS)
    chance = np.array(
        [probabilities(slopes[i : i + 1], intercepts[i : i + 1], skill[kind[i]])[0] for i in range(ITEMS)]
    )
    answers = (rng.random((ITEMS, 28)) < chance).astype(float)
    return answers[:, :16], answers[:, 16:]


@cache
def panel(kinds: int = 1) -> RecordedPanel:
    models = [f"m{n}" for n in range(16)]
    return RecordedPanel([f"q{n}" for n in range(ITEMS)], models, world(kinds)[0], seed=1)


def test_relatives_are_left_out_together() -> None:
    """Copies of the model that is asked would make the curves look better than they are for a stranger."""
    answers = np.repeat(world(4)[0][:, :8], 4, axis=1)
    apart = misfit(answers, [f"{name}-{n}" for name in "abcdefgh" for n in range(4)], seed=1)
    strangers = misfit(answers, [f"{n}" for n in range(32)], seed=1)
    assert apart.models == 8
    assert strangers.models == 32
    assert apart.within(100) > strangers.within(100)


def asked(answers: Floats, among: RecordedPanel, within: float, seed: int) -> tuple[int, ModelStanding]:
    """After how many items a model's score is known so well, and where it then stands."""
    draw, items, scores = AdaptiveDraw(among.fitted, among.estimator, 1, seed), [], []
    while True:
        item = draw.next()
        draw.hear(item, answers[item])
        items.append(int(item[0]))
        scores.append(float(answers[item][0]))
        if len(items) >= FEWEST_ITEMS and not len(items) % 10:
            now = among.standing(items, scores)
            if (now.high - now.low) / 2 <= within or len(items) == len(answers):
                return len(items), now


def test_new_models_lie_where_they_are_said_to_lie() -> None:
    among, held, taken = panel(), [], []
    for number, answers in enumerate(world()[1].T):
        count, now = asked(answers, among, 0.06, number)
        true = answers.mean()
        held.append(now.low <= true <= now.high)
        taken.append(count)
        assert now.best <= now.rank <= now.worst
        if held[-1]:
            assert now.best <= 1 + (among.scores > true).sum() <= now.worst
    assert np.mean(held) >= 0.8
    assert np.mean(taken) < 0.5 * ITEMS


def test_where_curves_are_wrong_the_interval_is_wider() -> None:
    """Models with two abilities: one curve a model has to be wrong about them."""
    names = [f"m{n}" for n in range(16)]
    right, wrong = ([misfit(world(kinds)[0], names, seed) for seed in (1, 2, 3)] for kinds in (1, 2))
    assert np.mean([one.ratios for one in wrong]) > 1.05 * np.mean([one.ratios for one in right])
    assert min(min(one.ratios) for one in right) >= 1


def test_a_ratio_between_two_trials_lies_between_theirs() -> None:
    tried = Misfit(items=(25, 100), ratios=(1.0, 2.0), models=40)
    assert tried.within(10) == tried.within(25) < tried.within(50) < tried.within(100) == tried.within(500)
    assert tried.within(25) == pytest.approx(2.023, abs=0.001), "Student's quantile with 39 degrees of freedom"


def test_items_that_tell_about_the_model_come_sooner() -> None:
    """Who has everything right is asked hard items, who has nothing right easy ones."""
    among = panel()
    easy = among.fitted.intercepts
    means = {}
    for answer in (0.0, 1.0):
        draw = AdaptiveDraw(among.fitted, among.estimator, 30, seed=4)
        for _ in range(40):
            items = draw.next()
            draw.hear(items, np.full(30, answer))
        means[answer] = easy[items].mean()
    assert means[0.0] > means[1.0] + 0.5


def test_nothing_is_asked_twice_and_what_has_no_score_counts_for_nothing() -> None:
    among = panel()
    draw = AdaptiveDraw(among.fitted, among.estimator, 1, seed=2)
    seen = [int(draw.next()[0]) for _ in range(ITEMS)]
    assert sorted(seen) == list(range(ITEMS))
    answers = world()[1][:, 0]
    some = seen[:40]
    assert among.standing([*some, seen[50]], [*answers[some], np.nan]) == among.standing(some, answers[some].tolist())


def test_all_answers_leave_no_doubt() -> None:
    answers = world()[1][:, 3]
    now = panel().standing(range(ITEMS), answers.tolist())
    assert (now.low, now.score, now.high) == pytest.approx((answers.mean(),) * 3)


@pytest.mark.parametrize(("answer", "side"), [(1.0, 1), (0.0, -1)])
def test_who_lies_beyond_the_panel_is_said_to(answer: float, side: int) -> None:
    now = panel().standing(range(150), [answer] * 150)
    assert now.beyond == side
    assert (now.best, now.worst) == ((1, 1) if side > 0 else (17, 17))
