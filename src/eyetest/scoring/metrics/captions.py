"""BLEU, CIDEr and ROUGE-L, as the reference package (PyPI pycocoevalcap) computes them.

*BLEU-n* is the geometric mean over 1 … n of the share of the answer's n-grams that some reference has, times a
penalty for answers shorter than the closest reference (the shorter one of two). Two tiny numbers stand in for zero,
so that a sentence shorter than n words scores a little above 0 and not 1, however right it is. The corpus score pools
counts; it is not the mean of the items.

*CIDEr* is the variant CIDEr-D of the paper: an answer is good if it shares with the references what other pictures'
captions do not say. Its length is the number of word *pairs*. Weights come from the references of the corpus that is
scored, so an item's score depends on the others, and a corpus of one item scores 0.

*ROUGE-L* is the longest run of words, gaps allowed, that answer and reference share in order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import LCSseq

from eyetest.scoring.metrics.base import CorpusScore, check_pairs
from eyetest.scoring.metrics.support.ngrams import ORDERS, Corpus, Floats, Ints, NgramCounts, Tokens, summed
from eyetest.scoring.metrics.support.tokens import caption_tokens

Computed = tuple[float, Sequence[float]]
"""The score of the corpus and of each item."""
Compute = Callable[[Sequence[Tokens], Sequence[Sequence[Tokens]]], Computed]


@dataclass
class CaptionMetric:
    """A corpus metric over tokens. An item without references scores None and enters nothing."""

    name: str
    summary: str
    compute: Compute

    def score_all(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
        """Score texts, split into tokens as ``caption_tokens`` does."""
        check_pairs(answers, references)
        tokens = [[caption_tokens(text) for text in texts] for texts in references]
        return self.score_tokens([caption_tokens(answer) for answer in answers], tokens)

    def score_tokens(self, answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> CorpusScore:
        """Score texts that somebody else has split, so that two tools can be compared on the same tokens."""
        check_pairs(answers, references)
        usable = [index for index, texts in enumerate(references) if texts]
        items: list[float | None] = [None] * len(answers)
        if not usable:
            return CorpusScore(None, tuple(items))
        overall, scores = self.compute([answers[i] for i in usable], [references[i] for i in usable])
        for index, score in zip(usable, scores, strict=True):
            items[index] = float(score)
        return CorpusScore(float(overall), tuple(items))


_TINY = 1e-15
_SMALL = 1e-9


def _matched(counts: NgramCounts, items: int) -> Floats:
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


def _combine(matched: Floats, guessed: Floats, length: Floats, reference: Floats) -> Floats:
    """BLEU-1 … BLEU-4 (rows) from counts by order (rows), for any number of texts (columns)."""
    ratios = (matched + _TINY) / (guessed + _SMALL)
    means = np.cumprod(ratios, axis=0) ** (1 / np.arange(1, ORDERS + 1))[:, None]
    ratio = (length + _TINY) / (reference + _SMALL)
    return np.asarray(means * np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0))


def bleu_scores(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> list[Computed]:
    """BLEU-1 to BLEU-4 in one pass: of the corpus, and of each item."""
    corpus = Corpus.of(answers, references)
    matched = np.stack([_matched(counts, corpus.items) for counts in corpus.orders()])
    length = corpus.lengths[: corpus.items].astype(np.float64)
    guessed = np.maximum(length - np.arange(ORDERS)[:, None], 0)
    closest = _closest(corpus).astype(np.float64)
    each = _combine(matched, guessed, length, closest)
    sums = [part.sum(axis=-1, keepdims=True) for part in (matched, guessed, length, closest)]
    overall = _combine(*sums)
    return [(float(overall[order, 0]), each[order].tolist()) for order in range(ORDERS)]


_SIGMA = 6.0
_FULL = 10.0


def _similarities(counts: NgramCounts, corpus: Corpus) -> Floats:
    """For each reference sentence, the clipped cosine between its weighted n-grams and the answer's."""
    split = counts.answers
    seen = np.unique(counts.keys[split:]) % max(counts.kinds, 1)
    documents = np.bincount(seen, minlength=counts.kinds)
    rarity = np.log(corpus.items) - np.log(np.maximum(documents, 1))
    weights = counts.count * rarity[counts.gram]
    norms = np.sqrt(summed(counts.sentence, np.square(weights), len(corpus.lengths)))
    shared, own = weights[:split][counts.matched[counts.hit]], weights[split:][counts.hit]
    dots = summed(counts.sentence[split:][counts.hit], np.minimum(shared, own) * own, len(corpus.lengths))
    lengths = norms[corpus.item] * norms
    cosines: Floats = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return cosines[corpus.items :]


def cider(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Computed:
    """CIDEr-D, scaled to 0–10: the mean over items, and each item."""
    corpus = Corpus.of(answers, references)
    pairs = np.maximum(corpus.lengths - 1, 0)
    owner = corpus.item[corpus.items :]
    apart = pairs[owner] - pairs[corpus.items :]
    total = np.zeros(len(owner))
    for counts in corpus.orders():
        total += _similarities(counts, corpus)
    total *= np.exp(-np.square(apart) / (2 * _SIGMA**2)) / ORDERS
    each = _FULL * summed(owner, total, corpus.items) / np.bincount(owner, minlength=corpus.items)
    return float(each.mean()), each.tolist()


_BETA2 = 1.2**2
_WORDS = 20_000
"""Only the first so many words of a text are aligned, since aligning takes time by the product of the lengths."""


def _score(answer: Tokens, references: Sequence[Tokens]) -> float:
    """F over the best precision and the best recall, which may come from different references.

    Recall weighs more (β = 1.2). An empty text counts as one empty word, as in the reference package (PyPI
    pycocoevalcap): two empty texts give 1.
    """
    said = list(answer[:_WORDS]) or [""]
    golds = [list(reference[:_WORDS]) or [""] for reference in references]
    shared = [LCSseq.similarity(said, gold) for gold in golds]
    precision = max(shared) / len(said)
    recall = max(count / len(gold) for count, gold in zip(shared, golds, strict=True))
    return (1 + _BETA2) * precision * recall / (recall + _BETA2 * precision) if precision and recall else 0.0


def rouge_l(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Computed:
    """The mean over items, and each item."""
    each = [_score(answer, golds) for answer, golds in zip(answers, references, strict=True)]
    return sum(each) / len(each), each


def _bleu(order: int) -> CaptionMetric:
    summary = f"shared runs of up to {order} words, short answers punished"
    return CaptionMetric(f"bleu-{order}", summary, lambda said, golds: bleu_scores(said, golds)[order - 1])


METRICS = (
    *(_bleu(order) for order in range(1, ORDERS + 1)),
    CaptionMetric("cider", "consensus with the references, CIDEr-D, 0 to 10", cider),
    CaptionMetric("rouge-l", "longest common run of words, in order", rouge_l),
)
