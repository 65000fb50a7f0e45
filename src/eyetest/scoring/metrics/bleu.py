"""BLEU: how many of the answer's n-grams some reference has, times a penalty for short answers.

As in the reference package (PyPI pycocoevalcap): the closest reference length counts (the shorter one of two),
BLEU-n is the geometric mean over 1 … n, and two tiny numbers stand in for zero, so that a sentence shorter than
n words scores a little above 0 and not 1, however right it is. The corpus score pools counts; it is not the
mean of the items.
"""

from collections.abc import Callable, Sequence

import numpy as np

from eyetest.scoring.metrics.support.captions import CaptionMetric, Computed
from eyetest.scoring.metrics.support.ngrams import ORDERS, Corpus, Counts, Floats, Ints, Tokens, summed

_TINY = 1e-15
_SMALL = 1e-9


def _found(counts: Counts, items: int) -> Floats:
    """For each answer, how many n-grams a reference has too, each at most as often as the richest reference."""
    split = counts.answers
    most = np.zeros(split, dtype=np.int64)
    np.maximum.at(most, counts.matched[counts.hit], counts.count[split:][counts.hit])
    clipped = np.minimum(most, counts.count[:split])
    return summed(counts.sentence[:split], clipped.astype(np.float64), items)


def _closest(corpus: Corpus) -> Ints:
    """For each answer, the reference length nearest to its own."""
    owner, lengths = corpus.item[corpus.items :], corpus.lengths[corpus.items :]
    distance = np.abs(lengths - corpus.lengths[owner])
    order = np.lexsort((lengths, distance, owner))
    first = np.searchsorted(owner[order], np.arange(corpus.items))
    return lengths[order][first]


def _combine(found: Floats, guessed: Floats, length: Floats, reference: Floats) -> Floats:
    """BLEU-1 … BLEU-4 (rows) from counts by order (rows), for any number of texts (columns)."""
    ratios = (found + _TINY) / (guessed + _SMALL)
    means = np.cumprod(ratios, axis=0) ** (1 / np.arange(1, ORDERS + 1))[:, None]
    ratio = (length + _TINY) / (reference + _SMALL)
    return np.asarray(means * np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0))


def bleu_scores(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> list[Computed]:
    """BLEU-1 to BLEU-4 in one pass: of the corpus, and of each item."""
    corpus = Corpus.of(answers, references)
    found = np.stack([_found(counts, corpus.items) for counts in corpus.orders()])
    length = corpus.lengths[: corpus.items].astype(np.float64)
    guessed = np.maximum(length - np.arange(ORDERS)[:, None], 0)
    closest = _closest(corpus).astype(np.float64)
    each = _combine(found, guessed, length, closest)
    sums = [part.sum(axis=-1, keepdims=True) for part in (found, guessed, length, closest)]
    overall = _combine(*sums)
    return [(float(overall[order, 0]), each[order].tolist()) for order in range(ORDERS)]


def _of_order(order: int) -> Callable[[Sequence[Tokens], Sequence[Sequence[Tokens]]], Computed]:
    return lambda answers, references: bleu_scores(answers, references)[order - 1]


METRICS = tuple(
    CaptionMetric(f"bleu-{order}", f"shared runs of up to {order} words, short answers punished", _of_order(order))
    for order in range(1, ORDERS + 1)
)
