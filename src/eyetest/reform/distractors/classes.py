"""Distractors of a closed class list: near by WordNet, groups, spelling or confusions; no synonyms or subclasses."""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from eyetest.errors import InputError, heading, naming_benchmark, percent
from eyetest.reform.annotation import ClassLabel
from eyetest.reform.distractors import plain
from eyetest.reform.distractors.neighbours import Neighbours
from eyetest.reform.distractors.wordnet import WordNet, find_wordnet
from eyetest.results.scores import benchmark_of, scores_of
from eyetest.runs import Run, is_run
from eyetest.scoring import Scorer

Way = Literal["hierarchy", "groups", "similarity", "confusion"]
Matrix = NDArray[np.float32]
Key = TypeVar("Key", bound=Hashable)
# Ways that know near classes only; classes known by later ways are farther
_PARTIAL: tuple[Way, ...] = ("groups", "confusion")
_BRACKETED = re.compile(r"\s{0,9}[(\[][^)\]]{0,300}[)\]]")
_HEAD_FIRST = re.compile(r" (?:of|with|for|from|in|on|at|without) .*")
_NEAR_CLASSES = 8  # how many of the other classes have to be near for a sense to be the likely one


def find_senses(
    classes: Sequence[ClassLabel], wordnet: WordNet | None
) -> tuple[list[tuple[int, ...]], list[int | None]]:
    """All synsets that each class can mean, and the likeliest: that of its own id (``synset`` may name several, of
    classes that share their name), or the one with the deepest hypernym that several classes share.
    """
    if wordnet is None:
        return [()] * len(classes), [None] * len(classes)
    by_id = [[wordnet.by_id(synset, known.names) for synset in known.synset.split()] for known in classes]
    own = [[synset for synset in ids if synset is not None] for ids in by_id]
    named = [[synset for name in known.names for synset in wordnet.senses(name)] for known in classes]
    senses = [tuple(dict.fromkeys(ids + others)) for ids, others in zip(own, named, strict=True)]
    shared = Counter(synset for some in senses for synset in set().union(*map(wordnet.above, some)))
    several = min(_NEAR_CLASSES, len(classes) // 4)

    def depth(sense: int) -> int:
        return max((wordnet.depth(above) for above in wordnet.above(sense) if shared[above] > several), default=0)

    likeliest = (max(some, key=depth, default=None) for some in senses)
    return senses, [ids[0] if ids else sense for ids, sense in zip(own, likeliest, strict=True)]


def _held(groups: Iterable[Iterable[Key]]) -> dict[Key, list[int]]:
    """Numbers of the groups that hold each key."""
    holders: dict[Key, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for key in group:
            holders[key].append(number)
    return holders


def related(
    classes: Sequence[ClassLabel], senses: Sequence[tuple[int, ...]], wordnet: WordNet | None
) -> NDArray[np.bool_]:
    """Pairs of classes that are the same, or one a kind of the other, in any sense or by name."""
    kin = np.eye(len(classes), dtype=bool)
    synsets = _held(senses)
    words = _held(map(_words, known.names) for known in classes)
    for number, known in enumerate(classes):
        for above in {above for synset in senses[number] if wordnet for above in wordnet.above(synset)}:
            kin[number, synsets.get(above, [])] = True
        for name in known.names:
            for whole in _what_it_is(_words(name)):
                kin[number, words.get(whole, [])] = True
    return kin | kin.T


def _words(name: str) -> str:
    """A name by its words, each without a plural's s."""
    words = plain(_BRACKETED.sub("", name).replace("_", " ").replace("-", " ")).split()
    return " ".join(
        word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word for word in words
    )


def _what_it_is(words: str) -> Iterator[str]:
    """A name and its head: a polar bear is a bear, a can of soup a can."""
    yield words
    parts = _HEAD_FIRST.sub("", words).split()
    yield from (" ".join(parts[first:]) for first in range(len(parts)))


class Hardness(msgspec.Struct, frozen=True, kw_only=True):
    """Kind of distractors wanted."""

    options: int
    pool: int
    ways: tuple[Way, ...]
    confused: Mapping[tuple[str, str], int] = {}


def measure_all(
    classes: Sequence[ClassLabel], likeliest: Sequence[int | None], hard: Hardness, wordnet: WordNet | None
) -> tuple[Matrix, NDArray[np.int8]]:
    """Distance of every two classes by the first way that knows both, and the index of that way."""
    distance = np.full((len(classes), len(classes)), np.nan, np.float32)
    way = np.zeros(distance.shape, np.int8)
    farther = 0.0
    for number, name in enumerate(hard.ways):
        measured = np.full(distance.shape, np.nan, np.float32)
        if name == "hierarchy" and wordnet:
            measured = by_hierarchy(likeliest, wordnet)
        elif name == "confusion":
            measured = by_confusion(classes, hard.confused)
        elif name == "groups":
            for rows in _held([known.parent] if known.parent else () for known in classes).values():
                measured[np.ix_(rows, rows)] = 0
        elif name == "similarity":  # names that share letters in the same order
            names = [_words(known.name) for known in classes]
            measured = np.asarray(cdist(names, names, scorer=Indel.normalized_distance, dtype=np.float32))
        new = np.isnan(distance) & ~np.isnan(measured)
        distance[new] = measured[new] + farther
        way[new] = number
        farther += name in _PARTIAL
    return distance, way


def by_hierarchy(senses: Sequence[int | None], wordnet: WordNet) -> Matrix:
    """Near are classes with a common ancestor that has few other descendants: 0 for the only two, up to 1."""
    holders = _held(() if sense is None else wordnet.above(sense) for sense in senses)
    distance = np.full((len(senses), len(senses)), np.nan, np.float32)
    scale = math.log2(max(len(senses), 2))
    for above in sorted(holders, key=lambda above: (-len(holders[above]), wordnet.depth(above))):
        rows = np.array(holders[above])
        distance[np.ix_(rows, rows)] = math.log2(max(len(rows), 2) - 1) / scale
    return distance


def by_confusion(classes: Sequence[ClassLabel], confused: Mapping[tuple[str, str], int]) -> Matrix:
    """Near are classes often confused; those that never were are left to other ways."""
    numbers = {plain(name): number for number, known in enumerate(classes) for name in known.names}
    counts = np.zeros((len(classes), len(classes)), np.float32)
    for (gold, chosen), count in confused.items():
        here = numbers.get(plain(gold)), numbers.get(plain(chosen))
        if here[0] is not None and here[1] is not None and here[0] != here[1]:
            counts[here] += count
    both = counts + counts.T
    distance = np.full(both.shape, np.nan, np.float32)
    distance[both > 0] = 1 / (1 + both[both > 0])
    return distance


def in_circle(distance: Matrix) -> list[int]:
    """Numbers of the classes in an order in which near ones stand together: the leaves of a tree of distances."""
    if len(distance) < 3:
        return list(range(len(distance)))
    order: list[int] = leaves_list(linkage(squareform(distance, checks=False), "average")).tolist()
    return order


_MOST_CLASSES = 5_000  # every two are compared


class ClassDistractors:
    """Draws distractors for the classes of a list; ``notes`` for the user say how."""

    def __init__(self, labels: Iterable[ClassLabel], golds: Counter[str], hard: Hardness) -> None:
        self.notes: list[str] = []
        wordnet = find_wordnet()
        self._names = _names(labels, golds)
        counts = Counter[str]()
        for label, count in golds.items():
            counts[self._names[plain(label)].name] += count
        offered = list({label.name: label for label in self._names.values()}.values())
        if len(offered) > _MOST_CLASSES:
            raise InputError(f"{len(offered):,} classes: hard options are drawn from at most {_MOST_CLASSES:,}")
        hard = msgspec.structs.replace(hard, ways=self._known_ways(hard, wordnet))
        senses, likeliest = find_senses(offered, wordnet)
        distance, self._way = measure_all(offered, likeliest, hard, wordnet)
        self._ways, self._kin = hard.ways, related(offered, senses, wordnet)
        self._numbers = {known.name: number for number, known in enumerate(offered)}
        times = {offered[number].name: counts[offered[number].name] for number in in_circle(distance)}
        self._near = Neighbours(times, self._are_kin, hard.options, hard.pool)
        if self._near.window > max(hard.pool + 1, hard.options):
            self.notes.append(
                f"some classes have so many records that distractors come from the nearest {self._near.window - 1}, "
                f"not {hard.pool}: otherwise golds were known by their frequency"
            )
        if self._near.heaviest > 1 / hard.options:
            self.notes.append(f"{percent(self._near.heaviest)} of golds are one class: no options hide that")

    def draw(self, label: str, also: Iterable[str], chance: random.Random) -> list[tuple[str, str]]:
        """Distractors for an image of a class, and ``also`` of others; each with how it was chosen."""
        gold = self._names[plain(label)].name
        others = [known.name for name in also if (known := self._names.get(plain(name)))]
        drawn = self._near.draw(gold, lambda member: any(self._are_kin(member, one) for one in others), chance)
        way = self._way[self._numbers[gold]]
        return [(other, self._ways[way[self._numbers[other]]]) for other in drawn]

    def _are_kin(self, name: str, other: str) -> bool:
        return bool(self._kin[self._numbers[name], self._numbers[other]])

    def shown(self, label: str) -> str:
        """A gold as shown: as in the record, or by its class where it is a synonym or an id of one."""
        name = self._names[plain(label)].name
        return label.strip() if plain(name) == plain(label) else name

    def _known_ways(self, hard: Hardness, wordnet: WordNet | None) -> tuple[Way, ...]:
        """The ways available here; names can always be compared."""
        ways = hard.ways
        if wordnet is None and "hierarchy" in ways:
            self.notes.append(
                "no WordNet here (Debian: apt install wordnet-base), so classes were compared by the letters of "
                "their names instead of by what they are"
            )
            ways = tuple(way for way in ways if way != "hierarchy")
        return ways if "similarity" in ways else (*ways, "similarity")


def _names(labels: Iterable[ClassLabel], golds: Iterable[str]) -> dict[str, ClassLabel]:
    """Classes by each of their names (those with the same name joined); a gold in no list is a class of its own."""
    joined: dict[str, ClassLabel] = {}
    for label in labels:
        first = joined.setdefault(plain(label.name), label)
        if first is not label:
            others = tuple(dict.fromkeys((*first.synonyms, *label.synonyms)))
            synset = " ".join(dict.fromkeys(f"{first.synset} {label.synset}".split()))
            joined[plain(label.name)] = msgspec.structs.replace(first, synonyms=others, synset=synset)
    names = dict(joined)
    synonyms = [(name, known) for known in joined.values() for name in known.synonyms]
    synsets = [(name, known) for known in joined.values() for name in known.synset.split()]
    for name, known in (*synonyms, *synsets):
        names.setdefault(plain(name), known)
    for gold in golds:
        names.setdefault(plain(gold), ClassLabel(name=gold))
    return names


def read_confusions(path: Path) -> Counter[tuple[str, str]]:
    """How often the answers of a run named another class (second) than the gold (first)."""
    if not is_run(path):
        raise InputError(f"{heading('own', 'confusions')}: {path} is no run folder")
    run = Run(path)
    benchmark = benchmark_of(run, hint=naming_benchmark(run.path))
    scores, _ = scores_of(run, benchmark, Scorer())
    wrong = scores.filter(pl.col("choice").is_not_null() & (pl.col("score") < 1)).group_by("item", "choice").len()
    items = {item.id: item for item in benchmark if item.choices}
    confused: Counter[tuple[str, str]] = Counter()
    for name, choice, count in wrong.collect().iter_rows():
        if (item := items.get(name)) is not None and item.gold:
            chosen = item.choices[ord(choice) - ord("A")]
            confused[item.choices[item.gold[0]].text, chosen.text] += count
    return confused
