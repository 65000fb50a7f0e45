"""How the classes of a closed list are related: which must never stand beside which, and which are easily mistaken.

Two classes of which one is the other, or a kind of the other, are both right of some picture, so they are never
offered together. Among the rest the near ones are hard to tell apart: by WordNet, by the dataset's own groups, by
the letters of their names, or by what models were seen to confuse.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from eyetest.reform.annotation import ClassLabel
from eyetest.reform.distractors.wordnet import WordNet
from eyetest.reform.distractors.words import plain

Way = Literal["hierarchy", "groups", "similarity", "confusion"]
Matrix = NDArray[np.float32]
_PARTIAL: tuple[Way, ...] = ("groups", "confusion")
"""Ways that know only near classes: whatever the next way says of two classes, they are farther apart than those."""
_BRACKETED = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_HEAD_FIRST = re.compile(r" (?:of|with|for|from|in|on|at|without) .*")
_NEAR_CLASSES = 8
"""How many of the other classes have to be near for a sense to be the likely one."""
_SHORTEST_HEAD = 4
"""Letters that the end of a word needs to be taken for its head: a goldfish is a fish, a carpet is no pet."""


class VocabularyClass(msgspec.Struct, frozen=True):
    """A class as it is shown, all names that it has, and what WordNet has for it."""

    name: str
    names: tuple[str, ...]
    group: str = ""
    senses: tuple[int, ...] = ()
    """Every synset that it can mean; what stands above them is no distractor for it, nor is what stands below."""
    sense: int | None = None
    """The one that it means most likely, beside the other classes."""
    is_below: bool = False
    """Whether it is a kind of its sense, which is not the class itself: WordNet has no aquarium fish, but fish."""


def name_classes(labels: Sequence[ClassLabel], wordnet: WordNet | None) -> list[VocabularyClass]:
    """Classes with what WordNet has for them; ``synset`` may name several, of classes that share their name."""
    classes = [_named(label, wordnet) for label in labels]
    return _with_likeliest_senses(classes, wordnet) if wordnet else classes


def _named(label: ClassLabel, wordnet: WordNet | None) -> VocabularyClass:
    names = tuple(dict.fromkeys(name for name in (label.name, *label.synonyms) if name.strip()))
    if wordnet is None:
        return VocabularyClass(label.name, names, label.parent)
    ids = [wordnet.by_id(synset, names) for synset in label.synset.split()]
    by_id = [synset for synset in ids if synset is not None]
    by_name = [synset for name in names for synset in wordnet.senses(name)]
    senses = tuple(dict.fromkeys((*by_id, *by_name)))
    if senses:
        return VocabularyClass(label.name, names, label.parent, senses, by_id[0] if by_id else None)
    heads = wordnet.head_senses(label.name)
    return VocabularyClass(label.name, names, label.parent, heads, is_below=bool(heads))


def _with_likeliest_senses(classes: list[VocabularyClass], wordnet: WordNet) -> list[VocabularyClass]:
    """Each class with the sense that is nearest to other classes: beside bears and wolves, a seal is an animal.

    Near is what has a deep synset above both. A rarer sense has to be the nearer for it.
    """
    senses = [(number, synset) for number, one in enumerate(classes) for synset in one.senses]
    holders: dict[int, list[int]] = defaultdict(list)
    for row, (_, synset) in enumerate(senses):
        for above in wordnet.above(synset):
            holders[above].append(row)
    owners = np.array([number for number, _ in senses], dtype=np.int64)
    common = np.zeros((len(senses), len(classes)), np.float32)
    for above in sorted(holders, key=wordnet.depth):
        rows = np.array(holders[above])
        common[np.ix_(rows, np.unique(owners[rows]))] = wordnet.depth(above)
    common[np.arange(len(senses)), owners] = 0
    near = min(_NEAR_CLASSES, len(classes))
    support = np.partition(common, -near, axis=1)[:, -near:].mean(axis=1).tolist()
    first = np.searchsorted(owners, np.arange(len(classes))).tolist()
    chosen = []
    for number, one in enumerate(classes):
        sense = one.sense
        if sense is None and one.senses:
            scores = [support[first[number] + rank] - math.log2(rank + 1) for rank in range(len(one.senses))]
            sense = one.senses[scores.index(max(scores))]
        chosen.append(msgspec.structs.replace(one, sense=sense))
    return chosen


def related(classes: Sequence[VocabularyClass], wordnet: WordNet | None) -> NDArray[np.bool_]:
    """Which classes must not stand beside which: the same, or one a kind of the other, in any sense or by name."""
    size = len(classes)
    kin = np.eye(size, dtype=bool)
    if wordnet is not None:
        holders: dict[int, list[int]] = defaultdict(list)
        for number, one in enumerate(classes):
            for synset in () if one.is_below else one.senses:
                holders[synset].append(number)
        for number, one in enumerate(classes):
            for synset in one.senses:
                for above in wordnet.above(synset):
                    kin[number, holders.get(above, [])] = True
    named: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(classes):
        for name in one.names:
            named[_words(name)].append(number)
    for number, one in enumerate(classes):
        for name in one.names:
            for whole in _what_it_is(_words(name), by_letters=wordnet is None):
                kin[number, named.get(whole, [])] = True
    return kin | kin.T


def _words(name: str) -> str:
    """A name by its words, each without a plural's s."""
    words = plain(_BRACKETED.sub("", name).replace("_", " ").replace("-", " ")).split()
    return " ".join(
        word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word for word in words
    )


