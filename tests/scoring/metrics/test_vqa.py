"""VQA match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.metrics.same_text import vqa_normalise

VQA = item_metric("vqa")
NOTHING = Context()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog.", "dog"),
        ("Two", "2"),
        ("None", "0"),
        ("dont", "don't"),
        ("Youre", "you're"),
        ("were", "were"),
        ("girl's", "girl's"),
        ("100,978", "100978"),
        ("red, white", "red white"),
        ("2:50 PM", "2:50 pm"),
        ("3.5", "3.5"),
        (".5", ".5"),
        ("e.g.", "eg"),
        ("t-shirt", "t shirt"),
        ("what?!", "what"),
        ("on\n the\ttable", "on table"),
        ("$5", "$5"),
    ],
)
def test_normalisation(text: str, expected: str) -> None:
    assert vqa_normalise(text) == expected


@pytest.mark.parametrize(("matching", "expected"), [(0, 0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1), (10, 1)])
def test_ten_references(matching: int, expected: float) -> None:
    references = ["cat"] * matching + [f"other {n}" for n in range(10 - matching)]
    assert VQA.score("A cat.", references, NOTHING) == pytest.approx(expected)


@given(st.lists(st.sampled_from(["a cat", "cat", "dog", "two", "2", ""]), min_size=2, max_size=12))
def test_leave_one_out_as_written(references: list[str]) -> None:
    """The closed form is the mean over references left out, in any order."""
    answer = "cat"
    golds = [vqa_normalise(text) for text in references]
    each = [min(1, sum(gold == answer for j, gold in enumerate(golds) if j != i) / 3) for i in range(len(golds))]
    assert VQA.score(answer, references, NOTHING) == pytest.approx(sum(each) / len(each))
    assert VQA.score(answer, references[::-1], NOTHING) == VQA.score(answer, references, NOTHING)
