from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from eyetest.measures.stats.consensus import suspicion
from eyetest.measures.stats.panel_fit import learn
from eyetest.measures.stats.recurring import recurring

Ints = NDArray[np.int64]


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
    consensus, accuracy, nobody = np.mean([_found(_answered(seed, numbers, unevenness)) for seed in range(2)], axis=0)
    assert consensus > 0.95
    assert consensus > accuracy + 0.005
    assert accuracy > nobody


def test_unread_answers_say_nothing() -> None:
    choices, options, golds, _ = _answered(5, items=150)
    choices[0] = -1
    silent = np.full((150, 1), -1)
    ratios = suspicion(choices, options, golds).ratios
    assert ratios[0] == pytest.approx(0)
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
    order = np.argsort(learn(choices, options, golds, np.zeros((400, 4), np.int64)).skills[0])
    for place, for_rival in enumerate((order[-4:], order[:4])):
        choices[place] = golds[place]
        choices[place, for_rival] = (golds[place] + 1) % 4
    best, worst = suspicion(choices, options, golds).ratios[:2]
    assert best > worst


def test_many_items_are_judged_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyetest.measures.stats.consensus._ENOUGH_ITEMS", 1_500)
    choices, options, golds, _ = _answered(8, items=1_499)
    found = suspicion(choices, options, golds).ratios
    thrice = [np.concatenate([part] * 3) for part in (choices, options, golds)]
    many = suspicion(thrice[0], thrice[1], thrice[2]).ratios
    assert np.abs(many[-1_499:] - found).max() < 0.5
    assert stats.spearmanr(many[-1_499:], found).statistic > 0.999


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
    for seed in range(2):
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


def test_answers_that_no_learnt_item_has_are_rare() -> None:
    """Of many items only every second one is learnt from; the yes and no of task b is not among them."""
    items = 4_401
    tasks = ["a" if item % 3 else "b" for item in range(items)]
    kinds = np.array([[1, 2] if task == "a" else [0, 0] for task in tasks])
    kinds[next(item for item in range(1, items, 2) if tasks[item] == "b")] = [1, 2]
    rng = np.random.default_rng(0)
    chosen, golds = rng.integers(0, 2, (items, 4)), rng.integers(0, 2, items)
    found = suspicion(chosen, np.full(items, 2), golds, kinds, tasks)
    assert np.isfinite(found.states).all()
