"""Clusters of texts by their words, against average linkage that compares all pairs."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from eyetest.measures.stats.words import word_clusters


def drawn_texts(rng: np.random.Generator, number: int, topics: int) -> list[list[str]]:
    """Texts of words with Zipf's frequencies, and with words of a topic each."""
    vocabulary = 500 + number
    shares = 1 / np.arange(1, vocabulary + 1)
    topic_words = rng.integers(0, vocabulary, (topics, 8))
    texts = []
    for _ in range(number):
        words = rng.choice(vocabulary, rng.integers(6, 30), p=shares / shares.sum())
        of_topic = rng.choice(topic_words[rng.integers(topics)], 3)
        texts.append([f"w{word}" for word in (*words, *of_topic)])
    return texts


def exhaustive_clusters(texts: list[list[str]]) -> list[int]:
    """The same clusters by the distances of all pairs, from a table of texts and words."""
    words = sorted({word for text in texts for word in text})
    has_word = np.array([[word in set(text) for word in words] for text in texts], float)
    uses = has_word.sum(axis=0)
    table = has_word * np.where(uses > 1, np.log(len(texts) / uses), 0.0)
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table = table / np.where(lengths > 0, lengths, 1.0)
    dots = (table @ table.T)[np.triu_indices(len(texts), 1)]
    least = max(0.1, 2 * dots.mean())
    labels: list[int] = fcluster(linkage(1 - dots, "average"), 1 - least, "distance").tolist()
    return labels


def same_partition(first: list[int], second: list[int]) -> bool:
    return len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_those_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = drawn_texts(rng, int(rng.integers(20, 300)), int(rng.integers(1, 12)))
    clusters = word_clusters(texts).tolist()
    assert 1 < len(set(clusters)) < len(texts)
    assert same_partition(clusters, exhaustive_clusters(texts))


def test_few_or_empty_texts_are_alone() -> None:
    assert word_clusters([]).tolist() == []
    assert word_clusters([["word"]]).tolist() == [0]
    assert word_clusters([["own"], ["word"], []]).tolist() == [0, 1, 2]
    assert word_clusters([[], []]).tolist() == [0, 1]


@pytest.mark.science
def test_clusters_of_many_texts_are_complete() -> None:
    """Pairs of texts among 4,000 are bound, wherever they stand."""
    rng = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    texts = []
    for _ in range(2_000):
        shared = ["".join(row) for row in rng.choice(letters, (4, 8))]
        texts += [[*shared, *("".join(row) for row in rng.choice(letters, (2, 3)))] for _ in range(2)]
    order = rng.permutation(len(texts))
    clusters = word_clusters([texts[place] for place in order])
    pair = order // 2
    assert same_partition(clusters.tolist(), pair.tolist())
