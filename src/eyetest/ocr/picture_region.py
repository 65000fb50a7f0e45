"""Where the picture on a page is: the region with the most in it that is neither text nor a line of the frame."""

from collections.abc import Iterable, Sequence

import numpy as np
import scipy  # which loads ndimage when it is first used
from numpy.typing import NDArray
from PIL import Image

Rectangle = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""
_SMALLER = 2
"""By how much a page is made smaller to look for its picture."""
_STEP = 24.0
"""By how much neighbours differ in a colour where there is an edge."""
_LONG = 40
"""A straight edge of so many pixels belongs to a frame, or to the picture's own sides, which are found later."""
_NEAR, _LEAST_SIDE, _SLIMMEST = 10, 18, 5.0
_LEAST_MASS, _LEAST_DENSITY = 50, 0.02
"""Pixels of edges in a picture, and their share; what has fewer is the outline of a frame."""
_REACH = 1.5
"""How far beyond what is drawn in it a picture may go on, as a share of that."""
_MOST_TEXT = 0.15
"""The share of a picture that words may cover."""
_DOT = 8
"""Pixels of an edge that stands alone, up to which it belongs to the page's texture."""
_BESIDE = 4
"""Pixels on either side of an edge that are compared."""
_FAINTEST, _CLEAR = 2.0, 0.1
"""How much the ground changes at a picture's side, at least, in a colour and as a share of the greatest change."""


def largest_picture(page: Image.Image, texts: Iterable[tuple[float, float, float, float]]) -> Rectangle | None:
    """The picture on a page on which words stand at these places; None where there is none."""
    small = page.convert("RGB").reduce(_SMALLER)
    pixels = np.asarray(small, np.float32)
    written = _written(pixels.shape[:2], list(texts))
    edges = _undotted(_edges(pixels) & ~written)
    joined = scipy.ndimage.maximum_filter(edges, 2 * _NEAR + 1)
    labels, _ = scipy.ndimage.label(joined)
    best, region = 0.0, None
    for number, (down, across) in enumerate(scipy.ndimage.find_objects(labels), 1):
        inside = edges[down, across] & (labels[down, across] == number)
        left, top, right, bottom = _bounds(inside)
        width, height, mass = right - left, bottom - top, int(inside.sum())
        slim = max(height / width, width / height) > _SLIMMEST
        if min(height, width) < _LEAST_SIDE or slim or mass < max(_LEAST_MASS, _LEAST_DENSITY * width * height):
            continue
        x, y = across.start, down.start
        own = left + x, top + y, right + x, bottom + y
        for sides in (_to_sides(pixels, ~written, own), own):
            within = written[sides[1] : sides[3], sides[0] : sides[2]]
            if within.mean() <= _MOST_TEXT and mass * within.size**0.5 > best:
                best, region = mass * within.size**0.5, sides
    if region is None:
        return None
    left, top, right, bottom = (_SMALLER * side for side in region)
    return left, top, min(right, page.width), min(bottom, page.height)


def _edges(pixels: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Where neighbours differ, without long straight lines."""
    edges = np.zeros(pixels.shape[:2], bool)
    edges[:, 1:] |= np.abs(np.diff(pixels, axis=1)).max(axis=2) > _STEP
    edges[1:] |= np.abs(np.diff(pixels, axis=0)).max(axis=2) > _STEP
    lines = np.zeros_like(edges)
    for axis in (0, 1):
        run = scipy.ndimage.minimum_filter1d(edges.astype(np.uint8), _LONG, axis=axis)
        lines |= scipy.ndimage.maximum_filter1d(run, _LONG, axis=axis, origin=-1) > 0
    return edges & ~lines


def _written(shape: tuple[int, ...], texts: Sequence[tuple[float, float, float, float]]) -> NDArray[np.bool_]:
    """Where words stand. What is much higher than most of them is a part of the picture that was taken for one."""
    written = np.zeros(shape, bool)
    usual = float(np.median([bottom - top for _, top, _, bottom in texts])) if texts else 0.0
    for text in texts:
        left, top, right, bottom = (round(value / _SMALLER) for value in text)
        if text[3] - text[1] <= 1.8 * usual:
            written[max(0, top - 2) : bottom + 2, max(0, left - 2) : right + 2] = True
    return written


def _undotted(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Edges without those that are small and stand alone."""
    labels, _ = scipy.ndimage.label(edges, np.ones((3, 3)))
    kept: NDArray[np.bool_] = edges & (np.bincount(labels.ravel()) > _DOT)[labels]
    return kept


def _bounds(inside: NDArray[np.bool_]) -> Rectangle:
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _to_sides(pixels: NDArray[np.float32], free: NDArray[np.bool_], region: Rectangle) -> Rectangle:
    """The region, widened to where the ground changes along a whole side: a picture has a ground of its own."""
    left, top, right, bottom = region
    reach_x, reach_y = round(_REACH * (right - left)) + 6, round(_REACH * (bottom - top)) + 6
    rows, columns = slice(top, bottom), slice(left, right)
    across, down = _profile(pixels[rows], free[rows], 0), _profile(pixels[:, columns], free[:, columns], 1)
    return (
        _side(across, left, -1, reach_x),
        _side(down, top, -1, reach_y),
        _side(across, right, 1, reach_x),
        _side(down, bottom, 1, reach_y),
    )


def _profile(pixels: NDArray[np.float32], free: NDArray[np.bool_], axis: int) -> NDArray[np.float32]:
    """The mean colour along an axis of what is no text; where all is text, that of its neighbour."""
    counts = free.sum(axis=axis)
    sums = (pixels * free[..., None]).sum(axis=axis)
    known = np.flatnonzero(counts)
    if not len(known):
        return np.zeros_like(sums)
    nearest = known[np.clip(np.searchsorted(known, np.arange(len(counts))), 0, len(known) - 1)]
    profile: NDArray[np.float32] = (sums[nearest] / counts[nearest, None]).astype(np.float32)
    return profile


def _side(profile: NDArray[np.float32], edge: int, direction: int, reach: int) -> int:
    """The nearest change of the ground from an edge outwards; the edge itself where there is none."""
    start = edge + direction * (_BESIDE + 1)
    outwards = range(start, edge + direction * reach, direction)
    changes = [_change(profile, at) for at in outwards if _BESIDE <= at <= len(profile) - _BESIDE]
    least = max(_FAINTEST, _CLEAR * max(changes, default=0.0))
    for step, change in enumerate(changes):
        if change > least and change == max(changes[step : step + _BESIDE]):
            return outwards[step]
    return edge


def _change(profile: NDArray[np.float32], at: int) -> float:
    return float(np.abs(profile[at : at + _BESIDE].mean(axis=0) - profile[at - _BESIDE : at].mean(axis=0)).max())
