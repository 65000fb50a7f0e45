"""Folds for learning on one part and trying on another, which tear nothing apart that belongs together."""

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray


def group_folds(groups: Sequence[Hashable], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A fold for each, by the group it belongs to: whole groups, the largest first, go where there is most room."""
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
