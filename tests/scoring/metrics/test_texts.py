"""Metrics on letters and words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context, corpus_metric, item_metric, same_text
from eyetest.scoring.metrics.support.texts import composed, folded

NOTHING = Context()


def score(name: str, answer: str, *references: str) -> float | None:
    return item_metric(name).score(answer, references, NOTHING)


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("Hello World", "hello  world", 1.0),
        ("helo", "hello", 0.8),
        ("abcd", "abxy", 0.0),  # NL is exactly 0.5
        ("abcde", "abcxy", 0.6),
        ("", "", 1.0),
        ("", "a", 0.0),
        ("a", "abc", 0.0),
        ("STRASSE", "strasse", 1.0),
        ("ab" * 50 + "   " * 40, "ab" * 50, 1.0),  # the length of the same normalised text, not of the raw one
    ],
)
def test_anls(answer: str, reference: str, expected: float) -> None:
    assert score("anls", answer, reference) == pytest.approx(expected)


def test_anls_takes_the_best_reference() -> None:
    assert score("anls", "cat", "dog", "cats", "horse") == 0.75


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [("", "", 1.0), ("  ", "\n", 1.0), ("abc", "abd", 2 / 3), ("a  b\nc", "a b c", 1.0), ("ABC", "abc", 0.0)],
)
def test_ocr(answer: str, reference: str, expected: float) -> None:
    assert score("ocr", answer, reference) == pytest.approx(expected)


def test_edit_distance_of_enormous_texts_is_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = "kitten sitting on the sofa", "sitting kitten on a sofa!!"
    exact = same_text.edit_distance(one, other)
    monkeypatch.setattr(same_text, "ALIGNED_AT_ONCE", 5)
    assert exact <= same_text.edit_distance(one, other) <= len(one)
    assert same_text.edit_distance(one, one) == 0
    assert same_text.edit_distance(one, other, most=3) == 4
    assert same_text.edit_distance(one, "x", most=3) == 4


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("  The Cat. ", "the cat", 1.0),
        ("ＡＢＣ", "abc", 1.0),
        ("“yes”", "yes", 1.0),
        ("-5", "5", 0.0),
        ("1.5", "15", 0.0),
        ("the cats", "the cat", 0.0),
    ],
)
def test_exact(answer: str, reference: str, expected: float) -> None:
    assert score("exact", answer, reference) == expected


def test_words_and_phrases() -> None:
    assert score("words", "Total: 12.50 EUR", "EUR 12.50") == 1.0
    assert score("words", "the category", "cat the") == 0.5
    assert score("words", "nothing", "☑") is None
    assert score("words", "b c", "a b", "b c d e", "x") == 0.5
    assert score("phrase", "in New York, today", "new york") == 1.0
    assert score("phrase", "york new", "new york") == 0.0
    assert score("phrase", "newyork", "new york") == 0.0
    assert score("phrase", "anything", "☑") is None
    assert score("phrase-reform", "anything", "☑") == 1.0
    assert score("phrase-reform", "", "☑") == 0.0
    assert score("phrase-reform", "category", "cat") == 0.0


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
