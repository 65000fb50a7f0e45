"""Connected groups, direct or indirect: found, and split into folds that keep them whole."""

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Member = TypeVar("Member", bound=Hashable)
Ints = NDArray[np.int64]


class DisjointSets(Generic[Member]):
    """Disjoint sets (union-find), such as items on one image. What was never joined is a set of its own."""

    def __init__(self) -> None:
        self._above: dict[Member, Member] = {}

    def root(self, member: Member) -> Member:
        """The representative of a set."""
        while (above := self._above.get(member, member)) != member:
            self._above[member] = self._above.get(above, above)
            member = above
        return member

    def join(self, first: Member, second: Member) -> None:
        """Join two sets under the representative of the first."""
        self._above[self.root(second)] = self.root(first)

    def groups(self, members: Iterable[Member]) -> list[list[Member]]:
        """Groups of those members that share a set with others of them, in order."""
        by_root: dict[Member, list[Member]] = {}
        for member in members:
            by_root.setdefault(self.root(member), []).append(member)
        return [group for group in by_root.values() if len(group) > 1]


def set_labels(number: int, *bonds: tuple[Ints, Ints]) -> Ints:
    """The set of each of ``number`` things; those that share a key are in one. ``bonds``: thing and key."""
    members, keys, beyond = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    for who, what in bonds:
        members, keys = np.concatenate([members, who]), np.concatenate([keys, beyond + what])
        beyond = int(keys.max(initial=-1)) + 1
    if not (np.bincount(members, minlength=number) > 1).any():
        labels = beyond + np.arange(number)
        labels[members] = keys
        return labels
    from scipy.sparse import coo_array  # noqa: PLC0415 (slow to load, and few benchmarks need it)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    size = number + beyond
    graph = coo_array((np.ones(len(members), bool), (members, number + keys)), shape=(size, size))
    found: Ints = connected_components(graph, directed=False)[1][:number].astype(np.int64)
    return found


def group_folds(groups: Sequence[Hashable], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A fold for each by its group: whole groups, the largest first, go to the smallest fold."""
    sizes = Counter(groups)
    names = list(sizes)
    shuffled = [names[place] for place in rng.permutation(len(names))]
    filled = [(0, fold) for fold in range(folds)]
    fold_of: dict[Hashable, int] = {}
    for group in sorted(shuffled, key=lambda group: -sizes[group]):
        size, fold = heapq.heappop(filled)
        fold_of[group] = fold
        heapq.heappush(filled, (size + sizes[group], fold))
    return np.array([fold_of[group] for group in groups], np.intp)
