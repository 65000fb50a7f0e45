"""Settings and conditions as words and as values; measures of replies: length, and how faithfully text is copied."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results
from eyetest.measures.replies import split_sentences
from eyetest.measures.results import REPLY_TYPES, TAG, filters_of, narrowed, own_settings, read_external
from tests.measures.tables import measure, results


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("overall", {"task": ["a", "b"]}, {"task": "a,b", "domain": ""}),
        ("correlation", {"external": {"a": 1.0}}, {"external": {"a": 1.0}}),
    ],
)
def test_words_and_values_mean_the_same(name: str, given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert own_settings(MEASURES[name], given) == meant


def test_scores_from_outside(tmp_path: Path) -> None:
    (tmp_path / "elo.csv").write_text("model,elo\na,1000\n\nb,900.5\n")
    assert read_external(tmp_path / "elo.csv") == {"a": 1000.0, "b": 900.5}
    (tmp_path / "none.csv").write_text("model,elo\n")
    with pytest.raises(InputError, match="holds no score"):
        read_external(tmp_path / "none.csv")


SCORES = pl.DataFrame(
    {
        "benchmark": ["b"] * 4,
        "item": ["1", "2", "1", "2"],
        "model": ["a", "a", "one, two", "one, two"],
        "score": [1.0, 0.5, 0.0, 1.0],
    }
)
ITEMS = pl.DataFrame({"benchmark": ["b", "b"], "item": ["1", "2"], f"{TAG}core": ["p", "q"]})
RESULTS = Results(SCORES.lazy(), ITEMS)


def kept(*words: str) -> list[tuple[str, str]]:
    return narrowed(RESULTS, filters_of(RESULTS, words)).scores.select("item", "model").collect().rows()


def test_columns_and_tags() -> None:
    assert kept("model=a") == [("1", "a"), ("2", "a")]
    assert kept("core=q", "model=a") == [("2", "a")]
    assert kept("score=1") == [("1", "a"), ("2", "one, two")]
    assert kept("score=1,0.5", "model=a") == [("1", "a"), ("2", "a")]


def test_items_are_narrowed_with_their_scores() -> None:
    assert narrowed(RESULTS, [("core", ["p"])]).items["item"].to_list() == ["1"]
    assert narrowed(RESULTS, [("model", ["a"])]).items["item"].to_list() == ["1", "2"]


def test_sentences() -> None:
    assert split_sentences("The bar is 3.5 cm. It rises!  Why?\n- so\n\n**B**") == [
        "The bar is 3.5 cm.",
        "It rises!",
        "Why?",
        "- so",
        "**B**",
    ]
    assert split_sentences("图中有三个人。答案是B。") == ["图中有三个人。", "答案是B。"]
    assert split_sentences(" \n--- \n") == []


def test_length_by_setting() -> None:
    rows = [
        {"item": "1", "request": "r1"},
        {"item": "2", "request": "r2"},
        {"item": "1", "request": "r3", "ask": "cot"},
    ]
    texts = {"r1": "B", "r2": "It is C.", "r3": "One two. Three."}
    replies = [{"benchmark": "bench", "request": request, "text": text} for request, text in texts.items()]
    replies.append({"benchmark": "x", "request": "r1", "text": "of another benchmark"})
    of = replace(results(rows), replies=pl.LazyFrame(replies, schema=REPLY_TYPES))
    table = measure("length", of).table
    assert table.select("ask", "words", "sentences", "characters", "n").rows() == [
        ("cot", 3, 2, 15, 1),
        ("direct", 2, 1, 4.5, 2),
    ]
    with pytest.raises(NotMeasurable, match="in words"):
        measure("length", results(rows))


def made(copied: dict[str, list[float]], scores: dict[str, list[float]], ask: str = "direct") -> Results:
    """Models that copied and answered the same screenshots."""
    rows: list[dict[str, Any]] = []
    replies: list[dict[str, Any]] = []
    for model, values in copied.items():
        for item, value in enumerate(values):
            about = {"item": str(item), "model": model, "modality": "screenshot"}
            request = f"{model}{item}"
            rows.append(about | {"ask": "ocr", "request": request, "score": 0.0})
            rows.append(about | {"ask": ask, "request": f"{request} {ask}", "score": scores[model][item]})
            replies.append({"benchmark": "bench", "request": request, "text": "…", "copied": value})
    return replace(results(rows), replies=pl.LazyFrame(replies, schema=REPLY_TYPES))


def test_each_model_and_all_of_them_over_items_and_over_models() -> None:
    chance = np.random.default_rng(0)
    levels = {"a": 0.5, "b": 0.7, "c": 0.8}
    copied = {name: np.clip(chance.normal(level, 0.15, 80), 0, 1) for name, level in levels.items()}
    scores = {name: (values > chance.random(80)).astype(float) for name, values in copied.items()}
    of = made({k: v.tolist() for k, v in copied.items()}, {k: v.tolist() for k, v in scores.items()})
    found = measure("ocr-accuracy", of)
    over = [*((name, "items", 80) for name in "abc"), ("all models", "models", 3)]
    assert found.table.select("model", "over", "n").rows() == over
    first = found.table.row(0, named=True)
    assert first["accuracy"] == pytest.approx(copied["a"].mean())
    assert first["score"] == pytest.approx(scores["a"].mean())
    assert first["correlation"] == pytest.approx(np.corrcoef(copied["a"], scores["a"])[0, 1])
    assert first["correlation_low"] < first["correlation"] < first["correlation_high"]
    over_models = found.table.row(3, named=True)
    means = np.array([[part[name].mean() for name in "abc"] for part in (copied, scores)])
    assert over_models["correlation"] == pytest.approx(np.corrcoef(means)[0, 1])
    assert found.notes == ("scores are of answers asked direct about the same screenshots",)
