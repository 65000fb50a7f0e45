"""Where a new model stands: which items are asked next, and whether the interval holds when its width ends a run."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from eyetest.curate.placing import ModelStanding, PlacedModel, RecordedPanel
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


def panel(table: Floats | None = None, seed: int = 1) -> RecordedPanel:
    known = world()[0] if table is None else table
    return RecordedPanel([f"q{n}" for n in range(len(known))], known, seed)


def placed(answers: Floats, among: RecordedPanel, within: float, seed: int) -> tuple[int, ModelStanding]:
    """After how many items a model's score is known so well, and where it then stands."""
    among.seed = seed
    model = PlacedModel(among, within)
    while True:
        item = model.next()
        model.observe(item, answers[item])
        now = model.standing
        if (now.high - now.low) / 2 <= within or model.observed == len(answers):
            return model.observed, now


def test_new_models_lie_where_they_are_said_to_lie() -> None:
    among, held, taken = panel(), [], []
    for number, answers in enumerate(world()[1].T):
        count, now = placed(answers, among, 0.08, number)
        true = answers.mean()
        held.append(now.low <= true <= now.high)
        taken.append(count)
        assert now.best <= now.rank <= now.worst
        if held[-1]:
            assert now.best <= 1 + (among.scores > true).sum() <= now.worst
    assert np.mean(held) >= 0.9
    assert np.mean(taken) < 0.5 * ITEMS


def test_an_answer_counts_on_average_as_the_mean_of_the_rest() -> None:
    """Whatever the curves predict and whichever items are likelier: the interval's validity rests on this."""
    answers, among, seen = 2 * world()[1][:, 0] - 1, panel(), []
    for seed in range(400):
        among.seed = seed
        draw = PlacedModel(among, 0.05)
        for _ in range(5):
            first = draw.next()
            draw.observe(first, 1.0)
        last, how = draw.next(), draw.draw(5, 0.0)
        counted = how.rest + how.weight * (answers[last] - how.predicted)
        assert how.least - 1e-9 <= counted <= how.most + 1e-9
        seen.append(counted)
    assert np.mean(seen) == pytest.approx(answers.mean(), abs=4 * np.std(seen) / 20)


def test_all_answers_leave_no_doubt_and_nothing_is_asked_twice() -> None:
    answers, model = world()[1][:, 3], PlacedModel(panel(), 0.001)
    asked = [model.next() for _ in range(ITEMS)]
    assert sorted(asked) == list(range(ITEMS))
    for item in asked:
        model.observe(item, answers[item])
    now = model.standing
    assert (now.low, now.score, now.high) == pytest.approx((answers.mean(),) * 3)


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
    held, taken, once = [], [], []
    for repeat in range(repeats):
        is_random = held_out == "at random"
        order = rng.permutation(answers.shape[1]) if is_random else np.argsort(-answers.mean(axis=0))
        rest = order[number if is_random else max(number, len(order) // 3) :]
        among = panel(answers[:, rng.permutation(rest)[:40]])
        for model in order[:number].tolist():
            count, now = placed(answers[:, model], among, 0.05, 1_000 * repeat + model)
            true = answers[:, model].mean()
            needed = stats.norm.ppf(0.975) ** 2 * true * (1 - true) / 0.05**2
            held.append(now.low - 1e-9 <= true <= now.high + 1e-9)
            taken.append(count)
            once.append(needed / (1 + needed / len(answers)))
    low = stats.binomtest(sum(held), len(held)).proportion_ci(method="wilson").low
    print(f"{matrix}, {held_out}: {sum(held)} of {len(held)} held (from {low:.3f}), {np.mean(taken):.0f} items")
    assert np.mean(held) >= 0.95 - 1.64 * (0.05 * 0.95 / len(held)) ** 0.5
    assert np.mean(taken) <= 1.3 * np.mean(once), "against a random sample whose size is fixed beforehand"
