"""Clusters of texts that have rare words in common: average linkage, by an inverted index.

Estimated is a partition of texts. A text is a vector of unit length with the inverse document frequency ln(texts /
texts with the word) of each of its words that another text has too. Two clusters are as alike as the mean cosine
between their texts. The two most alike are joined again and again, until no two reach the least mean cosine: .1, or
twice the mean cosine of all texts where that is more. Clusters are found by chains of nearest neighbours (Benzécri
1982; Murtagh 1983), which end in the same partition because joining two clusters makes none more alike to a third;
equally alike clusters may be joined in another order. The nearest neighbour is found among clusters that share a
word, and the most frequent words, which nearly all texts share, are left to a bound (Cauchy and Schwarz), so that not
all pairs are compared. Assumed: what texts are about shows in their rare words. Checked against the linkage of scipy,
which compares all pairs, in ``tests/measures/stats/test_words.py``.
"""

from collections.abc import Sequence

import numpy as np

from eyetest.measures.stats.intervals import Bools, Floats, Ints

_LEAST_ALIKE = 0.1  # the least mean cosine within a cluster
_ABOVE = 2.0  # that cosine is also at least so many times that of all texts, or one common style would bind them all
_MOST_FREQUENT = 300  # words that are left to the bound at most, which bounds memory
_MOST_TEXTS_BELOW = (
    0.9  # share of the texts for which the bound on these words excludes others that share no rare word
)
_ROUNDING = 1e-9


def word_clusters(texts: Sequence[Sequence[str]]) -> Ints:
    """The number of each text's cluster; a text is a list of words."""
    if len(texts) < 2:
        return np.arange(len(texts))
    vectors = weighted_words(texts)
    return _Linkage(vectors, least_cosine(vectors)).clusters()


def least_cosine(vectors) -> float:  # type: ignore[no-untyped-def]  # sparse arrays are not typed
    """The mean cosine down to which clusters are joined."""
    texts = vectors.shape[0]
    total = vectors.sum(axis=0)
    over_pairs = (total @ total - (vectors.data**2).sum()) / (texts * (texts - 1))
    return max(_LEAST_ALIKE, _ABOVE * float(over_pairs))


