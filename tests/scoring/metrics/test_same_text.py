"""Metrics of short texts: letters and words, VQA match, questions about time, yes and no."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context, same_text
from eyetest.scoring.metrics.same_text import asks_when, read_yes_no, vqa_normalise
from eyetest.text import composed, folded
from tests.scoring.metrics import corpus_metric, item_metric

NOTHING = Context()
VQA = item_metric("vqa")


def score(name: str, answer: str, *references: str) -> float | None:
    return item_metric(name).score(answer, references, NOTHING)


def test_enormous_texts_are_equal_or_differ_wholly(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = "kitten sitting on the sofa", "sitting kitten on a sofa!!"
    monkeypatch.setattr(same_text, "ALIGNED", 5)
    assert same_text.edit_distance(one, one) == 0
    assert same_text.edit_distance(one, other) == len(one)


def test_words_are_pooled_over_a_corpus() -> None:
    found = corpus_metric("words").score_all(["a b", "x", "y"], [["a b c d"], ["x"], ["☑"]])
    assert found.overall == 3 / 5
    assert found.items == (0.5, 1.0, None)


@given(st.text(), st.text())
def test_bounds_and_identity(one: str, other: str) -> None:
    for name in ("anls", "ocr", "exact"):
        assert score(name, one, one) == 1.0
        value = score(name, one, other)
        assert value is not None
        assert 0.0 <= value <= 1.0
        assert value == score(name, other, one)
        assert score(name, one, other, one) == score(name, one, one, other) == 1.0


@given(st.text("abc 1-.,", min_size=1))
def test_folding_ignores_what_a_reader_ignores(text: str) -> None:
    assert folded(f'\t "{text.upper()}"!  ') == folded(text)
    assert composed(f"  {text}  ") == " ".join(text.split())


def test_composing_in_blocks_is_composing() -> None:
    words = "e\u0301 ﬁ ①\u2028Ａ " * 2_000
    assert composed(words) == " ".join(unicodedata.normalize("NFKC", words).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog.", "dog"),
        ("Two", "2"),
        ("None", "0"),
        ("dont", "don't"),
        ("Youre", "you're"),
        ("100,978", "100978"),
        ("red, white", "red white"),
        ("2:50 PM", "2:50 pm"),
        ("3.5", "3.5"),
        ("e.g.", "eg"),
        ("t-shirt", "t shirt"),
        ("on\n the\ttable", "on table"),
    ],
)
def test_vqa_normalisation(text: str, expected: str) -> None:
    assert vqa_normalise(text) == expected


@pytest.mark.parametrize(("matching", "expected"), [(0, 0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1), (10, 1)])
def test_vqa_of_ten_references(matching: int, expected: float) -> None:
    references = ["cat"] * matching + [f"other {n}" for n in range(10 - matching)]
    assert VQA.score("A cat.", references, NOTHING) == pytest.approx(expected)


@given(st.lists(st.sampled_from(["a cat", "cat", "dog", "two", "2", ""]), min_size=2, max_size=12))
def test_vqa_leaves_one_out_as_written(references: list[str]) -> None:
    """The closed form is the mean over references left out, in any order."""
    answer = "cat"
    golds = [vqa_normalise(text) for text in references]
    each = [min(1, sum(gold == answer for j, gold in enumerate(golds) if j != i) / 3) for i in range(len(golds))]
    assert VQA.score(answer, references, NOTHING) == pytest.approx(sum(each) / len(each))
    assert VQA.score(answer, references[::-1], NOTHING) == VQA.score(answer, references, NOTHING)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When does the line reach the peak?", True),
        ("In what year did both genders achieve their highest pass rates?", True),
        ("What was the record year for hospital transactions?", True),
        ("What is the difference in wages between the years 2000 and 2019?", False),
        ("What was the number in the year 2019?", False),
        ("How many when it rains?", False),
        ("", False),
    ],
)
def test_questions_about_time(question: str, expected: bool) -> None:
    assert asks_when(question) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes", "yes"),
        ("**Yes**, there is a dog.", "yes"),
        ("There is no dog.", "no"),
        ("Yes... wait, the answer is no", "no"),
        ("Answer: **No**", "no"),
        (r"\boxed{Yes}", "yes"),
        ("<answer> yes </answer>", "yes"),
        ("Ｎｏ", "no"),
        ("I have no idea", None),
        ("Is it yes or no?", None),
        ("There is a dog", None),
        ("It could be yes, could be no", None),
        ("", None),
    ],
)
def test_yes_or_no(text: str, expected: str | None) -> None:
    assert read_yes_no(text) == expected


def test_a_long_answer_is_read_at_both_ends() -> None:
    assert read_yes_no("Yes. " + "blah " * 10_000) == "yes"
    assert read_yes_no("blah " * 10_000 + "The answer is no.") == "no"
