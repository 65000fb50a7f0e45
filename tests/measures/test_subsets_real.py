"""On answers of real models: which part of a benchmark still tells them apart, and which items are broken."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from eyetest.measures.stats.intervals import column_means
from eyetest.measures.stats.item_analysis import abilities, choose_by_information, fit, item_rest
from eyetest.measures.stats.ranking import separable_pairs

Floats = NDArray[np.float64]
JUDGES = 9


class Shares(NamedTuple):
    """Share of items kept, and shares of pairs of held-out models that each subset of that size separates."""

    kept: float
    lime: float
    random: float
    information: float
    everything: float


@pytest.fixture(scope="module")
def ai2d(shared: Path) -> Floats:
    return pl.read_csv(shared / "data/vlm_matrices/aj_AI2D_TEST.csv").drop("model_sha").to_numpy().astype(float)


def _mmmu(shared: Path, name: str, prefix: str = "") -> Floats:
    """Items × models. Without a prefix, models saw image and question."""
    table = pl.read_csv(shared / f"data/vlm_matrices/{name}.csv", infer_schema=False).sort(pl.nth(0))
    items = [column for column in table.columns[1:] if not column.startswith("<")]
    return table.select(pl.col([prefix + item for item in items]).cast(pl.Float64)).to_numpy().T


def _held_out(answers: Floats, held: int, seed: int) -> Shares:
    """LIME's rule (6 of 9 right is easy and goes), chance, and information as the same nine judges show it."""
    rng = np.random.default_rng(seed)
    models = rng.permutation(answers.shape[1])
    judged, new = answers[:, models[:JUDGES]], answers[:, models[JUDGES : JUDGES + held]]
    lime = np.flatnonzero(judged.sum(axis=1) < 6)
    chance = rng.choice(len(answers), len(lime), replace=False)
    informative = choose_by_information(fit(judged), len(lime))
    subsets = (lime, chance, informative, np.arange(len(answers)))
    found = [separable_pairs(new[items], items, adjusted=False).value for items in subsets]
    return Shares(len(lime) / len(answers), *(value or 0.0 for value in found))


def _mean(shares: list[Shares]) -> Shares:
    return Shares(*np.mean(shares, axis=0))


def test_dropping_easy_items_of_ai2d_separates_fewer_models_than_chance_and_information_more(ai2d: Floats) -> None:
    found = _mean([_held_out(ai2d, 60, seed) for seed in range(4)])
    assert found.lime + 0.01 < found.random < found.information - 0.01
    assert found.information < found.everything
    assert found.lime == pytest.approx(0.85, abs=0.02)
    assert found.random == pytest.approx(0.87, abs=0.02)
    assert found.information == pytest.approx(0.90, abs=0.02)


def test_dropping_easy_items_of_mmmu_separates_fewer_models_than_chance_and_information_more(shared: Path) -> None:
    answers = _mmmu(shared, "normal_mmmu")
    assert answers.shape == (847, 24)
    found = _mean([_held_out(answers, 15, seed) for seed in range(8)])
    assert found.lime + 0.05 < found.random < found.information - 0.02
    assert 0.5 < found.kept < 0.65


def test_all_of_ai2d_is_fitted_in_few_rounds(ai2d: Floats) -> None:
    fitted = fit(ai2d)
    assert fitted.converged
    assert fitted.rounds < 150
    able, spread = abilities(fitted.panel)
    assert np.corrcoef(able, ai2d.mean(axis=0))[0, 1] > 0.93
    assert np.median(spread) < 0.1


def test_mixed_up_items_show_most_where_blind_answers_of_the_same_models_stand_beside(shared: Path) -> None:
    """A tenth is broken. Better models answer whole items better, and all do with the image rather than without."""
    seen, blind = (
        [_mmmu(shared, name, prefix) for name in ("normal_mmmu", "shuffled_mmmu")] for prefix in ("", "<no_image>")
    )
    areas = []
    for seed in range(5):
        broken = np.random.default_rng(seed).choice(len(seen[1]), 85, replace=False)
        with_image, without = (np.concatenate([whole, mixed[broken]]) for whole, mixed in (seen, blind))
        accuracy = column_means(np.asarray(with_image).T)
        alone, beside = (
            np.nan_to_num(item_rest(answers)) for answers in (with_image, np.hstack([with_image, without]))
        )
        found = np.arange(len(accuracy)) >= len(seen[0])
        areas.append([roc_auc_score(found, -score) for score in (beside, accuracy, alone, np.sign(accuracy))])
    assert np.mean(areas, axis=0) == pytest.approx([0.83, 0.79, 0.75, 0.54], abs=0.02)
