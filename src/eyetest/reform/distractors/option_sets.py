"""Option sets weighted so that each class is in as many as it has records: drawn from neighbours class by class,
rarely offered classes and central classes would be recognised as keys.
"""

import random
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_SETS_A_CLASS = 128
_ROUNDS = 300
_EXACT = 1e-3
_WIDER = (1, 4, 16)  # multiples of the wanted neighbours tried in turn while golds are predictable by frequency
_HARDER = 16.0  # preference for sets of near classes: e-fold for a sixteenth of the largest distance
_TRIES = 30
_ALIKE = 0.01  # golds guessed more often than by chance by no more than this count as hidden


class SetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of wanted sets of options."""

    options: int
    pool: int  # number of nearest classes that sets around a class are made of
    weights: Floats
    kin: NDArray[np.bool_]  # classes that must not be offered together


class OptionSets:
    """Sets of classes, and how often each is offered with each of its classes as the gold."""

    def __init__(self, sets: Ints, weights: Floats, request: SetRequest, pool: int) -> None:
        self.pool = pool  # number of near classes used, possibly more than wanted
        held = np.bincount(sets.ravel(), np.repeat(weights, sets.shape[1]), len(request.weights))
        rates = np.divide(request.weights, held, out=np.zeros_like(request.weights), where=held > 0)[sets]
        right = (weights * rates.max(axis=1)).sum() / max((weights * rates.sum(axis=1)).sum(), 1e-300)
        self.advantage = float(right) - 1 / request.options
        """How much naming the most frequent gold of each set beats chance."""
        order = np.argsort(sets, axis=None, kind="stable")
        rows, owners = order // sets.shape[1], sets.ravel()[order]
        first = np.searchsorted(owners, np.arange(len(request.weights) + 1)).tolist()
        self.sets: list[list[int]] = sets.tolist()
        self._rows = [rows[start:end].tolist() for start, end in pairwise(first)]
        self._sums = [list(accumulate(weights[own].tolist())) for own in self._rows]

    def draw(self, gold: int, share: float) -> list[int]:
        """The set at a share, from 0 to 1, of all that hold a class; nothing where it is in none."""
        sums = self._sums[gold]
        if not sums or not sums[-1]:
            return []
        row = min(bisect_right(sums, share * sums[-1]), len(sums) - 1)
        return self.sets[self._rows[gold][row]]


class HardOptions:
    """Draws wrong options beside a right one: a set that holds it, or its nearest where no set may be shown."""

    def __init__(self, distance: NDArray[np.float32], request: SetRequest, seed: int) -> None:
        self._distance, self._kin, self._most = distance, request.kin, request.options - 1
        fewer = msgspec.structs.replace(request, options=min(request.options, len(distance)))
        rng = np.random.default_rng([seed, len(distance)])
        self.sets = build_sets(distance, fewer, rng) if fewer.options > 1 else None

    def draw(self, gold: int, barred: Callable[[int], bool], chance: random.Random) -> list[int]:
        """Draw as many others as are wanted, or as there are."""
        for _ in range(_TRIES if self.sets is not None else 0):
            assert self.sets is not None
            drawn = [member for member in self.sets.draw(gold, chance.random()) if member != gold]
            if not drawn:
                break
            if not any(map(barred, drawn)):
                return drawn
        return self._nearest(gold, barred)

    def _nearest(self, gold: int, barred: Callable[[int], bool]) -> list[int]:
        """The nearest that may be offered with the gold, and if possible with each other."""
        order = np.argsort(self._distance[gold], kind="stable").tolist()
        fit = (member for member in order if not self._kin[gold, member] and not barred(member))
        chosen: list[int] = []
        others: list[int] = []
        for member in fit:
            (others if self._kin[member, chosen].any() else chosen).append(member)
            if len(chosen) == self._most:
                break
        return [*chosen, *others][: self._most]


def build_sets(distance: NDArray[np.float32], request: SetRequest, rng: np.random.Generator) -> OptionSets | None:
    """Build sets of near classes, or of less near ones where frequency would give away the key; None if none fits."""
    most, built = len(distance) - 1, list[OptionSets]()
    for pool in dict.fromkeys(min(max(request.pool, request.options - 1) * wider, most) for wider in _WIDER):
        sets = _sets_around_each(distance, pool, request, rng)
        if not len(sets):
            continue
        near = distance[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2), dtype=np.float64) / sets.shape[1] ** 2
        weights = _balanced(sets, np.exp(-_HARDER * near), request.weights)
        built.append(OptionSets(sets, weights, request, pool))
        if built[-1].advantage <= _ALIKE:
            break
    least = min((member.advantage for member in built), default=0.0)
    return next((member for member in built if member.advantage <= least + _ALIKE), None)


def _sets_around_each(
    distance: NDArray[np.float32], pool: int, request: SetRequest, rng: np.random.Generator
) -> Ints:
    """For each class, sets of it and some of its nearest classes, no two of them kin."""
    apart = np.where(request.kin, np.inf, distance)
    nearest = np.argpartition(apart + rng.random(apart.shape, np.float32) * 1e-6, min(pool, len(apart) - 1), axis=1)
    taste = np.log(request.weights)
    sets = []
    for gold, row in enumerate(nearest[:, :pool]):
        others = row[np.isfinite(apart[gold, row])]
        if len(others) < request.options - 1:
            continue
        keys = rng.gumbel(size=(_SETS_A_CLASS, len(others))) - _HARDER * apart[gold, others]
        keys[::2] += taste[others]
        chosen = others[np.argpartition(-keys, request.options - 2, axis=1)[:, : request.options - 1]]
        sets.append(np.column_stack([np.full(_SETS_A_CLASS, gold), chosen]))
    if not sets:
        return np.empty((0, request.options), np.int64)
    all_sets = np.unique(np.sort(np.concatenate(sets), axis=1), axis=0)
    kin = request.kin[all_sets[:, :, None], all_sets[:, None, :]].sum(axis=(1, 2))
    return np.asarray(all_sets[kin == request.options])


def _balanced(sets: Ints, weights: Floats, wanted: Floats) -> Floats:
    """Weights, changed as little as possible, with which every class is in as many sets as wanted."""
    size = sets.shape[1]
    for _ in range(_ROUNDS):
        held = np.bincount(sets.ravel(), np.repeat(weights, size), len(wanted))
        change = np.log(wanted / np.maximum(held, 1e-300))
        weights = weights * np.exp(change[sets].sum(axis=1) / size)
        if np.abs(change[held > 0]).max() < _EXACT:
            break
    return weights
