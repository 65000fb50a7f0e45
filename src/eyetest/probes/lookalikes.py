"""Which pictures may be copies of each other, by small thumbnails alone: the pairs that are worth a closer look.

1. *Neighbours.* Blurred thumbnails are correlated, and each picture keeps those most like it. The blur forgives the
   shift that a crop makes; a gradient hash does not (on ChartQA, with up to 5 % cropped a side, it put another chart
   before the right one in a quarter of all cases, blurred thumbnails in one of twenty-five, and the right one was
   always among the first six).
2. *Overlay of thumbnails.* To first order, stretching, shifting and brightening a thumbnail moves it within a plane
   of six directions. What of the other thumbnail lies outside that plane cannot be explained by a crop; pairs with
   little left over go on.

Few pictures are correlated all with all. Many are sorted by a hash of their broad features, whose every bit says on
which side of a random plane they lie, and correlated with those that the sorting puts near them; as the first bits
weigh most, several hashes are taken. So the work grows as the number of pictures does, even where all are alike.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from eyetest.measures.stats.intervals import one_thread

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]
Thumbnail = npt.NDArray[np.uint8]

ALL_WITH_ALL = 25_000
"""Up to so many pictures it costs less to compare all with all."""
_BLOCK = 256
_REACH = 896
"""How far to both sides of a block its pictures are compared with those that a hash puts near them."""
_HASHES = 12
_BITS = 24
_LEAST_ALIKE = 0.4
"""Correlation below which no crop was ever seen to explain the difference of two thumbnails."""
_BROAD = 16
"""Main directions in which pictures differ. Finer ones are where a cropped copy differs from its picture, too."""
_SAMPLE = 4_000


def promising_pairs(
    thumbnails: Sequence[Thumbnail], neighbours: int, rest: float, progress: Callable[[float], None]
) -> npt.NDArray[np.intp]:
    """Pairs of pictures that may be copies, the likeliest first: rows of two indices, the lower one first.

    ``rest`` is the share of a thumbnail that stretch and shift of the other may leave unexplained.
    """
    if len(thumbnails) < 2:
        return np.empty((0, 2), np.intp)
    with one_thread():
        sketches = np.concatenate([_sketched(_stacked(thumbnails, at)) for at in _blocks(len(thumbnails))])
        near = nearest(sketches, neighbours, lambda share: progress(0.5 * share))
        pairs, rests = [np.empty((0, 2), np.intp)], [np.empty(0, np.float32)]
        for rows in _blocks(len(thumbnails)):
            left = _unexplained(thumbnails, rows, near[rows])
            row, column = np.nonzero((left <= rest) & (near[rows] != rows[:, None]))
            pairs.append(np.sort(np.stack([rows[row], near[rows][row, column]], axis=1), axis=1))
            rests.append(left[row, column])
            progress(0.5 + 0.5 * (int(rows[-1]) + 1) / len(thumbnails))
    both, left = np.concatenate(pairs), np.concatenate(rests)
    order = np.lexsort((left, both[:, 1], both[:, 0]))
    both, left = both[order], left[order]
    first = np.ones(len(both), bool)
    first[1:] = (both[1:] != both[:-1]).any(axis=1)
    both, left = both[first], left[first]
    return both[np.lexsort((both[:, 1], both[:, 0], left))]


def nearest(sketches: Floats, count: int, progress: Callable[[float], None] = lambda share: None) -> Ints:
    """For each picture the indices of those most like it, in a row; its own where one is not alike."""
    total = len(sketches)
    count = min(count + 1, total)
    near = np.repeat(np.arange(total, dtype=np.int32)[:, None], count, axis=1)
    alike = np.full((total, count), -np.inf, np.float32)
    orders = [np.arange(total)] if total <= ALL_WITH_ALL else _hashed_orders(sketches)
    reach, rounds = (total, 1) if total <= ALL_WITH_ALL else (_REACH, _HASHES)
    for number, order in enumerate(orders):
        for block in _blocks(total):
            rows, window = order[block], order[max(0, block[0] - reach) : block[-1] + 1 + reach]
            names, scores = _most_alike(sketches, rows, window, count)
            names, scores = np.hstack([near[rows], names]), np.hstack([alike[rows], scores])
            near[rows], alike[rows] = _best(names, scores, count)
            progress((number + (block[-1] + 1) / total) / rounds)
    return np.where(alike >= _LEAST_ALIKE, near, np.arange(total)[:, None])


def _most_alike(sketches: Floats, rows: Ints, window: Ints, count: int) -> tuple[Ints, Floats]:
    """For each of some pictures those of a window that are most like it, and how much they are."""
    scores = sketches[rows] @ sketches[window].T
    top = np.argpartition(scores, -count, axis=1)[:, -count:]
    return window[top], np.take_along_axis(scores, top, axis=1)


def _best(names: Ints, values: Floats, count: int) -> tuple[Ints, Floats]:
    """The names with the highest values in each row, each name once."""
    order = np.lexsort((-values, names), axis=1)
    names, values = np.take_along_axis(names, order, axis=1), np.take_along_axis(values, order, axis=1)
    values[:, 1:][names[:, 1:] == names[:, :-1]] = -np.inf
    best = np.argpartition(values, -count, axis=1)[:, -count:]
    return np.take_along_axis(names, best, axis=1), np.take_along_axis(values, best, axis=1)


def _hashed_orders(sketches: Floats) -> Iterator[Ints]:
    """Several orders in which pictures that are alike mostly stand near each other."""
    rng = np.random.default_rng(0)
    sample = sketches[rng.choice(len(sketches), min(_SAMPLE, len(sketches)), replace=False)]
    directions = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)[2][:_BROAD].T
    broad = sketches @ directions
    weights = 1 << np.arange(_BITS - 1, -1, -1)
    for _ in range(_HASHES):
        key = np.zeros(len(sketches), np.int64)
        for weight, plane in zip(weights, rng.standard_normal((_BITS, directions.shape[1])), strict=True):
            side = broad @ plane.astype(np.float32)
            key += weight * (side > np.median(side))
        yield np.argsort(key, kind="stable")


def _blocks(count: int) -> list[Ints]:
    return [np.arange(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK)]


def _stacked(thumbnails: Sequence[Thumbnail], rows: Ints) -> Floats:
    return np.stack([thumbnails[row] for row in rows]).astype(np.float32)


def blurred(field: Floats, blur: float) -> Floats:
    """A field, or each of a stack of them, without its fine detail."""
    radii = (0.0,) * (field.ndim - 2) + (blur, blur)
    return np.asarray(ndimage.gaussian_filter(field, radii, mode="nearest"), np.float32)


def _sketched(thumbnails: Floats) -> Floats:
    """Blurred thumbnails, halved, each a row of mean 0 and length 1."""
    rows = halved(blurred(thumbnails, 1.0)).reshape(len(thumbnails), -1)
    rows -= rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6), np.float32)


def halved(fields: npt.NDArray[np.generic]) -> Floats:
    """Each of a stack of fields at half its size."""
    count, side = fields.shape[:2]
    return np.asarray(fields.reshape(count, side // 2, 2, side // 2, 2).mean(axis=(2, 4)))


def _unexplained(thumbnails: Sequence[Thumbnail], rows: Ints, near: Ints) -> Floats:
    """Share of each neighbour's thumbnail that no stretch, shift or change of light of the block's own explains."""
    soft = blurred(_stacked(thumbnails, rows), 1.5)
    down, across = np.gradient(soft, axis=(1, 2))
    grid = np.linspace(-1, 1, soft.shape[1], dtype=np.float32)
    ways = np.stack([np.ones_like(soft), soft, across, across * grid, down, down * grid[:, None]], axis=3)
    plane = np.linalg.qr(_inside(ways).reshape(len(soft), -1, 6))[0]
    used, inverse = np.unique(near, return_inverse=True)
    others = _inside(blurred(_stacked(thumbnails, used), 1.5)).reshape(len(used), -1)
    seen = others - others.mean(axis=1, keepdims=True)
    energy = (seen * seen).sum(axis=1)
    inverse = inverse.reshape(near.shape)
    rest = [energy[row] - ((seen[row] @ ways) ** 2).sum(axis=1) for row, ways in zip(inverse, plane, strict=True)]
    return np.asarray(np.maximum(np.stack(rest), 0) / (energy[inverse] + 1), np.float32)


def _inside(fields: Floats) -> Floats:
    """Without the outermost pixels, which a crop brings in from nowhere."""
    return fields[:, 2:-2, 2:-2]
