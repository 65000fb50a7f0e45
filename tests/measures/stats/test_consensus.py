from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from eyetest.measures.stats.consensus import SkillFit, learn, likelihoods, recurring, suspicion

Ints = NDArray[np.int64]
PANEL = SkillFit(skills=np.array([1.2, 0.1, -0.8]), spread=1.4, evenness=0.6)


class Answered(NamedTuple):
    choices: Ints
    options: Ints
    golds: Ints
    flipped: NDArray[np.bool_]


def _answered(seed: int, numbers: tuple[int, ...] = (4,), unevenness: float = 0.7, items: int = 600) -> Answered:
    """Nine models of mixed skill; items differ in slope, difficulty and what attracts; 5 % of golds are moved."""
    rng = np.random.default_rng(seed)
    options = rng.choice(numbers, items)
    truth = (rng.random(items) * options).astype(np.int64)
    skills, slopes, difficulty = rng.normal(0.8, 1, 9), np.exp(rng.normal(0, 0.4, items)), rng.normal(0, 1.5, items)
    right = rng.random((items, 9)) < expit(slopes[:, None] * (skills - difficulty[:, None]))
    right |= rng.random((items, 9)) < 0.5 / options[:, None]
    pull = rng.gamma(unevenness, size=(items, max(numbers))) + 1e-9
    pull[np.arange(max(numbers)) >= options[:, None]] = 0
    pull[np.arange(items), truth] = 0
    bounds = (pull / pull.sum(1, keepdims=True)).cumsum(1)
    wrong = (rng.random((items, 9, 1)) > bounds[:, None, :-1]).sum(2)
    choices = np.where(right, truth[:, None], wrong)
    choices[rng.random(choices.shape) < 0.03] = -1
    flipped = rng.random(items) < 0.05
    moved = (truth + 1 + (rng.random(items) * (options - 1)).astype(np.int64)) % options
    return Answered(choices, options, np.where(flipped, moved, truth), flipped)


def _found(answered: Answered) -> tuple[float, float, float]:
    """Areas under the curve: consensus, wrong answers counted, nobody right."""
    choices, options, golds, flipped = answered
    right, read = (choices == golds[:, None]).sum(1), (choices >= 0).sum(1)
    scores = suspicion(choices, options, golds).ratios, 1 - right / np.maximum(read, 1), right == 0
    return tuple(float(roc_auc_score(flipped, score)) for score in scores)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("numbers", "unevenness"), [((4,), 0.7), ((4,), 0.25), ((4,), 20.0), ((2, 3, 5, 10), 0.7)], ids=str
)
def test_wrong_golds_are_found_better_than_by_counting_wrong_answers(
    numbers: tuple[int, ...], unevenness: float
) -> None:
    consensus, accuracy, nobody = np.mean([_found(_answered(seed, numbers, unevenness)) for seed in range(6)], axis=0)
    assert consensus > 0.95
    assert consensus > accuracy + 0.01
    assert accuracy > nobody


def test_models_and_items_are_learnt_from_the_answers() -> None:
    choices, options, golds, flipped = _answered(3, items=2_000)
    right = (choices == golds[:, None])[~flipped].sum(0) / (choices >= 0)[~flipped].sum(0)
    learnt = learn(choices, options, golds)
    assert stats.spearmanr(learnt.skills, right).statistic > 0.98
    assert 1.0 < learnt.spread < 2.0
    assert 0.4 < learnt.evenness < 1.0
    assert learn(*_answered(3, unevenness=20.0)[:3]).evenness > 2


def test_all_answers_together_are_certain() -> None:
    everything = np.array(list(product(range(3), repeat=3)))
    logs = likelihoods(everything, np.full(len(everything), 3), PANEL)
    assert np.exp(logs).sum(axis=0) == pytest.approx([1, 1, 1])


def test_the_likelihood_is_skill_over_hardness_times_an_urn() -> None:
    def by_skill(hardness: float) -> float:
        right = expit(PANEL.skills - PANEL.spread * hardness)
        return float(right[0] * (1 - right[1]) * (1 - right[2]) * stats.norm.pdf(hardness))

    a = PANEL.evenness
    urn = a / (3 * a) * (a + 1) / (3 * a + 1)
    expected = integrate.quad(by_skill, -9, 9)[0] * urn
    assert np.exp(likelihoods(np.array([[2, 0, 0]]), np.array([4]), PANEL)[0, 2]) == pytest.approx(expected, rel=1e-3)


def test_an_option_that_is_not_there_is_never_right() -> None:
    logs = likelihoods(np.array([[1, 1, 0], [3, 3, 0]]), np.array([2, 4]), PANEL)
    assert np.isneginf(logs).tolist() == [[False, False, True, True], [False] * 4]


