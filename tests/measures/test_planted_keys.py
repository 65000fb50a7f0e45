"""Planted label errors in real answers: the order against independent baselines, and how many are expected."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict

from eyetest.measures.stats.consensus import recurring, suspicion

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
RATE, SEEDS, TOP = 0.05, 3, (0.01, 0.02, 0.05)


class Matrix(NamedTuple):
    chosen: Ints
    number: Ints
    keys: Ints
    texts: list[list[str]]
    tasks: list[str]


def _matrix(shared: Path, name: str, variant: str) -> Matrix:
    lines = (shared / f"data/{name}/items.jsonl").read_text("utf-8").splitlines()
    answers = pl.read_parquet(shared / f"data/{name}/predictions.parquet")
    if name == "mmmu_pro":
        options, key = ("options", "answer") if variant == "standard4" else ("options10", "answer10")
        place = pl.col("derived_answer").replace_strict({chr(65 + n): n for n in range(26)}, default=None)
        answers = answers.filter(pl.col("variant") == variant)
        items = [json.loads(line) for line in lines]
        tag = "subject"
    else:
        options, key, place, tag = "options", "answer_letter", pl.lit(None, pl.Int64), "task"
        answers = answers.filter(
            pl.col("condition") == variant, ~pl.col("model").is_in(["gpt-4v-playground", "internvl2-1b"])
        )
        items = [item for line in lines if (item := json.loads(line))["options"] and item["answer_letter"]]
    rows = {item["id"]: row for row, item in enumerate(items)}
    names = answers.select(pl.col("model") + "/" + pl.col("setting")).to_series()
    models = {model: column for column, model in enumerate(names.unique(maintain_order=True))}
    chosen = np.full((len(items), len(models)), -1)
    said = (
        answers.get_column("extracted_answer_if_given") if name == "mathvista" else answers.select(place).to_series()
    )
    for item, model, choice in zip(answers.get_column("item_id"), names, said, strict=True):
        if item in rows and choice is not None:
            offered = [str(text) for text in items[rows[item]][options]]
            chosen[rows[item], models[model]] = choice if name == "mmmu_pro" else _index(offered, str(choice))
    keys = np.array([ord(item[key]) - 65 for item in items])
    texts = [[str(text) for text in item[options]] for item in items]
    return Matrix(chosen, np.array([len(own) for own in texts]), keys, texts, [str(item[tag]) for item in items])


def _index(texts: list[str], text: str) -> int:
    return texts.index(text) if text in texts else -1


def _counts(matrix: Matrix) -> Floats:
    places = np.arange(matrix.number.max())
    counts = np.stack([(matrix.chosen == place).sum(axis=1) for place in places], axis=1).astype(float)
    return np.where(places < matrix.number[:, None], counts, -1.0)


def _plant(matrix: Matrix, kind: str, seed: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """One key in twenty is moved: at random, or to the models' favourite wrong option."""
    rng, items = np.random.default_rng(seed), np.arange(len(matrix.keys))
    moved = rng.permutation(len(items)) < round(RATE * len(items))
    keys = (matrix.keys + 1 + (rng.random(len(items)) * (matrix.number - 1)).astype(int)) % matrix.number
    if kind == "favourite":
        votes = _counts(matrix) + rng.random((len(items), matrix.number.max())) * 0.5
        votes[np.arange(votes.shape[1]) >= matrix.number[:, None]] = -1
        votes[items, matrix.keys] = -1
        keys = votes.argmax(axis=1)
    return matrix._replace(keys=np.where(moved, keys, matrix.keys)), moved


def _count_against(matrix: Matrix) -> Floats:
    """Plain count of models against the key, ties by the leading rival."""
    votes, items = _counts(matrix), np.arange(len(matrix.keys))
    own = votes[items, matrix.keys].copy()
    votes[items, matrix.keys] = -1
    return np.asarray((matrix.chosen >= 0).sum(axis=1) - own + 0.001 * votes.max(axis=1))


def _dawid_skene(matrix: Matrix) -> Floats:
    """One accuracy a model, wrong answers uniform; log odds against the key."""
    chosen, number, items = matrix.chosen, matrix.number, np.arange(len(matrix.keys))
    closed = np.arange(number.max()) >= number[:, None]
    truth = np.where(closed, 0.0, _counts(matrix) + 0.1)
    for _ in range(30):
        truth /= truth.sum(axis=1, keepdims=True)
        logs = np.where(closed, -np.inf, 0.0)
        for model in range(chosen.shape[1]):
            read = np.flatnonzero(chosen[:, model] >= 0)
            right = (truth[read, chosen[read, model]].sum() + 1) / (len(read) + 2)
            wrong = np.log((1 - right) / (number[read] - 1))
            logs[read] += wrong[:, None]
            logs[read, chosen[read, model]] += np.log(right) - wrong
        truth = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    others = logs.copy()
    others[items, matrix.keys] = -np.inf
    return np.asarray(logsumexp(others, axis=1) - logs[items, matrix.keys])


