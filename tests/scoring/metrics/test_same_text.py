"""Metrics of short texts: letters and words, VQA match, questions about time, yes and no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context
from eyetest.scoring.metrics.same_text import vqa_normalise
from eyetest.scoring.metrics.verdicts import read_verdict
from tests.scoring.metrics import item_metric

NOTHING = Context()
VQA = item_metric("vqa")


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
    assert read_verdict(text) == expected
