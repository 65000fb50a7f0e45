"""Who can be told apart: false alarms when all are equally good, and whether rank intervals hold the true ranks."""

import numpy as np
import pytest
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import resampled_means
from eyetest.measures.stats.paired import holm, paired, smallest_difference
from eyetest.measures.stats.ranking import rank_bounds, standings, tie_groups, told_apart

Floats = NDArray[np.float64]


def answers(skills: Floats, clusters: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Right and wrong: models share how hard an item is, and a cluster favours some of them."""
    items, models = len(clusters), len(skills)
    favour = 0.4 * rng.normal(size=(clusters.max() + 1, models))[clusters]
    return (rng.normal(size=(items, 1)) + favour + rng.normal(size=(items, models)) + skills > 0).astype(float)


def true_ranks(skills: Floats) -> list[tuple[int, int]]:
    """The ranks that a model may claim: equally good ones may stand in any order."""
    ahead = (skills[None] > skills[:, None]).sum(axis=1)
    behind = (skills[None] < skills[:, None]).sum(axis=1)
    return [(1 + int(a), len(skills) - int(b)) for a, b in zip(ahead, behind, strict=True)]


def held(skills: Floats, clusters: NDArray[np.int64], repeats: int) -> tuple[Floats, float]:
    """How often each model's interval holds all its true ranks, and how often equals were put into two groups."""
    rng, counts, split = np.random.default_rng(len(skills)), np.zeros(len(skills)), 0
    for repeat in range(repeats):
        found = standings(answers(skills, clusters, rng), clusters, resamples=400, seed=repeat)
        bounds = [(one.rank.low or 0, one.rank.high or 0) for one in found]
        holds = zip(bounds, true_ranks(skills), strict=True)
        counts += [low <= best and worst <= high for (low, high), (best, worst) in holds]
        split += len({one.tie for one in found}) > 1
    return counts / repeats, split / repeats


def test_every_pair_is_tested_and_adjusted() -> None:
    rng = np.random.default_rng(0)
    clusters = np.arange(120) // 2
    scores = answers(np.array([0.0, 0.5, 1.0]), clusters, rng)
    pairs = [paired(scores[:, a], scores[:, b], clusters) for a, b in ((0, 1), (0, 2), (1, 2))]
    adjusted = holm([pair.p for pair in pairs])
    found = told_apart(scores, clusters.astype(str), 0.95)
    for (a, b), pair, p in zip(((0, 1), (0, 2), (1, 2)), pairs, adjusted, strict=True):
        assert found.alone[b, a] == ((pair.p or 0) < 0.05)
        assert found.surely[b, a] == ((p or 0) < 0.05)
        assert not found.surely[a, b]
    assert found.surely[2, 0]


def test_models_on_different_items_are_not_told_apart() -> None:
    nan = np.nan
    found = told_apart(np.array([[1, nan], [1, nan], [nan, 0], [nan, 0]]), np.arange(4), 0.95)
    assert not found.alone.any()
    assert not found.surely.any()


def test_a_group_ends_where_its_best_model_is_ahead() -> None:
    ahead = np.zeros((4, 4), bool)
    ahead[2, 1] = ahead[3, 1] = True
    assert tie_groups([2, 0, 3, 1], ahead) == {2: 1, 0: 1, 3: 1, 1: 4}
    assert tie_groups([], ahead) == {}


def test_few_items_leave_every_rank_open_however_far_models_are_apart() -> None:
    """Drawing three items again says the same each time; McNemar's test knows that three are few."""
    scores = np.array([[1.0, 0.0]] * 3)
    drawn = resampled_means(scores, np.arange(3), 200)
    assert rank_bounds(scores.mean(axis=0), drawn, told_apart(scores, np.arange(3), 0.95).alone, 3, 0.95) == [
        (1, 2),
        (1, 2),
    ]
    many = np.array([[1.0, 0.0]] * 30)
    drawn = resampled_means(many, np.arange(30), 200)
    apart = told_apart(many, np.arange(30), 0.95)
    assert rank_bounds(many.mean(axis=0), drawn, apart.alone, 30, 0.95) == [(1, 1), (2, 2)]


def test_equals_share_a_rank_and_their_intervals_are_whole() -> None:
    holds, split = held(np.zeros(6), np.arange(200) // 2, 200)
    assert split < 0.09  # with each tested at 95 % against the best, two thirds of ten equals
    assert holds.min() > 0.88  # of 200, what holds 95 times in 100 strays below less than once in a thousand


def test_rank_intervals_of_near_models_hold_also_for_the_best_and_the_worst() -> None:
    """Of ten such models, the middle of the ranks of resamples holds those two as seldom as 77 times in 100."""
    holds, _ = held(np.linspace(0, 0.15, 8), np.arange(300), 200)
    assert holds.min() > 0.92


@pytest.mark.slow
@pytest.mark.parametrize("models", [4, 10, 20])
@pytest.mark.parametrize("span", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("shared", [1, 4])
def test_rank_intervals_hold(models: int, span: float, shared: int) -> None:
    """Equals are the hardest: there the share is what it should be, and elsewhere above it."""
    holds, split = held(np.linspace(0, span, models), np.arange(400) // shared, 500)
    assert holds.mean() > (0.93 if span == 0 else 0.97)
    assert holds.min() > 0.9
    assert span > 0 or split < 0.075


def test_the_smallest_difference_after_adjustment_is_found_four_times_in_five_though_others_are_level() -> None:
    n, discordance, pairs = 800, 0.4, 45
    difference = smallest_difference(n, discordance, 0.8, 1 - 0.05 / pairs)
    assert difference is not None
    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    rng = np.random.default_rng(3)
    found = []
    for only_a, only_b, _ in rng.multinomial(n, shares, 1_000).tolist():
        one = paired(np.repeat([1, 0], [only_a, only_b]), np.repeat([0, 1], [only_a, only_b])).p
        found.append((holm([one, *[0.9] * (pairs - 1)])[0] or 0) < 0.05)
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)
