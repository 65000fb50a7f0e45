"""Where a new model stands, and whether the interval holds when its width ends a run."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from eyetest.curate.placing import ModelStanding, Placing, RecordedPanel
from eyetest.measures.stats.item_analysis import probabilities

Floats = NDArray[np.float64]
ITEMS = 300


@cache
def world() -> tuple[Floats, Floats]:
    """Answers of 16 recorded models and of 12 new ones."""
    rng = np.random.default_rng(7)
    slopes, intercepts = rng.uniform(0.5, 1.8, ITEMS), rng.normal(0, 1.3, ITEMS)
    answers = (rng.random((ITEMS, 28)) < probabilities(slopes, intercepts, rng.normal(size=28))).astype(float)
    return answers[:, :16], answers[:, 16:]


def panel(table: Floats | None = None) -> RecordedPanel:
    known = world()[0] if table is None else table
    return RecordedPanel([f"m{n}" for n in range(known.shape[1])], [f"q{n}" for n in range(len(known))], known)


def placed(answers: Floats, among: RecordedPanel, within: float, seed: int) -> tuple[int, ModelStanding]:
    """After how many items a model's score is known so well, and where it then stands."""
    goal, count = Placing("new", among, within, seed), 0
    while not goal.is_over:
        goal.observed({"new": bool(answers[goal.order[count]])})
        count += 1
    assert goal.standing is not None
    return count, goal.standing


def test_new_models_lie_where_they_are_reported_to_lie() -> None:
    among, held, taken = panel(), [], []
    for number, answers in enumerate(world()[1].T):
        count, now = placed(answers, among, 8, number)
        true = answers.mean()
        held.append(now.low <= true <= now.high)
        taken.append(count)
        assert now.best <= now.rank <= now.worst
        if held[-1]:
            assert now.best <= 1 + (among.scores > true).sum() <= now.worst
    assert np.mean(held) >= 0.9
    assert np.mean(taken) < 0.5 * ITEMS


def test_all_answers_leave_no_doubt() -> None:
    answers = world()[1][:, 3]
    count, now = placed(answers, panel(), 0.1, 1)
    assert count == ITEMS
    assert (now.low, now.score, now.high) == pytest.approx((answers.mean(),) * 3)


def test_an_item_without_a_score_counts_as_the_mean_of_the_others() -> None:
    among = panel()
    goal = Placing("new", among, 0.1, 1)
    for _ in range(ITEMS):
        goal.observed({"new": None})
    assert goal.standing is not None
    assert goal.standing.score == pytest.approx(among.scores.mean())
    assert "300 items without a score" in goal.finding


@pytest.mark.science
@pytest.mark.parametrize("held_out", ["at random", "the strongest"])
@pytest.mark.parametrize("matrix", ["normal_mmmu.csv", "aj_AI2D_TEST.csv"])
def test_the_interval_holds_real_models_that_are_not_on_the_panel(shared: Path, matrix: str, held_out: str) -> None:
    """Real answers; the run ends by the interval's width. At most 40 recorded models, no relative is left out."""
    path, rng = shared / "data/vlm_matrices" / matrix, np.random.default_rng(3)
    if "mmmu" in matrix:
        table = pl.read_csv(path, infer_schema=False).sort(pl.nth(0))
        items = [column for column in table.columns[1:] if not column.startswith("<")]
        answers, repeats, number = table.select(pl.col(items).cast(pl.Float64)).to_numpy().T, 12, 8
    else:
        answers, repeats, number = pl.read_csv(path).drop("model_sha").to_numpy().astype(float), 3, 20
    held, ranked, taken, once = [], [], [], []
    for repeat in range(repeats):
        is_random = held_out == "at random"
        order = rng.permutation(answers.shape[1]) if is_random else np.argsort(-answers.mean(axis=0))
        rest = order[number if is_random else max(number, len(order) // 3) :]
        among = panel(answers[:, rng.permutation(rest)[:40]])
        for model in order[:number].tolist():
            count, now = placed(answers[:, model], among, 5, 1_000 * repeat + model)
            true = answers[:, model].mean()
            needed = stats.norm.ppf(0.975) ** 2 * true * (1 - true) / 0.05**2
            held.append(now.low - 1e-9 <= true <= now.high + 1e-9)
            ranked.append(now.best <= 1 + (among.scores > true + 1e-9).sum() <= now.worst)
            taken.append(count)
            once.append(needed / (1 + needed / len(answers)))
    low = stats.binomtest(sum(held), len(held)).proportion_ci(method="wilson").low
    share, ranks = np.mean(taken) / len(answers), sum(ranked)
    print(
        f"{matrix}, {held_out}: {sum(held)} of {len(held)} held (from {low:.3f}), ranks {ranks}, {share:.3f} of items"
    )
    assert min(np.mean(held), np.mean(ranked)) >= 0.95 - 1.64 * (0.05 * 0.95 / len(held)) ** 0.5
    assert np.mean(taken) <= 1.3 * np.mean(once), "against a random sample whose size is fixed beforehand"