def _logistic(matrix: Matrix) -> Floats:
    """One less the key's probability (cleanlab's self-confidence), by a cross-validated logistic regression.

    It learns whether an option is the key from which models chose it, normalised over the item's options.
    """
    items, places = np.nonzero(np.arange(matrix.number.max()) < matrix.number[:, None])
    chose = (matrix.chosen[items] == places[:, None]).astype(float)
    is_key = places == matrix.keys[items]
    regression = LogisticRegression(max_iter=200)
    rows = cross_val_predict(regression, chose, is_key, groups=items, cv=GroupKFold(5), method="predict_proba")[:, 1]
    likely = np.zeros((len(matrix.keys), matrix.number.max()))
    likely[items, places] = rows
    return np.asarray(1 - likely[np.arange(len(likely)), matrix.keys] / likely.sum(axis=1))


def _precision(score: Floats, wrong: NDArray[np.bool_]) -> list[float]:
    """Share of moved keys in the first 1, 2 and 5 %."""
    order = np.argsort(-score)
    return [float(wrong[order[: round(top * len(wrong))]].mean()) for top in TOP]


COMPARED = [("mmmu_pro", "standard4"), ("mmmu_pro", "standard10"), ("mmmu_pro", "vision10"), ("mathvista", "text")]


@pytest.mark.science
@pytest.mark.parametrize(("name", "variant"), COMPARED)
def test_planted_keys_are_found_no_worse_than_by_the_best_baseline(
    name: str, variant: str, shared: Path, record_property: Callable[[str, object], None]
) -> None:
    """Mean precision of the first 1, 2 and 5 %, over both kinds of moves."""
    matrix = _matrix(shared, name, variant)
    kinds = recurring(matrix.texts)
    precisions = []
    for kind in ("random", "favourite"):
        for seed in range(SEEDS):
            planted, moved = _plant(matrix, kind, seed)
            weighed = suspicion(planted.chosen, planted.number, planted.keys, kinds)
            scores = (weighed.ratios, _count_against(planted), _dawid_skene(planted), _logistic(planted))
            precisions.append([_precision(score, moved) for score in scores])
    means = np.mean(precisions, axis=0)
    titles = ("ours", "count", "Dawid-Skene", "logistic")
    record_property("precision at 1, 2, 5 %", str(dict(zip(titles, means.round(3).tolist(), strict=True))))
    ours, baselines = means[0], means[1:]
    assert ours.mean() >= baselines.mean(axis=1).max() - 0.02


@pytest.mark.science
@pytest.mark.parametrize("name", [("mmmu_pro", "standard4"), ("mathvista", "text")], ids=str)
def test_models_that_do_not_recognise_moved_keys_give_a_bound_and_no_number(
    name: tuple[str, str], shared: Path, record_property: Callable[[str, object], None]
) -> None:
    """Real answers of models with which estimates rose by a quarter of the keys that were moved."""
    matrix = _matrix(shared, *name)
    for rate in (0.0, 0.1, 0.2):
        rng, items = np.random.default_rng(1), len(matrix.keys)
        moved = rng.permutation(items) < round(rate * items)
        steps = 1 + (rng.random(items) * (matrix.number - 1)).astype(int)
        keys = np.where(moved, (matrix.keys + steps) % matrix.number, matrix.keys)
        weighed = suspicion(matrix.chosen, matrix.number, keys, recurring(matrix.texts))
        record_property(f"moved {rate}", str((weighed.recognition, weighed.high * items)))
        assert np.isnan(weighed.flawed).all()
        assert weighed.low == 0
        assert weighed.high * items >= moved.sum()


@pytest.mark.science
@pytest.mark.parametrize("yes_bias", [0.0, 1.5])
def test_two_related_models_on_yes_and_no_give_no_odds(yes_bias: float) -> None:
    """A flawless yes/no benchmark, two models that share four errors in five."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2, 2_000)
    ease = 2.0 + np.where(keys == 0, yes_bias, -yes_bias)
    error = rng.random((2_000, 1)) > 1 / (1 + np.exp(-ease[:, None]))
    own = np.where(rng.random((2_000, 2)) < 0.2, rng.random((2_000, 2)) < 0.1, error)
    found = suspicion(
        np.where(own, 1 - keys[:, None], keys[:, None]), np.full(2_000, 2), keys, recurring([("Yes", "No")] * 2_000)
    )
    assert found.independent < 2
    assert np.isnan(found.flawed).all()
    assert np.isfinite(found.ratios).all()
