"""All n-grams of a corpus counted at once, as arrays: what makes BLEU and CIDEr fast.

Words become numbers, and an n-gram becomes the number of the pair (its first n−1 words, its last word).
So every order costs two sorts of one array, and no Python object is made for any n-gram.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

ORDERS = 4
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Tokens = Sequence[str]


@dataclass
class Corpus:
    """Sentences as one long array of word numbers: all answers first, then all references."""

    words: Ints
    lengths: Ints
    """Words in each sentence."""
    item: Ints
    """The item that each sentence belongs to."""
    items: int

    @classmethod
    def of(cls, answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> "Corpus":
        """Number the words of answers and references."""
        sentences = [*answers, *chain.from_iterable(references)]
        known = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        numbers = map(known.__getitem__, chain.from_iterable(sentences))
        items = np.arange(len(answers), dtype=np.int64)
        owners = np.repeat(items, np.fromiter(map(len, references), np.int64, len(references)))
        return cls(
            words=np.fromiter(numbers, np.int64, int(lengths.sum())),
            lengths=lengths,
            item=np.concatenate([items, owners]),
            items=len(answers),
        )

    def orders(self) -> Iterator["NgramCounts"]:
        """The n-grams of each order, from single words up."""
        starts = np.arange(len(self.words), dtype=np.int64)
        sentence = np.repeat(np.arange(len(self.lengths), dtype=np.int64), self.lengths)
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - starts
        gram, vocabulary = self.words, int(self.words.max(initial=-1)) + 1
        for order in range(1, ORDERS + 1):
            if order > 1:
                fits = left >= order
                starts, sentence, left, gram = starts[fits], sentence[fits], left[fits], gram[fits]
                pairs = gram * vocabulary + self.words[starts + order - 1]
                gram = np.unique(pairs, return_inverse=True)[1].reshape(-1)
            yield self._counted(sentence, gram)

    def _counted(self, sentence: Ints, gram: Ints) -> "NgramCounts":
        kinds = int(gram.max(initial=-1)) + 1
        keys, counts = np.unique(sentence * kinds + gram, return_counts=True)
        sentences, grams = np.divmod(keys, max(kinds, 1))
        split = int(np.searchsorted(sentences, self.items))
        keys = self.item[sentences] * kinds + grams
        matched = np.searchsorted(keys[:split], keys[split:])
        matched[matched == split] = 0
        hit = keys[:split][matched] == keys[split:] if split else np.zeros(len(keys) - split, bool)
        return NgramCounts(
            sentence=sentences,
            gram=grams,
            count=counts,
            kinds=kinds,
            answers=split,
            keys=keys,
            matched=matched,
            hit=hit,
        )


@dataclass
class NgramCounts:
    """How often each n-gram of one order stands in each sentence; entries of answers come first."""

    sentence: Ints
    gram: Ints
    count: Ints
    kinds: int
    """How many different n-grams there are."""
    answers: int
    """How many entries belong to answers."""
    keys: Ints
    """One number for each pair of item and n-gram."""
    matched: Ints
    """For each entry of a reference, the entry of the item's answer with the same n-gram, where ``hit``."""
    hit: NDArray[np.bool_]


def summed(where: Ints, weights: Floats, size: int) -> Floats:
    """Sums of weights by place."""
    return np.bincount(where, weights=weights, minlength=size).astype(np.float64)
