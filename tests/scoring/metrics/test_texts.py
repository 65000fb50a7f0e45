"""Metrics on letters and words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context, corpus_metric, item_metric, same_text
from eyetest.text import composed, folded

NOTHING = Context()


def score(name: str, answer: str, *references: str) -> float | None:
    return item_metric(name).score(answer, references, NOTHING)


def test_edit_distance_of_enormous_texts_is_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = "kitten sitting on the sofa", "sitting kitten on a sofa!!"
    exact = same_text.edit_distance(one, other)
    monkeypatch.setattr(same_text, "ALIGNED_AT_ONCE", 5)
    assert exact <= same_text.edit_distance(one, other) <= len(one)
    assert same_text.edit_distance(one, one) == 0
    assert same_text.edit_distance(one, other, most=3) == 4
    assert same_text.edit_distance(one, "x", most=3) == 4


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
