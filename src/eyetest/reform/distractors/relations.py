"""Spatial relations that exclude one another in every view; a relation that excludes nothing has no distractors."""

import random
from collections import defaultdict
from collections.abc import Sequence

_SAID: dict[str, tuple[str, ...]] = {
    "left": ("left of", "at the left side of", "to the left of"),
    "right": ("right of", "at the right side of", "to the right of"),
    "front": ("in front of", "ahead of"),
    "behind": ("behind", "at the back of"),
    "above": ("above", "over"),
    "on": ("on top of", "on"),
    "below": ("below", "under", "beneath"),
    "near": ("near", "close to", "next to", "beside"),
    "far": ("far away from", "far from"),
    "inside": ("inside", "in", "within"),
    "outside": ("outside",),
    "contains": ("contains",),
    "surrounding": ("surrounding",),
    "touching": ("touching",),
    "attached": ("attached to", "connected to"),
    "detached": ("detached from",),
    "facing": ("facing",),
    "turned away": ("facing away from",),
    "parallel": ("parallel to",),
    "perpendicular": ("perpendicular to",),
    "part": ("part of",),
    "whole": ("has as a part", "consists of"),
    "middle": ("in the middle of",),
    "edge": ("at the edge of",),
}  # relations by meaning, in the words that distractors use
_SYNONYMS = {
    "below": ("underneath",),
    "inside": ("enclosed by", "into"),
    "outside": ("out of",),
    "far": ("away from",),
    "near": ("by", "alongside", "adjacent to", "at the side of", "at", "with"),
    "touching": ("against",),
    "surrounding": ("around",),
    "facing": ("toward",),
    "middle": ("among", "between"),
}  # other words for these meanings, that datasets use and distractors do not
_OPPOSITES = (
    ("left", "right"),
    ("front", "behind"),
    ("above", "below"),
    ("on", "below"),
    ("near", "far"),
    ("touching", "far"),
    ("inside", "outside"),
    ("inside", "contains"),
    ("attached", "detached"),
    ("facing", "turned away"),
    ("parallel", "perpendicular"),
    ("part", "whole"),
    ("surrounding", "inside"),
    ("middle", "edge"),
)
_INCOMPATIBLE = (
    ("on", "far"),
    ("inside", "far"),
    ("contains", "far"),
    ("contains", "outside"),
    ("contains", "part"),
    ("surrounding", "far"),
    ("attached", "far"),
    ("part", "far"),
    ("part", "outside"),
    ("whole", "far"),
    ("whole", "inside"),
    ("middle", "far"),
    ("middle", "outside"),
    ("edge", "far"),
)
_MEANING = {word: meaning for known in (_SAID, _SYNONYMS) for meaning, words in known.items() for word in words}
_ALIGNED = {"left", "right"}  # same phrasing: the words of the two meanings correspond
VERBS = ("contains", "has as a part", "consists of")  # relations that need no "is"


def meaning(relation: str) -> str:
    """Meaning of a relation by its first words; empty where unknown."""
    return _MEANING.get(relation.strip().lower(), "")


def excluded(relation: str, chance: random.Random) -> list[tuple[str, str]]:
    """Relations that cannot hold where this one does, one of each meaning, opposites first, and how each was made."""
    meant = meaning(relation)
    wrong = []
    for author, pairs in (("opposite relation", _OPPOSITES), ("incompatible relation", _INCOMPATIBLE)):
        others = [one if other == meant else other for one, other in pairs if meant in (one, other)]
        chance.shuffle(others)
        wrong += [(_worded(other, meant, relation, chance), author) for other in others]
    return wrong


def matched(relations: Sequence[str], chance: random.Random) -> dict[int, tuple[str, str]]:
    """Pair relations that exclude each other, so that each is wrong as often as right: position → other, author."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for position in chance.sample(range(len(relations)), len(relations)):
        waiting[meaning(relations[position])].append(position)
    partners = {}
    for author, pairs in (("opposite relation", _OPPOSITES), ("incompatible relation", _INCOMPATIBLE)):
        for one, other in pairs:
            while waiting[one] and waiting[other]:
                first, second = waiting[one].pop(), waiting[other].pop()
                partners[first] = (relations[second], author)
                partners[second] = (relations[first], author)
    return partners


def _worded(other: str, meant: str, relation: str, chance: random.Random) -> str:
    if {other, meant} == _ALIGNED:
        return _SAID[other][_SAID[meant].index(relation.strip().lower())]
    return chance.choice(_SAID[other])
