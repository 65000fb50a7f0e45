"""The most similar other questions of each question, through an index by words and pairs of words."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WORD = re.compile(r"[^\W\d_]+")


def nearest_questions(questions: Sequence[str], count: int) -> Iterator[tuple[Ints, Floats]]:
    """For each question the places of the ``count`` most similar other ones, the nearest first, and their cosines.

    Vectors are those of tf-idf. Questions that share no word are left out; of equally similar questions the first are
    taken. A question is compared only with those that the index has for its words, which is the slower the more
    questions share its common words, and faster by far than reading all vectors for each question.
    """
    texts = [f"{question} question" for question in questions]  # none is empty
    vectors = sparse.csr_matrix(TfidfVectorizer(analyzer=_words_of).fit_transform(texts))
    index = sparse.csr_matrix(vectors.T)  # a row for each word: the questions that have it
    for place in range(len(texts)):
        cosines = vectors[place] @ index
        is_other = cosines.indices != place
        others, values = cosines.indices[is_other], cosines.data[is_other]
        if len(values) > count:
            least = np.partition(values, -count)[-count]
            others, values = others[values >= least], values[values >= least]
        order = np.lexsort((others, -values))[:count]
        yield others[order].astype(np.int64), values[order]


def _words_of(text: str) -> list[str]:
    """Words and pairs of words."""
    words = _WORD.findall(text.lower())
    return [*words, *(f"{first} {second}" for first, second in pairwise(words))]