def _what_it_is(words: str, *, by_letters: bool) -> Iterator[str]:
    """A name and what it says that the thing is: a polar bear is a bear, a can of soup a can."""
    yield words
    head = _HEAD_FIRST.sub("", words)
    parts = head.split()
    yield from (" ".join(parts[first:]) for first in range(len(parts)))
    if by_letters and parts:
        last = parts[-1]
        yield from (last[first:] for first in range(1, len(last) - _SHORTEST_HEAD + 1))


class Nearness(msgspec.Struct, frozen=True):
    """How far classes are from each other, and which way said so."""

    distance: Matrix
    way: NDArray[np.int8]
    """The place of the way in the list of those that were asked."""


def measure_all(
    classes: Sequence[VocabularyClass],
    ways: Sequence[Way],
    confused: Mapping[tuple[str, str], int],
    wordnet: WordNet | None,
) -> Nearness:
    """The distance of every two classes by the first of the ways that knows them both."""
    distance = np.full((len(classes), len(classes)), np.nan, np.float32)
    way = np.zeros(distance.shape, np.int8)
    farther = 0.0
    for number, name in enumerate(ways):
        if name == "hierarchy":
            measured = by_hierarchy(classes, wordnet) if wordnet else distance
        elif name == "confusion":
            measured = by_confusion(classes, confused)
        else:
            measured = by_groups(classes) if name == "groups" else by_similarity(classes)
        new = np.isnan(distance) & ~np.isnan(measured)
        distance[new] = measured[new] + farther
        way[new] = number
        farther += name in _PARTIAL
    return Nearness(distance, way)


def by_hierarchy(classes: Sequence[VocabularyClass], wordnet: WordNet) -> Matrix:
    """Near are classes above which stands something that is above few others: 0 for the only two, up to 1."""
    holders: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(classes):
        for above in wordnet.above(one.sense) if one.sense is not None else ():
            holders[above].append(number)
    distance = np.full((len(classes), len(classes)), np.nan, np.float32)
    scale = math.log2(max(len(classes), 2))
    for above in sorted(holders, key=lambda above: (-len(holders[above]), wordnet.depth(above))):
        rows = np.array(holders[above])
        distance[np.ix_(rows, rows)] = math.log2(max(len(rows), 2) - 1) / scale
    return distance


def by_groups(classes: Sequence[VocabularyClass]) -> Matrix:
    """Near are classes that the dataset puts into one group; of others it says nothing."""
    distance = np.full((len(classes), len(classes)), np.nan, np.float32)
    members: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(classes):
        members[one.group].append(number)
    for group, rows in members.items():
        if group:
            distance[np.ix_(rows, rows)] = 0
    return distance


def by_similarity(classes: Sequence[VocabularyClass]) -> Matrix:
    """Near are classes whose names have letters in common, in the same order."""
    names = [_words(one.name) for one in classes]
    return np.asarray(cdist(names, names, scorer=Indel.normalized_distance, dtype=np.float32))


def by_confusion(classes: Sequence[VocabularyClass], confused: Mapping[tuple[str, str], int]) -> Matrix:
    """Near are classes that were often taken for one another; those that never were are left to other ways."""
    numbers = {plain(name): number for number, one in enumerate(classes) for name in one.names}
    counts = np.zeros((len(classes), len(classes)), np.float32)
    for (gold, chosen), count in confused.items():
        here = numbers.get(plain(gold)), numbers.get(plain(chosen))
        if here[0] is not None and here[1] is not None and here[0] != here[1]:
            counts[here] += count
    both = counts + counts.T
    distance = np.full(both.shape, np.nan, np.float32)
    distance[both > 0] = 1 / (1 + both[both > 0])
    return distance
