"""Which items intervals and tests count as one cluster: by a word of ``--cluster``, by default found from the items.

By default items that share an image or a group are one cluster. Passages, facts and question templates join them
(`eyetest.results.dependence.firm_clusterings`), together or one alone, whichever leaves the fewest clusters, where
there are enough clusters. With fewer than 10 effective ones an interval is mostly Student's quantile, and so few
templates are rather the tasks of a benchmark than a sample of them. From 26 on clusters that say nothing about
answers widen intervals by less than 5 %. In between they count where answers show them
(`eyetest.measures.stats.mantel`). Clusters by common words, options, keys and profiles of models do not count here:
items drawn one by one from topics of unlike difficulty would have the same answers. Assumed: templates, passages and
facts are a sample of those that could be asked about. Checked with benchmarks drawn by other code in
``tests/results/test_default_clusters.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eyetest.errors import InputError, counted, heading, nearest, short
from eyetest.measures.stats.intervals import Floats, Ints, effective_clusters
from eyetest.measures.stats.mantel import deviate_of_pairs
from eyetest.measures.stats.sets import DisjointSets
from eyetest.records import Item, tag_words
from eyetest.results.dependence import binding, fewest_clusters, firm_clusterings, joined_clusters, numbered

CLUSTERS = ("auto", "found", "image", "group", "passage", "template", "none")
"""What makes items dependent; a tag's name is also valid. ``auto``: images and groups, and passages, question
templates and facts where there are enough of them. ``found``: all of these always.
"""
CLUSTER_NOTE = "clusters: "
"""How notes on clusters begin."""
_FEWEST = 10  # effective clusters that are counted
_ENOUGH = 26  # effective clusters that are counted whatever answers show: Student's quantile is 1.05 times the normal
_DEVIATE = 1.65  # standard deviations beyond exchangeable items from which answers show clusters
_ROUNDING = 1e-6
_SHARED = ("group", "image")  # bonds that always count


class Clusters(NamedTuple):
    """A label of each item's cluster, the id of one of its items, and notes on what is counted."""

    labels: list[str]
    notes: tuple[str, ...] = ()


def clusters_of(items: Sequence[Item], word: str = "auto", scores: Callable[[], Floats] | None = None) -> Clusters:
    """The clusters that a word of ``--cluster`` names.

    ``scores`` returns the items' scores in all series (items × series, nan where missing); it is called where the
    default needs them. A word that is neither a kind nor a tag of an item is refused.
    """
    if word not in CLUSTERS and not any(word in item.tags for item in items):
        raise InputError(f"{heading('cluster')}: no tag {short(word)}; {nearest(word, CLUSTERS)}")
    labels = _roots(items, _keys_of(word))
    if word == "auto":
        return _default_clusters(items, labels, scores)
    if word == "found":
        return Clusters(_first_ids(items, fewest_clusters(numbered(labels), firm_clusterings(items))))
    if word == "template":
        return Clusters(_first_ids(items, firm_clusterings(items)["question template"]))
    return Clusters(labels)


def _default_clusters(items: Sequence[Item], labels: list[str], scores: Callable[[], Floats] | None) -> Clusters:
    """The clusters of images and groups, ``labels``, or those of found bonds, whichever are the fewest that count."""
    together = numbered(labels)
    bonds = {kind: numbers for kind, numbers in binding(firm_clusterings(items)).items() if kind not in _SHARED}
    candidates = _candidates(together, bonds)
    deviates = _deviates(candidates, together, scores)
    coarse = [kind for kind, numbers in bonds.items() if _is_coarse(numbers)]
    notes = [f"{CLUSTER_NOTE}{_number(bonds[kind])} by {kind} are too few to count" for kind in coarse]
    for name, deviate in deviates.items():
        if deviate <= _DEVIATE:
            why = f"do not count: answers do not show them (deviate {deviate:.1f})"
            notes.append(f"{CLUSTER_NOTE}{_number(candidates[name])} by {name} {why}")
    candidates = {
        name: numbers
        for name, numbers in candidates.items()
        if _effective(numbers) >= _ENOUGH or deviates.get(name, 0.0) > _DEVIATE
    }
    if candidates:
        best = min(candidates, key=lambda name: _number(candidates[name]))
        labels = _first_ids(items, candidates[best])
        size = f"{counted(len(items), 'item')} count as {_number(candidates[best])}, by {best}"
        notes.append(f"{CLUSTER_NOTE}{size}")
    return Clusters(labels, tuple(notes))


def _candidates(together: Ints, bonds: Mapping[str, Ints]) -> dict[str, Ints]:
    """Clusterings with fewer clusters than ``together``, but enough: by one kind of bond, or by several joined.

    Crossed bonds, such as every template about every image, would join all items.
    """
    joined = together
    names = []
    for kind, numbers in bonds.items():
        merged = joined_clusters(joined, {kind: numbers})
        if _number(merged) < _number(joined) and not _is_coarse(merged):
            joined = merged
            names.append(kind)
    candidates = {**bonds, " and ".join(names): joined}
    return {
        name: numbers
        for name, numbers in candidates.items()
        if _number(numbers) < _number(together) and not _is_coarse(numbers)
    }


def _deviates(
    candidates: Mapping[str, Ints], together: Ints, scores: Callable[[], Floats] | None
) -> dict[str, float]:
    """By candidate that is not enough by itself how far its items are right together in the answers, if there are
    answers; `eyetest.measures.stats.mantel` says how it is measured.
    """
    few = [name for name, numbers in candidates.items() if _effective(numbers) < _ENOUGH]
    if not few or scores is None:
        return {}
    table = scores()
    return {name: deviate_of_pairs(table, candidates[name], together) for name in few}


def _is_coarse(numbers: Ints) -> bool:
    """Whether there are too few clusters for an interval."""
    return _effective(numbers) < _FEWEST


def _effective(numbers: Ints) -> float:
    return float(effective_clusters(np.bincount(numbers))) + _ROUNDING


def _number(numbers: Ints) -> int:
    return len(np.unique(numbers))


def _first_ids(items: Sequence[Item], numbers: Ints) -> list[str]:
    """The first item of each item's cluster."""
    first: dict[int, str] = {}
    for number, item in zip(numbers.tolist(), items, strict=True):
        first.setdefault(number, item.id)
    return [first[number] for number in numbers.tolist()]


def _roots(items: Sequence[Item], keys_of: Callable[[Item], list[str]]) -> list[str]:
    """One item of each item's cluster, where items with a key in common are one cluster."""
    joined = DisjointSets[str]()
    for item in items:
        for key in keys_of(item):
            joined.join(item.id, "\0" + key)
    return [joined.root(item.id) for item in items]


def _keys_of(word: str) -> Callable[[Item], list[str]]:
    """What makes items one cluster, by the word; bonds that are found come beside it."""
    kinds: dict[str, Callable[[Item], list[str]]] = {
        "none": lambda item: [],
        "template": lambda item: [],
        "image": _media,
        "group": lambda item: [item.group or item.id],
        "passage": lambda item: [item.hint] if item.hint else [],
        "auto": lambda item: [*_media(item), item.group or item.id],
    }
    kinds["found"] = kinds["auto"]
    return kinds.get(word, lambda item: [*tag_words(item.tags.get(word))])


def _media(item: Item) -> list[str]:
    """The images and other media of an item: items about the same ones depend on each other."""
    media = [f"{media.kind} {media.reference}" for media in item.media]
    return [*(image.sha256 for image in item.images), *media]
