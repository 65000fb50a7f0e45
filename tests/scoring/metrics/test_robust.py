"""Any text may come in: nothing raises, and no text can hang a metric."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import METRICS, Context, CorpusMetric, ItemMetric
from eyetest.scoring.metrics.same_text import ALIGNED

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
