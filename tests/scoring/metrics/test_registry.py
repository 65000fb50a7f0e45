"""Metrics are found by name, and a new one needs one file."""

import sys
from pathlib import Path

import pytest

import eyetest.scoring.metrics as package
from eyetest.errors import InputError
from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, ItemMetric, corpus_metric, item_metric

ITEM = {
    "anls", "exact", "mathvista", "number", "ocr", "open", "phrase", "phrase-reform", "relaxed", "relaxed-chartqa",
    "vqa", "words", "yes-no",
}  # fmt: skip
CORPUS = {"bleu-1", "bleu-2", "bleu-3", "bleu-4", "cider", "meteor", "rouge-l", "words"}


def test_all_metrics_are_there_under_their_own_name() -> None:
    assert set(METRICS) == ITEM | CORPUS
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.summary
        assert "\n" not in metric.summary
    assert {name for name, metric in METRICS.items() if isinstance(metric, ItemMetric)} == ITEM
    assert {name for name, metric in METRICS.items() if isinstance(metric, CorpusMetric)} == CORPUS


def test_public_names_are_exported() -> None:
    assert all(hasattr(package, name) for name in package.__all__)


def test_a_wrong_name_or_kind_says_what_to_do() -> None:
    with pytest.raises(InputError, match='did you mean "cider"'):
        METRICS["cidre"]
    with pytest.raises(InputError, match="use corpus_metric"):
        item_metric("cider")
    with pytest.raises(InputError, match="use item_metric"):
        corpus_metric("vqa")


def test_a_metric_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "length_metric.py").write_text(
        "class Length:\n"
        "    name = 'length'\n"
        "    summary = 'how long'\n"
        "    def score(self, answer, references, context):\n"
        "        return float(len(answer))\n"
        "METRICS = (Length(),)\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    grown = type(METRICS)("metric", package.__name__, "METRICS", "metric")
    metric = grown["length"]
    assert isinstance(metric, ItemMetric)
    assert metric.score("abc", [], Context()) == 3.0
    assert len(grown) == len(METRICS) + 1
    sys.modules.pop(f"{package.__name__}.length_metric")


@pytest.mark.parametrize("name", sorted(ITEM))
def test_without_references_there_is_no_score(name: str) -> None:
    assert item_metric(name).score("anything", [], Context()) is None


@pytest.mark.parametrize("name", sorted(CORPUS - {"meteor"}))
def test_a_corpus_without_references_has_no_score(name: str) -> None:
    metric = corpus_metric(name)
    assert metric.score_all([], []).overall is None
    assert metric.score_all(["a cat"], [[]]).items == (None,)
    with pytest.raises(InputError, match="2 answers but 1 lists"):
        metric.score_all(["a", "b"], [["a"]])
