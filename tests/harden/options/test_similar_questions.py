"""The nearest questions through an index are those of comparing all pairs."""

import random

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from eyetest.harden.options.similar_questions import nearest_questions

WORDS = ("how", "many", "long", "is", "the", "red", "blue", "old", "rope", "tower", "boat", "in", "it")


def made_up_questions(count: int, seed: int) -> list[str]:
    """Questions of few words, many of which are alike."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(0, 5))) for _ in range(count)]


def compare_all_pairs(questions: list[str]) -> np.ndarray:
    """Cosines of tf-idf vectors of words and pairs of words; 0 of a question with itself."""
    texts = [f"{question} question" for question in questions]
    rows = TfidfVectorizer(token_pattern=r"[a-z]+", ngram_range=(1, 2)).fit_transform(texts).toarray()
    cosines = np.asarray(rows @ rows.T)
    np.fill_diagonal(cosines, 0)
    return cosines


def test_the_nearest_questions_are_those_of_comparing_all_pairs() -> None:
    questions = made_up_questions(150, 4)
    cosines = compare_all_pairs(questions)
    for row, (places, values) in zip(cosines, nearest_questions(questions, 10), strict=True):
        np.testing.assert_allclose(values, np.sort(row)[::-1][:10], atol=1e-12)
        np.testing.assert_allclose(row[places], values, atol=1e-12)


def test_of_equally_similar_questions_the_first_are_taken() -> None:
    questions = ["how long is it", "where is the boat", *["where is the tower"] * 4]
    nearest = [places.tolist() for places, _ in nearest_questions(questions, 2)]
    assert nearest[2:] == [[3, 4], [2, 4], [2, 3], [2, 3]]


def test_the_only_question_has_no_similar_one() -> None:
    assert [places.tolist() for places, _ in nearest_questions(["how long is it"], 10)] == [[]]
