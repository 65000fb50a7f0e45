"""What single answers score by each metric (`answers.jsonl`), and that no formula hangs."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, ItemMetric
from eyetest.text.numbers import digits_for_words
from tests.scoring.metrics import corpus_metric, item_metric

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("answers.jsonl").read_text("utf-8").splitlines()]
HOSTILE = [
    *("9**9**9**9", "9^{9^{9^{9}}}", "99999999!", "((((9!)!)!)!)!", "\\binom{99999999}{49999999}"),
    *("(x+y+z)^{999999}", "x^{x^{x^{x^{x}}}}", "1e999999", "10^{-999999}", "__import__('os').system('true')"),
    *("(" * 50_000 + "1" + ")" * 50_000, "-" * 50_000 + "1", "1/" * 100_000 + "1", "2^" * 100_000 + "2"),
    *("\\sqrt{" * 20_000 + "2" + "}" * 20_000, "\\frac{1}{" * 20_000 + "2" + "}" * 20_000, "1" * 100_000),
    *("\\boxed{" * 50_000, "\\text{" * 50_000, "\\int_0^1 x dx " * 50_000, "1, " * 300_000, "a and " * 100_000),
    "+".join(["\\sin^2 x"] * 100),
]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: f"{row['metric']}, {row['about']}: {row['answer'][:40]}")
def test_each_answer_scores_as_stated(row: dict[str, Any]) -> None:
    context = Context(row.get("question", ""), row.get("tags", {}))
    score = item_metric(row["metric"]).score(row["answer"], row["references"], context)
    assert score == (None if row["score"] is None else pytest.approx(row["score"], rel=0, abs=1e-12))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_formula_hangs_or_is_run(text: str) -> None:
    metric = item_metric("open")
    for gold in ("5", "x+1", "\\frac{1}{3}+x", "\\{1, 2\\}", "a cat", text[:900] + "+0"):
        assert metric.score(text, [gold], Context()) in (0.0, 1.0)
        assert metric.score(gold, [text], Context()) in (0.0, 1.0)


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("one two three", "1 2 3"),
        ("two thousand three hundred and four", "2304"),
        ("one million", "1000000"),
        ("ninety-nine red balloons", "99 red balloons"),
        ("the third man", "the third man"),
        ("two thirds", "2/3"),
        ("a quarter", "1/4"),
        ("someone", "someone"),
        ("1.2 million", "1.2 million"),
    ],
)
def test_number_words(words: str, digits: str) -> None:
    assert digits_for_words(words) == digits


@given(st.floats(-1e12, 1e12).map(lambda value: round(value, 4)), st.sampled_from(["{}", "It is {} kg.", "= {}"]))
def test_a_number_is_itself_however_wrapped(value: float, frame: str) -> None:
    written = f"{value:,.4f}"
    assert item_metric("number").score(frame.format(written), [f"{value:.4f}"], Context()) == 1.0


ITEM = {
    "anls", "exact", "mathvista", "number", "ocr", "open", "phrase-reform", "relaxed", "relaxed-chartqa",
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


def test_a_wrong_name_says_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "cider"'):
        METRICS["cidre"]


@pytest.mark.parametrize("name", sorted(ITEM))
def test_without_references_there_is_no_score(name: str) -> None:
    assert item_metric(name).score("anything", [], Context()) is None


@pytest.mark.parametrize("name", sorted(CORPUS - {"meteor"}))
def test_a_corpus_without_references_has_no_score(name: str) -> None:
    metric = corpus_metric(name)
    assert metric.score_all([], []).overall is None
    assert metric.score_all(["a cat"], [[]]).items == (None,)
    with pytest.raises(ValueError, match="shorter"):
        metric.score_all(["a", "b"], [["a"]])