def test_unread_answers_say_nothing() -> None:
    choices, options, golds, _ = _answered(5, items=150)
    choices[0] = -1
    silent = np.full((150, 1), -1)
    ratios = suspicion(choices, options, golds).ratios
    assert ratios[0] == 0
    assert suspicion(np.hstack([choices, silent]), options, golds).ratios == pytest.approx(ratios)
    beyond = np.where(choices == -1, 9, choices)
    assert suspicion(beyond, options, golds).ratios == pytest.approx(ratios)


def test_names_of_options_do_not_matter() -> None:
    choices, options, golds, _ = _answered(6, items=150)
    other = np.array([2, 0, 3, 1])
    found = suspicion(choices, options, golds)
    renamed = suspicion(np.where(choices < 0, -1, other[choices]), options, other[golds])
    assert renamed.ratios == pytest.approx(found.ratios)
    clear = found.ratios > 0
    assert (renamed.rivals[clear] == other[found.rivals[clear]]).all()


def test_skilled_models_weigh_more() -> None:
    choices, options, golds, _ = _answered(7, items=400)
    order = np.argsort(learn(choices, options, golds).skills)
    for place, for_rival in enumerate((order[-4:], order[:4])):
        choices[place] = golds[place]
        choices[place, for_rival] = (golds[place] + 1) % 4
    best, worst = suspicion(choices, options, golds).ratios[:2]
    assert best > worst


def test_many_items_are_judged_as_few_are() -> None:
    choices, options, golds, _ = _answered(8, items=2_999)
    found = suspicion(choices, options, golds).ratios
    many = suspicion(*(np.concatenate([part] * 9) for part in (choices, options, golds))).ratios
    assert many[-2_999:] == pytest.approx(found, abs=0.1)


def test_no_items_no_suspicion() -> None:
    assert len(suspicion(np.empty((0, 9)), [], []).ratios) == 0


def _yes_sayers(seed: int, items: int = 1_500) -> Answered:
    """Yes (0) or no (1); nine models that like to say yes. One gold of 25 is turned over."""
    rng = np.random.default_rng(seed)
    truth, flipped = rng.integers(2, size=items), rng.random(items) < 0.04
    leaning = np.where(truth[:, None] == 0, 1, -1) * rng.normal(1.2, 0.4, 9)
    right = rng.random((items, 9)) < expit(rng.normal(1.8, 0.6, 9) + leaning - rng.normal(0, 1.5, (items, 1)))
    choices = np.where(right, truth[:, None], 1 - truth[:, None])
    return Answered(choices, np.full(items, 2), np.where(flipped, 1 - truth, truth), flipped)


def test_it_matters_which_answer_is_contradicted() -> None:
    """Where yes-sayers say no, a "yes" is likely wrong; their yes says little against a "no"."""
    areas, shares = [], []
    for seed in range(5):
        choices, options, golds, flipped = _yes_sayers(seed)
        kinds = recurring([("Yes", "No")] * len(golds))
        plain, leaning = (suspicion(choices, options, golds, known).ratios for known in (None, kinds))
        areas.append([roc_auc_score(flipped, ratios) for ratios in (plain, leaning)])
        doubted = [ratios > np.sort(ratios)[-60] for ratios in (plain, leaning)]
        shares.append([flipped[one].mean() for one in doubted])
        against_yes, against_no = (
            leaning[(choices.sum(1) == votes) & (golds == gold)] for votes, gold in ((8, 0), (1, 1))
        )
        assert against_yes.mean() > against_no.mean() + 1, "eight of nine against the gold, either way"
    assert np.mean(areas, axis=0)[1] > np.mean(areas, axis=0)[0] + 0.01
    assert np.mean(shares, axis=0)[1] > np.mean(shares, axis=0)[0]


def test_answers_recur_as_whole_sets() -> None:
    yes_no = [("Yes", "No"), ("no.", "yes")] * 15
    found = recurring([*yes_no, ("yes", "no", "maybe"), ("a cat", "a dog")])
    assert found[:2].tolist() == [[2, 1, 0], [1, 2, 0]]
    assert not found[30:].any()
    assert not recurring([("yes", "no")] * 29).any()
    assert recurring([]).shape == (0, 1)


def test_kinds_that_do_not_differ_change_little() -> None:
    choices, options, golds, _ = _answered(9, items=1_000)
    kinds = recurring([("w", "x", "y", "z")] * 1_000)
    plain, apart = (suspicion(choices, options, golds, known).ratios for known in (None, kinds))
    assert stats.spearmanr(plain, apart).statistic > 0.98