def weighted_words(texts: Sequence[Sequence[str]]):  # type: ignore[no-untyped-def]  # sparse arrays are not typed
    """A row of unit length for each text: ln(texts / texts with the word) for each word that another text has too.

    A word counts once in a text. A text without a word that others have is a row of zeros.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to load)

    column_of: dict[str, int] = {}
    columns: list[int] = []
    starts = [0]
    for words in texts:
        columns += [column_of.setdefault(word, len(column_of)) for word in dict.fromkeys(words)]
        starts.append(len(columns))
    places = np.array(columns, np.int64)
    uses = np.bincount(places, minlength=1)
    weights = np.where(uses > 1, np.log(len(texts) / np.maximum(uses, 1)), 0.0)[places]
    rows = np.repeat(np.arange(len(texts)), np.diff(starts))
    lengths = np.sqrt(np.bincount(rows, weights**2, minlength=len(texts)))
    scaled = weights / np.where(lengths > 0, lengths, 1.0)[rows]
    return csr_array((scaled, places, starts), shape=(len(texts), max(len(column_of), 1)))


class _Linkage:
    """Clusters while they are joined; a cluster has the number of one of its texts."""

    def __init__(self, vectors, least: float) -> None:  # type: ignore[no-untyped-def]
        texts = vectors.shape[0]
        self._least = least
        self._index = vectors.tocsc()  # by word, the texts that have it
        frequent, self._frequent_sums = self._frequent_words()
        is_rare = np.ones(vectors.shape[1], bool)
        is_rare[frequent] = False
        self._rare_sums = [_rare_part(vectors, text, is_rare) for text in range(texts)]
        self._bounds = np.linalg.norm(self._frequent_sums, axis=1)  # of the mean over a cluster, on frequent words
        self._members = [[text] for text in range(texts)]
        self._cluster_of = np.arange(texts)
        self._sizes = np.ones(texts)

    def _frequent_words(self) -> tuple[Ints, Floats]:
        """The words left to the bound, and their weights in each text.

        As many as leave the product of the lengths of most pairs of texts on these words below the least cosine.
        """
        uses = np.diff(self._index.indptr)
        most_used = np.argsort(-uses, kind="stable")[:_MOST_FREQUENT]
        weights = self._index[:, most_used].toarray()
        lengths = np.sqrt((weights**2).cumsum(axis=1))
        usual_lengths = np.quantile(lengths, _MOST_TEXTS_BELOW, axis=0)
        number = int(np.searchsorted(usual_lengths, np.sqrt(self._least), side="right"))
        return most_used[:number], np.ascontiguousarray(weights[:, :number])

    def clusters(self) -> Ints:
        """Join all that are alike enough; the number of each text's cluster, from 0 on."""
        for text in range(len(self._members)):
            if self._members[text]:
                self._follow(text)
        return np.asarray(np.unique(self._cluster_of, return_inverse=True)[1], np.int64)

    def _follow(self, first: int) -> None:
        """Go from a cluster to its nearest one, join two that are each other's nearest, and so on until none is left.

        Along a chain clusters are ever more alike, so only one that stands alone in it has no neighbour.
        """
        chain = [first]
        while chain:
            last = chain[-1]
            before = chain[-2] if len(chain) > 1 else None
            nearest = self._nearest(last, before)
            if nearest is None:
                chain.pop()
            elif nearest != before:
                chain.append(nearest)
            else:
                del chain[-2:]
                joined = self._join(last, nearest)
                if not chain:
                    chain.append(joined)

    def _nearest(self, cluster: int, before: int | None) -> int | None:
        """The cluster that is most alike, ``before`` where others are equally alike; None where none is enough."""
        by_rare_words = self._mean_cosines_on_rare_words(cluster)
        by_rare_words[cluster] = -np.inf
        reached = max(float(by_rare_words.max()), self._least)
        possible = by_rare_words + self._bounds * self._bounds[cluster] >= reached - _ROUNDING
        candidates = np.flatnonzero(possible)
        if not len(candidates):
            return None
        products = self._frequent_sums[candidates] @ self._frequent_sums[cluster]
        cosines = by_rare_words[candidates] + products / (self._sizes[candidates] * self._sizes[cluster])
        best = float(cosines.max())
        if best < self._least:
            return None
        if before is not None and (cosines[candidates == before] >= best - _ROUNDING).any():
            return before
        return int(candidates[cosines.argmax()])

    def _mean_cosines_on_rare_words(self, cluster: int) -> Floats:
        """What rare words contribute to the mean cosine between a cluster and each other one."""
        words, weights = self._rare_sums[cluster]
        starts = self._index.indptr[words]
        uses = self._index.indptr[words + 1] - starts
        offsets = np.cumsum(uses) - uses
        entries = np.arange(int(uses.sum())) + np.repeat(starts - offsets, uses)
        products = self._index.data[entries] * np.repeat(weights, uses)
        clusters = self._cluster_of[self._index.indices[entries]]
        sums = np.bincount(clusters, products, minlength=len(self._sizes))
        return np.asarray(sums / (self._sizes * self._sizes[cluster]))

    def _join(self, first: int, second: int) -> int:
        """Make one cluster of two, and return its number."""
        kept, removed = first, second
        if len(self._members[kept]) < len(self._members[removed]):
            kept, removed = removed, kept
        parts = zip(self._rare_sums[kept], self._rare_sums[removed], strict=True)
        all_words, all_weights = (np.concatenate(part) for part in parts)
        words, places = np.unique(np.asarray(all_words, np.int64), return_inverse=True)
        weights = np.bincount(places, all_weights, minlength=len(words))
        self._rare_sums[kept] = words, np.asarray(weights, np.float64)
        self._rare_sums[removed] = words[:0], all_weights[:0]
        self._frequent_sums[kept] += self._frequent_sums[removed]
        self._frequent_sums[removed] = 0.0
        self._sizes[kept] += self._sizes[removed]
        self._bounds[kept] = np.linalg.norm(self._frequent_sums[kept]) / self._sizes[kept]
        self._bounds[removed] = 0.0
        self._cluster_of[self._members[removed]] = kept
        self._members[kept] += self._members[removed]
        self._members[removed] = []
        return kept


def _rare_part(vectors, text: int, is_rare: Bools) -> tuple[Ints, Floats]:  # type: ignore[no-untyped-def]
    """The rare words of a text and their weights."""
    entries = slice(vectors.indptr[text], vectors.indptr[text + 1])
    words = vectors.indices[entries]
    return words[is_rare[words]], vectors.data[entries][is_rare[words]]
