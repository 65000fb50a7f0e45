"""What a picture looks like from afar: colours, edges and their directions by place, and a palette.

Half a kilobyte: enough to tell the pictures of one task from those of another, and little enough to keep for a
million of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

SIDE = 8
"""Cells each way."""
_DIRECTIONS = 8
_LEVELS = 4
"""Of each colour, for the palette."""
_FULLEST = 12
"""The shares of so many colours, whichever they are: what is drawn with few colours is told from photographs."""
_EDGE_SCALE = 18.0
"""Roots of slopes reach 13.5, so that this fills a byte."""


class Sketch(NamedTuple):
    """One picture from afar. Edges and shares are kept as roots: they range over powers of ten."""

    colours: Bytes
    """8 × 8 cells × red, green and blue."""
    edges: Bytes
    """8 × 8 cells: how much is drawn there."""
    directions: Bytes
    """4 × 4 cells × 8 directions: what is drawn there."""
    palette: Bytes
    """The shares of 64 colours."""


def sketched(picture: Pillow.Image, shades: Bytes) -> Sketch:
    """The sketch of a picture in red, green and blue; ``shades`` are its greys, a square of a few cells' multiple."""
    side = len(shades)
    down, across = np.gradient(shades.astype(np.float32))
    slopes = np.hypot(across, down)
    bins = (np.arctan2(down, across) % np.pi * (_DIRECTIONS / np.pi)).astype(np.int64) % _DIRECTIONS
    half = SIDE // 2
    cells = np.arange(side) * half // side
    where = ((cells[:, None] * half + cells) * _DIRECTIONS + bins).ravel()
    directions = np.bincount(where, slopes.ravel(), half * half * _DIRECTIONS) / (side / half) ** 2
    edges = slopes.reshape(SIDE, side // SIDE, SIDE, side // SIDE).mean(axis=(1, 3))
    small = np.asarray(picture.resize((side, side), Pillow.Resampling.NEAREST)).reshape(-1, 3) // (256 // _LEVELS)
    counts = np.bincount(small @ np.array([_LEVELS**2, _LEVELS, 1]), minlength=_LEVELS**3)
    return Sketch(
        colours=np.array(picture.resize((SIDE, SIDE), Pillow.Resampling.BOX), dtype=np.uint8),
        edges=_as_bytes(np.sqrt(edges) * _EDGE_SCALE),
        directions=_as_bytes(np.sqrt(directions) * _EDGE_SCALE).reshape(half, half, _DIRECTIONS),
        palette=_as_bytes(np.sqrt(counts / counts.sum()) * 255),
    )


def _as_bytes(values: npt.NDArray[np.floating]) -> Bytes:
    return np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8)


def edges_of(sketches: Sequence[Sketch]) -> Floats:
    """Pictures × rows × columns: how much is drawn in each cell."""
    return np.stack([sketch.edges for sketch in sketches]).astype(np.float32) / np.float32(_EDGE_SCALE)


def colours_of(sketches: Sequence[Sketch]) -> Floats:
    """Pictures × rows × columns × red, green and blue, from 0 to 255."""
    return np.stack([sketch.colours for sketch in sketches]).astype(np.float32)


def columns_of(sketches: Sequence[Sketch]) -> Floats:
    """One row a picture, as trees learn from it. A colour counts by how far it is from the picture's paper."""
    count = len(sketches)
    colours, edges = colours_of(sketches), edges_of(sketches)
    directions = np.stack([sketch.directions for sketch in sketches]).astype(np.float32)
    palette = np.stack([sketch.palette for sketch in sketches]).astype(np.float32)
    paper = np.median(colours.reshape(count, -1, 3), axis=1)[:, None, None]
    parts = (
        np.abs(colours - paper),
        colours.max(axis=3) - colours.min(axis=3),
        edges,
        edges.mean(axis=1),
        edges.mean(axis=2),
        directions,
        directions.mean(axis=(1, 2)),
        palette,
        np.sort(palette, axis=1)[:, -_FULLEST:],
    )
    return np.hstack([part.reshape(count, -1) for part in parts])
