"""Distractors for the classes of a closed list: drawn from hard ones, never kin of what is right."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

import msgspec
import numpy as np

from eyetest.reform.annotation import ClassLabel
from eyetest.reform.distractors.kinship import Way, measure_all, name_classes, related
from eyetest.reform.distractors.option_sets import HardOptions, SetRequest
from eyetest.reform.distractors.wordnet import WordNet, find_wordnet
from eyetest.reform.distractors.words import plain
from eyetest.wording import percent

_MOST_TOGETHER = 2_500
"""Classes of which every two are compared; a longer list is cut into parts of near ones."""
_UNSEEN = 0.5
"""A class without records counts as if it had half of one: it may be offered, if seldom."""
_OFTEN = 4
"""Records a class, on average, from which on a class that is offered and never gold would be known by that."""
_LEAK = 0.03
"""By how much a guesser who knows how often each class is gold may beat luck before the user is told."""


class Hardness(msgspec.Struct, frozen=True, kw_only=True):
    """Which distractors are wanted."""

    options: int
    pool: int
    ways: tuple[Way, ...]
    confused: Mapping[tuple[str, str], int] = {}
    seed: int = 0


class ClassDistractors:
    """Draws distractors for the classes of a list; ``notes`` says what a user should know of how."""

    def __init__(self, labels: Iterable[ClassLabel], golds: Counter[str], hard: Hardness) -> None:
        self.notes: list[str] = []
        wordnet = find_wordnet()
        self._names = _names(labels, golds)
        counts = Counter[str]()
        for label, count in golds.items():
            counts[self._names[plain(label)].name] += count
        offered = self._offered(counts, hard.options)
        hard = msgspec.structs.replace(hard, ways=self._known_ways(hard, wordnet))
        self._where: dict[str, tuple[_ComparedClasses, int]] = {}
        self._shown: dict[str, str] = {}
        self._known: dict[str, tuple[_ComparedClasses, int] | None] = {}
        for together in _parts(offered, wordnet):
            part = _ComparedClasses(together, counts, hard, wordnet)
            self._where |= {one.name: (part, number) for number, one in enumerate(part.classes)}
        self._tell({id(part): part for part, _ in self._where.values()}.values(), hard)

    def draw(self, label: str, also: Iterable[str], chance: random.Random) -> list[tuple[str, str]]:
        """Distractors for a picture of a class, and ``also`` of others; each with how it was chosen."""
        part, number = self._lookup(label) or (None, 0)
        assert part is not None, "every gold is a class"
        barred: set[int] = set()
        for name in also:
            home, other = self._lookup(name) or (None, 0)
            if home is part:
                barred.update(np.flatnonzero(part.kin[other]).tolist())
        return [part.named(number, one) for one in part.options.draw(number, barred.__contains__, chance)]

    def shown(self, label: str) -> str:
        """A gold as it is shown: as the record has it, or by its class where it is a synonym or an id of one."""
        if label not in self._shown:
            name = self._names[plain(label)].name
            self._shown[label] = label.strip() if plain(name) == plain(label) else name
        return self._shown[label]

    def _lookup(self, label: str) -> "tuple[_ComparedClasses, int] | None":
        if label not in self._known:
            named = self._names.get(plain(label))
            self._known[label] = self._where.get(named.name) if named else None
        return self._known[label]

    def _offered(self, counts: Counter[str], options: int) -> list[ClassLabel]:
        """The classes that are ever shown: all, unless so many records have so few that the others stand out."""
        labels = list({label.name: label for label in self._names.values()}.values())
        seen = [label for label in labels if counts[label.name]]
        if len(seen) < len(labels) and counts.total() >= _OFTEN * len(seen) and len(seen) >= 2 * options:
            self.notes.append(f"{len(labels) - len(seen):,} classes of the list that no record has are never offered")
            return seen
        return labels

    def _known_ways(self, hard: Hardness, wordnet: WordNet | None) -> tuple[Way, ...]:
        """The ways that can be gone here; names can always be compared."""
        ways = hard.ways
        if wordnet is None and "hierarchy" in ways:
            self.notes.append(
                "no WordNet here (Debian: apt install wordnet-base), so classes were compared by the letters of "
                "their names instead of by what they are"
            )
            ways = tuple(way for way in ways if way != "hierarchy")
        return ways if "similarity" in ways else (*ways, "similarity")

    def _tell(self, parts: Iterable["_ComparedClasses"], hard: Hardness) -> None:
        sets = [part.options.sets for part in parts if part.options.sets is not None]
        worst = max(sets, key=lambda one: one.advantage, default=None)
        if worst is None:
            return
        if worst.pool > max(hard.pool, hard.options - 1) and worst.advantage <= _LEAK:
            self.notes.append(
                f"some classes have so many records that distractors come from the nearest {worst.pool}, "
                f"not {hard.pool}: otherwise golds were known by their frequency"
            )
        elif worst.advantage > _LEAK:
            self.notes.append(
                f"some classes are so frequent that naming the most frequent option is right in "
                f"{percent(1 / hard.options + worst.advantage)}, by luck in {percent(1 / hard.options)}"
            )


class _ComparedClasses:
    """Classes of which every two are compared."""

    def __init__(
        self, labels: Sequence[ClassLabel], counts: Counter[str], hard: Hardness, wordnet: WordNet | None
    ) -> None:
        self.classes = name_classes(labels, wordnet)
        self.kin = related(self.classes, wordnet)
        near = measure_all(self.classes, hard.ways, hard.confused, wordnet)
        self._ways, self._way = hard.ways, [row.tobytes() for row in near.way]
        weights = np.array([counts[one.name] + _UNSEEN * (not counts[one.name]) for one in self.classes])
        request = SetRequest(options=hard.options, pool=hard.pool, weights=weights, kin=self.kin)
        self.options = HardOptions(near.distance, request, hard.seed)

    def named(self, gold: int, other: int) -> tuple[str, str]:
        """A class by its name, with the way in which it is near to another."""
        return self.classes[other].name, self._ways[self._way[gold][other]]


def _names(labels: Iterable[ClassLabel], golds: Iterable[str]) -> dict[str, ClassLabel]:
    """Whatever a class may be called, and the class; a gold that is in no list is a class of its own.

    Classes of one name cannot be told apart, and become one that has all their synonyms and synsets.
    """
    same: dict[str, list[ClassLabel]] = defaultdict(list)
    for label in labels:
        same[plain(label.name)].append(label)
    classes = [_joined(alike) for alike in same.values()]
    names: dict[str, ClassLabel] = {}
    for spelling in (lambda one: (one.name,), lambda one: one.synonyms, lambda one: one.synset.split()):
        for one in classes:
            for name in spelling(one):
                names.setdefault(plain(name), one)
    for gold in golds:
        names.setdefault(plain(gold), ClassLabel(name=gold))
    return names


def _joined(alike: Sequence[ClassLabel]) -> ClassLabel:
    first = alike[0]
    if len(alike) == 1:
        return first
    synonyms = dict.fromkeys(name for label in alike for name in label.synonyms)
    synsets = " ".join(dict.fromkeys(label.synset for label in alike if label.synset))
    return ClassLabel(name=first.name, synonyms=tuple(synonyms), synset=synsets, parent=first.parent)


def _parts(labels: Sequence[ClassLabel], wordnet: WordNet | None) -> Iterator[Sequence[ClassLabel]]:
    """All classes together, or near ones together where they are too many."""
    count = ceil(len(labels) / _MOST_TOGETHER)
    if count <= 1:
        yield labels
        return

    def path(label: ClassLabel) -> tuple[str, list[int], str]:
        synset = next(iter(wordnet.senses(label.name)), None) if wordnet else None
        above: list[int] = []
        while wordnet and synset is not None:
            above.append(synset)
            synset = next(iter(wordnet.parents(synset)), None)
        return label.parent, above[::-1], plain(label.name)

    size, ordered = ceil(len(labels) / count), sorted(labels, key=path)
    yield from (ordered[first : first + size] for first in range(0, len(ordered), size))
