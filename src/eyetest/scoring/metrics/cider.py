"""CIDEr: an answer is good if it shares with the references what other pictures' captions do not say.

What the reference package (PyPI pycocoevalcap) calls CIDEr is the variant CIDEr-D of the paper: counts are
clipped and a Gaussian of the difference in length is applied. Its length is the number of word *pairs*, which
we follow. Weights come from the references of the corpus that is scored, so an item's score depends on
the others, and a corpus of one item scores 0.
"""

from collections.abc import Sequence

import numpy as np

from eyetest.scoring.metrics.support.captions import CaptionMetric, Computed
from eyetest.scoring.metrics.support.ngrams import ORDERS, Corpus, Counts, Floats, Tokens, summed

_SIGMA = 6.0
_FULL = 10.0


def _similarities(counts: Counts, corpus: Corpus) -> Floats:
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


METRICS = (CaptionMetric("cider", "consensus with the references, CIDEr-D, 0 to 10", cider),)
