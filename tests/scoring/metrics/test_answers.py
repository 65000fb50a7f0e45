"""What single answers score by each metric (`answers.jsonl`); no text raises, and none can hang a metric."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, ItemMetric
from eyetest.scoring.metrics.same_text import ALIGNED
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


ANY_TEXT = st.text(st.characters(exclude_categories=()))  # control characters and lone surrogates too
MEAN = st.lists(
    st.sampled_from(
        ["1", "/", ",", ".", "e", "^", "-", " ", "one ", "and ", "half", "%", "[", "]", "(", "\\boxed{", "<answer>",
         "answer is ", "\\frac{1}{0}", "½", "²", "'s", "n't", "$", "no ", "yes ", "10", "×", "\x00", "\ud800",
         "\u0301", "\u2028", "\\sqrt", "{", "}", "_", "x", "\\sin", "\\pi", "!", "|", "=", "<", "\\text{cm}", ":",
         "∪", "±"]
    )
).map("".join)  # fmt: skip
UNITS = [
    *("a", "1", " ", "'", "a.", "1/", "1,111,", "one ", "\u0301\u0316", "answer is ", "\\boxed{", "x@", "</a", "ﷺ"),
    *("\ud800", "(1"),
]


def judge(name: str, answer: str, reference: str, question: str = "") -> float | None:
    metric = METRICS[name]
    if isinstance(metric, ItemMetric):
        return metric.score(answer, [reference], Context(question=question))
    assert isinstance(metric, CorpusMetric)
    return metric.score_all([answer, "x"], [[reference], ["y"]]).items[0]


@pytest.mark.parametrize("name", sorted(set(METRICS) - {"meteor"}))
@given(ANY_TEXT | MEAN, ANY_TEXT | MEAN)
def test_any_text_has_a_score_in_bounds(name: str, answer: str, reference: str) -> None:
    value = judge(name, answer, reference, question=reference)
    assert value is None or 0.0 <= value <= (10.0 if name == "cider" else 1.0) + 1e-9


@pytest.mark.parametrize("unit", UNITS)
def test_long_texts_end(unit: str) -> None:
    """Quadratic work on these would take minutes, not seconds."""
    text = (unit * 20_000)[:20_000]
    for name in sorted(set(METRICS) - {"meteor", "bleu-1", "bleu-2", "bleu-3"}):
        judge(name, text, "a" + text[1:])
        judge(name, text, "12 cats")


def test_a_megabyte_is_compared() -> None:
    text = "lorem ipsum " * 90_000
    assert len(text) > 30 * ALIGNED
    assert judge("ocr", text, text) == 1.0
    assert judge("anls", text, text.upper()) == 1.0
    assert judge("anls", text, "x" * len(text)) == 0.0
    assert judge("number", text + " so it is 12", "12") == 1.0
    assert judge("open", text + ". It is a cat", "cat") == 1.0
    assert judge("exact", text, text) == 1.0
    assert judge("vqa", text, text) == 1.0
